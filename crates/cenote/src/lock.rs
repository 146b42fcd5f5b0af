//! Locks of a graph, by which processes share it: any readers, one writer. For a graph over tiers
//! they are locks of the map file, beside the one of [`crate::tiers::members`].
//!
//! A lock covers bytes far behind the end of the file and belongs to an open file (an OFD lock): it
//! ends when the file is closed, also by the death of its process, and leaves nothing on disk. A
//! reader holds the byte of its epoch, shared; the writer holds a byte of its own, exclusively, and
//! finds the oldest epoch in use by the readers' locks. The system does not report which process
//! holds an OFD lock, but it reports the first byte that the lock covers. So the writer locks a
//! range that ends with its byte, and whose length is the number of its [`Process`] and 1.
//!
//! - [`ReaderLock`]: an epoch that is read, [`WriterLock`]: the right to change the graph
//! - [`ReplacerLock`]: the right to rename another file over it
//! - [`LockedDevice`]: a device that holds a reader's lock as long as it is open

use std::any::Any;
use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use cenote_device::Device;
use cenote_device::wrapper::Layer;
use crc_fast::{CrcAlgorithm, checksum};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, c_int};

use crate::drive::Warning;
use crate::error::{Error, Result};
use crate::tiers::members::is_same;

/// The byte of the readers of epoch 0; no file is that long.
const READERS: i64 = 1 << 62;
/// The byte of the writer, whose lock also covers up to 2^[`Process::BITS`] bytes before it.
const WRITER: i64 = READERS - 1;
/// The byte of a process that renames another file over the graph.
const REPLACER: i64 = 1 << 61;
const _: () = assert!(REPLACER < WRITER - (1 << Process::BITS));
/// The length of a range without end.
const ENDLESS: i64 = 0;

/// A lock on a range of bytes, in the form of the system call.
fn range(kind: c_int, start: i64, len: i64) -> libc::flock {
    let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    libc::flock { l_type, l_whence, l_start: start, l_len: len, l_pid: 0 }
}

/// Takes or releases a lock of an open file, without waiting.
fn set(file: &File, kind: c_int, start: i64, len: i64) -> Result<(), Errno> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&range(kind, start, len))).map(drop)
}

/// A lock of another open file that covers bytes of a range, by its own first byte.
fn other(file: &File, start: i64, len: i64) -> Result<Option<i64>, Errno> {
    let mut found = range(libc::F_WRLCK, start, len);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut found))?;
    let is_locked = c_int::from(found.l_type) != libc::F_UNLCK;
    Ok(is_locked.then_some(found.l_start))
}

/// The lock of a reader: while it is held, no page of its epoch or a later one is reused.
#[derive(Debug)]
pub(crate) struct ReaderLock(File);

impl ReaderLock {
    /// Locks all epochs of the graph. `None` if it is no file or cannot be opened, which its
    /// device reports; a warning if the file system has no locks.
    pub fn take(path: &Path) -> (Option<Self>, Option<Warning>) {
        // Opening a pipe would block.
        let lockable = |kind: FileType| kind.is_file() || kind.is_block_device();
        if !path.metadata().is_ok_and(|metadata| lockable(metadata.file_type())) {
            return (None, None);
        }
        // Opened anew: an io_uring that knows a file may keep it open a little after its process.
        let Ok(file) = File::open(path) else { return (None, None) };
        match set(&file, libc::F_RDLCK, READERS, ENDLESS) {
            Ok(()) => (Some(Self(file)), None),
            Err(refusal) => {
                let reason = io::Error::from(refusal).to_string();
                (None, Some(Warning::NotLocked { path: path.to_owned(), reason }))
            }
        }
    }

    /// Keeps the lock of one epoch and releases the others.
    pub fn narrow(&self, epoch: u64) -> Result<()> {
        let byte = byte_of(epoch);
        let before = match byte - READERS {
            0 => Ok(()),
            len => set(&self.0, libc::F_UNLCK, READERS, len),
        };
        let released = before.and_then(|()| set(&self.0, libc::F_UNLCK, byte + 1, ENDLESS));
        let failed = Error::io("cannot release locks of the graph");
        released.map_err(|errno| failed(errno.into()))
    }

    /// Whether a writer has the graph open, and so may be writing a commit.
    pub fn has_writer(&self) -> bool {
        other(&self.0, WRITER, 1).is_ok_and(|held| held.is_some())
    }

    /// Whether `path` still names the locked file.
    pub fn is_of(&self, path: &Path) -> bool {
        is_same(&self.0, path)
    }
}

fn byte_of(epoch: u64) -> i64 {
    READERS + epoch.min(READERS as u64 - 2) as i64
}

/// The lock of the one writer of a graph.
#[derive(Debug)]
pub(crate) struct WriterLock(File);

impl WriterLock {
    /// Takes the lock of the file that `path` names when this returns: a process that replaces the
    /// file holds the lock of the old one, so no writer is left with a file without a name.
    ///
    /// # Errors
    /// [`Error::Locked`] if another writer has it; [`Error::Io`] if the file cannot be written to
    /// or its file system has no locks.
    pub fn take(path: &Path) -> Result<Self> {
        loop {
            match Self::take_of_file(path)? {
                Some(lock) if lock.is_of(path) => return Ok(lock),
                // The file was replaced after it was opened.
                _ => {}
            }
        }
    }

    /// Takes the lock of the file that `path` names now; `None` if another writer has it and the
    /// file was replaced meanwhile.
    fn take_of_file(path: &Path) -> Result<Option<Self>> {
        let name = path.display().to_string();
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(Error::io(format!("{name}: cannot open it for changes")))?;
        let process = Process::this().map_or(0, |process| process.0);
        match set(&file, libc::F_WRLCK, WRITER - process, 1 + process) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::EAGAIN | Errno::EACCES) if !is_same(&file, path) => Ok(None),
            Err(Errno::EAGAIN | Errno::EACCES) => {
                let holder = Process::of_writer(&file);
                let reason = format!("{holder} is changing the graph: wait until it ends");
                Err(Error::locked(path, reason))
            }
            Err(refusal) => {
                let context = format!(
                    "{name}: cannot lock it, and only a graph that can be locked is changed"
                );
                Err(Error::from_io(context, refusal.into()))
            }
        }
    }

    /// The oldest epoch that a reader of any process has locked.
    ///
    /// # Errors
    /// The locks cannot be read.
    pub fn oldest_reader(&self) -> Result<Option<u64>, Errno> {
        // The system names any lock in a range: narrow the range until there is none before it.
        let Some(mut oldest) = other(&self.0, READERS, ENDLESS)? else { return Ok(None) };
        while oldest > READERS {
            match other(&self.0, READERS, oldest - READERS)? {
                Some(older) => oldest = older,
                None => break,
            }
        }
        Ok(Some((oldest.max(READERS) - READERS) as u64))
    }

    /// Whether `path` still names the locked file.
    pub fn is_of(&self, path: &Path) -> bool {
        is_same(&self.0, path)
    }
}

/// The lock of a process that renames another file over a graph. It is held for the moment of the
/// rename, so that a compaction replaces what it has read and nothing else: an import does not take
/// the lock of the writer.
#[derive(Debug)]
pub(crate) struct ReplacerLock {
    _file: File,
}

impl ReplacerLock {
    /// Waits for the lock of the file that `path` names. `None` if there is no such file, or no
    /// lock for it.
    pub fn wait(path: &Path) -> Option<Self> {
        loop {
            // Opening a pipe would block.
            path.metadata().ok().filter(|metadata| metadata.is_file())?;
            let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
            let lock = range(libc::F_WRLCK, REPLACER, 1);
            match fcntl(&file, FcntlArg::F_OFD_SETLKW(&lock)) {
                Ok(_) if is_same(&file, path) => return Some(Self { _file: file }),
                // Another process has replaced the file, or a signal came.
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

/// A process as one number. Its lowest [`Process::PID_BITS`] bits are the id of the process, which
/// is not 0; the bits above are a checksum of the machine and the container that gave it this id.
/// A lock with the number 0 is of a process that could not find out where it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Process(i64);

impl Process {
    /// Numbers of processes are below 2^22 (`proc(5)`, pid_max).
    const PID_BITS: u32 = 22;
    const BITS: u32 = Self::PID_BITS + u32::BITS;

    /// This process. `None` where `/proc` does not tell where it runs.
    fn this() -> Option<Self> {
        let mut place = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
        place.extend(std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_vec());
        let place = checksum(CrcAlgorithm::Crc32Iscsi, &place) as i64;
        let pid = i64::from(std::process::id());
        (pid >> Self::PID_BITS == 0).then_some(Self(place << Self::PID_BITS | pid))
    }

    /// The writer of an open file, in the words of an error.
    fn of_writer(file: &File) -> String {
        let start = other(file, WRITER, 1).ok().flatten();
        match (start.map(|start| Self(WRITER - start)), Self::this()) {
            (Some(writer), Some(this)) if writer == this => "another writer of this process".into(),
            (Some(writer), Some(this)) if writer.place() == this.place() => {
                format!("process {}", writer.pid())
            }
            // Of another machine or container, where its number means another process, or gone.
            _ => "another writer".into(),
        }
    }

    fn pid(self) -> i64 {
        self.0 & ((1 << Self::PID_BITS) - 1)
    }

    fn place(self) -> i64 {
        self.0 >> Self::PID_BITS
    }
}

/// A device that holds the lock of its reader.
#[derive(Debug)]
pub(crate) struct LockedDevice {
    device: Arc<dyn Device>,
    _lock: Arc<ReaderLock>,
}

impl LockedDevice {
    pub fn new(device: Arc<dyn Device>, lock: Arc<ReaderLock>) -> Self {
        Self { device, _lock: lock }
    }

    /// The device without the lock, if it has one.
    pub fn unlocked(device: &Arc<dyn Device>) -> Arc<dyn Device> {
        let found: &dyn Any = device.as_ref();
        Arc::clone(found.downcast_ref::<Self>().map_or(device, |locked| &locked.device))
    }
}

impl Layer for LockedDevice {
    fn inner(&self) -> &dyn Device {
        self.device.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(path: &Path, epoch: u64) -> ReaderLock {
        let lock = ReaderLock::take(path).0.unwrap();
        lock.narrow(epoch).unwrap();
        lock
    }

    #[test]
    fn the_writer_sees_the_oldest_of_the_epochs_that_are_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = WriterLock::take(file.path()).unwrap();
        assert_eq!(writer.oldest_reader(), Ok(None));
        let readers = [7, 3, 9, 3, 1 << 40].map(|epoch| Some(reader(file.path(), epoch)));
        let mut readers = readers;
        for (closed, oldest) in
            [(0, Some(3)), (1, Some(3)), (3, Some(9)), (2, Some(1 << 40)), (4, None)]
        {
            readers[closed] = None;
            assert_eq!(writer.oldest_reader(), Ok(oldest));
        }
        let opening = ReaderLock::take(file.path()).0.unwrap();
        assert_eq!(writer.oldest_reader(), Ok(Some(0)), "a graph is being opened");
        opening.narrow(0).unwrap();
        assert_eq!(writer.oldest_reader(), Ok(Some(0)));
        assert!(opening.has_writer());
        drop(writer);
        assert!(!opening.has_writer());
    }

    #[test]
    fn there_is_one_writer() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = WriterLock::take(file.path()).unwrap();
        let error = WriterLock::take(file.path()).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        // Also after a file of the graph was closed, which ends classic locks of the process.
        for refusal in [error, WriterLock::take(file.path()).unwrap_err()] {
            let text = refusal.to_string();
            assert!(text.contains("another writer of this process is changing"), "{text}");
        }
        drop(writer);
        WriterLock::take(file.path()).unwrap();
    }

    #[test]
    fn writers_exclude_each_other_while_one_of_them_replaces_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, next) = (folder.path().join("graph"), folder.path().join("next"));
        std::fs::write(&path, "0").unwrap();
        let lock = || loop {
            match WriterLock::take(&path) {
                Ok(lock) => break lock,
                Err(Error::Locked { .. }) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        let count = || std::fs::read_to_string(&path).unwrap().parse::<u64>().unwrap();
        let (turns, writers) = (400, 3);
        std::thread::scope(|scope| {
            for _ in 0..writers {
                scope.spawn(|| {
                    for _ in 0..turns {
                        let _lock = lock();
                        // In place: a writer with the lock of a replaced file would be noticed.
                        std::fs::write(&path, format!("{:09}", count() + 1)).unwrap();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..turns {
                    let held = lock();
                    std::fs::write(&next, format!("{:09}", count() + 1)).unwrap();
                    std::fs::rename(&next, &path).unwrap();
                    assert!(!held.is_of(&path));
                }
            });
        });
        assert_eq!(count(), turns * (writers + 1));
    }

    #[test]
    fn a_process_that_waits_to_replace_a_file_gets_the_one_that_is_there_then() {
        let folder = tempfile::tempdir().unwrap();
        let (path, next) = (folder.path().join("graph"), folder.path().join("next"));
        assert!(ReplacerLock::wait(&path).is_none(), "there is nothing to replace");
        std::fs::write(&path, "old").unwrap();
        let first = ReplacerLock::wait(&path).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _lock = ReplacerLock::wait(&path).unwrap();
                std::fs::read_to_string(&path).unwrap()
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!second.is_finished());
            std::fs::write(&next, "new").unwrap();
            std::fs::rename(&next, &path).unwrap();
            drop(first);
            assert_eq!(second.join().unwrap(), "new");
        });
    }

    #[test]
    fn a_pipe_is_not_opened_for_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, warning) = ReaderLock::take(folder.path());
        assert!(lock.is_none() && warning.is_none());
    }
}
