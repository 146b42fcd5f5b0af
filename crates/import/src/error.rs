//! What can go wrong on the way from an edge list to a graph.

use std::path::PathBuf;

use cenote_device::DeviceError;
use cenote_pool::PoolError;

use cenote_store::StoreError;

use crate::output::OutputRefused;

/// The result of an import step.
pub type Result<T> = std::result::Result<T, ImportError>;

/// Why there is no graph. Each message is one line: where, what, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// An input could not be opened or read, or its compression is broken.
    #[error("{input}: cannot {action}: {source}")]
    Input {
        /// The file.
        input: String,
        /// What was tried.
        action: &'static str,
        /// The system's own reason.
        source: std::io::Error,
    },
    /// A line is not what the format demands.
    #[error("{input}: line {line}: expected {expected}, found \"{text}\"")]
    Line {
        /// The file.
        input: String,
        /// Line number, from 1.
        line: u64,
        /// What should be there.
        expected: String,
        /// The line, shortened and escaped.
        text: String,
    },
    /// A row of a columnar file is not an edge.
    #[error("{input}: row {row}: {reason}")]
    Row {
        /// The file.
        input: String,
        /// Row number, from 1.
        row: u64,
        /// What is wrong.
        reason: String,
    },
    /// An input as a whole is not what its format says.
    #[error("{input}: {reason}")]
    Format {
        /// The file.
        input: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The inputs hold no vertex.
    #[error("{inputs}: no edges and no vertices found; is it the right file and `format`?")]
    Empty {
        /// The files.
        inputs: String,
    },
    /// The options contradict each other.
    #[error("{0}")]
    Options(String),
    /// More vertices than dense ids.
    #[error("{vertices} vertices are too many: a graph has at most 4294967294")]
    Vertices {
        /// Vertices found.
        vertices: u64,
    },
    /// The memory budget is too small.
    #[error("`memory` of {given} bytes is too small for {what}: {needed} bytes would do")]
    Memory {
        /// The budget.
        given: usize,
        /// A budget that would do: an estimate where the input was not read to its end.
        needed: usize,
        /// What did not fit.
        what: &'static str,
    },
    /// The output is there already.
    #[error("{} exists; give another name or set `overwrite`", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The output would destroy what is no graph of an earlier import.
    #[error(transparent)]
    Refused(#[from] OutputRefused),
    /// An input was written or replaced while it was read.
    #[error("{input}: changed while it was imported; import it when nothing writes to it")]
    Changed {
        /// The file.
        input: String,
    },
    /// The system starts no more threads.
    #[error("cannot start a worker thread: {0}; ask for fewer `threads`")]
    Threads(std::io::Error),
    /// The output or a spill file could not be made or moved to its place.
    #[error("{}: cannot {action}: {source}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's own reason.
        source: std::io::Error,
    },
    /// The disk is full.
    #[error(
        "{device}: no space left on the disk after {written} bytes; {role} needs about {needed} \
         bytes: free space or give another folder as `{remedy}`"
    )]
    Full {
        /// The file that could not grow.
        device: String,
        /// What kind of file it is.
        role: &'static str,
        /// Bytes that it already had.
        written: u64,
        /// Bytes that it would take.
        needed: u64,
        /// The parameter that helps.
        remedy: &'static str,
    },
    /// A spill file gave back other bytes than were written to it.
    #[error(
        "{device}: the spilled block at offset {offset} came back damaged: the drive or its \
         driver fails; import again with another `temp_dir`"
    )]
    SpillDamaged {
        /// The spill file.
        device: String,
        /// Where the block begins.
        offset: u64,
    },
    /// Stopped by the user.
    #[error("import was stopped; nothing was left behind")]
    Cancelled,
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The graph file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<PoolError> for ImportError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Device(fault) => Self::Device(fault),
            other => Self::Store(other.into()),
        }
    }
}

/// A piece of input for a message: at most 60 characters, control and broken bytes escaped.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let head = &bytes[..bytes.len().min(SHOWN)];
    let mut text = String::new();
    for chunk in head.utf8_chunks() {
        text.extend(chunk.valid().chars().flat_map(char::escape_debug));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    if bytes.len() > SHOWN {
        text.push_str(&format!("... ({} bytes)", bytes.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn excerpts_are_short_and_escaped() {
        assert_eq!(excerpt(b"1\t2\0\xff"), "1\\t2\\0\\xff");
        let long = excerpt(&[b'x'; 5000]);
        assert!(long.len() < 100 && long.ends_with("(5000 bytes)"), "{long}");
    }
}
