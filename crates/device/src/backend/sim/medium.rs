//! The contents of a simulated device, in two layers: a volatile cache over durable bytes.
//!
//! A write is in the cache and in the list of changes until a sync after its completion makes it
//! durable. As on real drives, a sync does not cover writes that are still in flight.
//!
//! When the cache is full, its oldest half becomes durable. The layers and the list share whole
//! chunks, so a write is copied once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::fault::{Fate, FaultPlan, SECTOR_BYTES, mix, torn_sectors};

const CHUNK_BYTES: usize = 4096;

type Chunk = Arc<[u8; CHUNK_BYTES]>;

/// Bytes by chunk; a missing chunk is zero.
type Chunks = HashMap<u64, Chunk, BuildHasherDefault<ChunkHasher>>;

/// Hashes chunk numbers; they come from the program itself, not from untrusted input.
#[derive(Default)]
struct ChunkHasher(u64);

impl Hasher for ChunkHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0, number);
    }
}

/// A change that is not durable yet.
#[derive(Debug)]
enum Change {
    Write(Write),
    SetLen(u64),
}

#[derive(Debug)]
struct Write {
    id: u64,
    offset: u64,
    len: usize,
    pieces: Vec<(Piece, Chunk)>,
    fate: Fate,
    is_complete: bool,
}

impl Write {
    fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

#[derive(Debug)]
pub(super) struct Medium {
    durable: Chunks,
    durable_len: u64,
    /// Newest contents of every changed chunk.
    cache: Chunks,
    len: u64,
    changes: Vec<Change>,
    unsynced_bytes: u64,
    cache_bytes_max: u64,
    writes: u64,
}

impl Medium {
    pub(super) fn of(contents: &[u8], cache_bytes_max: u64) -> Self {
        let len = contents.len() as u64;
        let mut durable = Chunks::default();
        for piece in pieces(0, contents.len()) {
            let chunk = chunk_mut(&mut durable, None, piece.chunk);
            chunk[piece.within()].copy_from_slice(&contents[piece.range()]);
        }
        Self {
            durable,
            durable_len: len,
            cache: Chunks::default(),
            len,
            changes: Vec::new(),
            unsynced_bytes: 0,
            cache_bytes_max,
            writes: 0,
        }
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.len
    }

    pub(super) fn unsynced_bytes(&self) -> u64 {
        self.unsynced_bytes
    }

    /// Fills `bytes` from `offset` up to the end of the device; returns how many.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> usize {
        let reach = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        for piece in pieces(offset, reach) {
            let known = self.cache.get(&piece.chunk).or_else(|| self.durable.get(&piece.chunk));
            let target = &mut bytes[piece.range()];
            match known {
                Some(chunk) => target.copy_from_slice(&chunk[piece.within()]),
                None => target.fill(0),
            }
        }
        reach
    }

    /// Writes to the cache; returns the number for [`Medium::complete`].
    pub(super) fn write(&mut self, offset: u64, data: &[u8], fate: Fate) -> u64 {
        let id = self.writes;
        self.writes += 1;
        let kept = pieces(offset, data.len()).map(|piece| {
            let chunk = chunk_of(&piece, &data[piece.range()]);
            write_piece(&mut self.cache, Some(&self.durable), &piece, &chunk);
            (piece, chunk)
        });
        let (len, kept) = (data.len(), kept.collect());
        let write = Write { id, offset, len, pieces: kept, fate, is_complete: false };
        self.len = self.len.max(write.end());
        self.changes.push(Change::Write(write));
        self.unsynced_bytes += len as u64;
        id
    }

    /// Completes a write: later syncs cover it.
    pub(super) fn complete(&mut self, write: u64) {
        // It is probably among the newest.
        let newest_first = self.changes.iter_mut().rev();
        let mut writes = newest_first.filter_map(|change| match change {
            Change::Write(write) => Some(write),
            Change::SetLen(_) => None,
        });
        if let Some(found) = writes.find(|found| found.id == write) {
            found.is_complete = true;
        }
        if self.unsynced_bytes > self.cache_bytes_max {
            self.make_durable(self.cache_bytes_max / 2);
        }
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        if bytes < self.len {
            truncate(&mut self.cache, Some(&self.durable), bytes);
        }
        self.len = bytes;
        self.changes.push(Change::SetLen(bytes));
    }

    pub(super) fn sync(&mut self) {
        self.make_durable(0);
    }

    /// Makes completed changes durable, oldest first, until `bytes_left` remain in the cache.
    fn make_durable(&mut self, bytes_left: u64) {
        let changes = std::mem::take(&mut self.changes);
        for change in changes {
            let is_enough = bytes_left > 0 && self.unsynced_bytes <= bytes_left;
            match change {
                change if is_enough => self.changes.push(change),
                Change::Write(write) if !write.is_complete => {
                    self.changes.push(Change::Write(write));
                }
                Change::Write(write) => {
                    self.unsynced_bytes -= write.len as u64;
                    write_durably(&mut self.durable, &write, write.fate);
                    self.durable_len = self.durable_len.max(write.end());
                }
                Change::SetLen(bytes) => self.durable_set_len(bytes),
            }
        }
        self.cache.clear();
        for change in &self.changes {
            match change {
                Change::Write(write) => {
                    for (piece, chunk) in &write.pieces {
                        write_piece(&mut self.cache, Some(&self.durable), piece, chunk);
                    }
                }
                Change::SetLen(bytes) => truncate(&mut self.cache, Some(&self.durable), *bytes),
            }
        }
    }

    fn durable_set_len(&mut self, bytes: u64) {
        if bytes < self.durable_len {
            truncate(&mut self.durable, None, bytes);
        }
        self.durable_len = bytes;
    }

    /// The medium after a power cut now.
    pub(super) fn after_power_cut(&self, plan: &FaultPlan) -> Self {
        let mut found = Self::of(&[], self.cache_bytes_max);
        found.durable.clone_from(&self.durable);
        found.durable_len = self.durable_len;
        for (index, change) in self.changes.iter().enumerate() {
            let fate_now = plan.fate_unsynced(index as u64);
            match change {
                Change::Write(write) => {
                    let fate = if write.fate == Fate::Whole { fate_now } else { write.fate };
                    let reach = write_durably(&mut found.durable, write, fate);
                    found.durable_len = found.durable_len.max(reach);
                }
                Change::SetLen(bytes) if fate_now != Fate::Lost => found.durable_set_len(*bytes),
                Change::SetLen(_) => {}
            }
        }
        found.len = found.durable_len;
        found
    }

    /// Flips one bit in every layer.
    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) {
        let (chunk, within) = (offset / CHUNK_BYTES as u64, offset as usize % CHUNK_BYTES);
        let flip = |bytes: &mut Chunk| Arc::make_mut(bytes)[within] ^= 1 << (bit % 8);
        flip(self.durable.entry(chunk).or_insert_with(|| Arc::new([0; CHUNK_BYTES])));
        self.cache.entry(chunk).and_modify(flip);
        for change in &mut self.changes {
            if let Change::Write(write) = change {
                let pieces = write.pieces.iter_mut();
                let touched =
                    pieces.filter(|(p, _)| p.chunk == chunk && p.within().contains(&within));
                touched.for_each(|(_, bytes)| flip(bytes));
            }
        }
    }
}

/// A part of a transfer that lies in one chunk.
#[derive(Debug)]
struct Piece {
    chunk: u64,
    /// First byte in the chunk, and in the transfer.
    start: usize,
    at: usize,
    len: usize,
}

impl Piece {
    fn within(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.len
    }
}

fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == len {
            return None;
        }
        let here = offset + at as u64;
        let start = (here % CHUNK_BYTES as u64) as usize;
        let piece_len = (len - at).min(CHUNK_BYTES - start);
        let piece = Piece { chunk: here / CHUNK_BYTES as u64, start, at, len: piece_len };
        at += piece_len;
        Some(piece)
    })
}

/// A chunk with the bytes of a piece; the rest is zero.
fn chunk_of(piece: &Piece, data: &[u8]) -> Chunk {
    if let Ok(whole) = Chunk::try_from(Arc::<[u8]>::from(data)) {
        return whole;
    }
    let mut bytes = [0; CHUNK_BYTES];
    bytes[piece.within()].copy_from_slice(data);
    Arc::new(bytes)
}

/// The chunk of a layer; a missing one is copied from the layer `below` or zeroed.
fn chunk_mut<'a>(
    layer: &'a mut Chunks,
    below: Option<&Chunks>,
    chunk: u64,
) -> &'a mut [u8; CHUNK_BYTES] {
    let fresh = || {
        let known = below.and_then(|below| below.get(&chunk));
        known.map_or_else(|| Arc::new([0; CHUNK_BYTES]), Arc::clone)
    };
    Arc::make_mut(layer.entry(chunk).or_insert_with(fresh))
}

/// Writes a piece into a layer; whole chunks are shared.
fn write_piece(layer: &mut Chunks, below: Option<&Chunks>, piece: &Piece, bytes: &Chunk) {
    if piece.len == CHUNK_BYTES {
        layer.insert(piece.chunk, Arc::clone(bytes));
        return;
    }
    let target = chunk_mut(layer, below, piece.chunk);
    target[piece.within()].copy_from_slice(&bytes[piece.within()]);
}

/// Zeroes a layer from `len` on, so that a later growth reads zeros.
fn truncate(layer: &mut Chunks, below: Option<&Chunks>, len: u64) {
    let first_whole = len.div_ceil(CHUNK_BYTES as u64);
    layer.retain(|&chunk, _| chunk < first_whole);
    // Zeros must hide the chunks of the layer below.
    for &chunk in below.into_iter().flat_map(HashMap::keys).filter(|&&c| c >= first_whole) {
        layer.insert(chunk, Arc::new([0; CHUNK_BYTES]));
    }
    let within = (len % CHUNK_BYTES as u64) as usize;
    let last = len / CHUNK_BYTES as u64;
    let is_known = layer.contains_key(&last) || below.is_some_and(|b| b.contains_key(&last));
    if within > 0 && is_known {
        chunk_mut(layer, below, last)[within..].fill(0);
    }
}

/// Makes a write durable according to its fate; returns the end of the surviving bytes.
fn write_durably(durable: &mut Chunks, write: &Write, fate: Fate) -> u64 {
    match fate {
        Fate::Lost => 0,
        Fate::Whole => {
            for (piece, bytes) in &write.pieces {
                write_piece(durable, None, piece, bytes);
            }
            write.end()
        }
        Fate::Torn(seed) => {
            let survive = torn_sectors(seed, write.len.div_ceil(SECTOR_BYTES));
            let mut reach = 0;
            for (piece, bytes) in &write.pieces {
                for at in piece.range().step_by(SECTOR_BYTES) {
                    if survive[at / SECTOR_BYTES] {
                        let start = piece.start + (at - piece.at);
                        let len = SECTOR_BYTES.min(piece.range().end - at);
                        let target = chunk_mut(durable, None, piece.chunk);
                        target[start..start + len].copy_from_slice(&bytes[start..start + len]);
                        reach = write.offset + (at + len) as u64;
                    }
                }
            }
            reach
        }
    }
}
