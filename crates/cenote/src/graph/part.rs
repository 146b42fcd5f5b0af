//! What graph files made of a part of a graph share: those of subgraphs and of shards.

use cenote_import::{EdgeId, EdgeWeight, StreamedIds};
use cenote_store::{Direction, IdRef, StoreError, VertexId, WeightType};

use super::{Graph, StoredGraph, Visit, has_names};
use crate::error::{Error, Result};
use crate::import::Import;

/// The largest integers that a 64-bit float holds, in which batches pass on weights.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Refuses a graph whose weights batches cannot pass on exactly, with a reason.
pub(crate) fn check_weights(graph: &Graph, reason: &'static str) -> Result<()> {
    let Some(weights) = graph.stored().superblock().weights else { return Ok(()) };
    let ends = [weights.min(), weights.max()].into_iter().flatten();
    let is_large = ends.into_iter().any(|weight| weight.to_f64().abs() > EXACT_MAX);
    match weights.kind() == WeightType::I64 && is_large {
        true => Err(Error::Unsupported(reason.into())),
        false => Ok(()),
    }
}

/// An import that keeps what a graph keeps, in pages as it has.
pub(crate) fn import_like<'e>(graph: &Graph) -> Import<'e> {
    let superblock = graph.stored().superblock();
    let mut import = Import::new().codec(superblock.codec()).page_bytes(superblock.page_bytes);
    if let Some(weights) = superblock.weights {
        import = import.weights(weights.kind());
    }
    if superblock.duplicates_kept {
        import = import.keep_duplicates();
    }
    if superblock.self_loops_kept {
        import = import.keep_self_loops();
    }
    import
}

/// Writes an edge, the ids of its ends and its weight, as a row of an import; `None` is the end,
/// where the lists could not be read.
pub(crate) fn put_row<I: EdgeId>(
    edge: Option<(&I, &I, f64)>,
    weights: Option<WeightType>,
    rows: &mut Vec<u8>,
) -> Result<(), String> {
    let Some((source, target, weight)) = edge else {
        return Err("the lists of the graph cannot be read".to_owned());
    };
    source.put(rows)?;
    target.put(rows)?;
    if let Some(kind) = weights {
        let bits = weight.ordered(kind).ok_or_else(|| format!("{weight} is no {kind:?}"))?;
        rows.extend_from_slice(&bits.to_le_bytes());
    }
    Ok(())
}

/// The entries of the lists of vertices.
pub(crate) fn entries_of(
    graph: &StoredGraph,
    direction: Direction,
    vertices: &[VertexId],
) -> Result<u64> {
    let mut own = vec![false; graph.vertices()];
    vertices.iter().for_each(|&vertex| own[vertex as usize] = true);
    let mut sum = 0;
    graph.degrees(direction, &mut |first, degrees| {
        let own = &own[first as usize..];
        sum += degrees.iter().zip(own).filter(|(_, own)| **own).map(|(d, _)| d).sum::<u64>();
    })?;
    Ok(sum)
}

/// Largest integer, or bytes of all names, of the ids of a graph.
pub(crate) fn streamed_ids(graph: &Graph) -> Result<StreamedIds> {
    let (stored, ids) = (graph.stored(), graph.kept_ids()?);
    let (mut largest, mut bytes) = (0, 0);
    let end = stored.vertices() as VertexId;
    ids.for_each(0..end, |_, id| {
        match id {
            IdRef::Integer(integer) => largest = integer.max(largest),
            IdRef::String(name) => bytes += name.len() as u64,
        }
        Ok::<(), StoreError>(())
    })?;
    Ok(if has_names(stored) { StreamedIds::Names(bytes) } else { StreamedIds::Integers(largest) })
}

/// A share of a budget that suffices for visits of a graph, made by `visit` with so many bytes.
pub(crate) fn sufficient_for_visits<'g>(
    graph: &Graph,
    visit: impl Fn(u64) -> Visit<'g>,
) -> Result<u64> {
    // The policy of tiers takes more memory as it learns, until the lists are read.
    let learned = if graph.tiers().is_some() { 1 << 20 } else { 0 };
    let mut bytes = 1 << 20;
    loop {
        match visit(bytes).open() {
            // Batches are a part of it, so it may need more itself.
            Err(Error::MemoryBudget { suggested, .. }) => bytes = suggested << 20,
            Err(other) => return Err(other),
            Ok(_) => return Ok(bytes + learned),
        }
    }
}

/// Replaces the error of a share of a budget by that of the whole one, which names a budget that
/// suffices for all of its shares.
pub(crate) fn of_shares(
    what: &str,
    error: Error,
    given: u64,
    shares: &'static str,
    sufficient: impl FnOnce() -> Result<u64>,
) -> Error {
    if !matches!(error, Error::MemoryBudget { .. }) {
        return error;
    }
    match sufficient() {
        Ok(needed) => Error::MemoryBudget {
            what: what.to_owned(),
            given,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown: shares.to_owned(),
        },
        Err(error) => error,
    }
}
