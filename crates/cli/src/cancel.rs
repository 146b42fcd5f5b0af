//! Ctrl-C: long loops ask [`cancelled`] and leave; if one does not within half a second, the
//! handler itself removes what is unfinished and ends the process.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::{INTERRUPTED, progress};

/// How long loops have to leave by themselves: well within the second that we promise.
const GRACE: Duration = Duration::from_millis(500);

static CANCELLED: AtomicBool = AtomicBool::new(false);
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The error of a loop that left because of Ctrl-C.
#[derive(Debug)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Cancelled {}

/// Has Ctrl-C (or SIGTERM, or SIGHUP) been heard?
pub fn cancelled() -> bool {
    CANCELLED.load(Ordering::Relaxed)
}

/// [`cancelled`] for loops that end with `?`.
pub fn check() -> Result<(), Cancelled> {
    if cancelled() { Err(Cancelled) } else { Ok(()) }
}

/// Starts to listen for signals.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        CANCELLED.store(true, Ordering::Relaxed);
        std::thread::sleep(GRACE);
        for path in unfinished().iter() {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
        progress::clear();
        eprintln!("cenote: interrupted");
        std::process::exit(INTERRUPTED.into());
    })
    .context("cannot listen for Ctrl-C")
}

/// A file that must not survive an interruption. Dropping the guard forgets the file.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Registers `path`.
    pub fn new(path: &Path) -> Self {
        unfinished().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
