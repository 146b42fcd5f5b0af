//! Reads the log of an epoch.

use cenote_device::{Buffer, Device};

use super::block::{Found, Part};
use super::{FlushPlace, LogArea, LoggedBatch, SECTION, log_page_error};
use crate::error::{PageError, PageFault, Result, StoreError, other};
use crate::format::LOG_BLOCK_BYTES;
use crate::superblock::{IdKind, Superblock};

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Where the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// The place of the next flush.
    pub next: FlushPlace,
    /// What is wrong with the flush that is not whole, if there is one.
    pub cut: Option<PageFault>,
    /// Whether blocks behind the end must be erased before others are written: they could be taken
    /// for the next ones.
    pub has_rest: bool,
}

impl LogEnd {
    /// What is wrong with the flush that is not whole, and in which page it begins.
    pub fn cut_flush(&self, file: &str, superblock: &Superblock) -> Option<PageError> {
        Some(log_page_error(file, superblock, self.next.block, self.cut.clone()?))
    }
}

struct Reader<'a> {
    device: &'a dyn Device,
    area: &'a LogArea,
    /// Blocks that the device has: fewer than those of the log if it ends within.
    blocks: u64,
    file: &'a str,
    /// Of the blocks in the buffer.
    first: u64,
    count: u64,
    buffer: Option<Buffer>,
}

/// Reads the whole flushes of an epoch and passes their batches on. If it is `for_writing`, it
/// reads the blocks behind the end too.
///
/// # Errors
/// Damage, as far as it can be distinguished from a flush that was cut off; errors of `take`, as
/// faults of the first block of the batch's flush.
pub(crate) fn read_log(
    device: &dyn Device,
    file: &str,
    area: &LogArea,
    ids: IdKind,
    for_writing: bool,
    mut take: impl FnMut(LoggedBatch) -> Result<(), PageFault>,
) -> Result<LogEnd> {
    let there = device.len_bytes()?.saturating_sub(area.offset(0)) / LOG_BLOCK_BYTES as u64;
    let blocks = there.min(area.blocks());
    let mut reader = Reader { device, area, blocks, file, first: 0, count: 0, buffer: None };
    let mut next = FlushPlace::FIRST;
    let mut batches = Vec::new();
    let cut = loop {
        batches.clear();
        match reader.flush(next, &mut batches)? {
            Ok(blocks) => {
                let mut rest = batches.as_slice();
                while !rest.is_empty() {
                    let batch = LoggedBatch::decode(&mut rest, ids, area.weights);
                    let taken = batch.and_then(&mut take);
                    taken.map_err(|fault| reader.fault(next.block, fault))?;
                }
                next = FlushPlace { block: next.block + blocks, number: next.number + 1 };
            }
            Err(cut) => break cut,
        }
    };
    let cut = cut.or_else(|| (blocks < area.blocks()).then(|| other("the file ends in the log")));
    let has_rest = match for_writing || cut.is_some() {
        true => reader.look_behind(next, cut.as_ref())?,
        false => false,
    };
    Ok(LogEnd { next, cut, has_rest })
}

impl Reader<'_> {
    /// Appends the payload of a flush; its blocks, or what is wrong with it: nothing if it was
    /// never written.
    fn flush(
        &mut self,
        place: FlushPlace,
        payload: &mut Vec<u8>,
    ) -> Result<Result<u64, Option<PageFault>>> {
        let mut blocks = 1;
        let mut at = 0;
        while at < blocks {
            let number = place.block + at;
            if number == self.blocks {
                let cut = (at > 0).then(|| other("it does not end before the log does"));
                return Ok(Err(cut));
            }
            match self.block(number)? {
                Found::Part(part) if part.flush == place.number && part.at == at => {
                    if at > 0 && part.blocks != blocks {
                        return Ok(Err(Some(other("its blocks differ in their number"))));
                    }
                    blocks = part.blocks;
                    payload.extend_from_slice(part.payload);
                }
                Found::Part(Part { flush, at: found, .. }) => {
                    let reason = format!("block {found} of flush {flush} is in its place");
                    return Ok(Err(Some(other(reason))));
                }
                Found::Unwritten if at == 0 => return Ok(Err(None)),
                Found::Unwritten => return Ok(Err(Some(other("its end was not written")))),
                Found::Bad(fault) => return Ok(Err(Some(fault))),
            }
            at += 1;
        }
        Ok(Ok(blocks))
    }

    /// Whether there is anything of the epoch behind the end. An error if it says that the flush at
    /// the end was durable.
    fn look_behind(&mut self, end: FlushPlace, cut: Option<&PageFault>) -> Result<bool> {
        let mut has_rest = cut.is_some();
        for block in end.block..self.blocks {
            let durable = match self.block(block)? {
                Found::Part(part) => part.durable,
                Found::Unwritten => continue,
                Found::Bad(_) => 0,
            };
            has_rest = true;
            if durable >= end.number {
                let cut = cut.map_or_else(|| "it was not written".to_owned(), PageFault::to_string);
                let reason = format!("flush {} is damaged: {cut}", end.number);
                return Err(self.fault(end.block, other(reason)));
            }
        }
        Ok(has_rest)
    }

    fn block(&mut self, number: u64) -> Result<Found<'_>> {
        if !(self.first..self.first + self.count).contains(&number) {
            let count = (self.blocks - number).min((READ_BYTES / LOG_BLOCK_BYTES) as u64);
            let buffer = match self.buffer.take() {
                Some(buffer) => buffer,
                None => Buffer::new(READ_BYTES)?,
            };
            let (offset, len) = (self.area.offset(number), count as usize * LOG_BLOCK_BYTES);
            self.buffer = Some(cenote_device::read_exact(self.device, offset, len, buffer)?);
            (self.first, self.count) = (number, count);
        }
        let buffer = self.buffer.as_ref().expect("it was just read");
        let at = (number - self.first) as usize * LOG_BLOCK_BYTES;
        Ok(self.area.decode(number, &buffer[at..at + LOG_BLOCK_BYTES]))
    }

    #[cold]
    fn fault(&self, block: u64, fault: PageFault) -> StoreError {
        let physical = self.area.page_of(block.min(self.area.blocks() - 1));
        let (file, page_bytes) = (self.file.into(), self.area.page_bytes as u64);
        PageError { file, page: physical, physical, page_bytes, section: SECTION, fault }.into()
    }
}
