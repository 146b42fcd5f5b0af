//! Maps the ids of a batch to vertices, and numbers the new ones.

use cenote_store::{Batch, Change, IdRef, Op, Store, VertexId};

use super::changes::Changes;
use crate::error::{Error, Result};

/// A batch by vertices.
#[derive(Debug)]
pub(super) struct Mapped {
    pub batch: Batch,
    /// For each change whether the batch has it: not if it deletes an edge of an unknown vertex.
    pub is_known: Vec<bool>,
}

/// Maps the changes. An id becomes a vertex with the first edge that is added to it.
pub(super) fn map(changes: &Changes, store: &Store, file: &str) -> Result<Mapped> {
    let distinct = changes.distinct();
    let mut vertices = store.vertices_of(&distinct)?;
    let before = store.vertices();
    let mut batch = Batch { changes: Vec::with_capacity(changes.len()), ..Batch::default() };
    let mut is_known = Vec::with_capacity(changes.len());
    for (at, (op, pair)) in changes.iter().enumerate() {
        let places = pair.map(|id| distinct.partition_point(|other| *other < id));
        for (id, place) in pair.into_iter().zip(places) {
            if op == Op::Add && vertices[place].is_none() {
                let number = before + batch.new_ids.len() as u64;
                let vertex = VertexId::try_from(number).ok();
                let vertex = vertex.filter(|vertex| *vertex != VertexId::MAX);
                vertices[place] = Some(vertex.ok_or_else(|| full(file, id))?);
                batch.new_ids.push(id.to_id());
            }
        }
        let ends = places.map(|place| vertices[place]);
        is_known.push(ends.iter().all(Option::is_some));
        if let [Some(source), Some(target)] = ends {
            batch.changes.push(Change { op, source, target });
            batch.weights.extend(changes.weight(at));
        }
    }
    Ok(Mapped { batch, is_known })
}

fn full(file: &str, id: IdRef<'_>) -> Error {
    Error::InvalidInput(format!("{file}: no number is left for the new vertex `{id}`"))
}
