//! Parses the formats of lines of numbers.

use super::source::Lines;
use super::{REQUEST_BYTES_MAX, Request, SECTOR_BYTES};
use crate::error::Result;

/// Description of a page number.
const PAGE: &str = "a page number from 0 to 2^64 - 2";

/// Parses `R page` or `W page`, in either case.
pub(super) fn text(lines: &mut Lines) -> Result<Option<Request>> {
    let Some(line) = lines.next()? else { return Ok(None) };
    let mut words = line.split_ascii_whitespace();
    let write = match words.next() {
        Some("R" | "r") => Some(false),
        Some("W" | "w") => Some(true),
        _ => None,
    };
    let page = words.next().and_then(|word| word.parse().ok());
    let request = match (write, page, words.next()) {
        (Some(write), Some(page), None) => Request::page(page, write),
        _ => None,
    };
    match request {
        Some(request) => Ok(Some(request)),
        None => Err(lines.broken(format!("'R' or 'W' and {PAGE}"))),
    }
}

/// Parses a page number. `*` marks a phase in the LIRS collection and is skipped.
pub(super) fn number(lines: &mut Lines) -> Result<Option<Request>> {
    loop {
        let Some(line) = lines.next()? else { return Ok(None) };
        if line == "*" {
            continue;
        }
        return match line.parse().ok().and_then(|page| Request::page(page, false)) {
            Some(request) => Ok(Some(request)),
            None => Err(lines.broken(PAGE)),
        };
    }
}

/// Parses `start count ignored sequence`: blocks of 512 bytes, grouped into pages of `page_bytes`.
/// Without a size each block is a page, as in the literature on replacement.
pub(super) fn arc(lines: &mut Lines, page_bytes: Option<u64>) -> Result<Option<Request>> {
    let Some(line) = lines.next()? else { return Ok(None) };
    match arc_request(line, page_bytes) {
        Some(request) => Ok(Some(request)),
        None => {
            let most = REQUEST_BYTES_MAX / SECTOR_BYTES;
            Err(lines.broken(format!(
                "four numbers: start, count (1 to {most} blocks), ignored, sequence"
            )))
        }
    }
}

fn arc_request(line: &str, page_bytes: Option<u64>) -> Option<Request> {
    let mut words = line.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let [start, count, _, _] = [words.next()??, words.next()??, words.next()??, words.next()??];
    if words.next().is_some() || !(1..=REQUEST_BYTES_MAX / SECTOR_BYTES).contains(&count) {
        return None;
    }
    let Some(page_bytes) = page_bytes else {
        return Some(Request { pages: start..start.checked_add(count)?, write: false });
    };
    Request::bytes(
        start.checked_mul(SECTOR_BYTES)?,
        count.checked_mul(SECTOR_BYTES)?,
        page_bytes,
        false,
    )
}
