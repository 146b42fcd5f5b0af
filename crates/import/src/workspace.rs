//! Where import puts its files: spill files that vanish, and an output that appears only whole.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::file;

use crate::error::{ImportError, Result};

/// Makes the devices of an import. A simulator gives devices that fail.
pub trait Workspace: Send + Sync {
    /// A new empty file for spilled blocks. It vanishes with the last handle.
    fn spill(&self) -> Result<Arc<dyn Device>>;

    /// The new, empty output. It is not visible under its name before [`Workspace::publish`].
    fn output(&self) -> Result<Arc<dyn Device>>;

    /// Gives the output, complete and synced, its name. Without it the output vanishes.
    fn publish(&self) -> Result<()>;
}

/// Real files: the output is written under a temporary name beside its place, then renamed.
#[derive(Debug)]
pub struct FileWorkspace {
    out: PathBuf,
    partial: PathBuf,
    temp_dir: PathBuf,
    overwrite: bool,
}

impl FileWorkspace {
    /// A workspace for the output `out`. Spill files go to `temp_dir`, else beside the output.
    /// Refuses an existing output unless `overwrite`.
    pub fn new(out: &Path, temp_dir: Option<&Path>, overwrite: bool) -> Result<Self> {
        let name = out.file_name().ok_or_else(|| {
            ImportError::Options(format!("--out {}: not a file name", out.display()))
        })?;
        if out.is_dir() {
            let reason = format!("--out {}: is a folder; give a file name", out.display());
            return Err(ImportError::Options(reason));
        }
        if !overwrite && out.symlink_metadata().is_ok() {
            return Err(ImportError::Exists { path: out.to_owned() });
        }
        let folder = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let partial = folder.join(format!(
            ".{}.partial-{}-{:x}",
            name.to_string_lossy(),
            std::process::id(),
            unique_number()
        ));
        let temp_dir = temp_dir.map_or(folder, Path::to_owned);
        Ok(Self { out: out.to_owned(), partial, temp_dir, overwrite })
    }
}

/// Tells apart the imports of one process.
fn unique_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Workspace for FileWorkspace {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        let file = tempfile::tempfile_in(&self.temp_dir).map_err(|source| ImportError::Output {
            path: self.temp_dir.clone(),
            action: "make a spill file in",
            source,
        })?;
        let name = self.temp_dir.join("(spill file)").display().to_string();
        Ok(file::from_file(file, &name, &file::OpenOptions::default())?)
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&self.partial)
            .map_err(|source| ImportError::Output {
            path: self.out.clone(),
            action: "make a file there",
            source,
        })?;
        let name = self.out.display().to_string();
        Ok(file::from_file(file, &name, &file::OpenOptions::default())?)
    }

    fn publish(&self) -> Result<()> {
        let failed = |source| ImportError::Output {
            path: self.out.clone(),
            action: "move the finished graph to this name",
            source,
        };
        if self.overwrite {
            fs::rename(&self.partial, &self.out).map_err(failed)?;
        } else {
            // A link, unlike a rename, never replaces a file that came in the meantime.
            match fs::hard_link(&self.partial, &self.out) {
                Ok(()) => fs::remove_file(&self.partial).map_err(failed)?,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(ImportError::Exists { path: self.out.clone() });
                }
                Err(_) => fs::rename(&self.partial, &self.out).map_err(failed)?,
            }
        }
        let folder = self.partial.parent().unwrap_or(Path::new("."));
        Ok(file::sync_directory(folder)?)
    }
}

impl Drop for FileWorkspace {
    fn drop(&mut self) {
        // Gone already after `publish`; on an error or panic nothing half-written stays.
        let _ = fs::remove_file(&self.partial);
    }
}
