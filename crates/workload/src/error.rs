//! What can be wrong with a request for a workload, or with the file that holds one.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A parameter that no workload fits, or a trace that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A number outside its limits.
    #[error("{name} is {value}: expected {expected}")]
    Parameter {
        /// The parameter as the command line spells it, without the dashes.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        expected: String,
    },

    /// A trace says something that its format does not know.
    #[error("{}, {unit} {number}: found {found}, expected {expected}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the file consists of: `line` or `record`.
        unit: &'static str,
        /// Which line or record, counted from 1.
        number: u64,
        /// What stands there, shortened.
        found: String,
        /// What the format wants there.
        expected: String,
    },

    /// A trace whose format shows neither in its name nor in its first line.
    #[error("{}: {reason}; say which format it has: {choices}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why it cannot be told.
        reason: String,
        /// The names of the formats.
        choices: String,
    },

    /// A trace could not be opened or read.
    #[error("cannot read {}{}: {source}", path.display(), place(*after))]
    Read {
        /// The file.
        path: PathBuf,
        /// Lines or records that were read before.
        after: u64,
        /// What the system or the decompressor says.
        source: io::Error,
    },

    /// The system refused a thread.
    #[error("cannot start {threads} threads: {source}: give fewer threads")]
    Threads {
        /// Threads that were to run.
        threads: usize,
        /// What the system says.
        source: io::Error,
    },

    /// A trace could not be written.
    #[error("cannot write the trace: {source}")]
    Write {
        /// What the system says.
        source: io::Error,
    },
}

/// The result of building or reading a workload.
pub type Result<T> = std::result::Result<T, WorkloadError>;

/// Checks one parameter: an error that says what was expected unless `holds`.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    value: impl ToString,
    expected: impl Into<String>,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(WorkloadError::Parameter { name, value: value.to_string(), expected: expected.into() })
}

/// A float in its shortest form: `1e308` and not 309 digits.
pub(crate) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// The error of a file that could not be read on `after` some lines or records.
pub(crate) fn unreadable(path: &Path, after: u64, source: io::Error) -> WorkloadError {
    WorkloadError::Read { path: path.to_path_buf(), after, source }
}

fn place(after: u64) -> String {
    if after == 0 { String::new() } else { format!(" after line or record {after}") }
}
