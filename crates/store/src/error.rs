//! What can go wrong between a graph and its file.

use cenote_device::DeviceError;
use cenote_pool::PoolError;

use crate::format::PageKind;

/// The result of a store call.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A fault of a graph file, or of what is to become one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The pool could not bring a page.
    #[error(transparent)]
    Pool(PoolError),
    /// The file has no bytes.
    #[error("{file}: the file is empty, not a Cenote graph; import it again")]
    Empty {
        /// Path of the file.
        file: String,
    },
    /// The file is something else.
    #[error(
        "{file}: not a Cenote graph (page 0, bytes 48..56 are {found:02x?}, expected \
             \"CENOTE\\r\\n\"); to build a graph from it, use `cenote import`"
    )]
    NotCenote {
        /// Path of the file.
        file: String,
        /// What stands in place of the magic bytes; fewer where the file ends earlier.
        found: Vec<u8>,
    },
    /// The writer never came to write the superblock.
    #[error(
        "{file}: page 0 is all zeros: the import of this graph was not finished; import it \
             again"
    )]
    Unfinished {
        /// Path of the file.
        file: String,
    },
    /// An earlier Cenote wrote the file.
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
    /// A later Cenote wrote the file.
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
    /// A later Cenote wrote the file with something that this program cannot skip.
    #[error(
        "{file}: page 0: the graph requires unknown features (bits {bits:#x}); use a newer \
             Cenote"
    )]
    UnknownFeature {
        /// Path of the file.
        file: String,
        /// The bits that are not known.
        bits: u64,
    },
    /// The file ends before its superblock says.
    #[error(
        "{file}: truncated: {found} bytes, but the superblock (page 0) says {expected}: from \
             page {page} on it is missing; restore it or import again"
    )]
    Truncated {
        /// Path of the file.
        file: String,
        /// Size of the file.
        found: u64,
        /// Size that the superblock tells.
        expected: u64,
        /// First page that is not whole.
        page: u64,
    },
    /// A page is not what was written.
    #[error(transparent)]
    Page(Box<PageError>),
    /// A graph that cannot be written in this format.
    #[error("{file}: cannot write the graph: {reason}")]
    Unwritable {
        /// Path of the file.
        file: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A write failed earlier, so the file is not whole.
    #[error(
        "{file}: an earlier write failed, the graph is not complete; remove the file and \
             import again"
    )]
    Poisoned {
        /// Path of the file.
        file: String,
    },
    /// Ids could not be had from where they come from while the graph was written.
    #[error("cannot read the vertex ids to be stored: {source}")]
    IdSource {
        /// The reason.
        source: std::io::Error,
    },
    /// A vertex number outside of the graph.
    #[error("{file}: vertex {vertex} is not in the graph, which has {vertices} vertices")]
    NoVertex {
        /// Path of the file.
        file: String,
        /// The vertex that was asked for.
        vertex: u64,
        /// How many there are.
        vertices: u64,
    },
    /// Exported edges could not be written.
    #[error("cannot write the exported edges: {source}")]
    Export {
        /// The reason; a full disk and a closed pipe are told apart by it.
        source: std::io::Error,
    },
}

impl From<PoolError> for StoreError {
    /// What the device or the store's own check said is the error, whichever way a page came.
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

/// A fault of one page, with its place in the file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: page {page} ({section}, bytes {}..{}): {fault}; the file is damaged: \
         restore it or import again",
        self.physical * self.page_bytes, (self.physical + 1) * self.page_bytes)]
pub struct PageError {
    /// Path of the file.
    pub file: String,
    /// Logical page number; that of commit slots and of the page table's own pages is physical.
    pub page: u64,
    /// Where the page lies in the file, in pages.
    pub physical: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// What the page should hold.
    pub section: &'static str,
    /// What is wrong.
    pub fault: PageFault,
}

impl From<PageError> for StoreError {
    fn from(error: PageError) -> Self {
        StoreError::Page(Box::new(error))
    }
}

/// What can be wrong with a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageFault {
    /// The bytes are not those that were written here.
    #[error("checksum mismatch: stored {stored:#010x}, computed {computed:#010x}")]
    Checksum {
        /// In the page.
        stored: u32,
        /// Of the page.
        computed: u32,
    },
    /// The page is a version of it that is not the present one.
    #[error("it was written in epoch {found}, expected {expected}")]
    Epoch {
        /// In the page.
        found: u64,
        /// In the page table.
        expected: u64,
    },
    /// The page holds something else.
    #[error("it is of kind {found}, expected {expected:?}")]
    Kind {
        /// In the page.
        found: u8,
        /// What belongs here.
        expected: PageKind,
    },
    /// The page is encoded in a way that its section is not.
    #[error("it has codec {found}, expected {expected}")]
    Codec {
        /// In the page.
        found: u8,
        /// Codec of the section.
        expected: u8,
    },
    /// The page holds other vertices than the index says.
    #[error("{what} is {found}, but the index says {expected}")]
    Index {
        /// What differs.
        what: &'static str,
        /// In the page.
        found: u64,
        /// In the index.
        expected: u64,
    },
    /// A number is outside of what it may be.
    #[error("{what} is {found}, at most {limit} is possible")]
    Limit {
        /// Which number.
        what: &'static str,
        /// In the page.
        found: u64,
        /// What may be.
        limit: u64,
    },
    /// A target is no vertex of the graph.
    #[error("an entry is {found}, but the graph has {vertices} vertices")]
    Target {
        /// The first bad entry.
        found: u32,
        /// How many vertices there are.
        vertices: u32,
    },
    /// Two facts of the file contradict each other.
    #[error("{what}: found {found}, expected {expected}")]
    Mismatch {
        /// What differs.
        what: &'static str,
        /// Here.
        found: u64,
        /// Elsewhere.
        expected: u64,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// A fault in words.
pub(crate) fn other(reason: impl Into<String>) -> PageFault {
    PageFault::Other(reason.into())
}

/// A fault unless two numbers are equal.
#[inline]
pub(crate) fn equal(what: &'static str, found: u64, expected: u64) -> Result<(), PageFault> {
    if found == expected { Ok(()) } else { Err(PageFault::Mismatch { what, found, expected }) }
}

/// A fault where a number is larger than it may be.
#[inline]
pub(crate) fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), PageFault> {
    if found <= limit { Ok(()) } else { Err(PageFault::Limit { what, found, limit }) }
}

/// A fault unless all bytes are zero, which lie behind the last `item` of a page.
pub(crate) fn zero_behind(item: &str, bytes: &[u8]) -> Result<(), PageFault> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    Err(other(format!("bytes behind the last {item} are not zero")))
}
