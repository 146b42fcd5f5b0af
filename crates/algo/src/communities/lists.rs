//! Whole lists with weights as integers, so that sums do not depend on their order.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{
    ActiveSet, Assembled, Direction, Engine, EngineConfig, Graph, Kernel, List, VertexId, Weight,
    WeightNumber, WeightType, Weights, for_each_weighted_list, pieces_bytes_max,
    weighted_bytes_for, with_numbers,
};
use rustc_hash::FxHashMap;

use crate::report::{AlgoError, Result, check_weights};

/// The most that all weights of a graph may add up to, each edge at both of its ends.
const TOTAL_MAX: u64 = 1 << 62;

/// How weights become integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// No weights: every edge weighs 1.
    One,
    /// Integers as they are.
    Integer,
    /// Floating-point numbers times a power of two, rounded.
    Fixed(f64),
}

impl Scale {
    /// The scale of a graph. Reads all weights if they are floating-point numbers of which an
    /// update may have removed the largest.
    pub fn of(graph: &Graph) -> Result<Self> {
        let Some(weights) = graph.superblock().weights else { return Ok(Scale::One) };
        check_weights(graph, "communities need weights of 0 or more")?;
        let entries = graph.superblock().stored_out;
        match weights.kind() {
            WeightType::U32 | WeightType::I64 => {
                let largest = weights.max().map_or(0.0, Weight::to_f64);
                if largest * 2.0 * entries as f64 >= TOTAL_MAX as f64 {
                    return Err(AlgoError::Parameter {
                        parameter: "the largest weight of the graph",
                        given: largest.to_string(),
                        expected: format!(
                            "with {entries} entries at most {:.0}, so that sums are exact",
                            TOTAL_MAX as f64 / 2.0 / entries as f64
                        ),
                    });
                }
                Ok(Scale::Integer)
            }
            WeightType::F32 | WeightType::F64 => {
                let largest = match graph.superblock().is_as_imported() {
                    true => weights.max().map_or(0.0, Weight::to_f64),
                    false => largest_weight(graph)?,
                };
                let room = (TOTAL_MAX as f64 / 2.0 / entries.max(1) as f64).log2().floor();
                let exponent = match largest > 0.0 {
                    true => room - largest.log2().ceil(),
                    false => 0.0,
                };
                Ok(Scale::Fixed(exponent.clamp(-1000.0, 1000.0).exp2()))
            }
        }
    }

    /// A weight as an integer.
    #[inline(always)]
    pub fn integer(self, weight: impl WeightNumber) -> u64 {
        match self {
            Scale::One => 1,
            Scale::Integer => weight.bits(),
            Scale::Fixed(factor) => (weight.to_f64() * factor).round() as u64,
        }
    }
}

/// The largest weight that the lists have now.
fn largest_weight(graph: &Graph) -> Result<f64> {
    let mut largest = 0.0f64;
    for_each_weighted_list(graph, Direction::Out, |list, weights| {
        let weights = weights.iter().flat_map(|of| (0..list.targets.len()).map(|at| of.get(at)));
        largest = weights.map(Weight::to_f64).fold(largest, f64::max);
    })?;
    Ok(largest)
}

/// The weights of a list.
pub(super) trait Weigh: Copy {
    fn of(self, at: usize) -> u64;
}

/// Every edge weighs 1.
#[derive(Clone, Copy)]
pub(super) struct Unit;

impl Weigh for Unit {
    #[inline(always)]
    fn of(self, _: usize) -> u64 {
        1
    }
}

/// Weights of one page.
#[derive(Clone, Copy)]
struct Scaled<'a, W>(&'a [W], Scale);

impl<W: WeightNumber> Weigh for Scaled<'_, W> {
    #[inline(always)]
    fn of(self, at: usize) -> u64 {
        self.1.integer(self.0[at])
    }
}

/// Weights of an assembled list.
#[derive(Clone, Copy)]
struct Copied<'a>(&'a [u64]);

impl Weigh for Copied<'_> {
    #[inline(always)]
    fn of(self, at: usize) -> u64 {
        self.0[at]
    }
}

/// As [`Kernel`], for whole lists with or without weights.
pub(super) trait TakeList: Sync {
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// Processes a list that has entries.
    fn take(&self, local: &mut Self::Local, v: VertexId, targets: &[VertexId], weights: impl Weigh);
}

/// Required bytes of visits.
pub(super) fn bytes_for(graph: &Graph, config: &EngineConfig) -> Result<u64> {
    let whole = Assembled::bytes_for(graph, config);
    if !graph.is_weighted() {
        return Ok(whole);
    }
    // Pieces with weights have 12 bytes an entry instead of 4, and there is one more of them for
    // each page of weights.
    let pieces = 4 * pieces_bytes_max(graph, config);
    Ok(whole.max(pieces + weighted_bytes_for(graph, config, Direction::Out)?))
}

/// Passes all active lists that have entries to `taker`, once each.
pub(super) fn visit<T: TakeList>(
    engine: &Engine,
    label: &str,
    active: ActiveSet<'_>,
    scale: Scale,
    taker: &T,
) -> Result<Vec<T::Local>> {
    if scale == Scale::One {
        let plain = Plain(taker);
        return Ok(engine.visit_whole(label, Direction::Out, active, &plain)?);
    }
    let weighted = Weighted { taker, scale, incomplete: Mutex::default() };
    Ok(engine.visit_weighted(label, Direction::Out, active, &weighted)?)
}

struct Plain<'a, T>(&'a T);

impl<T: TakeList> Kernel for Plain<'_, T> {
    type Local = T::Local;

    fn local(&self) -> T::Local {
        self.0.local()
    }

    #[inline(always)]
    fn list(&self, local: &mut T::Local, list: &List<'_>) {
        if !list.targets.is_empty() {
            self.0.take(local, list.vertex, list.targets, Unit);
        }
    }
}

/// Assembles pieces with their weights.
struct Weighted<'a, T> {
    taker: &'a T,
    scale: Scale,
    incomplete: Mutex<FxHashMap<VertexId, Incomplete>>,
}

/// A list of which some pieces have arrived.
struct Incomplete {
    pieces: Vec<Piece>,
    missing: u64,
}

struct Piece {
    /// Its position in the list.
    skip: u64,
    targets: Box<[VertexId]>,
    weights: Box<[u64]>,
}

impl<T: TakeList> Kernel for Weighted<'_, T> {
    type Local = T::Local;

    fn local(&self) -> T::Local {
        self.taker.local()
    }

    fn weighted_list(&self, local: &mut T::Local, list: &List<'_>, weights: Weights<'_>) {
        if list.is_whole() {
            return with_numbers!(weights, numbers => {
                let weights = Scaled(numbers, self.scale);
                self.taker.take(local, list.vertex, list.targets, weights)
            });
        }
        if let Some((targets, weights)) = self.insert(list, weights) {
            self.taker.take(local, list.vertex, &targets, Copied(&weights));
        }
    }
}

impl<T> Weighted<'_, T> {
    /// Stores a piece; returns the list if no piece is missing any more. Pieces of pages that
    /// contradict each other stay incomplete, which `check` reports.
    fn insert(&self, piece: &List<'_>, weights: Weights<'_>) -> Option<(Vec<VertexId>, Vec<u64>)> {
        let weights = with_numbers!(weights, numbers => {
            numbers.iter().map(|number| self.scale.integer(*number)).collect()
        });
        let mut incomplete = self.incomplete.lock().unwrap_or_else(PoisonError::into_inner);
        let list = incomplete
            .entry(piece.vertex)
            .or_insert_with(|| Incomplete { pieces: Vec::new(), missing: piece.degree });
        list.missing = list.missing.checked_sub(piece.targets.len() as u64)?;
        list.pieces.push(Piece { skip: piece.skip, targets: piece.targets.into(), weights });
        if list.missing > 0 {
            return None;
        }
        let mut pieces = incomplete.remove(&piece.vertex)?.pieces;
        drop(incomplete);
        pieces.sort_unstable_by_key(|piece| piece.skip);
        let (mut targets, mut weights) = (Vec::new(), Vec::new());
        for piece in pieces {
            targets.extend(piece.targets);
            weights.extend(piece.weights);
        }
        Some((targets, weights))
    }
}
