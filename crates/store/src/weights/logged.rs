//! The weights of pages of lists that are read with changes of the log.

use std::ops::Range;

use crate::delta::{WeightPlace, WeightRun};
use crate::error::Result;
use crate::index::Adjacency;
use crate::page::Page;
use crate::weights::column::WeightColumn;

impl Adjacency {
    /// How many changes of the log a page is read with, in a graph with weights: each adds or
    /// deletes an entry, or gives one another weight.
    #[inline]
    pub fn weight_edits(&self, page: u64) -> usize {
        self.delta().map_or(0, |delta| delta.weight_edits(page))
    }

    /// Where the weights of a page are whose `lists` were read with changes of the log: ascending
    /// and adjacent, all of them. `None` if the log changes nothing in the page; then they are at
    /// [`WeightColumn::addresses_of`], in the order of the entries.
    ///
    /// # Errors
    /// The page contradicts the log or the weight index.
    ///
    /// # Panics
    /// As [`WeightColumn::addresses_of`].
    pub fn weight_runs(
        &self,
        page: u64,
        column: &WeightColumn,
        lists: &Page<'_>,
    ) -> Result<Option<Vec<WeightRun<'_>>>> {
        let Some(delta) = self.delta() else { return Ok(None) };
        let runs = delta.weight_runs(page, column.addresses_of(page), lists);
        runs.map_err(|fault| self.fault(page, fault))
    }

    /// As [`Adjacency::weight_runs`], of some entries of the page, whether the log changes any or
    /// not.
    ///
    /// # Errors
    /// As [`Adjacency::weight_runs`].
    ///
    /// # Panics
    /// As [`Adjacency::weight_runs`].
    pub fn weight_runs_of(
        &self,
        page: u64,
        column: &WeightColumn,
        lists: &Page<'_>,
        entries: Range<usize>,
    ) -> Result<Vec<WeightRun<'_>>> {
        match self.weight_runs(page, column, lists)? {
            Some(runs) => Ok(runs.iter().filter_map(|run| run.within(&entries)).collect()),
            None => {
                let address = column.addresses_of(page).start + entries.start as u64;
                Ok(vec![WeightRun { entries, place: WeightPlace::Stored(address) }])
            }
        }
    }

    /// Replaces the weights of a page as on the device by those with the changes of the log, as
    /// ordered bits; `lists` are those of the page with its changes.
    pub(crate) fn merge_weights(
        &self,
        page: u64,
        lists: &Page<'_>,
        weights: &mut Vec<u64>,
    ) -> Result<()> {
        let Some(delta) = self.delta() else { return Ok(()) };
        delta.merge_weights(page, lists, weights).map_err(|fault| self.fault(page, fault))
    }
}
