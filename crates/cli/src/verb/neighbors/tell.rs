//! Lists as text or JSON, in the user's ids: written while the ids are read, so that a long list is
//! never there as a whole.

use std::io::Write;

use anyhow::Result;
use cenote_store::{Direction, Graph, Id, IdRef, Ids, VertexId, Weight};

use crate::graph_file::{JsonId, JsonIdRef, JsonWeight};
use crate::output;

/// Text that is kept before it is written.
const WRITTEN_AT: usize = 1 << 20;

/// How lists are told.
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
pub struct Teller<'g> {
    graph: &'g Graph,
    ids: Ids,
    direction: Direction,
    style: Style,
    text: Vec<u8>,
}

/// A list in the order of the user's ids.
struct Ordered<'a> {
    ranks: std::borrow::Cow<'a, [VertexId]>,
    /// One for each neighbour of a weighted graph.
    weights: Vec<Weight>,
}

impl<'g> Teller<'g> {
    pub fn new(graph: &'g Graph, direction: Direction, style: Style) -> Result<Self> {
        Ok(Self { graph, ids: graph.ids()?, direction, style, text: Vec::new() })
    }

    /// Tells the list of a vertex.
    pub fn tell(&mut self, vertex: VertexId, list: &[VertexId]) -> Result<()> {
        let mut weights = Vec::new();
        if self.graph.is_weighted() {
            self.graph.read_weights(self.direction, vertex, &mut weights)?;
        }
        let list = Ordered::new(&self.ids, list, weights)?;
        let vertex = self.ids.id_of(vertex)?;
        match self.style {
            Style::Json => self.json(vertex, &list),
            Style::Neighbors => self.lines(&[], &list),
            Style::Edges => self.lines(format!("{vertex}\t").as_bytes(), &list),
        }
    }

    /// Writes what is kept.
    pub fn finish(mut self) -> Result<()> {
        write_out(&mut self.text)
    }

    fn lines(&mut self, before: &[u8], list: &Ordered<'_>) -> Result<()> {
        let Self { ids, text, .. } = self;
        let mut weights = list.weights.iter();
        ids.for_each_of(&list.ranks, |id| {
            text.extend_from_slice(before);
            match id {
                IdRef::Integer(integer) => write!(text, "{integer}")?,
                IdRef::String(string) => text.extend_from_slice(string.as_bytes()),
            }
            if let Some(weight) = weights.next() {
                write!(text, "\t{weight}")?;
            }
            text.push(b'\n');
            if text.len() >= WRITTEN_AT { write_out(text) } else { anyhow::Ok(()) }
        })
    }

    fn json(&mut self, vertex: Id, list: &Ordered<'_>) -> Result<()> {
        let Self { graph, ids, text, .. } = self;
        text.extend_from_slice(b"{\"vertex\":");
        serde_json::to_writer(&mut *text, &JsonId(vertex))?;
        write!(text, ",\"degree\":{},\"neighbors\":[", list.ranks.len())?;
        let mut comma: &[u8] = b"";
        ids.for_each_of(&list.ranks, |id| {
            text.extend_from_slice(std::mem::replace(&mut comma, b","));
            serde_json::to_writer(&mut *text, &JsonIdRef(id))?;
            if text.len() >= WRITTEN_AT { write_out(text) } else { anyhow::Ok(()) }
        })?;
        if graph.is_weighted() {
            text.extend_from_slice(b"],\"weights\":[");
            comma = b"";
            for &weight in &list.weights {
                text.extend_from_slice(std::mem::replace(&mut comma, b","));
                serde_json::to_writer(&mut *text, &JsonWeight(weight))?;
            }
        }
        text.extend_from_slice(b"]}\n");
        if text.len() >= WRITTEN_AT { write_out(text) } else { Ok(()) }
    }
}

impl<'a> Ordered<'a> {
    fn new(ids: &Ids, list: &'a [VertexId], weights: Vec<Weight>) -> Result<Self> {
        if ids.is_natural() {
            return Ok(Self { ranks: list.into(), weights });
        }
        let mut ranks = Vec::with_capacity(list.len());
        ids.ranks_of(list, &mut ranks)?;
        if weights.is_empty() {
            ranks.sort_unstable();
            return Ok(Self { ranks: ranks.into(), weights });
        }
        // Repeated edges keep their order.
        let mut ranked: Vec<(VertexId, Weight)> = ranks.into_iter().zip(weights).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let (ranks, weights): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        Ok(Self { ranks: ranks.into(), weights })
    }
}

fn write_out(text: &mut Vec<u8>) -> Result<()> {
    output::bytes(text)?;
    text.clear();
    Ok(())
}
