//! Errors as exceptions of `cenote.errors`, with the library's messages.

use std::path::Path;

use arrow_schema::ArrowError;
use cenote::Error;
use cenote::import::ImportError;
use cenote_replay::ReplayError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Why a call failed.
pub enum Failure {
    /// The library refused or could not do it.
    Library(Error),
    /// An import failed.
    Import(ImportError),
    /// A replay failed.
    Replay(ReplayError),
    /// Python code that was called raised an exception.
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
                Ok(own) => Self::Library(*own),
                Err(other) => Self::Library(Error::InvalidInput(other.to_string())),
            },
            other => Self::Library(Error::InvalidInput(other.to_string())),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            // The library's conversion calls it a compaction's.
            Failure::Import(error @ ImportError::Memory { .. }) => {
                exception("MemoryBudget", &error.to_string(), None)
            }
            // An input that is no list of edges is no corrupt graph.
            Failure::Import(error @ ImportError::Format { .. }) => invalid(named(&error)),
            Failure::Import(error @ ImportError::NoVertex { .. }) => {
                exception("UnknownVertex", &error.to_string(), None)
            }
            Failure::Import(error) => match Error::from(error) {
                Error::InvalidInput(message) => invalid(named(&message)),
                other => of(&other),
            },
            Failure::Replay(error) => of_replay(&error, &error.to_string()),
            Failure::Library(error) => of(&error),
        }
    }
}

/// A message with the names that the columns of an import have in Python.
fn named(message: &impl ToString) -> String {
    let columns = ["source", "target", "weight"];
    columns.iter().fold(message.to_string(), |message, column| {
        message.replace(&format!("`{column}_column`"), &format!("`{column}`"))
    })
}

/// An exception for the error of a replay, with the message of what contains it.
fn of_replay(error: &ReplayError, message: &str) -> PyErr {
    let name = match error {
        ReplayError::Combination { source, .. } => return of_replay(source, message),
        ReplayError::Cancelled => return PyKeyboardInterrupt::new_err(message.to_owned()),
        ReplayError::Config(_) | ReplayError::Tier(_) => "InvalidInput",
        // A trace that cannot be read, or one that is no trace.
        ReplayError::Workload(fault) => match std::error::Error::source(fault) {
            Some(source) => match source.downcast_ref::<std::io::Error>() {
                Some(source) => return of_file(source, message, error.path()),
                None => "InvalidInput",
            },
            None => "InvalidInput",
        },
        ReplayError::File { source, .. } => return of_file(source, message, error.path()),
        ReplayError::Device(_) | ReplayError::Pool(_) | ReplayError::Threads { .. } => {
            "DeviceError"
        }
        _ => "CenoteError",
    };
    exception(name, message, None)
}

/// The exception of an I/O error, with the path as `filename`, which those of Python have.
fn of_file(source: &std::io::Error, message: &str, path: Option<&Path>) -> PyErr {
    let name = match source.kind() {
        std::io::ErrorKind::NotFound => "FileMissing",
        _ => "FileError",
    };
    let error = exception(name, message, source.raw_os_error());
    let Some(path) = path else { return error };
    let path = path.display().to_string();
    let set = Python::attach(|py| error.value(py).setattr("filename", path));
    set.err().unwrap_or(error)
}

/// A message with the names that options and calls have in Python, where it has those of the
/// command.
fn in_python(message: &str) -> String {
    const CALLS: [(&str, &str); 5] = [
        ("import it as undirected", "import it with `directed=False`"),
        ("lexicographic dfs", "lexicographic_dfs"),
        ("`cenote import --tier`", "`cenote.import_graph` with `tiers`"),
        ("`cenote import`", "`cenote.import_graph`"),
        ("`cenote check`", "`cenote.check`"),
    ];
    let message =
        CALLS.iter().fold(message.to_owned(), |text, (call, ours)| text.replace(call, ours));
    let word = |word: &str| match word.strip_prefix("--") {
        Some(flag) if flag.starts_with(|first: char| first.is_ascii_lowercase()) => {
            let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
            let end = flag.find(|letter| !is_name(letter)).unwrap_or(flag.len());
            format!("`{}`{}", flag[..end].replace('-', "_"), &flag[end..])
        }
        _ => word.to_owned(),
    };
    message.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn of(error: &Error) -> PyErr {
    let message = match error {
        // Flags have other hyphens than parameters.
        Error::Parameter { parameter, reason } => {
            format!("{} {}", parameter.replace('-', "_"), in_python(reason))
        }
        Error::InvalidInput(message) => named(message),
        Error::Io { .. } | Error::UnknownVertex { .. } => error.to_string(),
        other => in_python(&other.to_string()),
    };
    let name = match error {
        Error::Corrupt(_) => "CorruptGraph",
        Error::MemoryBudget { .. } => "MemoryBudget",
        Error::Parameter { .. } | Error::InvalidInput(_) => "InvalidInput",
        Error::UnknownVertex { .. } => "UnknownVertex",
        Error::Locked { .. } => "GraphLocked",
        Error::Unsupported(_) => "Unsupported",
        Error::Cancelled => return PyKeyboardInterrupt::new_err(message),
        Error::Io { context, source } => {
            let path = context.split_once(": cannot ").map(|(path, _)| Path::new(path));
            return of_file(source, &message, path);
        }
        Error::Device(_) => "DeviceError",
        _ => "CenoteError",
    };
    exception(name, &message, None)
}

/// An exception of `cenote.errors`.
pub fn exception(name: &str, message: &str, errno: Option<i32>) -> PyErr {
    Python::attach(|py| {
        let made = || {
            let value = py.import("cenote.errors")?.getattr(name)?.call1((message,))?;
            if let Some(errno) = errno {
                value.setattr("errno", errno)?;
            }
            PyResult::Ok(PyErr::from_value(value))
        };
        made().unwrap_or_else(|error| error)
    })
}

/// An exception for an input or option that cannot be used.
pub fn invalid(message: impl AsRef<str>) -> PyErr {
    exception("InvalidInput", message.as_ref(), None)
}
