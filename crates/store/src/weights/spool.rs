//! Writes a column of weights while its lists are being packed.
//!
//! The column's section follows the lists, whose number of pages is known only at their end, and
//! only then is it known how few bytes a weight needs. So the weights wait on a scratch device, in
//! pages of their full format that are sealed for their place there, and are written again to the
//! graph.

use std::sync::Arc;

use cenote_device::Device;

use crate::error::Result;
use crate::format::{EPOCH_OF_IMPORT, HEADER_BYTES, PageKind, SLOTS};
use crate::header::{self, Identity, PageHeader};
use crate::sink::{PageSink, PageTarget};
use crate::stream::{Ahead, PageStream};
use crate::table::PageTable;
use crate::weights::column::per_page;
use crate::weights::format::WeightFormat;
use crate::weights::slice::Weights;
use crate::weights::summary::Tally;
use crate::weights::value::WeightType;

/// The weights of one direction, in the order of the entries.
pub(crate) struct Spool {
    kind: WeightType,
    scratch: WeightPages,
    sink: PageSink,
    device: Arc<dyn Device>,
    salt: u64,
    pub tally: Tally,
}

/// Pages of weights that are written one after the other.
struct WeightPages {
    format: WeightFormat,
    per_page: usize,
    /// Number of weights in the page that is being filled.
    filled: usize,
    /// Number of weights in the pages before.
    count: u64,
}

impl WeightPages {
    fn new(format: WeightFormat, page_bytes: usize) -> Self {
        Self { format, per_page: per_page(format, page_bytes), filled: 0, count: 0 }
    }

    /// Appends a weight, as ordered bits.
    #[inline]
    fn push(&mut self, weight: u64, sink: &mut PageSink) -> Result<()> {
        let bytes = self.format.bytes();
        let at = HEADER_BYTES + self.filled * bytes;
        self.format.put(weight, &mut sink.page()[at..at + bytes]);
        self.filled += 1;
        if self.filled == self.per_page { self.close(sink) } else { Ok(()) }
    }

    /// Appends weights, in the format of these pages or another.
    fn extend(&mut self, weights: Weights<'_>, sink: &mut PageSink) -> Result<()> {
        let mut done = 0;
        while done < weights.len() {
            let now = (self.per_page - self.filled).min(weights.len() - done);
            let place = |filled: usize| HEADER_BYTES + filled * self.format.bytes();
            let into = &mut sink.page()[place(self.filled)..place(self.filled + now)];
            weights.slice(done..done + now).put(self.format, into);
            (self.filled, done) = (self.filled + now, done + now);
            if self.filled == self.per_page {
                self.close(sink)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, sink: &mut PageSink) -> Result<()> {
        let mut header = PageHeader::new(PageKind::Weights);
        header.entries = self.filled as u32;
        header.head_skip = self.count;
        self.count += self.filled as u64;
        self.filled = 0;
        sink.seal(header)
    }

    /// Closes the last page. Returns the number of weights.
    fn finish(&mut self, sink: &mut PageSink) -> Result<u64> {
        if self.filled > 0 {
            self.close(sink)?;
        }
        Ok(self.count)
    }
}

impl Spool {
    pub const MEMORY_BYTES: usize = PageSink::MEMORY_BYTES;

    /// An empty column. Overwrites the device.
    pub fn new(
        kind: WeightType,
        device: Arc<dyn Device>,
        page_bytes: usize,
        salt: u64,
    ) -> Result<Self> {
        let sink = PageSink::new(Arc::clone(&device), page_bytes, salt)?;
        let scratch = WeightPages::new(WeightFormat::full(kind), page_bytes);
        Ok(Self { kind, scratch, sink, device, salt, tally: Tally::new(kind) })
    }

    pub fn extend(&mut self, ordered: &[u64]) -> Result<()> {
        for &weight in ordered {
            self.tally.add(weight);
            self.scratch.push(weight, &mut self.sink)?;
        }
        Ok(())
    }

    /// Writes all weights to the graph's file, in the shortest format. Returns their number.
    pub fn move_to(&mut self, graph: &mut PageSink) -> Result<u64> {
        let count = self.scratch.finish(&mut self.sink)?;
        let end = self.sink.finish()?;
        let page_bytes = self.sink.page_bytes();
        let (table, pages) = (PageTable::unmapped(EPOCH_OF_IMPORT), SLOTS..end);
        let mut pages =
            PageStream::new(self.device.as_ref(), &table, page_bytes, pages, Ahead::FAR)?;
        let format = WeightFormat::full(self.kind);
        let mut written = WeightPages::new(self.tally.summary().format(), page_bytes);
        while let Some((page, bytes)) = pages.next()? {
            let identity = Identity { salt: self.salt, physical: page, epoch: EPOCH_OF_IMPORT };
            let header = header::verify(bytes, &identity, PageKind::Weights)
                .map_err(|fault| self.damaged(page, fault))?;
            let end = HEADER_BYTES + header.entries as usize * format.bytes();
            written.extend(Weights::from_bytes(format, &bytes[HEADER_BYTES..end]), graph)?;
        }
        assert_eq!(written.finish(graph)?, count, "all weights were moved");
        Ok(count)
    }

    #[cold]
    fn damaged(&self, page: u64, fault: crate::PageFault) -> crate::StoreError {
        let (file, page_bytes) = (self.sink.file(), self.sink.page_bytes() as u64);
        let section = "spilled weights";
        crate::PageError { file, page, physical: page, page_bytes, section, fault }.into()
    }
}
