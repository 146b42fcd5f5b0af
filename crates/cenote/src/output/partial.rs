//! Files that appear under their names only when they are complete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cenote_import::workspace::{missing_folder, remove_abandoned};

use crate::error::{Error, Result};

/// The prefix of the names of unfinished files for `out`.
pub fn partial_name(out: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(format!(".partial-{}", std::process::id()));
    name
}

/// The error of a file or folder that cannot be created, which names a missing folder.
pub(crate) fn cannot_create(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let mut context = format!("cannot create {}", path.display());
    move |error| {
        if error.kind() == io::ErrorKind::NotFound
            && let Some(missing) = missing_folder(path)
        {
            context = format!("{context}: {missing}");
        }
        Error::from_io(context, error)
    }
}

/// A new file beside its final path. Removed if dropped before [`PartialFile::finish`].
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    file: Option<File>,
    is_finished: bool,
}

impl PartialFile {
    /// Creates a hidden file in the same directory, so that the rename is atomic. Removes those
    /// that killed processes have left.
    pub fn create(path: &Path) -> Result<Self> {
        if path.file_name().is_none() {
            return Err(Error::input(path, "names no file"));
        }
        remove_abandoned(path);
        let partial = path.with_file_name(partial_name(path));
        let file = File::create(&partial).map_err(cannot_create(path))?;
        // For processes on other machines, where the file system has locks.
        drop(file.try_lock());
        Ok(Self { path: path.to_owned(), partial, file: Some(file), is_finished: false })
    }

    /// Syncs and renames the file. Returns its size in bytes.
    pub fn finish(mut self) -> Result<u64> {
        let failed = || Error::io(format!("cannot finish {}", self.path.display()));
        let file = self.file.take().expect("open until finished");
        let bytes = file.metadata().map_err(failed())?.len();
        file.sync_all().map_err(failed())?;
        std::fs::rename(&self.partial, &self.path).map_err(failed())?;
        self.is_finished = true;
        Ok(bytes)
    }

    fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("open until finished")
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // A failure cannot be reported here.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_leaves_nothing_and_spares_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.txt");
        std::fs::write(&path, "old").unwrap();
        let mut partial = PartialFile::create(&path).unwrap();
        partial.write_all(b"half").unwrap();
        drop(partial);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_killed_processes_left_for_an_output_is_removed_with_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.txt");
        // No process has a number so large.
        let left = [".edges.txt.partial-4194999", "..edges.txt.partial-9.cenote.partial-4194999-0"];
        let others = [".edges.txt.partial-1", ".edges.txt.partial-", ".edges.partial-4194999"];
        for name in left.iter().chain(&others) {
            std::fs::write(folder.path().join(name), "half").unwrap();
        }
        let shards = folder.path().join(".edges.txt.partial-4194999-shards");
        std::fs::create_dir(&shards).unwrap();
        std::fs::write(shards.join("a"), "half").unwrap();
        PartialFile::create(&path).unwrap().finish().unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut found: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        let mut expected = others.to_vec();
        expected.push("edges.txt");
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = PartialFile::create(&folder.path().join("none/edges.txt")).unwrap_err();
        let missing = format!("there is no folder {}/none: make it first", folder.path().display());
        assert!(error.to_string().contains(&missing), "{error}");
        // A file in place of the folder is another error, without that advice.
        std::fs::write(folder.path().join("none"), "").unwrap();
        let error = PartialFile::create(&folder.path().join("none/edges.txt")).unwrap_err();
        assert!(!error.to_string().contains("make it first"), "{error}");
    }

    #[test]
    fn a_finished_file_has_its_name_and_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.txt");
        let mut partial = PartialFile::create(&path).unwrap();
        partial.write_all(b"1 2\n").unwrap();
        assert!(!path.exists());
        assert_eq!(partial.finish().unwrap(), 4);
        assert_eq!(std::fs::read(&path).unwrap(), b"1 2\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
