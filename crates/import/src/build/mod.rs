//! The third pass: sorts the ranges and streams their lists to the graph writer.
//!
//! Workers sort ranges, each in its own memory; this thread writes the lists of sorted ranges in
//! order. There is one more set of sort buffers than workers, so that a worker can start its next
//! range while its last one is written. A range with more keys than a set holds (a skewed sample,
//! or an edge that repeats many times) is partitioned again into narrower ranges.

mod by_source;
mod sorter;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use cenote_device::HugeVec;

use self::sorter::sort_ranges;
use crate::error::{ImportError, Result};
use crate::long_list::LongList;
use crate::partition::{KeySpace, RangeBlocks, Ranges};
use crate::report::Progress;
use crate::sort::Record;
use crate::spill::SpillFile;
use crate::workers;
use cenote_store::{GraphWriter, VertexId};

#[derive(Clone, Copy, Debug)]
pub(super) struct BuildSizes {
    pub workers: usize,
    /// Keys in a set of sort buffers.
    pub set_keys: usize,
    /// Largest block on the spill file.
    pub block_bytes: usize,
    /// Bytes of a weight after each key: 0 unless weights are imported.
    pub weight_bytes: usize,
}

impl BuildSizes {
    /// Number of sets of sort buffers.
    pub fn sets(workers: usize) -> usize {
        workers + 1
    }

    /// Bytes of a key in a set: in `keys` and `scratch`, each with its weight, if any.
    pub fn bytes_per_key(weight_bytes: usize) -> usize {
        if weight_bytes == 0 { 16 } else { 32 }
    }

    /// Words of `keys`, or of `scratch`, in a set.
    fn set_words(&self) -> usize {
        self.set_keys * if self.weight_bytes == 0 { 1 } else { 2 }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub space: KeySpace,
    pub file: &'a SpillFile,
    pub ranges: &'a Ranges,
    pub range_blocks: &'a RangeBlocks,
    pub keep_duplicates: bool,
}

/// Where the reversed edges are partitioned, for the lists of sources.
#[derive(Clone, Copy)]
pub(super) struct Reversed<'a> {
    pub file: &'a SpillFile,
    pub ranges: &'a Ranges,
    pub block_bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Built {
    /// List entries.
    pub stored: u64,
    /// Self-loops.
    pub loops: u64,
    /// Keys that repeat another, self-loops excepted.
    pub repeated: u64,
    /// Self-loops that repeat another.
    pub repeated_loops: u64,
}

/// Sort buffers. During the sort: keys, each followed by its weight, if any. Afterwards: lists in
/// `keys`; targets in `scratch` and, from its middle, weights.
struct Set {
    keys: HugeVec<u64>,
    scratch: HugeVec<u64>,
    lists: usize,
    targets: usize,
}

impl Set {
    fn new(sizes: BuildSizes) -> Result<Self> {
        let zeroed = || HugeVec::zeroed(sizes.set_words());
        Ok(Self { keys: zeroed()?, scratch: zeroed()?, lists: 0, targets: 0 })
    }

    /// The keys during the sort.
    fn records<R: Record>(&mut self) -> &mut [R] {
        bytemuck::cast_slice_mut(&mut self.keys)
    }
}

struct Part {
    set: Set,
    last: bool,
    back: Sender<Set>,
}

/// A range and a sorted part of it, or the error of its worker.
type Sent = (usize, Result<Part>);

/// Writes the lists of all `vertices`, and partitions the reversed edges if `reversed` is given.
pub(super) fn build(
    source: Source<'_>,
    reversed: Option<Reversed<'_>>,
    sizes: BuildSizes,
    writer: &mut GraphWriter,
    long_list: LongList<'_>,
    vertices: u64,
    progress: &dyn Progress,
) -> Result<(Built, Option<RangeBlocks>)> {
    let (set_in, set_out) = channel();
    for _ in 0..BuildSizes::sets(sizes.workers) {
        set_in.send(Set::new(sizes)?).expect("the receiver is here");
    }
    let set_out = Mutex::new(set_out);
    let next = AtomicUsize::new(0);
    let (sent_in, sent_out) = channel();
    let ended = AtomicBool::new(false);
    let job = Job { source, reversed, sizes, sets: &set_out, next: &next, ended: &ended, progress };
    std::thread::scope(|scope| {
        let mut handles = Vec::new();
        let mut started = Ok(());
        while started.is_ok() && handles.len() < sizes.workers {
            let (sent, back, job) = (sent_in.clone(), set_in.clone(), &job);
            started = workers::spawn(scope, move || sort_ranges(job, sent, back))
                .map(|handle| handles.push(handle));
        }
        drop((sent_in, set_in));
        let weighted = sizes.weight_bytes > 0;
        let lists = Lists { writer, long_list, weighted, vertices, next_vertex: 0 };
        let ranges = source.ranges.as_slice().len();
        let written = started.and_then(|()| write_parts(lists, sent_out, ranges, progress));
        // `sent_out` is dropped by now. After an error, sends of workers fail, and those that wait
        // for a set get none.
        ended.store(true, Ordering::Relaxed);
        let mut built = Built::default();
        let mut range_blocks = reversed.map(|r| RangeBlocks::new(r.ranges.as_slice().len()));
        let mut failed = None;
        for handle in handles {
            match workers::join(handle) {
                Ok((part, part_blocks)) => {
                    built.add(&part);
                    if let (Some(all), Some(part)) = (&mut range_blocks, part_blocks) {
                        all.add(part);
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        written?;
        failed.map_or(Ok((built, range_blocks)), Err)
    })
}

impl Built {
    fn add(&mut self, other: &Built) {
        self.stored += other.stored;
        self.loops += other.loops;
        self.repeated += other.repeated;
        self.repeated_loops += other.repeated_loops;
    }
}

struct Lists<'a> {
    writer: &'a mut GraphWriter,
    long_list: LongList<'a>,
    weighted: bool,
    vertices: u64,
    next_vertex: u64,
}

fn write_parts(
    mut lists: Lists<'_>,
    sent: Receiver<Sent>,
    ranges: usize,
    progress: &dyn Progress,
) -> Result<()> {
    // Parts of later ranges, at most as many as there are sets.
    let mut early: BTreeMap<usize, Part> = BTreeMap::new();
    let mut range = 0;
    while range < ranges {
        let part = match early.remove(&range) {
            Some(part) => part,
            None => {
                let (of, part) = sent.recv().map_err(|_| ImportError::Cancelled)?;
                let part = part?;
                if of != range {
                    early.insert(of, part);
                    continue;
                }
                part
            }
        };
        if progress.cancelled() {
            return Err(ImportError::Cancelled);
        }
        lists.write(&part.set)?;
        progress.advance(part.set.targets as u64 * 8);
        range += usize::from(part.last);
        // The worker may have ended already.
        let _ = part.back.send(part.set);
    }
    lists.finish()
}

impl Lists<'_> {
    /// Writes the lists of a part. The last one may continue in the next part.
    fn write(&mut self, set: &Set) -> Result<()> {
        let targets: &[u32] = bytemuck::cast_slice(&set.scratch);
        let weights = &set.scratch[set.scratch.len() / 2..];
        let mut at = 0;
        for (index, &list) in set.keys[..set.lists].iter().enumerate() {
            let (vertex, count) = unpack(list);
            let piece = &targets[at..at + count];
            let weights = if self.weighted { &weights[at..at + count] } else { &[] };
            at += count;
            if self.long_list.vertex() != Some(vertex) {
                self.end_long_list()?;
            } else {
                self.long_list.extend(piece, weights)?;
                continue;
            }
            self.skip_to(u64::from(vertex))?;
            if index + 1 == set.lists {
                self.long_list.begin(vertex, piece, weights)?;
            } else {
                self.writer.push_list(piece)?;
                if self.weighted {
                    self.writer.extend_ordered(weights)?;
                }
                self.next_vertex += 1;
            }
        }
        Ok(())
    }

    fn end_long_list(&mut self) -> Result<()> {
        if self.long_list.vertex().is_some() {
            self.long_list.write(self.writer)?;
            self.next_vertex += 1;
        }
        Ok(())
    }

    /// Writes empty lists up to, not including, `vertex`.
    fn skip_to(&mut self, vertex: u64) -> Result<()> {
        while self.next_vertex < vertex {
            self.writer.push_list(&[])?;
            self.next_vertex += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.end_long_list()?;
        self.skip_to(self.vertices)
    }
}

fn pack(vertex: VertexId, count: usize) -> u64 {
    u64::from(vertex) << 32 | count as u64
}

fn unpack(list: u64) -> (VertexId, usize) {
    ((list >> 32) as VertexId, (list & u64::from(u32::MAX)) as usize)
}

/// Interval at which a worker that waits for buffers checks whether the writing side has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

struct Job<'a> {
    source: Source<'a>,
    reversed: Option<Reversed<'a>>,
    sizes: BuildSizes,
    sets: &'a Mutex<Receiver<Set>>,
    next: &'a AtomicUsize,
    ended: &'a AtomicBool,
    progress: &'a dyn Progress,
}

impl Job<'_> {
    /// Receives a set from the writing side. Since workers hold senders of the channel too, it does
    /// not close when the writing side ends.
    fn next_set(&self, sets: &Receiver<Set>) -> std::result::Result<Set, Stop> {
        loop {
            match sets.recv_timeout(POLL_INTERVAL) {
                Ok(set) => return Ok(set),
                Err(RecvTimeoutError::Timeout) if !self.ended.load(Ordering::Relaxed) => {}
                Err(_) => return Err(Stop::Elsewhere),
            }
        }
    }
}

enum Stop {
    Error(ImportError),
    /// The writing side has ended.
    Elsewhere,
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Stop::Error(error)
    }
}
