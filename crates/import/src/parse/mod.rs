//! Parsers: from blocks of input to edges.
//!
//! - `token`: ids, and splitting a line into them
//! - `edges`: edge lists, with a fast way for plain integer pairs
//! - `delimited`: CSV and TSV
//! - `lists`: adjacency lists, METIS, vertex lists
//! - `matrix`: Matrix Market, coordinate layout
//! - `binary`: `u32` and `u64` pairs, rows of edges, binary adjacency lists
//! - `weighted`: edge lists with a weight on each line
//! - `columns`, `pages`: two or three columns of a Parquet file, page by page
//! - `choice`: which columns of several hold the edges
//!
//! A block of text begins at the start of a line and ends at the end of one.

pub(crate) mod binary;
pub(crate) mod choice;
pub(crate) mod columns;
pub(crate) mod delimited;
pub(crate) mod edges;
pub(crate) mod lists;
pub(crate) mod matrix;
mod pages;
pub(crate) mod token;
pub(crate) mod weighted;

use super::error::ImportError;
use cenote_store::WeightType;

/// Where parsers put what they find. Ids are numbers inside: integers as they are, strings by a
/// number of the sink's choice.
pub trait Sink {
    /// Whether ids are integers.
    const INTEGERS: bool;

    /// The number of an id that was written as text.
    fn id(&mut self, token: &[u8]) -> Result<u64, Fault>;

    /// The number of an id that was written as an integer.
    fn integer(&mut self, id: u64) -> Result<u64, Fault>;

    /// An edge, from one number to another, with the ordered bits of its weight: 0 where weights
    /// are not imported.
    fn edge(&mut self, source: u64, target: u64, weight: u64) -> Result<(), Fault>;

    /// A vertex that exists even if no edge mentions it.
    fn vertex(&mut self, id: u64) -> Result<(), Fault>;
}

/// Why a parser stopped.
#[derive(Debug)]
pub enum Fault {
    /// An id is not what it should be; the parser that called turns it into a line error.
    Token {
        /// What was expected.
        expected: String,
    },
    /// The first id that is not an integer, where `auto` looks for integers.
    NotInteger,
    /// A broken line, counted from the block's first.
    Line {
        /// Lines before it in the block.
        line: u64,
        /// What was expected.
        expected: String,
        /// The line.
        text: String,
    },
    /// A broken row, counted from the block's first.
    Row {
        /// Rows before it in the block.
        row: u64,
        /// What was expected.
        expected: String,
    },
    /// Anything else.
    Import(ImportError),
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Self {
        Fault::Import(error)
    }
}

impl Fault {
    /// Says which line a broken token stood in.
    pub(super) fn at(self, line: u64, text: &[u8]) -> Fault {
        match self {
            Fault::Token { expected } => {
                Fault::Line { line, expected, text: super::error::excerpt(text) }
            }
            other => other,
        }
    }

    /// A weight that is none.
    pub(super) fn weight(kind: WeightType) -> Fault {
        Fault::Token { expected: format!("a weight: {}", kind.expected()) }
    }

    /// A line that is not as it should be.
    pub(super) fn line(line: u64, text: &[u8], expected: impl Into<String>) -> Fault {
        Fault::Token { expected: expected.into() }.at(line, text)
    }
}

/// What is wrong with a header.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The line; what was expected.
    Line(String),
    /// The whole input; the reason.
    Whole(String),
}

impl Problem {
    /// The reason, where there are no lines.
    pub(crate) fn reason(self) -> String {
        match self {
            Problem::Line(expected) => format!("expected {expected}"),
            Problem::Whole(reason) => reason,
        }
    }
}

/// What a block held.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockStats {
    /// Lines of text.
    pub lines: u64,
    /// Lines with more columns than were used.
    pub lines_with_more: u64,
    /// Entries that a header promises the number of; loops of METIS apart.
    pub records: u64,
    /// Loops of METIS.
    pub loops: u64,
    /// Sum over the entries of METIS that is zero if each edge is listed from both ends.
    pub symmetry: u64,
}

impl BlockStats {
    /// Adds what another block held.
    pub fn add(&mut self, other: &BlockStats) {
        self.lines += other.lines;
        self.lines_with_more += other.lines_with_more;
        self.records += other.records;
        self.loops += other.loops;
        self.symmetry = self.symmetry.wrapping_add(other.symmetry);
    }
}
