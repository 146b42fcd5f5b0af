//! A pool takes the memory that it says.

#![cfg(not(feature = "model"))]
#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cenote_device::Device;
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Pool, PoolConfig, Writer};
use support::config;

/// Counts what is allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's; only a counter is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Within `percent`, and within `slack` bytes for what does not grow with the pool.
fn expect_near(what: &str, found: usize, said: u64, percent: usize, slack: usize) {
    let said = said as usize;
    let near = found.abs_diff(said) <= said * percent / 100 + slack;
    assert!(near, "{what}: {found} bytes were taken, {said} were said");
}

/// One test, so that no other test allocates meanwhile.
#[test]
fn a_pool_and_its_handles_take_what_they_say() {
    for page_bytes in [512, 4096] {
        for frames in [8_192, 10_000] {
            for policy in PolicyKind::ALL {
                let writer = Writer::Ace { batch: 64 };
                let config = config(frames, writer).page_bytes(page_bytes).policy(policy);
                let device = SimConfig::timing_only(support::model());
                let device = Arc::new(SimDevice::new(device)) as Arc<dyn Device>;
                device.set_len(1 << 30).unwrap();
                take_and_compare(&format!("{policy} {page_bytes} x {frames}"), device, config);
            }
        }
    }
}

fn take_and_compare(name: &str, device: Arc<dyn Device>, config: PoolConfig) {
    let heap = ALLOCATED.load(Ordering::Relaxed);
    let config = config.check(None);
    let pool = Pool::new(device, config.clone()).unwrap();
    let handle = pool.handle();
    for page in 0..config.frames as u64 + 100 {
        handle.pin_new(page).unwrap();
    }
    let took = ALLOCATED.load(Ordering::Relaxed) - heap;
    // Frames, and larger copies of pages that are written, lie in mappings of just their size.
    let frames = config.frames * config.page_bytes;
    // What policies keep of a frame differs by 30 bytes: much for the smallest pages only.
    let percent = if config.page_bytes < 4096 { 5 } else { 2 };
    expect_near(name, frames + took, Pool::memory_bytes(&config), percent, 64 << 10);
    // From here on only handles take memory.
    handle.flush().unwrap();
    let heap = ALLOCATED.load(Ordering::Relaxed);
    let others: Vec<_> = (0..10).map(|_| pool.handle()).collect();
    others.iter().for_each(|other| other.flush().unwrap());
    let took = ALLOCATED.load(Ordering::Relaxed) - heap;
    // Copies of less than 128 KiB come from the allocator, which has counted them.
    let copies = config.writer.batch() * config.page_bytes;
    let copies = if copies < 128 << 10 { 0 } else { 10 * copies };
    expect_near(name, copies + took, 10 * Pool::handle_bytes(&config), 2, 10 * (32 << 10));
}
