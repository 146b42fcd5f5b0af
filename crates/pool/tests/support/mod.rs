//! What the pool's tests share: pages that prove what they are, devices, seeds.

#![allow(dead_code, reason = "each test binary uses its own part of it")]

pub mod hooked;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::{DeviceModel, Pio};
use cenote_device::{Device, DeviceError};
use cenote_pool::check::Crc32cTrailer;
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Handle, PageId, Pool, PoolConfig, Writer};

/// The smallest page: moves fast.
pub const PAGE_BYTES: usize = 512;

/// Bytes that `Crc32cTrailer` keeps at the end.
const TRAILER_BYTES: usize = 4;

/// Every kind of writer; batches small against the pools of these tests.
pub const WRITERS: [Writer; 4] = [
    Writer::Classical,
    Writer::Cleaner { batch: 3 },
    Writer::Ace { batch: 4 },
    Writer::AceBackground { batch: 4 },
];

/// An ideal device with k_r = k_w = 4 and alpha = 2.
pub fn model() -> DeviceModel {
    DeviceModel::pio("test", PAGE_BYTES as u64, 10.0, &Pio::new(0, 4, 4, 2.0))
}

/// A simulated device that durably holds version 0 of `pages` pages.
pub fn sim(pages: u64, faults: FaultPlan) -> Arc<SimDevice> {
    let config = SimConfig::new(model()).jitter(0.5).faults(faults);
    Arc::new(SimDevice::with_contents(config, &first_contents(pages, PAGE_BYTES)))
}

/// Version 0 of all pages, sealed.
pub fn first_contents(pages: u64, page_bytes: usize) -> Vec<u8> {
    (0..pages).flat_map(|page| sealed_image(page, 0, page_bytes)).collect()
}

/// A small pool with checked pages and short patience.
pub fn config(frames: usize, writer: Writer) -> PoolConfig {
    PoolConfig::classical(PAGE_BYTES, frames)
        .policy(PolicyKind::Lru)
        .writer(writer)
        .evict_batch(4)
        .read_depth(4)
        .check(Some(Arc::new(Crc32cTrailer)))
        .patience_ms(200)
}

/// A page as it shall be: its number, its version, and filler derived from both.
pub fn image(page: PageId, version: u64, page_bytes: usize) -> Vec<u8> {
    let words = (0..page_bytes as u64 / 8).map(|word| match word {
        0 => page,
        1 => version,
        _ => mix(page ^ mix(version ^ mix(word))),
    });
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes[page_bytes - TRAILER_BYTES..].fill(0);
    bytes
}

/// The same as it stands on the device.
pub fn sealed_image(page: PageId, version: u64, page_bytes: usize) -> Vec<u8> {
    use cenote_pool::check::PageCheck;
    let mut bytes = image(page, version, page_bytes);
    Crc32cTrailer.seal(page, &mut bytes);
    bytes
}

/// Makes `bytes` the given version of the page.
pub fn fill(bytes: &mut [u8], page: PageId, version: u64) {
    let image = image(page, version, bytes.len());
    bytes.copy_from_slice(&image);
}

/// The version that a page holds, after a look at every byte of it.
pub fn version_of(page: PageId, bytes: &[u8]) -> u64 {
    let version = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
    let body = bytes.len() - TRAILER_BYTES;
    let expected = image(page, version, bytes.len());
    if let Some(at) = (0..body).find(|&at| bytes[at] != expected[at]) {
        let word = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        panic!("page {page} says it is page {word}, version {version}, and is torn at byte {at}");
    }
    version
}

/// The last version of every page.
pub struct Oracle(Vec<AtomicU64>);

impl Oracle {
    /// All pages of version 0.
    pub fn new(pages: u64) -> Self {
        Self((0..pages).map(|_| AtomicU64::new(0)).collect())
    }

    /// Pages that it knows.
    pub fn pages(&self) -> u64 {
        self.0.len() as u64
    }

    /// The last version.
    pub fn version(&self, page: PageId) -> u64 {
        self.0[page as usize].load(Ordering::Acquire)
    }

    /// To be called under the page's guard.
    pub fn expect(&self, page: PageId, bytes: &[u8]) {
        let (found, last) = (version_of(page, bytes), self.version(page));
        assert_eq!(found, last, "page {page}: version {found} was read, {last} is the last");
    }

    /// Writes the next version; to be called under the page's exclusive guard.
    pub fn change(&self, page: PageId, bytes: &mut [u8]) {
        let version = self.version(page) + 1;
        fill(bytes, page, version);
        self.0[page as usize].store(version, Ordering::Release);
    }

    /// Compares all pages through a handle.
    pub fn expect_all(&self, handle: &Handle) {
        for page in 0..self.pages() {
            let guard = handle.pin(page).unwrap_or_else(|fault| panic!("page {page}: {fault}"));
            self.expect(page, &guard);
        }
    }
}

/// Writes the next version of a page without an oracle.
pub fn bump(handle: &Handle, page: PageId) -> cenote_pool::Result<u64> {
    let mut guard = handle.pin_mut(page)?;
    let version = version_of(page, &guard) + 1;
    fill(&mut guard, page, version);
    Ok(version)
}

/// A seeded sequence of numbers.
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A page of `pages`, four times of five one of the first fifth.
    pub fn skewed(&mut self, pages: u64) -> PageId {
        let end = if self.below(5) < 4 { pages.div_ceil(5) } else { pages };
        self.below(end)
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number from the environment.
pub fn number_from(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// A pool over a simulated device.
pub fn pool(device: &Arc<SimDevice>, config: PoolConfig) -> Arc<Pool> {
    Pool::new(Arc::clone(device) as Arc<dyn Device>, config).expect("a pool that works")
}

/// No latch and no frame is lost: all frames can be had exclusively at once. The pages start at
/// `first`.
pub fn expect_all_frames(handle: &Handle, first: u64) {
    let frames = handle.pool().config().frames as u64;
    let guards: Vec<_> =
        (first..first + frames).map(|p| handle.pin_mut(p).expect("no latch is lost")).collect();
    assert_eq!(guards.len(), frames as usize);
}

pub fn device_fault() -> DeviceError {
    let source = std::io::Error::from_raw_os_error(libc::EIO);
    DeviceError::File { device: "hooked".to_owned(), action: "test", source }
}
