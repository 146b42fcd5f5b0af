//! Errors of the store.

use cenote_device::DeviceError;
use cenote_pool::PoolError;

use crate::format::PageKind;

/// The result of a store call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of a graph file, or of writing one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The pool could not read a page.
    #[error(transparent)]
    Pool(PoolError),
    /// The file has no bytes.
    #[error("{file}: the file is empty, not a Cenote graph; import it again")]
    Empty {
        /// Path of the file.
        file: String,
    },
    /// The file is not a Cenote graph.
    #[error(
        "{file}: not a Cenote graph (page 0, bytes 48..56 are {found:02x?}, expected \
             \"CENOTE\\r\\n\"); to build a graph from it, use `cenote import`"
    )]
    NotCenote {
        /// Path of the file.
        file: String,
        /// The bytes in place of the magic bytes; fewer where the file ends earlier.
        found: Vec<u8>,
    },
    /// The superblock was never written.
    #[error(
        "{file}: page 0 is all zeros: the import of this graph was not finished; import it \
             again"
    )]
    Unfinished {
        /// Path of the file.
        file: String,
    },
    /// Deleted vertices have more edges than a batch may delete with them.
    #[error("{file}: the deleted vertices have {edges} edges, more than {max}")]
    DeletedEdges {
        /// Path of the file.
        file: String,
        /// Their edges; one between two of them counts twice.
        edges: u64,
        /// How many are allowed.
        max: u64,
    },
    /// The file has an older format version.
    #[error(
        "{file}: page 0: format version {found}, but this program reads version {supported}; \
             import the graph again"
    )]
    OlderVersion {
        /// Path of the file.
        file: String,
        /// Version of the file.
        found: u32,
        /// Version that this program reads.
        supported: u32,
    },
    /// The file has a newer format version.
    #[error(
        "{file}: page 0: format version {found}, but this program reads up to version \
             {supported}; use a newer Cenote"
    )]
    NewerVersion {
        /// Path of the file.
        file: String,
        /// Version of the file.
        found: u32,
        /// Newest version that this program reads.
        supported: u32,
    },
    /// The file requires a feature that this program does not know.
    #[error(
        "{file}: page 0: the graph requires unknown features (bits {bits:#x}); use a newer \
             Cenote"
    )]
    UnknownFeature {
        /// Path of the file.
        file: String,
        /// Bits of the unknown features.
        bits: u64,
    },
    /// A merge or a large commit that its caller has ended; the graph is as before.
    #[error("{file}: interrupted: the graph is as it was before")]
    Cancelled {
        /// Path of the file.
        file: String,
    },
    /// A batch of changes that the graph cannot take.
    #[error("{file}: the graph cannot be updated: {reason}")]
    Update {
        /// Path of the file.
        file: String,
        /// What stands against it.
        reason: String,
    },
    /// A snapshot that cannot be made.
    #[error("{file}: the snapshot `{name}` cannot be made: {reason}")]
    Snapshot {
        /// Path of the file.
        file: String,
        /// Its name.
        name: String,
        /// What stands against it, and what to do.
        reason: String,
    },
    /// The graph has no such snapshot.
    #[error("{file}: no snapshot `{name}`: {known}")]
    NoSnapshot {
        /// Path of the file.
        file: String,
        /// The name.
        name: String,
        /// The snapshots that the graph has.
        known: String,
    },
    /// The file is shorter than its superblock says.
    #[error(
        "{file}: truncated: {found} bytes, but the superblock (page 0) says {expected}: from \
             page {page} on it is missing; restore it or import again"
    )]
    Truncated {
        /// Path of the file.
        file: String,
        /// Size of the file in bytes.
        found: u64,
        /// Size by the superblock, in bytes.
        expected: u64,
        /// First incomplete page.
        page: u64,
    },
    /// A page is damaged.
    #[error(transparent)]
    Page(Box<PageError>),
    /// The graph cannot be written in this format.
    #[error("{file}: cannot write the graph: {reason}")]
    Unwritable {
        /// Path of the file.
        file: String,
        /// What is wrong and how to avoid it.
        reason: String,
    },
    /// Two graphs were to be compared that are not states of one graph.
    #[error("{after}: it is no later state of {before}: compare a graph with a snapshot of it")]
    NotComparable {
        /// Path of the earlier one.
        before: String,
        /// Path of the later one.
        after: String,
    },
    /// An earlier write failed, so what the device holds is unknown until it is opened again: after
    /// an import no graph, after a commit the graph before or after it.
    #[error(
        "{file}: an earlier write failed, so nothing more is written: open the graph again, or \
         repeat its import"
    )]
    Poisoned {
        /// Path of the file.
        file: String,
    },
    /// The source of the ids failed while the graph was being written.
    #[error("cannot read the vertex ids to be stored: {source}")]
    IdSource {
        /// The reason.
        source: std::io::Error,
    },
    /// The graph has no such vertex.
    #[error("{file}: vertex {vertex} is not in the graph, which has {vertices} vertices")]
    NoVertex {
        /// Path of the file.
        file: String,
        /// The vertex.
        vertex: u64,
        /// Number of vertices.
        vertices: u64,
    },
    /// Exported edges could not be written.
    #[error("cannot write the exported edges: {source}")]
    Export {
        /// The reason; it distinguishes a full disk from a closed pipe.
        source: std::io::Error,
    },
}

impl From<PoolError> for StoreError {
    /// Unwraps an error of the device or of the store's own page check.
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Device(fault) => Self::Device(fault),
            PoolError::Poisoned { device: file } => Self::Poisoned { file },
            PoolError::Damaged { device, page, source } => match source.downcast::<Self>() {
                Ok(fault) => *fault,
                Err(source) => Self::Pool(PoolError::Damaged { device, page, source }),
            },
            other => Self::Pool(other),
        }
    }
}

/// A fault of one page and its place in the file.
#[derive(Debug, thiserror::Error)]
#[error("{}; the file is damaged: restore it or import again", self.found())]
pub struct PageError {
    /// Path of the file.
    pub file: String,
    /// Logical page number; commit slots and the page table's own pages have physical numbers.
    pub page: u64,
    /// Place of the page in the file, in pages.
    pub physical: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// What the page should hold.
    pub section: &'static str,
    /// What is wrong.
    pub fault: PageFault,
}

impl PageError {
    /// Where the fault is and what is wrong, without the advice of the error.
    pub fn found(&self) -> String {
        let Self { file, page, physical, page_bytes, section, fault } = self;
        let (start, end) = (physical * page_bytes, (physical + 1) * page_bytes);
        format!("{file}: page {page} ({section}, bytes {start}..{end}): {fault}")
    }
}

impl From<PageError> for StoreError {
    fn from(error: PageError) -> Self {
        StoreError::Page(Box::new(error))
    }
}

/// A fault of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageFault {
    /// The checksum is wrong.
    #[error("checksum mismatch: stored {stored:#010x}, computed {computed:#010x}")]
    Checksum {
        /// The checksum in the page.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// The page was written in another epoch than the page table says.
    #[error("it was written in epoch {found}, expected {expected}")]
    Epoch {
        /// Epoch of the page.
        found: u64,
        /// Epoch in the page table.
        expected: u64,
    },
    /// The page is of another kind.
    #[error("it is of kind {found}, expected {expected:?}")]
    Kind {
        /// Kind of the page.
        found: u8,
        /// Kind of the section's pages.
        expected: PageKind,
    },
    /// The page has another codec than its section.
    #[error("it has codec {found}, expected {expected}")]
    Codec {
        /// Codec of the page.
        found: u8,
        /// Codec of the section.
        expected: u8,
    },
    /// The page disagrees with the index.
    #[error("{what} is {found}, but the index says {expected}")]
    Index {
        /// What differs.
        what: &'static str,
        /// Value in the page.
        found: u64,
        /// Value in the index.
        expected: u64,
    },
    /// A number is too large.
    #[error("{what} is {found}, at most {limit} is possible")]
    Limit {
        /// Name of the number.
        what: &'static str,
        /// Value in the page.
        found: u64,
        /// Largest possible value.
        limit: u64,
    },
    /// An entry is not a vertex of the graph.
    #[error("an entry is {found}, but the graph has {vertices} vertices")]
    Target {
        /// The first such entry.
        found: u32,
        /// Number of vertices.
        vertices: u32,
    },
    /// Two numbers of the file contradict each other.
    #[error("{what}: found {found}, expected {expected}")]
    Mismatch {
        /// What differs.
        what: &'static str,
        /// The number at hand.
        found: u64,
        /// The number elsewhere.
        expected: u64,
    },
    /// Any other fault, described.
    #[error("{0}")]
    Other(String),
}

pub(crate) fn other(reason: impl Into<String>) -> PageFault {
    PageFault::Other(reason.into())
}

#[inline]
pub(crate) fn equal(what: &'static str, found: u64, expected: u64) -> Result<(), PageFault> {
    if found == expected { Ok(()) } else { Err(PageFault::Mismatch { what, found, expected }) }
}

#[inline]
pub(crate) fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), PageFault> {
    if found <= limit { Ok(()) } else { Err(PageFault::Limit { what, found, limit }) }
}

/// A fault unless all bytes after the last `item` of a page are zero.
pub(crate) fn zero_behind(item: &str, bytes: &[u8]) -> Result<(), PageFault> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    Err(other(format!("bytes behind the last {item} are not zero")))
}
