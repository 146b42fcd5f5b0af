//! How lists spread over bands: exact counts from the degrees, and a sample of the lists.

use cenote_engine::{Direction, Graph, for_each_list_of};

use crate::report::{Result, pages};

/// Pages of lists that are sampled.
const SAMPLE_PAGES: u64 = 128;

/// Classes of lists by the bits of their length.
const CLASSES: usize = 65;

/// What the lists of a direction have in each band of targets.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    /// Entries.
    pub entries: Vec<f64>,
    /// Lists with an entry in the band.
    pub runs: Vec<f64>,
    /// Lists with an entry in the band or in one before it.
    pub begun: Vec<f64>,
}

/// Entries by band as sampled, as many in all as there are.
fn sampled_entries(classes: &[Class], lists: &[f64], all: Vec<f64>) -> Vec<f64> {
    let of_band = |b: usize| -> f64 {
        let of_class = |(class, &count): (&Class, &f64)| match class.lists {
            0.0 => 0.0,
            lists => count * class.entries[b] / lists,
        };
        classes.iter().zip(lists).map(of_class).sum()
    };
    let sampled: Vec<f64> = (0..all.len()).map(of_band).collect();
    let (of_sample, of_all): (f64, f64) = (sampled.iter().sum(), all.iter().sum());
    match of_sample {
        0.0 => all,
        sum => sampled.iter().map(|entries| entries * of_all / sum).collect(),
    }
}

/// Lists of one class in the sample.
#[derive(Clone, Debug)]
struct Class {
    lists: f64,
    entries: Vec<f64>,
    runs: Vec<f64>,
    begun: Vec<f64>,
}

fn class_of(degree: u64) -> usize {
    (u64::BITS - degree.leading_zeros()) as usize
}

impl Spread {
    /// Reads the degrees, and a sample of the lists. `pulls`: whether targets are sources of
    /// edges, whose out-degrees say how many entries they have.
    pub fn of(
        graph: &Graph,
        (direction, pulls): (Direction, bool),
        band: usize,
        bands: usize,
    ) -> Result<Self> {
        let mut entries = vec![0.0; bands];
        let mut lists = vec![0.0; CLASSES];
        let is_same = !graph.is_directed() || !pulls;
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, &degree) in (first as usize..).zip(degrees) {
                entries[(v / band).min(bands - 1)] += degree as f64;
                lists[class_of(degree)] += f64::from(u8::from(is_same));
            }
        })?;
        if !is_same {
            graph.degrees(direction, &mut |_, degrees| {
                degrees.iter().for_each(|&degree| lists[class_of(degree)] += 1.0);
            })?;
        }
        let classes = sample(graph, direction, band, bands)?;
        if !pulls {
            entries = sampled_entries(&classes, &lists, entries);
        }
        let total: f64 = entries.iter().sum::<f64>().max(1.0);
        let share: Vec<f64> = entries.iter().map(|entries| entries / total).collect();
        let mut spread = Self { entries, runs: vec![0.0; bands], begun: vec![0.0; bands] };
        for (class, &count) in lists.iter().enumerate().skip(1).filter(|(_, count)| **count > 0.0) {
            let known = &classes[class];
            for b in 0..bands {
                let (runs, begun) = if known.lists > 0.0 {
                    (known.runs[b] / known.lists, known.begun[b] / known.lists)
                } else {
                    // As if targets were drawn at random.
                    let degree = 1.5 * (class as f64 - 1.0).exp2();
                    let misses = |share: f64| (1.0 - share).max(0.0).powf(degree);
                    (1.0 - misses(share[b]), 1.0 - misses(share[..=b].iter().sum()))
                };
                spread.runs[b] += count * runs;
                spread.begun[b] += count * begun;
            }
        }
        Ok(spread)
    }
}

/// The lists that begin in sampled pages, by class.
fn sample(graph: &Graph, direction: Direction, band: usize, bands: usize) -> Result<Vec<Class>> {
    let class = Class {
        lists: 0.0,
        entries: vec![0.0; bands],
        runs: vec![0.0; bands],
        begun: vec![0.0; bands],
    };
    let mut classes = vec![class; CLASSES];
    let pages = pages(graph, direction);
    let count = pages.min(SAMPLE_PAGES);
    let chosen = (0..count).map(|i| (2 * i + 1) * pages / (2 * count));
    let mut touched = vec![false; bands];
    for_each_list_of(graph, direction, chosen, |list| {
        if list.skip > 0 || list.targets.is_empty() {
            return;
        }
        // A list over several pages has entries in every band, about.
        touched.fill(!list.is_whole());
        let class = &mut classes[class_of(list.degree)];
        class.lists += 1.0;
        for &t in list.targets {
            let b = (t as usize / band).min(bands - 1);
            touched[b] = true;
            class.entries[b] += f64::from(u8::from(list.is_whole()));
        }
        if !list.is_whole() {
            let each = list.degree as f64 / bands as f64;
            class.entries.iter_mut().for_each(|entries| *entries += each);
        }
        let mut begun = false;
        for (b, &touched) in touched.iter().enumerate() {
            begun |= touched;
            class.runs[b] += f64::from(u8::from(touched));
            class.begun[b] += f64::from(u8::from(begun));
        }
    })?;
    Ok(classes)
}
