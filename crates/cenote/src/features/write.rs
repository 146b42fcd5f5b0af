//! Writes a file of features.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::header::{FeatureType, Header, numbering, seal};
use super::{PAGE_BYTES, ROWS_START};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::output::OutputFile;

/// Pages that are written at a time.
const BATCH_PAGES: usize = 256;

/// Writes the rows of all vertices, by their numbers. The file appears under its name when it is
/// complete; if it is dropped before [`FeatureWriter::finish`], there is none.
#[derive(Debug)]
pub struct FeatureWriter {
    path: PathBuf,
    file: OutputFile,
    header: Header,
    /// Whole pages, and the one that is being filled.
    pages: Vec<u8>,
    page: Vec<u8>,
    page_number: u64,
    bytes: u64,
}

impl FeatureWriter {
    pub(crate) fn create(
        graph: &Graph,
        path: &Path,
        kind: FeatureType,
        columns: u32,
    ) -> Result<Self> {
        if columns == 0 {
            return Err(Error::parameter("columns", "is 0: a row has at least one number"));
        }
        let (stored, rows) = (graph.stored(), graph.stored().vertices() as u64);
        let salt = stored.superblock().salt;
        let header = Header { kind, columns, rows, salt, numbering: numbering(stored, rows)? };
        let mut writer = Self {
            path: path.to_owned(),
            file: OutputFile::create(path, &[graph.path()])?,
            header,
            pages: header.to_page(),
            page: vec![0; ROWS_START],
            page_number: 1,
            bytes: 0,
        };
        writer.pages.reserve_exact((BATCH_PAGES - 1) * PAGE_BYTES);
        Ok(writer)
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.header.row_bytes()
    }

    /// Adds rows, or parts of rows: little-endian numbers, row after row by ascending vertex.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for more rows than vertices; the file cannot be written.
    pub fn push(&mut self, mut rows: &[u8]) -> Result<()> {
        self.bytes += rows.len() as u64;
        if self.bytes > self.header.rows * self.row_bytes() {
            return Err(self.wrong_count("more"));
        }
        while !rows.is_empty() {
            let (now, rest) = rows.split_at(rows.len().min(PAGE_BYTES - self.page.len()));
            self.page.extend_from_slice(now);
            rows = rest;
            if self.page.len() == PAGE_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Completes the file. Returns its size in bytes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for fewer rows than vertices; the file cannot be written.
    pub fn finish(mut self) -> Result<u64> {
        if self.bytes < self.header.rows * self.row_bytes() {
            return Err(self.wrong_count("fewer"));
        }
        if self.page.len() > ROWS_START {
            self.end_page()?;
        }
        self.write()?;
        self.file.finish()
    }

    fn wrong_count(&self, what: &str) -> Error {
        let (rows, row_bytes) = (self.header.rows, self.row_bytes());
        let found = self.bytes / row_bytes;
        let reason = format!(
            "{what} rows than vertices: {found} of {row_bytes} bytes, not {rows}, a row for each \
             vertex, deleted ones included"
        );
        Error::input(&self.path, reason)
    }

    fn end_page(&mut self) -> Result<()> {
        self.page.resize(PAGE_BYTES, 0);
        seal(&mut self.page, self.header.salt, self.page_number);
        self.pages.extend_from_slice(&self.page);
        self.page_number += 1;
        self.page.clear();
        self.page.resize(ROWS_START, 0);
        if self.pages.len() == BATCH_PAGES * PAGE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let cannot = Error::io(format!("cannot write {}", self.path.display()));
        self.file.write_all(&self.pages).map_err(cannot)?;
        self.pages.clear();
        Ok(())
    }
}
