//! Page traces from files: streamed in bounded memory, compressed (`.zst`, `.gz`) or not.
//!
//! | [`TraceFormat`] | guessed from | a line or record |
//! |---|---|---|
//! | `text` | `.txt`, `.trace`, first line R or W | `R page` or `W page` |
//! | `numbers` | `.txt`, `.trace`, first line a number | `page`, a read |
//! | `arc` | `.lis` | `start count ignored sequence`: reads, each block a page |
//! | `arc-sectors` | never | the same, blocks of 512 bytes grouped into pages |
//! | `csv` | `.csv` | columns by their header, or those of MSR Cambridge ([`csv`]) |
//! | `oracle-general` | `.oracleGeneral`, `.oracleGeneral.bin` | 24 bytes, reads |
//!
//! `numbers` is the LIRS collection, whose `*` lines are marks; `arc` is the ARC collection, in
//! which the literature counts a block as a page; `oracle-general` is libCacheSim's format.
//!
//! Blank lines of text and lines that start with `#` are skipped. A request over several pages
//! yields each of them. A line or record that does not conform to the format is an error that names
//! the file, the number and what was expected; the load ends there.
//!
//! Page numbers are the trace's own and may be sparse: [`Dense`](super::dense::Dense) renumbers.

pub mod csv;
mod lines;
mod records;
mod source;
mod write;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{PageLoad, PageOp};
use crate::error::{Result, WorkloadError, require};
use csv::Csv;
use records::Records;
use source::Lines;
pub use write::write_text;

/// Bytes of a sector, the unit of block addresses.
const SECTOR_BYTES: u64 = 512;

/// Bytes of the largest request in a trace: far more than a drive supports, so that a damaged
/// number is an error and not a load of 10^15 accesses.
pub const REQUEST_BYTES_MAX: u64 = 1 << 32;

/// Format of a trace file, see the table of the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFormat {
    /// Lines `R page` and `W page`.
    Text,
    /// A page a line.
    Numbers,
    /// The ARC collection, each block a page.
    Arc,
    /// The ARC collection, blocks of 512 bytes grouped into pages.
    ArcSectors,
    /// Comma-separated values.
    Csv,
    /// libCacheSim's binary records.
    OracleGeneral,
}

impl TraceFormat {
    /// All formats, in the order of the table.
    pub const ALL: [Self; 6] =
        [Self::Text, Self::Numbers, Self::Arc, Self::ArcSectors, Self::Csv, Self::OracleGeneral];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Numbers => "numbers",
            Self::Arc => "arc",
            Self::ArcSectors => "arc-sectors",
            Self::Csv => "csv",
            Self::OracleGeneral => "oracle-general",
        }
    }

    fn choices() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = WorkloadError;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| WorkloadError::Parameter {
            name: "format",
            value: name.to_owned(),
            expected: format!("one of {}", Self::choices()),
        })
    }
}

/// Adjacent pages requested by a line or record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    pages: Range<u64>,
    write: bool,
}

impl Request {
    /// A request of one page. `None` for the last number, whose end is not a number.
    fn page(page: u64, write: bool) -> Option<Self> {
        Some(Self { pages: page..page.checked_add(1)?, write })
    }

    /// A request of `bytes` bytes at `offset`, at least of the page at `offset`. `None` if it is
    /// too large or its end overflows.
    fn bytes(offset: u64, bytes: u64, page_bytes: u64, write: bool) -> Option<Self> {
        let end = offset.checked_add(bytes.max(1)).filter(|_| bytes <= REQUEST_BYTES_MAX)?;
        let last = (end - 1) / page_bytes;
        Some(Self { pages: offset / page_bytes..last.checked_add(1)?, write })
    }
}

/// Reader of a format.
enum Reader {
    Text(Lines),
    Numbers(Lines),
    Arc(Lines),
    ArcSectors(Lines),
    Csv(Csv),
    Records(Records),
}

/// The accesses of a trace file.
pub struct Trace {
    name: String,
    format: TraceFormat,
    page_bytes: u64,
    reader: Reader,
    /// The remaining pages of the last request.
    current: Request,
    requests: u64,
    ops: u64,
    /// The end of the highest request.
    pages: u64,
    ended: bool,
}

impl Trace {
    /// Opens a trace. Without a `format` it follows from the file's name, or from the first line of
    /// text. `page_bytes` converts byte offsets to pages; formats of page numbers ignore it.
    pub fn open(path: &Path, format: Option<TraceFormat>, page_bytes: u64) -> Result<Self> {
        require(page_bytes > 0, "page-bytes", page_bytes, "at least 1")?;
        let (bytes, inner) = source::open(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let hint = match format {
            Some(format) => Hint::Format(format),
            None => Hint::from_name(&inner).ok_or_else(|| unknown(path, "unknown ending"))?,
        };
        let (format, reader) = match hint {
            Hint::Format(TraceFormat::OracleGeneral) => {
                (TraceFormat::OracleGeneral, Reader::Records(Records::new(path, bytes)))
            }
            Hint::Format(format) => (format, text_reader(format, Lines::new(path, bytes))?),
            Hint::SomeText => {
                let mut lines = Lines::new(path, bytes);
                let format = sniff(lines.peek()?).ok_or_else(|| {
                    unknown(path, "the first line is neither 'R page' nor a number")
                })?;
                (format, text_reader(format, lines)?)
            }
        };
        Ok(Self {
            name,
            format,
            page_bytes,
            reader,
            current: Request { pages: 0..0, write: false },
            requests: 0,
            ops: 0,
            pages: 0,
            ended: false,
        })
    }

    /// The format, given or guessed.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Number of requests so far: lines or records, each of one or more pages.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    fn request(&mut self) -> Result<Option<Request>> {
        match &mut self.reader {
            Reader::Text(input) => lines::text(input),
            Reader::Numbers(input) => lines::number(input),
            Reader::Arc(input) => lines::arc(input, None),
            Reader::ArcSectors(input) => lines::arc(input, Some(self.page_bytes)),
            Reader::Csv(input) => input.request(self.page_bytes),
            Reader::Records(input) => input.request(),
        }
    }
}

/// The format as far as the file's name shows it.
enum Hint {
    Format(TraceFormat),
    SomeText,
}

impl Hint {
    /// `path` lacks the extension of a compressor.
    fn from_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".bin").unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "txt" | "trace" => Some(Self::SomeText),
            "csv" => Some(Self::Format(TraceFormat::Csv)),
            "lis" => Some(Self::Format(TraceFormat::Arc)),
            "oraclegeneral" => Some(Self::Format(TraceFormat::OracleGeneral)),
            _ => None,
        }
    }
}

/// The simple text format of a first line. An empty file fits either.
fn sniff(line: Option<&str>) -> Option<TraceFormat> {
    let Some(line) = line else { return Some(TraceFormat::Text) };
    if line == "*" || line.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(TraceFormat::Numbers);
    }
    let first = line.split_ascii_whitespace().next()?;
    matches!(first, "R" | "r" | "W" | "w").then_some(TraceFormat::Text)
}

fn text_reader(format: TraceFormat, lines: Lines) -> Result<Reader> {
    Ok(match format {
        TraceFormat::Numbers => Reader::Numbers(lines),
        TraceFormat::Arc => Reader::Arc(lines),
        TraceFormat::ArcSectors => Reader::ArcSectors(lines),
        TraceFormat::Csv => Reader::Csv(Csv::new(lines)?),
        TraceFormat::Text | TraceFormat::OracleGeneral => Reader::Text(lines),
    })
}

fn unknown(path: &Path, reason: &str) -> WorkloadError {
    let (path, reason) = (PathBuf::from(path), reason.to_owned());
    WorkloadError::Format { path, reason, choices: TraceFormat::choices() }
}

impl Iterator for Trace {
    type Item = Result<PageOp>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.current.pages.is_empty() {
            if self.ended {
                return None;
            }
            match self.request() {
                Ok(Some(request)) => self.current = request,
                Ok(None) => {
                    self.ended = true;
                    return None;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
            self.requests += 1;
            self.pages = self.pages.max(self.current.pages.end);
        }
        self.ops += 1;
        let write = self.current.write;
        self.current.pages.next().map(|page| Ok(PageOp { page, write }))
    }
}

impl PageLoad for Trace {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Known after the last access.
    fn pages(&self) -> Option<u64> {
        self.ended.then_some(self.pages)
    }

    /// Known after the last access.
    fn ops(&self) -> Option<u64> {
        self.ended.then_some(self.ops)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, format, requests, ops, .. } = self;
        write!(f, "Trace({name}, {format}, {ops} accesses of {requests} requests read)")
    }
}
