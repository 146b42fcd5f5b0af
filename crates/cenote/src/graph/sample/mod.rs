//! Samples of neighbourhoods, layer by layer: mini-batches for the training of graph neural
//! networks (Hamilton, Ying and Leskovec, NIPS 2017).

use std::collections::{BTreeSet, HashMap};

use cenote_algo::mix::{GOLDEN, mix};
use cenote_store::{Id, IdRef, Ids, VertexId};

use super::{NeighborList, Neighbors};
use crate::error::{Error, Result};

/// How neighbours are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleOptions {
    /// Whether a neighbour may be chosen more than once: then there are as many as the fanout of
    /// each vertex with an edge.
    pub replace: bool,
    /// Whether neighbours are chosen with probabilities proportional to the weights of the edges:
    /// without replacement one after the other, each among those that are left (Efraimidis and
    /// Spirakis, IPL 2006). An edge of weight 0 is never chosen.
    pub weighted: bool,
}

/// A sample of the neighbourhoods of vertices. Its vertices have numbers of their own: first those
/// that were given, in that order and each once, then those that were sampled, in the order in
/// which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The id of each vertex of the sample.
    pub ids: Vec<Id>,
    /// And its number in the graph.
    pub vertices: Vec<VertexId>,
    /// How many of them were given.
    pub seeds: usize,
    /// The layers, the nearest first.
    pub layers: Vec<SampledLayer>,
}

/// The sampled edges of a layer, by the numbers of the sample. The neighbours of a vertex ascend by
/// their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampledLayer {
    /// The neighbours that were sampled.
    pub sources: Vec<u32>,
    /// For each the vertex whose neighbour it is.
    pub targets: Vec<u32>,
    /// For each its position in the list of that vertex, as [`Neighbors::for_each`] passes it: with
    /// the vertex it names the edge.
    pub positions: Vec<u64>,
}

impl Neighbors<'_> {
    /// Samples neighbours of the given vertices, then of those that are new, and so on: of each
    /// vertex at most as many as the fanout of the layer, without replacement, each equally likely.
    /// The sample depends on the seed and the ids alone, not on threads, memory or the order of
    /// vertices in the file. It is in memory: 16 bytes an edge, and the ids.
    ///
    /// ```
    /// # use cenote::{Graph, Import};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("star.cenote");
    /// Import::new().edges((1u64..100).map(|v| (0, v))).memory("64MiB").run(&path)?;
    /// let sample = Graph::open(&path)?.neighbors().of(0).sample(&[5, 5], 7)?;
    /// assert_eq!((sample.ids.len(), sample.layers[0].sources.len()), (6, 5));
    /// assert_eq!(sample.layers[1].sources, [0; 5], "each has one neighbour, the first vertex");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Neighbors::sample_with`].
    pub fn sample(&self, fanouts: &[usize], seed: u64) -> Result<Sample> {
        self.sample_with(fanouts, seed, SampleOptions::default())
    }

    /// [`Neighbors::sample`] with options.
    ///
    /// # Errors
    /// [`Error::Parameter`] without a fanout, or with one that is 0; [`Error::Unsupported`] if a
    /// weighted sample is taken of a graph without weights, [`Error::InvalidInput`] for a weight
    /// that is negative or not finite; as [`Neighbors::for_each`].
    pub fn sample_with(
        &self,
        fanouts: &[usize],
        seed: u64,
        options: SampleOptions,
    ) -> Result<Sample> {
        if fanouts.is_empty() || fanouts.contains(&0) {
            let reason = format!("are {fanouts:?}: at least one is needed, each at least 1");
            return Err(Error::parameter("fanouts", reason));
        }
        let path = self.graph().path();
        if options.weighted && !self.graph().stored().is_weighted() {
            let reason = "the edges have no weights: import it with `weights`";
            return Err(Error::Unsupported(format!("{}: {reason}", path.display()).into()));
        }
        let ids = self.graph().stored().ids().map_err(Error::from)?;
        let (mut sample, mut numbers) = (Sample::default(), HashMap::new());
        let (mut lists, mut known) = (self.again(options.weighted), 0);
        for (depth, &fanout) in fanouts.iter().enumerate() {
            // The vertices whose lists are read are the last ones, in their order.
            let mut next = known;
            let mut picked: Vec<(u32, u64, Id)> = Vec::new();
            lists.for_each(|list| {
                if depth == 0 {
                    // A vertex may be given twice.
                    let (id, known) = (list.vertex()?, sample.ids.len());
                    number(&mut numbers, &mut sample.ids, id);
                    if sample.ids.len() == known {
                        return Ok(());
                    }
                    sample.vertices.push(list.number());
                }
                let key = key_of(&sample.ids[next], mix(seed ^ GOLDEN).wrapping_add(depth as u64));
                let fault =
                    |reason| Error::input(path, format!("{reason}: edges cannot be sampled by it"));
                let weights =
                    options.weighted.then(|| weights_of(list)).transpose().map_err(fault)?;
                let places =
                    places(list.degree(), weights.as_deref(), fanout, key, options.replace);
                let target = next as u32;
                let found = list.ids_at(&places)?.into_iter().zip(places);
                picked.extend(found.map(|(id, place)| (target, place as u64, id)));
                next += 1;
                Ok::<_, Error>(())
            })?;
            known = sample.ids.len();
            if depth == 0 {
                sample.seeds = known;
            }
            let mut layer = SampledLayer::default();
            for (target, position, id) in picked {
                layer.sources.push(number(&mut numbers, &mut sample.ids, id));
                layer.targets.push(target);
                layer.positions.push(position);
            }
            sample.layers.push(layer);
            let new = vertices_of(&ids, &sample.ids[known..])?;
            sample.vertices.extend_from_slice(&new);
            lists = lists.with_vertices(new);
        }
        Ok(sample)
    }
}

/// The vertices of ids of the graph.
fn vertices_of(ids: &Ids, given: &[Id]) -> Result<Vec<VertexId>> {
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_unstable_by(|&a, &b| given[a].as_ref().cmp(&given[b].as_ref()));
    let sorted: Vec<IdRef<'_>> = order.iter().map(|&at| given[at].as_ref()).collect();
    let mut vertices = vec![0; given.len()];
    for (at, vertex) in order.into_iter().zip(ids.vertices_of(&sorted)?) {
        let deleted = || format!("a list has the neighbour `{}`, which is deleted", given[at]);
        vertices[at] = vertex.ok_or_else(|| Error::Corrupt(deleted().into()))?;
    }
    Ok(vertices)
}

/// The number of a vertex in a sample: the next one if it has none.
fn number(numbers: &mut HashMap<Id, u32>, ids: &mut Vec<Id>, id: Id) -> u32 {
    *numbers.entry(id).or_insert_with_key(|id| {
        ids.push(id.clone());
        (ids.len() - 1) as u32
    })
}

/// The weights of a list, or what is wrong with one of them.
fn weights_of(list: &NeighborList<'_>) -> Result<Vec<f64>, String> {
    let weights = list.weights().iter().map(|weight| weight.to_f64());
    weights
        .map(|weight| match weight.is_finite() && weight >= 0.0 {
            true => Ok(weight),
            false => Err(format!("the weight {weight} of an edge is negative or not finite")),
        })
        .collect()
}

/// The key of the random numbers of a vertex.
pub(crate) fn key_of(id: &Id, seed: u64) -> u64 {
    let seed = mix(seed.wrapping_add(GOLDEN));
    match id {
        Id::Integer(id) => mix(seed ^ mix(id.wrapping_add(GOLDEN))),
        Id::String(id) => {
            let words = id.as_bytes().chunks(8).map(|part| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                u64::from_le_bytes(word)
            });
            let length = id.len() as u64;
            words.fold(mix(seed ^ length), |key, word| mix(key.wrapping_add(GOLDEN) ^ word))
        }
    }
}

/// The random number of a draw, uniform over all 64-bit integers.
fn random(key: u64, draw: usize) -> u64 {
    mix(key.wrapping_add((draw as u64 + 1).wrapping_mul(GOLDEN)))
}

/// A random number of a draw, above 0 and below 1.
fn uniform(key: u64, draw: usize) -> f64 {
    ((random(key, draw) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// At most `fanout` places of a list of so many entries, ascending.
fn places(
    degree: usize,
    weights: Option<&[f64]>,
    fanout: usize,
    key: u64,
    replace: bool,
) -> Vec<usize> {
    let mut chosen = match (weights, replace) {
        (None, false) => return distinct(degree, fanout, key),
        (Some(weights), false) => return distinct_by_weight(weights, fanout, key),
        (None, true) if degree == 0 => Vec::new(),
        (None, true) => {
            let place = |draw| ((u128::from(random(key, draw)) * degree as u128) >> 64) as usize;
            (0..fanout).map(place).collect()
        }
        (Some(weights), true) => by_weight(weights, fanout, key),
    };
    chosen.sort_unstable();
    chosen
}

/// Places, each with a probability proportional to its weight; none if there is no weight above 0.
fn by_weight(weights: &[f64], fanout: usize, key: u64) -> Vec<usize> {
    // Scaled, so that no sum is infinite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Vec::new();
    }
    let mut total = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            total += weight / largest;
            total
        })
        .collect();
    let place = |draw| {
        let point = uniform(key, draw) * total;
        // The last place with a weight, if rounding makes the point the total.
        let last = sums.partition_point(|sum| *sum < total);
        sums.partition_point(|sum| *sum <= point).min(last)
    };
    (0..fanout).map(place).collect()
}

/// At most `fanout` places with a weight above 0, ascending, by the smallest of the exponential
/// keys of Efraimidis and Spirakis (IPL 2006).
fn distinct_by_weight(weights: &[f64], fanout: usize, key: u64) -> Vec<usize> {
    let positive = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
    let mut keys: Vec<(f64, usize)> =
        positive.map(|(place, weight)| (-uniform(key, place).ln() / weight, place)).collect();
    if fanout < keys.len() {
        keys.select_nth_unstable_by(fanout, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.truncate(fanout);
    }
    let mut places: Vec<usize> = keys.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    places
}

/// At most `fanout` places of a list, ascending, each set of them equally likely: Floyd's sampling
/// (Bentley and Floyd, CACM 1987).
fn distinct(degree: usize, fanout: usize, key: u64) -> Vec<usize> {
    if degree <= fanout {
        return (0..degree).collect();
    }
    let mut chosen = BTreeSet::new();
    for (draw, last) in (degree - fanout..degree).enumerate() {
        let place = ((u128::from(random(key, draw)) * (last as u128 + 1)) >> 64) as usize;
        if !chosen.insert(place) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_of_places_is_equally_likely() {
        let mut counts: HashMap<Vec<usize>, u64> = HashMap::new();
        let trials = 60_000;
        for vertex in 0..trials {
            let chosen = places(5, None, 2, key_of(&Id::Integer(vertex), 3), false);
            *counts.entry(chosen).or_default() += 1;
        }
        // Ten sets; the expected count is 6,000, its standard deviation 73.
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| count.abs_diff(trials / 10) < 400), "{counts:?}");
    }

    /// Counts of the chosen places over many vertices.
    fn counts(weights: Option<&[f64]>, fanout: usize, replace: bool) -> HashMap<Vec<usize>, u64> {
        let mut counts = HashMap::new();
        for vertex in 0..60_000 {
            let key = key_of(&Id::Integer(vertex), 3);
            *counts.entry(places(4, weights, fanout, key, replace)).or_default() += 1;
        }
        counts
    }

    /// Pearson's statistic of counts against probabilities.
    fn chi_squared(counts: &HashMap<Vec<usize>, u64>, expected: &[(&[usize], f64)]) -> f64 {
        let of = |(places, share): &(&[usize], f64)| {
            let count = counts.get(*places).copied().unwrap_or(0) as f64;
            (count - share * 60_000.0).powi(2) / (share * 60_000.0)
        };
        assert_eq!(counts.len(), expected.len(), "{counts:?}");
        expected.iter().map(of).sum()
    }

    #[test]
    fn places_are_chosen_in_proportion_to_weights() {
        let weights: &[f64] = &[1.0, 2.0, 0.0, 5.0];
        // One after the other: the set {a, b} has wa wb (1 / (8 - wa) + 1 / (8 - wb)) / 8.
        let pair = |a: f64, b: f64| a * b * (1.0 / (8.0 - a) + 1.0 / (8.0 - b)) / 8.0;
        let sets: [(&[usize], f64); 3] =
            [(&[0, 1], pair(1.0, 2.0)), (&[0, 3], pair(1.0, 5.0)), (&[1, 3], pair(2.0, 5.0))];
        let statistic = chi_squared(&counts(Some(weights), 2, false), &sets);
        assert!(statistic < 13.8, "{statistic}: two degrees of freedom, one in a thousand");
        let singles: [(&[usize], f64); 3] = [(&[0], 0.125), (&[1], 0.25), (&[3], 0.625)];
        for replace in [false, true] {
            let statistic = chi_squared(&counts(Some(weights), 1, replace), &singles);
            assert!(statistic < 13.8, "{statistic}, {replace}");
        }
        let uniform: [(&[usize], f64); 4] =
            [(&[0], 0.25), (&[1], 0.25), (&[2], 0.25), (&[3], 0.25)];
        let statistic = chi_squared(&counts(None, 1, true), &uniform);
        assert!(statistic < 16.3, "{statistic}: three degrees of freedom");
    }

    #[test]
    fn odd_weights_choose_what_they_can() {
        let key = 1;
        assert_eq!(places(3, Some(&[0.0, 0.0, 0.0]), 2, key, true), [0; 0]);
        assert_eq!(places(3, Some(&[0.0, 1e-300, 0.0]), 2, key, true), [1, 1]);
        assert_eq!(places(3, Some(&[0.0, 1e-300, 0.0]), 2, key, false), [1]);
        assert_eq!(places(2, Some(&[f64::MAX, f64::MAX]), 9, key, false), [0, 1]);
        assert_eq!(places(2, Some(&[f64::MAX, f64::MAX]), 9, key, true).len(), 9);
        assert_eq!(
            (places(0, None, 3, key, true), places(0, Some(&[]), 3, key, false)),
            (vec![], vec![])
        );
        let repeated = places(2, None, 50, key, true);
        assert!(repeated.len() == 50 && repeated.is_sorted() && repeated.contains(&1));
    }

    #[test]
    fn names_have_different_keys() {
        let names = ["a", "b", "ab", "aa", "a\u{1}", "abcdefgh", "abcdefghi", ""];
        let keys: BTreeSet<u64> =
            names.iter().map(|name| key_of(&Id::String((*name).into()), 1)).collect();
        assert_eq!(keys.len(), names.len());
    }
}
