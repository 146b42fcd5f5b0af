//! Errors of workloads and trace files.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A wrong parameter, or an error of a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A parameter is out of range.
    #[error("{name} is {value}: expected {expected}")]
    Parameter {
        /// Name of the parameter on the command line, without the dashes.
        name: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        expected: String,
    },
    /// A line or record of a trace does not conform to its format.
    #[error("{}, {unit} {number}: found {found}, expected {expected}", path.display())]
    Trace {
        /// Path of the file.
        path: PathBuf,
        /// Unit of the file: `line` or `record`.
        unit: &'static str,
        /// Number of the line or record, from 1.
        number: u64,
        /// The text found, shortened.
        found: String,
        /// What the format requires.
        expected: String,
    },
    /// The format of a trace cannot be determined from its name or its first line.
    #[error("{}: {reason}; say which format it has: {choices}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Why it cannot be determined.
        reason: String,
        /// Names of the formats.
        choices: String,
    },
    /// A trace could not be opened or read.
    #[error("cannot read {}{}: {source}", path.display(), place(*after))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Number of lines or records read before.
        after: u64,
        /// The error of the system or the decompressor.
        source: io::Error,
    },
    /// The system could not start a thread.
    #[error("cannot start {threads} threads: {source}: give fewer threads")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// A trace could not be written.
    #[error("cannot write the trace: {source}")]
    Write {
        /// The error of the system.
        source: io::Error,
    },
}

/// The result of building or reading a workload.
pub type Result<T> = std::result::Result<T, WorkloadError>;

/// Fails with an error about a parameter unless `holds`.
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

/// A float in its shortest form: `1e308`, not 309 digits.
pub(crate) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// The error of a file that could not be read after some lines or records.
pub(crate) fn unreadable(path: &Path, after: u64, source: io::Error) -> WorkloadError {
    WorkloadError::Read { path: path.to_path_buf(), after, source }
}

fn place(after: u64) -> String {
    if after == 0 { String::new() } else { format!(" after line or record {after}") }
}
