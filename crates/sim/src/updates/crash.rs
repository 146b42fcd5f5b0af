//! A history up to a fault, and what must hold when the graph is opened again.
//!
//! At every write, sync and resize in turn the power is cut, with each fate of what was not synced,
//! or the operation fails, or the process ends. Then the graph is that after the steps that were
//! acknowledged, or that after one more, and the next writer goes on. A drive that lies about what
//! it has written may damage the graph, which is then found, or take it back to an earlier state:
//! no answer is wrong.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote_device::Device;
use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, Unsynced, When};
use cenote_store::{Graph, Store, StoreError, check};

use super::history::{History, Step};
use super::play::{newest, play};
use crate::disk::drive_with;
use crate::faults::clean;
use crate::random::Random;
use crate::{Outcome, demand};

/// `EIO` and `ENOSPC`.
const ERRNOS: [i32; 2] = [5, 28];

/// Most epochs by which a state may differ that a merge beside its steps is part of.
const BESIDE_EPOCHS_MAX: u64 = 4;

/// What happens at a crash point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The power is cut.
    Cut(Unsynced),
    /// The operation fails with an errno.
    Errno(i32),
    /// The process ends before the operation. The next one finds what was written and not synced,
    /// until the power is cut.
    Killed,
    /// The device has no more room than this.
    Full(u64),
    /// The drive acknowledges and syncs a write that is torn or lost.
    Lie(Effect),
}

/// The bytes of a device before a step.
#[derive(Clone, PartialEq, Eq)]
pub struct Image(Arc<Vec<u8>>);

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// A fault at the n-th write, sync or resize, counted from a step of a history on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The device before that step.
    pub image: Image,
    /// Which step.
    pub from: usize,
    /// Which change of the device.
    pub change: u64,
    /// The fault.
    pub kind: Kind,
}

/// How much is checked after a fault.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// All algorithms run at one in so many points.
    pub all_algorithms_each: usize,
    /// The next writer's lists are compared and a cheap algorithm runs at one in so many points.
    pub cheap_algorithm_each: usize,
    /// The next writer makes the other steps at one in so many points.
    pub going_on_each: usize,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { all_algorithms_each: 150, cheap_algorithm_each: 3, going_on_each: 15 }
    }
}

impl Point {
    fn plan(&self, seed: u64) -> FaultPlan {
        let plan = FaultPlan::seeded(seed ^ (self.change << 8));
        let here = When::Change(self.change);
        match self.kind {
            Kind::Cut(unsynced) => FaultPlan { unsynced, ..plan.with(here, Effect::PowerCut) },
            Kind::Errno(errno) => plan.with(here, Effect::Errno(errno)),
            Kind::Killed => {
                let later = Random::new(plan.seed).below(10);
                let cut = When::Change(self.change + 1 + later);
                plan.with(here, Effect::Errno(ERRNOS[0])).with(cut, Effect::PowerCut)
            }
            Kind::Full(bytes) => FaultPlan { capacity_bytes: Some(bytes), ..plan },
            Kind::Lie(effect) => plan.with(here, effect),
        }
    }
}

/// A graph that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Which state it is in.
    pub state: usize,
    /// Steps that may be made once more, because the graph is the same without them. They may fill
    /// the log, which then takes a commit more.
    pub repeated: u64,
}

impl Found {
    pub fn surely(state: usize) -> Self {
        Self { state, repeated: 0 }
    }
}

impl History {
    /// All crash points of the history, which must first pass without a fault. Some faults hit a
    /// process that has made all steps before, others one that starts with the step.
    pub fn points(&mut self, seed: u64) -> Outcome<Vec<Point>> {
        let all = self.steps.len();
        let whole = [Kind::Cut(Unsynced::Random), Kind::Cut(Unsynced::Lost)];
        self.find_epochs(seed)?;
        let (mut points, end) = self.points_from(seed, 0..all, self.contents.clone(), &whole)?;
        let (first, last) = (self.contents.len() as u64, end.contents().len() as u64);
        let image = Image(Arc::new(self.contents.clone()));
        for bytes in (first..last).step_by(self.options.page_bytes as usize) {
            let (image, kind) = (image.clone(), Kind::Full(bytes));
            points.push(Point { image, from: 0, change: 0, kind });
        }
        let single = [
            Kind::Cut(Unsynced::Random),
            Kind::Cut(Unsynced::Kept),
            Kind::Cut(Unsynced::Torn),
            Kind::Errno(ERRNOS[0]),
            Kind::Errno(ERRNOS[1]),
            Kind::Killed,
        ];
        let lies = [Effect::LostWrite, Effect::TornWrite];
        let mut contents = self.contents.clone();
        for at in 0..all {
            let beside = self.beside().filter(|(merge, _)| *merge == at);
            // The steps beside a merge are made with it, and by themselves.
            let which = at..at + 1 + beside.map_or(0, |(_, steps)| steps);
            let (more, end) = self.points_from(seed, which.clone(), contents.clone(), &single)?;
            points.extend(more);
            let lie = [Kind::Lie(lies[at % lies.len()])];
            points.extend(self.points_from(seed, which.clone(), contents.clone(), &lie)?.0);
            if which.len() == 1 {
                contents = end.contents();
            }
        }
        Ok(points)
    }

    /// Plays all steps without a fault, for the epochs of the states.
    pub(super) fn find_epochs(&mut self, seed: u64) -> Outcome {
        let device = drive_with(&self.drive, FaultPlan::seeded(seed), &self.contents);
        let ran = play(self, &shared(&device), 0..self.steps.len())?;
        let error = ran.error.map(|error| error.to_string());
        demand(error.is_none(), || format!("without a fault: {error:?}"))?;
        // A commit that makes a log does that first, or a run where the log is full, and a snapshot
        // merges first.
        let is_made = |at: usize| ran.epochs.get(at + 1).is_some_and(|next| next.1);
        let merges =
            |at: usize| matches!(self.steps.get(at), Some(Step::Snapshot(_) | Step::Remove(_)));
        let spills = |at: usize| ran.spilled.contains(&at);
        let epochs = ran.epochs.iter().enumerate();
        let epochs = epochs.map(|(at, &(epoch, has_log, has_logged))| {
            let comes_first = (!has_log && is_made(at)) || (has_logged && merges(at)) || spills(at);
            // Once a merge goes on beside the steps, it may be made or not, which decides when the
            // log is full.
            let beside = self.beside().filter(|(merge, _)| *merge < at);
            let more = beside.map_or(0, |(_, steps)| (1 + steps as u64).min(BESIDE_EPOCHS_MAX));
            epoch.saturating_sub(more)..=epoch + u64::from(comes_first) + more
        });
        self.epochs = epochs.collect();
        self.beside_made = ran.beside;
        self.spilled = ran.spilled.len();
        Ok(())
    }

    /// Points at all changes of some steps, and the device after them, whose graph is compared.
    fn points_from(
        &self,
        seed: u64,
        which: Range<usize>,
        contents: Vec<u8>,
        kinds: &[Kind],
    ) -> Outcome<(Vec<Point>, Arc<SimDevice>)> {
        let device = drive_with(&self.drive, FaultPlan::seeded(seed), &contents);
        let ran = play(self, &shared(&device), which.clone())?;
        let error = ran.error.map(|error| error.to_string());
        demand(error.is_none(), || format!("without a fault: {error:?}"))?;
        let state = self.whole(&shared(&device), Found::surely(which.end))?.state;
        demand(state == which.end, || format!("state {state} without a fault"))?;
        let (image, from) = (Image(Arc::new(contents)), which.start);
        let point = |change, kind| Point { image: image.clone(), from, change, kind };
        let at = |change| kinds.iter().map(move |&kind| (change, kind));
        // The first change is the sync of the opening: one cut there is enough.
        let changes = u64::from(from > 0)..device.changes();
        let points = changes.flat_map(at).map(|(change, kind)| point(change, kind));
        Ok((points.collect(), device))
    }

    /// Plays the history with the fault of a point, and checks what is left.
    pub fn crash(&self, seed: u64, at: usize, point: &Point, sweep: Sweep) -> Outcome {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.crash_at(seed, at, point, sweep)));
        outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("it panicked: {}", text.unwrap_or("no message")))
        })
    }

    fn crash_at(&self, seed: u64, at: usize, point: &Point, sweep: Sweep) -> Outcome {
        let (device, all) =
            (drive_with(&self.drive, point.plan(seed), &point.image.0), self.steps.len());
        let is_lie = matches!(point.kind, Kind::Lie(_));
        let ran = play(
            self,
            &shared(&device),
            point.from..if is_lie { self.opened(point.from) } else { all },
        )?;
        let acknowledged = ran.acknowledged.unwrap_or(point.from);
        let ended = ran.error.is_some() || is_lie || acknowledged == all;
        demand(ended, || "the history stops without an error".into())?;
        if point.kind == Kind::Killed && !device.is_power_cut() {
            let state = self.whole(&shared(&device), Found::surely(acknowledged))?;
            return self.go_on(device, acknowledged, state);
        }
        // After an error without a power cut, the same drive may be opened again.
        let is_cut = device.is_power_cut() || is_lie || at.is_multiple_of(2);
        let found = match is_cut {
            true => Arc::new(device.restart(FaultPlan::none())),
            false => drive_with(&self.drive, FaultPlan::none(), &device.contents()),
        };
        if is_lie {
            return self.nothing_wrong(&found);
        }
        let now = self.whole(&shared(&found), Found::surely(acknowledged))?;
        let (state, graph) = (now.state, self.next_writer(&shared(&found))?);
        if at % sweep.all_algorithms_each == seed as usize % sweep.all_algorithms_each {
            self.compare_answers(&graph, &self.states[state], None)?;
        } else if at.is_multiple_of(sweep.cheap_algorithm_each) {
            self.compare_with(&graph, now).map_err(|fault| format!("the next writer: {fault}"))?;
            self.compare_answers(&graph, &self.states[state], Some(at))?;
        }
        drop(graph);
        if at.is_multiple_of(sweep.going_on_each) {
            let mut random = Random::new(seed ^ at as u64);
            let plan = FaultPlan::seeded(random.bits());
            let cut = plan.with(When::Change(random.below(24)), Effect::PowerCut);
            self.go_on(Arc::new(found.restart(cut)), state, now)
        } else {
            Ok(())
        }
    }

    /// The first step from `step` on that opens the graph again: on a drive that lies, it may find
    /// another state.
    fn opened(&self, step: usize) -> usize {
        let opens = self.steps[step..].iter().take_while(|step| !matches!(step, Step::Open(_)));
        step + opens.count()
    }

    /// Compares the graph on a device with the states after the steps that were acknowledged and
    /// after one more. Returns which it is.
    pub(super) fn whole(&self, found: &Arc<dyn Device>, acknowledged: Found) -> Outcome<Found> {
        let graph = Graph::open(Arc::clone(found));
        let graph = graph.map_err(|error| format!("it does not open: {error}"))?;
        let Found { state: first, repeated } = acknowledged;
        let last = (first + 1).min(self.steps.len());
        let mut faults = Vec::new();
        for state in first..=last {
            match self.compare_with(&graph, Found { state, repeated }) {
                Ok(()) => {
                    let is_next = state < last && self.states[state].is_same(&self.states[last]);
                    return Ok(Found { state, repeated: repeated + u64::from(is_next) });
                }
                Err(fault) => faults.push(format!("state {state}: {fault}")),
            }
        }
        Err(faults.join("; "))
    }

    /// Compares a graph and its epoch with a state.
    pub(super) fn compare_with(&self, graph: &Graph, Found { state, repeated }: Found) -> Outcome {
        let (epoch, expected) = (graph.superblock().epoch, &self.epochs[state]);
        let is_right = (*expected.start()..=expected.end() + repeated).contains(&epoch);
        demand(is_right, || format!("epoch {epoch}, not {expected:?} and up to {repeated} more"))?;
        self.compare(graph, &self.states[state])?;
        self.compare_snapshots(graph.device(), &self.states[state])
    }

    /// The graph as the next writer opens it, which clears the traces of a commit or flush that was
    /// cut.
    pub(super) fn next_writer(&self, found: &Arc<dyn Device>) -> Outcome<Arc<Graph>> {
        let failed = |error: StoreError| format!("the next writer: {error}");
        let store = Store::open(Arc::clone(found)).map_err(failed)?;
        let graph = newest(&store).map_err(failed)?;
        let report = check(&graph, &mut |_, _| true).map_err(failed)?;
        demand(report.is_whole(), || format!("check finds {:?}", report.faults))?;
        Ok(Arc::new(graph))
    }

    /// Makes the steps after a state on a device whose power is cut meanwhile, maybe while the
    /// graph is opened; then the rest.
    fn go_on(&self, device: Arc<SimDevice>, acknowledged: usize, from: Found) -> Outcome {
        let all = self.steps.len();
        let ran = play(self, &shared(&device), from.state..all)?;
        let found = Arc::new(device.restart(FaultPlan::none()));
        let state = ran.acknowledged.unwrap_or(acknowledged);
        let now = self.whole(&shared(&found), Found { state, ..from });
        let now = now.map_err(|fault| format!("second cut: {fault}"))?;
        let ran = play(self, &shared(&found), now.state..all)?;
        let is_done = ran.acknowledged == Some(all);
        demand(is_done, || format!("it does not go on: {:?}", ran.error))?;
        let graph = self.next_writer(&shared(&found))?;
        self.compare_with(&graph, Found { state: all, ..now })
    }

    /// A drive that lied may hold anything. What can be read is some state of the history, unless
    /// `check` finds damage; and then reading fails, rather than giving a wrong list.
    fn nothing_wrong(&self, found: &Arc<SimDevice>) -> Outcome {
        let graph = match Graph::open(Arc::clone(found) as Arc<dyn Device>) {
            Ok(graph) => graph,
            Err(error) => return clean(&error).map(drop),
        };
        let report = check(&graph, &mut |_, _| true).map_err(|error| error.to_string())?;
        let mut faults = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            match self.difference(&graph, state) {
                // The other steps are made, or end with an error.
                Ok(None) => return play(self, &shared(found), at..self.steps.len()).map(drop),
                Ok(Some(fault)) => faults.push(fault),
                Err(error) => {
                    clean(&error)?;
                    demand(!report.is_whole(), || format!("check finds nothing, but: {error}"))?;
                    return self.any_step(found);
                }
            }
        }
        Err(format!("it reads, but is no state of the history: {}", faults.join("; ")))
    }

    /// Makes a step on a damaged graph, which may be an error.
    fn any_step(&self, found: &Arc<SimDevice>) -> Outcome {
        let made = Store::open(Arc::clone(found) as Arc<dyn Device>).and_then(|store| {
            for batch in self.steps.iter().rev().filter_map(Step::batch) {
                store.commit(batch)?;
            }
            store.merge()
        });
        match made {
            Ok(_) => Ok(()),
            Err(error) => clean(&error).map(drop),
        }
    }
}

/// Plays all crash points of some seeds, or until there were `points` of them. Returns their
/// number.
///
/// # Errors
/// The first fault, with its seed, its point, and how to repeat it.
pub fn sweep(seeds: std::ops::Range<u64>, points: u64, sweep: Sweep) -> Outcome<u64> {
    let mut count = 0;
    for seed in seeds {
        if count >= points {
            break;
        }
        let mut history = History::new(seed).map_err(|fault| with_seed(seed, None, &fault))?;
        let all = history.points(seed).map_err(|fault| with_seed(seed, None, &fault))?;
        for (at, point) in all.iter().enumerate() {
            let outcome = history.crash(seed, at, point, sweep);
            outcome.map_err(|fault| with_seed(seed, Some(at), &format!("{point:?}: {fault}")))?;
        }
        // At a sync a lie has no effect, so lies are not counted.
        count += all.iter().filter(|point| !matches!(point.kind, Kind::Lie(_))).count() as u64;
    }
    Ok(count)
}

/// [`sweep`] on some threads, from a seed on. Calls `progress` with the number of points so far and
/// the seed that was played last.
pub fn sweep_on(
    threads: usize,
    seed: u64,
    points: u64,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Outcome<u64> {
    let (next, done, failed) = (AtomicU64::new(seed), AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        while done.load(Ordering::Relaxed) < points && !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let played = sweep(seed..seed + 1, u64::MAX, Sweep::default());
            let played = played.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            progress(done.fetch_add(played, Ordering::Relaxed) + played, seed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        let ended = ended.map(|ended| ended.unwrap_or_else(|_| Err("a worker panicked".into())));
        ended.collect::<Outcome>()
    })?;
    Ok(done.into_inner())
}

/// All points of a random history.
pub fn every_point(random: &mut Random) -> Outcome<u64> {
    let seed = random.below(1 << 32);
    sweep(seed..seed + 1, u64::MAX, Sweep::default())
}

/// Plays one crash point again.
pub fn replay(seed: u64, at: usize) -> Outcome {
    let mut history = History::new(seed)?;
    let points = history.points(seed)?;
    let point = points.get(at).ok_or_else(|| format!("there are {} points", points.len()))?;
    let sweep = Sweep { all_algorithms_each: 1, cheap_algorithm_each: 1, going_on_each: 1 };
    history.crash(seed, at, point, sweep)
}

fn shared(device: &Arc<SimDevice>) -> Arc<dyn Device> {
    Arc::clone(device) as Arc<dyn Device>
}

fn with_seed(seed: u64, at: Option<usize>, fault: &str) -> String {
    let point = at.map_or_else(String::new, |at| format!(" {at}"));
    format!(
        "seed {seed}, point{point}: {fault}\n\
         again: cargo run -p cenote-sim --example crash -- replay {seed}{point}"
    )
}
