//! Maps the ids of a batch to vertices, and numbers the new ones.

use cenote_store::{Batch, Change, IdRef, Op, Store, StoreError, VertexId};

use super::changes::Changes;
use super::report::ChangeAnswer;
use crate::error::{Error, Result};

/// Ids that are looked up at a time.
const IDS: usize = 1 << 16;

/// A batch by vertices.
#[derive(Debug)]
pub(super) struct Mapped {
    pub batch: Batch,
    /// The first so many changes are those of the batch.
    pub changes: usize,
    /// For each of them the answer, if the batch does not have it: of those that concern unknown
    /// vertices, or add new ones.
    pub answers: Vec<Option<ChangeAnswer>>,
}

/// Maps the first changes, as many as have room with their new ids. An id becomes a vertex when it
/// is added, or with the first edge that is.
pub(super) fn map(
    changes: &Changes,
    store: &Store,
    file: &str,
    has_room: impl Fn(usize, usize) -> bool,
) -> Result<Mapped> {
    if let Some(ends) = changes.integers_below(store.own_numbers()?.into())
        && has_room(changes.len(), 0)
    {
        return Ok(of_own_numbers(changes, ends));
    }
    let mut vertices = Vec::new();
    let places = changes.for_distinct(IDS, &mut |ids| {
        vertices.extend(store.vertices_of(ids)?);
        Ok::<(), StoreError>(())
    })?;
    let before = store.vertices();
    let mut batch = Batch { changes: Vec::with_capacity(changes.len()), ..Batch::default() };
    let mut answers = Vec::with_capacity(changes.len());
    let mut values = changes.values().iter();
    for (at, ((op, pair), places)) in changes.iter().zip(places.as_chunks().0).enumerate() {
        let places: [usize; 2] = places.map(|place| place as usize);
        let is_added = matches!(op, Op::Add | Op::AddVertex);
        let unknown = places.iter().filter(|place| is_added && vertices[**place].is_none());
        if !has_room(at + 1, batch.new_ids.len() + unknown.count()) {
            break;
        }
        let value = if op == Op::SetValue { values.next() } else { None };
        let mut is_new = false;
        for (id, place) in pair.into_iter().zip(places) {
            if is_added && vertices[place].is_none() {
                is_new = true;
                let number = before + batch.new_ids.len() as u64;
                let vertex = VertexId::try_from(number).ok();
                let vertex = vertex.filter(|vertex| *vertex != VertexId::MAX);
                vertices[place] = Some(vertex.ok_or_else(|| full(file, id))?);
                batch.new_ids.push(id.to_id());
            }
        }
        answers.push(match places.map(|place| vertices[place]) {
            // A new id needs no change.
            [Some(_), Some(_)] if op == Op::AddVertex && is_new => Some(ChangeAnswer::Done),
            [Some(source), Some(target)] => {
                batch.changes.push(Change { op, source, target });
                batch.weights.extend(changes.weight(at));
                batch.values.extend(value);
                None
            }
            _ => Some(ChangeAnswer::UnknownVertex),
        });
    }
    Ok(Mapped { batch, changes: answers.len(), answers })
}

/// All changes, where the ids of their ends are the vertices.
fn of_own_numbers(changes: &Changes, ends: &[u64]) -> Mapped {
    let changes_of = changes.ops().iter().zip(ends.as_chunks().0);
    let change = |(&op, &[source, target]): (&Op, &[u64; 2])| {
        let [source, target] = [source, target].map(|id| id as VertexId);
        Change { op, source, target }
    };
    let batch = Batch {
        changes: changes_of.map(change).collect(),
        weights: changes.weights().to_vec(),
        values: changes.values().to_vec(),
        ..Batch::default()
    };
    Mapped { batch, changes: changes.len(), answers: vec![None; changes.len()] }
}

fn full(file: &str, id: IdRef<'_>) -> Error {
    Error::InvalidInput(format!("{file}: no number is left for the new vertex `{id}`"))
}
