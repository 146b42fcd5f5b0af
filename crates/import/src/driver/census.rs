//! Counts what the inputs have, in little memory, for the error of an import that had too little.
//!
//! Distinct ids are counted by the smallest of their hashes (Bar-Yossef, Jayram, Kumar, Sivakumar
//! and Trevisan, "Counting distinct elements in a data stream", 2002), exactly if they are few.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cenote_device::mix;

use super::Import;
use super::sizing::{Known, block_bytes};
use crate::blocks::{self, Meter, Pass, PassError, Worker};
use crate::budget::Budget;
use crate::config::{IdKind, Input};
use crate::error::{ImportError, Result};
use crate::ids::memory::IdsMemory;
use crate::ids::strings::{Dictionary, hash_of};
use crate::parse::token::{check_name, integer_id_or_name};
use crate::parse::{Fault, Sink};
use crate::report::{Phase, Progress};

/// The least memory of a count: less than any import needs.
const MEMORY_MIN: usize = 4 << 20;
/// Workers of a count.
const WORKERS_MAX: usize = 4;
/// Bytes of the inputs that are counted, about; the rest is taken to be like them.
const BYTES_MAX: f64 = (256 << 20) as f64;
/// Hashes that a count keeps.
const HASHES_MAX: usize = 1 << 12;
/// Counts of more ids than that are off by a few percent.
const MARGIN: f64 = 1.05;
/// Chunks of 65,536 ids below 2^32.
const CHUNKS: usize = 1 << 16;

/// What an input has, and the memory of reading it that depends on its files.
pub(super) struct Counted {
    pub known: Known,
    pub files_bytes: usize,
}

/// The smallest hashes, each with the bytes of its id.
#[derive(Default)]
struct Distinct(BTreeMap<u64, usize>);

impl Distinct {
    fn add(&mut self, hash: u64, bytes: usize) {
        let is_full = self.0.len() >= HASHES_MAX;
        if is_full && self.0.last_key_value().is_some_and(|(&largest, _)| hash >= largest) {
            return;
        }
        self.0.insert(hash, bytes);
        if self.0.len() > HASHES_MAX {
            self.0.pop_last();
        }
    }

    fn join(&mut self, other: Self) {
        other.0.into_iter().for_each(|(hash, bytes)| self.add(hash, bytes));
    }

    /// How many ids there are, about.
    fn count(&self) -> f64 {
        match self.0.last_key_value() {
            Some((&largest, _)) if self.0.len() == HASHES_MAX => {
                let part = largest as f64 / u64::MAX as f64;
                (HASHES_MAX - 1) as f64 / part * MARGIN
            }
            _ => self.0.len() as f64,
        }
    }

    /// Bytes of an id, on average.
    fn mean_bytes(&self) -> f64 {
        self.0.values().sum::<usize>() as f64 / self.0.len().max(1) as f64
    }
}

struct Census {
    edges: u64,
    /// Which chunks have an id.
    chunks: Vec<bool>,
    low: Distinct,
    high: Distinct,
    names: Distinct,
}

impl Default for Census {
    fn default() -> Self {
        let [low, high, names] = [(); 3].map(|()| Distinct::default());
        Self { edges: 0, chunks: vec![false; CHUNKS], low, high, names }
    }
}

impl Census {
    fn join(&mut self, other: Self) {
        self.edges += other.edges;
        self.chunks.iter_mut().zip(other.chunks).for_each(|(all, more)| *all |= more);
        self.low.join(other.low);
        self.high.join(other.high);
        self.names.join(other.names);
    }

    fn integer(&mut self, id: u64) {
        let chunk = self.chunks.get_mut((id >> 16) as usize);
        let ids = if chunk.is_some() { &mut self.low } else { &mut self.high };
        ids.add(mix(id), size_of::<u64>());
        if let Some(chunk) = chunk {
            *chunk = true;
        }
    }

    /// What inputs have that are so many times as large.
    fn known(&self, times: f64) -> Known {
        let whole = |count: f64| (count * times).ceil() as u64;
        let edges = whole(self.edges as f64);
        if !self.names.0.is_empty() {
            let vertices = whole(self.names.count());
            let text = vertices as f64 * self.names.mean_bytes();
            return Known { vertices, edges, ids: Dictionary::memory(vertices, text as usize) };
        }
        let (low, high) = (whole(self.low.count()), whole(self.high.count()));
        let chunks = whole(self.chunks.iter().filter(|&&is_used| is_used).count() as f64);
        let chunks = (chunks as usize).min(CHUNKS);
        Known { vertices: low + high, edges, ids: IdsMemory::of_integers(low, chunks, high) }
    }
}

/// Counts on one thread, and adds that to the count of all.
struct Counter<'a, const INTEGERS: bool> {
    own: Census,
    all: &'a Mutex<Census>,
    /// Whether ids may turn out to be strings.
    auto: bool,
}

impl<const INTEGERS: bool> Sink for Counter<'_, INTEGERS> {
    const INTEGERS: bool = INTEGERS;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        if INTEGERS {
            return integer_id_or_name(token, self.auto);
        }
        check_name(token)?;
        self.own.names.add(mix(hash_of(token)), token.len());
        Ok(0)
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        if INTEGERS { Ok(id) } else { self.id(id.to_string().as_bytes()) }
    }

    fn edge(&mut self, source: u64, target: u64, _: u64) -> std::result::Result<(), Fault> {
        self.own.edges += 1;
        self.vertex(source)?;
        self.vertex(target)
    }

    fn vertex(&mut self, id: u64) -> std::result::Result<(), Fault> {
        if INTEGERS {
            self.own.integer(id);
        }
        Ok(())
    }
}

impl<const INTEGERS: bool> Worker for Counter<'_, INTEGERS> {
    type Output = ();

    fn finish(self) -> Result<()> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).join(self.own);
        Ok(())
    }
}

/// Ends a count when enough was read, or the import is stopped.
struct Enough<'a> {
    meter: &'a Meter,
    progress: &'a dyn Progress,
}

impl Enough<'_> {
    fn is_read(&self) -> bool {
        let [_, unpacked, _] = self.meter.read();
        unpacked > BYTES_MAX
    }
}

impl Progress for Enough<'_> {
    fn begin(&self, _: Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.is_read() || self.progress.cancelled()
    }
}

impl Import<'_> {
    /// Counts the ids and edges of the inputs. `None` if they can be read only once, or not at all
    /// in the memory of the import.
    pub(super) fn census(&self) -> Result<Option<Counted>> {
        if self.stored.is_some() || self.inputs.iter().any(Input::is_read_once) {
            return Ok(None);
        }
        let integers = match self.config.ids {
            IdKind::String => Err(PassError::NotInteger),
            IdKind::Integer => self.count::<true>(false),
            IdKind::Auto => self.count::<true>(true),
        };
        let counted = match integers {
            Err(PassError::NotInteger) => self.count::<false>(false),
            other => other,
        };
        match counted {
            Ok(counted) => Ok(counted),
            Err(_) if self.progress.cancelled() => Err(ImportError::Cancelled),
            // The import says what is wrong when it has the memory to find it.
            Err(_) => Ok(None),
        }
    }

    fn count<const INTEGERS: bool>(
        &self,
        auto: bool,
    ) -> std::result::Result<Option<Counted>, PassError> {
        let (budget, meter) = (Budget::new(self.budget.limit().max(MEMORY_MIN)), Meter::default());
        let enough = Enough { meter: &meter, progress: self.progress };
        let workers = self.config.workers().min(WORKERS_MAX);
        let block_bytes = block_bytes(MEMORY_MIN, workers);
        let pass = Pass {
            budget: &budget,
            progress: &enough,
            workers,
            block_bytes,
            meter: &meter,
            ..self.pass(false)
        };
        let all = Mutex::new(Census::default());
        let make = || Ok(Counter::<INTEGERS> { own: Census::default(), all: &all, auto });
        let times = match blocks::run(&pass, make) {
            Ok(_) => 1.0,
            Err(PassError::Import(ImportError::Cancelled)) if !self.progress.cancelled() => {
                let [read, ..] = meter.read();
                let Some(bytes) = self.input_bytes() else { return Ok(None) };
                (bytes as f64 / read.max(1.0)).max(1.0)
            }
            Err(error) => return Err(error),
        };
        let census = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let others = budget.peak() - blocks::pass_memory(workers, block_bytes);
        let files_bytes = match meter.pages.into_inner() {
            0 => others,
            pages => pages + meter.window.into_inner(),
        };
        Ok(Some(Counted { known: census.known(times), files_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ids_are_counted_exactly_and_many_within_some_percent() {
        for (ids, repeats) in [(0u64, 1), (1, 5), (4000, 3), (100_000, 2), (1_000_000, 1)] {
            let mut distinct = Distinct::default();
            for _ in 0..repeats {
                (0..ids).for_each(|id| distinct.add(mix(id), 8));
            }
            let ratio = (distinct.count() + 1.0) / (ids as f64 + 1.0);
            assert!((1.0..1.1).contains(&ratio), "{ids}: {ratio}");
        }
    }
}
