//! The pages of a graph as its writer makes them: one after the other, each sealed in its place.

use std::sync::Arc;

use cenote_device::{Buffer, Device};
use cenote_pool::append::Append;

use crate::error::Result;
use crate::format::PageHeader;

const REQUEST_BYTES: usize = 1 << 20;
const IN_FLIGHT_MAX: usize = 4;

/// The pages of a file behind page 0, in order.
pub(crate) struct PageSink {
    append: Append,
    salt: u64,
}

impl PageSink {
    /// Memory of all buffers.
    pub const MEMORY_BYTES: usize = Append::memory_bytes(IN_FLIGHT_MAX, REQUEST_BYTES);

    pub fn new(device: Arc<dyn Device>, page_bytes: usize, salt: u64) -> Result<Self> {
        let append = Append::new(device, IN_FLIGHT_MAX, REQUEST_BYTES, page_bytes, 1)?;
        Ok(Self { append, salt })
    }

    /// How errors name the file.
    pub fn file(&self) -> String {
        self.append.device().name()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.append.page_bytes()
    }

    /// Number of the page that is being built.
    pub fn page_number(&self) -> u64 {
        self.append.page_id()
    }

    /// The page that is being built; zeroed at first.
    #[inline]
    pub fn page(&mut self) -> &mut [u8] {
        self.append.page()
    }

    /// The page is complete but for its header and checksum.
    pub fn seal(&mut self, header: PageHeader) -> Result<()> {
        let (salt, number) = (self.salt, self.page_number());
        header.seal(self.page(), salt, number);
        Ok(self.append.advance()?)
    }

    /// Returns when every page so far is on the device and can be read.
    pub fn settle(&mut self) -> Result<()> {
        Ok(self.append.settle()?)
    }

    /// Where the pages go.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.append.device()
    }

    /// Writes what is left, cuts the file to its length and returns when all is on stable storage.
    /// The number of pages, page 0 included.
    pub fn finish(&mut self) -> Result<u64> {
        Ok(self.append.finish()?)
    }

    /// Writes page 0, last of all, and syncs it.
    pub fn write_first(&mut self, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        let (device, page_bytes) = (self.append.device(), self.page_bytes());
        let mut buffer = Buffer::new(page_bytes)?;
        fill(&mut buffer);
        cenote_device::write_all(device.as_ref(), 0, page_bytes, buffer)?;
        device.sync()?;
        Ok(())
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
    fn who_goes_on_after_a_failed_write_is_told_that_the_graph_is_not_whole() {
        const EIO: i32 = 5;
        let faults = FaultPlan::none().with(When::Write(0), Effect::Errno(EIO));
        let config = SimConfig { faults, ..SimConfig::new(Preset::all()[0].model()) };
        let mut sink = PageSink::new(Arc::new(SimDevice::new(config)), 65_536, 1).unwrap();
        let mut seal = || sink.seal(PageHeader::new(PageKind::Degrees));
        let fault = std::iter::repeat_with(&mut seal).find_map(Result::err);
        assert!(matches!(fault, Some(StoreError::Device(_))), "{fault:?}");
        let fault = std::iter::repeat_with(&mut seal).find_map(Result::err);
        assert!(matches!(fault, Some(StoreError::Poisoned { .. })), "{fault:?}");
        assert!(matches!(sink.finish(), Err(StoreError::Poisoned { .. })));
    }
}
