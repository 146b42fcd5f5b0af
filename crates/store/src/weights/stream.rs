//! Streams the weights of a direction beside a pass over its lists.

use cenote_pool::Handle;

use crate::error::Result;
use crate::pages::Pages;
use crate::stream::{Ahead, PageStream};
use crate::weights::column::{self, WeightColumn};
use crate::weights::slice::Weights;
use crate::words::Words;

/// A stream of weights as ordered bits, one page of lists at a time.
pub(crate) struct WeightStream<'a> {
    pages: &'a Pages,
    column: &'a WeightColumn,
    index: Words<'a>,
    stream: PageStream,
    /// Ordered bits of the last page read; `first` is the address of the first.
    batch: Vec<u64>,
    first: u64,
    /// For pages that the stream does not come to next.
    handle: Option<Handle>,
}

/// Pages that are rather read and passed over than the page behind them is looked up.
const SKIPPED_MAX: u64 = 32;

impl<'a> WeightStream<'a> {
    pub fn new(pages: &'a Pages, column: &'a WeightColumn) -> Result<Self> {
        let index = Words::new(pages, column.index_kind())?;
        let stream = pages.stream(column.section().range(), Ahead::NEAR)?;
        Ok(Self { pages, column, index, stream, batch: Vec::new(), first: 0, handle: None })
    }

    /// Replaces `out` by the weights of the next page of lists; nothing after the last. Calls
    /// `seen` with every page read.
    pub fn next_page(
        &mut self,
        out: &mut Vec<u64>,
        mut seen: impl FnMut(u64, &[u8], &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        out.clear();
        let Some((page, word)) = self.index.next()? else { return Ok(()) };
        let section = self.column.index_kind().name();
        let bad = |fault| self.pages.layout.fault(page, section, fault);
        self.column.check_word(word).map_err(bad)?;
        let wanted = column::addresses(word);
        let mut next = wanted.start;
        while next < wanted.end {
            let held = self.first..self.first + self.batch.len() as u64;
            if !held.contains(&next) {
                self.read(next, &mut seen)?;
                continue;
            }
            let end = wanted.end.min(held.end);
            out.extend_from_slice(
                &self.batch[(next - held.start) as usize..(end - held.start) as usize],
            );
            next = end;
        }
        Ok(())
    }

    /// Steps over the next page of lists.
    pub fn skip_page(&mut self) -> Result<()> {
        self.index.next().map(drop)
    }

    /// Reads the page that holds an address, usually the next page of the stream or one soon
    /// after it. The others are looked up: the stream goes on where it was.
    fn read(
        &mut self,
        address: u64,
        seen: &mut impl FnMut(u64, &[u8], &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        let per_page = self.column.per_page() as u64;
        let page = address / per_page;
        let number = self.column.first_page() + page;
        let next = self.stream.next_page();
        self.batch.clear();
        self.first = page * per_page;
        if !(next..next + SKIPPED_MAX).contains(&number) {
            let handle = match &self.handle {
                Some(handle) => handle,
                None => self.handle.insert(self.pages.handle()?),
            };
            let bytes = self.pages.pin(handle, number)?;
            let weights = self.column.reparse(page, &bytes);
            weights.for_each_ordered(|bits| self.batch.push(bits));
            return seen(number, &bytes, &weights);
        }
        while self.stream.next_page() < number {
            self.stream.next()?;
        }
        let (_, bytes) = self.stream.next()?.expect("the address was checked");
        let weights = self.column.parse(page, bytes)?;
        weights.for_each_ordered(|bits| self.batch.push(bits));
        seen(number, bytes, &weights)
    }
}
