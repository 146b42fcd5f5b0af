//! Writes the folder of a sharded graph.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cenote_device::threads::cores;
use cenote_engine::THREADS_MAX;
use cenote_import::workspace::remove_abandoned;
use cenote_import::{Streamed, StreamedIds};
use cenote_store::superblock::IdKind as StoredIdKind;
use cenote_store::{Direction, HubNeighboursChoice, Id, VertexId};
use crc_fast::{CrcAlgorithm, Digest};
use serde::Serialize;

use super::hubs::Hubs;
use super::ids;
use super::manifest::{Manifest, ShardEntry};
use super::numbers::{Numbers, ranges};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::graph::part::{
    check_weights, entries_of, import_like, of_shares, sufficient_for_visits,
};
use crate::graph::{Graph, Pass, Visit};
use crate::import::{IdKind, Import};
use crate::memory::{MemorySize, budget_bytes};
use crate::output::partial::{PartialFile, cannot_create, partial_name};
use crate::watch::Watch;

/// Its name in errors.
const WHAT: &str = "sharding";

/// Shares of the budget: half for the import of a shard and then for its hub neighbours, a quarter
/// for the numbers of vertices, an eighth for reading the lists of each direction.
const IMPORT_SHARE: u64 = 2;
const NUMBERS_SHARE: u64 = 4;
const LISTS_SHARE: u64 = 8;
const SHARES: &str = "half of it for the import of a shard and its hub neighbours, an eighth for \
                      reading the lists of each direction, a quarter for numbers of vertices";

/// Bytes of a vertex beside the tables of numbers: its entries while the cuts are found, and then
/// its place in the list of a shard's own vertices.
const VERTEX_BYTES: u64 = 8;

/// The most shards.
pub(super) const SHARDS_MAX: u64 = 4_096;

type ProgressFn = dyn Fn(u64, u64) + Send + Sync;

/// The caller's closure.
#[derive(Clone, Default)]
struct OnProgress(Option<Arc<ProgressFn>>);

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnProgress").finish_non_exhaustive()
    }
}

/// A sharded graph to be written.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use cenote::shards::{Manifest, Sharding};
/// # let folder = tempfile::tempdir()?;
/// # let (path, out) = (folder.path().join("ring.cenote"), folder.path().join("ring"));
/// let ring = (0..1000u64).map(|v| (v, (v + 1) % 1000));
/// cenote::Import::new().edges(ring).memory("64MiB").run(&path)?;
/// let graph = cenote::Graph::open(&path)?;
/// Sharding::new(&graph, 4).memory("64MiB").write(&out)?;
/// let manifest = Manifest::read(&out)?;
/// assert_eq!(manifest.shards.len(), 4);
/// assert_eq!(manifest.boundary_vertices(), 8, "two at each of four cuts");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is written before `write`"]
pub struct Sharding<'g> {
    graph: &'g Graph,
    shards: u64,
    memory: Option<Result<MemorySize>>,
    threads: usize,
    watch: Watch,
    on_progress: OnProgress,
}

/// What was written of a sharded graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShardsWritten {
    /// The description.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Bytes of all files but the manifest.
    pub written_bytes: u64,
    /// Bytes of lists and weights that were read.
    pub bytes_read: u64,
    /// Seconds from the start to the complete folder.
    pub seconds: f64,
}

impl<'g> Sharding<'g> {
    /// Shards of a graph.
    pub fn new(graph: &'g Graph, shards: u64) -> Self {
        let (watch, on_progress) = (Watch::default(), OnProgress::default());
        Self { graph, shards, memory: None, threads: cores(), watch, on_progress }
    }

    /// Memory budget: bytes, or text such as `256MiB`, or `10%` of the graph's pages [default: half
    /// of the machine's memory].
    pub fn memory(mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Self {
        self.memory = Some(size.try_into().map_err(Into::into));
        self
    }

    /// Worker threads, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, THREADS_MAX);
        self
    }

    /// Ends with [`Error::Cancelled`] when `cancel` returns true.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Calls `progress` with the vertices whose shards are complete, and all of them.
    pub fn progress(mut self, progress: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.on_progress = OnProgress(Some(Arc::new(progress)));
        self
    }

    /// Writes the folder. It appears under its name when it is complete; on any error nothing is
    /// left behind. The lists of each direction are read once, the ids twice.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `out` exists and is not an empty folder; [`Error::Parameter`] for
    /// more shards than vertices; [`Error::MemoryBudget`]; [`Error::Unsupported`] for weights
    /// beyond 2^53.
    pub fn write(mut self, out: impl AsRef<Path>) -> Result<ShardsWritten> {
        let (out, started) = (out.as_ref(), Instant::now());
        let memory = self.memory.take().transpose()?;
        let memory_bytes = budget_bytes(memory, self.graph.stored())?;
        check_output(out)?;
        let reason = "graphs with weights beyond 2^53 cannot be sharded";
        check_weights(self.graph, reason)?;
        self.check_count()?;
        self.check_memory(memory_bytes)?;
        let folder = PartialFolder::create(out)?;
        let numbers = Numbers::of(self.graph)?;
        let cuts = self.cuts(&numbers)?;
        let hubs = Hubs::of(self.graph)?;
        let mut written = ShardsWritten {
            manifest: self.manifest(numbers.count()),
            written_bytes: 0,
            bytes_read: 0,
            seconds: 0.0,
        };
        for (index, range) in cuts.iter().enumerate() {
            self.watch.check()?;
            let (folder, hubs) = (&folder.partial, hubs.as_ref());
            let shard = Shard { index, range, cuts: &cuts, folder, hubs };
            let (entry, bytes_read) = self.shard(&shard, &numbers, memory_bytes)?;
            written.bytes_read += bytes_read;
            written.written_bytes += entry.bytes + entry.ids_bytes;
            written.manifest.shards.push(entry);
            if let Some(progress) = &self.on_progress.0 {
                progress(range.end, numbers.count());
            }
        }
        written.manifest.write(&folder.partial)?;
        folder.finish()?;
        written.seconds = started.elapsed().as_secs_f64();
        Ok(written)
    }

    fn check_count(&self) -> Result<()> {
        let vertices = self.graph.vertices();
        if (1..=vertices.min(SHARDS_MAX)).contains(&self.shards) {
            return Ok(());
        }
        let most = vertices.min(SHARDS_MAX);
        let reason = format!("is {}: 1 to {most} are possible, each has a vertex", self.shards);
        Err(Error::parameter("shards", reason))
    }

    fn check_memory(&self, memory_bytes: u64) -> Result<()> {
        let numbers_bytes = self.numbers_bytes()?;
        let to_write = Hubs::bytes_to_write(self.graph);
        let breakdown = if numbers_bytes > memory_bytes / NUMBERS_SHARE {
            format!("{SHARES}: {numbers_bytes} bytes")
        } else if to_write > memory_bytes / IMPORT_SHARE {
            format!("{SHARES}; hub neighbours take {to_write} bytes")
        } else {
            return Ok(());
        };
        let needed = self.sufficient()?;
        Err(Error::MemoryBudget {
            what: WHAT.to_owned(),
            given: memory_bytes,
            needed,
            suggested: needed.div_ceil(1 << 20),
            breakdown,
        })
    }

    /// Memory for the numbers of vertices, and for what else grows with them.
    fn numbers_bytes(&self) -> Result<u64> {
        let vertices = self.graph.stored().vertices() as u64;
        let hubs = Hubs::bytes_for(self.graph);
        Ok(vertices * VERTEX_BYTES + hubs + Numbers::bytes_for(self.graph)?)
    }

    /// A budget that suffices for shards of any size.
    fn sufficient(&self) -> Result<u64> {
        let (stored, mut lists_bytes) = (self.graph.stored(), 0);
        for &direction in self.directions() {
            let of_direction =
                sufficient_for_visits(self.graph, |bytes| self.visit(direction, bytes))?;
            lists_bytes = of_direction.max(lists_bytes);
        }
        let vertices = stored.vertices() as u64;
        let numbers_bytes = self.numbers_bytes()?;
        let superblock = stored.superblock();
        let streamed = Streamed {
            streams: 1 + self.directions().len(),
            vertices,
            edges: superblock.stored_out + superblock.stored_in,
            ids: StreamedIds::Integers(vertices),
        };
        let to_write = Hubs::bytes_to_write(self.graph);
        let import_bytes = self.import().memory_for(&streamed).max(to_write);
        let shares =
            [numbers_bytes * NUMBERS_SHARE, lists_bytes * LISTS_SHARE, import_bytes * IMPORT_SHARE];
        Ok(shares.into_iter().max().unwrap_or(0))
    }

    fn refused(&self, error: Error, memory_bytes: u64) -> Error {
        of_shares(WHAT, error, memory_bytes, SHARES, || self.sufficient())
    }

    fn visit(&self, direction: Direction, memory_bytes: u64) -> Visit<'_> {
        let has_weights = self.graph.stored().is_weighted();
        let visit = self.graph.visit().direction(direction).weights(has_weights);
        visit.threads(self.threads).memory(memory_bytes)
    }

    fn directions(&self) -> &'static [Direction] {
        match self.has_in_edges() {
            true => &[Direction::Out, Direction::In],
            false => &[Direction::Out],
        }
    }

    fn has_in_edges(&self) -> bool {
        self.graph.stored().is_directed() && self.graph.stored().has_in_edges()
    }

    fn cuts(&self, numbers: &Numbers) -> Result<Vec<Range<u64>>> {
        let mut entries = self.graph.degrees(Direction::Out)?;
        if self.has_in_edges() {
            let stored = self.graph.stored();
            stored.degrees(Direction::In, &mut |first, degrees| {
                let own = &mut entries[first as usize..][..degrees.len()];
                own.iter_mut().zip(degrees).for_each(|(sum, degree)| *sum += degree);
            })?;
        }
        let of = |number| entries[numbers.vertex(number) as usize];
        Ok(ranges(numbers.count(), self.shards, of))
    }

    fn manifest(&self, vertices: u64) -> Manifest {
        let superblock = self.graph.stored().superblock();
        let (format, version) = Manifest::format();
        Manifest {
            format,
            version,
            vertices,
            edges: superblock.edges,
            directed: superblock.directed,
            in_edges: self.has_in_edges(),
            weights: superblock.weights.map(|weights| weights.kind().name().to_owned()),
            ids: match superblock.ids {
                StoredIdKind::Strings => "string".to_owned(),
                StoredIdKind::Dense | StoredIdKind::Integers => "integer".to_owned(),
            },
            duplicates_kept: superblock.duplicates_kept,
            self_loops_kept: superblock.self_loops_kept,
            shards: Vec::new(),
        }
    }

    /// Writes the files of a shard. Returns its entry, and the bytes of lists that were read.
    fn shard(
        &self,
        shard: &Shard<'_>,
        numbers: &Numbers,
        memory_bytes: u64,
    ) -> Result<(ShardEntry, u64)> {
        let file = format!("shard-{:05}.cenote", shard.index);
        let path = shard.folder.join(&file);
        let (entries, bytes_read) = self.build(&path, shard.range, numbers, memory_bytes)?;
        if let Some(hubs) = shard.hubs {
            let budget = (memory_bytes / IMPORT_SHARE, self.threads);
            hubs.write(self.graph, &path, numbers, budget, &self.watch)?;
        }
        let ids_file = format!("shard-{:05}.ids.parquet", shard.index);
        let ids_path = shard.folder.join(&ids_file);
        let mut sink = PartialFile::create(&ids_path)?;
        ids::write(self.graph, numbers, shard.range.clone(), &mut sink)?;
        sink.finish()?;
        let mut watch = || self.watch.check();
        let (bytes, crc32) = checksum_of(&path, &mut watch)?;
        let (ids_bytes, ids_crc32) = checksum_of(&ids_path, &mut watch)?;
        let entry = ShardEntry {
            file,
            first_vertex: shard.range.start,
            vertices: shard.range.end - shard.range.start,
            out_entries: entries[0],
            in_entries: entries[1],
            boundary: boundary(&Graph::open(&path)?, shard.index, shard.cuts, &mut watch)?,
            bytes,
            crc32,
            ids_file,
            ids_bytes,
            ids_crc32,
        };
        Ok((entry, bytes_read))
    }

    /// Writes the graph file of a range. Returns the entries of its lists in both directions, and
    /// the bytes of lists that were read.
    fn build(
        &self,
        path: &Path,
        range: &Range<u64>,
        numbers: &Numbers,
        memory_bytes: u64,
    ) -> Result<([u64; 2], u64)> {
        let vertices: Vec<VertexId> = range.clone().map(|number| numbers.vertex(number)).collect();
        let fault = Mutex::new(None);
        let mut import = self.import().memory(memory_bytes / IMPORT_SHARE).vertices(range.clone());
        let mut readers = Vec::new();
        let directions = self.directions();
        for &direction in directions {
            let visit = self.visit(direction, memory_bytes / LISTS_SHARE);
            let lists = visit.open().map_err(|error| self.refused(error, memory_bytes))?;
            let pass: Pass = lists.pass(Some(&vertices))?;
            let known = (direction == Direction::In).then(|| range.clone());
            import = import.edges(Rows::new(pass, numbers, known, &fault));
            readers.push(lists);
        }
        let report = import.run(path);
        // The import only knows that the iterator had an error.
        let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(fault) = fault {
            return Err(fault);
        }
        report.map_err(|error| self.refused(error.into(), memory_bytes))?;
        let mut entries = [0, 0];
        for (&direction, sum) in directions.iter().zip(&mut entries) {
            let stored = self.graph.stored();
            *sum = entries_of(stored, direction, &vertices)?;
        }
        Ok((entries, readers.iter().map(|lists| lists.stats().bytes_read).sum()))
    }

    /// An import of a shard, still without vertices and edges.
    fn import(&self) -> Import<'_> {
        let import = import_like(self.graph)
            .directed()
            .ids(IdKind::Integer)
            .hub_neighbours(HubNeighboursChoice::No)
            .threads(self.threads)
            .cancel(|| self.watch.check().is_err());
        if self.has_in_edges() { import.in_edges() } else { import }
    }
}

/// A shard to be written.
struct Shard<'a> {
    index: usize,
    range: &'a Range<u64>,
    cuts: &'a [Range<u64>],
    folder: &'a Path,
    hubs: Option<&'a Hubs>,
}

/// Ids between two calls of a `watch`.
const WATCHED_IDS: VertexId = 1 << 16;

/// How many vertices of a shard's file each shard owns, itself apart.
pub(super) fn boundary(
    graph: &Graph,
    index: usize,
    cuts: &[Range<u64>],
    watch: Watching<'_>,
) -> Result<Vec<u64>> {
    let mut counts = vec![0; cuts.len()];
    graph.ids()?.for_each(0..graph.stored().vertices() as VertexId, |vertex, id| {
        if vertex.is_multiple_of(WATCHED_IDS) {
            watch()?;
        }
        if let Id::Integer(number) = id.to_id() {
            let owner = cuts.partition_point(|range| range.end <= number);
            if let Some(count) = counts.get_mut(owner).filter(|_| owner != index) {
                *count += 1;
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(counts)
}

/// What is called now and then; an error ends the work.
type Watching<'w> = &'w mut dyn FnMut() -> Result<()>;

/// Bytes and CRC-32 of a file.
pub(super) fn checksum_of(path: &Path, watch: Watching<'_>) -> Result<(u64, String)> {
    let cannot = || Error::io(format!("cannot read {}", path.display()));
    let mut file = File::open(path).map_err(cannot())?;
    let mut digest = Digest::new(CrcAlgorithm::Crc32IsoHdlc);
    let (mut buffer, mut bytes) = (vec![0; 1 << 20], 0);
    loop {
        watch()?;
        let count = file.read(&mut buffer).map_err(cannot())?;
        if count == 0 {
            return Ok((bytes, format!("{:08x}", digest.finalize())));
        }
        digest.update(&buffer[..count]);
        bytes += count as u64;
    }
}

/// Checks that the folder of a sharded graph may be written there: nothing is, or an empty folder.
///
/// # Errors
/// [`Error::InvalidInput`].
pub fn check_output(out: &Path) -> Result<()> {
    let is_empty = match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !out.exists() && out.file_name().is_some(),
    };
    match is_empty {
        true => Ok(()),
        false => Err(Error::input(out, "it exists and is no empty folder: choose another name")),
    }
}

/// A folder beside its final path. Removed if dropped before [`PartialFolder::finish`].
struct PartialFolder {
    path: PathBuf,
    partial: PathBuf,
}

impl PartialFolder {
    fn create(path: &Path) -> Result<Self> {
        remove_abandoned(path);
        let partial = path.with_file_name(partial_name(path));
        // One that a process of the same number has left.
        drop(fs::remove_dir_all(&partial));
        fs::create_dir(&partial).map_err(cannot_create(path))?;
        Ok(Self { path: path.to_owned(), partial })
    }

    fn finish(self) -> Result<()> {
        let cannot = || Error::io(format!("cannot finish {}", self.path.display()));
        let sync = |folder: &Path| File::open(folder).and_then(|folder| folder.sync_all());
        sync(&self.partial).map_err(cannot())?;
        fs::rename(&self.partial, &self.path).map_err(cannot())?;
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync(parent.unwrap_or(Path::new("."))).map_err(cannot())
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        // It has another name where it was finished.
        drop(fs::remove_dir_all(&self.partial));
    }
}
