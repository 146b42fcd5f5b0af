//! Integer ids: numbered by a hash table, with the state of each, in batches.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use cenote_store::VertexId;

use super::state::State;
use super::table::{BUCKET_BYTES, CHUNK_BYTES, Table, ids_max};
use crate::blocks::Worker;
use crate::budget::{Budget, Held};
use crate::error::{ImportError, Result};
use crate::ids::VERTICES_MAX;
use crate::parse::token::integer_id_or_name;
use crate::parse::{Fault, Sink};

/// Pairs that are looked up together, so that their cache misses overlap.
const BATCH: usize = 256;
/// 1 MiB.
const BUCKETS_MIN: usize = 1 << 14;
/// Below so many buckets (32 MiB) a table grows twofold, above by three sixteenths.
const BUCKETS_SMALL: usize = 1 << 19;

pub(super) const WHAT: &str = "the ids and the state";

/// What the workers share: the ids that were met, and their states.
#[derive(Debug)]
pub(super) struct MetIds<'a, S> {
    maps: RwLock<Maps<'a, S>>,
    /// The number of the next id: that of the ids met so far.
    next: AtomicU32,
    /// Most ids that batches at work may add.
    pending: AtomicUsize,
    seeds: [u64; 2],
}

#[derive(Debug)]
struct Maps<'a, S> {
    table: Table,
    state: S,
    /// Most ids that table and state have room for.
    ids_max: usize,
    memory: Held<'a>,
    budget: &'a Budget,
}

/// The finished table: ids with the numbers that they were given last, in no order, and the state
/// of the numbers.
pub(super) struct Numbered<'a, S> {
    pub table: Table,
    pub state: S,
    pub count: usize,
    pub memory: Held<'a>,
}

/// Bytes of the memory of a table and its state; a byte a vertex more than these take, since labels
/// take more than a full table.
fn bytes_of<S: State>(buckets: usize) -> usize {
    buckets * BUCKET_BYTES + ids_max(buckets) * (S::VERTEX_BYTES + 1)
}

impl<'a, S: State> MetIds<'a, S> {
    pub fn new(budget: &'a Budget) -> Result<Self> {
        let mut state = S::default();
        state.grow(ids_max(BUCKETS_MIN))?;
        let maps = Maps {
            table: Table::new(BUCKETS_MIN)?,
            state,
            ids_max: ids_max(BUCKETS_MIN),
            memory: budget.hold(bytes_of::<S>(BUCKETS_MIN), WHAT)?,
            budget,
        };
        // Random seeds: no input can be made in advance whose ids all have the same hash.
        let random = RandomState::new();
        let seeds = [random.hash_one(0), random.hash_one(1) | 1];
        let (next, pending) = (AtomicU32::new(0), AtomicUsize::new(0));
        Ok(Self { maps: RwLock::new(maps), next, pending, seeds })
    }

    /// Ids met so far.
    pub fn count(&self) -> u64 {
        u64::from(self.next.load(Ordering::Relaxed))
    }

    pub fn finish(self) -> Numbered<'a, S> {
        let count = self.next.into_inner() as usize;
        let maps = self.maps.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Maps { table, state, memory, .. } = maps;
        Numbered { table, state, count, memory }
    }

    /// Both halves of a product (as in wyhash and foldhash). Saves a twentieth of the time of
    /// components beside a hash of two products.
    fn hash(&self, id: u64) -> u64 {
        let product = u128::from(id ^ self.seeds[0]) * u128::from(self.seeds[1]);
        (product >> 64) as u64 ^ product as u64
    }

    /// Whether so many more ids fit, beside those of batches at work.
    fn has_room(&self, maps: &Maps<'_, S>, ids: usize) -> bool {
        // Read behind what is pending: a batch that is no longer pending has counted its ids.
        let pending = self.pending.load(Ordering::Acquire);
        self.next.load(Ordering::Relaxed) as usize + pending + ids <= maps.ids_max
    }

    /// The maps with room for so many ids, which are pending then.
    fn maps_for(&self, ids: usize) -> Result<RwLockReadGuard<'_, Maps<'a, S>>> {
        loop {
            let maps = self.maps.read().unwrap_or_else(PoisonError::into_inner);
            self.pending.fetch_add(ids, Ordering::AcqRel);
            if self.has_room(&maps, 0) {
                return Ok(maps);
            }
            self.pending.fetch_sub(ids, Ordering::Release);
            drop(maps);
            let mut maps = self.maps.write().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have grown them.
            if !self.has_room(&maps, ids) {
                maps.grow(|id| self.hash(id))?;
            }
        }
    }

    /// Numbers the ids of at most [`BATCH`] pairs and passes each pair to `each`, which returns the
    /// numbers that they have from now on.
    fn for_each(
        &self,
        pairs: &[[u64; 2]],
        each: impl Fn(&S, [VertexId; 2]) -> [VertexId; 2],
    ) -> Result<()> {
        static NONE: AtomicU32 = AtomicU32::new(0);
        let ids = pairs.as_flattened();
        let maps = self.maps_for(ids.len())?;
        let table = &maps.table;
        let mut homes = [0; 2 * BATCH];
        for (home, &id) in homes.iter_mut().zip(ids) {
            *home = table.home(self.hash(id));
            table.prefetch(*home);
        }
        let mut places = [&NONE; 2 * BATCH];
        for ((place, &home), &id) in places.iter_mut().zip(&homes).zip(ids) {
            *place = table.number(id, home, &self.next);
            maps.state.prefetch(place.load(Ordering::Relaxed));
        }
        for &[source, target] in places[..ids.len()].as_chunks::<2>().0 {
            let numbers = [source.load(Ordering::Relaxed), target.load(Ordering::Relaxed)];
            let from_now_on = each(&maps.state, numbers);
            if from_now_on != numbers {
                source.store(from_now_on[0], Ordering::Relaxed);
                target.store(from_now_on[1], Ordering::Relaxed);
            }
        }
        self.pending.fetch_sub(ids.len(), Ordering::Release);
        Ok(())
    }
}

impl<S: State> Maps<'_, S> {
    /// Makes room for more ids, as far as the budget has memory.
    fn grow(&mut self, hash: impl Fn(u64) -> u64) -> Result<()> {
        if self.ids_max as u64 == VERTICES_MAX {
            return Err(ImportError::Vertices { vertices: VERTICES_MAX + 1 });
        }
        let known = self.table.buckets();
        let wanted = if known < BUCKETS_SMALL { known * 2 } else { known / 16 * 19 };
        // While ids are moved both tables exist, but for the part of the old one that was read.
        let moving = CHUNK_BYTES.min(known * BUCKET_BYTES);
        let (held, free) = (self.memory.bytes(), self.budget.free());
        let most = (held + free.saturating_sub(moving)) / (bytes_of::<S>(20) / 20 + 1);
        // Less than a fiftieth more would cost a pass over the table each time.
        let buckets = wanted.min(most).max(known / 50 * 51);
        self.memory.resize(bytes_of::<S>(buckets) + moving, WHAT)?;
        self.state.grow(ids_max(buckets))?;
        let larger = Table::new(buckets)?;
        let smaller = std::mem::replace(&mut self.table, larger);
        smaller.drain(|id, number| self.table.push(id, number, hash(id)));
        self.ids_max = ids_max(buckets).min(VERTICES_MAX as usize);
        self.memory.shrink_to(bytes_of::<S>(buckets));
        Ok(())
    }
}

/// Passes the pairs that a worker parses to the state.
pub(super) struct IntegerVisitor<'a, 'b, S> {
    met: &'a MetIds<'b, S>,
    pairs: Vec<[u64; 2]>,
    /// Self-loops that count, as pairs.
    loops: Vec<[u64; 2]>,
    edges: u64,
    keeps_loops: bool,
    /// Whether ids may turn out to be strings.
    auto: bool,
}

impl<'a, 'b, S: State> IntegerVisitor<'a, 'b, S> {
    pub fn new(met: &'a MetIds<'b, S>, keeps_loops: bool, auto: bool) -> Self {
        let (pairs, loops) = (Vec::with_capacity(BATCH), Vec::new());
        Self { met, pairs, loops, edges: 0, keeps_loops, auto }
    }

    #[inline]
    fn push(&mut self, source: u64, target: u64) -> Result<()> {
        self.pairs.push([source, target]);
        if self.pairs.len() == BATCH { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn push_loop(&mut self, id: u64) -> Result<()> {
        self.loops.push([id, id]);
        if self.loops.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let done =
            self.met.for_each(&self.pairs, |state, [source, target]| state.edge(source, target));
        self.pairs.clear();
        done?;
        if self.loops.is_empty() {
            return Ok(());
        }
        let done = self.met.for_each(&self.loops, |state, ends| {
            state.self_loop(ends[0]);
            ends
        });
        self.loops.clear();
        done
    }
}

impl<S: State> Sink for IntegerVisitor<'_, '_, S> {
    const INTEGERS: bool = true;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        integer_id_or_name(token, self.auto)
    }

    #[inline]
    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        Ok(id)
    }

    #[inline]
    fn edge(&mut self, source: u64, target: u64, _: u64) -> std::result::Result<(), Fault> {
        self.edges += 1;
        match source == target && self.keeps_loops {
            true => self.push_loop(source)?,
            false => self.push(source, target)?,
        }
        Ok(())
    }

    fn vertex(&mut self, id: u64) -> std::result::Result<(), Fault> {
        Ok(self.push(id, id)?)
    }
}

impl<S: State> Worker for IntegerVisitor<'_, '_, S> {
    type Output = u64;

    /// The number of edges.
    fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.edges)
    }
}
