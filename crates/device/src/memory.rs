//! Aligned buffers for direct I/O, arrays on huge pages, and prefetch hints.
//!
//! - [`Arena`]: one aligned region, carved into [`Buffer`]s of equal size
//! - [`Buffer`]: a piece of an arena, with one owner
//! - [`HugeVec`]: a zeroed array on transparent huge pages, which save most TLB misses of random
//!   accesses
//! - [`prefetch`]: loads a cache line before it is needed

use std::alloc::{self, Layout};
use std::fmt;
use std::num::NonZero;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit, Zeroable};

use crate::error::{DeviceError, Result};

/// Bytes of a huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Arenas of at least this size get whole huge pages: a request whose memory is physically
/// contiguous reaches the device in one piece.
const HUGE_ARENA_BYTES_MIN: usize = 1 << 20;

/// Regions of at least this size are mappings of their own; smaller ones come from the allocator,
/// which needs no system call and no page fault to give the same page again.
const MAPPED_BYTES_MIN: usize = 128 << 10;

/// What small regions are aligned to: the largest logical block that direct I/O asks for.
const ALIGNMENT: usize = 4096;

/// The base of regions without bytes.
const EMPTY: NonNull<u8> = NonNull::without_provenance(NonZero::new(ALIGNMENT).unwrap());

/// Zeroed memory, aligned to 4 KiB, freed on drop. An empty region has an aligned address, too, so
/// that no access needs to ask.
struct Region {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a region is plain memory without thread affinity; access to its parts is
// decided by its owners (`Buffer` and `HugeVec`), which follow the rules of ownership.
unsafe impl Send for Region {}
// SAFETY: as above; `Region` itself gives no access.
unsafe impl Sync for Region {}

impl Region {
    /// A region of `bytes`, on huge pages if `huge` is set and they fill at least one.
    fn new(bytes: usize, huge: bool) -> Result<Self> {
        match bytes {
            0 => Ok(Self { base: EMPTY, bytes }),
            1..MAPPED_BYTES_MIN => Self::allocated(bytes),
            _ => Self::mapped(bytes, huge),
        }
    }

    fn allocated(bytes: usize) -> Result<Self> {
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc::alloc_zeroed(Self::layout(bytes)) };
        let source = || std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let base =
            NonNull::new(base).ok_or_else(|| DeviceError::Memory { bytes, source: source() })?;
        Ok(Self { base, bytes })
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGNMENT).expect("a small region has a layout")
    }

    fn mapped(bytes: usize, huge: bool) -> Result<Self> {
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no
        // memory that Rust knows of.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(DeviceError::Memory { bytes, source: std::io::Error::last_os_error() });
        }
        if huge && bytes >= HUGE_PAGE_BYTES {
            // SAFETY: the range was mapped just above; the advice changes no contents. A refusal
            // (kernels without huge pages) costs speed only.
            unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        }
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never maps the null page here");
        Ok(Self { base, bytes })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let base = self.base.as_ptr();
        match self.bytes {
            0 => {}
            1..MAPPED_BYTES_MIN => {
                // SAFETY: `allocated` took it with this layout, and it is not borrowed: borrows
                // hold `self`.
                unsafe { alloc::dealloc(base, Self::layout(self.bytes)) };
            }
            _ => {
                // SAFETY: `mapped` mapped the range, and it is not borrowed, as above.
                unsafe { libc::munmap(base.cast(), self.bytes) };
            }
        }
    }
}

/// One aligned region of memory that is carved into [`Buffer`]s. Freed with the last of these.
pub struct Arena {
    region: Region,
}

impl Arena {
    /// Carves `count` buffers of `buffer_bytes` each (a multiple of 512), aligned to 4 KiB where
    /// `buffer_bytes` is. Returns the arena, for registration with queues, and its buffers.
    pub fn carve(buffer_bytes: usize, count: usize) -> Result<(Arc<Self>, Vec<Buffer>)> {
        Self::carved(buffer_bytes, count, true)
    }

    /// Carves as [`Arena::carve`] does, on small pages: of buffers that are never used, or only in
    /// part, the rest takes no memory, unless they are registered.
    pub fn carve_sparse(buffer_bytes: usize, count: usize) -> Result<(Arc<Self>, Vec<Buffer>)> {
        Self::carved(buffer_bytes, count, false)
    }

    fn carved(buffer_bytes: usize, count: usize, huge: bool) -> Result<(Arc<Self>, Vec<Buffer>)> {
        assert!(buffer_bytes >= 512 && buffer_bytes.is_multiple_of(512), "buffers are aligned");
        assert!(count > 0, "an arena has buffers");
        let used = buffer_bytes.checked_mul(count).expect("an arena fits the address space");
        let mapped = if huge && used >= HUGE_ARENA_BYTES_MIN {
            used.next_multiple_of(HUGE_PAGE_BYTES)
        } else {
            used
        };
        let arena = Arc::new(Self { region: Region::new(mapped, huge)? });
        let buffers = (0..count)
            .map(|i| Buffer {
                arena: Arc::clone(&arena),
                offset: i * buffer_bytes,
                len: buffer_bytes,
            })
            .collect();
        Ok((arena, buffers))
    }

    /// Start of the region, for registration and for finding a buffer's arena.
    pub fn base(&self) -> *const u8 {
        self.region.base.as_ptr()
    }

    /// Bytes of the region.
    pub fn bytes(&self) -> usize {
        self.region.bytes
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arena({} bytes)", self.bytes())
    }
}

/// A piece of an [`Arena`], owned by the caller or by a request in flight.
pub struct Buffer {
    arena: Arc<Arena>,
    offset: usize,
    len: usize,
}

impl Buffer {
    /// A buffer with an arena of its own, for single transfers.
    pub fn new(bytes: usize) -> Result<Self> {
        let (_, mut buffers) = Arena::carve(bytes, 1)?;
        Ok(buffers.pop().expect("one was carved"))
    }

    /// The arena it was carved from.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Address of the first byte, for the kernel.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.deref_mut().as_mut_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `carve` gave this range of a live region to this buffer alone; it is
        // initialised (zeroed) and borrowed through `&self`.
        unsafe {
            std::slice::from_raw_parts(self.arena.region.base.as_ptr().add(self.offset), self.len)
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the borrow exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.arena.region.base.as_ptr().add(self.offset),
                self.len,
            )
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

/// A zeroed array of fixed length, on huge pages. Only pages that were touched take memory.
pub struct HugeVec<T> {
    region: Region,
    len: usize,
    _type: std::marker::PhantomData<T>,
}

impl<T: Zeroable> HugeVec<T> {
    /// `len` zeroed items.
    pub fn zeroed(len: usize) -> Result<Self> {
        Self::mapped(len, true)
    }

    /// `len` zeroed items on ordinary pages: for arrays that may be touched sparsely.
    pub fn sparse(len: usize) -> Result<Self> {
        Self::mapped(len, false)
    }

    fn mapped(len: usize, huge: bool) -> Result<Self> {
        assert!(align_of::<T>() <= 4096 && !std::mem::needs_drop::<T>(), "plain items only");
        let bytes = len.checked_mul(size_of::<T>()).expect("an array fits the address space");
        Ok(Self { region: Region::new(bytes, huge)?, len, _type: std::marker::PhantomData })
    }

    /// Gives the memory of items back where they fill whole pages, which zeroes them. The others
    /// stay as they are.
    ///
    /// # Panics
    /// If the array has no such items, or if pages would hold parts of items.
    pub fn release(&mut self, items: Range<usize>) {
        assert!(ALIGNMENT.is_multiple_of(size_of::<T>()), "pages hold whole items");
        let items = self[items].as_mut_ptr_range();
        // No huge page is split. Before the first whole one, the array lies on small pages.
        let page = if self.region.bytes < HUGE_PAGE_BYTES { ALIGNMENT } else { HUGE_PAGE_BYTES };
        let first = self.region.base.addr().get().next_multiple_of(page);
        let start = match items.start.addr() {
            start if start < first => start.next_multiple_of(ALIGNMENT),
            start => start.next_multiple_of(page),
        };
        let end = items.end.addr() / page * page;
        if start < end && self.region.bytes >= MAPPED_BYTES_MIN {
            // SAFETY: whole items of a mapping that `self` borrows alone; the kernel replaces them
            // by zeroes, which are a valid `T`. A refusal keeps the memory.
            unsafe {
                let start = items.start.with_addr(start);
                libc::madvise(start.cast(), end - start.addr(), libc::MADV_DONTNEED);
            }
        }
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Zeroable + NoUninit + AnyBitPattern> HugeVec<T> {
    /// `len` copies of `value`.
    pub fn filled(len: usize, value: T) -> Result<Self> {
        let mut vec = Self::zeroed(len)?;
        vec.fill(value);
        Ok(vec)
    }
}

macro_rules! plain {
    ($($atomic:ty => $plain:ty),*) => {$(
        impl HugeVec<$plain> {
            /// The same array with atomics.
            pub fn into_atomic(self) -> HugeVec<$atomic> {
                // As below.
                HugeVec { region: self.region, len: self.len, _type: std::marker::PhantomData }
            }
        }

        impl HugeVec<$atomic> {
            /// The same array without atomics.
            pub fn into_plain(self) -> HugeVec<$plain> {
                // An atomic has the size and the bits of its integer.
                HugeVec { region: self.region, len: self.len, _type: std::marker::PhantomData }
            }
        }
    )*};
}

plain!(std::sync::atomic::AtomicU32 => u32, std::sync::atomic::AtomicU64 => u64);

impl<T> Deref for HugeVec<T> {
    type Target = [T];

    // Loops over vertices go through it for each of them.
    #[inline(always)]
    fn deref(&self) -> &[T] {
        let base = self.region.base.cast::<T>();
        // SAFETY: the region holds `len` items of `T`, aligned to 4 KiB; zero bytes are a valid `T`
        // (`Zeroable` is demanded where it is made). An empty array dangles, aligned.
        unsafe { std::slice::from_raw_parts(base.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for HugeVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let base = self.region.base.cast::<T>();
        // SAFETY: as in `deref`, and `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(base.as_ptr(), self.len) }
    }
}

impl<T> fmt::Debug for HugeVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HugeVec({} items)", self.len)
    }
}

/// Prefetches the cache line of `items[index]`. Any index is allowed: a hint never faults.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no architectural effect, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(items.as_ptr().wrapping_add(index).cast::<i8>(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
