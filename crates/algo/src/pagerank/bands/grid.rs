//! The entries of bands in blocks, and the kernels that sum and write them.
//!
//! A block holds runs: the vertex as the zigzag difference from that of the run before, and the
//! number of entries, both LEB128 numbers; then the entries' places in the band, 2 to 4 bytes each.

use cenote_engine::{
    BlockRef, BlockWriter, Blocks, EngineError, Kernel, List, Page, Purpose, VertexId,
};

use super::plan::Layout;
use super::sums::{ENTRIES_TOGETHER, Runs};

/// Most bytes of a LEB128 number of 32 bits.
const NUMBER_BYTES_MAX: usize = 5;

/// Collects the entries of one band from the lists of a window.
pub(super) struct FromLists<'a> {
    /// Vertices of the band.
    pub band: (VertexId, VertexId),
    /// Vertices of the window.
    pub window: (VertexId, VertexId),
    /// Adds them up.
    pub add: &'a (dyn Fn(&Runs) + Sync),
}

impl Kernel for FromLists<'_> {
    type Local = Runs;

    fn local(&self) -> Runs {
        Runs::default()
    }

    fn list(&self, runs: &mut Runs, list: &List<'_>) {
        self.collect(runs, list);
        self.add(runs);
    }

    fn page(&self, runs: &mut Runs, page: &Page<'_>, _: &Purpose<'_>) {
        page.lists().for_each(|list| self.collect(runs, &list));
        self.add(runs);
    }
}

impl FromLists<'_> {
    #[inline(always)]
    fn collect(&self, runs: &mut Runs, list: &List<'_>) {
        let (from, to) = self.window;
        if !(from..to).contains(&list.vertex) {
            return;
        }
        let (first, end) = self.band;
        let rest = &list.targets[list.targets.partition_point(|&t| t < first)..];
        let entries = &rest[..rest.partition_point(|&t| t < end)];
        for entries in entries.chunks(ENTRIES_TOGETHER) {
            runs.runs.push((list.vertex - from, entries.len() as u32));
            runs.entries.extend(entries.iter().map(|&t| t - first));
            if runs.entries.len() >= ENTRIES_TOGETHER {
                self.add(runs);
            }
        }
    }

    fn add(&self, runs: &mut Runs) {
        (self.add)(runs);
        runs.clear();
    }
}

/// Writes the entries of a window's lists to the blocks of their bands.
pub(super) struct Scatter<'a> {
    pub blocks: &'a Blocks<'a>,
    pub layout: &'a Layout,
    /// Which bands have blocks.
    pub in_blocks: &'a [bool],
    /// Vertices of the window.
    pub window: (VertexId, VertexId),
}

/// What one worker writes.
pub(super) struct Written<'a> {
    writer: BlockWriter<'a>,
    /// The vertex of the last run of each band's block.
    last: Vec<VertexId>,
    pub result: Result<Vec<(usize, BlockRef)>, EngineError>,
}

impl<'a> Kernel for Scatter<'a> {
    type Local = Written<'a>;

    fn local(&self) -> Written<'a> {
        let last = vec![0; self.layout.bands];
        Written { writer: self.blocks.writer(), last, result: Ok(Vec::new()) }
    }

    fn list(&self, written: &mut Written<'a>, list: &List<'_>) {
        let (from, to) = self.window;
        if !(from..to).contains(&list.vertex) || written.result.is_err() {
            return;
        }
        let mut rest = list.targets;
        while let Some(&first) = rest.first() {
            let band = first as usize / self.layout.band;
            let base = (band * self.layout.band) as VertexId;
            let end = base as u64 + self.layout.band as u64;
            let (own, after) = rest.split_at(rest.partition_point(|&t| u64::from(t) < end));
            rest = after;
            if self.in_blocks[band]
                && let Err(error) = self.append(written, band, list.vertex - from, (own, base))
            {
                written.result = Err(error);
                return;
            }
        }
    }

    fn end(&self, written: &mut Written<'a>) {
        if written.result.is_ok() {
            written.result = written.writer.finish();
        }
    }

    fn is_done(&self, written: &mut Written<'a>) -> bool {
        written.result.is_err()
    }
}

impl Scatter<'_> {
    /// Appends a run, in several blocks if one has no room for it.
    fn append(
        &self,
        written: &mut Written<'_>,
        band: usize,
        v: VertexId,
        (mut entries, base): (&[VertexId], VertexId),
    ) -> Result<(), EngineError> {
        let width = self.layout.entry_bytes();
        while !entries.is_empty() {
            let (is_new, room) = written.writer.room(band, 2 * NUMBER_BYTES_MAX + width)?;
            let last = if is_new { 0 } else { written.last[band] };
            let mut at = put_number(room, zigzag(v.wrapping_sub(last) as i32));
            let fitting = (room.len() - at - NUMBER_BYTES_MAX) / width;
            let (now, after) = entries.split_at(entries.len().min(fitting));
            at += put_number(&mut room[at..], now.len() as u32);
            for (place, &entry) in room[at..].chunks_exact_mut(width).zip(now) {
                place.copy_from_slice(&(entry - base).to_le_bytes()[..width]);
            }
            written.writer.fill(band, at + now.len() * width);
            written.last[band] = v;
            entries = after;
        }
        Ok(())
    }
}

/// Decodes a block.
pub(super) fn decode(mut block: &[u8], width: usize, into: &mut Runs) {
    into.clear();
    let mut v = 0u32;
    while !block.is_empty() {
        v = v.wrapping_add(unzigzag(take_number(&mut block)) as u32);
        let count = take_number(&mut block);
        into.runs.push((v, count));
        let (entries, rest) = block.split_at(count as usize * width);
        block = rest;
        match width {
            2 => into.entries.extend(
                entries.chunks_exact(2).map(|e| u32::from(u16::from_le_bytes([e[0], e[1]]))),
            ),
            3 => into
                .entries
                .extend(entries.chunks_exact(3).map(|e| u32::from_le_bytes([e[0], e[1], e[2], 0]))),
            _ => into.entries.extend(
                entries.chunks_exact(4).map(|e| u32::from_le_bytes([e[0], e[1], e[2], e[3]])),
            ),
        }
    }
}

fn zigzag(number: i32) -> u32 {
    (number << 1 ^ number >> 31) as u32
}

fn unzigzag(number: u32) -> i32 {
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

/// Writes a LEB128 number; returns its bytes.
#[inline(always)]
fn put_number(into: &mut [u8], mut number: u32) -> usize {
    let mut at = 0;
    while number >= 0x80 {
        into[at] = number as u8 | 0x80;
        number >>= 7;
        at += 1;
    }
    into[at] = number as u8;
    at + 1
}

#[inline(always)]
fn take_number(from: &mut &[u8]) -> u32 {
    let (mut number, mut at) = (0, 0);
    loop {
        let byte = from[at];
        number |= u32::from(byte & 0x7f) << (7 * at);
        at += 1;
        if byte < 0x80 || at == NUMBER_BYTES_MAX {
            *from = &from[at..];
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, -1, 63, -64, 64, 100_000, -100_000, i32::MAX, i32::MIN] {
            let mut bytes = [0; NUMBER_BYTES_MAX];
            let len = put_number(&mut bytes, zigzag(number));
            let mut rest = &bytes[..len];
            assert_eq!(unzigzag(take_number(&mut rest)), number);
            assert!(rest.is_empty());
        }
    }
}
