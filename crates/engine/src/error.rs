//! What can end a run before its answer.

use cenote_device::DeviceError;
use cenote_pool::PoolError;
use cenote_store::{StoreError, VertexId};

/// The result of an engine call.
pub type Result<T> = std::result::Result<T, EngineError>;

/// Why a run ended without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The graph could not be read, or is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The pool could not bring a page.
    #[error(transparent)]
    Pool(PoolError),
    /// The memory budget cannot hold what the run must keep in memory.
    #[error(
        "a memory budget of {given} bytes is too small: {what} needs {needed} bytes \
         ({breakdown}); give at least --memory {suggested}MiB"
    )]
    Budget {
        /// The algorithm and strategy.
        what: String,
        /// Bytes given.
        given: u64,
        /// Smallest budget that would do.
        needed: u64,
        /// The same in MiB, rounded up, for the command line.
        suggested: u64,
        /// Each part with its bytes.
        breakdown: String,
    },
    /// The graph lacks what a visit needs.
    #[error("the graph has no {what}: import it with them")]
    Missing {
        /// What is missing.
        what: &'static str,
    },
    /// A visit or look-up was called from within another one of the same engine, or beside it.
    #[error("the engine is busy: it does one visit or look-up at a time")]
    Busy,
    /// Tasks of a visit by pages that are not ascending pages of the graph.
    #[error("task for page {page} after page {before} of {pages}: pages must ascend, each once")]
    Tasks {
        /// The page.
        page: u64,
        /// The one before.
        before: u64,
        /// Pages that there are.
        pages: u64,
    },
    /// A vertex that a visit starts at, or whose list is looked up, is none of the graph's.
    #[error("no vertex {vertex}: the graph has {vertices}, counted from 0")]
    Vertex {
        /// The vertex.
        vertex: VertexId,
        /// Vertices of the graph.
        vertices: usize,
    },
    /// An active set was made for another number of vertices.
    #[error("the active set is over {given} vertices, and the graph has {vertices}")]
    ActiveSet {
        /// Vertices of the set.
        given: usize,
        /// Vertices of the graph.
        vertices: usize,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads {
        /// Threads of the configuration.
        threads: usize,
        /// The system's reason.
        reason: String,
    },
}

impl From<PoolError> for EngineError {
    /// What the store or the device said of a page is the error, whichever way the page came.
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Device(fault) => Self::Device(fault),
            PoolError::Damaged { device, page, source } => match source.downcast::<StoreError>() {
                Ok(fault) => Self::Store(*fault),
                Err(source) => Self::Pool(PoolError::Damaged { device, page, source }),
            },
            other => Self::Pool(other),
        }
    }
}
