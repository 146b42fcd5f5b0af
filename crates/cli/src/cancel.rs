//! Ctrl-C: long loops check [`cancelled`] and end; if one does not within half a second, the
//! handler removes unfinished files and ends the process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use cenote::partial::partial_name;

use crate::{INTERRUPTED, progress};

/// How long loops have to end by themselves; the process ends within a second.
const GRACE: Duration = Duration::from_millis(500);

static CANCELLED: AtomicBool = AtomicBool::new(false);
static UNFINISHED: Mutex<BTreeSet<Unfinished>> = Mutex::new(BTreeSet::new());

/// The error of a loop that ended because of Ctrl-C.
#[derive(Debug)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Cancelled {}

/// Whether Ctrl-C, SIGTERM or SIGHUP has been received.
pub fn cancelled() -> bool {
    CANCELLED.load(Ordering::Relaxed)
}

/// As [`cancelled`], for loops that end with `?`.
pub fn check() -> Result<(), Cancelled> {
    if cancelled() { Err(Cancelled) } else { Ok(()) }
}

/// Installs the signal handler.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        CANCELLED.store(true, Ordering::Relaxed);
        std::thread::sleep(GRACE);
        unfinished().iter().for_each(Unfinished::remove);
        progress::clear();
        eprintln!("cenote: interrupted");
        std::process::exit(INTERRUPTED.into());
    })
    .context("cannot start the thread that listens for Ctrl-C; is the limit of processes too low?")
}

/// Files and folders that an interruption removes: those of a folder whose names begin with a
/// prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unfinished {
    folder: PathBuf,
    prefix: OsString,
}

impl Unfinished {
    fn remove(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let prefix = self.prefix.as_encoded_bytes();
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(prefix) {
                // It may not exist.
                let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => std::fs::remove_dir_all(entry.path()),
                    false => std::fs::remove_file(entry.path()),
                };
            }
        }
    }
}

/// While it lives, an interruption removes the unfinished files of one output.
#[derive(Debug)]
pub struct Guard(Unfinished);

impl Guard {
    /// Guards the unfinished files of `out`: see [`partial_name`].
    pub fn new(out: &Path) -> Self {
        let folder = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let own = Unfinished { folder, prefix: partial_name(out) };
        unfinished().insert(own.clone());
        Self(own)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

fn unfinished() -> MutexGuard<'static, BTreeSet<Unfinished>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_unfinished_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("graph.cenote");
        let ours = folder.path().join(partial_name(&out)).display().to_string();
        let theirs = folder.path().join(".graph.cenote.partial-x");
        for path in [&ours, &format!("{ours}-7")] {
            std::fs::write(path, "").unwrap();
        }
        std::fs::create_dir(format!("{ours}-folder")).unwrap();
        std::fs::write(format!("{ours}-folder/shard"), "").unwrap();
        std::fs::write(&theirs, "").unwrap();
        std::fs::write(&out, "").unwrap();
        let guard = Guard::new(&out);
        guard.0.remove();
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(left, [theirs, out]);
        assert!(unfinished().contains(&guard.0));
        let own = guard.0.clone();
        drop(guard);
        assert!(!unfinished().contains(&own));
    }
}
