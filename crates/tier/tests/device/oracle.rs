//! What a device may hold: of each sector the versions that a reader may find.

use std::collections::HashSet;

use cenote_device::{Buffer, Device, IoFault, Op, QueueConfig, Request};

pub const SECTOR: usize = 512;

/// Sectors, each with its version in every eight bytes; version 0 is zeros.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// By sector, versions that may be found after a power cut; the last is the newest.
    pub versions: Vec<Vec<u32>>,
    pub lens: Vec<u64>,
    next: u32,
    failed: HashSet<u32>,
}

impl Oracle {
    pub fn new(sectors: usize) -> Self {
        Self { versions: vec![vec![0]; sectors], lens: vec![0], ..Self::default() }
    }

    /// A write is about to begin; its version.
    pub fn begin_write(&mut self, offset: u64, len: usize) -> u32 {
        self.next += 1;
        for sector in sectors(offset, len) {
            self.versions[sector].push(self.next);
        }
        let end = self.len().max(offset + len as u64);
        self.lens.push(end);
        self.next
    }

    /// A write has failed: who knows what of it is there.
    pub fn write_failed(&mut self, version: u32) {
        self.failed.insert(version);
    }

    /// Versions that a sector has without a power cut: one, and writes to it that failed since.
    fn present<'a>(&self, versions: &'a [u32]) -> &'a [u32] {
        let last = versions.iter().rposition(|version| !self.failed.contains(version));
        &versions[last.expect("one did not fail")..]
    }

    pub fn len(&self) -> u64 {
        *self.lens.last().unwrap()
    }

    pub fn set_len(&mut self, bytes: u64) {
        if bytes < self.len() {
            for sector in bytes.div_ceil(SECTOR as u64) as usize..self.versions.len() {
                self.versions[sector].push(0);
            }
        }
        self.lens.push(bytes);
    }

    /// A sync has returned, and nothing is in flight.
    pub fn synced(&mut self) {
        for sector in 0..self.versions.len() {
            self.versions[sector] = self.present(&self.versions[sector]).to_vec();
        }
        self.lens = vec![self.len()];
    }

    /// What a device holds must be allowed, or the newest if it was never cut.
    pub fn check(&self, contents: &[u8], newest: bool, case: &str) {
        let len = contents.len() as u64;
        let lens = if newest { &self.lens[self.lens.len() - 1..] } else { &self.lens[..] };
        assert!(lens.contains(&len), "{case}: {len} bytes, not of {lens:?}");
        for (sector, bytes) in contents.chunks(SECTOR).enumerate() {
            let found = version_of(sector, bytes)
                .unwrap_or_else(|| panic!("{case}: sector {sector} is not whole or another's"));
            let versions = &self.versions[sector];
            let versions = if newest { self.present(versions) } else { versions };
            let allowed = versions.contains(&found);
            assert!(allowed, "{case}: sector {sector} has version {found}, not of {versions:?}");
        }
    }
}

fn sectors(offset: u64, len: usize) -> std::ops::Range<usize> {
    offset as usize / SECTOR..(offset as usize + len) / SECTOR
}

pub fn fill(offset: u64, version: u32, bytes: &mut [u8]) {
    for (sector, bytes) in (offset / SECTOR as u64..).zip(bytes.chunks_mut(SECTOR)) {
        let word = (sector << 32 | u64::from(version)).to_le_bytes();
        bytes.chunks_mut(8).for_each(|item| item.copy_from_slice(&word));
    }
}

pub fn version_of(sector: usize, bytes: &[u8]) -> Option<u32> {
    let word = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    if bytes.chunks(8).any(|item| item != word.to_le_bytes()) {
        return None;
    }
    match word {
        0 => Some(0),
        _ => (word >> 32 == sector as u64).then_some(word as u32),
    }
}

/// All bytes, read in requests that cross blocks. A read that fails is tried again.
pub fn contents(device: &dyn Device) -> Vec<u8> {
    let len = device.len_bytes().unwrap() as usize;
    let mut bytes = vec![0; len];
    let mut queue = device.queue(&QueueConfig::with_depth(4)).unwrap();
    let mut completions = Vec::new();
    let mut spare = Some(Buffer::new(5 * SECTOR * 8).unwrap());
    for (at, piece) in bytes.chunks_mut(5 * SECTOR * 8).enumerate() {
        let mut buffer = spare.take().unwrap();
        let offset = (at * 5 * SECTOR * 8) as u64;
        let len = piece.len().next_multiple_of(SECTOR);
        for attempt in 0.. {
            queue.push(Request { tag: 0, op: Op::Read, offset, len, buffer });
            queue.reap(1, &mut completions).unwrap();
            let completion = completions.pop().unwrap();
            buffer = completion.buffer;
            if completion.result.is_ok() || attempt == 9 {
                assert_eq!(completion.result, Ok(piece.len()), "at {offset}");
                break;
            }
        }
        piece.copy_from_slice(&buffer[..piece.len()]);
        spare = Some(buffer);
    }
    bytes
}

/// One write of a version.
pub fn write(device: &dyn Device, offset: u64, len: usize, version: u32) -> Result<(), IoFault> {
    let mut buffer = Buffer::new(len).unwrap();
    fill(offset, version, &mut buffer);
    let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
    queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer });
    let mut completions = Vec::new();
    queue.reap(1, &mut completions).unwrap();
    completions.pop().unwrap().result.map(|moved| assert_eq!(moved, len))
}
