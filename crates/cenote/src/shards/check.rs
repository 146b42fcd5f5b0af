//! Verifies a sharded graph: every byte of its files, and that they fit each other.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use cenote_store::superblock::IdKind;
use cenote_store::{Id, VertexId};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::manifest::{MANIFEST, Manifest, ShardEntry};
use super::write::{boundary, checksum_of};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// The result of a check of a sharded graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardsReport {
    /// Pages of all graph files.
    pub pages: u64,
    /// The first faults of each file.
    pub faults: Vec<ShardFault>,
    /// Number of faults.
    pub faults_total: u64,
}

/// A fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardFault {
    /// The file in the folder.
    pub file: String,
    /// The page, if it is the fault of one.
    pub page: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ShardFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.message)
    }
}

impl ShardsReport {
    /// Whether the sharded graph has no fault.
    pub fn is_whole(&self) -> bool {
        self.faults_total == 0
    }

    fn add(&mut self, file: &str, message: impl fmt::Display) {
        self.add_of_page(file, None, message);
        self.faults_total += 1;
    }

    fn add_of_page(&mut self, file: &str, page: Option<u64>, message: impl fmt::Display) {
        let message = message.to_string();
        self.faults.push(ShardFault { file: file.to_owned(), page, message });
    }
}

/// The progress of a check, which the caller may end.
struct Watched<'a> {
    /// Files that were checked, and all of them.
    done: u64,
    total: u64,
    progress: &'a mut dyn FnMut(u64, u64) -> bool,
}

impl Watched<'_> {
    fn goes_on(&mut self) -> bool {
        (self.progress)(self.done, self.total)
    }

    fn check(&mut self) -> Result<()> {
        if self.goes_on() { Ok(()) } else { Err(Error::Cancelled) }
    }
}

/// Verifies the folder of a sharded graph; only reads. `progress` is called with the files done and
/// all of them, and returns whether to go on.
///
/// # Errors
/// [`Error::InvalidInput`] if it is no sharded graph; [`Error::Unsupported`] for another version; a
/// file cannot be read; [`Error::Cancelled`] where `progress` ends it. What is damaged is in the
/// report.
pub fn check(
    folder: impl AsRef<Path>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<ShardsReport> {
    let folder = folder.as_ref();
    let mut report = ShardsReport::default();
    let manifest = match Manifest::read(folder) {
        Ok(manifest) => manifest,
        Err(Error::Corrupt(cause)) => {
            report.add(MANIFEST, cause);
            return Ok(report);
        }
        Err(other) => return Err(other),
    };
    let cuts: Vec<Range<u64>> =
        manifest.shards.iter().map(|shard| shard.first_vertex..shard.end()).collect();
    let total = 2 * manifest.shards.len() as u64;
    let mut watched = Watched { done: 0, total, progress };
    for (index, shard) in manifest.shards.iter().enumerate() {
        check_graph(folder, &manifest, (index, shard), &cuts, &mut report, &mut watched)?;
        watched.done += 1;
        check_ids(folder, shard, &mut report, &mut watched)?;
        watched.done += 1;
    }
    watched.check()?;
    let entries = manifest.shards.iter().map(|shard| shard.out_entries).sum::<u64>();
    if manifest.directed && entries != manifest.edges {
        report.add(MANIFEST, format_args!("{entries} entries for {} edges", manifest.edges));
    }
    Ok(report)
}

/// Whether a file is the one that the manifest describes.
fn is_described(
    path: &Path,
    name: &str,
    (bytes, crc32): (u64, &str),
    report: &mut ShardsReport,
    watched: &mut Watched<'_>,
) -> Result<bool> {
    if !path.is_file() {
        report.add(name, "it is missing");
        return Ok(false);
    }
    let (found_bytes, found_crc32) = checksum_of(path, &mut || watched.check())?;
    if found_bytes != bytes {
        report.add(name, format_args!("it has {found_bytes} bytes, not {bytes}"));
    } else if found_crc32 != crc32 {
        report.add(name, format_args!("its CRC-32 is {found_crc32}, not {crc32}"));
    }
    Ok(true)
}

fn check_graph(
    folder: &Path,
    manifest: &Manifest,
    (index, shard): (usize, &ShardEntry),
    cuts: &[Range<u64>],
    report: &mut ShardsReport,
    watched: &mut Watched<'_>,
) -> Result<()> {
    let (path, name) = (folder.join(&shard.file), shard.file.as_str());
    if !is_described(&path, name, (shard.bytes, &shard.crc32), report, watched)? {
        return Ok(());
    }
    let found = Graph::check(&path, &mut |_, _| watched.goes_on())?;
    report.pages += found.pages;
    report.faults_total += found.faults_total;
    for fault in &found.faults {
        report.add_of_page(name, fault.page, fault);
    }
    if !found.is_whole() {
        return Ok(());
    }
    let graph = Graph::open(&path)?;
    let stored = graph.stored();
    let weights = stored.superblock().weights.map(|weights| weights.kind().name());
    if !stored.is_directed()
        || stored.has_in_edges() != manifest.in_edges
        || weights != manifest.weights.as_deref()
        || stored.superblock().ids == IdKind::Strings
    {
        report.add(name, "its kind of graph is not that of the manifest");
        return Ok(());
    }
    let ids = graph.ids()?;
    // The own vertices are a run of the file's, and lie behind the boundary of lower shards.
    let before = shard.boundary[..index].iter().sum::<u64>();
    let ends = [before, (before + shard.vertices).saturating_sub(1)];
    let ids_of_ends = [shard.first_vertex, shard.end().saturating_sub(1)];
    let has = |(place, number): (u64, u64)| {
        let is_there = place < graph.vertices();
        is_there && ids.id_of(place as VertexId).is_ok_and(|id| id == Id::Integer(number))
    };
    if !ends.into_iter().zip(ids_of_ends).all(has) {
        report.add(name, "its own vertices are not those of its range");
    } else if boundary(&graph, index, cuts, &mut || watched.check())? != shard.boundary {
        report.add(name, "its boundary is not that of the manifest");
    }
    Ok(())
}

fn check_ids(
    folder: &Path,
    shard: &ShardEntry,
    report: &mut ShardsReport,
    watched: &mut Watched<'_>,
) -> Result<()> {
    let (path, name) = (folder.join(&shard.ids_file), shard.ids_file.as_str());
    let faults = report.faults_total;
    let described = (shard.ids_bytes, shard.ids_crc32.as_str());
    let is_there = is_described(&path, name, described, report, watched)?;
    if !is_there || report.faults_total > faults {
        return Ok(());
    }
    let file = std::fs::File::open(&path).map_err(Error::io(format!("cannot open {name}")))?;
    let rows = SerializedFileReader::new(file)
        .map(|reader| reader.metadata().file_metadata().num_rows())
        .map_err(|error| report.add(name, error));
    if rows.is_ok_and(|rows| u64::try_from(rows) != Ok(shard.vertices)) {
        report.add(name, format_args!("it has not the ids of {} vertices", shard.vertices));
    }
    Ok(())
}
