//! Damaged and hostile sets of tiers. A set with one damaged page does not open, or every block
//! reads as it was written. A set with changed fields and right checksums has no right content, but
//! nothing may panic, hang or allocate without limit, and if it opens it can be read and written.

use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::{Buffer, Completion, Device, Op, QueueConfig, Request};
use cenote_tier::device::{
    Migrator, SetConfig, SetId, TierPart, TieredDevice, TieredError, checksum,
};
use cenote_tier::placement::Move;

use crate::faults::{End, clean};
use crate::random::Random;
use crate::{Outcome, demand};

const BLOCK: usize = 4096;
const PAGE: usize = 4096;
const HEADER: usize = 16 << 10;
const HEADERS: usize = 2 * HEADER;
const DATA: usize = 64 << 10;

/// The members of a set, the map first, and the content of its blocks.
struct Set {
    id: SetId,
    members: Vec<Vec<u8>>,
    /// Version written to each block; 0 if none.
    written: Vec<u64>,
}

/// Creates a set, damages it and checks the result.
pub fn damaged(random: &mut Random) -> Outcome<End> {
    let set = Set::random(random)?;
    if random.chance(50) { set.one_page(random) } else { set.hostile(random) }
}

fn drive(contents: &[u8]) -> Arc<SimDevice> {
    let model = Preset::all()[0].model();
    Arc::new(SimDevice::with_contents(SimConfig::new(model), contents))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Set {
    /// A set after random writes and moves.
    fn random(random: &mut Random) -> Outcome<Self> {
        let slots: Vec<u64> = (0..2 + random.index(3)).map(|_| 2 + random.below(20)).collect();
        let drives: Vec<_> = (0..=slots.len()).map(|_| drive(&[])).collect();
        let part = |(at, &slots): (usize, &u64)| TierPart {
            device: Arc::clone(&drives[at + 1]) as _,
            name: format!("tier{at}"),
            capacity_bytes: DATA as u64 + slots * BLOCK as u64,
        };
        let parts = slots.iter().enumerate().map(part).collect();
        let id = [random.below(256) as u8; 16];
        let journal_pages = 2 + random.below(3) as u32;
        let config = SetConfig::new(id).block_bytes(BLOCK as u32).journal_pages(journal_pages);
        let map = Arc::clone(&drives[0]) as _;
        let device = TieredDevice::create(map, parts, &config).map_err(text)?;
        let room = slots.iter().sum::<u64>() - slots.len() as u64;
        let mut written = vec![0; 1 + random.below(room) as usize];
        let mut migrator = Migrator::new(&device, 4).map_err(text)?;
        device.set_len((written.len() * BLOCK) as u64).map_err(text)?;
        for version in 1..=random.below(60) {
            let block = random.index(written.len());
            match random.below(4) {
                0 => device.sync().map_err(text)?,
                1 => {
                    written[block] = version;
                    write(&device, block, version)?;
                }
                _ => {
                    let to = random.index(slots.len()) as u8;
                    migrator.carry_out(&[Move { page: block as u32, to }]).map_err(text)?;
                }
            }
        }
        device.sync().map_err(text)?;
        let members = drives.iter().map(|drive| drive.contents()).collect();
        Ok(Self { id, members, written })
    }

    fn open(&self) -> Result<TieredDevice, TieredError> {
        let drives = self.members[1..].iter().map(|bytes| drive(bytes) as Arc<dyn Device>);
        TieredDevice::open(drive(&self.members[0]), drives.collect())
    }

    /// Replaces one page of the map, or one copy of a header.
    fn one_page(mut self, random: &mut Random) -> Outcome<End> {
        let member = if random.chance(80) { 0 } else { random.index(self.members.len()) };
        let bytes = &mut self.members[member];
        let pages = if member == 0 { bytes.len() / PAGE } else { HEADERS / PAGE };
        let at = random.index(pages) * PAGE;
        let other = random.index(pages) * PAGE;
        match random.below(5) {
            0 => bytes[at..at + PAGE].fill(0),
            1 => bytes.copy_within(other..other + PAGE, at),
            2 => (0..40).for_each(|_| bytes[at + random.index(PAGE)] = random.bits() as u8),
            3 => bytes[at + random.index(PAGE)] ^= 1 << random.below(8),
            _ => bytes.truncate(at),
        }
        match self.open() {
            Err(error) => clean(&error),
            Ok(device) => self.compare(&device).map(|()| End::Right),
        }
    }

    /// Checks that every block is as it was written.
    fn compare(&self, device: &TieredDevice) -> Outcome {
        let blocks = device.blocks() as usize;
        demand(blocks == self.written.len(), || format!("{blocks} blocks"))?;
        for (block, &version) in self.written.iter().enumerate() {
            let completion = transfer(device, Op::Read, block, Buffer::new(BLOCK).map_err(text)?)?;
            let wanted = words(block, version);
            let same = completion.result == Ok(BLOCK) && completion.buffer[..] == wanted[..];
            demand(same, || format!("block {block} is not as it was written"))?;
        }
        Ok(())
    }

    /// Changes fields and corrects the checksums.
    fn hostile(mut self, random: &mut Random) -> Outcome<End> {
        for _ in 0..1 + random.below(3) {
            let member = if random.chance(70) { 0 } else { random.index(self.members.len()) };
            let pages = self.members[member].len() / PAGE;
            if member > 0 || random.chance(30) {
                // Change both copies, so that the change takes effect.
                let (at, value) = (12 + random.index(80), random.bits() as u8);
                for copy in 0..2 {
                    let header = &mut self.members[member][copy * HEADER..(copy + 1) * HEADER];
                    header[at] = value;
                    let sum = checksum(&self.id, &header[4..]);
                    header[8..12].copy_from_slice(&sum.to_le_bytes());
                }
            } else {
                let page = HEADERS / PAGE + random.index(pages - HEADERS / PAGE);
                let page = &mut self.members[0][page * PAGE..(page + 1) * PAGE];
                super::pages::mutate(page, 80, random);
                let sum = checksum(&self.id, page);
                page[4..8].copy_from_slice(&sum.to_le_bytes());
            }
        }
        match self.open() {
            Err(error) => clean(&error),
            Ok(device) => use_it(&device, random).map(|()| End::Right),
        }
    }
}

/// Reads, moves and writes blocks. Errors are allowed.
fn use_it(device: &TieredDevice, random: &mut Random) -> Outcome {
    for block in 0..device.blocks().min(200) as usize {
        transfer(device, Op::Read, block, Buffer::new(BLOCK).map_err(text)?)?;
    }
    let mut migrator = Migrator::new(device, 4).map_err(text)?;
    for version in 0..20 {
        let block = random.index(device.blocks().clamp(1, 200) as usize);
        let to = random.index(device.tiers().len()) as u8;
        let moved = migrator.carry_out(&[Move { page: block as u32, to }]);
        let wrote = write(device, block, version);
        let synced = device.sync();
        if let (Ok(_), Ok(()), Ok(())) = (&moved, &wrote, &synced) {
            let completion = transfer(device, Op::Read, block, Buffer::new(BLOCK).map_err(text)?)?;
            let same = completion.result != Ok(BLOCK)
                || completion.buffer[..] == words(block, version)[..];
            demand(same, || format!("block {block} is not as it was written now"))?;
        }
    }
    Ok(())
}

/// The bytes of a block: its number and version in every word.
fn words(block: usize, version: u64) -> Vec<u8> {
    let word = if version == 0 { 0 } else { (block as u64) << 32 | version };
    word.to_le_bytes().repeat(BLOCK / 8)
}

fn write(device: &TieredDevice, block: usize, version: u64) -> Outcome {
    let mut buffer = Buffer::new(BLOCK).map_err(text)?;
    buffer.copy_from_slice(&words(block, version));
    let completion = transfer(device, Op::Write, block, buffer)?;
    completion.result.map(|_| ()).map_err(|fault| format!("a write failed: {fault}"))
}

fn transfer(device: &TieredDevice, op: Op, block: usize, buffer: Buffer) -> Outcome<Completion> {
    let mut queue = device.queue(&QueueConfig::with_depth(1)).map_err(text)?;
    let offset = (block * BLOCK) as u64;
    queue.push(Request { tag: 0, op, offset, len: buffer.len(), buffer });
    let mut completions = Vec::new();
    queue.reap(1, &mut completions).map_err(text)?;
    completions.pop().ok_or_else(|| "no completion".into())
}
