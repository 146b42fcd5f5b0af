//! Changes of a stored graph, in batches: each is made as a whole or not at all.
//!
//! - [`Update`]: adds and deletes edges and vertices by the user's ids
//! - [`UpdateOptions`]: options to open a graph for changes
//! - [`UpdateReport`], [`ChangeAnswer`]: what a commit did, change by change
//! - `edges`: changes of many edges, of files or of memory
//! - `values`: values of vertices; `vertices`: those that are added and deleted
//! - `snapshots`: states of the graph that are kept under a name
//! - `changes`: the changes of a batch; `map`: their vertices
//! - `beside`: merges on a thread while commits go on; `watch`: progress and cancellation
//! - `budget`: the memory of a batch, and errors where it is not enough

mod beside;
mod budget;
mod changes;
mod edges;
mod map;
mod report;
mod snapshots;
mod values;
mod vertices;
mod watch;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::backend::file::BackendChoice;
use cenote_device::profile::Profile;
use cenote_device::{Device, DeviceError};
pub use cenote_store::UpdateProgress;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, Op, Store, StoreError, ValueType, Weight, WeightType};

use self::beside::{BESIDE_PERCENT, MergeThread};
use self::budget::{is_beside, limits_of};
use self::changes::Changes;
use self::map::Mapped;
pub use self::report::{ChangeAnswer, UpdateReport};
use self::watch::UpdateWatch;
use crate::drive::{DriveOptions, Warning};
use crate::error::{Error, Result};
use crate::lock::{LockedDevice, WriterLock};
use crate::memory::{MemorySize, budget_of_machine};
use crate::tiers::graph::TieredGraph;
use crate::tiers::members::{self, Access};
use crate::tiers::status;

/// Memory if none is given.
const MEMORY_BYTES: u64 = 1 << 30;

/// The most bytes of a string id, as in an import.
const NAME_BYTES_MAX: usize = 65_535;

/// Options to open a graph for changes.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    memory: Result<MemorySize, String>,
    is_synced: bool,
    values: Option<ValueType>,
    drives: DriveOptions,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        let memory = Ok(MemorySize::Bytes(MEMORY_BYTES));
        Self { memory, is_synced: true, values: None, drives: DriveOptions::default() }
    }
}

impl UpdateOptions {
    /// Memory for the indexes of the graph and the changes of a batch, such as `512MiB` or `25%` of
    /// the machine's [default: 1GiB].
    pub fn memory(mut self, size: impl ToString) -> Self {
        self.memory = size.to_string().parse();
        self
    }

    /// Whether a commit returns only when its changes are on stable storage [default: yes]. If not,
    /// a power cut may undo the last of the commits since the last merge, each as a whole.
    pub fn synced(mut self, is_synced: bool) -> Self {
        self.is_synced = is_synced;
        self
    }

    /// The system interface for I/O [default: io_uring, or threads where it is refused].
    pub fn backend(mut self, backend: BackendChoice) -> Self {
        self.drives.backend = backend;
        self
    }

    /// The profile for planning requests [default: the measured one of the drive].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.drives.profile = Some(profile);
        self
    }

    /// Opens the graph; other writers are refused until the [`Update`] is dropped. Pages of a graph
    /// over tiers do not move between them meanwhile.
    ///
    /// # Errors
    /// [`Error::Locked`] if another writer has the graph open, or another process or
    /// [`Graph`](crate::Graph) moves its pages between tiers; [`Error::MemoryBudget`] if the memory
    /// does not hold its indexes; and as [`Graph::open`](crate::Graph::open).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Update> {
        self.open_with(path.as_ref(), None)
    }

    /// Opens the graph of an open device: if this moves its pages between tiers, the changes go
    /// through it.
    pub(crate) fn open_beside(&self, path: &Path, device: &Arc<dyn Device>) -> Result<Update> {
        self.open_with(path, Some(device))
    }

    fn open_with(&self, path: &Path, beside: Option<&Arc<dyn Device>>) -> Result<Update> {
        let memory_bytes = self.memory_bytes()?;
        // Opening a pipe would block.
        let kind = path.metadata().map(|metadata| metadata.file_type());
        if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_dir()) {
            return Err(Error::input(path, "it is no file or block device"));
        }
        let (lock, device) = loop {
            let lock = Arc::new(WriterLock::take(path)?);
            let device = self.device(path, beside)?;
            // An import may have replaced the graph between the lock and the device.
            if lock.is_of(path) {
                break (lock, device);
            }
        };
        let readers = Readers { lock: Arc::clone(&lock), file: device.name() };
        let store = Store::open_shared(Arc::clone(&device), move || readers.oldest())?;
        let (store, may_be_beside, is_beside) = self.with_limits(store, &device, memory_bytes)?;
        let superblock = store.superblock();
        if let (Some(found), Some(wanted)) = (superblock.value_type, self.values)
            && found != wanted
        {
            let (found, wanted) = (found.name(), wanted.name());
            let reason = format!("its values are of type {found}, not {wanted}");
            return Err(Error::input(path, reason));
        }
        let kind = superblock.ids;
        let cut = store.cut_flush_fault();
        let cut = cut.map(|fault| Warning::CutLog { fault: fault.found() });
        let mut update = Update {
            warnings: cut.into_iter().collect(),
            path: path.to_owned(),
            changes: Changes::new(kind, superblock.weights.is_some()),
            kind,
            weights: superblock.weights.map(|weights| weights.kind()),
            values: superblock.value_type.or(self.values),
            directed: superblock.directed,
            page_bytes: superblock.page_bytes,
            memory_bytes,
            held_bytes: 0,
            free_log_bytes: 0,
            own_bytes: None,
            committed: 0,
            may_be_beside,
            beside: None,
            is_beside,
            watch: UpdateWatch::default(),
            device,
            store: Arc::new(store),
            lock,
        };
        update.count_memory()?;
        if !update.has_room([IdRef::Integer(0); 2]) {
            return Err(update.too_many());
        }
        Ok(update)
    }

    /// A store within a memory budget; whether its runs can be merged beside commits; whether they
    /// are, since the memory suffices.
    fn with_limits(
        &self,
        store: Store,
        device: &Arc<dyn Device>,
        memory_bytes: u64,
    ) -> Result<(Store, bool, bool)> {
        let limits = limits_of(memory_bytes).synced(self.is_synced);
        let store = store.with_limits(limits);
        // Tiers may have no room for the pages that it reserves.
        let may_be_beside = TieredGraph::of_device(device.as_ref()).is_none()
            && store.superblock().has_plain_edges();
        let is_beside = may_be_beside && is_beside(store.beside_bytes()?, memory_bytes);
        let percent = if is_beside { BESIDE_PERCENT } else { limits.beside_percent };
        Ok((store.with_limits(limits.beside_percent(percent)), may_be_beside, is_beside))
    }

    /// The device of a graph whose writer's lock the caller has.
    fn device(&self, path: &Path, beside: Option<&Arc<dyn Device>>) -> Result<Arc<dyn Device>> {
        let shared = beside.filter(|device| {
            let tiers = TieredGraph::of_device(device.as_ref());
            tiers.is_some_and(|tiers| tiers.is_for_writers() && tiers.members().is_here(path))
        });
        if let Some(device) = shared {
            return Ok(LockedDevice::unlocked(device));
        }
        if members::is_map(path) {
            return Ok(Arc::new(TieredGraph::open(path, Access::Write, &self.drives)?));
        }
        Ok(self.drives.open(path, false)?.device)
    }

    fn memory_bytes(&self) -> Result<u64> {
        let wrong = |reason: &str| Error::parameter("memory", reason);
        let size = self.memory.as_ref().map_err(|reason| wrong(reason))?;
        budget_of_machine(*size)
    }
}

/// The error of a writer whose graph has another file now.
pub(crate) fn replaced(path: &Path) -> Error {
    Error::locked(path, "an import has replaced the graph: open it again")
}

/// The readers of a graph in all processes.
struct Readers {
    lock: Arc<WriterLock>,
    file: String,
}

impl Readers {
    fn oldest(&self) -> cenote_store::Result<Option<u64>> {
        self.lock.oldest_reader().map_err(|errno| {
            let (device, action) = (self.file.clone(), "read the locks of");
            StoreError::Device(DeviceError::File { device, action, source: errno.into() })
        })
    }
}

/// A graph that is open for changes, and the changes of the next commit. There is one for a graph
/// at a time, in any process; readers go on beside it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("friends.cenote");
/// # cenote::Import::new().slice(&[("ada", "bob"), ("bob", "cem")]).memory("64MiB").run(&path)?;
/// let graph = cenote::Graph::open(&path)?;
/// let mut update = graph.update()?;
/// update.add("cem", "dil")?;
/// update.delete("ada", "bob")?;
/// let report = update.commit()?;
/// assert_eq!((report.added, report.deleted, report.new_vertices), (1, 1, 1));
/// assert_eq!(graph.vertices(), 3, "an open graph stays as it is");
/// assert_eq!(cenote::Graph::open(&path)?.vertices(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is changed before `commit`"]
pub struct Update {
    /// Ends before anything else does.
    beside: Option<MergeThread>,
    /// Whether runs are merged beside commits.
    is_beside: bool,
    watch: UpdateWatch,
    path: PathBuf,
    changes: Changes,
    kind: IdKind,
    weights: Option<WeightType>,
    values: Option<ValueType>,
    directed: bool,
    page_bytes: u32,
    memory_bytes: u64,
    /// Whether they are where the memory suffices.
    may_be_beside: bool,
    /// Memory of the device, of the graph's indexes and ids, and what is reserved for changes of
    /// the log, for pages and delta runs that are kept, and for merges beside commits.
    held_bytes: u64,
    /// Of these, what is free during a large commit, which does not go to the log.
    free_log_bytes: u64,
    /// Of them, those of the graph alone: when it was opened, and now.
    own_bytes: Option<[u64; 2]>,
    /// Changes that were committed.
    committed: u64,
    device: Arc<dyn Device>,
    store: Arc<Store>,
    lock: Arc<WriterLock>,
    warnings: Vec<Warning>,
}

impl Update {
    /// Options to open a graph for changes: `Update::options().memory("4GiB").open(path)`.
    pub fn options() -> UpdateOptions {
        UpdateOptions::default()
    }

    /// Opens a graph for changes.
    ///
    /// # Errors
    /// As [`UpdateOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        UpdateOptions::default().open(path)
    }

    /// The kind of the graph's ids.
    pub fn id_kind(&self) -> IdKind {
        self.kind
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Number of changes for the next commit.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is no change for the next commit.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an edge with the next commit; in a graph that keeps repeated edges once more, if it is
    /// there. Ids that the graph does not have become vertices.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an id that the graph cannot have; [`Error::MemoryBudget`] if the
    /// batch does not fit the memory.
    pub fn add(&mut self, source: impl ToString, target: impl ToString) -> Result<()> {
        self.change(Op::Add, [&source, &target], None)
    }

    /// Adds an edge with a weight with the next commit, to a graph with weights.
    ///
    /// # Errors
    /// As [`Update::add`], and [`Error::InvalidInput`] for a weight that the graph cannot have.
    pub fn add_weighted(
        &mut self,
        source: impl ToString,
        target: impl ToString,
        weight: impl ToString,
    ) -> Result<()> {
        self.change(Op::Add, [&source, &target], Some(&weight))
    }

    /// Sets the weight of an edge, or of all its copies, with the next commit.
    ///
    /// # Errors
    /// As [`Update::add_weighted`].
    pub fn set_weight(
        &mut self,
        source: impl ToString,
        target: impl ToString,
        weight: impl ToString,
    ) -> Result<()> {
        self.change(Op::Set, [&source, &target], Some(&weight))
    }

    /// Deletes an edge with the next commit; one of those with the smallest weight, if it repeats.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn delete(&mut self, source: impl ToString, target: impl ToString) -> Result<()> {
        self.change(Op::Delete, [&source, &target], None)
    }

    /// Deletes an edge of this weight with the next commit; one of them, if it repeats.
    ///
    /// # Errors
    /// As [`Update::add_weighted`].
    pub fn delete_weighted(
        &mut self,
        source: impl ToString,
        target: impl ToString,
        weight: impl ToString,
    ) -> Result<()> {
        self.change(Op::Delete, [&source, &target], Some(&weight))
    }

    fn change(
        &mut self,
        op: Op,
        ends: [&dyn ToString; 2],
        weight: Option<&dyn ToString>,
    ) -> Result<()> {
        let weight = weight.map(|weight| self.weight(&weight.to_string())).transpose()?;
        let [source, target] = ends.map(ToString::to_string);
        let pair = [self.id(&source)?, self.id(&target)?];
        self.push(op, pair, weight)
    }

    /// The type of the graph's weights, if it has any.
    pub fn weights(&self) -> Option<WeightType> {
        self.weights
    }

    /// A weight in the form of text, for [`Update::push`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the graph has no weights or cannot have this one.
    pub fn weight(&self, text: &str) -> Result<Weight> {
        let reason = match self.weights {
            None => "the edges of this graph have no weights".to_owned(),
            Some(kind) => match kind.parse(text.as_bytes()) {
                Some(weight) => return Ok(kind.weight(weight)),
                None => format!("expected {}", kind.expected()),
            },
        };
        let shown = &text[..text.floor_char_boundary(80)];
        Err(Error::input(&self.path, format!("the weight `{shown}`: {reason}")))
    }

    /// An id in the form of text, for [`Update::push`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the ids of the graph are integers and it is not.
    pub fn id<'t>(&self, text: &'t str) -> Result<IdRef<'t>> {
        match self.kind {
            IdKind::Strings => Ok(IdRef::String(text)),
            IdKind::Dense | IdKind::Integers => {
                let is_integer = text.bytes().all(|byte| byte.is_ascii_digit());
                let integer = is_integer.then(|| text.parse().ok()).flatten();
                let reason = || format!("the id `{text}`: the ids of this graph are integers");
                Ok(IdRef::Integer(integer.ok_or_else(|| Error::input(&self.path, reason()))?))
            }
        }
    }

    /// Adds or deletes an edge or sets its weight with the next commit, by ids of the graph's kind.
    /// In a graph with weights a change of an edge has one, of their type; a deletion may have one,
    /// and then deletes only an edge of this weight. A change of a vertex has its id twice.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn push(&mut self, op: Op, pair: [IdRef<'_>; 2], weight: Option<Weight>) -> Result<()> {
        if op == Op::SetValue {
            return Err(Error::input(&self.path, "a value that is set is one of `push_value`"));
        }
        self.push_any(op, pair, weight)
    }

    fn push_any(&mut self, op: Op, pair: [IdRef<'_>; 2], weight: Option<Weight>) -> Result<()> {
        self.check_weight(op, weight)?;
        for id in pair {
            self.check(id)?;
        }
        if op.is_of_vertex() && pair[0] != pair[1] {
            let reason = format!("a change of one vertex, but of `{}` and `{}`", pair[0], pair[1]);
            return Err(Error::input(&self.path, reason));
        }
        if !self.has_room(pair) {
            return Err(self.too_many());
        }
        let weight = weight.filter(|_| !op.is_of_vertex());
        self.changes.push(op, pair, weight);
        Ok(())
    }

    fn check_weight(&self, op: Op, weight: Option<Weight>) -> Result<()> {
        if op.is_of_vertex() {
            return Ok(());
        }
        let reason = match (op, weight, self.weights) {
            (Op::Delete, None, _) | (Op::Add, None, None) => return Ok(()),
            (_, Some(weight), Some(kind)) if weight.kind() == kind => return Ok(()),
            (_, _, None) => "the edges of this graph have no weights".to_owned(),
            (_, _, Some(kind)) => format!("an edge needs a weight, {}", kind.expected()),
        };
        Err(Error::input(&self.path, reason))
    }

    fn check(&self, id: IdRef<'_>) -> Result<()> {
        let expected = match (id, self.kind) {
            (IdRef::Integer(_), IdKind::Dense | IdKind::Integers) => return Ok(()),
            (IdRef::String(name), IdKind::Strings) => {
                if !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('\0') {
                    return Ok(());
                }
                "an id has 1 to 65535 bytes, none of them zero"
            }
            (_, IdKind::Dense | IdKind::Integers) => "the ids of this graph are integers",
            (_, IdKind::Strings) => "the ids of this graph are strings",
        };
        let mut name = id.to_string();
        name.truncate(name.floor_char_boundary(80));
        Err(Error::input(&self.path, format!("the id `{name}`: {expected}")))
    }

    /// Whether the memory holds one more change, of these ids. New vertices are counted when a
    /// commit finds them: see [`Update::commit_what_fits`].
    pub fn has_room(&self, pair: [IdRef<'_>; 2]) -> bool {
        self.held_during(self.len() + 1).saturating_add(self.changes.bytes_with(pair))
            <= self.memory_bytes
    }

    /// Makes ready for a commit.
    fn begin(&self) -> Result<()> {
        if !self.lock.is_of(&self.path) {
            return Err(replaced(&self.path));
        }
        if self.tiers().is_some_and(TieredGraph::is_lost) {
            return Err(Error::locked(&self.path, "the lock of its tiers was lost: open it again"));
        }
        Ok(())
    }

    fn failed(&self, error: StoreError) -> Error {
        match self.tiers() {
            Some(tiers) => status::failed(&self.path, tiers.members(), error),
            None => error.into(),
        }
    }

    /// The tiers of the graph; none for a graph in one file.
    fn tiers(&self) -> Option<&TieredGraph> {
        TieredGraph::of_device(self.device.as_ref())
    }

    /// Makes the changes, all or none, and returns when they are on stable storage, unless
    /// [`UpdateOptions::synced`] says otherwise. The next changes are those of another commit.
    ///
    /// # Errors
    /// [`Error::Locked`] if an import has replaced the graph, [`Error::MemoryBudget`] if the new
    /// vertices of the batch or the edges of deleted ones do not fit the memory, and errors of
    /// reading and writing. After a failed write every further commit is refused: open the graph
    /// again.
    pub fn commit(&mut self) -> Result<UpdateReport> {
        self.commit_some(true)
    }

    /// As [`Update::commit`], but if the new vertices do not fit the memory only of the first
    /// changes, as many as do. The others stay for the next commit: see [`Update::len`].
    ///
    /// # Errors
    /// As [`Update::commit`]; [`Error::MemoryBudget`] if not even the first change fits.
    pub fn commit_what_fits(&mut self) -> Result<UpdateReport> {
        self.commit_some(false)
    }

    fn commit_some(&mut self, is_whole: bool) -> Result<UpdateReport> {
        self.begin()?;
        let file = self.path.display().to_string();
        let room = self.memory_bytes.saturating_sub(self.held_during(self.len()));
        let has_room = |changes, new_ids| self.changes.bytes_of(changes, new_ids) <= room;
        let mapped = map::map(&self.changes, &self.store, &file, has_room)?;
        let Mapped { mut batch, changes, answers: known } = mapped;
        if changes < self.changes.len() && (is_whole || changes == 0) {
            return Err(self.too_many_new(&batch));
        }
        let new_vertices = batch.new_ids.len() as u64;
        let bytes = self.changes.bytes_of(changes, batch.new_ids.len());
        let free_bytes = room - bytes;
        batch.deleted_edges_max = Some(free_bytes / self.deleted_edge_bytes());
        let mut report = UpdateReport { epoch: self.store.epoch(), ..UpdateReport::default() };
        let mut answers = Vec::new();
        if !batch.changes.is_empty() || !batch.new_ids.is_empty() {
            self.make_room(&batch, &mut report)?;
            let done = self.watched(|store, watch| store.commit_watched(&batch, watch));
            let done = done.map_err(|error| self.of_vertices(error, bytes))?;
            report.new_vertices = new_vertices;
            report.count(&done, self.page_bytes);
            answers = done.answers;
        }
        let mut answers = answers.into_iter();
        report.answers.reserve_exact(changes);
        for (&op, known) in self.changes.ops().iter().zip(known) {
            let answer = known.or_else(|| answers.next().map(ChangeAnswer::from));
            report.push(op, answer.expect("the store answers each change"));
        }
        self.changes.remove_first(changes);
        self.committed += changes as u64;
        self.count_memory()?;
        self.begin_or_end_beside(batch.changes.len())?;
        Ok(report)
    }

    /// Warnings from opening it.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Number of edges that the log adds or deletes, without those of delta runs.
    pub fn logged(&self) -> u64 {
        self.store.logged_changes()
    }
}
