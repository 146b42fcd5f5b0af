//! Parses edge lists: two ids a line.

use super::token::{digits, for_each_line, is_blank_or_comment, is_separator, tokens};
use super::{BlockStats, Fault, Sink};

const EXPECTED: &str = "an edge: two ids split by white space or a comma";

pub fn parse<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let mut stats = BlockStats::default();
    let mut start = 0;
    while start < block.len() {
        if S::INTEGERS {
            start += plain_pairs(&block[start..], sink, &mut stats)?;
            if start >= block.len() {
                break;
            }
        }
        let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |at| start + at);
        let line = &block[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        any_line(line, sink, &mut stats).map_err(|fault| fault.at(stats.lines, line))?;
        stats.lines += 1;
        start = end + 1;
    }
    Ok(stats)
}

/// Fast path: lines of two integers with one separator and nothing else. Returns the start of the
/// first other line.
fn plain_pairs<S: Sink>(
    block: &[u8],
    sink: &mut S,
    stats: &mut BlockStats,
) -> Result<usize, Fault> {
    let mut start = 0;
    loop {
        let Some((source, len)) = digits(&block[start..]) else { return Ok(start) };
        let mut at = start + len;
        if len == 0 || !block.get(at).is_some_and(|&byte| is_separator(byte)) {
            return Ok(start);
        }
        at += 1;
        let Some((target, len)) = digits(&block[at..]) else { return Ok(start) };
        at += len;
        if block.get(at) == Some(&b'\r') {
            at += 1;
        }
        if len == 0 || block.get(at) != Some(&b'\n') {
            return Ok(start);
        }
        sink.edge(source, target, 0)?;
        stats.lines += 1;
        start = at + 1;
    }
}

/// General path: comments, blanks, further columns, strings.
fn any_line<S: Sink>(line: &[u8], sink: &mut S, stats: &mut BlockStats) -> Result<(), Fault> {
    if is_blank_or_comment(line) {
        return Ok(());
    }
    let mut ids = tokens(line);
    let (Some(source), Some(target)) = (ids.next(), ids.next()) else {
        return Err(Fault::Token { expected: EXPECTED.to_owned() });
    };
    stats.lines_with_more += u64::from(ids.next().is_some());
    let source = sink.id(source)?;
    let target = sink.id(target)?;
    sink.edge(source, target, 0)
}

/// Parses a block of a vertex list: the id of each line, and its value, if it has one.
pub fn parse_vertices<S: Sink>(
    block: &[u8],
    only_ids: bool,
    sink: &mut S,
) -> Result<BlockStats, Fault> {
    let lines = for_each_line(block, |index, line| {
        if is_blank_or_comment(line) {
            return Ok(());
        }
        let mut words = tokens(line);
        let first = words.next().unwrap_or_default();
        let id = sink.id(first).map_err(|fault| fault.at(index, line))?;
        if let Some(value) = words.next() {
            if only_ids {
                let expected = "an id alone, since values need a file that can be read twice";
                return Err(Fault::line(index, line, expected));
            }
            sink.value(id, value).map_err(|fault| fault.at(index, line))?;
        }
        sink.vertex(id)
    })?;
    Ok(BlockStats { lines, ..BlockStats::default() })
}
