//! Creates the files of an import: anonymous spill files, and an output that appears when complete.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_device::backend::file;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::error::{ImportError, Result};
use crate::output::{Occupant, OutputRefused, occupant};

/// Creates the devices of an import, which a simulator can make faulty.
pub trait Workspace: Send + Sync {
    /// Creates an empty spill file, which vanishes with its last handle.
    fn spill(&self) -> Result<Arc<dyn Device>>;

    /// Creates the empty output, which is invisible before [`Workspace::publish`].
    fn output(&self) -> Result<Arc<dyn Device>>;

    /// Makes the complete, synced output visible under its name. Otherwise it vanishes.
    fn publish(&self) -> Result<()>;
}

/// Real files. The output has a temporary name in its folder until it is renamed.
#[derive(Debug)]
pub struct FileWorkspace {
    out: PathBuf,
    partial: PathBuf,
    temp_dir: PathBuf,
    overwrite: bool,
    /// The file whose permissions and owner the output gets.
    like: Option<Metadata>,
    /// Locks the output while it is written; a killed process leaves it unlocked.
    lock: Mutex<Option<File>>,
}

impl FileWorkspace {
    /// A workspace for the output `out`, with spill files in `temp_dir`, else beside the output.
    /// Refuses to replace an input or anything but a regular file, and files unless `overwrite`.
    /// Removes unfinished outputs of killed imports to `out`.
    pub fn new(
        out: &Path,
        inputs: &[&Path],
        temp_dir: Option<&Path>,
        overwrite: bool,
    ) -> Result<Self> {
        let name = out.file_name().ok_or_else(|| {
            ImportError::Options(format!("{}: is not the name of a file", out.display()))
        })?;
        if check_output(out, inputs)? == Occupant::File && !overwrite {
            return Err(ImportError::Exists { path: out.to_owned() });
        }
        if let Some(missing) = missing_folder(out) {
            return Err(ImportError::Options(format!("{}: {missing}", out.display())));
        }
        let folder = folder_of(out);
        remove_abandoned(out);
        let partial = folder.join(format!(
            ".{}.partial-{}-{:x}",
            name.to_string_lossy(),
            std::process::id(),
            unique_number()
        ));
        let temp_dir = temp_dir.map_or(folder, Path::to_owned);
        let (out, lock) = (out.to_owned(), Mutex::new(None));
        Ok(Self { out, partial, temp_dir, overwrite, like: None, lock })
    }

    /// Gives the output the permissions of a file and, as far as the system permits, its owner.
    /// Before it has them no other user may open it.
    #[must_use]
    pub fn like(mut self, file: Metadata) -> Self {
        self.like = Some(file);
        self
    }
}

/// Determines what exists at the path of a graph; refuses what a graph cannot replace.
fn check_output(out: &Path, inputs: &[&Path]) -> Result<Occupant> {
    match occupant(out, inputs)? {
        Occupant::Stream => {
            let reason = "is no regular file; a graph cannot be written into it";
            Err(OutputRefused { path: out.to_owned(), reason }.into())
        }
        other => Ok(other),
    }
}

/// What to say if the folder that a path lies in is missing; `None` if it is there, or if that
/// cannot be told: then creating a file fails.
pub fn missing_folder(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    let is_missing = match folder.metadata() {
        Ok(there) => !there.is_dir(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    is_missing.then(|| format!("there is no folder {}: make it first", folder.display()))
}

/// The folder that a path lies in; `.` for a name alone.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Prefix of the unfinished files of an output, which the process id follows.
pub fn partial_prefix(out: &Path) -> String {
    format!(".{}.partial-", out.file_name().unwrap_or_default().to_string_lossy())
}

/// Removes the unfinished files and folders that killed processes have left for an output.
pub fn remove_abandoned(out: &Path) {
    for path in abandoned(&folder_of(out), &partial_prefix(out)) {
        // What cannot be removed stays.
        drop(match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        });
    }
}

/// The files and folders in a folder that start with `prefix`, have `.partial-PID` in their names,
/// and were abandoned: the process does not exist and no other one holds a lock. A file that is
/// itself written by way of an unfinished one has a dot more before its name.
pub fn abandoned(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let prefix = prefix.trim_start_matches('.');
    let is_abandoned = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_partial = name.starts_with('.') && name.trim_start_matches('.').starts_with(prefix);
        let owner = is_partial.then(|| name.rsplit_once(".partial-")).flatten();
        let owner = owner.and_then(|(_, owner)| {
            let end = owner.find(|c: char| !c.is_ascii_digit()).unwrap_or(owner.len());
            owner[..end].parse().ok()
        });
        let is_ours = path.symlink_metadata().is_ok_and(|there| there.is_file() || there.is_dir());
        owner.is_some_and(|owner| is_ours && !is_alive(owner)) && is_unlocked(path)
    };
    entries.flatten().map(|entry| entry.path()).filter(is_abandoned).collect()
}

fn is_alive(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

fn unique_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Creates an empty spill file in a folder.
fn spill_in(folder: &Path) -> Result<Arc<dyn Device>> {
    let file = tempfile::tempfile_in(folder).map_err(|source| ImportError::Output {
        path: folder.to_owned(),
        action: "make a spill file in",
        source,
    })?;
    let name = folder.join("(spill file)").display().to_string();
    Ok(file::from_file(file, &name, &file::OpenOptions::default())?)
}

/// Spill files in a folder, without an output.
#[derive(Debug)]
pub(crate) struct SpillOnly(pub PathBuf);

impl Workspace for SpillOnly {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        spill_in(&self.0)
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        unreachable!("there is no output")
    }

    fn publish(&self) -> Result<()> {
        unreachable!("there is no output")
    }
}

impl Workspace for FileWorkspace {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        spill_in(&self.temp_dir)
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        let failed = |source| ImportError::Output {
            path: self.out.clone(),
            action: "make a file there",
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        if self.like.is_some() {
            options.mode(0o600);
        }
        let file = options.open(&self.partial).map_err(failed)?;
        if let Some(like) = &self.like {
            // Only root may give files away.
            let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
            file.set_permissions(like.permissions()).map_err(failed)?;
        }
        // Without locks in the file system, the process id must do. The file is opened again for
        // the lock, because an io_uring that the file is registered with may outlive the process
        // a little and would keep a lock of the same open file.
        let lock = File::open(&self.partial).ok().filter(|file| file.try_lock().is_ok());
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
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
            // The path may have changed meanwhile.
            check_output(&self.out, &[])?;
            fs::rename(&self.partial, &self.out).map_err(failed)?;
        } else {
            // Unlike a rename, a link never replaces a file that appeared meanwhile.
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
        // A no-op after `publish`; otherwise removes the incomplete output.
        let _ = fs::remove_file(&self.partial);
    }
}
