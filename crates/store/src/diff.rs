//! What changed between two states of a graph.
//!
//! A commit writes new pages for the lists that it changes and leaves the others where they are. So
//! two states share the pages that lie in the same place and were written in the same epoch, and
//! only the others are read: the edges that one state has there and the other does not.

use cenote_pool::Handle;

use crate::error::{Result, StoreError, equal};
use crate::graph::Graph;
use crate::packed::decode::Decoded;
use crate::pages::Pages;
use crate::update::{Change, Op};
use crate::weights::{Weight, WeightColumn};
use crate::{Adjacency, Direction, VertexId};

/// Pages that are looked at between two calls of the progress callback.
const PROGRESS_PAGES: u64 = 1024;

/// How two states of a graph differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffReport {
    /// Edges that only the later state has.
    pub added: u64,
    /// Edges that only the earlier state has.
    pub deleted: u64,
    /// Edges that both have, with different weights; none in a graph that keeps repeated edges.
    pub reweighed: u64,
    /// Vertices that only the later state has.
    pub new_vertices: u64,
    /// Vertices that only the earlier state has.
    pub deleted_vertices: u64,
    /// Vertices that have another value; 0 where they were not compared, which
    /// [`for_each_changed_value`](crate::for_each_changed_value) does.
    pub values_set: u64,
    /// Vertices that have no value any more.
    pub values_removed: u64,
    /// Pages of lists that were read, of both states.
    pub pages_read: u64,
    /// Pages of lists of both states.
    pub pages: u64,
}

/// Calls `visit` with every change that makes `before` the graph of `after`: first those of edges,
/// ascending by source and target, with the weight that the edge has now or, if it is deleted, that
/// it had. An edge of an undirected graph is visited once, from its end with the smaller vertex
/// number. A graph that keeps repeated edges has an edge as often as it is there with a weight: so
/// one whose weight changed is visited as deleted and as added, the smaller weight first. Then the
/// new vertices without an edge, and the deleted ones, whose edges were deleted before.
/// `progress` gets the pages of both states that were read or passed over, and how many there are.
///
/// Reads the pages of lists that the two do not share, through the pools of their look-ups.
///
/// # Errors
/// [`StoreError::NotComparable`] if they are not states of one graph; errors of reading, and those
/// of `visit`, which end it.
pub fn for_each_change<E: From<StoreError>>(
    before: &Graph,
    after: &Graph,
    progress: &mut dyn FnMut(u64, u64),
    visit: &mut dyn FnMut(Change, Option<Weight>) -> Result<(), E>,
) -> Result<DiffReport, E> {
    check_comparable(before, after)?;
    let later = after.superblock();
    let mut vertices = Vertices::of(before, after);
    let mut report = DiffReport {
        new_vertices: vertices.new.len() as u64,
        deleted_vertices: vertices.deleted.len() as u64,
        ..DiffReport::default()
    };
    let kind = later.weights.map(|weights| weights.kind());
    let repeats = later.duplicates_kept;
    let place = |entry: &Entry| (entry.owner, entry.other, if repeats { entry.weight } else { 0 });
    let mut sides = [Side::new(before, after)?, Side::new(after, before)?];
    report.pages = sides.iter().map(|side| side.adjacency.pages()).sum();
    let mut reported = 0;
    loop {
        let [old, new] = &mut sides;
        let (deleted, added) = (old.entry()?, new.entry()?);
        let (op, entry) = match (deleted, added) {
            (None, None) => break,
            (Some(old), Some(new)) if place(&old) == place(&new) => (Op::Set, new),
            (Some(old), Some(new)) if place(&old) > place(&new) => (Op::Add, new),
            (Some(old), _) => (Op::Delete, old),
            (None, Some(new)) => (Op::Add, new),
        };
        old.at += usize::from(op != Op::Add);
        new.at += usize::from(op != Op::Delete);
        let done = old.next_page + new.next_page;
        if done >= reported + PROGRESS_PAGES {
            progress(done, report.pages);
            reported = done;
        }
        let is_same = op == Op::Set && deleted == added;
        if is_same || !after.is_directed() && entry.owner > entry.other {
            continue;
        }
        match op {
            Op::Add => {
                report.added += 1;
                vertices.see([entry.owner, entry.other]);
            }
            Op::Delete => report.deleted += 1,
            Op::Set => report.reweighed += 1,
            _ => unreachable!("an entry is an edge"),
        }
        let change = Change { op, source: entry.owner, target: entry.other };
        visit(change, kind.map(|kind| kind.weight(entry.weight)))?;
    }
    for change in vertices.changes() {
        visit(change, None)?;
    }
    progress(report.pages, report.pages);
    report.pages_read = sides.iter().map(|side| side.pages_read).sum();
    Ok(report)
}

/// Checks that two graphs are states of one.
pub(crate) fn check_comparable(before: &Graph, after: &Graph) -> Result<()> {
    let (earlier, later) = (before.superblock(), after.superblock());
    // A graph that is written anew is another file, even where it has the same salt and epochs.
    let is_one_file = before.device().file_id() == after.device().file_id();
    if !is_one_file || earlier.salt != later.salt || earlier.vertices > later.vertices {
        let [before, after] = [before, after].map(|graph| graph.file().to_string());
        return Err(StoreError::NotComparable { before, after });
    }
    Ok(())
}

/// The vertices that only one of two states has, ascending.
struct Vertices {
    new: Vec<VertexId>,
    /// Whether an edge of each new vertex was added.
    has_edge: Vec<bool>,
    deleted: Vec<VertexId>,
}

impl Vertices {
    fn of(before: &Graph, after: &Graph) -> Self {
        let common = before.vertices() as VertexId;
        let revived = before.deleted().iter().copied();
        let new: Vec<VertexId> = revived
            .chain(common..after.vertices() as VertexId)
            .filter(|vertex| !after.is_deleted(*vertex))
            .collect();
        let deleted = after.deleted().iter().copied();
        let deleted = deleted.filter(|vertex| *vertex < common && !before.is_deleted(*vertex));
        Self { has_edge: vec![false; new.len()], new, deleted: deleted.collect() }
    }

    fn see(&mut self, ends: [VertexId; 2]) {
        if !self.new.is_empty() {
            for at in ends.into_iter().filter_map(|end| self.new.binary_search(&end).ok()) {
                self.has_edge[at] = true;
            }
        }
    }

    fn changes(&self) -> impl Iterator<Item = Change> {
        let new = self.new.iter().zip(&self.has_edge).filter(|(_, has_edge)| !**has_edge);
        let added = new.map(|(&vertex, _)| Change::of_vertex(Op::AddVertex, vertex));
        let deleted = self.deleted.iter();
        added.chain(deleted.map(|&vertex| Change::of_vertex(Op::DeleteVertex, vertex)))
    }
}

/// An entry of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    owner: VertexId,
    other: VertexId,
    /// Ordered bits; 0 in a graph without weights.
    weight: u64,
}

/// The entries of one state in the pages that it does not share with the other, in order.
struct Side<'g> {
    graph: &'g Graph,
    adjacency: &'g Adjacency,
    column: Option<&'g WeightColumn>,
    other: &'g Graph,
    handle: Handle,
    decoded: Decoded,
    /// Pages that are read together, the last first.
    window: Vec<u64>,
    window_pages: usize,
    /// The next page that is not in the window.
    next_page: u64,
    /// The entries of a page.
    entries: Vec<Entry>,
    at: usize,
    pages_read: u64,
}

impl<'g> Side<'g> {
    fn new(graph: &'g Graph, other: &'g Graph) -> Result<Self> {
        other.load_weights(Direction::Out)?;
        Ok(Self {
            graph,
            adjacency: graph.adjacency(Direction::Out).expect("every graph has lists of targets"),
            column: graph.load_weights(Direction::Out)?,
            other,
            handle: graph.handle()?,
            decoded: Decoded::new(),
            window: Vec::new(),
            window_pages: graph.pages.window_pages(),
            next_page: 0,
            entries: Vec::new(),
            at: 0,
            pages_read: 0,
        })
    }

    /// The next entry.
    fn entry(&mut self) -> Result<Option<Entry>> {
        while self.at == self.entries.len() {
            (self.at, _) = (0, self.entries.clear());
            if self.window.is_empty() {
                self.load_window()?;
            }
            let Some(page) = self.window.pop() else { return Ok(None) };
            self.read(page)?;
        }
        Ok(Some(self.entries[self.at]))
    }

    /// Brings the next pages that are not shared into memory.
    fn load_window(&mut self) -> Result<()> {
        while self.next_page < self.adjacency.pages() && self.window.len() < self.window_pages {
            if !self.is_shared(self.next_page)? {
                self.window.push(self.next_page);
            }
            self.next_page += 1;
        }
        let first = self.adjacency.first_page();
        let wanted = self.window.iter().map(|page| (self.graph.physical(first + page), 0));
        Pages::load_each(&self.handle, wanted, |_, _| Ok(()))?;
        self.pages_read += self.window.len() as u64;
        self.window.reverse();
        Ok(())
    }

    /// Whether the other state has the same page, with the same weights.
    fn is_shared(&mut self, page: u64) -> Result<bool> {
        let lists = self.other.adjacency(Direction::Out).expect("every graph has such lists");
        let (mine, theirs) = (self.adjacency.first_page(), lists.first_page());
        let twin = self.graph.same_page(mine + page, self.other);
        let twin = twin.map(|twin| twin.wrapping_sub(theirs)).filter(|twin| *twin < lists.pages());
        let Some(twin) = twin else { return Ok(false) };
        let decoded = &mut self.decoded;
        if !self.adjacency.has_same_changes(page, lists, twin)
            && (self.adjacency.changes_entries(page, decoded)?
                || lists.changes_entries(twin, decoded)?)
        {
            return Ok(false);
        }
        let Some(column) = self.column else { return Ok(true) };
        if self.adjacency.weight_edits(page) + lists.weight_edits(twin) > 0 {
            return Ok(false);
        }
        let Some(others) = self.other.weights(Direction::Out) else { return Ok(false) };
        let addresses = column.addresses_of(page);
        let are_same = addresses == others.addresses_of(twin)
            && column.pages_of(addresses).all(|page| {
                let twin = self.graph.same_page(column.first_page() + page, self.other);
                twin == Some(others.first_page() + page)
            });
        Ok(are_same)
    }

    fn read(&mut self, page: u64) -> Result<()> {
        let Self { graph, adjacency, column, handle, decoded, entries, .. } = self;
        // Weights first: one page is pinned at a time.
        let mut weights = Vec::new();
        if let Some(column) = column {
            let addresses = column.addresses_of(page);
            for page in column.pages_of(addresses.clone()) {
                let bytes = graph.pages.pin(handle, column.first_page() + page)?;
                let of_page = column.reparse(page, &bytes);
                let first = page * column.per_page() as u64;
                let from = addresses.start.max(first) - first;
                let to = addresses.end.min(first + of_page.len() as u64) - first;
                let of_page = of_page.slice(from as usize..to as usize);
                of_page.for_each_ordered(|weight| weights.push(weight));
            }
        }
        let bytes = graph.pages.pin(handle, adjacency.first_page() + page)?;
        let view = adjacency.reparse(page, &bytes, decoded)?;
        for list in view.lists() {
            let owner = list.vertex;
            let entry = |&other: &VertexId| Entry { owner, other, weight: 0 };
            entries.extend(list.targets.iter().map(entry));
        }
        if column.is_none() {
            return Ok(());
        }
        adjacency.merge_weights(page, &view, &mut weights)?;
        equal("number of weights of a page", weights.len() as u64, entries.len() as u64)
            .map_err(|fault| adjacency.fault(page, fault))?;
        for (entry, weight) in entries.iter_mut().zip(weights) {
            entry.weight = weight;
        }
        Ok(())
    }
}
