//! The distances of one band in memory: all of them, or the pages of a few vertices.
//!
//! A search of small steps has few vertices to follow in a band. Then only the 4 KiB of the state
//! file that hold their distances are read and written; other vertices of the band get messages, as
//! those of other bands do.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Bitmap, HugeVec, STATE_ALIGN_BYTES, StateFile, VertexId};

use super::super::length::UNREACHED;
use crate::bands::Layout;
use crate::parallel;
use crate::report::Result;

/// Distances in 4 KiB.
const PAGE_VERTICES: usize = STATE_ALIGN_BYTES as usize / 8;

/// A band is read in part if at most one page in so many is needed: single pages take longer.
const SPARSE_SHARE: usize = 8;

/// The band.
pub(super) struct Band {
    pub range: Range<VertexId>,
    pub distances: HugeVec<AtomicU64>,
    /// Whether each page is in memory.
    loaded: Vec<bool>,
}

impl Band {
    /// The most bytes beside the distances.
    pub fn more_bytes(vertices: usize) -> u64 {
        vertices.div_ceil(PAGE_VERTICES) as u64
    }

    pub fn new(layout: &Layout) -> Result<Self> {
        let len = layout.band.min(layout.vertices);
        let loaded = vec![false; len.div_ceil(PAGE_VERTICES)];
        Ok(Self { range: 0..0, distances: HugeVec::zeroed(len)?, loaded })
    }

    /// The most vertices to read a band in part for them.
    pub fn sparse_max(&self) -> usize {
        self.loaded.len() / SPARSE_SHARE
    }

    /// Becomes the band of these vertices, all unreached.
    pub fn begin(&mut self, range: Range<VertexId>) {
        self.range = range;
        self.loaded.fill(true);
        parallel::for_each_of(&self.distances, |_, distance| {
            distance.store(UNREACHED, Ordering::Relaxed);
        });
    }

    /// Reads the band of these vertices from its place; if `only` is given, the pages of these.
    pub fn read(
        &mut self,
        range: Range<VertexId>,
        (file, place): (&StateFile, u64),
        only: Option<&[VertexId]>,
    ) -> Result<()> {
        self.loaded.fill(only.is_none());
        for &v in only.into_iter().flatten() {
            self.loaded[(v - range.start) as usize / PAGE_VERTICES] = true;
        }
        self.range = range;
        let parts = self.parts();
        let mut plain = std::mem::replace(&mut self.distances, HugeVec::zeroed(0)?).into_plain();
        let read = parts
            .into_iter()
            .try_for_each(|part| file.read(place + 8 * part.start as u64, &mut plain[part]));
        self.distances = plain.into_atomic();
        Ok(read?)
    }

    /// Writes what is in memory.
    pub fn write(&mut self, (file, place): (&StateFile, u64)) -> Result<()> {
        let parts = self.parts();
        let plain = std::mem::replace(&mut self.distances, HugeVec::zeroed(0)?).into_plain();
        let written = parts
            .into_iter()
            .try_for_each(|part| file.write(place + 8 * part.start as u64, &plain[part]));
        self.distances = plain.into_atomic();
        Ok(written?)
    }

    /// The parts of the band that are in memory.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let len = self.range.len();
        let mut parts: Vec<Range<usize>> = Vec::new();
        for page in (0..self.loaded.len()).filter(|&page| self.loaded[page]) {
            let part = page * PAGE_VERTICES..((page + 1) * PAGE_VERTICES).min(len);
            match parts.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ if part.start < part.end => parts.push(part),
                _ => {}
            }
        }
        parts
    }

    /// Whether all of it is in memory.
    pub fn is_whole(&self) -> bool {
        self.loaded.iter().all(|loaded| *loaded)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        8 * self.parts().iter().map(Range::len).sum::<usize>() as u64
    }

    /// Whether the distance of a vertex is in memory.
    #[inline(always)]
    pub fn has(&self, v: VertexId) -> bool {
        self.range.contains(&v) && self.loaded[(v - self.range.start) as usize / PAGE_VERTICES]
    }

    /// The distance of a vertex that is in memory.
    #[inline(always)]
    pub fn distance(&self, v: VertexId) -> u64 {
        self.distances[(v - self.range.start) as usize].load(Ordering::Relaxed)
    }

    /// Takes a path to a vertex that is in memory; returns whether it is shorter.
    #[inline(always)]
    pub fn lower(&self, v: VertexId, length: u64) -> bool {
        let cell = &self.distances[(v - self.range.start) as usize];
        length < cell.load(Ordering::Relaxed) && length < cell.fetch_min(length, Ordering::Relaxed)
    }

    /// Takes a path to a vertex that is in memory, which becomes active if it is shorter.
    #[inline(always)]
    pub fn shorten(&self, v: VertexId, length: u64, active: &Bitmap) {
        if self.lower(v, length) && !active.contains(v) {
            active.insert(v);
        }
    }
}
