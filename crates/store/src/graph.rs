//! A stored graph: opens it and reads its lists, degrees, ids and weights.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::check::PageCheck;
use cenote_pool::{Handle, PageId};

use crate::commit::{Commit, Latest};
use crate::deleted::Deleted;
use crate::delta::{WeightPlace, WeightRun};
use crate::error::{PageError, Result, other};
use crate::ids::Ids;
use crate::index::Adjacency;
use crate::load::{Lists, LoadLists};
use crate::log::log_fault;
use crate::lookup::{Lookup, Pieces};
use crate::packed::decode::Decoded;
use crate::page::{List, Page};
use crate::pages::{Layout, LookupConfig, LookupPool, Pages};
use crate::readers::Pin;
use crate::runs::index::RunIndex;
use crate::stream::Ahead;
use crate::superblock::{Section, SectionKind, Superblock, slot_fault};
use crate::table::{Extent, PageRun, PageTable, SectionPages};
use crate::values::{StoredValues, Value};
use crate::weights::{Weight, WeightColumn};
use crate::words::Words;
use crate::{Direction, VertexId};

/// Lists of at most this many pages are read through the pool; longer ones are streamed in large
/// requests and evict nothing.
const LOOKUP_PAGES_MAX: u64 = 4;

/// A stored graph as of one epoch, with the changes that its log had when it was opened. If it
/// comes from a [`Store`](crate::Store), its pages are kept until it is dropped, whatever is
/// committed later. Takes memory for the superblock, the page indexes and, after the first look-up,
/// the pages read last.
#[derive(Debug)]
pub struct Graph {
    pub(crate) pages: Arc<Pages>,
}

impl Graph {
    /// Opens a graph: verifies the superblock, reads the log, then loads and verifies the indexes.
    pub fn open(device: Arc<dyn Device>) -> Result<Self> {
        Self::open_with(device, |_| LookupConfig::default())
    }

    /// [`Graph::open`] with a configuration for look-ups, which `plan` derives from the superblock.
    pub fn open_with(
        device: Arc<dyn Device>,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
    ) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let latest = Latest::read(device.as_ref(), &file, false)?;
        Self::of(device, file, latest, plan, None)
    }

    /// Opens a graph as of its last commit, without the changes of its log.
    pub fn open_committed(device: Arc<dyn Device>) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let commit = Commit::read(device.as_ref(), &file)?;
        Self::of(device, file, Latest::without_log(commit), |_| LookupConfig::default(), None)
    }

    pub(crate) fn of(
        device: Arc<dyn Device>,
        file: Arc<str>,
        latest: Latest,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
        pin: Option<Pin>,
    ) -> Result<Self> {
        let lookups = plan(&latest.pending.superblock(&latest.commit.superblock));
        Self::with_pool(device, file, latest, lookups, pin, None)
    }

    /// As [`Graph::of`], with the pages that another commit has in memory: see
    /// [`LookupPool`](crate::pages::LookupPool).
    pub(crate) fn with_pool(
        device: Arc<dyn Device>,
        file: Arc<str>,
        latest: Latest,
        lookups: LookupConfig,
        pin: Option<Pin>,
        pool: Option<Arc<LookupPool>>,
    ) -> Result<Self> {
        let Latest { commit, pending, log, snapshot } = latest;
        let Commit { superblock: committed, extents, other_slot } = commit;
        let table = Arc::new(PageTable::new(extents.table));
        let pages = |kind| {
            let (file, table) = (Arc::clone(&file), Arc::clone(&table));
            let (page_bytes, salt) = (committed.page_bytes as usize, committed.salt);
            let section = *committed.section(kind)?;
            Some(SectionPages { file, section, page_bytes, salt, table })
        };
        let superblock = pending.superblock(&committed);
        if !pending.is_empty() && !committed.logs_edges() {
            let fault = other("it changes a graph with repeated edges");
            return Err(log_fault(&file, &committed, fault));
        }
        let of_deleted = pages(SectionKind::DeletedVertices);
        let deleted = Deleted::load(device.as_ref(), of_deleted.as_ref(), committed.vertices)?;
        let ends = pending.edges.keys().flat_map(|&(source, target)| [source, target]);
        if !deleted.is_empty() && ends.into_iter().any(|end| deleted.contains(end)) {
            let fault = other("it changes an edge of a deleted vertex");
            return Err(log_fault(&file, &committed, fault));
        }
        let load = LoadLists { device: &device, file: &file, committed: &committed, pages: &pages };
        let Lists { out, back, runs } = load.load(&pending, lookups.run_bytes)?;
        let column =
            |kind| Some(WeightColumn::new(pages(kind)?, committed.weights.as_ref()?.format()));
        let out_weights = column(SectionKind::OutWeights);
        let back_weights = column(SectionKind::InWeights);
        let has_snapshots = !committed.snapshots.is_empty();
        let layout = Layout {
            superblock,
            committed,
            log,
            logged_changes: pending.edges.len() as u64,
            deleted,
            new_ids: pending.new_ids,
            free_pages: extents.free.iter().map(|run| run.pages).sum(),
            free: if has_snapshots { extents.free } else { Vec::new() },
            snapshot,
            file,
            other_slot,
            table,
            out,
            back,
            out_weights,
            back_weights,
            runs,
        };
        Ok(Self { pages: Arc::new(Pages::new(device, layout, lookups, pin, pool)) })
    }

    /// The device that holds the graph.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.pages.device
    }

    /// Name of the file in errors.
    pub fn file(&self) -> &Arc<str> {
        &self.layout().file
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.pages.layout
    }

    /// The superblock of the commit, with the changes of the log.
    pub fn superblock(&self) -> &Superblock {
        &self.layout().superblock
    }

    /// The fault of the commit slot that is not in use, which may have held a newer commit.
    pub fn other_slot_fault(&self) -> Option<PageError> {
        let Layout { file, superblock, other_slot, .. } = self.layout();
        let (slot, page_bytes) = (superblock.other_slot(), self.page_bytes());
        Some(slot_fault(file, slot, page_bytes, other_slot.clone()?))
    }

    /// What is wrong with the last flush of the log: a crash during a commit leaves a part of one.
    pub fn cut_flush_fault(&self) -> Option<PageError> {
        let Layout { file, committed, log, .. } = self.layout();
        log.as_ref()?.cut_flush(file, committed)
    }

    /// The superblock of the commit, without the changes of the log.
    pub(crate) fn committed(&self) -> &Superblock {
        &self.layout().committed
    }

    /// Whether the log has changes of edges or new vertices.
    pub fn has_logged(&self) -> bool {
        let Layout { logged_changes, new_ids, .. } = self.layout();
        *logged_changes > 0 || !new_ids.is_empty()
    }

    /// Changes of lists in delta runs, which the pages of the lists do not have: an undirected edge
    /// has two.
    pub fn run_changes(&self) -> u64 {
        self.layout().runs.edits()
    }

    pub(crate) fn run_index(&self) -> &RunIndex {
        &self.layout().runs
    }

    /// Number of delta runs.
    pub fn runs(&self) -> usize {
        self.layout().runs.out.len()
    }

    /// Changes of edges in the log, which the lists on the device do not have.
    pub fn logged_changes(&self) -> u64 {
        self.layout().logged_changes
    }

    /// Pages of the file that hold nothing of this epoch.
    pub fn free_pages(&self) -> u64 {
        self.layout().free_pages
    }

    /// Number of vertices, the deleted ones included, which have numbers and empty lists.
    pub fn vertices(&self) -> usize {
        self.superblock().vertices as usize
    }

    /// Number of vertices without the deleted ones.
    pub fn live_vertices(&self) -> usize {
        self.vertices() - self.deleted().len()
    }

    /// The deleted vertices, ascending. Compacting the graph drops them.
    pub fn deleted(&self) -> &[VertexId] {
        self.layout().deleted.all()
    }

    /// The value of a vertex, if it has one.
    pub fn value(&self, vertex: VertexId) -> Result<Option<Value>> {
        self.layout().check_vertex(vertex)?;
        let stored = StoredValues::open(&self.pages)?;
        stored.map_or(Ok(None), |stored| stored.get(vertex))
    }

    /// Calls `visit` with the values of all vertices that have one, by ascending vertex. An error
    /// of `visit` ends the pass.
    pub fn for_each_value(
        &self,
        visit: &mut dyn FnMut(VertexId, Value) -> Result<()>,
    ) -> Result<()> {
        let stored = StoredValues::open(&self.pages)?;
        stored.map_or(Ok(()), |stored| stored.for_each(visit))
    }

    /// Whether a vertex is deleted.
    pub fn is_deleted(&self, vertex: VertexId) -> bool {
        self.layout().deleted.contains(vertex)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.pages.page_bytes()
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.superblock().directed
    }

    /// Whether the graph has lists of sources; always true if it is undirected.
    pub fn has_in_edges(&self) -> bool {
        self.adjacency(Direction::In).is_some()
    }

    /// The lists of a direction: the same for both on an undirected graph, `None` for sources on a
    /// directed graph without in-edges.
    pub fn adjacency(&self, direction: Direction) -> Option<&Adjacency> {
        self.layout().adjacency(direction)
    }

    /// Whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.superblock().weights.is_some()
    }

    /// The weights of a direction's lists: the same for both on an undirected graph.
    pub fn weights(&self, direction: Direction) -> Option<&WeightColumn> {
        self.layout().weights(direction)
    }

    pub(crate) fn section_pages(&self, section: Section) -> SectionPages {
        let Layout { file, superblock, table, .. } = self.layout();
        let (page_bytes, salt) = (superblock.page_bytes as usize, superblock.salt);
        let (file, table) = (Arc::clone(file), Arc::clone(table));
        SectionPages { file, section, page_bytes, salt, table }
    }

    /// The physical page that holds a logical one: its place on the device, in pages, and its
    /// number in a pool over the device. Sections, indexes and errors use logical numbers.
    ///
    /// # Panics
    /// If the page is in no section of the graph.
    #[inline]
    pub fn physical(&self, page: PageId) -> PageId {
        self.layout().table.physical(page)
    }

    /// The logical page that a physical one holds.
    ///
    /// # Panics
    /// If it holds no page of this graph.
    #[inline]
    pub fn logical(&self, physical: PageId) -> PageId {
        self.layout().table.logical(physical).expect("a page of the graph")
    }

    /// The physical places of consecutive logical pages of a section: as few runs as possible, in
    /// logical order. A request must stay within one run.
    pub fn extents(&self, pages: Range<PageId>) -> impl Iterator<Item = PageRun> {
        self.layout().table.runs(pages)
    }

    /// The check of a pool over the graph's device: verifies any page as it is read, and fails with
    /// a [`StoreError`](crate::StoreError). It seals no page, since a graph is read-only.
    pub fn page_check(&self) -> Arc<dyn PageCheck> {
        Arc::clone(&self.pages.layout) as Arc<dyn PageCheck>
    }

    /// Bytes of memory taken by the indexes, by the device without its queues, and by the frames of
    /// look-ups.
    pub fn memory_bytes(&self) -> usize {
        self.index_bytes() + self.pages.memory_bytes()
    }

    /// [`Graph::memory_bytes`] without pages of delta runs that are kept.
    pub fn memory_bytes_without_runs(&self) -> usize {
        self.index_bytes_without_runs() + self.pages.memory_bytes()
    }

    /// [`Graph::memory_bytes`] without what look-ups take.
    pub fn index_bytes(&self) -> usize {
        self.index_bytes_without_runs() + self.run_bytes()
    }

    fn index_bytes_without_runs(&self) -> usize {
        let Layout { out, back, out_weights, back_weights, .. } = self.layout();
        let indexes = out.memory_bytes() + back.as_ref().map_or(0, Adjacency::memory_bytes);
        let columns = [out_weights, back_weights].into_iter().flatten();
        let weights: usize = columns.map(WeightColumn::memory_bytes).sum();
        let free = self.layout().free.capacity() * size_of::<Extent>();
        let table = self.layout().table.memory_bytes() + free;
        let deleted = self.layout().deleted.memory_bytes();
        indexes + weights + table + deleted + self.pages.device.memory_bytes()
    }

    /// Bytes of memory that look-ups take once they have read a page.
    pub fn lookup_bytes(&self) -> usize {
        self.pages.lookup_bytes()
    }

    /// The user's vertex ids.
    pub fn ids(&self) -> Result<Ids> {
        Ids::open(&self.pages)
    }

    /// Appends the list of one vertex to `out`.
    pub fn read_list(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<()> {
        self.layout().check_vertex(vertex)?;
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let (start, end) = adjacency.pages_of(vertex).into_inner();
        let mut pieces = Pieces { adjacency, last_page: end, start: out.len(), out };
        if end - start >= LOOKUP_PAGES_MAX {
            return self.scan_pages(adjacency, start..end + 1, &mut |n, page| {
                let list = page.list_of(vertex).expect("the index agrees with the page");
                pieces.take(n, &list)
            });
        }
        let handle = self.pages.handle()?;
        let mut decoded = Decoded::new();
        for number in start..=end {
            let bytes = self.pages.pin(&handle, adjacency.first_page() + number)?;
            let mut taken = Ok(());
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, &mut |list| {
                taken = pieces.take(number, list);
            })?;
            taken?;
        }
        Ok(())
    }

    /// A reader of many lists in random order, for the calling thread.
    pub fn lookup(&self) -> Result<Lookup<'_>> {
        Lookup::new(&self.pages)
    }

    /// The logical page with which another state of the graph has the same physical page, if its
    /// content is that of the same epoch.
    pub(crate) fn same_page(&self, page: PageId, other: &Self) -> Option<PageId> {
        let identity = self.layout().table.identity(page, 0);
        let table = &other.layout().table;
        let twin = table.logical(identity.physical)?;
        (table.identity(twin, 0).epoch == identity.epoch).then_some(twin)
    }

    /// A handle on the pool of look-ups, for [`Graph::look_up`].
    pub fn handle(&self) -> Result<Handle> {
        self.pages.handle()
    }

    /// As [`Graph::handle`], for one thread after another.
    pub(crate) fn handle_of_any_thread(&self) -> Result<Handle> {
        self.pages.handle_of_any_thread()
    }

    /// Calls `visit` with the pieces of one list, in order.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    pub fn look_up(
        &self,
        handle: &Handle,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]),
    ) -> Result<()> {
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let mut decoded = Decoded::new();
        for number in adjacency.pages_of(vertex) {
            let bytes = self.pages.pin(handle, adjacency.first_page() + number)?;
            let mut take = |list: &List<'_>| visit(list.targets);
            adjacency.reparse_lists(number, &bytes, &[vertex], &mut decoded, &mut take)?;
        }
        Ok(())
    }

    /// Loads the weight index of a direction and keeps it, as weighted visits require. It takes
    /// [`WeightColumn::bytes_for`] bytes.
    pub fn load_weights(&self, direction: Direction) -> Result<Option<&WeightColumn>> {
        let Some(column) = self.weights(direction) else { return Ok(None) };
        if column.words().get().is_none() {
            let kind = column.index_kind();
            let mut stream = Words::new(&self.pages, kind)?;
            let mut words = Vec::with_capacity(stream.len());
            while let Some((page, word)) = stream.next()? {
                let bad = |fault| self.layout().fault(page, kind.name(), fault);
                column.check_word(word).map_err(bad)?;
                words.push(word);
            }
            // Another thread may have loaded the same words meanwhile.
            let _ = column.words().set(words);
        }
        Ok(Some(column))
    }

    /// Appends the weights of one vertex's list to `out`, in the order of [`Graph::read_list`].
    /// Does nothing on an unweighted graph.
    pub fn read_weights(
        &self,
        direction: Direction,
        vertex: VertexId,
        out: &mut Vec<Weight>,
    ) -> Result<()> {
        self.layout().check_vertex(vertex)?;
        let Some(adjacency) = self.adjacency(direction) else { return Ok(()) };
        let Some(column) = self.load_weights(direction)? else { return Ok(()) };
        self.pages.with_handle(|handle| {
            let (per_page, mut decoded) = (column.per_page() as u64, Decoded::new());
            for page in adjacency.pages_of(vertex) {
                let runs = {
                    let bytes = self.pages.pin(handle, adjacency.first_page() + page)?;
                    let view = adjacency.reparse(page, &bytes, &mut decoded)?;
                    let list = (vertex - view.first_vertex()) as usize;
                    adjacency.weight_runs_of(
                        page,
                        column,
                        &view,
                        view.start(list)..view.end(list),
                    )?
                };
                for WeightRun { entries, place } in runs {
                    let address = match place {
                        WeightPlace::Stored(address) => address,
                        WeightPlace::Logged(weights) => {
                            out.extend((0..weights.len()).map(|at| weights.get(at)));
                            continue;
                        }
                    };
                    let wanted = address..address + entries.len() as u64;
                    for page in column.pages_of(wanted.clone()) {
                        let bytes = self.pages.pin(handle, column.first_page() + page)?;
                        let weights = column.reparse(page, &bytes);
                        let first = page * per_page;
                        let within =
                            wanted.start.max(first)..wanted.end.min(first + weights.len() as u64);
                        out.extend(within.map(|address| weights.get((address - first) as usize)));
                    }
                }
            }
            Ok(())
        })
    }

    /// Reads and verifies all pages of a direction in order and calls `visit` with each.
    pub fn scan(
        &self,
        direction: Direction,
        visit: &mut dyn FnMut(u64, Page<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.adjacency(direction) {
            Some(adjacency) => self.scan_pages(adjacency, 0..adjacency.pages(), visit),
            None => Ok(()),
        }
    }

    fn scan_pages(
        &self,
        adjacency: &Adjacency,
        pages: Range<u64>,
        visit: &mut dyn FnMut(u64, Page<'_>) -> Result<()>,
    ) -> Result<()> {
        let first = adjacency.first_page();
        let pages = first + pages.start..first + pages.end;
        let mut stream = self.pages.stream(pages, Ahead::FAR)?;
        let mut decoded = Decoded::new();
        while let Some((number, bytes)) = stream.next()? {
            visit(number - first, adjacency.parse(number - first, bytes, &mut decoded)?)?;
        }
        Ok(())
    }
}
