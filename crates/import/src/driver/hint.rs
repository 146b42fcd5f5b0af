//! Names the memory that would suffice for an import that had too little.
//!
//! A refused request only says what was missing at that point; later steps take memory too. After
//! the first pass what the steps need is known. Before its end the inputs are counted for the
//! error; where they can be read only once, the ids still to come are estimated from the part of
//! the input that was parsed.

use std::sync::atomic::Ordering;

use super::Import;
use super::census::Counted;
use super::sizing::{Known, Sizing, block_bytes};
use crate::error::ImportError;
use crate::ids::integers::IntegerSet;
use crate::ids::memory::IdsMemory;
use crate::input;

/// The least edges, and bytes of their ids, of an estimate: an input that can be read only once
/// may have been refused before it was read.
const EDGES_MIN: u64 = 1 << 20;
const IDS_BYTES_MIN: usize = 1 << 20;
/// Most memory for the ids in a byte of text: names of one letter, with their table entries.
const IDS_PER_BYTE: f64 = 32.0;

impl Import<'_> {
    /// Replaces the missing memory in an error by a budget that suffices.
    pub(super) fn with_sufficient_memory(&self, error: ImportError) -> ImportError {
        let ImportError::Memory { input, given, needed, what } = error else { return error };
        let [pages, window] = self.files_bytes();
        // One that was not come to yet.
        let window = window.max(input::largest_window(self.inputs));
        let (known, files_bytes) = match self.known.get() {
            Some(known) => (*known, 0),
            None => match self.census() {
                Ok(Some(Counted { known, files_bytes })) => (known, files_bytes),
                // Behind the pages that were refused there may be as many.
                Ok(None) => (self.estimate(needed), 2 * pages + window),
                Err(stopped) => return stopped,
            },
        };
        let files_bytes = files_bytes.max(pages + window);
        let sizing = Sizing { files_bytes, ..self.sizing() };
        let needed = sizing.sufficient(&known, needed);
        ImportError::Memory { input, given, needed, what }
    }

    pub(super) fn sizing(&self) -> Sizing<'_> {
        Sizing {
            config: self.config,
            rereads: self.can_reread(),
            streams_bytes: self.streams_bytes,
            stored_pass_bytes: self.stored_pass_bytes(),
            files_bytes: self.files_bytes().into_iter().sum(),
        }
    }

    /// The most that pages of Parquet and windows of zstd took, or would have taken.
    fn files_bytes(&self) -> [usize; 2] {
        [&self.meter.pages, &self.meter.window].map(|most| most.load(Ordering::Relaxed))
    }

    /// Estimates the result of the first pass, which had requested `needed` bytes in all.
    fn estimate(&self, needed: usize) -> Known {
        let [read, unpacked, parsed] = self.meter.read();
        let total = self.input_bytes().map_or(4.0, |bytes| bytes as f64 / read.max(1.0));
        // Bytes of the whole input after decompression.
        let bytes = unpacked.max(1.0) * total.max(1.0);
        let most = bytes * IDS_PER_BYTE;
        let is_sample = parsed > 8.0 * block_bytes(self.budget.limit(), 1) as f64;
        let linear = if is_sample { 2.0 * needed as f64 * bytes / parsed } else { most };
        let ids_bytes = (linear.min(most) as usize).max(IDS_BYTES_MIN);
        let (vertices, edges) = (ids_bytes as u64 / 16, (bytes as u64 / 4).max(EDGES_MIN));
        let ids = IdsMemory {
            held: ids_bytes,
            bitmap: IntegerSet::chunk_bytes(vertices as usize),
            beside_bitmap: 0,
            collecting: ids_bytes.max(IntegerSet::COLLECTING_BYTES + IntegerSet::MAP_BYTES),
        };
        Known { vertices, edges, ids }
    }
}
