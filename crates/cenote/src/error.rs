//! Errors of the library.

use std::io;
use std::path::Path;

use cenote_algo::AlgoError;
use cenote_engine::EngineError;
use cenote_import::ImportError;
use cenote_store::StoreError;
use cenote_tier::TierError;
use cenote_tier::device::TieredError;

pub use cenote_device::DeviceError;

/// The result of a call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The underlying error; its message is complete.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a call failed. Messages name parameters as this library does (`memory`).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is damaged, incomplete or not a graph.
    #[error(transparent)]
    Corrupt(Cause),
    /// The memory budget is too small.
    #[error(
        "a memory budget of {given} bytes is too small: {what} needs {needed} bytes \
         ({breakdown}); give at least {suggested}MiB as `memory`"
    )]
    MemoryBudget {
        /// The algorithm and strategy.
        what: String,
        /// Bytes given.
        given: u64,
        /// The smallest sufficient budget, bytes.
        needed: u64,
        /// The same in MiB, rounded up.
        suggested: u64,
        /// Each part with its bytes.
        breakdown: String,
    },
    /// A parameter is outside its range, or cannot be combined with another.
    #[error("{parameter} {reason}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// What is wrong and what is expected; follows the name in the message.
        reason: String,
    },
    /// An input cannot be used: a file of ids, the path of an output.
    #[error("{0}")]
    InvalidInput(String),
    /// No vertex has this id.
    #[error("{place}{graph}: no vertex `{id}`: {known}")]
    UnknownVertex {
        /// The graph's file.
        graph: String,
        /// The id.
        id: String,
        /// The ids that the graph has.
        known: String,
        /// Where the id was read, followed by `: `; empty if the caller gave it.
        place: String,
    },
    /// The graph is in use by another process or handle.
    #[error("{graph}: {reason}")]
    Locked {
        /// The graph's file.
        graph: String,
        /// The use and the remedy.
        reason: String,
    },
    /// The graph lacks something, or has a version that this library does not read.
    #[error(transparent)]
    Unsupported(Cause),
    /// The caller's `cancel` ended the call.
    #[error("interrupted")]
    Cancelled,
    /// A file could not be opened, read or written.
    #[error("{context}: {source}")]
    Io {
        /// The operation and the file.
        context: String,
        /// The I/O error.
        source: io::Error,
    },
    /// A device failed, or the system refused threads or memory.
    #[error(transparent)]
    Device(Cause),
    /// The serial verifier found a wrong result: a bug.
    #[error(transparent)]
    Wrong(Cause),
}

impl Error {
    pub(crate) fn io(context: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let context = context.into();
        move |source| Self::from_io(context, source)
    }

    /// Restores an error of this library that passed through a writer.
    pub(crate) fn from_io(context: String, source: io::Error) -> Self {
        match source.downcast::<Self>() {
            Ok(own) => own,
            Err(source) => Self::Io { context, source },
        }
    }

    pub(crate) fn parameter(parameter: &'static str, reason: impl Into<String>) -> Self {
        Self::Parameter { parameter, reason: reason.into() }
    }

    pub(crate) fn input(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::InvalidInput(format!("{}: {reason}", path.display()))
    }

    pub(crate) fn locked(graph: &Path, reason: impl Into<String>) -> Self {
        Self::Locked { graph: graph.display().to_string(), reason: reason.into() }
    }
}

impl From<Error> for io::Error {
    /// For passing through a writer.
    fn from(error: Error) -> Self {
        io::Error::other(error)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::File { device, action, source } => {
                Self::Io { context: format!("{device}: cannot {action}"), source }
            }
            other => Self::Device(other.into()),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Device(error) => error.into(),
            StoreError::Cancelled { .. } => Self::Cancelled,
            StoreError::Export { source } => {
                Self::from_io("cannot write the exported edges".to_owned(), source)
            }
            StoreError::NoVertex { .. }
            | StoreError::Update { .. }
            | StoreError::Snapshot { .. }
            | StoreError::NoSnapshot { .. }
            | StoreError::NotComparable { .. } => Self::InvalidInput(error.to_string()),
            StoreError::NewerVersion { .. } | StoreError::UnknownFeature { .. } => {
                Self::Unsupported(error.into())
            }
            StoreError::Pool(_)
            | StoreError::Unwritable { .. }
            | StoreError::Poisoned { .. }
            | StoreError::IdSource { .. } => Self::Device(error.into()),
            other => Self::Corrupt(other.into()),
        }
    }
}

impl From<ImportError> for Error {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Store(error) => error.into(),
            ImportError::Device(error) => error.into(),
            ImportError::Cancelled => Self::Cancelled,
            ImportError::Memory { given, needed, what, .. } => Self::MemoryBudget {
                what: "compacting".to_owned(),
                given: given as u64,
                needed: needed as u64,
                suggested: (needed as u64).div_ceil(1 << 20),
                breakdown: format!("the budget ended with {what}"),
            },
            ImportError::Input { input, action, source } => {
                Self::Io { context: format!("{input}: cannot {action}"), source }
            }
            ImportError::Output { path, action, source } => {
                Self::Io { context: format!("{}: cannot {action}", path.display()), source }
            }
            ImportError::Threads(_) | ImportError::Full { .. } => Self::Device(error.into()),
            ImportError::SpillDamaged { .. } | ImportError::Format { .. } => {
                Self::Corrupt(error.into())
            }
            other => Self::InvalidInput(other.to_string()),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Device(error) => error.into(),
            EngineError::Budget { what, given, needed, suggested, breakdown } => {
                Self::MemoryBudget { what, given, needed, suggested, breakdown }
            }
            EngineError::Interrupted => Self::Cancelled,
            other => Self::Device(other.into()),
        }
    }
}

impl From<AlgoError> for Error {
    fn from(error: AlgoError) -> Self {
        match error {
            AlgoError::Engine(error) => error.into(),
            // Faults of the graph's weights, which are not a parameter.
            AlgoError::Parameter { parameter, .. } if parameter.contains(' ') => {
                Self::InvalidInput(error.to_string())
            }
            AlgoError::Parameter { parameter, given, expected } => {
                Self::Parameter { parameter, reason: format!("is {given}: {expected}") }
            }
            AlgoError::Corpus { source } => {
                Self::from_io("cannot write the corpus".to_owned(), source)
            }
            AlgoError::Unsupported { .. } => Self::Unsupported(error.into()),
            AlgoError::Contradiction { .. } => Self::Corrupt(error.into()),
            other => Self::Wrong(other.into()),
        }
    }
}

impl From<TieredError> for Error {
    fn from(error: TieredError) -> Self {
        match error {
            TieredError::Device(error) => error.into(),
            TieredError::Member { .. } | TieredError::Damaged { .. } => Self::Corrupt(error.into()),
            other => Self::Device(other.into()),
        }
    }
}

impl From<TierError> for Error {
    fn from(error: TierError) -> Self {
        Self::InvalidInput(error.to_string())
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
