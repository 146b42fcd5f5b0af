//! The log of levels: vertices by band, mostly in the order of their levels.
//!
//! A block holds words: vertices, and before the first of a level [`LEVEL`] and that level.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{BlockRef, BlockWriter, Blocks, HugeVec, StateFile, VertexId};

use super::super::UNREACHED;
use crate::bands::Layout;
use crate::parallel::fill;
use crate::report::Result;

/// The word before a level. No vertex has this number.
const LEVEL: u32 = u32::MAX;

/// The log, on the worker thread that made it.
pub(super) struct Log<'a> {
    layout: &'a Layout,
    writer: BlockWriter<'a>,
    /// The level of the last vertex of each band.
    levels: Vec<u32>,
}

impl<'a> Log<'a> {
    /// An empty log in blocks with a slot for each band.
    pub fn new(layout: &'a Layout, blocks: &'a Blocks<'a>) -> Self {
        Self { layout, writer: blocks.writer(), levels: vec![0; layout.bands] }
    }

    /// Appends a vertex: 4 bytes, or 12 if the one before in its band has another level.
    #[inline]
    pub fn push(&mut self, v: VertexId, level: u32) -> Result<()> {
        let band = self.layout.band_of(v);
        let (is_new, room) = self.writer.room(band, 12)?;
        let words = [LEVEL, level, v];
        let skip = if is_new || self.levels[band] != level { 0 } else { 2 };
        let (places, _) = room.as_chunks_mut::<4>();
        for (place, word) in places.iter_mut().zip(&words[skip..]) {
            *place = word.to_le_bytes();
        }
        self.writer.fill(band, 4 * (words.len() - skip));
        self.levels[band] = level;
        Ok(())
    }

    /// Writes what is in memory; returns the blocks of each band.
    pub fn finish(mut self) -> Result<Vec<Vec<BlockRef>>> {
        let mut refs = vec![Vec::new(); self.layout.bands];
        for (band, block) in self.writer.finish()? {
            refs[band].push(block);
        }
        Ok(refs)
    }
}

/// Writes the levels of all vertices to the file, band by band; returns their place.
pub(super) fn write_levels(
    layout: &Layout,
    (file, blocks): (&StateFile, &Blocks<'_>),
    refs: &[Vec<BlockRef>],
) -> Result<u64> {
    let place = file.reserve(4 * layout.vertices as u64);
    let mut levels: HugeVec<AtomicU32> = HugeVec::zeroed(layout.band.min(layout.vertices))?;
    for (band, refs) in refs.iter().enumerate() {
        fill(&levels, UNREACHED);
        let range = layout.range(band);
        let each = |(): &mut (), block: &[u8]| {
            let (words, _) = block.as_chunks::<4>();
            let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
            let mut level = 0;
            while let Some(word) = words.next() {
                match word {
                    LEVEL => level = words.next().unwrap_or_default(),
                    v => levels[(v - range.start) as usize].store(level, Ordering::Relaxed),
                }
            }
            Ok(())
        };
        blocks.for_each(refs, || (), each, |()| Ok(()))?;
        let plain = levels.into_plain();
        file.write(place + 4 * u64::from(range.start), &plain[..range.len()])?;
        levels = plain.into_atomic();
    }
    Ok(place)
}
