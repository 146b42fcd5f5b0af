//! Reads many lists in random order, with several page reads in flight.
//!
//! - [`Lookup`]: whole lists
//! - [`Chosen`]: chosen entries of lists; `long`: which page holds an entry of a long list

mod chosen;
pub(crate) mod long;

use crate::error::{PageFault, Result, at_most, equal, other};
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
    /// The pages that are wanted, and how many of them delta runs were asked for, of each run.
    numbers: Vec<u64>,
    asked: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    page: u64,
    vertex: VertexId,
    /// Position among the lists that are read.
    list: u32,
}

/// Where a piece of a list lies in it, by its page.
struct Piece {
    list: u32,
    page: u64,
    skip: u64,
    len: u64,
}

/// What [`Lookup::read_within`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListsRead {
    /// All lists, in the order of the vertices.
    Whole(Vec<Vec<VertexId>>),
    /// There is no room for a list of so many entries.
    NoRoom {
        /// Whose list it is.
        vertex: VertexId,
        /// Its length.
        degree: u64,
    },
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
            numbers: Vec::new(),
            asked: Vec::new(),
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
        match self.read_within(direction, vertices, &mut |_| true)? {
            ListsRead::Whole(lists) => Ok(lists),
            ListsRead::NoRoom { .. } => unreachable!("there is room for every list"),
        }
    }

    /// As [`Lookup::read`], as long as there is room: `reserve` gets the length of each list before
    /// memory is taken for it.
    ///
    /// # Errors
    /// As [`Lookup::read`].
    pub fn read_within(
        &mut self,
        direction: Direction,
        vertices: &[VertexId],
        reserve: &mut dyn FnMut(u64) -> bool,
    ) -> Result<ListsRead> {
        let mut lists = vec![Vec::new(); vertices.len()];
        let Some(adjacency) = self.pages.layout.adjacency(direction) else {
            return Ok(ListsRead::Whole(lists));
        };
        self.wanted.clear();
        for (list, &vertex) in (0..).zip(vertices) {
            self.pages.layout.check_vertex(vertex)?;
            let pages = adjacency.pages_of(vertex);
            self.wanted.extend(pages.map(|page| Wanted { page, vertex, list }));
        }
        self.wanted.sort_unstable();
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        let mut refused = None;
        let read = self.read_wanted(adjacency, &mut |&Wanted { page, list, vertex }, found| {
            let (start, len, degree) = (found.skip, found.targets.len() as u64, found.degree);
            at_most("end of a piece of a list", start.saturating_add(len), degree)?;
            pieces.push(Piece { list, page, skip: start, len });
            let out = &mut lists[list as usize];
            if out.is_empty() && degree > 0 {
                let pages = adjacency.pages_of(vertex);
                let room = (pages.end() - pages.start() + 1) * adjacency.page_entries_max();
                at_most("length of a list", degree, room)?;
                if !reserve(degree) {
                    refused = Some(ListsRead::NoRoom { vertex, degree });
                    return Err(other("there is no room for the list"));
                }
                out.resize(degree as usize, 0);
            }
            equal("length of a list", degree, out.len() as u64)?;
            out[start as usize..][..len as usize].copy_from_slice(found.targets);
            Ok(())
        });
        self.pieces = pieces;
        if let Some(refused) = refused {
            return Ok(refused);
        }
        read?;
        self.pieces.sort_unstable_by_key(|piece| (piece.list, piece.page));
        for of_list in self.pieces.chunk_by(|a, b| a.list == b.list) {
            let (mut len, mut page) = (0, 0);
            for piece in of_list {
                page = piece.page;
                equal("position of a continued list", piece.skip, len)
                    .map_err(|fault| adjacency.fault(page, fault))?;
                len += piece.len;
            }
            let degree = lists[of_list[0].list as usize].len() as u64;
            equal("length of a list", len, degree).map_err(|fault| adjacency.fault(page, fault))?;
        }
        Ok(ListsRead::Whole(lists))
    }

    /// Reads each page in `wanted`, which ascends, once, and calls `take` with its pieces of the
    /// lists. After an error no request is in flight.
    fn read_wanted(&mut self, adjacency: &Adjacency, take: Take<'_>) -> Result<()> {
        let Self { pages, handle, decoded, wanted, vertices, numbers, asked, .. } = self;
        let (table, read_depth) = (&pages.layout.table, pages.read_depth());
        let of_pages = || wanted.chunk_by(|a, b| a.page == b.page);
        let runs = adjacency.runs_from(0).map(|runs| runs.runs);
        numbers.clear();
        if runs.is_some() {
            numbers.extend(of_pages().map(|of_page| of_page[0].page));
        }
        asked.clear();
        let mut next = 0;
        let of_pages = of_pages().enumerate().map(|(at, of_page)| {
            let first = next;
            next += of_page.len();
            if let Some(runs) = &runs {
                runs.read_for(numbers, at, read_depth, asked);
            }
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
