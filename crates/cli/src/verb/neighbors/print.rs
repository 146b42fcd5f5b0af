//! Prints lists as text or JSON in the user's ids; ids are streamed, so that a long list is never
//! all in memory.

use std::io::Write;

use anyhow::Result;
use cenote::IdRef;
use cenote::graph::NeighborList;

use crate::output;

/// Size of the write buffer.
const WRITTEN_AT: usize = 1 << 20;

/// How lists are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A neighbour a line.
    Neighbors,
    /// An edge a line: the vertex, then the neighbour.
    Edges,
    /// An object a vertex.
    Json,
}

/// Writes lists to stdout.
pub struct Printer {
    style: Style,
    is_weighted: bool,
    text: Vec<u8>,
}

impl Printer {
    pub fn new(style: Style, is_weighted: bool) -> Self {
        Self { style, is_weighted, text: Vec::new() }
    }

    /// Prints the list of a vertex.
    pub fn print(&mut self, list: &NeighborList<'_>) -> Result<()> {
        match self.style {
            Style::Json => self.json(list),
            Style::Neighbors => self.lines(&[], list),
            Style::Edges => self.lines(format!("{}\t", list.vertex()?).as_bytes(), list),
        }
    }

    /// Writes the buffer.
    pub fn finish(mut self) -> Result<()> {
        write_out(&mut self.text)
    }

    fn lines(&mut self, before: &[u8], list: &NeighborList<'_>) -> Result<()> {
        let text = &mut self.text;
        list.for_each(|id, weight| {
            text.extend_from_slice(before);
            match id {
                IdRef::Integer(integer) => write!(text, "{integer}")?,
                IdRef::String(string) => text.extend_from_slice(string.as_bytes()),
            }
            if let Some(weight) = weight {
                write!(text, "\t{weight}")?;
            }
            text.push(b'\n');
            if text.len() >= WRITTEN_AT { write_out(text) } else { anyhow::Ok(()) }
        })
    }

    fn json(&mut self, list: &NeighborList<'_>) -> Result<()> {
        let text = &mut self.text;
        text.extend_from_slice(b"{\"vertex\":");
        serde_json::to_writer(&mut *text, &list.vertex()?)?;
        write!(text, ",\"degree\":{},\"neighbors\":[", list.degree())?;
        let mut comma: &[u8] = b"";
        list.for_each(|id, _| {
            text.extend_from_slice(std::mem::replace(&mut comma, b","));
            serde_json::to_writer(&mut *text, &id)?;
            if text.len() >= WRITTEN_AT { write_out(text) } else { anyhow::Ok(()) }
        })?;
        if self.is_weighted {
            text.extend_from_slice(b"],\"weights\":[");
            comma = b"";
            for weight in list.weights() {
                text.extend_from_slice(std::mem::replace(&mut comma, b","));
                serde_json::to_writer(&mut *text, weight)?;
            }
        }
        text.extend_from_slice(b"]}\n");
        if text.len() >= WRITTEN_AT { write_out(text) } else { Ok(()) }
    }
}

fn write_out(text: &mut Vec<u8>) -> Result<()> {
    output::bytes(text)?;
    text.clear();
    Ok(())
}
