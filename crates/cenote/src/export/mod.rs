//! Writes the edges or the vertices of a graph as text or Parquet.
//!
//! Each edge is written once: on an undirected graph from its smaller end (by the user's ids).
//! Edges are in the order of the lists and their entries, so the output is deterministic. The ids
//! of all vertices are in memory: 8 bytes each for integers, the text for strings, and 4 more if
//! the vertices are not in the order of their ids.

mod arrow;
mod parquet;
mod vertices;

use std::io::{self, Write};

pub use self::arrow::EdgeBatches;
pub use self::parquet::export_parquet;
pub use self::vertices::{export_vertices, export_vertices_parquet};
use cenote_store::diff::{DiffReport, for_each_change};
pub use cenote_store::edges::ExportReport;
use cenote_store::edges::{Progress, for_each_edge};
use cenote_store::error::{Result, StoreError};
use cenote_store::graph::Graph;
use cenote_store::ids::{IdRef, IdTable};
use cenote_store::{Op, VertexId, for_each_changed_value};

const BUFFER_BYTES: usize = 1 << 16;

/// Writes one edge a line: source, target and, if there is one, weight, separated by tabs, in the
/// user's ids. An id with white space, or one that looks like a comment, is an error.
pub fn export_text(
    graph: &Graph,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let ids = graph.ids()?.load()?;
    check_text_ids(graph, &ids)?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 256);
    let directed = graph.is_directed();
    let report = for_each_edge(graph, progress, &mut |source, target, weight| {
        let ends = [source, target];
        let [source, target] = if directed { ends } else { ids.in_order(ends) };
        put_id(&mut buffer, ids.get(source));
        buffer.push(b'\t');
        put_id(&mut buffer, ids.get(target));
        if let Some(weight) = weight {
            write!(buffer, "\t{weight}").map_err(write_error)?;
        }
        buffer.push(b'\n');
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer).map_err(write_error)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer).and_then(|()| out.flush()).map_err(write_error)?;
    Ok(report)
}

/// Writes the changes that make one state of a graph the other, one a line as `cenote update
/// --stdin` reads them: `+ u v` for an added edge, `- u v` for a deleted one, in a graph with
/// weights `+ u v w` and `= u v w`, where edges repeat `- u v w` and no `=`; then `+ u` for each
/// new vertex without an edge and `- u` for each deleted one; then `= u` for each that has no value
/// any more and `= u value` for each that has another one. An id with white space, or one that
/// looks like a comment, is an error.
pub fn export_changes(
    before: &Graph,
    after: &Graph,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<DiffReport> {
    let ids = after.ids()?.load()?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 256);
    let mut report =
        for_each_change(before, after, progress, &mut |change, weight| -> Result<()> {
            let ends = [change.source, change.target];
            let ends = if after.is_directed() { ends } else { ids.in_order(ends) };
            buffer.push(match change.op {
                Op::Add | Op::AddVertex => b'+',
                Op::Delete | Op::DeleteVertex => b'-',
                _ => b'=',
            });
            let ends = if change.op.is_of_vertex() { &ends[..1] } else { &ends[..] };
            for &end in ends {
                check_text_id(ids.get(end), "compare graphs whose ids are words")?;
                buffer.push(b' ');
                put_id(&mut buffer, ids.get(end));
            }
            let says_which = change.op != Op::Delete || after.superblock().duplicates_kept;
            if let Some(weight) = weight.filter(|_| says_which) {
                write!(buffer, " {weight}").map_err(write_error)?;
            }
            end_line(&mut buffer, out)
        })?;
    let counts = for_each_changed_value(before, after, &mut |vertex, value| -> Result<()> {
        check_text_id(ids.get(vertex), "compare graphs whose ids are words")?;
        buffer.extend_from_slice(b"= ");
        put_id(&mut buffer, ids.get(vertex));
        if let Some(value) = value {
            write!(buffer, " {value}").map_err(write_error)?;
        }
        end_line(&mut buffer, out)
    })?;
    (report.values_set, report.values_removed) = counts;
    out.write_all(&buffer).and_then(|()| out.flush()).map_err(write_error)?;
    Ok(report)
}

fn end_line(buffer: &mut Vec<u8>, out: &mut dyn Write) -> Result<()> {
    buffer.push(b'\n');
    if buffer.len() >= BUFFER_BYTES {
        out.write_all(buffer).map_err(write_error)?;
        buffer.clear();
    }
    Ok(())
}

/// Checks that every id can be read again from a line of text.
fn check_text_ids(graph: &Graph, ids: &IdTable) -> Result<()> {
    let vertices = (0..graph.vertices() as VertexId).filter(|vertex| !graph.is_deleted(*vertex));
    let mut ids = vertices.map(|vertex| ids.get(vertex));
    ids.try_for_each(|id| check_text_id(id, "export to Parquet"))
}

fn check_text_id(id: IdRef<'_>, remedy: &str) -> Result<()> {
    let IdRef::String(id) = id else { return Ok(()) };
    let is_comment = id.starts_with(['#', '%']);
    if is_comment || id.is_empty() || id.contains([' ', '\t', '\r', '\n', ',']) {
        let reason = format!(
            "the id {id:?} cannot be read again from a line of text (it is empty, has white \
             space or a comma, or looks like a comment): {remedy}"
        );
        return Err(write_error(io::Error::new(io::ErrorKind::InvalidData, reason)));
    }
    Ok(())
}

fn put_id(buffer: &mut Vec<u8>, id: IdRef<'_>) {
    match id {
        IdRef::String(string) => buffer.extend_from_slice(string.as_bytes()),
        IdRef::Integer(integer) => put_integer(buffer, integer),
    }
}

/// Writes decimal digits, faster than `write!`.
pub(crate) fn put_integer(buffer: &mut Vec<u8>, mut integer: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (integer % 10) as u8;
        integer /= 10;
        if integer == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

fn write_error(source: io::Error) -> StoreError {
    StoreError::Export { source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_digits() {
        for integer in [0, 7, 10, 99, 1_234_567_890, u64::MAX] {
            let mut buffer = Vec::new();
            put_integer(&mut buffer, integer);
            assert_eq!(buffer, integer.to_string().as_bytes());
        }
    }
}
