//! Samples of neighbourhoods, layer by layer: mini-batches for the training of graph neural
//! networks (Hamilton, Ying and Leskovec, NIPS 2017).

use std::collections::{BTreeSet, HashMap};

use cenote_algo::mix::{GOLDEN, mix};
use cenote_store::Id;

use super::Neighbors;
use crate::error::{Error, Result};

/// A sample of the neighbourhoods of vertices. Its vertices have numbers of their own: first those
/// that were given, in that order and each once, then those that were sampled, in the order in
/// which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The id of each vertex of the sample.
    pub ids: Vec<Id>,
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
}

impl Neighbors<'_> {
    /// Samples neighbours of the given vertices, then of those that are new, and so on: of each
    /// vertex at most as many as the fanout of the layer, without replacement, each equally likely.
    /// The sample depends on the seed and the ids alone, not on threads, memory or the order of
    /// vertices in the file. It is in memory: 8 bytes an edge, and the ids.
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
    /// [`Error::Parameter`] without a fanout, or with one that is 0; as [`Neighbors::for_each`].
    pub fn sample(&self, fanouts: &[usize], seed: u64) -> Result<Sample> {
        if fanouts.is_empty() || fanouts.contains(&0) {
            let reason = format!("are {fanouts:?}: at least one is needed, each at least 1");
            return Err(Error::parameter("fanouts", reason));
        }
        let (mut sample, mut numbers) = (Sample::default(), HashMap::new());
        let mut deeper = None;
        for (depth, &fanout) in fanouts.iter().enumerate() {
            let lists = deeper.as_ref().unwrap_or(self);
            let mut picked: Vec<(u32, Id)> = Vec::new();
            lists.for_each(|list| {
                let id = list.vertex()?;
                let key = key_of(&id, mix(seed ^ GOLDEN).wrapping_add(depth as u64));
                let known = sample.ids.len();
                let target = number(&mut numbers, &mut sample.ids, id);
                // In the first layer a vertex may be given twice.
                if depth > 0 || sample.ids.len() > known {
                    let places = places(list.degree(), fanout, key);
                    picked.extend(list.ids_at(&places)?.into_iter().map(|id| (target, id)));
                }
                Ok::<_, Error>(())
            })?;
            let known = sample.ids.len();
            if depth == 0 {
                sample.seeds = known;
            }
            let mut layer = SampledLayer::default();
            for (target, id) in picked {
                layer.sources.push(number(&mut numbers, &mut sample.ids, id));
                layer.targets.push(target);
            }
            sample.layers.push(layer);
            deeper = Some(self.with_ids(sample.ids[known..].iter().map(ToString::to_string)));
        }
        Ok(sample)
    }
}

/// The number of a vertex in a sample: the next one if it has none.
fn number(numbers: &mut HashMap<Id, u32>, ids: &mut Vec<Id>, id: Id) -> u32 {
    *numbers.entry(id).or_insert_with_key(|id| {
        ids.push(id.clone());
        (ids.len() - 1) as u32
    })
}

/// The key of the random numbers of a vertex.
fn key_of(id: &Id, seed: u64) -> u64 {
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

/// At most `fanout` places of a list, ascending, each set of them equally likely: Floyd's sampling
/// (Bentley and Floyd, CACM 1987).
fn places(degree: usize, fanout: usize, key: u64) -> Vec<usize> {
    if degree <= fanout {
        return (0..degree).collect();
    }
    let mut chosen = BTreeSet::new();
    for (draw, last) in (degree - fanout..degree).enumerate() {
        let random = mix(key.wrapping_add((draw as u64 + 1).wrapping_mul(GOLDEN)));
        let place = ((u128::from(random) * (last as u128 + 1)) >> 64) as usize;
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
            let chosen = places(5, 2, key_of(&Id::Integer(vertex), 3));
            *counts.entry(chosen).or_default() += 1;
        }
        // Ten sets; the expected count is 6,000, its standard deviation 73.
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| count.abs_diff(trials / 10) < 400), "{counts:?}");
    }

    #[test]
    fn names_have_different_keys() {
        let names = ["a", "b", "ab", "aa", "a\u{1}", "abcdefgh", "abcdefghi", ""];
        let keys: BTreeSet<u64> =
            names.iter().map(|name| key_of(&Id::String((*name).into()), 1)).collect();
        assert_eq!(keys.len(), names.len());
    }
}
