//! Rows: the binary form of edges between a source in memory and the workers.
//!
//! A row is a pair of ids, followed by the ordered bits of a weight if weights are imported.
//! Integers take 8 bytes, little-endian; strings follow their length in a `u32`.

use std::io::{self, Read};

use cenote_store::WeightType;

use crate::error::ImportError;
use crate::ids::strings::NAME_BYTES_MAX;

/// Bytes of rows that a stream converts at a time.
pub(crate) const STREAM_BYTES: usize = 64 << 10;

pub(crate) const STREAM_MEMORY: usize = 2 * STREAM_BYTES + 2 * NAME_BYTES_MAX;

pub(crate) type RowReader<'a> = Box<dyn Read + Send + 'a>;

/// A row that is not an edge: its index in the batch, and the reason.
pub(crate) type WrongRow = (usize, String);

/// Says what was expected of a name that is too short or too long.
pub(crate) fn check_name(name: &[u8]) -> Result<(), String> {
    match name.len() {
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(format!("an id of 1 to {NAME_BYTES_MAX} bytes, not {bytes}")),
    }
}

pub(crate) fn put_name(name: &[u8], row: &mut Vec<u8>) -> Result<(), String> {
    check_name(name).map_err(|expected| format!("expected {expected}"))?;
    row.extend_from_slice(&(name.len() as u32).to_le_bytes());
    row.extend_from_slice(name);
    Ok(())
}

pub(crate) fn no_weight(kind: WeightType) -> String {
    format!("expected a weight: {}", kind.expected())
}

/// The error of a wrong row, without the name of the input, which is added later.
pub(crate) fn row_error(row: u64, reason: String) -> io::Error {
    io::Error::other(ImportError::Row { input: String::new(), row, reason })
}

/// A stream of the rows that `make` appends at each call, none at the end.
pub(crate) fn stream<'a>(
    make: impl FnMut(&mut Vec<u8>) -> io::Result<()> + Send + 'a,
) -> RowReader<'a> {
    Box::new(RowStream { make, rows: Vec::new(), at: 0 })
}

struct RowStream<F> {
    make: F,
    rows: Vec<u8>,
    at: usize,
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> Read for RowStream<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rows.len() {
            self.at = 0;
            self.rows.clear();
            (self.make)(&mut self.rows)?;
        }
        let count = buffer.len().min(self.rows.len() - self.at);
        buffer[..count].copy_from_slice(&self.rows[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

pub(crate) enum IdColumn<T> {
    Integers(Vec<u64>),
    Names(Vec<T>),
}

impl<T> IdColumn<T> {
    pub fn len(&self) -> usize {
        match self {
            IdColumn::Integers(ids) => ids.len(),
            IdColumn::Names(names) => names.len(),
        }
    }
}

/// Edges in columns of equal length.
pub(crate) struct EdgeColumns<T> {
    pub source: IdColumn<T>,
    pub target: IdColumn<T>,
    /// Ordered bits, if weights are imported.
    pub weights: Option<Vec<u64>>,
}

impl<T: AsRef<[u8]>> EdgeColumns<T> {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether the columns have as many values as each other.
    pub fn have_one_length(&self) -> bool {
        let weights = self.weights.as_ref().map_or(self.len(), Vec::len);
        self.target.len() == self.len() && weights == self.len()
    }

    /// Bytes of all as rows.
    pub fn row_bytes(&self) -> usize {
        let ids = [&self.source, &self.target].map(|column| match column {
            IdColumn::Integers(ids) => size_of_val(&ids[..]),
            IdColumn::Names(names) => names.iter().map(|name| 4 + name.as_ref().len()).sum(),
        });
        ids[0] + ids[1] + self.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]))
    }

    /// Appends the first edges to empty rows: as many as fit into `limit` bytes, at least one.
    /// Returns their number.
    pub fn put(&self, rows: &mut Vec<u8>, limit: usize) -> Result<usize, WrongRow> {
        let count = self.len();
        match (&self.source, &self.target) {
            (IdColumn::Integers(sources), IdColumn::Integers(targets)) => {
                let row_bytes = if self.weights.is_some() { 24 } else { 16 };
                let count = count.min((limit / row_bytes).max(1));
                for at in 0..count {
                    rows.extend_from_slice(&sources[at].to_le_bytes());
                    rows.extend_from_slice(&targets[at].to_le_bytes());
                    if let Some(weights) = &self.weights {
                        rows.extend_from_slice(&weights[at].to_le_bytes());
                    }
                }
                return Ok(count);
            }
            (IdColumn::Names(sources), IdColumn::Names(targets)) => {
                for at in 0..count {
                    let pair = [sources[at].as_ref(), targets[at].as_ref()];
                    let bytes = 16 + pair[0].len() + pair[1].len();
                    if !rows.is_empty() && rows.len() + bytes > limit {
                        return Ok(at);
                    }
                    for name in pair {
                        put_name(name, rows).map_err(|reason| (at, reason))?;
                    }
                    if let Some(weights) = &self.weights {
                        rows.extend_from_slice(&weights[at].to_le_bytes());
                    }
                }
            }
            _ => unreachable!("both columns are of a kind"),
        }
        Ok(count)
    }
}
