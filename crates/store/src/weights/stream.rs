//! The weights of a direction beside a pass over its lists.

use crate::error::Result;
use crate::pages::Pages;
use crate::stream::{Ahead, PageStream};
use crate::weights::column::{self, WeightColumn, Weights};
use crate::words::Words;

/// Pulls weights as ordered bits, those of one page of lists after the other.
pub(crate) struct WeightStream<'a> {
    pages: &'a Pages,
    column: &'a WeightColumn,
    index: Words<'a>,
    stream: PageStream,
    /// Ordered bits of the page that was read last, and the address of the first.
    batch: Vec<u64>,
    first: u64,
}

impl<'a> WeightStream<'a> {
    pub fn new(pages: &'a Pages, column: &'a WeightColumn) -> Result<Self> {
        let index = Words::new(pages, column.index_kind())?;
        let stream = pages.stream(column.section().range(), Ahead::NEAR)?;
        Ok(Self { pages, column, index, stream, batch: Vec::new(), first: 0 })
    }

    /// Puts the weights of the next page of lists into the cleared `out`; none behind the last.
    /// `seen` hears of every page that is read.
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

    /// Reads the page that holds an address: as a rule the next one.
    fn read(
        &mut self,
        address: u64,
        seen: &mut impl FnMut(u64, &[u8], &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        let per_page = self.column.per_page() as u64;
        let page = address / per_page;
        if self.stream.next_page() != self.column.first_page() + page {
            let section = self.column.section();
            let rest = section.first_page + page..section.range().end;
            self.stream = self.pages.stream(rest, Ahead::NEAR)?;
        }
        let (number, bytes) = self.stream.next()?.expect("the address was checked");
        let weights = self.column.parse(page, bytes)?;
        self.batch.clear();
        self.first = page * per_page;
        weights.for_each_ordered(self.column.kind(), |bits| self.batch.push(bits));
        seen(number, bytes, &weights)
    }
}
