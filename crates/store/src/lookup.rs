//! Many lists at random: their pages are asked for together and taken as they come.

use std::ops::Range;

use cenote_pool::Handle;

use crate::error::{Result, equal};
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::pages::Pages;
use crate::{Direction, VertexId};

/// One thread's way to many lists of a graph, from [`Graph::lookup`](crate::Graph::lookup). It
/// keeps its queue to the device, and up to the graph's read depth of requests in flight.
pub struct Lookup<'g> {
    pages: &'g Pages,
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
    pub(crate) fn new(pages: &'g Pages) -> Result<Self> {
        Ok(Self {
            pages,
            handle: pages.handle()?,
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
        let Some(adjacency) = self.pages.layout.adjacency(direction) else { return Ok(lists) };
        self.wanted.clear();
        for (list, &vertex) in (0..).zip(vertices) {
            self.pages.layout.check_vertex(vertex)?;
            let pages = adjacency.pages_of(vertex);
            self.wanted.extend(pages.map(|page| Wanted { page, vertex, list }));
        }
        self.wanted.sort_unstable();
        if let Err(error) = self.take_pages(adjacency) {
            // What is still on its way ends with the handle.
            self.handle = self.pages.handle()?;
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
        let Self { pages, handle, decoded, wanted, pieces, entries } = self;
        let table = &pages.layout.table;
        pieces.clear();
        entries.clear();
        let mut next = 0;
        let pages = wanted.chunk_by(|a, b| a.page == b.page).map(|of_page| {
            let first = next;
            next += of_page.len();
            (table.physical(adjacency.first_page() + of_page[0].page), first as u64)
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

/// The pieces of one list, put together page by page.
pub(crate) struct Pieces<'a> {
    pub adjacency: &'a Adjacency,
    /// Page that holds the last piece.
    pub last_page: u64,
    /// Where the list starts in `out`.
    pub start: usize,
    pub out: &'a mut Vec<VertexId>,
}

impl Pieces<'_> {
    /// Takes the piece of the next page.
    pub fn take(&mut self, number: u64, list: &List<'_>) -> Result<()> {
        self.expect(number, "position of a continued list", list.skip, self.len())?;
        self.out.extend_from_slice(list.targets);
        if number == self.last_page {
            self.expect(number, "length of a list", self.len(), list.degree)?;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        (self.out.len() - self.start) as u64
    }

    fn expect(&self, number: u64, what: &'static str, found: u64, expected: u64) -> Result<()> {
        equal(what, found, expected).map_err(|fault| self.adjacency.fault(number, fault))
    }
}
