//! Samples of neighbourhoods, layer by layer: mini-batches for the training of graph neural
//! networks (Hamilton, Ying and Leskovec, NIPS 2017).
//!
//! - [`Sample`], [`SampleOptions`]: what it is and how it is made
//! - `places`: chooses places of a list
//! - `read`: reads the neighbours at these, of a long list only the pages that hold one of them
//! - `room`: the memory that a sample may take

mod places;
mod read;
mod room;

use cenote_algo::mix::{GOLDEN, mix};
use cenote_device::setters;
use cenote_store::{Id, Ids, StoreError, VertexId};
use rustc_hash::FxHashMap;

use super::Neighbors;
use crate::error::{Error, Result};
pub(crate) use places::key_of;
use read::{Layer, Picked};
use room::Room;

/// Most neighbours that are sampled of a vertex with replacement: they are drawn and sorted at
/// once, within a second.
const FANOUT_MAX: usize = 1 << 20;

/// How neighbours are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// Whether a neighbour may be chosen more than once: then there are as many as the fanout of
    /// each vertex with an edge.
    pub replace: bool,
    /// Whether neighbours are chosen with probabilities proportional to the weights of the edges:
    /// without replacement one after the other, each among those that are left (Efraimidis and
    /// Spirakis, IPL 2006). An edge of weight 0 is never chosen.
    pub weighted: bool,
}

impl SampleOptions {
    setters! { replace: bool, weighted: bool }
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
    /// vertices in the file. It is in memory: 16 bytes an edge, and the ids. With what they are
    /// chosen by, edges count 64 bytes of [`Neighbors::memory`], or of half of the machine's memory
    /// where that is not set.
    ///
    /// Of a list on several pages only those with a sampled neighbour are read, and its first one
    /// if its length is not known yet. Whole lists are read of a graph in another order than that
    /// of the ids, of vertices with neighbours that were added after the import, and where weights
    /// decide. What is learned of long lists is kept, 16 bytes a page of lists.
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
    /// [`Error::Parameter`] without a fanout, with one that is 0, or above 2^20 with replacement;
    /// [`Error::MemoryBudget`] if the sample does not fit; [`Error::Unsupported`] if a
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
        if options.replace && fanouts.iter().any(|fanout| *fanout > FANOUT_MAX) {
            let reason = format!("are {fanouts:?}: with `replace` each is at most {FANOUT_MAX}");
            return Err(Error::parameter("fanouts", reason));
        }
        let path = self.graph.path();
        if options.weighted && !self.graph.stored().is_weighted() {
            let reason = "the edges have no weights: import it with `weights`";
            return Err(Error::Unsupported(format!("{}: {reason}", path.display()).into()));
        }
        let (ids, room) = (self.graph.kept_ids()?, Room::new(self.sample_bytes()?));
        let (mut sample, mut numbers) = (Sample::default(), Numbers::default());
        for vertex in self.given()? {
            numbers.of(vertex, &mut sample.vertices);
        }
        sample.seeds = sample.vertices.len();
        for (depth, &fanout) in fanouts.iter().enumerate() {
            // The vertices that are new are the last ones, in their order.
            let first = sample.ids.len();
            push_ids(ids, &sample.vertices[first..], &mut sample.ids)?;
            let seed = mix(seed ^ GOLDEN).wrapping_add(depth as u64);
            let keys: Vec<u64> = sample.ids[first..].iter().map(|id| key_of(id, seed)).collect();
            let vertices = sample.vertices[first..].to_vec();
            let (room, edges_before) = (&room, room.edges());
            let vertices = &vertices;
            let layer = Layer { ids, vertices, keys, fanout, options, room, edges_before };
            let picked = self.pick(&layer)?;
            let layer = self.number(&picked, first, &mut numbers, &mut sample.vertices)?;
            sample.layers.push(layer);
        }
        push_ids(ids, &sample.vertices[sample.ids.len()..], &mut sample.ids)?;
        Ok(sample)
    }

    /// Numbers the neighbours that were picked, for each vertex from number `first` on.
    fn number(
        &self,
        picked: &Picked,
        first: usize,
        numbers: &mut Numbers,
        vertices: &mut Vec<VertexId>,
    ) -> Result<SampledLayer> {
        let stored = self.graph.stored();
        let mut layer = SampledLayer::default();
        for (target, (positions, neighbours)) in (first as u32..).zip(picked.lists()) {
            self.watch.check()?;
            for &vertex in neighbours {
                if stored.is_deleted(vertex) {
                    let reason = format!("a list has the neighbour {vertex}, which is deleted");
                    return Err(Error::Corrupt(reason.into()));
                }
                layer.sources.push(numbers.of(vertex, vertices));
                layer.targets.push(target);
            }
            layer.positions.extend_from_slice(positions);
        }
        Ok(layer)
    }
}

/// The numbers of the vertices of a sample.
#[derive(Default)]
struct Numbers(FxHashMap<VertexId, u32>);

impl Numbers {
    /// The number of a vertex; the next one if it has none.
    fn of(&mut self, vertex: VertexId, vertices: &mut Vec<VertexId>) -> u32 {
        *self.0.entry(vertex).or_insert_with(|| {
            vertices.push(vertex);
            (vertices.len() - 1) as u32
        })
    }
}

/// Appends the ids of distinct vertices.
fn push_ids(ids: &Ids, vertices: &[VertexId], out: &mut Vec<Id>) -> Result<()> {
    let mut order: Vec<(VertexId, u32)> = vertices.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut ranks = Vec::with_capacity(order.len());
    let sorted: Vec<VertexId> = order.iter().map(|(vertex, _)| *vertex).collect();
    ids.ranks_of(&sorted, &mut ranks)?;
    if !ids.is_natural() {
        order.iter_mut().zip(&ranks).for_each(|((vertex, _), rank)| *vertex = *rank);
        order.sort_unstable();
        ranks.sort_unstable();
    }
    let first = out.len();
    out.resize(first + vertices.len(), Id::Integer(0));
    let mut places = order.iter().map(|(_, at)| first + *at as usize);
    ids.for_each_of(&ranks, |id| {
        if let Some(place) = places.next() {
            out[place] = id.to_id();
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}
