//! Writes the pages of a new graph in order, each sealed.

use std::sync::Arc;

use cenote_device::Device;
use cenote_pool::append::Append;

use crate::error::Result;
use crate::format::SLOTS;
use crate::header::PageHeader;

const REQUEST_BYTES: usize = 1 << 20;
const IN_FLIGHT_MAX: usize = 4;

/// Destination of the pages of a section, in order.
pub(crate) trait PageTarget {
    /// Whether the content of pages is kept; if not, it need not be written.
    const KEEPS: bool = true;

    /// Bytes of a page.
    fn page_bytes(&self) -> usize;

    /// The page that is being filled; initially zero.
    fn page(&mut self) -> &mut [u8];

    /// Adds header and checksum to the page and starts the next one.
    fn seal(&mut self, header: PageHeader) -> Result<()>;
}

impl PageTarget for PageSink {
    fn page_bytes(&self) -> usize {
        self.append.page_bytes()
    }

    #[inline]
    fn page(&mut self) -> &mut [u8] {
        self.append.page()
    }

    fn seal(&mut self, header: PageHeader) -> Result<()> {
        let (salt, number) = (self.salt, self.page_number());
        header.seal(self.page(), salt, number);
        Ok(self.append.advance()?)
    }
}

/// Writes the pages of a file after its commit slots, in order.
pub(crate) struct PageSink {
    append: Append,
    salt: u64,
}

impl PageSink {
    pub const MEMORY_BYTES: usize = Append::memory_bytes(IN_FLIGHT_MAX, REQUEST_BYTES);

    pub fn new(device: Arc<dyn Device>, page_bytes: usize, salt: u64) -> Result<Self> {
        let append = Append::new(device, IN_FLIGHT_MAX, REQUEST_BYTES, page_bytes, SLOTS)?;
        Ok(Self { append, salt })
    }

    pub fn file(&self) -> String {
        self.append.device().name()
    }

    pub fn page_number(&self) -> u64 {
        self.append.page_id()
    }

    /// Waits until every sealed page is on the device and can be read.
    pub fn settle(&mut self) -> Result<()> {
        Ok(self.append.settle()?)
    }

    pub fn device(&self) -> &Arc<dyn Device> {
        self.append.device()
    }

    /// Writes all pages, truncates the file to its length and syncs. Returns the number of pages
    /// of the file, the slots included.
    pub fn finish(&mut self) -> Result<u64> {
        Ok(self.append.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, When};
    use cenote_device::model::preset::Preset;

    use super::*;
    use crate::error::StoreError;
    use crate::format::PageKind;

    #[test]
    fn writing_on_after_a_failed_write_is_refused_since_the_graph_is_not_whole() {
        const EIO: i32 = 5;
        let faults = FaultPlan::none().with(When::Write(0), Effect::Errno(EIO));
        let config = SimConfig::new(Preset::all()[0].model()).faults(faults);
        let mut sink = PageSink::new(Arc::new(SimDevice::new(config)), 65_536, 1).unwrap();
        let mut seal = || sink.seal(PageHeader::new(PageKind::Degrees));
        let fault = std::iter::repeat_with(&mut seal).find_map(Result::err);
        assert!(matches!(fault, Some(StoreError::Device(_))), "{fault:?}");
        let fault = std::iter::repeat_with(&mut seal).find_map(Result::err);
        assert!(matches!(fault, Some(StoreError::Poisoned { .. })), "{fault:?}");
        assert!(matches!(sink.finish(), Err(StoreError::Poisoned { .. })));
    }
}
