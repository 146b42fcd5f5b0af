//! Decodes packed pages into entries and list starts.
//!
//! No number of a page is trusted: each is bounded before it is used as a position, and a position
//! beyond the page is an error. Prefix sums run over the whole page, regardless of where lists
//! begin, and are corrected per list afterwards. So no branch depends on the length of a list
//! unless it is longer than a stride.

use super::{Base, CODES_PER_BYTE, Fields, Places, items_max, unzigzag};
use crate::VertexId;
use crate::delta::gather::DeltaRoom;
use crate::delta::merged::Merged;
use crate::error::{PageFault, at_most, equal, other};
use crate::header::PageHeader;

/// The most entries that are corrected at a time; those beyond the list are overwritten by the next
/// one.
const STRIDE_MAX: usize = 16;

const CODES_PER_WORD: usize = 8 * CODES_PER_BYTE;

/// Two numbers of at most this many bits fit into a word of eight bytes, from any bit of the first.
const PAIR_BITS_MAX: u8 = 28;

/// Reusable memory that packed pages are decoded into; raw pages use it only for changes.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// A zero, then the prefix sums of the numbers being decoded.
    sums: Vec<u32>,
    entries: Vec<u32>,
    /// In the order of a raw page's table: the start of list 0 is the last.
    starts: Vec<u16>,
    /// The header of the page that they are of. Since it has a checksum of the page, another page
    /// with the same has the same starts.
    starts_of: Option<PageHeader>,
    /// The page with changes, and these.
    pub(crate) merged: Merged,
    pub(crate) room: DeltaRoom,
}

impl Decoded {
    /// Allocates nothing; decoding grows it to the largest page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of memory for pages of at most `entries` and `lists`.
    pub fn bytes_for(entries: usize, lists: usize) -> usize {
        (2 * entries.max(lists) + 3 * STRIDE_MAX) * size_of::<u32>() + lists * size_of::<u16>()
    }

    /// Grows to the size of a page; never shrinks.
    fn reserve(&mut self, entries: usize, lists: usize) {
        grow(&mut self.sums, entries.max(lists) + 1 + STRIDE_MAX);
        grow(&mut self.entries, entries + STRIDE_MAX);
        grow(&mut self.starts, lists);
    }

    /// The entries and starts of the page decoded last.
    pub(crate) fn parts(&self, entries: usize, lists: usize) -> (&[u32], &[u16]) {
        (&self.entries[..entries], &self.starts[..lists])
    }
}

/// Grows without copying: frees the old memory before it allocates.
fn grow<T: Clone + Default>(room: &mut Vec<T>, len: usize) {
    if room.len() < len {
        *room = Vec::new();
        *room = vec![T::default(); len];
    }
}

/// A packed page whose starts are decoded.
pub(crate) struct Opened<'a> {
    fields: Fields,
    /// Vertex of list 0.
    vertex: VertexId,
    lists: usize,
    entries: usize,
    run: NumberRun<'a>,
    /// Progress of [`Opened::bit_of`]: words of 32 codes passed, and the bits of their numbers.
    passed: (usize, usize),
}

/// Decodes the starts of a page whose header agrees with the index.
pub(crate) fn open<'a>(
    bytes: &'a [u8],
    header: &PageHeader,
    decoded: &mut Decoded,
) -> Result<Opened<'a>, PageFault> {
    let (lists, entries) = (usize::from(header.lists), header.entries as usize);
    let limit = items_max(bytes.len());
    for (what, found) in [("number of entries", entries), ("number of lists", lists)] {
        at_most(what, found as u64, limit as u64)?;
    }
    let fields = Fields::read(bytes);
    fields.check()?;
    let length_bits = fields.length_bits as usize;
    let places = Places::new(lists, entries, length_bits.min(bytes.len() * 8));
    if decoded.starts_of != Some(*header) {
        decoded.starts_of = None;
        decoded.reserve(entries, lists);
        decode_starts(bytes, &places, &fields, entries, decoded, lists)?;
        decoded.starts_of = Some(*header);
    }
    let run = NumberRun {
        bytes,
        codes: codes(bytes, places.entry_codes, entries)?,
        bit: places.entries * 8,
        widths: fields.entry_widths,
        step: u32::from(fields.step),
        sum: 0,
    };
    Ok(Opened { fields, vertex: header.first, lists, entries, run, passed: (0, 0) })
}

impl Opened<'_> {
    /// Decodes all entries, without comparing them with the number of vertices.
    pub fn decode(&self, decoded: &mut Decoded) -> Result<(), PageFault> {
        let Decoded { sums, entries, starts, .. } = decoded;
        sums[0] = 0;
        self.run.sum_into(&mut sums[1..=self.entries])?;
        let starts = &starts[..self.lists];
        // No list but the last, whose length is not stored, has 2^bits entries.
        match self.fields.length_widths[3] {
            0..=2 => self.place_lists::<4>(sums, starts, entries),
            3 => self.place_lists::<8>(sums, starts, entries),
            _ => self.place_lists::<STRIDE_MAX>(sums, starts, entries),
        }
        Ok(())
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.lists
    }

    /// Decodes the piece of list `i` alone; fastest in ascending order of `i`.
    pub fn list<'d>(&mut self, i: usize, decoded: &'d mut Decoded) -> Result<&'d [u32], PageFault> {
        let start_of = |i: usize| usize::from(decoded.starts[self.lists - 1 - i]);
        let start = start_of(i);
        let end = if i + 1 == self.lists { self.entries } else { start_of(i + 1) };
        let list = &mut decoded.entries[..end - start];
        let mut bit = self.bit_of(start);
        let (mut sum, mut at) = (0u32, start);
        let (head, rest) = list.split_at_mut(list.len().min(start.wrapping_neg() % CODES_PER_BYTE));
        for out in head {
            let mut code = self.run.codes[at / CODES_PER_BYTE] >> (at % CODES_PER_BYTE * 2);
            sum = sum.wrapping_add(self.run.number(&mut bit, &mut code).ok_or_else(beyond)?);
            *out = sum;
            at += 1;
        }
        let codes = &self.run.codes[at.div_ceil(CODES_PER_BYTE)..end.div_ceil(CODES_PER_BYTE)];
        NumberRun { codes, bit, sum, ..self.run }.sum_into(rest)?;
        if let Some(&with) = list.first() {
            let shift =
                self.first_entry(with, self.vertex.wrapping_add(i as u32)).wrapping_sub(with);
            list.iter_mut().for_each(|entry| *entry = entry.wrapping_add(shift));
        }
        Ok(list)
    }

    /// The bit at which entry `at` starts.
    fn bit_of(&mut self, at: usize) -> usize {
        let (words, codes) = (at / CODES_PER_WORD, at % CODES_PER_WORD);
        if words < self.passed.0 {
            self.passed = (0, 0);
        }
        let (mut word, mut bits) = self.passed;
        while word < words {
            bits += self.run.bits_of(word, CODES_PER_WORD);
            word += 1;
        }
        self.passed = (word, bits);
        self.run.bit + bits + self.run.bits_of(words, codes)
    }

    /// The first entry of a list; `sum` is its stored number plus the step.
    #[inline(always)]
    fn first_entry(&self, sum: u32, vertex: VertexId) -> u32 {
        let stored = sum.wrapping_sub(self.run.step);
        let near = vertex.wrapping_add(unzigzag(stored));
        if self.fields.base == Base::Vertex as u8 { near } else { stored }
    }

    /// Turns prefix sums over the page into entries: those of one list differ from their sums by
    /// the same number.
    fn place_lists<const STRIDE: usize>(&self, sums: &[u32], starts: &[u16], out: &mut [u32]) {
        let mut vertex = self.vertex;
        let mut start = 0;
        let ends = starts[..starts.len() - 1].iter().rev().map(|end| usize::from(*end));
        for end in ends.chain([self.entries]) {
            // Reads of an empty list stay in bounds, and its writes are overwritten.
            let (before, with) = (sums[start], sums[start + 1]);
            let shift = self.first_entry(with.wrapping_sub(before), vertex).wrapping_sub(with);
            while {
                let from: &[u32; STRIDE] = sums[start + 1..].first_chunk().expect("room for all");
                let to: &mut [u32; STRIDE] = out[start..].first_chunk_mut().expect("as reserved");
                *to = from.map(|sum| sum.wrapping_add(shift));
                start += STRIDE;
                start < end
            } {}
            start = end;
            vertex = vertex.wrapping_add(1);
        }
    }
}

/// Decodes the starts of lists, which ascend from 0 to at most `entries`.
fn decode_starts(
    bytes: &[u8],
    places: &Places,
    fields: &Fields,
    entries: usize,
    decoded: &mut Decoded,
    lists: usize,
) -> Result<(), PageFault> {
    let stored = lists.saturating_sub(1);
    let run = NumberRun {
        bytes,
        codes: codes(bytes, places.length_codes, stored)?,
        bit: places.lengths * 8,
        widths: fields.length_widths,
        step: 0,
        sum: 0,
    };
    let sums = &mut decoded.sums[..stored];
    let bits = run.sum_into(sums)? - places.lengths * 8;
    equal("bits of lengths", fields.length_bits.into(), bits as u64)?;
    // Sums of less than 2^16 numbers of 16 bits do not overflow, so they never fall.
    at_most("sum of lengths", sums.last().copied().unwrap_or(0).into(), entries as u64)?;
    let starts = &mut decoded.starts[..lists];
    for (start, sum) in starts.iter_mut().rev().skip(1).zip(sums.iter()) {
        *start = *sum as u16;
    }
    starts[lists - 1] = 0;
    Ok(())
}

fn codes(bytes: &[u8], at: usize, count: usize) -> Result<&[u8], PageFault> {
    bytes.get(at..at + count.div_ceil(CODES_PER_BYTE)).ok_or_else(beyond)
}

#[cold]
fn beyond() -> PageFault {
    other("its numbers lie beyond its end")
}

/// The bits from `bit` on, of which the first 57 are valid.
#[inline(always)]
fn word_at(bytes: &[u8], bit: usize) -> Option<u64> {
    let at = bit / 8;
    let word = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(word) >> (bit % 8))
}

fn mask(width: u8) -> u32 {
    ((1u64 << width) - 1) as u32
}

/// Masks and widths of the two numbers of a pair of codes.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Pair {
    first_mask: u32,
    second_mask: u32,
    first_width: u32,
    both_widths: u32,
}

#[derive(Clone, Copy)]
struct NumberRun<'a> {
    bytes: &'a [u8],
    codes: &'a [u8],
    /// Bit at which the first number starts.
    bit: usize,
    widths: [u8; 4],
    step: u32,
    sum: u32,
}

impl NumberRun<'_> {
    /// Writes the prefix sums of all numbers to `sums`, modulo 2^32. Returns the bit after the
    /// last number.
    fn sum_into(&self, sums: &mut [u32]) -> Result<usize, PageFault> {
        let (whole, rest) = sums.as_chunks_mut::<CODES_PER_BYTE>();
        let (codes, last) = self.codes.split_at(whole.len());
        let sum = if self.widths[3] <= PAIR_BITS_MAX {
            self.sum_pairs(codes, whole)
        } else {
            self.sum_wide(codes, whole)
        };
        let (mut bit, mut sum) = sum.ok_or_else(beyond)?;
        let mut code = last.first().copied().unwrap_or(0);
        for out in rest {
            sum = sum.wrapping_add(self.number(&mut bit, &mut code).ok_or_else(beyond)?);
            *out = sum;
        }
        Ok(bit)
    }

    /// Bits of the numbers of the first `count` codes in a word of 32 codes.
    #[inline]
    fn bits_of(&self, word: usize, count: usize) -> usize {
        const LOW: u64 = 0x5555_5555_5555_5555;
        let rest = &self.codes[(word * 8).min(self.codes.len())..];
        let mut bytes = [0; 8];
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        let below = if count < CODES_PER_WORD { (1 << (2 * count)) - 1 } else { u64::MAX };
        let codes = u64::from_le_bytes(bytes) & below;
        let ones = |bits: u64| bits.count_ones() as usize;
        let both = ones(codes & codes >> 1 & LOW);
        let (first, second) = (ones(codes & LOW) - both, ones(codes >> 1 & LOW) - both);
        let [w0, w1, w2, w3] = self.widths.map(usize::from);
        (count - first - second - both) * w0 + first * w1 + second * w2 + both * w3
    }

    /// Decodes the next number and shifts its code out of `code`.
    #[inline(always)]
    fn number(&self, bit: &mut usize, code: &mut u8) -> Option<u32> {
        let width = self.widths[usize::from(*code & 3)];
        let number = word_at(self.bytes, *bit)? as u32 & mask(width);
        *code >>= 2;
        *bit += usize::from(width);
        Some(number.wrapping_add(self.step))
    }

    fn sum_wide(&self, codes: &[u8], sums: &mut [[u32; 4]]) -> Option<(usize, u32)> {
        let (mut bit, mut sum) = (self.bit, self.sum);
        for (out, code) in sums.iter_mut().zip(codes) {
            let mut code = *code;
            for out in out {
                sum = sum.wrapping_add(self.number(&mut bit, &mut code)?);
                *out = sum;
            }
        }
        Some((bit, sum))
    }

    /// Decodes two numbers from each word.
    fn sum_pairs(&self, codes: &[u8], sums: &mut [[u32; 4]]) -> Option<(usize, u32)> {
        let pairs = self.pairs();
        let step = self.step;
        let (mut bit, mut sum) = (self.bit, self.sum);
        for (out, code) in sums.iter_mut().zip(codes) {
            let [low, high] = [&pairs[usize::from(code & 15)], &pairs[usize::from(code >> 4)]];
            let word = word_at(self.bytes, bit)?;
            bit += low.both_widths as usize;
            let a = (word as u32 & low.first_mask).wrapping_add(step);
            let b = ((word >> (low.first_width & 63)) as u32 & low.second_mask).wrapping_add(step);
            let word = word_at(self.bytes, bit)?;
            bit += high.both_widths as usize;
            let c = (word as u32 & high.first_mask).wrapping_add(step);
            let d =
                ((word >> (high.first_width & 63)) as u32 & high.second_mask).wrapping_add(step);
            // Only one addition in four depends on the previous sum.
            let ab = a.wrapping_add(b);
            let abc = ab.wrapping_add(c);
            let before = sum;
            sum = before.wrapping_add(abc.wrapping_add(d));
            *out = [before.wrapping_add(a), before.wrapping_add(ab), before.wrapping_add(abc), sum];
        }
        Some((bit, sum))
    }

    fn pairs(&self) -> [Pair; 16] {
        let mut pairs = [Pair::default(); 16];
        for (codes, pair) in pairs.iter_mut().enumerate() {
            let (first, second) = (self.widths[codes & 3], self.widths[codes >> 2]);
            *pair = Pair {
                first_mask: mask(first),
                second_mask: mask(second),
                first_width: u32::from(first),
                both_widths: u32::from(first) + u32::from(second),
            };
        }
        pairs
    }
}

/// Whether all unused bits of a valid packed page are zero.
pub(crate) fn unused_is_zero(bytes: &[u8], lists: usize, entries: usize) -> bool {
    let fields = Fields::read(bytes);
    let length_bits = fields.length_bits as usize;
    let places = Places::new(lists, entries, length_bits);
    let entry_codes = &bytes[places.entry_codes..places.lengths];
    let entry_bits: usize = (0..entries)
        .map(|i| entry_codes[i / CODES_PER_BYTE] >> (i % CODES_PER_BYTE * 2) & 3)
        .map(|code| usize::from(fields.entry_widths[usize::from(code)]))
        .sum();
    // The unused bits after each part.
    let stored = lists.saturating_sub(1);
    let gaps = [
        (places.length_codes * 8 + 2 * stored, places.entry_codes),
        (places.entry_codes * 8 + 2 * entries, places.lengths),
        (places.lengths * 8 + length_bits, places.entries),
        (places.entries * 8 + entry_bits, bytes.len()),
    ];
    gaps.iter().all(|&(bit, end)| {
        let rest = &bytes[bit / 8..end];
        rest.is_empty() || (rest[0] >> (bit % 8) == 0 && rest[1..].iter().all(|byte| *byte == 0))
    })
}
