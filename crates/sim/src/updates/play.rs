//! Plays the steps of a history on a device, with readers of older states between them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_store::{Direction, Graph, LookupConfig, Store, StoreError, UpdateProgress, Updated};

use super::history::{History, State, Step};
use crate::Outcome;
use crate::faults::clean;

/// How far a history came.
#[derive(Default)]
pub(super) struct Ran {
    /// Steps that were acknowledged; none before the graph was open, which makes what it finds
    /// durable.
    pub acknowledged: Option<usize>,
    /// The epoch before the first step and after each, whether the graph had a log, and whether
    /// there was something to merge.
    pub epochs: Vec<(u64, bool, bool)>,
    /// The steps before which the log became a delta run.
    pub spilled: BTreeSet<usize>,
    /// Merges beside steps that were made.
    pub beside: usize,
    /// Why it ended.
    pub error: Option<StoreError>,
}

/// Plays some steps.
pub(super) fn play(
    history: &History,
    device: &Arc<dyn Device>,
    which: Range<usize>,
) -> Outcome<Ran> {
    play_with(history, device, which, &mut |_| {})
}

/// [`play`], with a call after the opening and each step, of the steps that were acknowledged.
pub(super) fn play_with(
    history: &History,
    device: &Arc<dyn Device>,
    which: Range<usize>,
    acknowledged: &mut dyn FnMut(usize),
) -> Outcome<Ran> {
    let mut ran = Ran::default();
    let mut acknowledge = |ran: &mut Ran, at| {
        ran.acknowledged = Some(at);
        acknowledged(at);
    };
    match steps(history, device, which, &mut ran, &mut acknowledge) {
        Ok(()) => Ok(ran),
        Err(Stop::Store(error)) => {
            clean(&error)?;
            ran.error = Some(error);
            Ok(ran)
        }
        Err(Stop::Wrong(fault)) => Err(fault),
    }
}

enum Stop {
    Store(StoreError),
    Wrong(String),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Store(error)
    }
}

/// The graph as a store has it now.
pub(super) fn newest(store: &Store) -> Result<Graph, StoreError> {
    store.graph(|_| LookupConfig::default())
}

/// The graph of a store, with the limits of a step.
fn open(history: &History, device: &Arc<dyn Device>, step: usize) -> Result<Store, StoreError> {
    let store = Store::open(Arc::clone(device))?;
    Ok(store.with_limits(history.limits_at(step)))
}

fn steps(
    history: &History,
    device: &Arc<dyn Device>,
    which: Range<usize>,
    ran: &mut Ran,
    acknowledge: &mut dyn FnMut(&mut Ran, usize),
) -> Result<(), Stop> {
    let mut store = open(history, device, which.start)?;
    acknowledge(ran, which.start);
    let mut player = Player { history, ran, acknowledge, readers: Vec::new() };
    let mut at = which.start;
    while at < which.end {
        match &history.steps[at] {
            Step::Open(_) => {
                player.begin(&store)?;
                // Pages of older epochs are kept for readers of the same store only.
                compare_all(history, &player.readers)?;
                player.readers.clear();
                store = open(history, device, at + 1)?;
                player.acknowledge(at + 1);
                at += 1;
            }
            Step::Beside(steps) => {
                let end = which.end.min(at + 1 + steps);
                player.beside(&store, at, end)?;
                at = end;
            }
            _ => {
                player.step(&store, at)?;
                at += 1;
            }
        }
    }
    player.ran.epochs.push(epoch_of(&newest(&store)?));
    compare_all(history, &player.readers)
}

/// Makes steps, and compares what readers of older states see.
struct Player<'p> {
    history: &'p History,
    ran: &'p mut Ran,
    acknowledge: &'p mut dyn FnMut(&mut Ran, usize),
    readers: Vec<(Graph, &'p State)>,
}

impl Player<'_> {
    fn acknowledge(&mut self, at: usize) {
        (self.acknowledge)(self.ran, at);
    }

    /// The graph before a step.
    fn begin(&mut self, store: &Store) -> Result<Graph, Stop> {
        let before = newest(store)?;
        self.ran.epochs.push(epoch_of(&before));
        Ok(before)
    }

    /// Begins to merge beside the steps up to `end`: makes some of them while new lists are
    /// written, one for each group of pages, and the others before they become those of the graph.
    fn beside(&mut self, store: &Store, at: usize, end: usize) -> Result<(), Stop> {
        self.begin(store)?;
        self.acknowledge(at + 1);
        let playing = RefCell::new((&mut *self, at + 1, Ok(())));
        let watch = |_: UpdateProgress| {
            let (player, next, made) = &mut *playing.borrow_mut();
            if *next < end {
                *made = player.step(store, *next);
                *next += 1;
            }
            made.is_err()
        };
        let prepared = store.prepare_merge(&watch);
        let (_, next, made) = playing.into_inner();
        made?;
        let prepared = prepared?;
        for at in next..end {
            self.step(store, at)?;
        }
        let Some(prepared) = prepared else { return Ok(()) };
        self.ran.beside += usize::from(prepared.finish()?.is_some());
        match self.history.difference(&newest(store)?, &self.history.states[end])? {
            Some(fault) => Err(wrong(at, format!("merged beside the steps up to {end}: {fault}"))),
            None => Ok(()),
        }
    }

    /// Makes a step that is no merge beside others, and leaves the graph open.
    fn step(&mut self, store: &Store, at: usize) -> Result<(), Stop> {
        let (history, state) = (self.history, &self.history.states[at]);
        let before = self.begin(store)?;
        let updated = match &history.steps[at] {
            Step::Commit(batch) => store.commit(batch)?,
            Step::Update(batch) => store.update(batch)?,
            Step::Merge => store.merge()?,
            Step::Snapshot(name) => {
                let made = store.snapshot(Some(name), at as u64)?;
                let expected = self.ran.epochs.last().map(|last| last.0 + u64::from(last.2));
                if (Some(made.epoch), made.epoch + 1) != (expected, store.epoch()) {
                    return Err(wrong(at, format!("of epoch {expected:?}: {made:?}")));
                }
                self.acknowledge(at + 1);
                return Ok(());
            }
            Step::Remove(name) => {
                // A reader keeps what is removed.
                let reader = store.graph_at(name, |_| LookupConfig::default())?;
                let of = state.snapshots.iter().find(|(other, _)| other == name);
                let of = of.map(|(_, of)| &history.states[*of]);
                self.readers.push((reader, of.expect("a snapshot of the state before")));
                store.remove_snapshot(name)?;
                self.acknowledge(at + 1);
                return Ok(());
            }
            Step::Open(_) | Step::Beside(_) => unreachable!("other steps are played within it"),
        };
        self.acknowledge(at + 1);
        if updated.spilled > 0 {
            self.ran.spilled.insert(at);
        }
        compare_updated(history, at, &before, &updated)?;
        // Every other reader stays to the end.
        if at % 2 == 1 {
            self.readers.pop();
        }
        self.readers.push((before, state));
        for (reader, state) in &self.readers {
            compare_list(history, at, reader, state)?;
        }
        Ok(())
    }
}

fn epoch_of(graph: &Graph) -> (u64, bool, bool) {
    let superblock = graph.superblock();
    (superblock.epoch, !superblock.log.is_empty(), graph.has_logged() || graph.runs() > 0)
}

/// Compares what a step returned; `before` is the graph before it.
fn compare_updated(
    history: &History,
    at: usize,
    before: &Graph,
    updated: &Updated,
) -> Result<(), Stop> {
    let (epoch, has_log, has_logged) = epoch_of(before);
    let is_changed = !history.states[at].is_same(&history.states[at + 1]);
    let merged = epoch + u64::from(is_changed || has_logged);
    // The log may become a run first.
    let first = u64::from(updated.spilled > 0);
    let expected = match (&history.steps[at], updated.log_bytes > 0) {
        (Step::Commit(_), true) if has_log => epoch + first..=epoch + first,
        // It may make a log in which the batch then has no room.
        (Step::Commit(_), _) => epoch..=merged + first + u64::from(!has_log),
        (_, false) => merged..=merged,
        (_, true) => return Err(wrong(at, format!("it wrote to the log: {updated:?}"))),
    };
    if updated.answers != history.answers[at] || !expected.contains(&updated.epoch) {
        return Err(wrong(at, format!("epoch {expected:?} expected: {updated:?}")));
    }
    Ok(())
}

/// Compares one list of a reader's.
fn compare_list(history: &History, at: usize, reader: &Graph, state: &State) -> Result<(), Stop> {
    let vertex = (at * 7 % state.numbers.len()) as u32;
    let mut list = Vec::new();
    reader.read_list(Direction::Out, vertex, &mut list)?;
    let edges = state.edges.iter();
    let of_list = edges
        .filter(|((u, v), _)| *u == vertex || (!history.options.directed && *v == vertex))
        .map(|(_, copies)| copies);
    if list.len() as u64 != of_list.sum::<u64>() {
        return Err(wrong(at, format!("a reader's list {vertex}: {list:?}")));
    }
    Ok(())
}

fn compare_all(history: &History, readers: &[(Graph, &State)]) -> Result<(), Stop> {
    for (reader, state) in readers {
        if let Some(fault) = history.difference(reader, state)? {
            return Err(Stop::Wrong(format!("a reader: {fault}")));
        }
    }
    Ok(())
}

fn wrong(at: usize, fault: String) -> Stop {
    Stop::Wrong(format!("step {at}: {fault}"))
}
