//! Collects lists for one packed page and encodes it.

use super::widths::{LENGTHS, Run, bit_length};
use super::{Base, CODES_PER_BYTE, Fields, Places, items_max, zigzag};
use crate::VertexId;
use crate::format::HEADER_BYTES;

/// Lists and entries to be added before the widths are optimised again.
const OPTIMISE_ITEMS: usize = 16;

/// The lists of a page that is being filled. A list that was added never has to be removed.
#[derive(Clone, Debug)]
pub(crate) struct PackedPage {
    page_bytes: usize,
    /// Bytes that lists may take, with the header.
    bytes_max: usize,
    /// Least gap between entries: 1 where no entry repeats.
    step: u32,
    first: VertexId,
    entries: Vec<u32>,
    /// Length of each list's piece; only the last one may grow.
    pieces: Vec<u32>,
    lengths: Run,
    /// The entries, with the first ones coded by either [`Base`].
    by_zero: Run,
    by_vertex: Run,
    optimised_at: usize,
}

impl PackedPage {
    pub fn new(page_bytes: usize, duplicates_kept: bool, free_bytes: usize) -> Self {
        Self {
            page_bytes,
            bytes_max: page_bytes - free_bytes,
            step: u32::from(!duplicates_kept),
            first: 0,
            entries: Vec::with_capacity(items_max(page_bytes)),
            pieces: Vec::with_capacity(items_max(page_bytes)),
            lengths: Run::new(),
            by_zero: Run::new(),
            by_vertex: Run::new(),
            optimised_at: 0,
        }
    }

    /// Sets how many bytes of an empty page stay free.
    pub fn leave_free(&mut self, free_bytes: usize) {
        assert!(self.pieces.is_empty(), "the page before is written");
        self.bytes_max = self.page_bytes - free_bytes;
    }

    /// Bytes of memory of an empty page.
    pub fn bytes_for(page_bytes: usize) -> usize {
        2 * items_max(page_bytes) * size_of::<u32>()
    }

    pub fn memory_bytes(&self) -> usize {
        (self.entries.capacity() + self.pieces.capacity()) * size_of::<u32>()
    }

    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Adds the list of the next vertex with these entries. Returns whether it fits.
    pub fn begin(&mut self, vertex: VertexId, targets: &[u32]) -> bool {
        if let Some(&before) = self.pieces.last() {
            self.lengths.add(bit_length(before));
        } else {
            self.first = vertex;
        }
        self.pieces.push(targets.len() as u32);
        self.count(vertex, targets, Run::add);
        self.entries.extend_from_slice(targets);
        let fits = self.fits();
        if !fits {
            self.entries.truncate(self.entries.len() - targets.len());
            self.pieces.pop();
            self.count(vertex, targets, Run::remove);
            if let Some(&before) = self.pieces.last() {
                self.lengths.remove(bit_length(before));
            }
        }
        fits
    }

    /// Adds an entry to the last list, which must not be empty. Returns whether it fits.
    pub fn push(&mut self, target: u32) -> bool {
        let last = *self.entries.last().expect("the list has begun");
        let length = bit_length(target - last - self.step);
        self.by_zero.add(length);
        self.by_vertex.add(length);
        self.entries.push(target);
        let fits = self.fits();
        if fits {
            *self.pieces.last_mut().expect("the list has begun") += 1;
        } else {
            self.entries.pop();
            self.by_zero.remove(length);
            self.by_vertex.remove(length);
        }
        fits
    }

    /// Adds the entries of a new list to both runs, or removes them.
    fn count(&mut self, vertex: VertexId, targets: &[u32], change: impl Fn(&mut Run, usize)) {
        let Some(&first) = targets.first() else { return };
        change(&mut self.by_zero, bit_length(first));
        change(&mut self.by_vertex, bit_length(zigzag(first.wrapping_sub(vertex))));
        for pair in targets.windows(2) {
            let length = bit_length(pair[1] - pair[0] - self.step);
            change(&mut self.by_zero, length);
            change(&mut self.by_vertex, length);
        }
    }

    fn fits(&mut self) -> bool {
        let items = self.entries.len() + self.pieces.len();
        if self.entries.len().max(self.pieces.len()) > items_max(self.page_bytes) {
            return false;
        }
        if self.bytes() <= self.bytes_max {
            return true;
        }
        if items < self.optimised_at + OPTIMISE_ITEMS {
            return false;
        }
        self.optimise();
        self.bytes() <= self.bytes_max
    }

    fn optimise(&mut self) {
        self.optimised_at = self.entries.len() + self.pieces.len();
        self.lengths.optimise();
        self.by_zero.optimise();
        self.by_vertex.optimise();
    }

    fn bytes(&self) -> usize {
        let entry_bits = self.by_zero.bits().min(self.by_vertex.bits());
        Places::new(self.pieces.len(), self.entries.len(), self.lengths.bits()).bytes(entry_bits)
    }

    /// Writes the payload into a zeroed page and clears the lists.
    pub fn write(&mut self, page: &mut [u8]) {
        self.optimise();
        assert!(self.bytes() <= self.page_bytes, "the best widths are no worse than any");
        let (base, run) = if self.by_vertex.bits() < self.by_zero.bits() {
            (Base::Vertex, &self.by_vertex)
        } else {
            (Base::Zero, &self.by_zero)
        };
        let fields = Fields {
            entry_widths: run.widths(),
            length_widths: self.lengths.widths(),
            length_bits: self.lengths.bits() as u32,
            base: base as u8,
            step: self.step as u8,
            zero: [0; 2],
        };
        let fields_bytes = bytemuck::bytes_of(&fields);
        page[HEADER_BYTES..HEADER_BYTES + fields_bytes.len()].copy_from_slice(fields_bytes);
        let places = Places::new(self.pieces.len(), self.entries.len(), self.lengths.bits());
        let mut lengths =
            Writer::new(page, places.length_codes, places.lengths, fields.length_widths);
        let stored = self.pieces.len().saturating_sub(1);
        self.pieces[..stored].iter().for_each(|length| lengths.put(*length));
        lengths.finish();
        let mut entries =
            Writer::new(page, places.entry_codes, places.entries, fields.entry_widths);
        self.write_entries(base, &mut entries);
        entries.finish();
        self.clear();
    }

    fn write_entries(&self, base: Base, writer: &mut Writer<'_>) {
        let mut rest = self.entries.as_slice();
        for (vertex, length) in (self.first..).zip(&self.pieces) {
            let (list, after) = rest.split_at(*length as usize);
            if let Some(&first) = list.first() {
                writer.put(match base {
                    Base::Zero => first,
                    Base::Vertex => zigzag(first.wrapping_sub(vertex)),
                });
            }
            list.windows(2).for_each(|pair| writer.put(pair[1] - pair[0] - self.step));
            rest = after;
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.pieces.clear();
        self.lengths.clear();
        self.by_zero.clear();
        self.by_vertex.clear();
        self.optimised_at = 0;
    }
}

/// Writes numbers and their codes into a page.
struct Writer<'a> {
    page: &'a mut [u8],
    widths: [u8; 4],
    /// The code of the numbers of each bit length.
    codes: [u8; LENGTHS],
    /// Position of the byte of the next code, its codes so far, and how many.
    code_at: usize,
    code_byte: u8,
    code_count: u32,
    /// Position of the next four bytes of numbers, the bits that wait for them, and how many: less
    /// than 32. A word that was just stored is not read again, which would wait for the store.
    at: usize,
    waiting: u64,
    waiting_bits: u32,
}

impl<'a> Writer<'a> {
    fn new(page: &'a mut [u8], codes: usize, numbers: usize, widths: [u8; 4]) -> Self {
        let (code_at, at) = (codes, numbers);
        let code = |length| widths.iter().position(|width| usize::from(*width) >= length);
        let codes = std::array::from_fn(|length| code(length).unwrap_or(widths.len()) as u8);
        Self {
            page,
            widths,
            codes,
            code_at,
            code_byte: 0,
            code_count: 0,
            at,
            waiting: 0,
            waiting_bits: 0,
        }
    }

    #[inline]
    fn put(&mut self, value: u32) {
        // The widths were chosen for these numbers: one beyond them has no width.
        let code = self.codes[bit_length(value)];
        let width = self.widths[usize::from(code)];
        self.code_byte |= code << (2 * self.code_count);
        self.code_count += 1;
        if self.code_count as usize == CODES_PER_BYTE {
            self.put_codes();
        }
        self.waiting |= u64::from(value) << self.waiting_bits;
        self.waiting_bits += u32::from(width);
        if self.waiting_bits >= 32 {
            self.page[self.at..self.at + 4].copy_from_slice(&(self.waiting as u32).to_le_bytes());
            self.at += 4;
            self.waiting >>= 32;
            self.waiting_bits -= 32;
        }
    }

    fn put_codes(&mut self) {
        self.page[self.code_at] = self.code_byte;
        self.code_at += 1;
        (self.code_byte, self.code_count) = (0, 0);
    }

    /// Writes what waits.
    fn finish(mut self) {
        if self.code_count > 0 {
            self.put_codes();
        }
        let bytes = self.waiting_bits.div_ceil(8) as usize;
        let waiting = self.waiting.to_le_bytes();
        self.page[self.at..self.at + bytes].copy_from_slice(&waiting[..bytes]);
    }
}
