//! The contents of a simulated device, kept or not.

use super::fault::{Fate, FaultPlan};
use super::medium::Medium;

/// Whether a simulated device keeps its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediumKind {
    /// Every byte is kept, and a power cut loses what was not synced.
    #[default]
    Kept,
    /// Timing only, for replays over files larger than memory: writes are checked, counted, timed
    /// and dropped, reads return zeros. The length is kept and survives a power cut.
    Forgotten,
}

#[derive(Debug)]
pub(super) enum Contents {
    Kept(Medium),
    Forgotten { len: u64 },
}

impl Contents {
    pub(super) fn of(kind: MediumKind, bytes: &[u8], cache_bytes_max: u64) -> Self {
        match kind {
            MediumKind::Kept => Self::Kept(Medium::of(bytes, cache_bytes_max)),
            MediumKind::Forgotten => Self::Forgotten { len: bytes.len() as u64 },
        }
    }

    pub(super) fn len_bytes(&self) -> u64 {
        match self {
            Self::Kept(medium) => medium.len_bytes(),
            Self::Forgotten { len } => *len,
        }
    }

    pub(super) fn unsynced_bytes(&self) -> u64 {
        match self {
            Self::Kept(medium) => medium.unsynced_bytes(),
            Self::Forgotten { .. } => 0,
        }
    }

    /// Fills `bytes` from `offset` up to the end of the device; returns how many.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> usize {
        match self {
            Self::Kept(medium) => medium.read(offset, bytes),
            Self::Forgotten { len } => {
                let reach = len.saturating_sub(offset).min(bytes.len() as u64) as usize;
                bytes[..reach].fill(0);
                reach
            }
        }
    }

    /// Writes; returns the number for [`Contents::complete`] if that must be called.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], fate: Fate) -> Option<u64> {
        match self {
            Self::Kept(medium) => Some(medium.write(offset, data, fate)),
            Self::Forgotten { len } => {
                *len = (*len).max(offset + data.len() as u64);
                None
            }
        }
    }

    /// Completes a write: later syncs cover it.
    pub(super) fn complete(&mut self, write: u64) {
        if let Self::Kept(medium) = self {
            medium.complete(write);
        }
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        match self {
            Self::Kept(medium) => medium.set_len(bytes),
            Self::Forgotten { len } => *len = bytes,
        }
    }

    /// Makes every completed write durable, according to its fate.
    pub(super) fn sync(&mut self) {
        if let Self::Kept(medium) = self {
            medium.sync();
        }
    }

    /// The contents after a power cut now.
    pub(super) fn after_power_cut(&self, plan: &FaultPlan) -> Self {
        match self {
            Self::Kept(medium) => Self::Kept(medium.after_power_cut(plan)),
            Self::Forgotten { len } => Self::Forgotten { len: *len },
        }
    }

    /// Flips one bit in every layer.
    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) {
        let len = self.len_bytes();
        assert!(offset < len, "byte {offset} is beyond the device's {len} bytes");
        if let Self::Kept(medium) = self {
            medium.flip_bit(offset, bit);
        }
    }

    /// All bytes, as a read would return them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let len = usize::try_from(self.len_bytes()).expect("simulated contents fit in memory");
        let mut bytes = vec![0; len];
        self.read(0, &mut bytes);
        bytes
    }
}
