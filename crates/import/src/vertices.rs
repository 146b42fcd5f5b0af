//! Vertices in memory, which exist even without edges: slices and iterators of ids, converted to
//! streams of rows of one id.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use cenote_store::WeightType;

use crate::edges::{EdgeId, Edges, OpenRows};
use crate::rows::{self, RowReader, STREAM_BYTES, row_error};

/// Vertices that do not come from a file. A vertex that no edge has is stored with an empty list.
pub struct Vertices<'a>(Edges<'a>);

impl fmt::Debug for Vertices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vertices").field("name", &self.0.name()).finish_non_exhaustive()
    }
}

impl<'a> Vertices<'a> {
    /// The ids of vertices in memory.
    pub fn slice<I: EdgeId + Sync>(ids: &'a [I]) -> Self {
        Self(Edges::of("vertices in memory", Slice(ids)))
    }

    /// The ids of an iterator.
    pub fn iter<I>(ids: I) -> Self
    where
        I: IntoIterator<Item: EdgeId, IntoIter: Send + 'a>,
    {
        Self(Edges::of("an iterator of vertices", Once(Mutex::new(Some(ids.into_iter())))))
    }

    /// Sets the name in messages.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self(self.0.named(name))
    }

    /// Their rows: an id each.
    pub(crate) fn rows(&self) -> &Edges<'a> {
        &self.0
    }

    pub(crate) fn row_bytes(&self) -> Option<u64> {
        self.0.count().filter(|_| !self.0.has_names()).map(|count| count * 8)
    }
}

struct Slice<'a, I>(&'a [I]);

impl<I: EdgeId + Sync> OpenRows for Slice<'_, I> {
    fn has_names(&self) -> bool {
        I::IS_NAME
    }

    fn count(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn check(&self, _: Option<WeightType>) -> Result<(), String> {
        Ok(())
    }

    fn open(&self, _: Option<WeightType>) -> Option<RowReader<'_>> {
        Some(id_rows(self.0.iter()))
    }
}

struct Once<I>(Mutex<Option<I>>);

impl<I: Iterator<Item: EdgeId> + Send> OpenRows for Once<I> {
    fn has_names(&self) -> bool {
        I::Item::IS_NAME
    }

    fn check(&self, _: Option<WeightType>) -> Result<(), String> {
        Ok(())
    }

    fn open(&self, _: Option<WeightType>) -> Option<RowReader<'_>> {
        let ids = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        ids.map(|ids| id_rows(ids))
    }
}

fn id_rows<'a>(mut ids: impl Iterator<Item: EdgeId> + Send + 'a) -> RowReader<'a> {
    let mut row = 0;
    rows::stream(move |rows| {
        while rows.len() < STREAM_BYTES
            && let Some(id) = ids.next()
        {
            row += 1;
            id.put(rows).map_err(|reason| row_error(row, reason))?;
        }
        Ok(())
    })
}
