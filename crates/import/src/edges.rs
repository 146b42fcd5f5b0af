//! Edges in memory: slices, iterators and Arrow batches, read as streams of rows.
//!
//! A row is a pair of ids, and the ordered bits of a weight behind it where weights are imported.
//! Integers take 8 bytes, little-endian; strings stand behind their length in a `u32`. Parquet
//! files are handed to the workers in the same rows.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use cenote_store::WeightType;

use crate::error::{ImportError, Result};
use crate::ids::strings::NAME_BYTES_MAX;

/// Bytes of rows that a stream makes at a time.
const STREAM_BYTES: usize = 64 << 10;

/// What can be the id of a vertex: an integer of any width from 0 on, or a string of 1 to 65,535
/// bytes.
pub trait EdgeId {
    /// Whether it is a string.
    const IS_NAME: bool;

    /// Appends the id to a row, or says what is wrong with it.
    fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String>;
}

/// What can be the weight of an edge: a number.
pub trait EdgeWeight {
    /// The ordered bits of the weight, if `kind` has it.
    fn ordered(&self, kind: WeightType) -> Option<u64>;
}

/// What can be an edge: `(source, target)` or `(source, target, weight)`, or a reference to one.
pub trait Edge {
    /// Whether its ids are strings.
    const HAS_NAMES: bool;
    /// Whether it has a weight.
    const HAS_WEIGHT: bool;

    /// Appends the edge as a row, with its weight where weights are imported, or says what is
    /// wrong with it.
    fn put(
        &self,
        weights: Option<WeightType>,
        rows: &mut Vec<u8>,
    ) -> std::result::Result<(), String>;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl EdgeId for $integer {
            const IS_NAME: bool = false;

            #[inline]
            fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String> {
                let id = u64::try_from(*self)
                    .map_err(|_| format!("expected an integer id from 0 on, found {self}"))?;
                row.extend_from_slice(&id.to_le_bytes());
                Ok(())
            }
        }

        impl EdgeWeight for $integer {
            fn ordered(&self, kind: WeightType) -> Option<u64> {
                kind.of_integer(i128::try_from(*self).ok()?)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

impl EdgeWeight for f32 {
    fn ordered(&self, kind: WeightType) -> Option<u64> {
        kind.of_f64(f64::from(*self))
    }
}

impl EdgeWeight for f64 {
    fn ordered(&self, kind: WeightType) -> Option<u64> {
        kind.of_f64(*self)
    }
}

impl EdgeId for str {
    const IS_NAME: bool = true;

    fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String> {
        put_name(self.as_bytes(), row)
    }
}

impl EdgeId for String {
    const IS_NAME: bool = true;

    fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String> {
        put_name(self.as_bytes(), row)
    }
}

impl EdgeId for Cow<'_, str> {
    const IS_NAME: bool = true;

    fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String> {
        put_name(self.as_bytes(), row)
    }
}

impl<I: EdgeId + ?Sized> EdgeId for &I {
    const IS_NAME: bool = I::IS_NAME;

    #[inline]
    fn put(&self, row: &mut Vec<u8>) -> std::result::Result<(), String> {
        (**self).put(row)
    }
}

/// Appends a name behind its length.
pub(crate) fn put_name(name: &[u8], row: &mut Vec<u8>) -> std::result::Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(format!("expected an id of 1 to {NAME_BYTES_MAX} bytes, not {}", name.len()));
    }
    row.extend_from_slice(&(name.len() as u32).to_le_bytes());
    row.extend_from_slice(name);
    Ok(())
}

/// Appends a weight, or says what is expected of one.
pub(crate) fn put_weight(
    weight: Option<u64>,
    kind: WeightType,
    row: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    let bits = weight.ok_or_else(|| format!("expected a weight: {}", kind.expected()))?;
    row.extend_from_slice(&bits.to_le_bytes());
    Ok(())
}

impl<I: EdgeId> Edge for (I, I) {
    const HAS_NAMES: bool = I::IS_NAME;
    const HAS_WEIGHT: bool = false;

    #[inline]
    fn put(&self, _: Option<WeightType>, rows: &mut Vec<u8>) -> std::result::Result<(), String> {
        self.0.put(rows)?;
        self.1.put(rows)
    }
}

impl<I: EdgeId, W: EdgeWeight> Edge for (I, I, W) {
    const HAS_NAMES: bool = I::IS_NAME;
    const HAS_WEIGHT: bool = true;

    #[inline]
    fn put(
        &self,
        weights: Option<WeightType>,
        rows: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        self.0.put(rows)?;
        self.1.put(rows)?;
        weights.map_or(Ok(()), |kind| put_weight(self.2.ordered(kind), kind, rows))
    }
}

impl<E: Edge + ?Sized> Edge for &E {
    const HAS_NAMES: bool = E::HAS_NAMES;
    const HAS_WEIGHT: bool = E::HAS_WEIGHT;

    #[inline]
    fn put(
        &self,
        weights: Option<WeightType>,
        rows: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        (**self).put(weights, rows)
    }
}

/// Rows on their way to an import.
pub(crate) type RowReader<'a> = Box<dyn Read + Send + 'a>;

/// Opens rows, with weights of this type where weights are imported; `None`: they were taken.
trait OpenRows: Send + Sync {
    fn open(&self, weights: Option<WeightType>) -> Result<Option<RowReader<'_>>>;
}

struct Slice<'a, E>(&'a [E]);

impl<E: Edge + Sync> OpenRows for Slice<'_, E> {
    fn open(&self, weights: Option<WeightType>) -> Result<Option<RowReader<'_>>> {
        Ok(Some(RowStream::boxed(self.0.iter(), weights)))
    }
}

struct Once<I>(Mutex<Option<I>>);

impl<I: Iterator<Item: Edge> + Send> OpenRows for Once<I> {
    fn open(&self, weights: Option<WeightType>) -> Result<Option<RowReader<'_>>> {
        let edges = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(edges.map(|edges| RowStream::boxed(edges, weights)))
    }
}

/// Edges that are not in a file.
pub struct Edges<'a> {
    name: String,
    has_names: bool,
    has_weights: bool,
    /// How many edges there are, where they can be read as often as needed.
    count: Option<u64>,
    rows: Box<dyn OpenRows + 'a>,
}

impl fmt::Debug for Edges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edges").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Edges<'a> {
    /// Edges in memory, which an import reads twice where it would otherwise spill them.
    pub fn slice<E: Edge + Sync>(edges: &'a [E]) -> Self {
        let (has_names, has_weights) = (E::HAS_NAMES, E::HAS_WEIGHT);
        let (name, count) = ("edges in memory".to_owned(), Some(edges.len() as u64));
        Self { name, has_names, has_weights, count, rows: Box::new(Slice(edges)) }
    }

    /// Edges that are made on the way. They are taken once, and spilled.
    pub fn iter<I>(edges: I) -> Self
    where
        I: IntoIterator<Item: Edge, IntoIter: Send + 'a>,
    {
        let (has_names, has_weights) = (I::Item::HAS_NAMES, I::Item::HAS_WEIGHT);
        let rows = Box::new(Once(Mutex::new(Some(edges.into_iter()))));
        Self { name: "an iterator of edges".to_owned(), has_names, has_weights, count: None, rows }
    }

    /// Another name for messages.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What messages call them.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether their ids are strings.
    pub(crate) fn has_names(&self) -> bool {
        self.has_names
    }

    /// Whether they have weights.
    pub(crate) fn has_weights(&self) -> bool {
        self.has_weights
    }

    /// Whether they can be read twice.
    pub(crate) fn can_reread(&self) -> bool {
        self.count.is_some()
    }

    /// Bytes of their rows, where that is known.
    pub(crate) fn row_bytes(&self, weights: Option<WeightType>) -> Option<u64> {
        let row = 16 + if weights.is_some() { 8 } else { 0 };
        self.count.filter(|_| !self.has_names).map(|count| count * row)
    }

    /// Their rows from the first on.
    pub(crate) fn open(&self, weights: Option<WeightType>) -> Result<RowReader<'_>> {
        self.rows.open(weights)?.ok_or_else(|| {
            ImportError::Options(format!("{}: can be imported only once", self.name))
        })
    }
}

/// Edges of an iterator as a stream of rows.
struct RowStream<I> {
    edges: I,
    weights: Option<WeightType>,
    row: u64,
    rows: Vec<u8>,
    at: usize,
}

impl<'a, I: Iterator<Item: Edge> + Send + 'a> RowStream<I> {
    fn boxed(edges: I, weights: Option<WeightType>) -> RowReader<'a> {
        Box::new(Self { edges, weights, row: 0, rows: Vec::new(), at: 0 })
    }
}

impl<I: Iterator<Item: Edge>> Read for RowStream<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rows.len() {
            self.at = 0;
            self.rows.clear();
            while self.rows.len() < STREAM_BYTES
                && let Some(edge) = self.edges.next()
            {
                self.row += 1;
                edge.put(self.weights, &mut self.rows)
                    .map_err(|reason| row_error(self.row, reason))?;
            }
        }
        let count = buffer.len().min(self.rows.len() - self.at);
        buffer[..count].copy_from_slice(&self.rows[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// A wrong row on its way through a reader; the name of the input comes where it leaves.
pub(crate) fn row_error(row: u64, reason: String) -> io::Error {
    io::Error::other(ImportError::Row { input: String::new(), row, reason })
}

/// Memory that a stream of rows takes.
pub(crate) const STREAM_MEMORY: usize = 2 * STREAM_BYTES + 2 * NAME_BYTES_MAX;
