//! Writes the vertices of a graph, with their values, as text.

use std::collections::BTreeMap;
use std::io::Write;

use cenote_store::VertexId;
use cenote_store::error::Result;
use cenote_store::graph::Graph;

use super::{BUFFER_BYTES, check_text_id, put_id, write_error};

/// Writes one vertex a line, by ascending id: the id and, if it has one, its value behind a tab.
/// Returns how many were written and how many have a value. The values are in memory, some 16 bytes
/// each.
pub fn export_vertices(graph: &Graph, out: &mut dyn Write) -> Result<(u64, u64)> {
    let mut values = BTreeMap::new();
    graph.for_each_value(&mut |vertex, value| {
        values.insert(vertex, value);
        Ok(())
    })?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 256);
    let mut counts = (0, 0);
    graph.ids()?.for_each(0..graph.vertices() as VertexId, |vertex, id| -> Result<()> {
        check_text_id(id, "no format of vertices has a place for it")?;
        put_id(&mut buffer, id);
        if let Some(value) = values.get(&vertex) {
            write!(buffer, "\t{value}").map_err(write_error)?;
            counts.1 += 1;
        }
        buffer.push(b'\n');
        counts.0 += 1;
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer).map_err(write_error)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer).and_then(|()| out.flush()).map_err(write_error)?;
    Ok(counts)
}
