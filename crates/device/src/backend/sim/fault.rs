//! Seeded fault injection: which operations fail, and how.

use crate::op::Op;
use crate::random;

/// The errno of every operation after a power cut.
pub const POWER_CUT_ERRNO: i32 = libc::ENODEV;

/// The unit that a drive writes atomically.
pub(super) const SECTOR_BYTES: usize = 512;

/// The faults of a device, reproducible from a seed.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Seed of every random choice: probabilities, lengths, surviving sectors and writes.
    pub seed: u64,
    /// The faults. If several apply to one operation, the first one does.
    pub faults: Vec<Fault>,
    /// The fate of unsynced writes at a power cut.
    pub unsynced: Unsynced,
    /// Capacity in bytes: a write or resize beyond it fails with `ENOSPC`.
    pub capacity_bytes: Option<u64>,
    /// Bits that are flipped in reads: byte offset and bit number.
    pub flipped_bits: Vec<(u64, u32)>,
}

/// An effect on some operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The affected operations.
    pub when: When,
    /// The effect.
    pub effect: Effect,
}

/// The operations that a fault affects. Counts start at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// The n-th operation: reads, writes, syncs and resizes counted together.
    Operation(u64),
    /// The n-th read.
    Read(u64),
    /// The n-th write.
    Write(u64),
    /// The n-th change: writes, syncs and resizes counted together.
    Change(u64),
    /// Every read that touches bytes of this range (start, end).
    ReadIn(u64, u64),
    /// Every write that touches bytes of this range (start, end).
    WriteIn(u64, u64),
    /// Each read, with this probability.
    ReadChance(f64),
    /// Each write, with this probability.
    WriteChance(f64),
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The operation fails with this errno, such as `EIO`, and changes nothing.
    Errno(i32),
    /// A read moves only some leading blocks, or none. No effect on other operations.
    ShortRead,
    /// A write is acknowledged and synced, but only some of its 512-byte sectors become durable. No
    /// effect on other operations.
    TornWrite,
    /// A write is acknowledged and synced, but never becomes durable. No effect on other
    /// operations.
    LostWrite,
    /// The power fails: this operation and all later ones fail with [`POWER_CUT_ERRNO`].
    PowerCut,
}

/// The fate of unsynced writes at a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsynced {
    /// Each is kept, lost or torn, by the seed.
    #[default]
    Random,
    /// All are kept.
    Kept,
    /// All are lost.
    Lost,
    /// All are torn.
    Torn,
}

impl FaultPlan {
    /// No faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// No faults yet, for the other builder methods.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a fault.
    #[must_use]
    pub fn with(mut self, when: When, effect: Effect) -> Self {
        self.faults.push(Fault { when, effect });
        self
    }

    /// Cuts the power at the n-th operation.
    pub fn power_cut(seed: u64, operation: u64) -> Self {
        Self::seeded(seed).with(When::Operation(operation), Effect::PowerCut)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Every byte becomes durable.
    Whole,
    /// Some sectors become durable, by this seed.
    Torn(u64),
    /// Nothing becomes durable.
    Lost,
}

/// The effect on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A read of this many bytes, or up to the end of the device.
    Read(usize),
    /// A write with this fate.
    Write(Fate),
    /// Failure with an errno.
    Fail(i32),
    /// The write at the power cut: it fails, and may or may not become durable.
    Cut,
}

/// A plan and the counts of operations.
#[derive(Debug)]
pub(crate) struct FaultState {
    plan: FaultPlan,
    block_bytes: usize,
    operations: u64,
    reads: u64,
    writes: u64,
    /// Syncs and resizes.
    controls: u64,
    power_cut: bool,
}

impl FaultState {
    pub(crate) fn new(plan: FaultPlan, block_bytes: usize) -> Self {
        let (operations, reads, writes, controls) = (0, 0, 0, 0);
        Self { plan, block_bytes, operations, reads, writes, controls, power_cut: false }
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    pub(crate) fn changes(&self) -> u64 {
        self.writes + self.controls
    }

    pub(crate) fn is_power_cut(&self) -> bool {
        self.power_cut
    }

    /// Counts a request and decides the effect on it.
    pub(crate) fn judge(&mut self, op: Op, offset: u64, len: usize) -> Verdict {
        if self.power_cut {
            return Verdict::Fail(POWER_CUT_ERRNO);
        }
        let effect = self.effect_on(op, offset, len);
        let choice = mix(self.plan.seed, self.operations);
        self.operations += 1;
        match op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
        }
        let fits =
            |capacity: u64| offset.checked_add(len as u64).is_some_and(|end| end <= capacity);
        match (op, effect) {
            (_, Some(Effect::Errno(errno))) => Verdict::Fail(errno),
            (_, Some(Effect::PowerCut)) => {
                self.power_cut = true;
                if op == Op::Write { Verdict::Cut } else { Verdict::Fail(POWER_CUT_ERRNO) }
            }
            (Op::Write, _) if !self.plan.capacity_bytes.is_none_or(fits) => {
                Verdict::Fail(libc::ENOSPC)
            }
            (Op::Read, Some(Effect::ShortRead)) => {
                let blocks = len.div_ceil(self.block_bytes) as u64;
                Verdict::Read((choice % blocks) as usize * self.block_bytes)
            }
            (Op::Read, _) => Verdict::Read(len),
            (Op::Write, Some(Effect::TornWrite)) => Verdict::Write(Fate::Torn(choice)),
            (Op::Write, Some(Effect::LostWrite)) => Verdict::Write(Fate::Lost),
            (Op::Write, _) => Verdict::Write(Fate::Whole),
        }
    }

    /// Counts a sync or another operation without data; the errno if it fails.
    pub(crate) fn control(&mut self) -> Result<(), i32> {
        if self.power_cut {
            return Err(POWER_CUT_ERRNO);
        }
        let here = [When::Operation(self.operations), When::Change(self.changes())];
        self.operations += 1;
        self.controls += 1;
        let fault = self.plan.faults.iter().find(|fault| here.contains(&fault.when));
        match fault.map(|fault| fault.effect) {
            Some(Effect::Errno(errno)) => Err(errno),
            Some(Effect::PowerCut) => {
                self.power_cut = true;
                Err(POWER_CUT_ERRNO)
            }
            _ => Ok(()),
        }
    }

    /// Counts a resize; the errno if it fails.
    pub(crate) fn resize(&mut self, bytes: u64) -> Result<(), i32> {
        self.control()?;
        let fits = self.plan.capacity_bytes.is_none_or(|capacity| bytes <= capacity);
        if fits { Ok(()) } else { Err(libc::ENOSPC) }
    }

    /// Flips the plan's bits in the bytes of a read.
    pub(crate) fn flip(&self, offset: u64, bytes: &mut [u8]) {
        for &(at, bit) in &self.plan.flipped_bits {
            let place = at.checked_sub(offset).and_then(|place| usize::try_from(place).ok());
            if let Some(byte) = place.and_then(|place| bytes.get_mut(place)) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    fn effect_on(&self, op: Op, offset: u64, len: usize) -> Option<Effect> {
        let applies = |index: usize, when: When| {
            let touches = |start, end| offset < end && start < offset.saturating_add(len as u64);
            let chance =
                |share| unit(mix(mix(self.plan.seed, index as u64), self.operations)) < share;
            match (when, op) {
                (When::Operation(n), _) => n == self.operations,
                (When::Read(n), Op::Read) => n == self.reads,
                (When::Write(n), Op::Write) => n == self.writes,
                (When::Change(n), Op::Write) => n == self.changes(),
                (When::ReadIn(start, end), Op::Read) => touches(start, end),
                (When::WriteIn(start, end), Op::Write) => touches(start, end),
                (When::ReadChance(share), Op::Read) => chance(share),
                (When::WriteChance(share), Op::Write) => chance(share),
                _ => false,
            }
        };
        let mut faults = self.plan.faults.iter().enumerate();
        faults.find(|(index, fault)| applies(*index, fault.when)).map(|(_, fault)| fault.effect)
    }
}

impl FaultPlan {
    /// The fate of the `index`-th unsynced write at a power cut.
    pub(super) fn fate_unsynced(&self, index: u64) -> Fate {
        let choice = mix(self.seed ^ 0x5eed_c0de, index);
        match self.unsynced {
            Unsynced::Kept => Fate::Whole,
            Unsynced::Lost => Fate::Lost,
            Unsynced::Torn => Fate::Torn(choice),
            Unsynced::Random => match choice % 3 {
                0 => Fate::Whole,
                1 => Fate::Lost,
                _ => Fate::Torn(mix(choice, index)),
            },
        }
    }
}

/// Which of `count` sectors of a torn write survive: a prefix or any subset, equally likely.
/// With two or more sectors at least one survives and at least one does not.
pub(crate) fn torn_sectors(seed: u64, count: usize) -> Vec<bool> {
    if count < 2 {
        return vec![seed & 1 == 0; count];
    }
    if seed & 1 == 0 {
        let prefix = 1 + (mix(seed, 0) % (count as u64 - 1)) as usize;
        return (0..count).map(|sector| sector < prefix).collect();
    }
    let mut survive: Vec<bool> = (0..count as u64).map(|s| mix(seed, s) & 1 == 0).collect();
    if survive.iter().all(|&first| first == survive[0]) {
        let odd_one = (mix(seed, count as u64) % count as u64) as usize;
        survive[odd_one] = !survive[odd_one];
    }
    survive
}

/// Surviving leading bytes of a torn write, if only whole blocks can be written.
pub(crate) fn torn_prefix_bytes(seed: u64, len: usize, block_bytes: usize) -> usize {
    let unit_bytes = block_bytes.max(SECTOR_BYTES);
    let count = len.div_ceil(unit_bytes) as u64;
    (mix(seed, 0) % count) as usize * unit_bytes
}

/// SplitMix64 over a seed and a counter.
pub(crate) fn mix(seed: u64, counter: u64) -> u64 {
    random::mix(seed ^ counter.wrapping_add(1).wrapping_mul(random::GOLDEN))
}

/// A random number from 0 to below 1.
pub(crate) fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_write_keeps_some_sectors_and_loses_some_whatever_the_seed() {
        for seed in 0..2000 {
            for count in [2, 3, 8] {
                let survive = torn_sectors(seed, count);
                let kept = survive.iter().filter(|&&kept| kept).count();
                assert!(survive.len() == count && kept > 0 && kept < count, "seed {seed}: {kept}");
            }
            let blocks = [512, 4096].map(|block| (block, torn_prefix_bytes(seed, 8192, block)));
            for (block, kept) in blocks {
                assert!(kept < 8192 && kept.is_multiple_of(block), "seed {seed}: {kept}");
            }
        }
    }
}
