//! Opens a file or a raw block device for direct I/O, and picks the backend that serves it.
//!
//! io_uring is tried first. Where a container or a hardened kernel refuses it, threads with
//! pread/pwrite serve the requests, and one warning names cause and remedy. A file system that
//! refuses direct I/O (tmpfs) is used through the page cache, also with a warning.

use std::fs::{File, FileType, OpenOptions as StdOpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, StatxFlags};

use super::threads::ThreadQueue;
use super::uring::{self, UringQueue};
use super::{Target, check_depth};
use crate::clock::{Clock, RealClock};
use crate::error::{DeviceError, Result};
use crate::{Device, Queue, QueueConfig, setters};

/// Alignment where the kernel does not report one.
const BLOCK_BYTES_UNKNOWN: usize = 4096;

/// Environment variable that disables io_uring if it is `off`.
pub const IO_URING_SWITCH: &str = "CENOTE_IO_URING";

/// How a device is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Open for reading only; writes then fail with `EBADF`.
    pub read_only: bool,
    /// Create the file if it is missing. An existing file keeps its contents.
    pub create: bool,
    /// Bypass the page cache where the file system allows it.
    pub direct: bool,
    /// The backend that moves the bytes.
    pub backend: BackendChoice,
}

impl Default for OpenOptions {
    /// Direct reads and writes of an existing file, on the best available backend.
    fn default() -> Self {
        Self { read_only: false, create: false, direct: true, backend: BackendChoice::Auto }
    }
}

impl OpenOptions {
    /// Direct reads of an existing file.
    pub fn reading() -> Self {
        Self { read_only: true, ..Self::default() }
    }

    /// Direct reads and writes of a file that is created if missing.
    pub fn creating() -> Self {
        Self { create: true, ..Self::default() }
    }

    setters! { read_only: bool, create: bool, direct: bool, backend: BackendChoice }
}

/// The backend that moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// io_uring where the kernel allows it, else threads, with a warning.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// pread/pwrite workers.
    Threads,
}

/// Opens the file or block device at `path`.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn Device>> {
    let name = path.display().to_string();
    // Before opening, since opening a pipe would block.
    if let Ok(metadata) = path.metadata() {
        check_kind(metadata.file_type(), &name)?;
    }
    let mut flags = StdOpenOptions::new();
    flags.read(true).write(!options.read_only).create(options.create && !options.read_only);
    let direct_flag = if options.direct { libc::O_DIRECT } else { 0 };
    let opened = flags.custom_flags(direct_flag | libc::O_CLOEXEC).open(path);
    let (file, direct) = match opened {
        Err(refusal) if options.direct && refusal.raw_os_error() == Some(libc::EINVAL) => {
            let buffered = flags.custom_flags(libc::O_CLOEXEC).open(path);
            (buffered.map_err(DeviceError::file(&name, "open"))?, false)
        }
        opened => (opened.map_err(DeviceError::file(&name, "open"))?, options.direct),
    };
    assemble(file, name, options, direct)
}

/// Makes a device of an open file, such as a spill file without a name. Errors call it `name`. The
/// file must be open as `options` say; `create` is ignored.
pub fn from_file(file: File, name: &str, options: &OpenOptions) -> Result<Arc<dyn Device>> {
    let direct = options.direct && set_direct(&file, true).is_ok();
    assemble(file, name.to_owned(), options, direct)
}

/// Syncs a directory, which makes new names and renames in it durable.
pub fn sync_directory(directory: &Path) -> Result<()> {
    let name = directory.display().to_string();
    let opened = File::open(directory).map_err(DeviceError::file(&name, "open"))?;
    opened.sync_all().map_err(DeviceError::file(&name, "sync"))
}

fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?;
    flags.set(rustix::fs::OFlags::DIRECT, direct);
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

/// Refuses all but regular files and block devices.
fn check_kind(kind: FileType, name: &str) -> Result<()> {
    if kind.is_file() || kind.is_block_device() {
        return Ok(());
    }
    let reason = match kind.is_dir() {
        true => "it is a directory: give a file",
        false => "it is no file or block device",
    };
    Err(DeviceError::file(name, "use")(io::Error::new(io::ErrorKind::InvalidInput, reason)))
}

fn assemble(
    file: File,
    name: String,
    options: &OpenOptions,
    mut direct: bool,
) -> Result<Arc<dyn Device>> {
    let kind = file.metadata().map_err(DeviceError::file(&name, "examine"))?.file_type();
    check_kind(kind, &name)?;
    let mut block_bytes = 1;
    if direct {
        match direct_alignment(&file).map_err(DeviceError::file(&name, "examine"))? {
            Some(bytes) => block_bytes = bytes,
            None => {
                set_direct(&file, false).map_err(DeviceError::file(&name, "reopen"))?;
                direct = false;
            }
        }
    }
    if options.direct && !direct {
        warn_buffered(&name);
    }
    let uring = choose_uring(options.backend, &name)?;
    Ok(Arc::new(FileDevice {
        target: Target {
            file: Arc::new(file),
            name,
            block_bytes,
            clock: Arc::new(RealClock::default()),
        },
        is_block_device: kind.is_block_device(),
        choice: options.backend,
        uring: AtomicBool::new(uring),
    }))
}

/// The alignment of direct I/O; `None` where the file does not support it.
fn direct_alignment(file: &File) -> io::Result<Option<usize>> {
    let wanted = StatxFlags::DIOALIGN | StatxFlags::BASIC_STATS;
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted).ok();
    if let Some(stat) = stat
        && StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN)
    {
        let bytes = stat.stx_dio_offset_align.max(stat.stx_dio_mem_align);
        return Ok(if bytes == 0 { None } else { Some(bytes as usize) });
    }
    if file.metadata()?.file_type().is_block_device() {
        return Ok(Some(rustix::fs::ioctl_blksszget(file)? as usize));
    }
    // Newer kernels open tmpfs for direct I/O but use the page cache.
    let is_tmpfs = rustix::fs::fstatfs(file.as_fd())?.f_type == libc::TMPFS_MAGIC;
    Ok(if is_tmpfs { None } else { Some(BLOCK_BYTES_UNKNOWN) })
}

/// Warns once per process.
fn warn_buffered(name: &str) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "{name}: the file system refuses direct I/O; using the page cache: memory use goes \
             beyond the budget and drive speed is hidden. Keep graphs on ext4, XFS, btrfs or a \
             raw block device"
        );
    }
}

/// Warns once per process of the cause and the remedy.
fn warn_threads(reason: &str) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!("{reason}; using threads");
    }
}

/// Whether to use io_uring; an error if it was chosen and is not available.
fn choose_uring(choice: BackendChoice, name: &str) -> Result<bool> {
    if choice == BackendChoice::Threads {
        return Ok(false);
    }
    match uring_refusal() {
        None => Ok(true),
        Some(reason) if choice == BackendChoice::Auto => {
            warn_threads(&reason);
            Ok(false)
        }
        Some(reason) => Err(DeviceError::File {
            device: name.to_owned(),
            action: "open an io_uring queue on",
            source: io::Error::other(reason),
        }),
    }
}

/// Why io_uring is not available, with the remedy; `None` if it is, or was before in this process.
pub fn uring_refusal() -> Option<String> {
    if std::env::var_os(IO_URING_SWITCH).is_some_and(|value| value == "off") {
        return Some(format!("io_uring is disabled: unset {IO_URING_SWITCH}, which is `off`"));
    }
    // A kernel that allows a ring once goes on to do so, or refuses a queue later: that is noticed.
    static IS_ALLOWED: AtomicBool = AtomicBool::new(false);
    if IS_ALLOWED.load(Ordering::Relaxed) {
        return None;
    }
    let refusal = uring::probe().err().map(|refusal| remedy(&refusal));
    IS_ALLOWED.store(refusal.is_none(), Ordering::Relaxed);
    refusal
}

fn remedy(refusal: &io::Error) -> String {
    match refusal.raw_os_error() {
        Some(libc::ENOSYS) => {
            "io_uring is missing: it needs Linux 5.6 or later, or io_uring_setup allowed in the \
             container's seccomp profile"
                .to_owned()
        }
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is disabled: sysctl kernel.io_uring_disabled=0, or allow io_uring_setup in \
             the container's seccomp profile"
                .to_owned()
        }
        Some(libc::ENOMEM) => {
            "io_uring has no memory: raise the locked-memory limit (ulimit -l)".to_owned()
        }
        _ => format!("io_uring cannot be set up: {refusal}"),
    }
}

/// A file or raw block device.
#[derive(Debug)]
struct FileDevice {
    target: Target,
    is_block_device: bool,
    choice: BackendChoice,
    /// Cleared when the kernel refuses a queue later: a sandbox may start after opening.
    uring: AtomicBool,
}

impl FileDevice {
    fn error(&self, action: &'static str, source: io::Error) -> DeviceError {
        DeviceError::file(&self.target.name, action)(source)
    }
}

impl Device for FileDevice {
    fn name(&self) -> String {
        self.target.name.clone()
    }

    fn backend(&self) -> &'static str {
        if self.uring.load(Ordering::Relaxed) { "io_uring" } else { "threads" }
    }

    fn file_id(&self) -> Option<(u64, u64)> {
        let metadata = self.target.file.metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    fn len_bytes(&self) -> Result<u64> {
        // The metadata of a block device reports zero, so seek to its end. Transfers name their
        // offset, so the shared position does not matter.
        let measured = if self.is_block_device {
            self.target.file.as_ref().seek(SeekFrom::End(0))
        } else {
            self.target.file.metadata().map(|metadata| metadata.len())
        };
        measured.map_err(|e| self.error("size", e))
    }

    fn block_bytes(&self) -> usize {
        self.target.block_bytes
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        check_depth(&self.target.name, config.depth)?;
        if self.uring.load(Ordering::Relaxed) && !config.blocking {
            match UringQueue::open(&self.target, config) {
                Ok(queue) => return Ok(Box::new(queue)),
                Err(refusal) if self.choice == BackendChoice::Auto => {
                    warn_threads(&remedy(&refusal));
                    // Lack of memory is temporary; a sandbox is not.
                    let is_temporary = refusal.raw_os_error() == Some(libc::ENOMEM);
                    self.uring.store(is_temporary, Ordering::Relaxed);
                }
                Err(refusal) => return Err(self.error("open an io_uring queue on", refusal)),
            }
        }
        Ok(Box::new(ThreadQueue::open(&self.target, config)))
    }

    fn sync(&self) -> Result<()> {
        self.target.file.sync_data().map_err(|e| self.error("sync", e))
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        if !self.is_block_device {
            return self.target.file.set_len(bytes).map_err(|e| self.error("resize", e));
        }
        let len_bytes = self.len_bytes()?;
        if bytes <= len_bytes {
            return Ok(());
        }
        let reason = format!("{bytes} bytes are wanted, the block device has {len_bytes}");
        Err(self.error("resize", io::Error::new(io::ErrorKind::StorageFull, reason)))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.target.clock) as Arc<dyn Clock>
    }
}
