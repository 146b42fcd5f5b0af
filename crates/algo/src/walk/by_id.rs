//! Proposals on graphs whose vertices are not in the order of their ids.
//!
//! The entry that a draw selects is defined by the order of the ids, so the whole list is needed:
//! pieces of a list are put together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{EngineConfig, Graph, Kernel, List, VertexId, Weights, pieces_bytes_max};
use rustc_hash::FxHashMap;

use super::draw::below;
use super::fixed::{Scale, below_total, index_of};
use super::propose::{Propose, of_vertex};
use crate::ranks::{Ranks, is_natural};

/// Proposes an entry to every walk at a vertex.
pub(super) struct ProposeById<'a> {
    propose: Propose<'a>,
    ranks: &'a Ranks,
    scale: Scale,
    contradiction: &'a AtomicBool,
    /// Lists of which some pieces have arrived.
    incomplete: Mutex<FxHashMap<VertexId, Entries>>,
}

/// Targets of a list, and the weights of their edges, if any.
#[derive(Debug, Default)]
struct Entries {
    targets: Vec<VertexId>,
    shares: Vec<u128>,
}

/// A worker's buffers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    shares: Vec<u128>,
    /// The ranks of the targets, and their positions in the list.
    order: Vec<(VertexId, u32)>,
    sums: Vec<u128>,
}

/// Bytes of the proposals.
pub(super) fn bytes_for(graph: &Graph, config: &EngineConfig, weighted: bool) -> u64 {
    if is_natural(graph) {
        return 0;
    }
    // Per entry of the longest list: a rank and a position; with weights a share and a sum.
    let (entry, target) = if weighted { (40, 20) } else { (8, 4) };
    config.threads as u64 * Ranks::list_bytes(graph) / 4 * entry
        + pieces_bytes_max(graph, config) / 4 * target
}

impl<'a> ProposeById<'a> {
    pub fn new(
        propose: Propose<'a>,
        graph: &Graph,
        ranks: &'a Ranks,
        contradiction: &'a AtomicBool,
    ) -> Self {
        let (scale, incomplete) = (Scale::new(graph), Mutex::default());
        Self { propose, ranks, scale, contradiction, incomplete }
    }

    fn take(&self, memory: &mut Memory, list: &List<'_>, weights: Option<Weights<'_>>) {
        memory.shares.clear();
        let shares = &mut memory.shares;
        if let Some(weights) = weights
            && self.scale.for_each(weights, |share| shares.push(share)).is_err()
        {
            return self.contradiction.store(true, Ordering::Relaxed);
        }
        if list.is_whole() {
            return self.propose_all(memory, list.vertex, list.targets);
        }
        let mut incomplete = self.incomplete.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = incomplete.entry(list.vertex).or_default();
        entries.targets.extend_from_slice(list.targets);
        entries.shares.append(&mut memory.shares);
        if (entries.targets.len() as u64) < list.degree {
            return;
        }
        let entries = incomplete.remove(&list.vertex).unwrap_or_default();
        drop(incomplete);
        memory.shares = entries.shares;
        self.propose_all(memory, list.vertex, &entries.targets);
    }

    fn propose_all(&self, memory: &mut Memory, vertex: VertexId, targets: &[VertexId]) {
        let Memory { shares, order, sums } = memory;
        if targets.is_empty() {
            return;
        }
        order.clear();
        order.extend((0..).zip(targets).map(|(place, &target)| (self.ranks.of(target), place)));
        order.sort_unstable();
        sums.clear();
        if !shares.is_empty() {
            let mut sum = 0;
            sums.extend(order.iter().map(|&(_, place)| {
                sum += shares[place as usize];
                sum
            }));
        }
        let degree = targets.len() as u64;
        for i in of_vertex(self.propose.walkers, vertex, |walker| walker.at) {
            let word = self.propose.walkers[i].position;
            let at = match sums.last() {
                None => below(word, degree) as usize,
                // Without a reply the walk cannot continue.
                Some(0) => return,
                Some(&total) => index_of(sums, below_total(word, total)),
            };
            self.propose.reply(i, targets[order[at].1 as usize], degree);
        }
    }
}

impl Kernel for ProposeById<'_> {
    type Local = Memory;

    fn local(&self) -> Memory {
        Memory::default()
    }

    fn list(&self, memory: &mut Memory, list: &List<'_>) {
        self.take(memory, list, None);
    }

    fn weighted_list(&self, memory: &mut Memory, list: &List<'_>, weights: Weights<'_>) {
        self.take(memory, list, Some(weights));
    }
}
