//! The entries of bands in blocks, and the kernels that sum and write them.
//!
//! A block holds runs: the vertex as the zigzag difference from that of the run before, and the
//! number of entries, both LEB128 numbers; then the entries' places in the band, 2 to 4 bytes each;
//! by weight, then their weights: `f32` in 4 bytes, others as `f64`.

use std::ops::Range;

use cenote_engine::{
    BlockRef, BlockWriter, Blocks, EngineError, Kernel, List, Page, Purpose, VertexId,
    WeightNumber, WeightType, Weights, with_numbers,
};

use super::reach::{Span, by_band};
use super::sums::{ENTRIES_TOGETHER, Runs};

/// Most bytes of a LEB128 number of 32 bits.
const NUMBER_BYTES_MAX: usize = 5;

/// Collects the entries of one band from the lists of a window.
pub(super) struct FromLists<'a> {
    /// Vertices of the band.
    pub band: (VertexId, VertexId),
    /// How many each band has, of which the last may have fewer.
    pub band_vertices: usize,
    /// Vertices of the window.
    pub window: (VertexId, VertexId),
    /// Adds them up.
    pub add: &'a (dyn Fn(&Runs) + Sync),
    /// How many bands there are, if it is not known yet which of them the lists reach.
    pub bands: Option<usize>,
}

/// What one worker collects.
pub(super) struct Collected {
    runs: Runs,
    /// The vertices with entries in each band, if these are not known yet.
    pub spans: Vec<Span>,
}

impl Kernel for FromLists<'_> {
    type Local = Collected;

    fn local(&self) -> Collected {
        let spans = vec![Span::EMPTY; self.bands.unwrap_or(0)];
        Collected { runs: Runs::default(), spans }
    }

    fn list(&self, collected: &mut Collected, list: &List<'_>) {
        self.collect(collected, list, None);
        self.add(&mut collected.runs);
    }

    fn page(&self, collected: &mut Collected, page: &Page<'_>, _: &Purpose<'_>) {
        page.lists().for_each(|list| self.collect(collected, &list, None));
        self.add(&mut collected.runs);
    }

    fn weighted_list(&self, collected: &mut Collected, list: &List<'_>, weights: Weights<'_>) {
        self.collect(collected, list, Some(weights));
    }

    fn end(&self, collected: &mut Collected) {
        self.add(&mut collected.runs);
    }
}

impl FromLists<'_> {
    #[inline(always)]
    fn collect(
        &self,
        Collected { runs, spans }: &mut Collected,
        list: &List<'_>,
        weights: Option<Weights<'_>>,
    ) {
        let (from, to) = self.window;
        if !(from..to).contains(&list.vertex) {
            return;
        }
        if !spans.is_empty() {
            by_band(list.targets, self.band_vertices)
                .for_each(|(band, _)| spans[band].include(list.vertex));
        }
        let (first, end) = self.band;
        let mut at = list.targets.partition_point(|&t| t < first);
        let rest = &list.targets[at..];
        let entries = &rest[..rest.partition_point(|&t| t < end)];
        for entries in entries.chunks(ENTRIES_TOGETHER) {
            runs.runs.push((list.vertex - from, entries.len() as u32));
            runs.entries.extend(entries.iter().map(|&t| t - first));
            if let Some(weights) = weights {
                put_numbers(weights, at..at + entries.len(), &mut runs.weights);
            }
            at += entries.len();
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

/// Appends weights as numbers.
fn put_numbers(weights: Weights<'_>, range: Range<usize>, into: &mut Vec<f64>) {
    let weights = weights.slice(range);
    with_numbers!(weights, numbers => into.extend(numbers.iter().map(|number| number.to_f64())));
}

/// Writes the entries of a window's lists to the blocks of their bands.
pub(super) struct Scatter<'a> {
    pub blocks: &'a Blocks<'a>,
    pub bands: usize,
    /// Vertices of a band.
    pub band: usize,
    pub width: Width,
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
        let last = vec![0; self.bands];
        Written { writer: self.blocks.writer(), last, result: Ok(Vec::new()) }
    }

    fn list(&self, written: &mut Written<'a>, list: &List<'_>) {
        self.scatter(written, list, None);
    }

    fn weighted_list(&self, written: &mut Written<'a>, list: &List<'_>, weights: Weights<'_>) {
        self.scatter(written, list, Some(weights));
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
    fn scatter(&self, written: &mut Written<'_>, list: &List<'_>, weights: Option<Weights<'_>>) {
        let (from, to) = self.window;
        if !(from..to).contains(&list.vertex) || written.result.is_err() {
            return;
        }
        for (band, range) in by_band(list.targets, self.band) {
            let base = (band * self.band) as VertexId;
            let own_weights = weights.map(|weights| weights.slice(range.clone()));
            let own = (&list.targets[range], base, own_weights);
            if self.in_blocks[band]
                && let Err(error) = self.append(written, band, list.vertex - from, own)
            {
                written.result = Err(error);
                return;
            }
        }
    }

    /// Appends a run, in several blocks if one has no room for it.
    fn append(
        &self,
        written: &mut Written<'_>,
        band: usize,
        v: VertexId,
        (mut entries, base, weights): (&[VertexId], VertexId, Option<Weights<'_>>),
    ) -> Result<(), EngineError> {
        let Width { entry, weight } = self.width;
        let (width, mut done) = (entry + weight, 0);
        while !entries.is_empty() {
            let (is_new, room) = written.writer.room(band, 2 * NUMBER_BYTES_MAX + width)?;
            let last = if is_new { 0 } else { written.last[band] };
            let mut at = put_number(room, zigzag(v.wrapping_sub(last) as i32));
            let fitting = (room.len() - at - NUMBER_BYTES_MAX) / width;
            let (now, after) = entries.split_at(entries.len().min(fitting));
            at += put_number(&mut room[at..], now.len() as u32);
            let (places, rest) = room[at..].split_at_mut(now.len() * entry);
            for (place, &target) in places.chunks_exact_mut(entry).zip(now) {
                place.copy_from_slice(&(target - base).to_le_bytes()[..entry]);
            }
            if let Some(weights) = weights {
                put_weights(weights.slice(done..done + now.len()), rest);
            }
            written.writer.fill(band, at + now.len() * width);
            written.last[band] = v;
            (entries, done) = (after, done + now.len());
        }
        Ok(())
    }
}

/// Writes weights to the start of a block's room.
fn put_weights(weights: Weights<'_>, into: &mut [u8]) {
    if !weights.kind().is_integer() {
        let bytes = weights.as_bytes();
        into[..bytes.len()].copy_from_slice(bytes);
        return;
    }
    with_numbers!(weights, numbers => {
        for (place, number) in into.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *place = number.to_f64().to_le_bytes();
        }
    });
}

/// Bytes of what a block has of an entry.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Width {
    /// Of its place in the band.
    pub entry: usize,
    /// Of its weight: 4 for `f32`, 8 for others, 0 without weights.
    pub weight: usize,
}

impl Width {
    /// Those of the entries of a band of so many vertices, with weights of this kind.
    pub fn of(band: usize, weights: Option<WeightType>) -> Self {
        let bits = usize::BITS - (band - 1).leading_zeros();
        let weight = match weights {
            None => 0,
            Some(WeightType::F32) => 4,
            Some(_) => 8,
        };
        Self { entry: (bits as usize).div_ceil(8).clamp(2, 4), weight }
    }
}

/// Decodes a block.
pub(super) fn decode(mut block: &[u8], width: Width, into: &mut Runs) {
    into.clear();
    let mut v = 0u32;
    while !block.is_empty() {
        v = v.wrapping_add(unzigzag(take_number(&mut block)) as u32);
        let count = take_number(&mut block);
        into.runs.push((v, count));
        let (entries, rest) = block.split_at(count as usize * width.entry);
        let (weights, rest) = rest.split_at(count as usize * width.weight);
        block = rest;
        match width.weight {
            0 => {}
            4 => {
                let weights = weights.as_chunks::<4>().0.iter();
                into.weights.extend(weights.map(|&bytes| f64::from(f32::from_le_bytes(bytes))));
            }
            _ => {
                let weights = weights.as_chunks::<8>().0.iter();
                into.weights.extend(weights.map(|&bytes| f64::from_le_bytes(bytes)));
            }
        }
        match width.entry {
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
