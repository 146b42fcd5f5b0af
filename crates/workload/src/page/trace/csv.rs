//! Block traces as comma-separated values, in two forms:
//!
//! 1. With a header that names the columns, in any order and case; others are ignored. The address
//!    is one of `page` (also `page_id`, `block`, `object`, `obj_id`, `key`: a page number),
//!    `offset` (also `byte_offset`, `address`, `addr`: bytes) or `lbn` (also `lba`, `sector`:
//!    sectors of 512 bytes). The kind is `op` (also `type`, `rw`, `opcode`, `operation`,
//!    `iotype`); without such a column all requests read. The length in bytes is `size` (also
//!    `length`, `len`, `bytes`, `io_size`); without it, or with 0, a request is of one page.
//!    CloudPhysics' traces in libCacheSim's form, `version,time,op,size,lbn`, are of this kind.
//! 2. Without a header, the seven columns of MSR Cambridge: time, host, disk, `Read` or `Write`,
//!    offset in bytes, size in bytes, response time. Such a file must be of one disk, since the
//!    offsets of two would collide.
//!
//! Kinds: `R`, `RD`, `READ`, `W`, `WR`, `WRITE`, `WS`, `RS` in any case, and SCSI's codes in
//! hexadecimal (`08`, `28`, `88`, `a8` read; `0a`, `2a`, `8a`, `aa` write).
//!
//! Quotes around a field are removed; commas inside quotes are not supported.

use super::source::Lines;
use super::{REQUEST_BYTES_MAX, Request, SECTOR_BYTES};
use crate::error::Result;

/// Columns of an MSR Cambridge line.
const MSR_COLUMNS: usize = 7;

/// Unit of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Page,
    Byte,
    Sector,
}

/// Places of the columns.
#[derive(Clone, Debug)]
struct Columns {
    count: usize,
    address: (usize, Unit),
    op: Option<usize>,
    size: Option<usize>,
}

impl Columns {
    fn from_header(line: &str) -> Option<Self> {
        let names: Vec<String> = fields(line).map(str::to_ascii_lowercase).collect();
        let find = |choices: &[&str]| {
            choices.iter().find_map(|choice| names.iter().position(|name| name == choice))
        };
        let address = [
            (Unit::Page, &["page", "page_id", "block", "object", "obj_id", "key"][..]),
            (Unit::Byte, &["offset", "byte_offset", "address", "addr"]),
            (Unit::Sector, &["lbn", "lba", "sector"]),
        ];
        let address =
            address.into_iter().find_map(|(unit, choices)| Some((find(choices)?, unit)))?;
        Some(Self {
            count: names.len(),
            address,
            op: find(&["op", "type", "rw", "opcode", "operation", "iotype"]),
            size: find(&["size", "length", "len", "bytes", "io_size"]),
        })
    }

    fn from_msr(line: &str) -> Option<Self> {
        let is_msr = fields(line).count() == MSR_COLUMNS
            && fields(line).nth(3).is_some_and(|kind| write_of(kind).is_some());
        is_msr.then_some(Self {
            count: MSR_COLUMNS,
            address: (4, Unit::Byte),
            op: Some(3),
            size: Some(5),
        })
    }
}

/// Reads the requests of a CSV file.
pub(super) struct Csv {
    lines: Lines,
    /// `None` if the file has no lines.
    columns: Option<Columns>,
    /// Host and disk of an MSR file, from its first line.
    disk: Option<String>,
    msr: bool,
}

impl Csv {
    /// Reads the header, if there is one.
    pub(super) fn new(mut lines: Lines) -> Result<Self> {
        let Some(first) = lines.peek()? else {
            return Ok(Self { lines, columns: None, disk: None, msr: false });
        };
        if let Some(columns) = Columns::from_msr(first) {
            return Ok(Self { lines, columns: Some(columns), disk: None, msr: true });
        }
        let Some(columns) = Columns::from_header(first) else {
            return Err(lines.broken(
                "a header that names page, offset or lbn, or the 7 columns of MSR Cambridge",
            ));
        };
        lines.next()?;
        Ok(Self { lines, columns: Some(columns), disk: None, msr: false })
    }

    pub(super) fn request(&mut self, page_bytes: u64) -> Result<Option<Request>> {
        let Some(columns) = &self.columns else { return Ok(None) };
        let Some(line) = self.lines.next()? else { return Ok(None) };
        let parsed = parse(line, columns, page_bytes);
        let one_disk = !self.msr || same_disk(line, &mut self.disk);
        match parsed {
            Ok(request) if one_disk => Ok(Some(request)),
            Ok(_) => Err(self.lines.broken(format!(
                "disk {} as in the lines before; split the file by disk",
                self.disk.as_deref().unwrap_or_default()
            ))),
            Err(expected) => Err(self.lines.broken(expected)),
        }
    }
}

/// Parses a line. The error says what was expected.
fn parse(line: &str, columns: &Columns, page_bytes: u64) -> std::result::Result<Request, String> {
    let found = fields(line).count();
    if found != columns.count {
        return Err(format!("{} columns instead of {found}", columns.count));
    }
    let field = |column: usize| fields(line).nth(column).unwrap_or_default();
    let (column, unit) = columns.address;
    let address: u64 = field(column)
        .parse()
        .map_err(|_| format!("a number from 0 to 2^64 - 1 in column {}", column + 1))?;
    let write = match columns.op {
        Some(column) => write_of(field(column)).ok_or_else(|| {
            format!("read or write in column {}: R, W or a SCSI code", column + 1)
        })?,
        None => false,
    };
    let size: u64 = match columns.size {
        Some(column) => field(column)
            .parse()
            .map_err(|_| format!("a number of bytes in column {}", column + 1))?,
        None => 0,
    };
    let request = match unit {
        Unit::Byte => Request::bytes(address, size, page_bytes, write),
        Unit::Sector => address
            .checked_mul(SECTOR_BYTES)
            .and_then(|offset| Request::bytes(offset, size, page_bytes, write)),
        Unit::Page => Some(size.div_ceil(page_bytes).max(1))
            .filter(|_| size <= REQUEST_BYTES_MAX)
            .and_then(|count| Some(Request { pages: address..address.checked_add(count)?, write })),
    };
    request.ok_or_else(|| {
        format!("a request of at most {REQUEST_BYTES_MAX} bytes that ends below 2^64")
    })
}

/// Whether an MSR line has the same host and disk as the first one.
fn same_disk(line: &str, disk: &mut Option<String>) -> bool {
    let mut names = fields(line).skip(1);
    let (host, number) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    match disk {
        Some(disk) => {
            disk.strip_prefix(host).is_some_and(|rest| rest.strip_prefix('.') == Some(number))
        }
        None => {
            *disk = Some(format!("{host}.{number}"));
            true
        }
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| field.trim().trim_matches('"'))
}

/// Whether a request writes; `None` if it neither reads nor writes.
fn write_of(kind: &str) -> Option<bool> {
    let is = |names: &[&str]| names.iter().any(|name| kind.eq_ignore_ascii_case(name));
    if is(&["r", "rd", "rs", "read", "08", "28", "88", "a8"]) {
        return Some(false);
    }
    is(&["w", "wr", "ws", "write", "0a", "2a", "8a", "aa"]).then_some(true)
}
