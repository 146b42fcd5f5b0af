//! Writes a column of weights while its lists are being packed.
//!
//! The column's section follows the lists, whose number of pages is known only at their end. So the
//! pages of weights wait on a scratch device, sealed for their place there, and are sealed again
//! for their place in the graph.

use std::sync::Arc;

use cenote_device::Device;

use crate::error::Result;
use crate::format::{EPOCH_OF_IMPORT, HEADER_BYTES, PageKind, SLOTS};
use crate::header::{self, Identity, PageHeader};
use crate::sink::{PageSink, PageTarget};
use crate::stream::{Ahead, PageStream};
use crate::table::PageTable;
use crate::weights::column::per_page;
use crate::weights::value::{Tally, WeightType};

/// The weights of one direction, in the order of the entries.
pub(crate) struct Spool {
    kind: WeightType,
    per_page: usize,
    sink: PageSink,
    device: Arc<dyn Device>,
    salt: u64,
    /// Number of weights in the page that is being filled.
    filled: usize,
    pub count: u64,
    pub tally: Tally,
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
        let per_page = per_page(kind, page_bytes);
        let tally = Tally::new(kind);
        Ok(Self { kind, per_page, sink, device, salt, filled: 0, count: 0, tally })
    }

    pub fn extend(&mut self, ordered: &[u64]) -> Result<()> {
        for &weight in ordered {
            self.tally.add(weight);
            let raw = self.kind.raw(weight).to_le_bytes();
            let bytes = self.kind.bytes();
            let at = HEADER_BYTES + self.filled * bytes;
            self.sink.page()[at..at + bytes].copy_from_slice(&raw[..bytes]);
            self.filled += 1;
            if self.filled == self.per_page {
                self.close_page()?;
            }
        }
        Ok(())
    }

    fn close_page(&mut self) -> Result<()> {
        let mut header = PageHeader::new(PageKind::Weights);
        header.entries = self.filled as u32;
        header.head_skip = self.count;
        self.count += self.filled as u64;
        self.filled = 0;
        self.sink.seal(header)
    }

    /// Moves all pages to the graph's file. Returns their number.
    pub fn move_to(&mut self, graph: &mut PageSink) -> Result<u64> {
        if self.filled > 0 {
            self.close_page()?;
        }
        let end = self.sink.finish()?;
        let page_bytes = self.sink.page_bytes();
        let (table, pages) = (PageTable::unmapped(EPOCH_OF_IMPORT), SLOTS..end);
        let mut pages =
            PageStream::new(self.device.as_ref(), &table, page_bytes, pages, Ahead::FAR)?;
        while let Some((page, bytes)) = pages.next()? {
            let identity = Identity { salt: self.salt, physical: page, epoch: EPOCH_OF_IMPORT };
            let header = header::verify(bytes, &identity, PageKind::Weights)
                .map_err(|fault| self.damaged(page, fault))?;
            graph.page().copy_from_slice(bytes);
            graph.seal(PageHeader { checksum: 0, ..header })?;
        }
        Ok(end - SLOTS)
    }

    #[cold]
    fn damaged(&self, page: u64, fault: crate::PageFault) -> crate::StoreError {
        let (file, page_bytes) = (self.sink.file(), self.sink.page_bytes() as u64);
        let section = "spilled weights";
        crate::PageError { file, page, physical: page, page_bytes, section, fault }.into()
    }
}
