//! Reads many lists in random order, with several page reads in flight.
//!
//! - [`Lookup`]: whole lists
//! - [`Chosen`]: chosen entries of lists; `long`: which page holds an entry of a long list

mod chosen;
pub(crate) mod long;

use std::ops::Range;

use crate::error::{PageFault, Result, equal};
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::page::List;
use crate::pages::{KeptHandle, Pages};
use crate::{Direction, VertexId};

pub use chosen::{Choose, Chosen};

/// Reads many lists of a graph on one thread, see [`Graph::lookup`](crate::Graph::lookup). Has a
/// queue to the device with up to [`read_depth`](crate::LookupConfig::read_depth) requests, which
/// the graph keeps for the next one.
pub struct Lookup<'g> {
    pages: &'g Pages,
    handle: KeptHandle<'g>,
    decoded: Decoded,
    wanted: Vec<Wanted>,
    /// Those of a page.
    vertices: Vec<VertexId>,
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
            handle: pages.kept_handle()?,
            decoded: Decoded::new(),
            wanted: Vec::new(),
            vertices: Vec::new(),
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
        let (mut pieces, mut entries) =
            (std::mem::take(&mut self.pieces), std::mem::take(&mut self.entries));
        pieces.clear();
        entries.clear();
        self.read_wanted(adjacency, &mut |&Wanted { page, list, .. }, found| {
            let (start, skip, degree) = (entries.len(), found.skip, found.degree);
            entries.extend_from_slice(found.targets);
            pieces.push(Piece { list, page, skip, degree, entries: start..entries.len() });
            Ok(())
        })?;
        (self.pieces, self.entries) = (pieces, entries);
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

    /// Reads each page in `wanted`, which ascends, once, and calls `take` with its pieces of the
    /// lists. After an error no request is in flight.
    fn read_wanted(&mut self, adjacency: &Adjacency, take: Take<'_>) -> Result<()> {
        let Self { pages, handle, decoded, wanted, vertices, .. } = self;
        let table = &pages.layout.table;
        let mut next = 0;
        let of_pages = wanted.chunk_by(|a, b| a.page == b.page).map(|of_page| {
            let first = next;
            next += of_page.len();
            (table.physical(adjacency.first_page() + of_page[0].page), first as u64)
        });
        let read = Pages::load_each(handle, of_pages, |first, bytes| {
            let wanted = &wanted[first as usize..];
            let page = wanted[0].page;
            vertices.clear();
            vertices.extend(wanted.iter().take_while(|w| w.page == page).map(|w| w.vertex));
            let (mut wanted, mut taken) = (wanted.iter(), Ok(()));
            adjacency.reparse_lists(page, bytes, vertices, decoded, &mut |piece| {
                if let (Ok(()), Some(wanted)) = (&taken, wanted.next()) {
                    taken = take(wanted, piece);
                }
            })?;
            taken.map_err(|fault| adjacency.fault(page, fault))
        });
        if read.is_err() {
            // Dropping the handle ends the requests in flight.
            handle.renew()?;
        }
        read
    }
}

/// Takes the piece of a list on a page that was read.
type Take<'t> = &'t mut dyn FnMut(&Wanted, &List<'_>) -> Result<(), PageFault>;

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
