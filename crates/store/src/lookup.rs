//! Reads many lists in random order, with several page reads in flight.

use std::ops::Range;

use cenote_pool::Handle;

use crate::error::{Result, equal};
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::pages::Pages;
use crate::{Direction, VertexId};

/// Reads many lists of a graph on one thread, see [`Graph::lookup`](crate::Graph::lookup). Keeps a
/// queue to the device with up to [`read_depth`](crate::LookupConfig::read_depth) requests.
pub struct Lookup<'g> {
    pages: &'g Pages,
    handle: Handle,
    decoded: Decoded,
    wanted: Vec<Wanted>,
    pieces: Vec<Piece>,
    entries: Vec<VertexId>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    page: u64,
    vertex: VertexId,
    /// Position among the lists that are read.
    list: u32,
}

/// A piece of a list: its entries, and its place in the list by the page.
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

    /// Reads the lists of `vertices`, in that order; vertices may repeat. Each page is read once.
    /// After an error no request is in flight.
    ///
    /// # Errors
    /// [`StoreError::NoVertex`](crate::StoreError::NoVertex), or the error of a read.
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
        if let Err(error) = self.read_pages(adjacency) {
            // Dropping the handle ends the requests in flight.
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

    /// Reads each page in `wanted` once and keeps its pieces of the lists.
    fn read_pages(&mut self, adjacency: &Adjacency) -> Result<()> {
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
        Pages::load_each(handle, pages, |first, bytes| {
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

/// Joins the pieces of one list, page by page.
pub(crate) struct Pieces<'a> {
    pub adjacency: &'a Adjacency,
    /// Page that holds the last piece.
    pub last_page: u64,
    /// Where the list starts in `out`.
    pub start: usize,
    pub out: &'a mut Vec<VertexId>,
}

impl Pieces<'_> {
    /// Appends the piece of the next page.
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
