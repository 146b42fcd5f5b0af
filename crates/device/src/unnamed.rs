//! Files without a name, for state that does not fit in memory, and read-only mappings of them.
//!
//! - [`UnnamedFile`]: a file in a folder that vanishes with its last handle, however the process
//!   ends
//! - [`Mapping`]: an array in such a file, whose pages the system may take back at any time

use std::fmt;
use std::fs::File;
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::AnyBitPattern;

use crate::Device;
use crate::backend::file::{self, OpenOptions};
use crate::error::{DeviceError, Result};

/// Alignment of mappings in a file, in bytes; sufficient for direct I/O on every device too.
pub const UNNAMED_ALIGN_BYTES: u64 = 4096;

/// A file without a name, read and written as a [`Device`].
#[derive(Debug)]
pub struct UnnamedFile {
    file: File,
    name: String,
    device: Arc<dyn Device>,
}

impl UnnamedFile {
    /// An empty file in `folder`; errors call it `(role)` in that folder.
    ///
    /// # Errors
    /// [`DeviceError::File`] if the folder cannot be written to.
    pub fn create(folder: &Path, role: &str) -> Result<Self> {
        let name = folder.join(format!("({role})")).display().to_string();
        let failed = |action| DeviceError::file(&name, action);
        let file = tempfile::tempfile_in(folder).map_err(failed("create"))?;
        let kept = file.try_clone().map_err(failed("open"))?;
        let device = file::from_file(file, &name, &OpenOptions::default())?;
        Ok(Self { file: kept, name, device })
    }

    /// The file as a device.
    pub fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    /// Ends all writing: queues on the device must have been dropped.
    pub fn seal(self) -> SealedFile {
        SealedFile { file: self.file, name: self.name }
    }
}

/// An [`UnnamedFile`] that is not written any more.
#[derive(Debug)]
pub struct SealedFile {
    file: File,
    name: String,
}

impl SealedFile {
    /// Maps `len` items from byte `offset` on, a multiple of [`UNNAMED_ALIGN_BYTES`].
    ///
    /// # Errors
    /// [`DeviceError::Memory`] if the system refuses the mapping, [`DeviceError::Short`] if the
    /// file ends before it.
    pub fn map<T: AnyBitPattern>(&self, offset: u64, len: usize) -> Result<Mapping<T>> {
        assert!(offset.is_multiple_of(UNNAMED_ALIGN_BYTES), "mappings begin with a page");
        let bytes = len * size_of::<T>();
        if bytes == 0 {
            return Ok(Mapping { base: NonNull::dangling(), bytes, len, _type: PhantomData });
        }
        let metadata = self.file.metadata().map_err(DeviceError::file(&self.name, "examine"))?;
        if metadata.len() < offset + bytes as u64 {
            let found = usize::try_from(metadata.len().saturating_sub(offset)).unwrap_or(0);
            let (device, op, expected) = (self.name.clone(), crate::Op::Read, bytes);
            return Err(DeviceError::Short { device, op, offset, expected, found });
        }
        let at = libc::off_t::try_from(offset).expect("offsets in files are below 2^63");
        // SAFETY: a mapping at an address of the kernel's choice touches no memory that Rust knows
        // of. The file has no name, so no other process can open it, and this one only reads it
        // from `seal` on; it is long enough, as checked above.
        let base = unsafe {
            let fd = self.file.as_raw_fd();
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, fd, at)
        };
        if base == libc::MAP_FAILED {
            return Err(DeviceError::Memory { bytes, source: std::io::Error::last_os_error() });
        }
        let base = NonNull::new(base.cast::<T>()).expect("mmap never maps the null page here");
        Ok(Mapping { base, bytes, len, _type: PhantomData })
    }
}

/// A read-only array in a [`SealedFile`]. The system reads its pages when they are used, and may
/// take them back.
pub struct Mapping<T> {
    base: NonNull<T>,
    bytes: usize,
    len: usize,
    _type: PhantomData<T>,
}

// SAFETY: the mapping is read-only memory without thread affinity.
unsafe impl<T: Sync> Send for Mapping<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapping<T> {}

impl<T> Mapping<T> {
    /// Gives the memory of the pages that were used back to the system. They are read again when
    /// they are used again.
    pub fn release(&self) {
        if self.bytes > 0 {
            // SAFETY: the range is a mapping of a file that nothing changes: pages that are dropped
            // come back with the same bytes. A refusal costs memory only.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_DONTNEED) };
        }
    }
}

impl<T: AnyBitPattern> Deref for Mapping<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `map` mapped `len` items, any bytes are a valid `T`, and nothing writes to the
        // file. The base is aligned to a page, or dangles for an empty array.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T> Drop for Mapping<T> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: `map` mapped the range, and it is not borrowed: borrows hold `self`.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }
}

impl<T> fmt::Debug for Mapping<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} items)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, write_all};

    #[test]
    fn what_was_written_is_mapped_and_leaves_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = UnnamedFile::create(folder.path(), "state").unwrap();
        let mut buffer = Buffer::new(8192).unwrap();
        for (i, word) in (0u32..).zip(buffer.chunks_exact_mut(4)) {
            word.copy_from_slice(&i.to_ne_bytes());
        }
        write_all(file.device(), 4096, 8192, buffer).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let sealed = file.seal();
        let mapping = sealed.map::<u32>(4096, 2048).unwrap();
        for _ in 0..2 {
            assert!(mapping.iter().copied().eq(0..2048));
            mapping.release();
        }
        assert!(matches!(sealed.map::<u32>(8192, 2048), Err(DeviceError::Short { .. })));
        assert!(sealed.map::<u64>(0, 0).unwrap().is_empty());
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = UnnamedFile::create(Path::new("/no/such/folder"), "state").unwrap_err();
        assert!(error.to_string().starts_with("/no/such/folder/(state): cannot create"), "{error}");
    }
}
