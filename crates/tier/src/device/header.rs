//! The header of each file of a set of tiers: the description of the set, and the file's role.

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::io::{self, IoBuffer};
pub use super::page::SetId;
use super::page::checksum;
use crate::spec::TIERS_MAX;

/// The first bytes of a map file and of every tier.
pub const MAGIC: [u8; 8] = *b"\x89CTIERS\n";

/// Bytes of a header; every member begins with two of them.
pub(super) const HEADER_BYTES: usize = 16 << 10;

/// Bytes before the slots of a tier, if its blocks are no larger.
const RESERVED_BYTES: u64 = 64 << 10;

const VERSION: u32 = 2;

/// Longest name of a tier, in bytes.
pub const NAME_BYTES_MAX: usize = 900;

/// The role of a member in its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The map file.
    Map,
    /// The tier with this number; 0 is the fastest.
    Tier(u8),
}

/// One tier of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierHeader {
    /// The tier's name: `NAME=PATH` on the command line.
    pub name: String,
    /// Blocks that it can hold.
    pub slots: u32,
}

/// The description of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetHeader {
    /// The set's id.
    pub id: SetId,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Pages of each journal.
    pub journal_pages: u32,
    /// The tiers, from the fastest.
    pub tiers: Vec<TierHeader>,
}

impl SetHeader {
    /// First byte of the slots of a tier.
    pub(super) fn data_start(&self) -> u64 {
        RESERVED_BYTES.next_multiple_of(u64::from(self.block_bytes))
    }

    pub(super) fn slots(&self) -> u32 {
        self.tiers.iter().fold(0, |sum, tier| sum.saturating_add(tier.slots))
    }

    /// Refuses an invalid description.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |reason: String| Err(TieredError::Options(reason));
        if !(2..=TIERS_MAX).contains(&self.tiers.len()) {
            return wrong(format!("{} given, 2 to {TIERS_MAX} are possible", self.tiers.len()));
        }
        let block = self.block_bytes;
        if !block.is_power_of_two() || !(4096..=1 << 20).contains(&block) {
            return wrong(format!("blocks of {block} bytes: a power of two from 4 KiB to 1 MiB"));
        }
        if !(2..=1 << 16).contains(&self.journal_pages) {
            return wrong("a journal has 2 to 65536 pages".into());
        }
        for (at, tier) in self.tiers.iter().enumerate() {
            if tier.slots < 2 {
                return wrong(format!("{}: room for {} blocks, 2 at least", tier.name, tier.slots));
            }
            if tier.name.is_empty() || tier.name.len() > NAME_BYTES_MAX {
                return wrong(format!("tier {at}: a name has 1 to {NAME_BYTES_MAX} bytes"));
            }
        }
        Ok(())
    }

    fn encode(&self, role: Role) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        let role = match role {
            Role::Map => u8::MAX,
            Role::Tier(tier) => tier,
        };
        let mut text = MAGIC.to_vec();
        text.extend([0; 4]);
        text.extend(VERSION.to_le_bytes());
        text.extend(self.id);
        text.extend([role, self.tiers.len() as u8, 0, 0]);
        for value in [self.block_bytes, self.journal_pages] {
            text.extend(value.to_le_bytes());
        }
        for tier in &self.tiers {
            text.extend(tier.slots.to_le_bytes());
            text.extend((tier.name.len() as u32).to_le_bytes());
            text.extend(tier.name.as_bytes());
        }
        bytes[..text.len()].copy_from_slice(&text);
        let sum = checksum(&self.id, &bytes[4..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> std::result::Result<(Self, Role), String> {
        if bytes.get(..8) != Some(&MAGIC[..]) {
            return Err("it is no member of a set of tiers".into());
        }
        let mut reader = Reader { bytes, at: 12 };
        let version = reader.word()?;
        if version != VERSION {
            let remedy = if version < VERSION { "import the graph again" } else { "update cenote" };
            let known = "this program knows";
            return Err(format!("format version {version}, {known} {VERSION}: {remedy}"));
        }
        let id: SetId = reader.take(16)?.try_into().map_err(|_| "too short")?;
        if bytes[8..12] != checksum(&id, &bytes[4..]).to_le_bytes() {
            return Err("its header is damaged".into());
        }
        let roles = reader.take(4)?;
        let (role, tiers) = (roles[0], roles[1]);
        let role = match role {
            u8::MAX => Role::Map,
            tier if tier < tiers => Role::Tier(tier),
            _ => return Err("its header is damaged".into()),
        };
        let (block_bytes, journal_pages) = (reader.word()?, reader.word()?);
        let mut header = Self { id, block_bytes, journal_pages, tiers: Vec::new() };
        for _ in 0..tiers {
            let slots = reader.word()?;
            let len = reader.word()? as usize;
            let name = String::from_utf8(reader.take(len)?.to_vec())
                .map_err(|_| "its header is damaged")?;
            header.tiers.push(TierHeader { name, slots });
        }
        header.check().map_err(|error| error.to_string())?;
        Ok((header, role))
    }

    /// Writes both copies.
    pub(super) fn write(&self, device: &dyn Device, role: Role) -> Result<()> {
        let bytes = self.encode(role);
        io::write(device, &IoBuffer::default(), 0, &[bytes.clone(), bytes].concat())
    }

    /// Reads a member's header, or its second copy if the first is damaged.
    ///
    /// # Errors
    /// [`TieredError::Member`] if it is not a member of a set.
    pub fn read(device: &dyn Device) -> Result<(Self, Role)> {
        Self::read_with(device, &IoBuffer::default())
    }

    /// The same with a kept buffer.
    pub(super) fn read_with(device: &dyn Device, cache: &IoBuffer) -> Result<(Self, Role)> {
        let member = |reason| TieredError::Member { file: device.name(), reason };
        if device.len_bytes()? < 2 * HEADER_BYTES as u64 {
            return Err(member("it is no member of a set of tiers: too short".into()));
        }
        let bytes = io::read(device, cache, 0, 2 * HEADER_BYTES)?;
        let (first, second) = bytes.split_at(HEADER_BYTES);
        Self::decode(first).or_else(|why| Self::decode(second).map_err(|_| why)).map_err(member)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> std::result::Result<&'a [u8], String> {
        let taken = self.bytes.get(self.at..self.at.saturating_add(len));
        self.at += len;
        taken.ok_or_else(|| "its header is damaged".into())
    }

    fn word(&mut self) -> std::result::Result<u32, String> {
        let bytes = self.take(4)?.try_into().map_err(|_| "too short")?;
        Ok(u32::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_damage_is_seen() {
        let tier = |name: &str, slots| TierHeader { name: name.into(), slots };
        let header = SetHeader {
            id: *b"0123456789abcdef",
            block_bytes: 16384,
            journal_pages: 64,
            tiers: vec![tier("fast=/a", 10), tier("slow=/b", u32::MAX)],
        };
        for role in [Role::Map, Role::Tier(1)] {
            let bytes = header.encode(role);
            assert_eq!(bytes[..8], MAGIC);
            assert_eq!(SetHeader::decode(&bytes), Ok((header.clone(), role)));
            for at in (0..200).chain([HEADER_BYTES - 1]) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 4;
                assert!(SetHeader::decode(&damaged).is_err(), "byte {at}");
            }
        }
    }
}
