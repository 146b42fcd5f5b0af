//! How lists spread over bands: exact counts from the degrees, and a sample of the lists.

use std::collections::BTreeMap;

use cenote_engine::{Direction, Graph, List, VertexId, for_each_list_of};

use super::layout::Layout;
use super::reach::Span;
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
    /// Which part of the pages is visited for the band.
    pub visited: Vec<f64>,
    /// Which part of the windows has lists with entries in the band.
    pub reached: Vec<f64>,
    /// Which part of the windows has sums stored after the band, and how many lists of these have
    /// an entry in the band or in one before it.
    pub stored: Vec<(f64, f64)>,
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

impl Class {
    /// Adds a list, or its first piece, with entries in these bands of so many vertices.
    fn add(&mut self, list: &List<'_>, touched: &mut [bool], band: usize) {
        let bands = touched.len();
        self.lists += 1.0;
        if list.is_whole() {
            for &t in list.targets {
                self.entries[(t as usize / band).min(bands - 1)] += 1.0;
            }
        } else {
            // A list over several pages has entries in every band, about.
            touched.fill(true);
            let each = list.degree as f64 / bands as f64;
            self.entries.iter_mut().for_each(|entries| *entries += each);
        }
        let mut begun = false;
        for (b, &touched) in touched.iter().enumerate() {
            begun |= touched;
            self.runs[b] += f64::from(touched);
            self.begun[b] += f64::from(begun);
        }
    }
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
        layout: &Layout,
    ) -> Result<Self> {
        let Layout { band, bands, .. } = *layout;
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
        let Sample { classes, windows } = sample(graph, direction, layout)?;
        if !pulls {
            entries = sampled_entries(&classes, &lists, entries);
        }
        let total: f64 = entries.iter().sum::<f64>().max(1.0);
        let share: Vec<f64> = entries.iter().map(|entries| entries / total).collect();
        let (mut runs_of, mut begun_of) = (vec![0.0; bands], vec![0.0; bands]);
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
                runs_of[b] += count * runs;
                begun_of[b] += count * begun;
            }
        }
        let mut spread = Self { entries, runs: runs_of, ..Self::default() };
        spread.add_windows(&windows, layout);
        for ((_, lists), begun) in spread.stored.iter_mut().zip(begun_of) {
            *lists *= begun;
        }
        Ok(spread)
    }

    /// Adds what is known from sampled windows; the lists of those that are stored as a part of
    /// those that have begun.
    fn add_windows(&mut self, windows: &[Window], layout: &Layout) {
        for b in 0..layout.bands {
            let is_stored = |window: &Window| f64::from(window.is_stored_after(b, layout));
            self.visited.push(part_of(windows, |w| w.pages.into(), |w| w.visited(b)));
            self.reached.push(part_of(windows, |_| 1.0, |w| f64::from(w.reaches(b))));
            let begun = part_of(windows, |w| w.begun[b], is_stored);
            self.stored.push((part_of(windows, |_| 1.0, is_stored), begun));
        }
    }
}

/// The mean of `part` over windows that count as much as `weight` says; 1 if none counts.
fn part_of(
    windows: &[Window],
    weight: impl Fn(&Window) -> f64,
    part: impl Fn(&Window) -> f64,
) -> f64 {
    let all: f64 = windows.iter().map(&weight).sum();
    if all == 0.0 { 1.0 } else { windows.iter().map(|w| weight(w) * part(w)).sum::<f64>() / all }
}

/// What is known of a window from sampled pages.
#[derive(Clone, Debug)]
struct Window {
    number: usize,
    /// Pages with lists of it, and the last of them.
    pages: u32,
    page: u64,
    /// The vertex of the last list, the first page with it, and the bands in which it has entries.
    vertex: Option<VertexId>,
    vertex_page: u32,
    vertex_bands: Vec<bool>,
    /// The first and the last of the pages that are visited for each band.
    spans: Vec<Span>,
    /// How many lists have an entry in the band or in one before it.
    begun: Vec<f64>,
}

impl Window {
    fn new(number: usize, bands: usize) -> Self {
        Self {
            number,
            pages: 0,
            page: u64::MAX,
            vertex: None,
            vertex_page: 0,
            vertex_bands: vec![false; bands],
            spans: vec![Span::EMPTY; bands],
            begun: vec![0.0; bands],
        }
    }

    /// Adds a list, or a piece, in the order of the file, with entries in these bands.
    fn add(&mut self, list: &List<'_>, touched: &[bool]) {
        self.pages += u32::from(self.page != list.page);
        self.page = list.page;
        let page = self.pages - 1;
        if self.vertex != Some(list.vertex) {
            (self.vertex, self.vertex_page) = (Some(list.vertex), page);
            self.vertex_bands.fill(false);
        }
        let mut begun = false;
        for (b, &touched) in touched.iter().enumerate() {
            begun |= touched;
            self.begun[b] += f64::from(begun);
            self.vertex_bands[b] |= touched;
            if self.vertex_bands[b] {
                // All pages of the vertex are visited.
                self.spans[b].include(self.vertex_page);
                self.spans[b].include(page);
            }
        }
    }

    fn reaches(&self, band: usize) -> bool {
        !self.spans[band].is_empty()
    }

    /// Which part of its pages is visited for a band.
    fn visited(&self, band: usize) -> f64 {
        self.spans[band].len() as f64 / f64::from(self.pages)
    }

    /// Whether its sums are stored after a band, since they are not complete.
    fn is_stored_after(&self, band: usize, layout: &Layout) -> bool {
        let own = layout.last_own_band(self.number);
        let is_needed = |later: usize| self.reaches(later) || later == own;
        self.reaches(band) && (band + 1..layout.bands).any(is_needed)
    }
}

/// What is known from sampled pages.
struct Sample {
    /// The lists that begin there, by class.
    classes: Vec<Class>,
    windows: Vec<Window>,
}

fn sample(graph: &Graph, direction: Direction, layout: &Layout) -> Result<Sample> {
    let Layout { band, bands, .. } = *layout;
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
    let mut windows = BTreeMap::new();
    for_each_list_of(graph, direction, chosen, |list| {
        touched.fill(false);
        list.targets.iter().for_each(|&t| touched[(t as usize / band).min(bands - 1)] = true);
        let number = list.vertex as usize / layout.window;
        let window = windows.entry(number).or_insert_with(|| Window::new(number, bands));
        window.add(list, &touched);
        if list.skip == 0 && !list.targets.is_empty() {
            classes[class_of(list.degree)].add(list, &mut touched, band);
        }
    })?;
    Ok(Sample { classes, windows: windows.into_values().collect() })
}
