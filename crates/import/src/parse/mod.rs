//! Parses blocks of input into edges.
//!
//! - `token`: parses ids and splits lines
//! - `edges`: edge lists, with a fast path for plain integer pairs
//! - `delimited`: CSV and TSV
//! - `lists`: adjacency lists, METIS
//! - `matrix`: Matrix Market, coordinate layout
//! - `binary`: `u32` and `u64` pairs, rows of edges, binary adjacency lists
//! - `weighted`: edge lists with a weight on each line
//! - `columns`, `pages`: columns of a Parquet file, page by page; `checked`, `delta`, `levels`:
//!   checks pages before they are decoded; `decoded`: passes on what they hold; `footer`, `thrift`:
//!   the metadata of the file
//! - `choice`: chooses the columns that hold the edges
//!
//! A block of text begins at the start of a line and ends at the end of one.

pub(crate) mod binary;
mod checked;
pub(crate) mod choice;
pub(crate) mod columns;
pub(crate) mod decoded;
pub(crate) mod delimited;
mod delta;
pub(crate) mod edges;
mod footer;
mod levels;
pub(crate) mod lists;
pub(crate) mod matrix;
mod pages;
mod thrift;
pub(crate) mod token;
pub(crate) mod weighted;

use super::error::ImportError;
use cenote_store::WeightType;

/// Receives what parsers find. It numbers ids: integers by themselves, strings as it chooses.
pub trait Sink {
    /// Whether ids are integers.
    const INTEGERS: bool;

    /// The number of an id in text form.
    fn id(&mut self, token: &[u8]) -> Result<u64, Fault>;

    /// The number of an integer id.
    fn integer(&mut self, id: u64) -> Result<u64, Fault>;

    /// Adds an edge between two numbers with the ordered bits of its weight, 0 unless weights are
    /// imported.
    fn edge(&mut self, source: u64, target: u64, weight: u64) -> Result<(), Fault>;

    /// Adds a vertex, which may have no edge.
    fn vertex(&mut self, id: u64) -> Result<(), Fault>;

    /// Receives the word behind the id of a vertex in a list of vertices, its value.
    fn value(&mut self, _: u64, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    /// Ends a block: no number from it occurs again.
    fn end_block(&mut self) {}
}

#[derive(Debug)]
pub enum Fault {
    /// A token is wrong; the caller adds the line ([`Fault::at`]).
    Token {
        expected: String,
    },
    /// An id is not an integer, while ids of kind `auto` are taken for integers.
    NotInteger,
    /// A line is wrong; `line` counts from the start of the block.
    Line {
        line: u64,
        expected: String,
        text: String,
    },
    /// A row is wrong; `row` counts from the start of the block.
    Row {
        row: u64,
        expected: String,
    },
    Import(ImportError),
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Self {
        Fault::Import(error)
    }
}

impl Fault {
    /// Adds the line of a wrong token.
    pub(super) fn at(self, line: u64, text: &[u8]) -> Fault {
        match self {
            Fault::Token { expected } => {
                Fault::Line { line, expected, text: super::error::excerpt(text) }
            }
            other => other,
        }
    }

    pub(super) fn weight(kind: WeightType) -> Fault {
        Fault::Token { expected: format!("a weight: {}", kind.expected()) }
    }

    pub(super) fn line(line: u64, text: &[u8], expected: impl Into<String>) -> Fault {
        Fault::Token { expected: expected.into() }.at(line, text)
    }
}

#[derive(Debug)]
pub(crate) enum Problem {
    /// A line is wrong; says what was expected.
    Line(String),
    /// The input is wrong; says why.
    Whole(String),
}

impl Problem {
    pub(crate) fn reason(self) -> String {
        match self {
            Problem::Line(expected) => format!("expected {expected}"),
            Problem::Whole(reason) => reason,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct BlockStats {
    pub lines: u64,
    /// Lines of edge lists with more than two columns.
    pub lines_with_more: u64,
    /// Entries of Matrix Market; entries of METIS without self-loops.
    pub records: u64,
    /// Self-loops of METIS.
    pub loops: u64,
    /// Sum over the entries of METIS, zero if each edge is listed from both ends.
    pub symmetry: u64,
}

impl BlockStats {
    pub fn add(&mut self, other: &BlockStats) {
        self.lines += other.lines;
        self.lines_with_more += other.lines_with_more;
        self.records += other.records;
        self.loops += other.loops;
        self.symmetry = self.symmetry.wrapping_add(other.symmetry);
    }
}
