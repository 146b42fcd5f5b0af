//! Threads that commit to one store at the same time, until the power is cut.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, Unsynced, When};
use cenote_device::{Clock, Device, Queue, QueueConfig, Result as DeviceResult};
use cenote_import::{Format, ImportConfig};
use cenote_store::{
    Answer, Batch, Change, Direction, Graph, LookupConfig, Op, Store, StoreError, VertexId,
    WriteLimits, check,
};

use crate::disk::{SimWorkspace, drive_with, random_drive};
use crate::faults::clean;
use crate::house::{import_bytes, lists};
use crate::random::Random;
use crate::{Outcome, demand};

const THREADS: u32 = 4;
const BATCHES: usize = 24;
const VERTICES: u32 = 100;

/// Batches of a thread's own edges, of which it deletes each fourth, before one of the edges that
/// all threads add.
const OWN_EACH: usize = 4;

type Edge = (VertexId, VertexId);

/// A drive whose syncs take so long that other threads queue their batches meanwhile.
#[derive(Debug)]
struct SlowSync(Arc<SimDevice>);

impl Device for SlowSync {
    fn name(&self) -> String {
        self.0.name()
    }

    fn backend(&self) -> &'static str {
        self.0.backend()
    }

    fn len_bytes(&self) -> DeviceResult<u64> {
        self.0.len_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.0.block_bytes()
    }

    fn queue(&self, config: &QueueConfig) -> DeviceResult<Box<dyn Queue>> {
        self.0.queue(config)
    }

    fn sync(&self) -> DeviceResult<()> {
        std::thread::sleep(Duration::from_micros(200));
        self.0.sync()
    }

    fn set_len(&self, bytes: u64) -> DeviceResult<()> {
        self.0.set_len(bytes)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.0.clock()
    }
}

/// What one thread did.
#[derive(Debug, Default)]
struct Thread {
    /// Its batches that were acknowledged.
    acknowledged: usize,
    /// Edges of all threads that were there once a batch was acknowledged.
    shared: BTreeSet<Edge>,
    /// Why it ended early.
    error: Option<StoreError>,
}

/// The change that is a thread's `at`-th batch, and whether other threads make it too.
fn change_of(thread: u32, at: usize) -> (Change, bool) {
    let (group, place) = (at / (OWN_EACH + 1), at % (OWN_EACH + 1));
    let target = |place: usize| (10 + group * (OWN_EACH + 1) + place) as VertexId;
    let change = |op, source, place| Change { op, source, target: target(place) };
    match place {
        OWN_EACH => (change(Op::Add, THREADS, place), true),
        // The one before it was added.
        3 => (change(Op::Delete, thread, 2), false),
        _ => (change(Op::Add, thread, place), false),
    }
}

/// The edges of a thread after so many of its batches.
fn edges_of(thread: u32, batches: usize) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    for (change, is_shared) in (0..batches).map(|at| change_of(thread, at)) {
        let edge = (change.source, change.target);
        match change.op {
            _ if is_shared => {}
            Op::Add => drop(edges.insert(edge)),
            Op::Delete => drop(edges.remove(&edge)),
            _ => unreachable!("edges without weights"),
        }
    }
    edges
}

/// The batches of one thread, until an error.
fn commit_each(store: &Store, thread: u32, mut random: Random) -> Outcome<Thread> {
    let mut done = Thread::default();
    for at in 0..BATCHES {
        let (change, is_shared) = change_of(thread, at);
        let batch = Batch { changes: vec![change], ..Batch::default() };
        let updated = match store.commit(&batch) {
            Ok(updated) => updated,
            Err(error) => {
                clean(&error)?;
                done.error = Some(error);
                break;
            }
        };
        done.acknowledged = at + 1;
        let is_known = is_shared && updated.answers == [Answer::Present];
        let is_right = updated.answers == [Answer::Done] || is_known;
        demand(is_right, || format!("thread {thread}, batch {at}: {updated:?}"))?;
        if is_shared {
            done.shared.insert((change.source, change.target));
        }
        let step = match random.below(12) {
            0 => store.merge().map(drop),
            1 | 2 => read_own(store, &change)?,
            // Other threads commit meanwhile.
            3 | 4 => merge_beside(store),
            _ => Ok(()),
        };
        if let Err(error) = step {
            clean(&error)?;
            done.error = Some(error);
            break;
        }
    }
    Ok(done)
}

fn merge_beside(store: &Store) -> Result<(), StoreError> {
    match store.prepare_merge(&|_| false)? {
        Some(prepared) => prepared.finish().map(drop),
        None => Ok(()),
    }
}

/// A reader sees the change that was acknowledged before. An error of reading is inside.
fn read_own(store: &Store, change: &Change) -> Outcome<Result<(), StoreError>> {
    let read = || {
        let graph = store.graph(|_| LookupConfig::default())?;
        let mut list = Vec::new();
        graph.read_list(Direction::Out, change.source, &mut list)?;
        Ok(list)
    };
    match read() {
        Ok(list) => {
            let is_there = list.contains(&change.target);
            let is_seen = is_there == (change.op == Op::Add);
            demand(is_seen, || format!("{change:?} was acknowledged: {list:?}")).map(Ok)
        }
        Err(error) => Ok(Err(error)),
    }
}

/// A graph with vertices and no edges.
fn import(options: &ImportConfig) -> Outcome<Vec<u8>> {
    let mut text = String::new();
    (0..VERTICES).for_each(|vertex| writeln!(text, "{vertex}").expect("memory"));
    let drive = random_drive(&mut Random::new(0));
    let workspace = SimWorkspace::new(drive, FaultPlan::none(), FaultPlan::none());
    import_bytes(text.as_bytes(), Format::Adjacency, options, &workspace)
        .map_err(|error| format!("import failed: {error}"))?;
    Ok(workspace.written().ok_or("a finished import made no output")?.contents())
}

/// Cuts the power while threads commit. Every batch that was acknowledged is there afterwards, and
/// of each thread at most the next one. The threads' order is that of the scheduler.
pub fn cut_among_threads(random: &mut Random) -> Outcome {
    let directed = random.chance(50);
    let options = ImportConfig::default()
        .directed(directed)
        .in_edges(directed && random.chance(50))
        .memory_bytes(16 << 20)
        .page_bytes(4096)
        .threads(1);
    let contents = import(&options)?;
    let unsynced = random.pick(&[Unsynced::Random, Unsynced::Lost, Unsynced::Torn]);
    let cut = When::Change(random.below(150));
    let plan = FaultPlan { unsynced, ..FaultPlan::seeded(random.bits()) };
    let device = drive_with(&random_drive(random), plan.with(cut, Effect::PowerCut), &contents);
    let limits = WriteLimits::default().bytes((8 + random.below(57)) << 10);
    let limits = limits.changes(random.pick(&[8, 40, 1000])).run_percent(random.pick(&[12, 5000]));
    let slow = Arc::new(SlowSync(Arc::clone(&device))) as Arc<dyn Device>;
    let threads = match Store::open(slow) {
        Ok(store) => commit_all(&store.with_limits(limits), random)?,
        Err(error) => {
            clean(&error)?;
            Vec::new()
        }
    };
    let is_cut = device.is_power_cut();
    let is_done = threads.iter().all(|thread| thread.error.is_none());
    demand(is_cut || is_done, || format!("an error without a power cut: {threads:?}"))?;
    let found = Arc::new(device.restart(FaultPlan::none())) as Arc<dyn Device>;
    let graph = Graph::open(Arc::clone(&found)).map_err(|e| format!("it does not open: {e}"))?;
    compare(&graph, &threads)?;
    let merged = next_writer(found).map_err(|error| format!("the next writer: {error}"))?;
    let report = check(&merged, &mut |_, _| true).map_err(|error| error.to_string())?;
    demand(report.is_whole(), || format!("check finds {:?}", report.faults))?;
    compare(&merged, &threads)
}

fn next_writer(found: Arc<dyn Device>) -> Result<Graph, StoreError> {
    let store = Store::open(found)?;
    store.merge()?;
    store.graph(|_| LookupConfig::default())
}

fn commit_all(store: &Store, random: &mut Random) -> Outcome<Vec<Thread>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let random = Random::new(random.bits());
                scope.spawn(move || commit_each(store, thread, random))
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|ended| ended.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    })
}

/// Compares the graph that was found with what was acknowledged to each thread.
fn compare(graph: &Graph, threads: &[Thread]) -> Outcome {
    let out = lists(graph, Direction::Out).map_err(|error| error.to_string())?;
    let found = |source: VertexId| -> BTreeSet<Edge> {
        out[source as usize].iter().map(|&target| (source, target)).collect()
    };
    for (thread, done) in (0..).zip(threads) {
        let (edges, batches) = (found(thread), done.acknowledged);
        let is_right = (batches..=batches + 1).any(|batches| edges_of(thread, batches) == edges);
        demand(is_right, || format!("thread {thread}: {edges:?} after {batches} batches"))?;
        let lost: Vec<_> = done.shared.difference(&found(THREADS)).copied().collect();
        demand(lost.is_empty(), || {
            format!("thread {thread}: edges that were acknowledged are lost: {lost:?}")
        })?;
    }
    Ok(())
}
