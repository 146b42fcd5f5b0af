//! Errors of an import.

use std::path::PathBuf;

use cenote_device::{DeviceError, Op};
use cenote_pool::PoolError;
use cenote_store::StoreError;

use crate::output::OutputRefused;

/// The result of an import.
pub type Result<T> = std::result::Result<T, ImportError>;

/// An error of an import. Each message is one line that says where, what, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// An input could not be opened or read, or its compression is broken.
    #[error("{input}: cannot {action}: {source}")]
    Input {
        /// Name of the input.
        input: String,
        /// What failed.
        action: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line does not conform to the format.
    #[error("{input}: line {line}: expected {expected}, found \"{text}\"")]
    Line {
        /// Name of the input.
        input: String,
        /// Line number, from 1.
        line: u64,
        /// What was expected.
        expected: String,
        /// The line, shortened and escaped.
        text: String,
    },
    /// A row is not an edge.
    #[error("{input}: row {row}: {reason}")]
    Row {
        /// Name of the input.
        input: String,
        /// Row number, from 1.
        row: u64,
        /// What is wrong.
        reason: String,
    },
    /// An input as a whole does not conform to its format.
    #[error("{input}: {reason}")]
    Format {
        /// Name of the input.
        input: String,
        /// What is wrong and how to avoid it.
        reason: String,
    },
    /// A value of what is no vertex.
    #[error(
        "{input}: no vertex has the id `{id}`: give it an edge, or add it to the vertices, or \
         leave out its value"
    )]
    NoVertex {
        /// Name of the values.
        input: String,
        /// The id, shortened.
        id: String,
    },
    /// The inputs have no vertices.
    #[error(
        "{inputs}: no edges and no vertices found{}",
        if *.is_of_files {
            "; is it the right file and `format`?"
        } else {
            ": a graph has one vertex at least"
        }
    )]
    Empty {
        /// Names of the inputs.
        inputs: String,
        /// Whether one of them is a file.
        is_of_files: bool,
    },
    /// The options contradict each other, or name no place for the output.
    #[error("{0}")]
    Options(String),
    /// There are too many vertices.
    #[error(
        "{vertices} vertices are too many: a graph has at most 4294967294, in one file or in \
         shards; divide the edges among several graphs, or leave vertices out"
    )]
    Vertices {
        /// Number of vertices found.
        vertices: u64,
    },
    /// The memory budget is too small.
    #[error(
        "{}`memory` of {given} bytes is too small for {what}: {needed} bytes would do",
        input.as_ref().map_or_else(String::new, |input| format!("{input}: "))
    )]
    Memory {
        /// Name of the input that needs the memory, if it is one alone.
        input: Option<String>,
        /// The budget in bytes.
        given: usize,
        /// A sufficient budget in bytes; an estimate if an input can be read only once and was not
        /// read to its end.
        needed: usize,
        /// What did not fit.
        what: &'static str,
    },
    /// The output exists already.
    #[error("{} exists; give another name or set `overwrite`", path.display())]
    Exists {
        /// Path of the output.
        path: PathBuf,
    },
    /// The output would replace something that is not an earlier graph.
    #[error(transparent)]
    Refused(#[from] OutputRefused),
    /// An input changed while it was read.
    #[error("{input}: changed while it was imported; import it when nothing writes to it")]
    Changed {
        /// Name of the input.
        input: String,
    },
    /// The system could not start a thread.
    #[error(
        "cannot start a worker thread: {0}; use fewer threads, or raise the limit of \
             processes"
    )]
    Threads(std::io::Error),
    /// The output or a spill file could not be created or renamed.
    #[error("{}: cannot {action}: {source}", path.display())]
    Output {
        /// Path of the file or folder.
        path: PathBuf,
        /// What failed.
        action: &'static str,
        /// The error of the system.
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
        /// Role of the file.
        role: &'static str,
        /// Bytes written before.
        written: u64,
        /// Bytes needed in all.
        needed: u64,
        /// The parameter that names another folder.
        remedy: &'static str,
    },
    /// A block of a spill file has a wrong checksum.
    #[error(
        "{device}: the spilled block at offset {offset} came back damaged: the drive or its \
         driver fails; import again with another `temp_dir`"
    )]
    SpillDamaged {
        /// The spill file.
        device: String,
        /// Where the block starts, in bytes.
        offset: u64,
    },
    /// The memory budget is too small for the ids of edges that are not imported.
    #[error(
        "`memory` of {given} bytes is too small for {what} of {vertices} vertices, met in {part}: \
         about {needed} bytes would do; a graph file takes less, which `cenote import` makes of \
         the edges"
    )]
    Straight {
        /// The budget in bytes.
        given: usize,
        /// About a sufficient budget in bytes.
        needed: usize,
        /// Vertices met before.
        vertices: u64,
        /// The part of the input in which they were met.
        part: String,
        /// What did not fit.
        what: &'static str,
    },
    /// The import was cancelled.
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

/// Converts "no space" to an error that says how much is needed.
pub(super) fn full_disk(
    error: DeviceError,
    written: u64,
    needed: u64,
    role: &'static str,
    remedy: &'static str,
) -> ImportError {
    const NO_SPACE: [i32; 2] =
        [rustix::io::Errno::NOSPC.raw_os_error(), rustix::io::Errno::DQUOT.raw_os_error()];
    match error {
        DeviceError::Io { device, op: Op::Write, fault, .. } if NO_SPACE.contains(&fault.errno) => {
            ImportError::Full { device, role, written, needed: needed.max(written), remedy }
        }
        other => other.into(),
    }
}

/// Quotes input in a message: at most 60 characters, control characters and broken bytes escaped.
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
