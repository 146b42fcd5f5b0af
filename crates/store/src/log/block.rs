//! Flushes of the log in blocks.

use std::ops::Range;

use cenote_device::Buffer;
use cenote_pool::PageId;

use crate::error::{PageFault, Result, at_most, other, zero_behind};
use crate::format::{HEADER_BYTES, LOG_BLOCK_BYTES, PageKind};
use crate::header::{self, Identity, PageHeader};
use crate::superblock::Superblock;
use crate::weights::WeightType;

/// Bytes of batches in a block.
const PAYLOAD_BYTES: usize = LOG_BLOCK_BYTES - HEADER_BYTES;

/// Where the log of an epoch lies.
#[derive(Clone, Debug)]
pub(crate) struct LogArea {
    /// Physical pages.
    pub pages: Range<PageId>,
    pub page_bytes: usize,
    pub salt: u64,
    pub epoch: u64,
    /// Type of the weights of its changes.
    pub weights: Option<WeightType>,
}

/// The place of a flush and its number, which ascends by one from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushPlace {
    /// Its first block.
    pub block: u64,
    pub number: u64,
}

impl FlushPlace {
    pub const FIRST: Self = Self { block: 0, number: 1 };
}

/// A block as it was found.
pub(super) enum Found<'a> {
    /// It holds a part of a flush of the epoch.
    Part(Part<'a>),
    /// It was never written, or in an earlier epoch.
    Unwritten,
    /// It is neither.
    Bad(PageFault),
}

pub(super) struct Part<'a> {
    pub flush: u64,
    /// Which block of the flush, of how many.
    pub at: u64,
    pub blocks: u64,
    /// All flushes up to this number were durable when the block was written.
    pub durable: u64,
    pub payload: &'a [u8],
}

impl LogArea {
    /// The log of a commit.
    pub fn of(superblock: &Superblock) -> Self {
        let Superblock { ref log, page_bytes, salt, epoch, .. } = *superblock;
        let (page_bytes, weights) = (page_bytes as usize, superblock.weight_type());
        Self { pages: log.clone(), page_bytes, salt, epoch, weights }
    }

    pub fn blocks(&self) -> u64 {
        (self.pages.end - self.pages.start) * self.blocks_per_page()
    }

    fn blocks_per_page(&self) -> u64 {
        (self.page_bytes / LOG_BLOCK_BYTES) as u64
    }

    /// Offset of a block on the device.
    pub fn offset(&self, block: u64) -> u64 {
        self.pages.start * self.page_bytes as u64 + block * LOG_BLOCK_BYTES as u64
    }

    /// The physical page of a block.
    pub fn page_of(&self, block: u64) -> PageId {
        self.pages.start + block / self.blocks_per_page()
    }

    /// The number of a block in checksums: its place on the device, in blocks.
    fn number(&self, block: u64) -> u64 {
        self.pages.start * self.blocks_per_page() + block
    }

    /// Blocks of a flush of so many bytes.
    pub fn blocks_for(bytes: usize) -> u64 {
        bytes.div_ceil(PAYLOAD_BYTES) as u64
    }

    /// The blocks of a flush, to be written to [`LogArea::offset`] of its first one. All flushes up
    /// to `durable` are on stable storage.
    pub fn encode(&self, place: FlushPlace, durable: u64, batches: &[u8]) -> Result<Buffer> {
        let parts = batches.chunks(PAYLOAD_BYTES);
        let blocks = parts.len();
        let mut buffer = Buffer::new(blocks * LOG_BLOCK_BYTES)?;
        for ((at, part), block) in (0u32..).zip(parts).zip(buffer.chunks_mut(LOG_BLOCK_BYTES)) {
            block[HEADER_BYTES..HEADER_BYTES + part.len()].copy_from_slice(part);
            let header = PageHeader {
                first: at,
                entries: part.len() as u32,
                head_skip: place.number,
                head_degree: blocks as u64,
                tail_degree: durable,
                epoch: self.epoch,
                ..PageHeader::new(PageKind::Log)
            };
            header.seal(block, self.salt, self.number(place.block + u64::from(at)));
        }
        Ok(buffer)
    }

    pub(super) fn decode<'a>(&self, block: u64, bytes: &'a [u8]) -> Found<'a> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Found::Unwritten;
        }
        let epoch = PageHeader::read(bytes).epoch;
        let identity = Identity { salt: self.salt, physical: self.number(block), epoch };
        let header = match header::verify(bytes, &identity, PageKind::Log) {
            Ok(_) if epoch < self.epoch => return Found::Unwritten,
            Ok(header) => header,
            Err(fault) => return Found::Bad(fault),
        };
        match self.part(&header, bytes) {
            Ok(part) => Found::Part(part),
            Err(fault) => Found::Bad(fault),
        }
    }

    fn part<'a>(&self, header: &PageHeader, bytes: &'a [u8]) -> Result<Part<'a>, PageFault> {
        if header.epoch != self.epoch {
            return Err(PageFault::Epoch { found: header.epoch, expected: self.epoch });
        }
        let (at, blocks) = (u64::from(header.first), header.head_degree);
        at_most("bytes of a block", header.entries.into(), PAYLOAD_BYTES as u64)?;
        at_most("blocks of a flush", blocks, self.blocks())?;
        let is_last = at + 1 == blocks;
        if at >= blocks || (!is_last && header.entries as usize != PAYLOAD_BYTES) {
            return Err(other("it is no block of its flush"));
        }
        let (flush, durable) = (header.head_skip, header.tail_degree);
        if header.lists != 0 || header.entries == 0 || durable >= flush {
            return Err(other("its header contradicts itself"));
        }
        let (payload, rest) = bytes[HEADER_BYTES..].split_at(header.entries as usize);
        zero_behind("batch", rest)?;
        Ok(Part { flush, at, blocks, durable, payload })
    }
}
