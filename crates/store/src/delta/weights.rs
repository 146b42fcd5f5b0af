//! The weights of entries that the log adds, and of those that get another weight.
//!
//! Weights lie in pages of their own, in the order of the entries of a page of lists as it is on
//! the device. With the changes of the log a page has other entries: [`WeightRun`]s say of each
//! whether its weight is still where it was, or among those of the log, which are in memory. So a
//! run with weights reads the same pages of weights as without a log, and one without weights none.

use std::ops::Range;

use super::ListDelta;
use crate::error::{PageFault, equal, other};
use crate::log::EdgeOp;
use crate::page::Page;
use crate::weights::{WeightFormat, WeightType, Weights};

/// Neighbouring entries of a page of lists with its changes, and where their weights are.
#[derive(Clone, Debug)]
pub struct WeightRun<'d> {
    /// The entries, counted within the page.
    pub entries: Range<usize>,
    /// Their weights.
    pub place: WeightPlace<'d>,
}

impl WeightRun<'_> {
    /// The part of it that is among these entries; `None` if it is empty.
    pub fn within(&self, entries: &Range<usize>) -> Option<Self> {
        let start = self.entries.start.max(entries.start);
        let end = self.entries.end.min(entries.end);
        let skip = start.checked_sub(self.entries.start).filter(|_| start < end)?;
        let place = match self.place {
            WeightPlace::Stored(address) => WeightPlace::Stored(address + skip as u64),
            WeightPlace::Logged(weights) => {
                WeightPlace::Logged(weights.slice(skip..skip + (end - start)))
            }
        };
        Some(Self { entries: start..end, place })
    }
}

/// Where the weights of some entries are.
#[derive(Clone, Copy, Debug)]
pub enum WeightPlace<'d> {
    /// On the device, from this address on.
    Stored(u64),
    /// In memory: they came with the log.
    Logged(Weights<'d>),
}

/// The weights of the changes of a log, in the order of the changes.
#[derive(Debug)]
pub(super) struct LoggedWeights {
    format: WeightFormat,
    /// Their bytes as in the file, one behind the other.
    words: Vec<u64>,
}

impl LoggedWeights {
    /// Of weights as ordered bits.
    pub fn new(kind: WeightType, ordered: impl ExactSizeIterator<Item = u64>) -> Self {
        let format = WeightFormat::full(kind);
        let mut words = vec![0u64; (ordered.len() * format.bytes()).div_ceil(size_of::<u64>())];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for (into, ordered) in bytes.chunks_exact_mut(format.bytes()).zip(ordered) {
            format.put(ordered, into);
        }
        Self { format, words }
    }

    fn slice(&self, of: Range<usize>) -> Weights<'_> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let size = self.format.bytes();
        Weights::from_bytes(self.format, &bytes[of.start * size..of.end * size])
    }

    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

impl ListDelta {
    /// Changes of the log in a page, if they have weights.
    pub fn weight_edits(&self, page: u64) -> usize {
        if self.weights.is_some() { self.edits_of(page).len() } else { 0 }
    }

    /// Where the weights of a page are whose lists, with their changes, are `lists`. On the device
    /// they have these addresses. `None` if the log changes none of its entries.
    pub fn weight_runs(
        &self,
        page: u64,
        addresses: Range<u64>,
        lists: &Page<'_>,
    ) -> Result<Option<Vec<WeightRun<'_>>>, PageFault> {
        let Some(weights) = &self.weights else { return Ok(None) };
        let edits = self.edits_of(page);
        if edits.is_empty() {
            return Ok(None);
        }
        let mut runs: Vec<WeightRun<'_>> = Vec::with_capacity(2 * edits.len() + 1);
        // The next entry, and the address of the next weight on the device.
        let (mut next, mut address) = (0, addresses.start);
        let stored = |entries: Range<usize>, address: u64| {
            let place = WeightPlace::Stored(address);
            (!entries.is_empty()).then_some(WeightRun { entries, place })
        };
        for at in edits {
            let edit = &self.edits[at];
            let list = (edit.owner - lists.first_vertex()) as usize;
            let targets = lists.list(list).targets;
            let within = targets.partition_point(|target| *target < edit.other);
            let is_there = targets.get(within) == Some(&edit.other);
            let op = edit.op();
            if is_there == (op == EdgeOp::Delete) {
                return Err(other("a change gives a weight to an entry that is not there"));
            }
            let entry = lists.start(list) + within;
            runs.extend(stored(next..entry, address));
            address += (entry - next) as u64;
            next = entry;
            if op != EdgeOp::Delete {
                next += 1;
                let place = WeightPlace::Logged(weights.slice(at..at + 1));
                runs.push(WeightRun { entries: entry..next, place });
            }
            // The weight that the entry had is passed over.
            address += u64::from(op != EdgeOp::Add);
        }
        let entries = lists.entries().len();
        runs.extend(stored(next..entries, address));
        let end = address + (entries - next) as u64;
        equal("weights of a page", addresses.end, end)?;
        Ok(Some(runs))
    }

    /// Replaces the weights of a page as they are on the device, as ordered bits, by those with the
    /// changes of the log, as [`ListDelta::weight_runs`].
    pub fn merge_weights(
        &self,
        page: u64,
        lists: &Page<'_>,
        weights: &mut Vec<u64>,
    ) -> Result<(), PageFault> {
        let Some(runs) = self.weight_runs(page, 0..weights.len() as u64, lists)? else {
            return Ok(());
        };
        let stored = std::mem::take(weights);
        for WeightRun { entries, place } in runs {
            match place {
                WeightPlace::Stored(at) => {
                    weights.extend_from_slice(&stored[at as usize..][..entries.len()]);
                }
                WeightPlace::Logged(logged) => {
                    logged.for_each_ordered(|weight| weights.push(weight));
                }
            }
        }
        Ok(())
    }
}
