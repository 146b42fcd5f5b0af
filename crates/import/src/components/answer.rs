//! From numbered vertices to labels by ascending id.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use cenote_store::{IdRef, VertexId};

use super::forest::Forest;
use super::integers::Numbered;
use crate::budget::Budget;
use crate::error::{ImportError, Result};
use crate::ids::strings::{Names, StringMap};

const WHAT: &str = "the labels";

/// Rows converted at a time, before their memory is freed.
const ROWS: usize = 1 << 20;

/// The ids of vertices, in ascending order.
#[derive(Debug)]
pub struct VertexIds(Kind);

#[derive(Debug)]
enum Kind {
    Integers(Vec<u64>),
    Names(Names),
}

impl VertexIds {
    /// Number of vertices.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Integers(ids) => ids.len(),
            Kind::Names(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integers; `None` if ids are strings.
    pub fn integers(&self) -> Option<&[u64]> {
        match &self.0 {
            Kind::Integers(ids) => Some(ids),
            Kind::Names(_) => None,
        }
    }

    /// The id at a place in ascending order.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, rank: VertexId) -> IdRef<'_> {
        match &self.0 {
            Kind::Integers(ids) => IdRef::Integer(ids[rank as usize]),
            Kind::Names(names) => {
                let name = std::str::from_utf8(names.get(rank));
                IdRef::String(name.expect("names were checked when they were read"))
            }
        }
    }
}

/// Ids in ascending order, and the place of the smallest id in the component of each.
pub(super) struct Labelled {
    pub ids: VertexIds,
    pub labels: Vec<VertexId>,
}

/// Runs `sort` on so many threads.
fn on_threads<T: Send>(threads: usize, sort: impl FnOnce() -> T + Send) -> Result<T> {
    let pool: std::result::Result<ThreadPool, _> =
        ThreadPoolBuilder::new().num_threads(threads).build();
    let refused = |error| ImportError::Threads(std::io::Error::other(error));
    Ok(pool.map_err(refused)?.install(sort))
}

/// An id and its number: twelve bytes, which a tuple of both would not be.
type Row = [u32; 3];

fn id(row: &Row) -> u64 {
    u64::from(row[0]) << 32 | u64::from(row[1])
}

/// Labels of integers.
pub(super) fn of_integers(numbered: Numbered<'_>, threads: usize) -> Result<Labelled> {
    let Numbered { table, forest, count, memory } = numbered;
    // Rows of 12 bytes, roots and labels of 4 take no more than the memory that is held, 20 bytes
    // for each vertex that the table has room for; so do ids, labels and sizes after them.
    let mut rows: Vec<Row> = Vec::with_capacity(count);
    table.drain(|id, number| rows.push([(id >> 32) as u32, id as u32, number]));
    assert_eq!(rows.len(), count, "every id has a number");
    on_threads(threads, || rows.par_sort_unstable_by_key(id))?;
    label_rows(&mut rows, forest);
    let (mut ids, mut labels) = (vec![0; count], vec![0; count]);
    while !rows.is_empty() {
        let start = rows.len().saturating_sub(ROWS);
        for (at, row) in rows.drain(start..).enumerate() {
            (ids[start + at], labels[start + at]) = (id(&row), row[2]);
        }
        rows.shrink_to(start);
    }
    drop(memory);
    Ok(Labelled { ids: VertexIds(Kind::Integers(ids)), labels })
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

/// Labels of names.
pub(super) fn of_names(names: StringMap<'_>, forest: &Forest, budget: &Budget) -> Result<Labelled> {
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
    Ok(Labelled { ids: VertexIds(Kind::Names(names.into_names())), labels })
}
