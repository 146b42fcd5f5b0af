//! From numbered vertices to ids in ascending order.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use cenote_store::{IdRef, VertexId};

use super::table::Table;
use crate::error::{ImportError, Result};
use crate::ids::strings::{Names, StringMap};

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

/// Runs `sort` on so many threads.
fn on_threads<T: Send>(threads: usize, sort: impl FnOnce() -> T + Send) -> Result<T> {
    let pool: std::result::Result<ThreadPool, _> =
        ThreadPoolBuilder::new().num_threads(threads).build();
    let refused = |error| ImportError::Threads(std::io::Error::other(error));
    Ok(pool.map_err(refused)?.install(sort))
}

/// An id and its number: twelve bytes, which a tuple of both would not be.
pub(super) type Row = [u32; 3];

fn id(row: &Row) -> u64 {
    u64::from(row[0]) << 32 | u64::from(row[1])
}

/// The rows of a table in the order of the ids.
pub(super) fn rows_of(table: Table, count: usize, threads: usize) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::with_capacity(count);
    table.drain(|id, number| rows.push([(id >> 32) as u32, id as u32, number]));
    assert_eq!(rows.len(), count, "every id has a number");
    on_threads(threads, || rows.par_sort_unstable_by_key(id))?;
    Ok(rows)
}

/// Moves the ids of sorted rows to an array, and frees the rows meanwhile; calls `each` with every
/// place and what the row has beside its id.
pub(super) fn ids_of(mut rows: Vec<Row>, mut each: impl FnMut(usize, u32)) -> VertexIds {
    let mut ids = vec![0; rows.len()];
    while !rows.is_empty() {
        let start = rows.len().saturating_sub(ROWS);
        for (at, row) in rows.drain(start..).enumerate() {
            ids[start + at] = id(&row);
            each(start + at, row[2]);
        }
        rows.shrink_to(start);
    }
    VertexIds(Kind::Integers(ids))
}

impl VertexIds {
    /// Names in ascending order.
    pub(super) fn of_names(names: StringMap<'_>) -> Self {
        Self(Kind::Names(names.into_names()))
    }
}
