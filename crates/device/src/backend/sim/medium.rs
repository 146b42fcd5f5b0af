//! The bytes of a simulated device, in two layers: a volatile cache over what is durable.
//!
//! A write lies in the cache, and in the list of changes, until a sync that comes after its
//! completion makes it durable. A sync says nothing about writes that still are in flight: code
//! that relies on that loses data on real drives, and here.

use std::collections::HashMap;
use std::sync::Arc;

use super::fault::{Fate, FaultPlan, SECTOR_BYTES, torn_sectors};

const CHUNK_BYTES: usize = 4096;

type Chunk = Arc<[u8; CHUNK_BYTES]>;

/// Bytes by chunk; a missing chunk is zero.
type Chunks = HashMap<u64, Chunk>;

/// A change that is not durable yet.
#[derive(Debug)]
enum Change {
    Write { id: u64, offset: u64, data: Box<[u8]>, fate: Fate, is_complete: bool },
    SetLen(u64),
}

#[derive(Debug, Default)]
pub(super) struct Medium {
    durable: Chunks,
    durable_len: u64,
    /// Newest contents of every chunk that a change touched.
    cache: Chunks,
    len: u64,
    changes: Vec<Change>,
    writes: u64,
}

impl Medium {
    pub(super) fn of(contents: &[u8]) -> Self {
        let mut medium = Self { len: contents.len() as u64, ..Self::default() };
        medium.durable_len = medium.len;
        write(&mut medium.durable, None, 0, contents);
        medium
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.len
    }

    pub(super) fn unsynced_bytes(&self) -> u64 {
        let bytes = |change: &Change| match change {
            Change::Write { data, .. } => data.len() as u64,
            Change::SetLen(_) => 0,
        };
        self.changes.iter().map(bytes).sum()
    }

    /// Fills `bytes` from `offset` as far as the device reaches; returns how far.
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

    /// Writes to the cache; returns the name by which [`Medium::complete`] knows it.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], fate: Fate) -> u64 {
        let id = self.writes;
        self.writes += 1;
        write(&mut self.cache, Some(&self.durable), offset, data);
        self.len = self.len.max(offset + data.len() as u64);
        self.changes.push(Change::Write {
            id,
            offset,
            data: data.into(),
            fate,
            is_complete: false,
        });
        id
    }

    /// From now on a sync covers this write.
    pub(super) fn complete(&mut self, write: u64) {
        // The youngest are the likeliest.
        for change in self.changes.iter_mut().rev() {
            if let Change::Write { id, is_complete, .. } = change
                && *id == write
            {
                *is_complete = true;
                return;
            }
        }
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        if bytes < self.len {
            cut(&mut self.cache, Some(&self.durable), bytes);
        }
        self.len = bytes;
        self.changes.push(Change::SetLen(bytes));
    }

    /// Makes every completed write durable, as its fate allows.
    pub(super) fn sync(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        for change in changes {
            match change {
                Change::Write { is_complete: false, .. } => self.changes.push(change),
                Change::Write { offset, ref data, fate, .. } => {
                    settle(&mut self.durable, offset, data, fate);
                    self.durable_len = self.durable_len.max(offset + data.len() as u64);
                }
                Change::SetLen(bytes) => self.durable_set_len(bytes),
            }
        }
        self.cache.clear();
        for change in &self.changes {
            if let Change::Write { offset, data, .. } = change {
                write(&mut self.cache, Some(&self.durable), *offset, data);
            }
        }
    }

    fn durable_set_len(&mut self, bytes: u64) {
        if bytes < self.durable_len {
            cut(&mut self.durable, None, bytes);
        }
        self.durable_len = bytes;
    }

    /// What is found when the power comes back.
    pub(super) fn after_power_cut(&self, plan: &FaultPlan) -> Self {
        let mut found = Self {
            durable: self.durable.clone(),
            durable_len: self.durable_len,
            ..Self::default()
        };
        for (index, change) in self.changes.iter().enumerate() {
            let fate_now = plan.fate_unsynced(index as u64);
            match change {
                Change::Write { offset, data, fate, .. } => {
                    let fate = if *fate == Fate::Whole { fate_now } else { *fate };
                    let reach = settle(&mut found.durable, *offset, data, fate);
                    found.durable_len = found.durable_len.max(reach);
                }
                Change::SetLen(bytes) if fate_now != Fate::Lost => found.durable_set_len(*bytes),
                Change::SetLen(_) => {}
            }
        }
        found.len = found.durable_len;
        found
    }

    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) {
        assert!(offset < self.len, "byte {offset} is beyond the device's {} bytes", self.len);
        let (chunk, within) = (offset / CHUNK_BYTES as u64, offset as usize % CHUNK_BYTES);
        for layer in [&mut self.durable, &mut self.cache] {
            if let Some(bytes) = layer.get_mut(&chunk) {
                Arc::make_mut(bytes)[within] ^= 1 << (bit % 8);
            }
        }
        if !self.durable.contains_key(&chunk) && !self.cache.contains_key(&chunk) {
            let mut bytes = [0; CHUNK_BYTES];
            bytes[within] = 1 << (bit % 8);
            self.durable.insert(chunk, Arc::new(bytes));
        }
    }

    pub(super) fn contents(&self) -> Vec<u8> {
        let len = usize::try_from(self.len).expect("simulated contents fit in memory");
        let mut bytes = vec![0; len];
        self.read(0, &mut bytes);
        bytes
    }
}

/// A part of a transfer that lies in one chunk.
struct Piece {
    chunk: u64,
    /// Where it begins in the chunk, and in the transfer.
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

/// The chunk of a layer, first copied from the layer `below` or zeroed.
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

fn write(layer: &mut Chunks, below: Option<&Chunks>, offset: u64, data: &[u8]) {
    for piece in pieces(offset, data.len()) {
        let target = chunk_mut(layer, below, piece.chunk);
        target[piece.within()].copy_from_slice(&data[piece.range()]);
    }
}

/// Zeroes a layer from `len` on, so that a later growth reads zeros.
fn cut(layer: &mut Chunks, below: Option<&Chunks>, len: u64) {
    let first_whole = len.div_ceil(CHUNK_BYTES as u64);
    layer.retain(|&chunk, _| chunk < first_whole);
    // The layer below still holds them and must not shine through.
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

/// Makes a write durable as far as its fate allows; returns the end of what survived.
fn settle(durable: &mut Chunks, offset: u64, data: &[u8], fate: Fate) -> u64 {
    let mut reach = 0;
    match fate {
        Fate::Lost => {}
        Fate::Whole => {
            write(durable, None, offset, data);
            reach = offset + data.len() as u64;
        }
        Fate::Torn(seed) => {
            let survive = torn_sectors(seed, data.len().div_ceil(SECTOR_BYTES));
            for (index, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                if survive[index] {
                    let at = offset + (index * SECTOR_BYTES) as u64;
                    write(durable, None, at, sector);
                    reach = at + sector.len() as u64;
                }
            }
        }
    }
    reach
}
