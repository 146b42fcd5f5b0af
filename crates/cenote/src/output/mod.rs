//! Output files, which appear under their names only when they are complete.
//!
//! - [`OutputFile`]: a file that is being written, or a stream
//! - [`partial`]: a file that is renamed when it is complete
//! - [`table`]: the values of all vertices, as Parquet, CSV or npy
//! - [`corpus`]: walks, as text, Parquet or npy
//! - [`Batches`]: the values of all vertices as Arrow batches

pub(crate) mod arrow;
pub(crate) mod corpus;
pub mod partial;
pub(crate) mod table;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cenote_import::output::{Occupant, occupant};

pub use self::arrow::Batches;
use self::partial::PartialFile;
use crate::error::{Error, Result};

/// An output. A new file appears under its name when it is complete; a pipe, a terminal,
/// `/dev/null` or `/dev/stdout` is streamed to.
#[derive(Debug)]
pub enum OutputFile {
    /// A new file, which may replace a regular one.
    New(PartialFile),
    /// A stream, which is not replaced.
    Stream {
        /// The stream.
        file: File,
        /// Its path.
        name: String,
        /// Bytes written.
        bytes: u64,
    },
}

impl OutputFile {
    /// Creates an output. Replaces only regular files, and never one of `inputs`, under any name.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a path that must not be replaced, [`Error::Io`] for one that
    /// cannot be written to.
    pub fn create(path: &Path, inputs: &[impl AsRef<Path>]) -> Result<Self> {
        if check(path, inputs)? != Occupant::Stream {
            return Ok(Self::New(PartialFile::create(path)?));
        }
        let name = path.display().to_string();
        let file = open_stream(path).map_err(Error::io(format!("cannot open {name}")))?;
        Ok(Self::Stream { file, name, bytes: 0 })
    }

    /// Completes the output. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::Io`]; then a new file does not appear.
    pub fn finish(self) -> Result<u64> {
        match self {
            Self::New(file) => file.finish(),
            Self::Stream { mut file, name, bytes } => {
                file.flush().map_err(Error::io(format!("cannot write {name}")))?;
                Ok(bytes)
            }
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::New(file) => file.write(buffer),
            Self::Stream { file, bytes, .. } => {
                let written = file.write(buffer)?;
                *bytes += written as u64;
                Ok(written)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::New(file) => file.flush(),
            Self::Stream { file, .. } => file.flush(),
        }
    }
}

/// Opens a stream. Standard output is shared: a file that it is redirected to has one position for
/// the answer and all that is printed.
fn open_stream(path: &Path) -> io::Result<File> {
    let identity = |file: &Metadata| (file.dev(), file.ino());
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    if let (Ok(stdout), Ok(there)) = (stdout, path.metadata())
        && stdout.metadata().is_ok_and(|stdout| identity(&stdout) == identity(&there))
    {
        return Ok(stdout);
    }
    OpenOptions::new().write(true).open(path)
}

/// The kind of file at the path of an output; an error if it must not be written to.
pub(crate) fn check(path: &Path, inputs: &[impl AsRef<Path>]) -> Result<Occupant> {
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    occupant(path, &inputs).map_err(|refused| Error::InvalidInput(refused.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_written_to_and_never_replaced() {
        let mut null = OutputFile::create(Path::new("/dev/null"), &[""; 0]).unwrap();
        null.write_all(b"1 2\n").unwrap();
        assert_eq!(null.finish().unwrap(), 4);
        use std::os::unix::fs::FileTypeExt;
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    }

    #[test]
    fn an_input_is_not_replaced_by_the_output_of_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let ids = folder.path().join("ids.csv");
        std::fs::write(&ids, "17\n").unwrap();
        let other_name = folder.path().join("./ids.csv");
        let error = OutputFile::create(&other_name, &[&ids]).unwrap_err();
        assert!(matches!(error, Error::InvalidInput(_)), "{error}");
        assert_eq!(std::fs::read(&ids).unwrap(), b"17\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
