//! What graph files made of a part of a graph share: those of subgraphs and of shards.

use cenote_import::{EdgeId, EdgeWeight};
use cenote_store::WeightType;

use super::Graph;
use crate::error::{Error, Result};
use crate::import::Import;

/// The largest integers that a 64-bit float holds, in which batches pass on weights.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Refuses a graph whose weights batches cannot pass on exactly, with a reason.
pub(crate) fn check_weights(graph: &Graph, reason: &'static str) -> Result<()> {
    let Some(weights) = graph.stored().superblock().weights else { return Ok(()) };
    let ends = [weights.min(), weights.max()].into_iter().flatten();
    let is_large = ends.into_iter().any(|weight| weight.to_f64().abs() > EXACT_MAX);
    match weights.kind == WeightType::I64 && is_large {
        true => Err(Error::Unsupported(reason.into())),
        false => Ok(()),
    }
}

/// An import that keeps what a graph keeps, in pages as it has.
pub(crate) fn import_like<'e>(graph: &Graph) -> Import<'e> {
    let superblock = graph.stored().superblock();
    let mut import = Import::new().codec(superblock.codec()).page_bytes(superblock.page_bytes);
    if let Some(weights) = superblock.weights {
        import = import.weights(weights.kind);
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

/// The error of a budget that is a share of the given one, in terms of that.
pub(crate) fn of_share(what: &str, error: Error, share: u64) -> Error {
    match error {
        Error::MemoryBudget { given, needed, suggested, breakdown, .. } => Error::MemoryBudget {
            what: what.to_owned(),
            given: given * share,
            needed: needed * share,
            suggested: suggested * share,
            breakdown: format!("{breakdown}, in 1/{share} of it"),
        },
        other => other,
    }
}
