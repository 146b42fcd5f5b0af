//! Blocks of a spill file that stay in memory as long as nothing else needs it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::{Buffer, Device, DeviceError, HugeVec, write_all};

use crate::budget::{Cache, Counts};
use crate::error::{ImportError, Result, full_disk};

/// Alignment of blocks on the device, sufficient for direct I/O on every device.
pub(super) const ALIGN_BYTES: usize = 4096;
/// Bytes of a page of memory.
const MEMORY_PAGE: usize = 4096;
/// Memory of a block beside its pages.
const BLOCK_OVERHEAD: usize = 64;

/// Bytes of memory of a block in memory. It has pages of its own, which return to the system at
/// once, while freed pieces of a heap may stay with the process.
fn memory_of(bytes: usize) -> usize {
    bytes.next_multiple_of(MEMORY_PAGE) + BLOCK_OVERHEAD
}

/// Where a block lies on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub offset: u64,
    /// Bytes written, a multiple of the alignment.
    pub bytes: u32,
    /// CRC-32C of its bytes, which detects lost and torn writes.
    pub checksum: u32,
}

/// Where a block lies.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Memory(Arc<HugeVec<u8>>),
    Device(Run),
}

/// The blocks of a file that were in memory at first, and the end of the file on the device.
#[derive(Debug)]
pub(super) struct Kept {
    device: Arc<dyn Device>,
    next: AtomicU64,
    /// Expected size, for the error of a full disk.
    needed: u64,
    counts: Arc<Counts>,
    /// Bytes of the budget that stay free.
    reserve: usize,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// `None`: it was released.
    places: Vec<Option<Place>>,
    /// All blocks from here on are on the device or released.
    evicted_from: usize,
}

pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

impl Kept {
    pub fn new(device: Arc<dyn Device>, needed: u64, counts: Arc<Counts>, reserve: usize) -> Self {
        let (next, blocks) = (AtomicU64::new(0), Mutex::default());
        Self { device, next, needed, counts, reserve, blocks }
    }

    pub fn device(&self) -> &dyn Device {
        self.device.as_ref()
    }

    /// Bytes on the device.
    pub fn device_bytes(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Place for so many bytes at the end of the file on the device.
    pub fn append(&self, bytes: usize) -> u64 {
        self.next.fetch_add(bytes as u64, Ordering::Relaxed)
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a block in memory, if there is room. Returns its number.
    pub fn keep(&self, block: &[u8]) -> Option<u32> {
        if !self.counts.cache(memory_of(block.len()), self.reserve) {
            return None;
        }
        let Ok(mut copy) = HugeVec::sparse(block.len()) else {
            // The system has no more mappings; the device has room.
            self.counts.uncache(memory_of(block.len()));
            return None;
        };
        copy.copy_from_slice(block);
        let place = Some(Place::Memory(Arc::new(copy)));
        let mut blocks = self.blocks();
        blocks.places.push(place);
        blocks.evicted_from = blocks.places.len();
        Some(u32::try_from(blocks.places.len() - 1).expect("blocks are fewer than 2^32"))
    }

    /// Where a block lies that was kept and not released.
    pub fn place(&self, number: u32) -> Place {
        let place = self.blocks().places[number as usize].clone();
        place.expect("a block is read before it is released")
    }

    /// Releases the memory of a block, which is not read again.
    pub fn release(&self, number: u32) {
        if let Some(Place::Memory(block)) = self.blocks().places[number as usize].take() {
            self.counts.uncache(memory_of(block.len()));
        }
    }

    /// Converts an error of the device; a full disk says how much is needed.
    pub fn explain(&self, error: DeviceError) -> ImportError {
        full_disk(error, self.device_bytes(), self.needed, "a spill file", "temp_dir")
    }

    fn write(&self, block: &[u8], buffer: &mut Option<Buffer>) -> Result<Run> {
        let bytes = block.len().next_multiple_of(ALIGN_BYTES);
        let mut room = match buffer.take() {
            Some(room) if room.len() >= bytes => room,
            _ => Buffer::new(bytes)?,
        };
        room[..block.len()].copy_from_slice(block);
        room[block.len()..bytes].fill(0);
        let checksum = checksum(&room[..bytes]);
        let offset = self.append(bytes);
        let written = write_all(self.device(), offset, bytes, room);
        *buffer = Some(written.map_err(|error| self.explain(error))?);
        Ok(Run { offset, bytes: u32::try_from(bytes).expect("blocks are small"), checksum })
    }
}

impl Cache for Kept {
    /// Writes blocks to the device, the newest first.
    fn evict(&self, bytes: usize) -> Result<usize> {
        let (mut back, mut buffer) = (0, None);
        let mut blocks = self.blocks();
        while back < bytes && blocks.evicted_from > 0 {
            let at = blocks.evicted_from - 1;
            if let Some(Place::Memory(block)) = &blocks.places[at] {
                let run = self.write(block, &mut buffer)?;
                let memory = memory_of(block.len());
                blocks.places[at] = Some(Place::Device(run));
                self.counts.uncache(memory);
                back += memory;
            }
            blocks.evicted_from = at;
        }
        Ok(back)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let blocks = self.blocks.get_mut().unwrap_or_else(PoisonError::into_inner);
        for place in blocks.places.drain(..).flatten() {
            if let Place::Memory(block) = place {
                self.counts.uncache(memory_of(block.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cenote_device::backend::sim::{SimConfig, SimDevice};
    use cenote_device::model::preset::Preset;
    use cenote_device::read_exact;

    use super::*;
    use crate::budget::Budget;

    #[test]
    fn blocks_stay_in_memory_until_it_is_needed_and_are_whole_on_the_device() {
        let device = Arc::new(SimDevice::new(SimConfig::new(Preset::all()[0].model())));
        let budget = Budget::new(100_000);
        let kept = Arc::new(Kept::new(device, 0, budget.counts(), 20_000));
        let cache: Arc<dyn Cache> = Arc::<Kept>::clone(&kept);
        budget.add_cache(Arc::downgrade(&cache));
        drop(cache);
        let block = |i: usize| vec![i as u8 + 1; 5000 + i];
        let numbers: Vec<u32> = (0..).map_while(|i| kept.keep(&block(i))).collect();
        assert_eq!(numbers, (0..9).collect::<Vec<_>>());
        kept.release(8);
        kept.release(3);
        let held = budget.hold(60_000, "a sort").expect("blocks give way");
        assert!(kept.device_bytes() > 0 && budget.peak() <= 100_000);
        let mut in_memory = 0;
        for i in (0..8).filter(|&i| i != 3) {
            let found = match kept.place(i as u32) {
                Place::Memory(found) => {
                    in_memory += 1;
                    found.to_vec()
                }
                Place::Device(Run { offset, bytes, checksum: expected }) => {
                    let bytes = bytes as usize;
                    let buffer = Buffer::new(bytes).unwrap();
                    let buffer = read_exact(kept.device(), offset, bytes, buffer).unwrap();
                    assert_eq!(checksum(&buffer[..bytes]), expected);
                    buffer[..5000 + i].to_vec()
                }
            };
            assert!(found == block(i), "block {i}");
        }
        assert!((1..7).contains(&in_memory), "{in_memory} blocks in memory");
        drop((held, kept));
        assert_eq!((budget.used(), budget.free()), (0, 100_000));
        assert!(budget.hold(100_000, "all of it").is_ok());
    }
}
