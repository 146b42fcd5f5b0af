//! Reads and verifies the pages of a graph.
//!
//! Random look-ups of lists and ids go through a small buffer pool, which verifies a page when it
//! is read. Passes bypass the pool and use a [`PageStream`].

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cenote_device::{Device, setters};
use cenote_pool::check::{Damage, PageCheck};
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Handle, PageId, PageRef, Pool, PoolConfig};

use crate::deleted::Deleted;
use crate::error::{PageError, PageFault, Result, StoreError};
use crate::header::{self, PageHeader};
use crate::ids::value::Id;
use crate::index::Adjacency;
use crate::log::LogEnd;
use crate::lookup::long::LongLists;
use crate::readers::{Pin, lock};
use crate::runs::index::RunIndex;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind, SnapshotLabel, Superblock};
use crate::table::{Extent, PageTable};
use crate::weights::WeightColumn;
use crate::{Direction, VertexId};

/// Configuration of look-ups of lists and ids.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LookupConfig {
    /// Most pages kept in memory. At least twice the read depth for each thread that uses a
    /// [`Lookup`](crate::Lookup).
    pub frames: u64,
    /// Most reads in flight per thread.
    pub read_depth: usize,
    /// Most bytes of delta runs that are kept in memory, beside a few pages of each run, while none
    /// are set aside for that ([`Graph::keep_runs`](crate::Graph::keep_runs)).
    pub run_bytes: u64,
}

impl Default for LookupConfig {
    /// Enough for a binary search, which touches `log2(pages)` pages, to find its first pages in
    /// memory.
    fn default() -> Self {
        Self { frames: 64, read_depth: 8, run_bytes: Self::RUN_BYTES }
    }
}

impl LookupConfig {
    /// Bytes of delta runs to keep where not all of them can be: a further pass finds nothing of
    /// what the last one has read, but to read on costs less than a request for each page.
    pub const RUN_BYTES: u64 = 8 << 20;

    setters! { frames: u64, read_depth: usize, run_bytes: u64 }
}

/// Most pages that are read ahead at once.
const GROUP_PAGES: u64 = 1024;

/// Most handles that are kept, those of look-ups that end at the same time.
const HANDLES_MAX: usize = 64;

/// How long a thread waits for a page that another is reading, in milliseconds.
const PATIENCE_MS: u64 = 60_000;

/// Superblock and indexes of a graph, which suffice to verify any of its pages.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Pages of the file that hold nothing of this commit.
    pub free_pages: u64,
    /// The free list, if the graph has snapshots.
    pub free: Vec<Extent>,
    /// The snapshot that the graph was opened at.
    pub snapshot: Option<SnapshotLabel>,
    pub file: Arc<str>,
    /// The superblock of the commit, with the changes of the log.
    pub superblock: Superblock,
    /// The superblock of the commit.
    pub committed: Superblock,
    /// Ids of the vertices that the log adds.
    pub new_ids: Vec<Id>,
    pub log: Option<LogEnd>,
    /// Changes of the log.
    pub logged_changes: u64,
    /// Those of the commit; the log deletes none.
    pub deleted: Deleted,
    /// See [`Commit`](crate::commit::Commit).
    pub other_slot: Option<PageFault>,
    pub table: Arc<PageTable>,
    pub out: Adjacency,
    /// `None` unless the graph is directed and has in-edges.
    pub back: Option<Adjacency>,
    /// The weights of `out` and `back`, if the graph is weighted.
    pub out_weights: Option<WeightColumn>,
    pub back_weights: Option<WeightColumn>,
    pub runs: RunIndex,
}

impl Layout {
    /// Verifies a page of a section and returns its header.
    pub fn verify(&self, section: Section, page: PageId, bytes: &[u8]) -> Result<PageHeader> {
        let identity = self.table.identity(page, self.superblock.salt);
        header::verify_codec(bytes, &identity, section.kind.page_kind(), section.codec)
            .map_err(|fault| self.fault(page, section.kind.name(), fault))
    }

    /// An error that names a page.
    #[cold]
    pub fn fault(&self, page: PageId, section: &'static str, fault: PageFault) -> StoreError {
        let (file, page_bytes) = (self.file.to_string(), u64::from(self.superblock.page_bytes));
        // Slots and the page table's own pages are in no section.
        let is_mapped = self.section_of(page).is_some();
        let physical = if is_mapped { self.table.physical(page) } else { page };
        PageError { file, page, physical, page_bytes, section, fault }.into()
    }

    /// The lists of a direction, if the graph has them.
    pub fn adjacency(&self, direction: Direction) -> Option<&Adjacency> {
        match direction {
            Direction::Out => Some(&self.out),
            Direction::In if self.superblock.directed => self.back.as_ref(),
            Direction::In => Some(&self.out),
        }
    }

    /// The weights of a direction's lists, if the graph has them.
    pub fn weights(&self, direction: Direction) -> Option<&WeightColumn> {
        match direction {
            Direction::In if self.superblock.directed => self.back_weights.as_ref(),
            Direction::Out | Direction::In => self.out_weights.as_ref(),
        }
    }

    /// An error unless the graph has the vertex.
    pub fn check_vertex(&self, vertex: VertexId) -> Result<()> {
        let (vertex, vertices) = (u64::from(vertex), self.superblock.vertices);
        if vertex < vertices {
            return Ok(());
        }
        Err(StoreError::NoVertex { file: self.file.to_string(), vertex, vertices })
    }

    fn section_of(&self, page: PageId) -> Option<Section> {
        self.superblock.sections.iter().find(|section| section.range().contains(&page)).copied()
    }
}

impl PageCheck for Layout {
    fn seal(&self, page: PageId, _: &mut [u8]) {
        unreachable!("a graph that is read changes no page, and this is page {page}");
    }

    fn check(&self, physical: PageId, bytes: &[u8]) -> std::result::Result<(), Damage> {
        let page = self.table.logical(physical).ok_or("no section of the graph holds it")?;
        let section = self.section_of(page).ok_or("no section of the graph holds it")?;
        let within = page - section.first_page;
        let lists = |adjacency: &Adjacency| adjacency.verify(within, bytes);
        let weights = |column: &WeightColumn| column.parse(within, bytes).map(drop);
        let checked = match section.kind {
            SectionKind::OutAdjacency => Some(lists(&self.out)),
            SectionKind::InAdjacency => self.back.as_ref().map(lists),
            SectionKind::OutWeights => self.out_weights.as_ref().map(weights),
            SectionKind::InWeights => self.back_weights.as_ref().map(weights),
            _ => None,
        };
        checked.unwrap_or_else(|| self.verify(section, page, bytes).map(drop))?;
        Ok(())
    }
}

/// The pages in memory for look-ups. Runs of the engine have frames of their own.
#[derive(Debug)]
pub(crate) struct LookupPool {
    /// Created by the first random read.
    pool: OnceLock<Arc<Pool>>,
    checked_by: Arc<NewestLayout>,
}

/// Verifies the pages of a pool by the commit that was opened with it last.
#[derive(Debug)]
struct NewestLayout(RwLock<Arc<Layout>>);

impl PageCheck for NewestLayout {
    fn seal(&self, page: PageId, bytes: &mut [u8]) {
        self.newest().seal(page, bytes);
    }

    fn check(&self, physical: PageId, bytes: &[u8]) -> std::result::Result<(), Damage> {
        self.newest().check(physical, bytes)
    }
}

impl NewestLayout {
    fn newest(&self) -> Arc<Layout> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LookupPool {
    fn new(layout: &Arc<Layout>) -> Self {
        let checked_by = Arc::new(NewestLayout(RwLock::new(Arc::clone(layout))));
        Self { pool: OnceLock::new(), checked_by }
    }

    /// Goes on with a later commit, of which all pages that a pool reads lie where they lay: lists,
    /// weights and ids.
    fn go_on(&self, layout: &Arc<Layout>) {
        let mut newest = self.checked_by.0.write().unwrap_or_else(PoisonError::into_inner);
        *newest = Arc::clone(layout);
    }
}

#[derive(Debug)]
pub(crate) struct Pages {
    pub device: Arc<dyn Device>,
    pub layout: Arc<Layout>,
    lookups: LookupConfig,
    pool: Arc<LookupPool>,
    /// See [`Pages::kept_handle`].
    kept: Mutex<Vec<Handle>>,
    /// What is known of long lists, of targets and of sources, once entries were chosen.
    long: [OnceLock<LongLists>; 2],
    _pin: Option<Pin>,
}

impl Pages {
    pub fn new(
        device: Arc<dyn Device>,
        layout: Layout,
        lookups: LookupConfig,
        pin: Option<Pin>,
        pool: Option<Arc<LookupPool>>,
    ) -> Self {
        let (layout, kept, long) = (Arc::new(layout), Mutex::default(), Default::default());
        let pool = pool.unwrap_or_else(|| Arc::new(LookupPool::new(&layout)));
        pool.go_on(&layout);
        Self { device, layout, lookups, pool, kept, long, _pin: pin }
    }

    /// The pages in memory, for a later commit.
    pub fn lookup_pool(&self) -> Arc<LookupPool> {
        Arc::clone(&self.pool)
    }

    pub fn page_bytes(&self) -> usize {
        self.layout.superblock.page_bytes as usize
    }

    /// A handle on the pool for the calling thread. Pin one page at a time: two threads that hold
    /// one page and wait for another can deadlock.
    pub fn handle(&self) -> Result<Handle> {
        Ok(self.pool()?.handle())
    }

    /// As [`Pages::handle`], for one thread after another.
    pub fn handle_of_any_thread(&self) -> Result<Handle> {
        Ok(self.pool()?.handle_of_any_thread())
    }

    /// A handle for the calling thread that is kept for a later one: to open a queue takes longer
    /// than to read a page.
    pub fn kept_handle(&self) -> Result<KeptHandle<'_>> {
        let kept = lock(&self.kept).pop();
        let handle = kept.map_or_else(|| self.handle_of_any_thread(), Ok)?;
        Ok(KeptHandle { pages: self, handle: Some(handle) })
    }

    /// Calls `read` with a handle that is kept for the next call, except after an error, since
    /// reads may still be in flight.
    pub fn with_handle<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Handle) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut handle = self.kept_handle()?;
        let result = read(&handle);
        if result.is_err() {
            handle.handle = None;
        }
        result
    }

    /// What is known of the long lists of a direction.
    pub fn long_lists(&self, direction: Direction, lists: &Adjacency) -> &LongLists {
        let is_inward = direction == Direction::In && self.layout.superblock.directed;
        self.long[usize::from(is_inward)]
            .get_or_init(|| LongLists::new(lists.pages(), &self.layout.superblock))
    }

    fn pool(&self) -> Result<&Arc<Pool>> {
        if let Some(pool) = self.pool.pool.get() {
            return Ok(pool);
        }
        let pool = Pool::new(Arc::clone(&self.device), self.config())?;
        // Another thread may have created the pool meanwhile; then this one is dropped.
        Ok(self.pool.pool.get_or_init(|| pool))
    }

    /// Pins a logical page, which is read unless it is in memory.
    pub fn pin<'h>(&self, handle: &'h Handle, page: PageId) -> Result<PageRef<'h>> {
        Ok(handle.pin(self.layout.table.physical(page))?)
    }

    /// Submits reads of physical pages with their tags, and calls `visit` with each page as it
    /// arrives. After an error reads may still be in flight: drop the handle.
    pub fn load_each(
        handle: &Handle,
        pages: impl Iterator<Item = (PageId, u64)>,
        mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut pages = pages.peekable();
        loop {
            while let Some(&(page, tag)) = pages.peek().filter(|_| handle.has_room()) {
                handle.submit(page, tag)?;
                pages.next();
            }
            let Some((tag, bytes)) = handle.poll(true)? else { return Ok(()) };
            visit(tag, &bytes)?;
        }
    }

    /// Calls `visit` with runs of ascending entries, one for each page of a section with `per_page`
    /// entries. Reads the pages of a group of runs ahead.
    pub fn by_page<E: From<StoreError>>(
        &self,
        section: Section,
        per_page: u64,
        entries: &[VertexId],
        mut visit: impl FnMut(u64, &[u8], &[VertexId]) -> Result<(), E>,
    ) -> Result<(), E> {
        let page_of = |entry: &VertexId| u64::from(*entry) / per_page;
        let group = self.window_pages() as u64 * per_page;
        let near = |a: &VertexId, b: &VertexId| u64::from(*a) / group == u64::from(*b) / group;
        self.with_handle(|handle| {
            for near in entries.chunk_by(near) {
                let runs = || near.chunk_by(|a, b| page_of(a) == page_of(b));
                let table = &self.layout.table;
                let physical = |page| table.physical(section.first_page + page);
                let pages = runs().map(|run| (physical(page_of(&run[0])), 0));
                Self::load_each(handle, pages, |_, _| Ok(()))?;
                for run in runs() {
                    let page = page_of(&run[0]);
                    let bytes = self.pin(handle, section.first_page + page)?;
                    visit(page, &bytes, run)?;
                }
            }
            Ok(())
        })
    }

    /// Reads that a handle has in flight.
    pub fn read_depth(&self) -> usize {
        self.lookups.read_depth
    }

    /// How many pages are read ahead at once.
    pub fn window_pages(&self) -> usize {
        (self.lookups.frames / 4).clamp(1, GROUP_PAGES) as usize
    }

    fn config(&self) -> PoolConfig {
        let frames = self.layout.superblock.pages_total.min(self.lookups.frames) as usize;
        PoolConfig::classical(self.page_bytes(), frames)
            // Pages that are read once, as those of most lists, do not evict those of ids, which
            // each batch of look-ups reads.
            .policy(PolicyKind::Sieve)
            .read_depth(self.lookups.read_depth)
            .check(Some(Arc::clone(&self.pool.checked_by) as Arc<dyn PageCheck>))
            .patience_ms(PATIENCE_MS)
    }

    /// Bytes of memory of the frames, 0 before the first random read, and of what is known of long
    /// lists.
    pub fn memory_bytes(&self) -> usize {
        let frames = |pool: &Arc<Pool>| Pool::memory_bytes(pool.config()) as usize;
        self.pool.pool.get().map_or(0, frames) + self.long_bytes()
    }

    /// As [`Pages::memory_bytes`], after the first random read.
    pub fn lookup_bytes(&self) -> usize {
        Pool::memory_bytes(&self.config()) as usize + self.long_bytes()
    }

    fn long_bytes(&self) -> usize {
        self.long.iter().filter_map(OnceLock::get).map(LongLists::memory_bytes).sum()
    }

    pub fn stream(&self, pages: Range<PageId>, ahead: Ahead) -> Result<PageStream> {
        let (device, table) = (self.device.as_ref(), &self.layout.table);
        PageStream::new(device, table, self.page_bytes(), pages, ahead)
    }
}

/// A handle that the pages keep when it is dropped; see [`Pages::kept_handle`].
pub(crate) struct KeptHandle<'p> {
    pages: &'p Pages,
    /// There is always one but after an error of its renewal.
    handle: Option<Handle>,
}

impl KeptHandle<'_> {
    /// Takes a new handle, since this one may have reads in flight, which dropping it ends.
    pub fn renew(&mut self) -> Result<()> {
        self.handle = None;
        self.handle = Some(self.pages.handle_of_any_thread()?);
        Ok(())
    }
}

impl Deref for KeptHandle<'_> {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        self.handle.as_ref().expect("it is used no more if it could not be renewed")
    }
}

impl Drop for KeptHandle<'_> {
    fn drop(&mut self) {
        // A panic may have left pages that arrive or have arrived.
        let handle = self.handle.take().filter(|handle| handle.pending() == 0);
        let mut kept = lock(&self.pages.kept);
        if kept.len() < HANDLES_MAX {
            kept.extend(handle);
        }
    }
}
