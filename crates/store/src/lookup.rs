//! Many lists at random: their pages are asked for together and taken as they come.

use std::ops::Range;

use cenote_pool::Handle;

use crate::error::Result;
use crate::graph::{Graph, Pieces};
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::pages::Pages;
use crate::{Direction, VertexId};

/// One thread's way to many lists of a graph; [`Graph::lookup`] makes it. It keeps its queue to the
/// device, and up to the graph's read depth of requests in flight.
pub struct Lookup<'g> {
    graph: &'g Graph,
    handle: Handle,
    decoded: Decoded,
    wanted: Vec<Wanted>,
    pieces: Vec<Piece>,
    entries: Vec<VertexId>,
}

/// A page in which a list, or a piece of it, lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    page: u64,
    vertex: VertexId,
    /// Which of the lists that are read.
    list: u32,
}

/// A piece of a list: where its entries are, and what its page says of the whole.
struct Piece {
    list: u32,
    page: u64,
    skip: u64,
    degree: u64,
    entries: Range<usize>,
}

impl<'g> Lookup<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self> {
        Ok(Self {
            graph,
            handle: graph.handle()?,
            decoded: Decoded::new(),
            wanted: Vec::new(),
            pieces: Vec::new(),
            entries: Vec::new(),
        })
    }

    /// The lists of `vertices`, in their order; a vertex may come more than once, its pages are
    /// read once. After an error nothing is on its way any more.
    ///
    /// # Errors
    /// [`StoreError::NoVertex`](crate::StoreError::NoVertex), or why a page cannot be had.
    pub fn read(
        &mut self,
        direction: Direction,
        vertices: &[VertexId],
    ) -> Result<Vec<Vec<VertexId>>> {
        let mut lists = vec![Vec::new(); vertices.len()];
        let Some(adjacency) = self.graph.adjacency(direction) else { return Ok(lists) };
        self.wanted.clear();
        for (list, &vertex) in (0..).zip(vertices) {
            self.graph.check_vertex(vertex)?;
            let pages = adjacency.pages_of(vertex);
            self.wanted.extend(pages.map(|page| Wanted { page, vertex, list }));
        }
        self.wanted.sort_unstable();
        if let Err(error) = self.take_pages(adjacency) {
            // What is still on its way ends with the handle.
            self.handle = self.graph.handle()?;
            return Err(error);
        }
        self.pieces.sort_unstable_by_key(|piece| (piece.list, piece.page));
        for piece in &self.pieces {
            let list = piece.list as usize;
            let last = *adjacency.pages_of(vertices[list]).end();
            let out = &mut lists[list];
            let targets = &self.entries[piece.entries.clone()];
            let (page, skip, degree) = (piece.page, piece.skip, piece.degree);
            let found = List { vertex: vertices[list], page, skip, degree, targets };
            Pieces { adjacency, last_page: last, start: 0, out }.take(piece.page, &found)?;
        }
        Ok(lists)
    }

    /// Asks for each wanted page once and keeps what it holds of the lists.
    fn take_pages(&mut self, adjacency: &Adjacency) -> Result<()> {
        let Self { graph, handle, decoded, wanted, pieces, entries } = self;
        pieces.clear();
        entries.clear();
        let mut next = 0;
        let pages = wanted.chunk_by(|a, b| a.page == b.page).map(|of_page| {
            let first = next;
            next += of_page.len();
            (graph.physical(adjacency.first_page() + of_page[0].page), first as u64)
        });
        Pages::take_each(handle, pages, |first, bytes| {
            let wanted = &wanted[first as usize..];
            let page = wanted[0].page;
            for want in wanted.iter().take_while(|want| want.page == page) {
                let keep = |list: &List<'_>| {
                    let start = entries.len();
                    entries.extend_from_slice(list.targets);
                    pieces.push(Piece {
                        list: want.list,
                        page,
                        skip: list.skip,
                        degree: list.degree,
                        entries: start..entries.len(),
                    });
                };
                adjacency.reparse_lists(page, bytes, &[want.vertex], decoded, keep)?;
            }
            Ok(())
        })
    }
}
