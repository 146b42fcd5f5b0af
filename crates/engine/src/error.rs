//! Errors of the engine.

use cenote_device::DeviceError;
use cenote_pool::PoolError;
use cenote_store::{StoreError, VertexId};

/// The result of an engine call.
pub type Result<T> = std::result::Result<T, EngineError>;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The graph could not be read, or is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The pool could not load a page.
    #[error(transparent)]
    Pool(PoolError),
    /// The memory budget cannot hold what the run must keep in memory.
    #[error(
        "a memory budget of {given} bytes is too small: {what} needs {needed} bytes \
         ({breakdown}); give at least {suggested}MiB as `memory`"
    )]
    Budget {
        /// The algorithm and strategy.
        what: String,
        /// Bytes given.
        given: u64,
        /// Smallest sufficient budget.
        needed: u64,
        /// The same in MiB, rounded up, for the command line.
        suggested: u64,
        /// Each part with its bytes.
        breakdown: String,
    },
    /// The disk has no room for the vertex state that does not fit in memory.
    #[error(
        "{file}: no room for the vertex state after {written} bytes ({reason}); free space, give \
         another folder for it, or more `memory`"
    )]
    StateFull {
        /// The state file, by its folder.
        file: String,
        /// Bytes that the run has written.
        written: u64,
        /// The error of the system.
        reason: String,
    },
    /// A block of vertex state did not come back as it was written.
    #[error("{file}: the block at offset {offset} is damaged: check the drive, and run again")]
    StateDamaged {
        /// The state file, by its folder.
        file: String,
        /// Its offset in the file.
        offset: u64,
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
        /// The page of the task before.
        before: u64,
        /// Pages of the graph.
        pages: u64,
    },
    /// A source of a visit, or the vertex of a look-up, is not in the graph.
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
    /// The run was cancelled.
    #[error("interrupted")]
    Interrupted,
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads {
        /// Threads of the configuration.
        threads: usize,
        /// The error of the system.
        reason: String,
    },
}

impl From<PoolError> for EngineError {
    /// Unwraps errors of the store and the device, so that they do not depend on the read path.
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
