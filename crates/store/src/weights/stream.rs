//! All weights of a direction in order, beside a pass over its lists.

use crate::error::Result;
use crate::graph::Graph;
use crate::stream::{Ahead, PageStream};
use crate::weights::column::{WeightColumn, Weights};

/// Pulls weights as ordered bits.
pub(crate) struct WeightStream<'a> {
    column: &'a WeightColumn,
    pages: PageStream,
    /// Ordered bits of the page that was read last, and how many of them were taken.
    batch: Vec<u64>,
    at: usize,
}

impl<'a> WeightStream<'a> {
    pub fn new(graph: &'a Graph, column: &'a WeightColumn, ahead: Ahead) -> Result<Self> {
        let pages = graph.stream(column.section(), ahead)?;
        Ok(Self { column, pages, batch: Vec::new(), at: 0 })
    }

    /// Puts the next `count` weights into the cleared `out`; fewer where the column ends. `seen`
    /// hears of every page that is read.
    pub fn take(
        &mut self,
        count: usize,
        out: &mut Vec<u64>,
        mut seen: impl FnMut(u64, &[u8], &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        out.clear();
        while out.len() < count {
            if self.at == self.batch.len() {
                let Some((number, bytes)) = self.pages.next()? else { return Ok(()) };
                let page = number - self.column.first_page();
                self.batch.clear();
                self.at = 0;
                let weights = self.column.parse(page, bytes)?;
                weights.for_each_ordered(self.column.kind(), |bits| self.batch.push(bits));
                seen(number, bytes, &weights)?;
            }
            let rest = &self.batch[self.at..];
            let now = rest.len().min(count - out.len());
            out.extend_from_slice(&rest[..now]);
            self.at += now;
        }
        Ok(())
    }
}
