//! Integer ids: a bitmap of chunks where they are dense, sorted runs where they are sparse.
//!
//! Ids below 2^32 go to chunks of 65,536 bits that are created on demand. When the chunks have used
//! up their share of the budget, ids of further chunks are collected like those above 2^32: in
//! buffers that are sorted, deduplicated and merged. Which way an id goes depends on timing; the
//! set of ids, and therefore the vertex of each, does not.
//!
//! Nearly every id misses the cache, when it is inserted and when its rank is looked up. Both are
//! done for a batch of ids in a loop so short that the processor has many of them under way.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use cenote_device::memory::prefetch;

use crate::budget::{Budget, Held};
use crate::error::{ImportError, Result};
use cenote_store::VertexId;

const CHUNK_BITS: u32 = 16;
const CHUNKS: usize = 1 << CHUNK_BITS;
const WORDS: usize = 1 << (CHUNK_BITS - 6);
const RANKED_WORDS: usize = 1 << (CHUNK_BITS - 5);
/// Bytes of a chunk in the finished map, which are more than its bits.
const CHUNK_BYTES: usize = RANKED_WORDS * 8;
/// Bytes of the directory of chunks while ids are collected, and in the finished map.
const COLLECTING_BYTES: usize = CHUNKS * 16;
const MAP_BYTES: usize = CHUNKS * 12;
const DIRECTORY_BYTES: usize = COLLECTING_BYTES + MAP_BYTES;
/// Ids whose cache lines are loaded while ranks are looked up.
const AHEAD: usize = 24;
/// Ids a worker collects before it sorts them.
const LOCAL_IDS: usize = 1 << 14;
const WHAT: &str = "the table of integer ids";

const HALF: u64 = u32::MAX as u64;

type Chunk = Box<[AtomicU64; WORDS]>;

#[derive(Debug)]
pub(crate) struct IntegerSet<'a> {
    chunks: Vec<OnceLock<Chunk>>,
    chunks_made: AtomicUsize,
    chunks_max: usize,
    sparse: Mutex<Runs<'a>>,
    _directory: Held<'a>,
    chunk_memory: Mutex<Held<'a>>,
}

/// Sorted runs of distinct ids, each at most half as long as the one before.
#[derive(Debug)]
struct Runs<'a> {
    runs: Vec<Vec<u64>>,
    memory: Held<'a>,
}

/// One worker's ids that are not in the runs yet.
#[derive(Debug, Default)]
pub(crate) struct LocalIds {
    ids: Vec<u64>,
}

impl<'a> IntegerSet<'a> {
    /// Memory of collecting ids that the finished map no longer takes.
    pub const COLLECTING_BYTES: usize = COLLECTING_BYTES;
    /// Memory of the finished map, without chunks and ids.
    pub const MAP_BYTES: usize = MAP_BYTES;
    /// Most memory of an id in the finished map that is not in a chunk: the id, and its part of
    /// the table of slices.
    pub const RUN_BYTES: usize = 9;

    /// Memory of so many chunks.
    pub fn chunk_bytes(chunks: usize) -> usize {
        chunks.min(CHUNKS) * CHUNK_BYTES
    }

    /// Most memory of merging runs of so many distinct ids, beside these: their copies in smaller
    /// runs, and both in the run that a merge makes of them.
    pub fn merge_bytes(ids: usize) -> usize {
        (3 * ids + 2 * LOCAL_IDS) * size_of::<u64>()
    }

    /// An empty set whose bitmap takes at most half of the remaining budget.
    pub fn new(budget: &'a Budget) -> Result<Self> {
        let directory = budget.hold(DIRECTORY_BYTES, WHAT)?;
        let mut chunks = Vec::new();
        chunks.resize_with(CHUNKS, OnceLock::new);
        Ok(Self {
            chunks,
            chunks_made: AtomicUsize::new(0),
            chunks_max: (budget.free() / 2 / CHUNK_BYTES).min(CHUNKS),
            sparse: Mutex::new(Runs { runs: Vec::new(), memory: budget.hold(0, WHAT)? }),
            _directory: directory,
            chunk_memory: Mutex::new(budget.hold(0, WHAT)?),
        })
    }

    #[inline]
    pub fn insert(&self, id: u64, local: &mut LocalIds) -> Result<()> {
        if id < 1 << 32
            && let Some(chunk) = self.chunks[(id >> CHUNK_BITS) as usize].get()
        {
            set_bit(chunk, id);
            return Ok(());
        }
        self.insert_rare(id, local)
    }

    /// Inserts a batch of ids.
    pub fn insert_all(&self, ids: &[u64], local: &mut LocalIds) -> Result<()> {
        ids.iter().try_for_each(|&id| self.insert(id, local))
    }

    #[cold]
    fn insert_rare(&self, id: u64, local: &mut LocalIds) -> Result<()> {
        if id < 1 << 32
            && let Some(chunk) = self.make_chunk((id >> CHUNK_BITS) as usize)?
        {
            set_bit(chunk, id);
            return Ok(());
        }
        local.ids.push(id);
        if local.ids.len() >= LOCAL_IDS { self.flush(local) } else { Ok(()) }
    }

    fn make_chunk(&self, index: usize) -> Result<Option<&Chunk>> {
        let place = self.chunks_made.fetch_add(1, Ordering::Relaxed);
        if place >= self.chunks_max {
            self.chunks_made.fetch_sub(1, Ordering::Relaxed);
            return Ok(self.chunks[index].get());
        }
        let mut mine = false;
        let chunk = self.chunks[index].get_or_init(|| {
            mine = true;
            Box::new([const { AtomicU64::new(0) }; WORDS])
        });
        if mine {
            let mut memory = self.chunk_memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.grow(CHUNK_BYTES, WHAT)?;
        } else {
            self.chunks_made.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(Some(chunk))
    }

    /// Moves a worker's ids to the runs.
    pub fn flush(&self, local: &mut LocalIds) -> Result<()> {
        if local.ids.is_empty() {
            return Ok(());
        }
        let mut run = std::mem::take(&mut local.ids);
        run.sort_unstable();
        run.dedup();
        local.ids = Vec::with_capacity(LOCAL_IDS);
        let mut sparse = self.sparse.lock().unwrap_or_else(PoisonError::into_inner);
        sparse.push(run)
    }

    /// Ends collecting and ranks the ids.
    pub fn finish(self) -> Result<IntegerMap<'a>> {
        let mut sparse = self.sparse.into_inner().unwrap_or_else(PoisonError::into_inner);
        sparse.merge_all()?;
        let mut ids = sparse.runs.pop().unwrap_or_default();
        // By a race an id may be in the runs although its chunk exists.
        ids.retain(|&id| {
            match self.chunks.get((id >> CHUNK_BITS) as usize).and_then(OnceLock::get) {
                Some(chunk) => {
                    set_bit(chunk, id);
                    false
                }
                None => true,
            }
        });
        ids.shrink_to_fit();
        sparse.memory.shrink_to(ids.len() * 8);
        let memory = vec![
            self._directory,
            sparse.memory,
            self.chunk_memory.into_inner().unwrap_or_else(PoisonError::into_inner),
        ];
        let mut map = IntegerMap::new(self.chunks, ids, memory)?;
        map._memory[0].shrink_to(MAP_BYTES);
        Ok(map)
    }
}

#[inline]
fn set_bit(chunk: &[AtomicU64; WORDS], id: u64) {
    let word = &chunk[(id >> 6) as usize & (WORDS - 1)];
    let bit = 1u64 << (id & 63);
    // Most ids are in the set already; a plain load keeps the cache line shared.
    if word.load(Ordering::Relaxed) & bit == 0 {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

impl Runs<'_> {
    fn push(&mut self, run: Vec<u64>) -> Result<()> {
        self.memory.grow(run.capacity() * 8, WHAT)?;
        self.runs.push(run);
        while let [.., a, b] = &self.runs[..]
            && a.len() < 2 * b.len()
        {
            self.merge_last()?;
        }
        Ok(())
    }

    fn merge_all(&mut self) -> Result<()> {
        while self.runs.len() > 1 {
            self.merge_last()?;
        }
        Ok(())
    }

    fn merge_last(&mut self) -> Result<()> {
        let (Some(b), Some(a)) = (self.runs.pop(), self.runs.pop()) else { return Ok(()) };
        let room = a.len() + b.len();
        self.memory.grow(room * 8, WHAT)?;
        let mut merged = merge_distinct(&a, &b, room);
        let back = (a.capacity() + b.capacity() + room - merged.len()) * 8;
        merged.shrink_to_fit();
        drop((a, b));
        self.memory.shrink_to(self.memory.bytes() - back);
        self.runs.push(merged);
        Ok(())
    }
}

fn merge_distinct(a: &[u64], b: &[u64], room: usize) -> Vec<u64> {
    let mut merged = Vec::with_capacity(room);
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        merged.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    merged.extend_from_slice(&a[i..]);
    merged.extend_from_slice(&b[j..]);
    merged
}

/// A chunk of the finished map: for each 32 ids, which of them there are, and above that the rank
/// of the first. Both come with one cache line.
#[derive(Debug)]
struct RankedChunk(Box<[u64; RANKED_WORDS]>);

impl RankedChunk {
    /// The ranks of a chunk whose first id has the rank `first`, and the number of its ids.
    fn new(chunk: &[AtomicU64; WORDS], first: u64) -> (Self, u64) {
        let mut words = Box::new([0; RANKED_WORDS]);
        let mut rank = first;
        for (pair, bits) in words.as_chunks_mut::<2>().0.iter_mut().zip(chunk) {
            let bits = bits.load(Ordering::Relaxed);
            for (word, half) in pair.iter_mut().zip([bits & HALF, bits >> 32]) {
                *word = rank << 32 | half;
                rank += u64::from(half.count_ones());
            }
        }
        (Self(words), rank - first)
    }

    fn ids(&self, first: u64) -> impl Iterator<Item = u64> {
        self.0.iter().zip((first..).step_by(32)).flat_map(|(&word, first)| {
            std::iter::successors(Some(word & HALF), |left| Some(left & left.wrapping_sub(1)))
                .take_while(|left| *left != 0)
                .map(move |left| first + u64::from(left.trailing_zeros()))
        })
    }

    #[inline(always)]
    fn rank(&self, id: u64) -> u32 {
        let word = self.0[(id >> 5) as usize & (RANKED_WORDS - 1)];
        let below = word as u32 & ((1 << (id & 31)) - 1);
        ((word >> 32) as u32).wrapping_add(below.count_ones())
    }
}

/// Maps integer ids to ranks, and lists them in ascending order.
#[derive(Debug)]
pub(crate) struct IntegerMap<'a> {
    chunks: Vec<Option<RankedChunk>>,
    /// Ids in chunks before each chunk.
    base: Vec<u32>,
    sparse: Vec<u64>,
    /// First position in `sparse` for each slice of the id range.
    slices: Vec<u32>,
    slice_shift: u32,
    count: u64,
    identity: bool,
    _memory: Vec<Held<'a>>,
}

impl<'a> IntegerMap<'a> {
    fn new(
        bitmap: Vec<OnceLock<Chunk>>,
        sparse: Vec<u64>,
        mut memory: Vec<Held<'a>>,
    ) -> Result<Self> {
        let mut in_chunks = 0u64;
        let mut base = Vec::with_capacity(CHUNKS + 1);
        let mut chunks = Vec::with_capacity(CHUNKS);
        for (index, bits) in bitmap.into_iter().enumerate() {
            base.push(low_u32(in_chunks));
            let first = (index as u64) << CHUNK_BITS;
            chunks.push(bits.into_inner().map(|bits| {
                let before = sparse.partition_point(|&id| id < first) as u64;
                let (chunk, ids) = RankedChunk::new(&bits, (in_chunks + before) & HALF);
                in_chunks += ids;
                chunk
            }));
        }
        base.push(low_u32(in_chunks));
        let count = in_chunks + sparse.len() as u64;
        if count > crate::ids::VERTICES_MAX {
            return Err(ImportError::Vertices { vertices: count });
        }
        let (slices, slice_shift) = slice_table(&sparse);
        if let Some(held) = memory.last_mut() {
            held.grow(slices.len() * 4, WHAT)?;
        }
        let mut map = Self {
            chunks,
            base,
            sparse,
            slices,
            slice_shift,
            count,
            identity: false,
            _memory: memory,
        };
        map.identity = count == 0 || map.largest() == Some(count - 1);
        Ok(map)
    }

    pub fn len(&self) -> u64 {
        self.count
    }

    /// Further memory of a bitmap with room for all ids below 2^32.
    pub fn bitmap_bytes(&self) -> usize {
        self.sparse.partition_point(|&id| id < 1 << 32).min(CHUNKS) * CHUNK_BYTES
    }

    /// Whether the ids are 0 to n-1, so that no map is stored.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    fn largest(&self) -> Option<u64> {
        let mut largest = self.sparse.last().copied();
        for (index, chunk) in self.chunks.iter().enumerate().rev() {
            let Some(chunk) = chunk else { continue };
            if let Some(word) = chunk.0.iter().rposition(|word| word & HALF != 0) {
                let bit = 63 - u64::from((chunk.0[word] & HALF).leading_zeros());
                let id = ((index as u64) << CHUNK_BITS) + word as u64 * 32 + bit;
                largest = largest.max(Some(id));
                break;
            }
        }
        largest
    }

    /// The rank of an id that was inserted.
    #[inline(always)]
    pub fn dense(&self, id: u64) -> VertexId {
        match self.chunks.get((id >> CHUNK_BITS) as usize) {
            Some(Some(ranked)) => ranked.rank(id),
            _ => self.sparse_rank(id),
        }
    }

    /// The ranks of a batch of ids.
    pub fn dense_all(&self, ids: &[u64], ranks: &mut [VertexId]) {
        for (at, (rank, &id)) in ranks.iter_mut().zip(ids).enumerate() {
            if let Some(&later) = ids.get(at + AHEAD) {
                self.prefetch(later);
            }
            *rank = self.dense(id);
        }
    }

    #[inline(always)]
    fn prefetch(&self, id: u64) {
        if let Some(Some(ranked)) = self.chunks.get((id >> CHUNK_BITS) as usize) {
            prefetch(ranked.0.as_slice(), (id >> 5) as usize & (RANKED_WORDS - 1));
        }
    }

    #[inline(never)]
    fn sparse_rank(&self, id: u64) -> u32 {
        let before = self.base[(id >> CHUNK_BITS).min(CHUNKS as u64) as usize];
        let first = self.sparse.first().copied().unwrap_or(0);
        // An input that changed between the passes may contain larger ids.
        let slice =
            (id.saturating_sub(first) >> self.slice_shift).min(self.slices.len() as u64 - 2);
        let slice = slice as usize;
        let (from, to) = (self.slices[slice] as usize, self.slices[slice + 1] as usize);
        let among = self.sparse[from..to].partition_point(|&other| other < id);
        before + low_u32((from + among) as u64)
    }

    /// All ids, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        let mut sparse = self.sparse.iter().copied().peekable();
        let chunks = self.chunks.iter().zip(0u64..);
        let mut dense = chunks
            .filter_map(|(chunk, index)| Some((chunk.as_ref()?, index << CHUNK_BITS)))
            .flat_map(|(chunk, first)| chunk.ids(first))
            .peekable();
        std::iter::from_fn(move || match (dense.peek(), sparse.peek()) {
            (Some(a), Some(b)) if a > b => sparse.next(),
            (None, _) => sparse.next(),
            _ => dense.next(),
        })
    }
}

/// Divides the id range into equal slices, about one per 4 ids, so that a look-up in evenly
/// distributed ids takes a step or two of binary search.
fn slice_table(sparse: &[u64]) -> (Vec<u32>, u32) {
    let (Some(first), Some(last)) = (sparse.first(), sparse.last()) else {
        return (vec![0, 0], 63);
    };
    // At least two, so that no shift reaches 64.
    let wanted = (sparse.len() as u64 / 4).max(2);
    let mut shift = 0;
    while (last - first) >> shift >= wanted {
        shift += 1;
    }
    let slices = ((last - first) >> shift) + 1;
    let mut table = Vec::with_capacity(slices as usize + 1);
    let mut at = 0;
    for slice in 0..slices {
        while (sparse[at] - first) >> shift < slice {
            at += 1;
        }
        table.push(low_u32(at as u64));
    }
    table.push(low_u32(sparse.len() as u64));
    (table, shift)
}

/// Truncates a count of ids. Overflows only on the way to an error: more than 2^32-2 are refused.
fn low_u32(count: u64) -> u32 {
    (count & u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(ids: &[u64], memory: usize) {
        let budget = Budget::new(memory);
        let set = IntegerSet::new(&budget).unwrap();
        let mut local = LocalIds::default();
        for &id in ids {
            set.insert(id, &mut local).unwrap();
        }
        set.flush(&mut local).unwrap();
        let map = set.finish().unwrap();
        let oracle: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(map.len(), oracle.len() as u64);
        for (dense, &id) in oracle.iter().enumerate() {
            assert_eq!(map.dense(id) as usize, dense, "id {id}");
        }
        assert!(map.ids().eq(oracle.iter().copied()));
        let identity = oracle.iter().copied().eq(0..oracle.len() as u64);
        assert_eq!(map.is_identity(), identity);
    }

    #[test]
    fn ranks_follow_the_order_of_dense_sparse_and_huge_ids() {
        check(&[], 8 << 20);
        check(&[0], 8 << 20);
        check(&[7], 8 << 20);
        check(&[u64::MAX, 0, 1 << 32, (1 << 32) - 1, 65_535, 65_536], 8 << 20);
        check(&(0..200_000).collect::<Vec<_>>(), 8 << 20);
        check(&(0..200_000).rev().map(|i| i * 3).collect::<Vec<_>>(), 8 << 20);
        check(
            &(0..50_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>(),
            8 << 20,
        );
        let skewed = (0..60_000u64).map(|i| if i % 2 == 0 { i } else { u64::MAX - i });
        check(&skewed.collect::<Vec<_>>(), 8 << 20);
    }

    #[test]
    fn chunks_beyond_their_share_go_to_runs() {
        // 2.2 MB leave about 18 chunks; the ids want 1,000.
        let ids: Vec<u64> = (0..100_000u64).map(|i| (i * 7919) % (1000 << 16)).collect();
        check(&ids, DIRECTORY_BYTES + 4_000_000);
    }

    #[test]
    fn too_many_sparse_ids_are_a_memory_error() {
        let budget = Budget::new(DIRECTORY_BYTES + (1 << 20));
        let set = IntegerSet::new(&budget).unwrap();
        let mut local = LocalIds::default();
        let refused = (0..1_000_000u64)
            .find_map(|i| set.insert((i << 33) + 5, &mut local).err())
            .expect("8 MB do not fit 1 MiB");
        assert!(refused.to_string().contains("table of integer ids"), "{refused}");
    }
}
