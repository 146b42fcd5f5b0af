//! How the allocator returns memory to the system.

/// Larger blocks are mapped and unmapped one by one, and as much may stay free at the end of a heap.
const BYTES: i32 = 1 << 20;

/// Keeps freed memory small. By itself glibc keeps up to 64 MiB in each thread's heap once a large
/// block was freed: a batch of updates within 64 MiB took 89 MiB with it, and 52 MiB without.
pub fn return_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets a parameter of the allocator, before there is another thread. Where it is
        // refused nothing changes.
        unsafe { libc::mallopt(parameter, BYTES) };
    }
}
