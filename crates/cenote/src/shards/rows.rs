//! The edges of a shard, for an import.

use std::sync::Mutex;

use cenote_import::Edge;
use cenote_store::WeightType;

use super::numbers::Numbers;
use crate::error::Error;
use crate::graph::part::put_row;
use crate::graph::{ListBatch, Pass};

/// The entries of lists as edges between numbers.
pub(super) struct Rows<'a> {
    pub pass: Pass,
    pub numbers: &'a Numbers,
    /// For a pass over in-lists: the numbers whose out-lists have these edges already.
    pub of_in_lists: Option<std::ops::Range<u64>>,
    /// Why the lists could not be read.
    pub fault: &'a Mutex<Option<Error>>,
    batch: Option<ListBatch>,
    /// The list and the entry of the batch that come next.
    list: usize,
    entry: usize,
}

impl<'a> Rows<'a> {
    /// The edges of out-lists; with `of_in_lists` those of in-lists from other vertices.
    pub fn new(
        pass: Pass,
        numbers: &'a Numbers,
        of_in_lists: Option<std::ops::Range<u64>>,
        fault: &'a Mutex<Option<Error>>,
    ) -> Self {
        Self { pass, numbers, of_in_lists, fault, batch: None, list: 0, entry: 0 }
    }

    /// The next edge of the batch.
    fn next_of_batch(&mut self) -> Option<Row> {
        let batch = self.batch.as_ref()?;
        while let Some(&vertex) = batch.vertices.get(self.list) {
            let end = batch.offsets[self.list + 1] as usize;
            while self.entry < end {
                let entry = self.entry;
                self.entry += 1;
                let own = self.numbers.number(vertex);
                let other = self.numbers.number(batch.targets[entry]);
                let weight = batch.weights.as_ref().map_or(0.0, |weights| weights[entry]);
                match &self.of_in_lists {
                    None => return Some(Row(Some((own, other, weight)))),
                    Some(known) if known.contains(&other) => {}
                    Some(_) => return Some(Row(Some((other, own, weight)))),
                }
            }
            self.list += 1;
        }
        None
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.next_of_batch() {
                return Some(row);
            }
            (self.batch, self.list, self.entry) = (None, 0, 0);
            match self.pass.next()? {
                Ok(batch) => self.batch = Some(batch),
                Err(error) => {
                    if let Ok(mut fault) = self.fault.lock() {
                        *fault = Some(error);
                    }
                    return Some(Row(None));
                }
            }
        }
    }
}

/// An edge with the numbers of its ends and its weight; `None` ends the import.
pub(super) struct Row(Option<(u64, u64, f64)>);

impl Edge for Row {
    const HAS_NAMES: bool = false;
    const HAS_WEIGHT: bool = true;

    fn put(&self, weights: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String> {
        let edge = self.0.as_ref().map(|(source, target, weight)| (source, target, *weight));
        put_row(edge, weights, rows)
    }
}
