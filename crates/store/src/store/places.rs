//! Where a change has its place in the lists of a commit.

use std::collections::HashMap;

use cenote_pool::Handle;

use crate::degrees::longer;
use crate::delta::PAGE_ENTRIES_MAX;
use crate::error::Result;
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::index::Adjacency;
use crate::log::{LoggedChange, Pending};
use crate::packed::decode::Decoded;
use crate::pages::Pages;
use crate::update::Change;
use crate::{Direction, VertexId};

/// The place of an entry in the lists of one direction, as committed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub direction: Direction,
    pub owner: VertexId,
    pub page: u64,
    pub is_there: bool,
    /// Length of the whole list.
    pub degree: u64,
    /// Entries of the page, and of the list within it.
    page_entries: i64,
    piece_entries: i64,
    /// Whether the list has several pages.
    is_long: bool,
}

/// Finds places in the lists of a commit.
pub(super) struct Finder<'g> {
    graph: &'g Graph,
    handle: Handle,
    decoded: Decoded,
}

impl<'g> Finder<'g> {
    pub fn new(graph: &'g Graph, handle: Handle) -> Self {
        Self { graph, handle, decoded: Decoded::new() }
    }

    pub fn into_handle(self) -> Handle {
        self.handle
    }

    /// Brings the first pages of the lists of some changes into memory, many at a time.
    pub fn read_ahead(&self, changes: &[Change]) -> Result<()> {
        let superblock = self.graph.superblock();
        let target_lists = match (superblock.directed, superblock.in_edges) {
            (true, false) => None,
            _ => Some(Direction::In),
        };
        let mut pages = Vec::with_capacity(2 * changes.len());
        for &Change { source, target, .. } in changes {
            let ends = [(Some(Direction::Out), source), (target_lists, target)];
            for (direction, owner) in ends {
                let lists = direction.and_then(|direction| self.graph.adjacency(direction));
                let is_known = (owner as usize) < self.graph.vertices();
                if let Some(lists) = lists.filter(|_| is_known) {
                    let page = lists.first_page() + lists.pages_of(owner).start();
                    pages.push(self.graph.physical(page));
                }
            }
        }
        pages.sort_unstable();
        pages.dedup();
        Pages::load_each(&self.handle, pages.into_iter().map(|page| (page, 0)), |_, _| Ok(()))
    }

    /// The place of an entry in a list: the last page of the list that begins with a smaller entry,
    /// else the first one.
    pub fn find(
        &mut self,
        direction: Direction,
        owner: VertexId,
        entry: VertexId,
    ) -> Result<Place> {
        let lists = self.graph.adjacency(direction).expect("the graph has this direction");
        if owner as usize >= self.graph.vertices() {
            return self.behind(lists, direction, owner);
        }
        let (mut page, mut last) = lists.pages_of(owner).into_inner();
        let is_long = page < last;
        while page < last {
            let middle = page + (last - page).div_ceil(2);
            let (first, ..) = self.piece((direction, lists), middle, owner, entry)?;
            match first.is_some_and(|first| first <= entry) {
                true => page = middle,
                false => last = middle - 1,
            }
        }
        let (_, place) = self.piece((direction, lists), page, owner, entry)?;
        Ok(Place { is_long, ..place })
    }

    /// The first entry of a list in a page, and the place of an entry if that is its page.
    fn piece(
        &mut self,
        (direction, lists): (Direction, &Adjacency),
        page: u64,
        owner: VertexId,
        entry: VertexId,
    ) -> Result<(Option<VertexId>, Place)> {
        let Self { graph, handle, decoded } = self;
        let bytes = graph.pages.pin(handle, lists.first_page() + page)?;
        let page_entries = page_entries(lists, page, &bytes, decoded)?;
        let mut found = None;
        lists.reparse_lists(page, &bytes, &[owner], decoded, &mut |list| {
            let place = Place {
                direction,
                owner,
                page,
                is_there: list.targets.binary_search(&entry).is_ok(),
                degree: list.degree,
                page_entries,
                piece_entries: list.targets.len() as i64,
                is_long: false,
            };
            found = Some((list.targets.first().copied(), place));
        })?;
        Ok(found.expect("the index led to a page with the list"))
    }

    /// Ordered bits of the weight of an entry that is in the lists at this place.
    pub fn weight(&mut self, place: &Place, entry: VertexId) -> Result<u64> {
        let Self { graph, handle, decoded } = self;
        let &Place { direction, owner, page, .. } = place;
        let lists = graph.adjacency(direction).expect("the graph has this direction");
        let column = graph.load_weights(direction)?.expect("the graph has weights");
        let at = {
            let bytes = graph.pages.pin(handle, lists.first_page() + page)?;
            let view = lists.reparse(page, &bytes, decoded)?;
            let list = (owner - view.first_vertex()) as usize;
            let at = view.list(list).targets.binary_search(&entry);
            column.addresses_of(page).start + (view.start(list) + at.expect("it is there")) as u64
        };
        let per_page = column.per_page() as u64;
        let bytes = graph.pages.pin(handle, column.first_page() + at / per_page)?;
        let weight = column.reparse(at / per_page, &bytes).get((at % per_page) as usize);
        Ok(weight.ordered().expect("weights were verified"))
    }

    /// The place in the list of a vertex that the commit does not have: behind all others.
    fn behind(
        &mut self,
        lists: &Adjacency,
        direction: Direction,
        owner: VertexId,
    ) -> Result<Place> {
        let page = lists.pages() - 1;
        let bytes = self.graph.pages.pin(&self.handle, lists.first_page() + page)?;
        let page_entries = page_entries(lists, page, &bytes, &mut self.decoded)?;
        Ok(Place {
            direction,
            owner,
            page,
            is_there: false,
            degree: 0,
            page_entries,
            piece_entries: 0,
            is_long: false,
        })
    }
}

/// Entries of a page with the changes of delta runs.
fn page_entries(lists: &Adjacency, page: u64, bytes: &[u8], decoded: &mut Decoded) -> Result<i64> {
    Ok(i64::from(PageHeader::read(bytes).entries) + lists.page_net(page, decoded)?)
}

/// How much longer pending changes make pages, parts of lists, and lists.
#[derive(Debug, Default)]
pub(super) struct Nets {
    pages: HashMap<(Direction, u64), i64>,
    /// Of lists of several pages.
    pieces: HashMap<(Direction, u64, VertexId), i64>,
    /// Of lists of targets.
    lists: HashMap<VertexId, i64>,
}

impl Nets {
    /// Those of changes that were read from the log.
    pub fn of(pending: &Pending, graph: &Graph) -> Self {
        let mut nets = Self::default();
        let (directed, has_in_edges) = (graph.is_directed(), graph.superblock().in_edges);
        for (&(source, target), edge) in &pending.edges {
            let (pages, weight) = (edge.pages(), edge.weight);
            let change = LoggedChange { op: edge.op(), source, target, weight, pages };
            let entries = change.op.entries();
            if entries == 0 {
                continue;
            }
            for (direction, owner, page) in ends(&change, directed, has_in_edges) {
                let lists = graph.adjacency(direction).expect("the graph has this direction");
                let is_long = owner < lists.stored_vertices() && {
                    let pages = lists.pages_of(owner);
                    pages.start() < pages.end()
                };
                nets.add(direction, owner, page, is_long, entries);
            }
        }
        nets
    }

    fn add(
        &mut self,
        direction: Direction,
        owner: VertexId,
        page: u64,
        is_long: bool,
        entries: i64,
    ) {
        *self.pages.entry((direction, page)).or_default() += entries;
        if is_long {
            *self.pieces.entry((direction, page, owner)).or_default() += entries;
        }
        if direction == Direction::Out {
            *self.lists.entry(owner).or_default() += entries;
        }
    }

    /// Counts a change at a place.
    pub fn count(&mut self, place: &Place, entries: i64) {
        self.add(place.direction, place.owner, place.page, place.is_long, entries);
    }

    /// Whether the page can still be read with one more entry, or one less.
    pub fn has_room(&self, place: &Place, entries: i64) -> bool {
        let Place { direction, owner, page, .. } = *place;
        let in_page = self.pages.get(&(direction, page)).copied().unwrap_or_default();
        let in_piece = self.pieces.get(&(direction, page, owner)).copied().unwrap_or_default();
        // A part of a list that is left without an entry could not be told from its beginning.
        let keeps_piece = !place.is_long || place.piece_entries + in_piece + entries > 0;
        place.page_entries + in_page + entries <= PAGE_ENTRIES_MAX as i64 && keeps_piece
    }

    /// The length of a list of targets.
    pub fn degree(&self, place: &Place) -> u64 {
        let net = self.lists.get(&place.owner).copied().unwrap_or_default();
        place.degree.saturating_add_signed(net)
    }

    /// The longest list of targets and its smallest vertex, by a pass over all lengths.
    pub fn longest(&self, graph: &Graph) -> Result<(u64, VertexId)> {
        let (mut longest, mut base) = ((0, 0), 0);
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (vertex, &degree) in (first..).zip(degrees) {
                let net = self.lists.get(&vertex).copied().unwrap_or_default();
                longest = longer(longest, (degree.saturating_add_signed(net), vertex));
            }
            base = first + degrees.len() as VertexId;
        })?;
        let new = self.lists.iter().filter(|(vertex, _)| **vertex >= base);
        Ok(new
            .fold(longest, |longest, (vertex, net)| longer(longest, (net.unsigned_abs(), *vertex))))
    }
}

/// The lists that a change concerns: direction, vertex and page.
fn ends(
    change: &LoggedChange,
    directed: bool,
    has_in_edges: bool,
) -> impl Iterator<Item = (Direction, VertexId, u64)> {
    let LoggedChange { source, target, pages, .. } = *change;
    let other = match (directed, has_in_edges) {
        (true, true) => Some(Direction::In),
        (true, false) => None,
        (false, _) => (source != target).then_some(Direction::Out),
    };
    let first = (Direction::Out, source, pages[0]);
    [first].into_iter().chain(other.map(|direction| (direction, target, pages[1])))
}
