//! Reads the neighbours that a sample chooses.

use std::thread::Builder;

use cenote_store::{Chosen, Direction, Ids, VertexId, Weight};

use super::SampleOptions;
use super::places::push_places;
use super::room::Room;
use crate::error::{Error, Result};
use crate::graph::{Neighbors, StoredGraph};
use crate::watch::Watch;

/// Vertices whose lists are near each other, which one thread reads.
const BLOCK_VERTICES: usize = 64;

/// Neighbours that one thread reads at a time, if each vertex has as many as the fanout, and the
/// bounds of the number of vertices.
const WINDOW_NEIGHBORS: usize = 1 << 16;
const WINDOW_VERTICES_MIN: usize = BLOCK_VERTICES;
const WINDOW_VERTICES_MAX: usize = 1 << 12;

/// What is sampled in a layer.
pub(super) struct Layer<'a> {
    pub ids: &'a Ids,
    /// The vertices whose neighbours are sampled, distinct.
    pub vertices: &'a [VertexId],
    /// The key of the random numbers of each.
    pub keys: Vec<u64>,
    pub fanout: usize,
    pub options: SampleOptions,
    pub room: &'a Room,
    /// Edges of the layers before.
    pub edges_before: u64,
}

/// The neighbours that were picked of each vertex.
pub(super) struct Picked {
    chosen: Vec<Chosen>,
    /// For each vertex one of these, and which of its lists.
    places: Vec<(u32, u32)>,
    /// Most neighbours of a vertex; those that were read beside them are the last.
    fanout: usize,
}

impl Picked {
    /// The places in the list of each vertex and the neighbours there.
    pub fn lists(&self) -> impl Iterator<Item = (&[u64], &[VertexId])> {
        let cut = |at| {
            let (places, neighbors) = self.list(at);
            let count = places.len().min(self.fanout);
            (&places[..count], &neighbors[..count])
        };
        (0..self.places.len()).map(cut)
    }

    fn list(&self, at: usize) -> (&[u64], &[VertexId]) {
        let (chosen, list) = self.places[at];
        self.chosen[chosen as usize].list(list as usize)
    }

    /// Replaces the lists of some vertices by others, in the same order.
    fn replace(&mut self, vertices: &[u32], others: Self) {
        let first = self.chosen.len() as u32;
        for (&at, (chosen, list)) in vertices.iter().zip(others.places) {
            self.places[at as usize] = (first + chosen, list);
        }
        self.chosen.extend(others.chosen);
    }
}

impl Neighbors<'_> {
    /// Picks neighbours of the vertices of a layer.
    ///
    /// Places are those in the order of the ids. If the neighbours of a vertex lie in that order,
    /// too, only the pages of its chosen places are read, else its whole list: in a graph that was
    /// imported with another order, and of neighbours of which some were added since. By weights
    /// the places are chosen from all of them.
    pub(super) fn pick(&self, layer: &Layer<'_>) -> Result<Picked> {
        let natural_end = layer.ids.natural_end();
        if layer.options.weighted || natural_end == 0 {
            return self.pick_from_lists(layer);
        }
        let mut picked = self.pick_by_place(layer)?;
        if layer.ids.is_natural() {
            return Ok(picked);
        }
        // The last entry of each list was read, too.
        let is_added = |at: &u32| picked.list(*at as usize).1.last() >= Some(&natural_end);
        let with_added: Vec<u32> = (0..layer.vertices.len() as u32).filter(is_added).collect();
        let vertices: Vec<_> = with_added.iter().map(|&at| layer.vertices[at as usize]).collect();
        let keys = with_added.iter().map(|&at| layer.keys[at as usize]).collect();
        let others = self.pick_from_lists(&Layer { vertices: &vertices, keys, ..*layer })?;
        picked.replace(&with_added, others);
        Ok(picked)
    }

    /// Reads of each list only the pages with a chosen place.
    fn pick_by_place(&self, layer: &Layer<'_>) -> Result<Picked> {
        let vertices = layer.vertices;
        let mut order: Vec<u32> = (0..vertices.len() as u32).collect();
        order.sort_unstable_by_key(|&at| vertices[at as usize]);
        // Long lists are spread over all threads, and each page is mostly read by one of them.
        let blocks = vertices.len().div_ceil(BLOCK_VERTICES);
        let threads = self.threads.min(blocks).max(1);
        let share = |thread: usize| {
            let blocks = order.chunks(BLOCK_VERTICES).skip(thread).step_by(threads);
            blocks.flatten().copied().collect::<Vec<u32>>()
        };
        let shares: Vec<Vec<u32>> = (0..threads).map(share).collect();
        let reader = Reader {
            graph: self.graph.stored(),
            direction: self.direction,
            watch: &self.watch,
            layer,
        };
        let read = reader.read_all(&shares)?;
        let places = vec![(0, 0); vertices.len()];
        let mut picked = Picked { chosen: Vec::new(), places, fanout: layer.fanout };
        for (share, read) in shares.iter().zip(read) {
            for (chosen, part) in (picked.chosen.len() as u32..).zip(share.chunks(layer.window())) {
                for (list, &at) in (0..).zip(part) {
                    picked.places[at as usize] = (chosen, list);
                }
            }
            picked.chosen.extend(read);
        }
        Ok(picked)
    }

    /// Reads whole lists, and their weights if neighbours are chosen by them.
    fn pick_from_lists(&self, layer: &Layer<'_>) -> Result<Picked> {
        let Layer { ids, vertices, keys, fanout, options, .. } = layer;
        let path = self.graph.path();
        let lists = self.with_vertices(vertices.to_vec()).weights(options.weighted);
        let (mut picked, mut keys) = (Chosen::default(), keys.iter());
        lists.for_each_stored(&mut |_, list, weights| {
            let key = *keys.next().expect("each vertex has a key");
            let fault =
                |reason| Error::input(path, format!("{reason}: edges cannot be sampled by it"));
            layer.take(list.len() as u64)?;
            let entries = by_id(ids, list)?;
            let weights = options.weighted.then(|| weights_of(&entries, weights)).transpose();
            let weights = weights.map_err(fault)?;
            let choose = |positions: &mut Vec<u64>| {
                let degree = entries.len() as u64;
                push_places(degree, weights.as_deref(), *fanout, key, options.replace, positions);
            };
            picked.push(choose, |position| list[entries[position as usize] as usize]);
            Ok::<_, Error>(())
        })?;
        let places = (0..vertices.len() as u32).map(|list| (0, list)).collect();
        Ok(Picked { chosen: vec![picked], places, fanout: *fanout })
    }
}

impl Layer<'_> {
    /// How many vertices a thread reads at a time.
    fn window(&self) -> usize {
        // Lists may be shorter than the fanout, but not what is drawn of them with replacement.
        let least = if self.options.replace { 1 } else { WINDOW_VERTICES_MIN };
        (WINDOW_NEIGHBORS / self.fanout).clamp(least, WINDOW_VERTICES_MAX)
    }

    /// Takes the memory for the neighbours that are chosen of a list of so many.
    fn take(&self, degree: u64) -> Result<()> {
        let fanout = self.fanout as u64;
        let count = if self.options.replace && degree > 0 { fanout } else { degree.min(fanout) };
        let of_layer = (self.vertices.len() as u64).saturating_mul(fanout);
        self.room.take(count, self.edges_before.saturating_add(of_layer))
    }
}

/// The places of the entries of a list in the order of their ids. Repeated edges keep their order.
fn by_id(ids: &Ids, list: &[VertexId]) -> Result<Vec<u32>> {
    if ids.is_natural() {
        return Ok((0..list.len() as u32).collect());
    }
    let mut ranks = Vec::with_capacity(list.len());
    ids.ranks_of(list, &mut ranks)?;
    let mut ranked: Vec<(VertexId, u32)> = ranks.into_iter().zip(0..).collect();
    ranked.sort_unstable();
    Ok(ranked.into_iter().map(|(_, place)| place).collect())
}

/// The weights of a list in the order of its entries by id, or what is wrong with one of them.
fn weights_of(entries: &[u32], weights: &[Weight]) -> Result<Vec<f64>, String> {
    let weights = entries.iter().map(|&place| weights[place as usize].to_f64());
    weights
        .map(|weight| match weight.is_finite() && weight >= 0.0 {
            true => Ok(weight),
            false => Err(format!("the weight {weight} of an edge is negative or not finite")),
        })
        .collect()
}

/// What the threads that read have in common.
struct Reader<'a> {
    graph: &'a StoredGraph,
    direction: Direction,
    watch: &'a Watch,
    layer: &'a Layer<'a>,
}

impl Reader<'_> {
    /// Reads each share of the vertices on a thread, the first one on this.
    fn read_all(&self, shares: &[Vec<u32>]) -> Result<Vec<Vec<Chosen>>> {
        let Some((first, others)) = shares.split_first() else { return Ok(Vec::new()) };
        std::thread::scope(|scope| {
            let refused = "cannot start the threads that read lists: give fewer `threads`";
            let readers: Vec<_> = others
                .iter()
                .map(|share| Builder::new().spawn_scoped(scope, move || self.read(share)))
                .collect();
            let mut read = vec![self.read(first)];
            for reader in readers {
                let ended = Error::Device("a thread that reads lists ended early".into());
                let read_by = reader
                    .map_err(Error::io(refused))
                    .and_then(|reader| reader.join().map_err(|_| ended)?);
                read.push(read_by);
            }
            read.into_iter().collect()
        })
    }

    fn read(&self, share: &[u32]) -> Result<Vec<Chosen>> {
        let Layer { vertices, keys, fanout, options, .. } = self.layer;
        let mut lookup = self.graph.lookup()?;
        let is_natural = self.layer.ids.is_natural();
        let read = |part: &[u32]| {
            self.watch.check()?;
            let of_part: Vec<VertexId> = part.iter().map(|&at| vertices[at as usize]).collect();
            let mut done = Ok(());
            let chosen =
                lookup.read_chosen(self.direction, &of_part, &mut |list, degree, places| {
                    if done.is_ok() {
                        done = self.watch.check().and_then(|()| self.layer.take(degree));
                    }
                    if done.is_err() {
                        return;
                    }
                    let key = keys[part[list] as usize];
                    let before = places.len();
                    push_places(degree, None, *fanout, key, options.replace, places);
                    // Neighbours that were added are the last ones.
                    let last = places[before..].last().copied();
                    let end = degree.checked_sub(1).filter(|end| !is_natural && last != Some(*end));
                    places.extend(end);
                })?;
            done.map(|()| chosen)
        };
        share.chunks(self.layer.window()).map(read).collect()
    }
}
