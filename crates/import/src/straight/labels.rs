//! The labels of components, by ascending id.

use cenote_store::VertexId;

use super::answer::{Row, VertexIds, ids_of, rows_of};
use super::forest::Forest;
use super::integers::Numbered;
use super::run::Finding;
use super::state::State;
use crate::budget::Budget;
use crate::error::Result;
use crate::ids::strings::StringMap;

const WHAT: &str = "the labels";

/// Finds the place of the smallest id in the component of each vertex.
pub(super) struct Labels;

impl Finding for Labels {
    type State = Forest;
    type Found = Vec<VertexId>;
    const NAME_BYTES: usize = 24;

    fn of_integers(
        numbered: Numbered<'_, Forest>,
        threads: usize,
    ) -> Result<(VertexIds, Vec<VertexId>)> {
        let Numbered { table, state, count, memory } = numbered;
        // Rows of 12 bytes, roots and labels of 4 take no more than the memory that is held, 20
        // bytes for each vertex that the table has room for; so do ids, labels and sizes after
        // them.
        let mut rows = rows_of(table, count, threads)?;
        label_rows(&mut rows, state);
        let mut labels = vec![0; count];
        let ids = ids_of(rows, |at, label| labels[at] = label);
        drop(memory);
        Ok((ids, labels))
    }

    fn of_names(
        names: StringMap<'_>,
        forest: &Forest,
        budget: &Budget,
    ) -> Result<(VertexIds, Vec<VertexId>)> {
        let count = names.len() as usize;
        let _memory = budget.hold(2 * count * size_of::<VertexId>(), WHAT)?;
        let (mut first, mut labels) = (vec![VertexId::MAX; count], vec![0; count]);
        for number in 0..count as VertexId {
            let first = &mut first[forest.find(number) as usize];
            *first = (*first).min(names.dense(number.into()));
        }
        for number in 0..count as VertexId {
            labels[names.dense(number.into()) as usize] = first[forest.find(number) as usize];
        }
        Ok((VertexIds::of_names(names), labels))
    }
}

/// Replaces the number of each row by its label, the place of the first row of its set.
fn label_rows(rows: &mut [Row], forest: Forest) {
    const UNKNOWN: VertexId = VertexId::MAX;
    /// Rows whose roots are looked up while others are labelled.
    const AHEAD: usize = 16;
    let mut first = vec![UNKNOWN; rows.len()];
    for at in 0..rows.len() {
        if let Some(row) = rows.get(at + AHEAD) {
            forest.prefetch(row[2]);
        }
        let label = &mut first[forest.find(rows[at][2]) as usize];
        if *label == UNKNOWN {
            *label = at as VertexId;
        }
        rows[at][2] = *label;
    }
}
