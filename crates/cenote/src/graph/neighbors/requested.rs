//! The vertices whose lists are requested, by ids that are looked up many at a time.

use std::borrow::Cow;
use std::collections::VecDeque;

use cenote_store::{IdRef, Ids, VertexId};

use super::ID_TEXT_BYTES;
use crate::error::{Error, Result};
use crate::graph::StoredGraph;
use crate::keys::{IdLines, unknown_vertex};

/// The requested ids: those given, then the lines of a file.
pub(super) struct Requested<'a> {
    pub given: std::slice::Iter<'a, String>,
    pub vertices: std::slice::Iter<'a, VertexId>,
    pub file: Option<IdLines>,
    /// Most ids that are looked up at a time.
    pub ids_max: u64,
    /// Vertices of the ids that were looked up, behind those that were put back.
    pub found: VecDeque<VertexId>,
    /// The error of the id or line after them.
    pub fault: Option<Error>,
}

impl<'a> Requested<'a> {
    /// The next vertex; none after the last.
    pub fn next(&mut self, graph: &StoredGraph, ids: &Ids) -> Result<Option<VertexId>> {
        if self.found.is_empty() && self.fault.is_none() {
            self.look_up(graph, ids)?;
        }
        match (self.found.pop_front(), self.fault.take()) {
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(self.vertices.next().copied()),
            (found, fault) => {
                self.fault = fault;
                Ok(found)
            }
        }
    }

    /// Has [`Requested::next`] give some vertices again before all others.
    pub fn put_back(&mut self, vertices: &[VertexId]) {
        vertices.iter().rev().for_each(|vertex| self.found.push_front(*vertex));
    }

    /// Finds the vertices of the next ids, up to the first that has none.
    fn look_up(&mut self, graph: &StoredGraph, ids: &Ids) -> Result<()> {
        let (texts, fault) = self.read();
        let parsed: Vec<_> = texts.iter().map(|(text, _)| ids.parse(text)).collect();
        let mut sorted: Vec<IdRef<'_>> = parsed.iter().flatten().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let vertices = ids.vertices_of(&sorted)?;
        let vertex_of = |id: &Option<IdRef<'_>>| {
            let at = sorted.binary_search(id.as_ref()?).expect("it is one of them");
            vertices[at]
        };
        self.found.extend(parsed.iter().map_while(vertex_of));
        self.fault = match texts.get(self.found.len()) {
            None => fault,
            Some((text, line)) => {
                let place = line.zip(self.file.as_ref()).map(|(line, file)| file.place_of(line));
                Some(unknown_vertex(graph, ids, text, &place.unwrap_or_default()))
            }
        };
        Ok(())
    }

    /// The next ids, each with the number of its line if it has one, and the error after them.
    fn read(&mut self) -> (Vec<Text<'a>>, Option<Error>) {
        let (mut texts, mut bytes): (Vec<Text<'a>>, u64) = (Vec::new(), 0);
        while (texts.len() as u64) < self.ids_max && bytes < self.ids_max * ID_TEXT_BYTES {
            let text: Text<'a> = match (self.given.next(), &mut self.file) {
                (Some(id), _) => (id.as_str().into(), None),
                (None, None) => break,
                (None, Some(file)) => match file.next() {
                    Ok(None) => break,
                    Ok(Some(line)) => (line.into(), Some(file.number())),
                    Err(error) => return (texts, Some(error)),
                },
            };
            bytes += text.0.len() as u64;
            texts.push(text);
        }
        (texts, None)
    }
}

/// An id, and the number of its line if it is one of a file.
type Text<'a> = (Cow<'a, str>, Option<u64>);
