//! The workers of the third pass: each reads and sorts a range and sends its lists to the writer.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::by_source::Grouping;
use super::{Built, Job, Part, Reversed, Sent, Set, Source, Stop, pack, unpack};
use crate::error::{ImportError, Result};
use crate::partition::{
    Range, RangeBlocks, RangeWriter, Ranges, count, read_records, records, weighted_records,
};
use crate::sort::{self, Record};
use crate::spill::{Extent, SpillReader};

type WorkerResult = Result<(Built, Option<RangeBlocks>)>;

/// Reports a panic of a worker to the writing side, which would wait for its range for ever.
struct Alarm<'a>(&'a Sender<Sent>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send((0, Err(ImportError::Cancelled)));
        }
    }
}

pub(super) fn sort_ranges(job: &Job<'_>, sent: Sender<Sent>, back: Sender<Set>) -> WorkerResult {
    let _alarm = Alarm(&sent);
    let mut range = 0;
    let mut worker = match Sorter::new(job, &sent) {
        Ok(worker) => worker,
        Err(error) => {
            // Through the channel: the writing side may be waiting for a range.
            let _ = sent.send((range, Err(error)));
            return Ok(Default::default());
        }
    };
    let ended = worker.run(&mut range, back);
    let finished = match ended {
        Ok(()) | Err(Stop::Elsewhere) => worker.finish(),
        Err(Stop::Error(error)) => Err(error),
    };
    finished.or_else(|error| {
        let _ = sent.send((range, Err(error)));
        Ok(Default::default())
    })
}

struct Sorter<'a> {
    job: &'a Job<'a>,
    sent: &'a Sender<Sent>,
    reader: SpillReader<'a>,
    reversed: Option<RangeWriter<'a>>,
    built: Built,
}

impl<'a> Sorter<'a> {
    fn new(job: &'a Job<'a>, sent: &'a Sender<Sent>) -> Result<Self> {
        let reader = SpillReader::new(job.source.file, job.sizes.block_bytes)?;
        let weight_bytes = job.sizes.weight_bytes;
        let range_writer =
            |r: Reversed<'a>| RangeWriter::new(r.ranges, r.file, r.block_bytes, weight_bytes);
        let reversed = job.reversed.map(range_writer);
        Ok(Self { job, sent, reader, reversed: reversed.transpose()?, built: Built::default() })
    }

    fn finish(self) -> WorkerResult {
        let range_blocks = self.reversed.map(RangeWriter::finish).transpose()?;
        Ok((self.built, range_blocks))
    }

    fn run(&mut self, at: &mut usize, back: Sender<Set>) -> std::result::Result<(), Stop> {
        loop {
            // Take buffers before a range, so that the lowest unfinished range always has buffers.
            let (set, range) = {
                let sets = self.job.sets.lock().unwrap_or_else(PoisonError::into_inner);
                let range = self.job.next.load(Ordering::Relaxed);
                if range >= self.job.source.ranges.as_slice().len() {
                    return Ok(());
                }
                let set = self.job.next_set(&sets)?;
                (set, self.job.next.fetch_add(1, Ordering::Relaxed))
            };
            *at = range;
            let whole = self.job.source.ranges.as_slice()[range];
            let extents = &self.job.source.range_blocks.extents[range];
            let (own_in, own_out) = channel();
            let task = Task { range, whole, back: &back, own_in, own_out };
            self.range(&task, whole, extents, set)?;
        }
    }

    fn range(
        &mut self,
        task: &Task<'_>,
        range: Range,
        extents: &[Extent],
        mut set: Set,
    ) -> std::result::Result<(), Stop> {
        let count = count(extents);
        if count > self.job.sizes.set_keys as u64 {
            return self.repartition(task, range, extents, set);
        }
        let count = count as usize;
        match self.job.sizes.weight_bytes {
            0 => self.read_keys(range, extents, &mut set.keys[..count])?,
            _ => self.read_weighted(range, extents, count, &mut set)?,
        }
        self.job.source.file.release(extents);
        if self.job.sizes.weight_bytes > 0 {
            self.sort::<[u64; 2]>(range, count, &mut set)?;
        } else if !self.group(range, count, &mut set)? {
            self.sort::<u64>(range, count, &mut set)?;
        }
        self.send(task, range, set)
    }

    /// Makes the lists of a range whose keys were read by grouping them by source. Returns false if
    /// they are to be sorted instead.
    fn group(&mut self, range: Range, count: usize, set: &mut Set) -> Result<bool> {
        let Source { space, keep_duplicates, .. } = self.job.source;
        let Set { keys, scratch, lists, targets } = set;
        let grouping = Grouping { space, range, keep_duplicates };
        let (keys, scratch) = (&mut keys[..count], &mut scratch[..count]);
        let Some(made) = grouping.lists(keys, scratch, pack) else { return Ok(false) };
        (*lists, *targets) = (made.lists, made.targets);
        self.built.add(&made.built);
        let Some(reversed) = &mut self.reversed else { return Ok(true) };
        let mut left: &[u32] = bytemuck::cast_slice(scratch);
        for &list in &keys[..made.lists] {
            let (source, length) = unpack(list);
            let (list, later) = left.split_at(length);
            list.iter().try_for_each(|&target| reversed.push(space.key(target, source), 0))?;
            left = later;
        }
        Ok(true)
    }

    /// Sends a part. Unless it is the last of its range, its buffers return to this worker, which
    /// needs them to continue.
    fn send(&self, task: &Task<'_>, range: Range, set: Set) -> std::result::Result<(), Stop> {
        self.send_piece(task, set, range.last == task.whole.last)
    }

    fn send_piece(&self, task: &Task<'_>, set: Set, last: bool) -> std::result::Result<(), Stop> {
        let back = if last { task.back.clone() } else { task.own_in.clone() };
        let part = Part { set, last, back };
        self.sent.send((task.range, Ok(part))).map_err(|_| Stop::Elsewhere)
    }

    /// Reads the keys of `extents`, which have no weights.
    fn read_keys(&mut self, range: Range, extents: &[Extent], keys: &mut [u64]) -> Result<()> {
        self.check_cancelled()?;
        let key_bytes = range.key_bytes();
        let (mut extents, mut rest) = (extents.iter().copied(), keys);
        self.reader.for_each(
            || extents.next(),
            |bytes, count| {
                let (now, later) = std::mem::take(&mut rest).split_at_mut(count as usize);
                read_records(bytes, key_bytes, now);
                rest = later;
                Ok(())
            },
        )?;
        assert!(rest.is_empty(), "every record was read");
        Ok(())
    }

    /// Reads the records of `extents` with their weights into a set.
    fn read_weighted(
        &mut self,
        range: Range,
        extents: &[Extent],
        count: usize,
        set: &mut Set,
    ) -> Result<()> {
        let mut places = set.records::<[u64; 2]>()[..count].iter_mut();
        self.for_each_record(range, extents, |key, weight| {
            if let Some(place) = places.next() {
                *place = Record::new(key, weight);
            }
            Ok(())
        })?;
        assert_eq!(places.len(), 0, "every record was read");
        Ok(())
    }

    /// Sorts the records of a set and makes the lists of them.
    fn sort<R: Record>(&mut self, range: Range, count: usize, set: &mut Set) -> Result<()> {
        let Set { keys, scratch, .. } = &mut *set;
        let [keys, scratch] =
            [keys, scratch].map(|words| bytemuck::cast_slice_mut::<u64, R>(words));
        sort::sort(&mut keys[..count], &mut scratch[..count]);
        self.compact(range, count, set)
    }

    fn check_cancelled(&self) -> Result<()> {
        if self.job.progress.cancelled() { Err(ImportError::Cancelled) } else { Ok(()) }
    }

    /// Calls `each` with every record of `extents`: the key above the low end of its range, and the
    /// weight (0 unless weights are imported).
    fn for_each_record(
        &mut self,
        range: Range,
        extents: &[Extent],
        mut each: impl FnMut(u64, u64) -> Result<()>,
    ) -> Result<()> {
        self.check_cancelled()?;
        let (key_bytes, weight_bytes) = (range.key_bytes(), self.job.sizes.weight_bytes);
        let mut extents = extents.iter().copied();
        self.reader.for_each(
            || extents.next(),
            |bytes, count| {
                let mut done = Ok(());
                let mut each = |key, weight| {
                    if done.is_ok() {
                        done = each(key, weight);
                    }
                };
                match weight_bytes {
                    0 => records(bytes, key_bytes, count, |key| each(key, 0)),
                    _ => weighted_records(bytes, key_bytes, weight_bytes, count, each),
                }
                done
            },
        )
    }

    fn compact(&mut self, range: Range, count: usize, set: &mut Set) -> Result<()> {
        let Set { keys, scratch, lists, targets } = set;
        let weighted = self.job.sizes.weight_bytes > 0;
        let words = scratch.len();
        let (entries, weights) = scratch.split_at_mut(if weighted { words / 2 } else { words });
        let entries: &mut [u32] = bytemuck::cast_slice_mut(entries);
        let space = self.job.source.space;
        let keep = self.job.source.keep_duplicates;
        (*lists, *targets) = (0, 0);
        let mut list_start = 0;
        let mut before = None;
        for at in 0..count {
            let (key, weight) =
                if weighted { (keys[2 * at], keys[2 * at + 1]) } else { (keys[at], 0) };
            let key = range.low + key;
            let (source, target) = (space.source(key), space.target(key));
            if before == Some(key) {
                let repeated = if source == target {
                    &mut self.built.repeated_loops
                } else {
                    &mut self.built.repeated
                };
                *repeated += 1;
                if !keep {
                    continue;
                }
            }
            if let Some(key) = before
                && space.source(key) != source
            {
                // Lists never overtake the keys, since each list has at least one key.
                keys[*lists] = pack(space.source(key), *targets - list_start);
                *lists += 1;
                list_start = *targets;
            }
            before = Some(key);
            entries[*targets] = target;
            if weighted {
                weights[*targets] = weight;
            }
            *targets += 1;
            self.built.loops += u64::from(source == target);
            if let Some(reversed) = &mut self.reversed {
                reversed.push(space.key(target, source), weight)?;
            }
        }
        if let Some(key) = before {
            keys[*lists] = pack(space.source(key), *targets - list_start);
            *lists += 1;
        }
        self.built.stored += *targets as u64;
        Ok(())
    }

    /// Partitions a range that exceeds the buffers into narrower ones and sorts each.
    fn repartition(
        &mut self,
        task: &Task<'_>,
        range: Range,
        extents: &[Extent],
        set: Set,
    ) -> std::result::Result<(), Stop> {
        if range.low == range.last {
            return match self.job.sizes.weight_bytes {
                0 => self.one_key::<u64>(task, range, extents, set),
                _ => self.one_key::<[u64; 2]>(task, range, extents, set),
            };
        }
        let room = set.keys.len() * 16;
        // Dropping the set makes room for the open blocks.
        drop(set);
        let block_bytes = self.job.sizes.block_bytes;
        let count = (room / block_bytes).saturating_sub(4).clamp(2, 256);
        let ranges = Ranges::even(range, count);
        let weight_bytes = self.job.sizes.weight_bytes;
        let file = self.job.source.file;
        let mut range_writer = RangeWriter::new(&ranges, file, block_bytes, weight_bytes)?;
        self.for_each_record(range, extents, |key, weight| {
            range_writer.push(range.low + key, weight)
        })?;
        let range_blocks = range_writer.finish()?;
        file.release(extents);
        let mut set = Set::new(self.job.sizes)?;
        for (&narrow, extents) in ranges.as_slice().iter().zip(&range_blocks.extents) {
            self.range(task, narrow, extents, set)?;
            if narrow.last == task.whole.last {
                return Ok(());
            }
            set = self.job.next_set(&task.own_out)?;
        }
        task.own_in.send(set).map_err(|_| Stop::Elsewhere)
    }

    /// Builds the list entries of a single edge that repeats more often than the buffers hold:
    /// once with the smallest weight, or all repeats by ascending weight, one span of weights that
    /// fits at a time.
    fn one_key<R: Record>(
        &mut self,
        task: &Task<'_>,
        range: Range,
        extents: &[Extent],
        mut set: Set,
    ) -> std::result::Result<(), Stop> {
        let (all, room) = (count(extents), self.job.sizes.set_keys);
        if !self.job.source.keep_duplicates {
            let mut smallest = u64::MAX;
            self.for_each_weight(range, extents, |weight| smallest = smallest.min(weight))?;
            self.repeats(range.low, all - 1);
            set.records()[0] = R::new(0, smallest);
            self.compact(range, 1, &mut set)?;
            return self.send(task, range, set);
        }
        let mut left = all;
        let weight_max = if self.job.sizes.weight_bytes > 0 { u64::MAX } else { 0 };
        let mut spans = vec![(0, weight_max)];
        while let Some((low, high)) = spans.pop() {
            let mut found = 0;
            let keys = set.records();
            self.for_each_weight(range, extents, |weight| {
                if (low..=high).contains(&weight) {
                    if found < room {
                        keys[found] = R::new(0, weight);
                    }
                    found += 1;
                }
            })?;
            if found > room && low < high {
                let middle = low.midpoint(high);
                spans.extend([(middle + 1, high), (low, middle)]);
                continue;
            }
            // One weight may repeat more often than fits; its pieces are all equal.
            while found > 0 {
                let piece = found.min(room);
                found -= piece;
                let keys = &mut set.records()[..piece];
                if low == high {
                    keys.fill(R::new(0, low));
                }
                keys.sort_unstable();
                self.repeats(range.low, u64::from(left < all));
                left -= piece as u64;
                self.compact(range, piece, &mut set)?;
                if left == 0 {
                    return self.send(task, range, set);
                }
                self.send_piece(task, set, false)?;
                set = self.job.next_set(&task.own_out)?;
            }
        }
        unreachable!("the spans hold every weight")
    }

    /// Calls `each` with the weight of every record, 0 unless weights are imported.
    fn for_each_weight(
        &mut self,
        range: Range,
        extents: &[Extent],
        mut each: impl FnMut(u64),
    ) -> Result<()> {
        if self.job.sizes.weight_bytes == 0 {
            (0..count(extents)).for_each(|_| each(0));
            return Ok(());
        }
        self.for_each_record(range, extents, |_, weight| {
            each(weight);
            Ok(())
        })
    }

    fn repeats(&mut self, key: u64, count: u64) {
        let space = self.job.source.space;
        if space.source(key) == space.target(key) {
            self.built.repeated_loops += count;
        } else {
            self.built.repeated += count;
        }
    }
}

struct Task<'a> {
    range: usize,
    whole: Range,
    back: &'a Sender<Set>,
    own_in: Sender<Set>,
    own_out: Receiver<Set>,
}
