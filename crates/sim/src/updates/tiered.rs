//! Histories on a graph over tiers, whose blocks move between the steps or beside them.
//!
//! After every change of any member in turn the power of all is cut, each with its own fate of what
//! was not synced. Then the set opens, and the graph is that after the steps that were
//! acknowledged, or that after one more. Processes are also ended at a change, with the next one
//! cut at each of its own; members fail; and tiers are full.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, Unsynced, When};
use cenote_device::{Buffer, Device, write_all};
use cenote_store::Graph;
use cenote_tier::device::{Migrator, SetConfig, TierPart, TieredDevice, TieredError};
use cenote_tier::placement::Move;

use super::crash::Found;
use super::history::History;
use super::play::{Ran, play_with};
use super::power::{Plugged, Power};
use crate::disk::{drive_with, random_drive};
use crate::random::Random;
use crate::{Outcome, demand};

/// `EIO` and `ENOSPC`.
const ERRNOS: [i32; 2] = [5, 28];

const FATES: [Unsynced; 4] = [Unsynced::Random, Unsynced::Lost, Unsynced::Torn, Unsynced::Kept];

/// Points at which a cheap algorithm runs, all algorithms run, and the next writer goes on.
const CHEAP_EACH: u64 = 5;
const ALL_EACH: u64 = 400;
const GOING_ON_EACH: u64 = 16;

/// Processes that end, and members that fail, in each history.
const ENDS: u64 = 4;
const FAILURES: u64 = 6;

/// Blocks that are moved at once, and in one go between two steps.
const BATCH: usize = 4;
const MOVES: u64 = 8;

/// What a sweep met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Changes after which the power was cut.
    pub cuts: u64,
    /// Blocks that moved between or beside the steps.
    pub moved: u64,
    /// Processes that were ended.
    pub ended: u64,
    /// Histories that ended with an error because of a member's fault.
    pub failed: u64,
    /// Histories that ended because the tiers were full.
    pub full: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.moved += other.moved;
        self.ended += other.ended;
        self.failed += other.failed;
        self.full += other.full;
    }
}

/// The members of a set, the map first.
#[derive(Clone, Debug)]
struct Members(Vec<Arc<SimDevice>>);

/// The set of a history.
#[derive(Clone, Debug)]
struct Layout {
    drives: Vec<SimConfig>,
    block_bytes: u32,
    journal_pages: u32,
    slots: Vec<u64>,
}

impl Layout {
    fn random(history: &History, random: &mut Random) -> Self {
        let block_bytes = random.pick(&[4096, 4096, 8192, 16384]);
        let blocks = (history.contents.len() as u64).div_ceil(block_bytes.into());
        let mut slots: Vec<u64> = (0..1 + random.index(2)).map(|_| 2 + random.below(12)).collect();
        // The log, copies of all pages, and some more for each snapshot.
        slots.push(40 + 12 * blocks);
        let drive = |random: &mut Random| random_drive(random).block_bytes(512);
        let drives = (0..=slots.len()).map(|_| drive(random)).collect();
        Self { drives, block_bytes, journal_pages: 2 + random.below(4) as u32, slots }
    }

    /// Empty members with these faults and random fates of what is not synced.
    fn members(
        &self,
        random: &mut Random,
        fault: impl Fn(usize) -> Option<(When, Effect)>,
    ) -> Members {
        let drives = self.drives.iter().enumerate();
        Members(drives.map(|(at, drive)| drive_with(drive, plan(random, fault(at)), &[])).collect())
    }

    /// Creates the set, with the graph of a history.
    fn store(&self, members: &Members, history: &History) -> Outcome {
        let part = |(at, &slots): (usize, &u64)| TierPart {
            device: Arc::clone(&members.0[at + 1]) as _,
            name: format!("tier{at}"),
            capacity_bytes: 65_536 + slots * u64::from(self.block_bytes),
        };
        let parts = self.slots.iter().enumerate().map(part).collect();
        let (block_bytes, journal_pages) = (self.block_bytes, self.journal_pages);
        let config = SetConfig::new([9; 16]).block_bytes(block_bytes).journal_pages(journal_pages);
        let map = Arc::clone(&members.0[0]) as _;
        let device = TieredDevice::create(map, parts, &config).map_err(text)?;
        let mut buffer = Buffer::new(history.contents.len()).map_err(text)?;
        buffer.copy_from_slice(&history.contents);
        write_all(&device, 0, buffer.len(), buffer).map_err(text)?;
        device.sync().map_err(text)
    }
}

/// A plan with a random fate of what is not synced.
fn plan(random: &mut Random, fault: Option<(When, Effect)>) -> FaultPlan {
    let plan = FaultPlan { unsynced: random.pick(&FATES), ..FaultPlan::seeded(random.bits()) };
    fault.map_or(plan.clone(), |(when, effect)| plan.with(when, effect))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Members {
    fn open(&self) -> Result<TieredDevice, TieredError> {
        let tiers = self.0[1..].iter().map(|tier| Arc::clone(tier) as Arc<dyn Device>);
        TieredDevice::open(Arc::clone(&self.0[0]) as _, tiers.collect())
    }

    /// Opens the set in a process with this power, maybe with a member whose syncs do nothing.
    fn open_with(
        &self,
        power: &Arc<Power>,
        unsynced: Option<usize>,
    ) -> Result<TieredDevice, TieredError> {
        let plugged = |(at, device): (usize, &Arc<SimDevice>)| {
            let (device, power) = (Arc::clone(device), Arc::clone(power));
            let (is_map, is_synced) = (at == 0, unsynced != Some(at));
            Arc::new(Plugged { device, power, is_map, is_synced }) as Arc<dyn Device>
        };
        let mut members = self.0.iter().enumerate().map(plugged);
        let map = members.next().expect("a set has a map");
        TieredDevice::open(map, members.collect())
    }

    /// The members as they are found after a power cut now.
    fn after_power_cut(&self) -> Self {
        let found = |device: &Arc<SimDevice>| Arc::new(device.restart(FaultPlan::none()));
        Self(self.0.iter().map(found).collect())
    }

    /// The same, with random fates of what is not synced at the next cut.
    fn again(&self, random: &mut Random) -> Self {
        let found = |device: &Arc<SimDevice>| Arc::new(device.restart(plan(random, None)));
        Self(self.0.iter().map(found).collect())
    }
}

/// Moves some blocks of a device; returns how many moved. A device that fails moves none.
fn some_moves(device: &TieredDevice, migrator: &mut Migrator, random: &mut Random) -> u64 {
    let blocks = device.blocks();
    if blocks == 0 {
        return 0;
    }
    let tiers = device.tiers().len();
    let step = |random: &mut Random| Move {
        page: random.below(blocks.into()) as u32,
        to: random.index(tiers) as u8,
    };
    let moves: Vec<Move> = (0..1 + random.below(MOVES)).map(|_| step(random)).collect();
    let outcomes = migrator.carry_out(&moves).unwrap_or_default();
    let moved =
        |outcome: &&cenote_tier::device::Outcome| **outcome == cenote_tier::device::Outcome::Moved;
    outcomes.iter().filter(moved).count() as u64
}

/// A process that makes some steps of a history.
struct Process {
    history: Arc<History>,
    members: Members,
    power: Arc<Power>,
    /// Steps that were acknowledged so far.
    acknowledged: Arc<AtomicUsize>,
    /// A member whose syncs do nothing.
    unsynced: Option<usize>,
}

impl Process {
    fn new(history: &Arc<History>, members: &Members, power: Arc<Power>, from: usize) -> Self {
        let acknowledged = Arc::new(AtomicUsize::new(from));
        let (history, members) = (Arc::clone(history), members.clone());
        Self { history, members, power, acknowledged, unsynced: None }
    }

    /// Cuts the power after each change from now on. `from` is what was surely durable before.
    fn cut_each_change(&self, seed: u64, from: Found) {
        let (history, members) = (Arc::clone(&self.history), self.members.clone());
        let acknowledged = Arc::clone(&self.acknowledged);
        self.power.listen(move |change| {
            // Before the cut: what is acknowledged later may be on it already.
            let state = acknowledged.load(Ordering::SeqCst);
            let cut = members.after_power_cut();
            let found = found(&history, &cut, Found { state, ..from })?;
            look_closer(&history, cut, found, seed, change)
        });
    }

    /// Makes the steps, with moves after each. Returns also how many blocks moved; no steps where
    /// the set does not open.
    fn play(&self, which: Range<usize>, random: &mut Random) -> Outcome<(Option<Ran>, u64)> {
        let opened = self.members.open_with(&self.power, self.unsynced);
        let Ok(device) = opened else { return Ok((None, 0)) };
        let Ok(mut migrator) = Migrator::new(&device, BATCH) else { return Ok((None, 0)) };
        let shared: Arc<dyn Device> = Arc::new(device.clone());
        let mut moved = 0;
        let ran = play_with(&self.history, &shared, which, &mut |steps| {
            self.acknowledged.store(steps, Ordering::SeqCst);
            moved += some_moves(&device, &mut migrator, random);
        })?;
        Ok((Some(ran), moved))
    }
}

/// Opens a set and compares its graph with the state that was acknowledged, and the next one.
fn found(history: &History, members: &Members, acknowledged: Found) -> Outcome<Found> {
    let device = members.open().map_err(|error| format!("the set does not open: {error}"))?;
    let device: Arc<dyn Device> = Arc::new(device);
    history.whole(&device, acknowledged)
}

/// Runs algorithms on what was found, and goes on with it, now and then.
fn look_closer(
    history: &Arc<History>,
    members: Members,
    found: Found,
    seed: u64,
    change: u64,
) -> Outcome {
    let is_all = change % ALL_EACH == seed % ALL_EACH;
    if is_all || change.is_multiple_of(CHEAP_EACH) {
        let device: Arc<dyn Device> = Arc::new(members.open().map_err(text)?);
        let graph = history.next_writer(&device)?;
        let which = (!is_all).then_some(change as usize);
        history.compare_answers(&graph, &history.states[found.state], which)?;
    }
    if change.is_multiple_of(GOING_ON_EACH) {
        go_on(history, &members, found, seed ^ change)?;
    }
    Ok(())
}

/// Makes the other steps on what was found.
fn go_on(history: &Arc<History>, members: &Members, found: Found, seed: u64) -> Outcome {
    let all = history.steps.len();
    let process = Process::new(history, members, Power::new(), found.state);
    let (ran, _) = process.play(found.state..all, &mut Random::new(seed))?;
    let ran = ran.ok_or("the set does not open for the next writer")?;
    let is_done = ran.acknowledged == Some(all);
    demand(is_done, || format!("it does not go on: {:?}", ran.error))?;
    let device: Arc<dyn Device> = Arc::new(members.open().map_err(text)?);
    let graph = history.next_writer(&device)?;
    history.compare_with(&graph, Found { state: all, ..found })
}

/// A history over tiers with all faults that there are.
struct Case {
    seed: u64,
    history: Arc<History>,
    layout: Layout,
    random: Random,
}

impl Case {
    fn of(seed: u64, history: History) -> Self {
        let mut random = Random::new(seed ^ 0x7157);
        let layout = Layout::random(&history, &mut random);
        Self { seed, history: Arc::new(history), layout, random }
    }

    fn new(seed: u64) -> Outcome<Self> {
        let mut history = History::new(seed)?.without_beside();
        history.find_epochs(seed)?;
        Ok(Self::of(seed, history))
    }

    /// New members with the graph of the history.
    fn stored(&mut self) -> Outcome<Members> {
        let members = self.layout.members(&mut self.random, |_| None);
        self.layout.store(&members, &self.history)?;
        Ok(members)
    }

    fn all(&self) -> usize {
        self.history.steps.len()
    }

    fn done(&self, ran: Option<Ran>) -> Outcome {
        let ran = ran.ok_or("the set does not open")?;
        let is_done = ran.acknowledged == Some(self.all());
        demand(is_done, || format!("without a fault: {:?}", ran.error))
    }

    /// Cuts the power after every change of a process that makes all steps.
    /// Returns also which of the changes are syncs of the map.
    fn cut(&mut self, unsynced: Option<usize>) -> Outcome<(Count, Vec<u64>)> {
        let members = self.stored()?;
        let mut process = Process::new(&self.history, &members, Power::new(), 0);
        process.unsynced = unsynced;
        process.cut_each_change(self.seed, Found::surely(0));
        let (ran, moved) = process.play(0..self.all(), &mut self.random)?;
        process.power.heard()?;
        self.done(ran)?;
        let count = Count { cuts: process.power.changes(), moved, ..Count::default() };
        Ok((count, process.power.map_syncs()))
    }

    /// Cuts the power while another thread moves blocks.
    fn cut_beside_moves(&mut self) -> Outcome<Count> {
        let members = self.stored()?;
        let process = Process::new(&self.history, &members, Power::new(), 0);
        process.cut_each_change(self.seed, Found::surely(0));
        let device = members.open_with(&process.power, None).map_err(text)?;
        let (done, mut random) = (AtomicBool::new(false), Random::new(self.random.bits()));
        let shared: Arc<dyn Device> = Arc::new(device.clone());
        let (ran, moved) = std::thread::scope(|scope| {
            let mover = scope.spawn(|| {
                let mut migrator = Migrator::new(&device, BATCH).map_err(text)?;
                let mut moved = 0;
                while !done.load(Ordering::SeqCst) {
                    moved += some_moves(&device, &mut migrator, &mut random);
                }
                Ok::<u64, String>(moved)
            });
            let ran = play_with(&self.history, &shared, 0..self.all(), &mut |steps| {
                process.acknowledged.store(steps, Ordering::SeqCst);
            });
            done.store(true, Ordering::SeqCst);
            let moved = mover.join().unwrap_or_else(|_| Err("the mover panicked".into()));
            (ran, moved)
        });
        process.power.heard()?;
        self.done(Some(ran?))?;
        Ok(Count { cuts: process.power.changes(), moved: moved?, ..Count::default() })
    }

    /// Ends a process before a change, by its number, and cuts the power after each change of the
    /// next process.
    fn end(&mut self, change: u64) -> Outcome<Count> {
        let members = self.stored()?;
        let power = Power::that_ends_at(change);
        let process = Process::new(&self.history, &members, power, 0);
        process.play(0..self.all(), &mut self.random)?;
        let surely = Found::surely(process.acknowledged.load(Ordering::SeqCst));
        let now = found(&self.history, &members, surely)?;
        // What is found is durable only once the next process has opened the graph.
        let next = Process::new(&self.history, &members, Power::new(), surely.state);
        next.cut_each_change(self.seed, now);
        let (ran, moved) = next.play(now.state..self.all(), &mut self.random)?;
        next.power.heard()?;
        self.done(ran)?;
        Ok(Count { cuts: next.power.changes(), moved, ended: 1, ..Count::default() })
    }

    /// Fails one change of one member.
    fn fail(&mut self, changes: u64) -> Outcome<Count> {
        let members = self.stored()?.again(&mut self.random);
        let member = self.random.index(members.0.len());
        let when = When::Change(self.random.below(changes));
        let fault = (when, Effect::Errno(self.random.pick(&ERRNOS)));
        let faulty = |(at, device): (usize, &Arc<SimDevice>)| {
            let plan = plan(&mut self.random, (at == member).then_some(fault));
            Arc::new(device.restart(plan))
        };
        let members = Members(members.0.iter().enumerate().map(faulty).collect());
        let process = Process::new(&self.history, &members, Power::new(), 0);
        let (ran, moved) = process.play(0..self.all(), &mut self.random)?;
        let failed = u64::from(ran.is_none_or(|ran| ran.error.is_some()));
        let acknowledged = process.acknowledged.load(Ordering::SeqCst);
        let cut = members.after_power_cut();
        let now = found(&self.history, &cut, Found::surely(acknowledged))
            .map_err(|fault| format!("member {member} fails at {when:?}: {fault}"))?;
        go_on(&self.history, &cut, now, self.seed)?;
        Ok(Count { moved, failed, ..Count::default() })
    }

    /// Makes the steps on tiers that have hardly more room than the graph takes.
    fn fill(&mut self) -> Outcome<Count> {
        let whole = self.layout.clone();
        let blocks = (self.history.contents.len() as u64).div_ceil(whole.block_bytes.into());
        let slow = blocks + self.random.below(12);
        let last = self.layout.slots.len() - 1;
        // A spare slot of each tier is for moves alone.
        self.layout.slots[last] = slow + 2;
        let stored = self.stored();
        self.layout = whole;
        let members = stored?;
        let process = Process::new(&self.history, &members, Power::new(), 0);
        let (ran, moved) = process.play(0..self.all(), &mut self.random)?;
        let full = u64::from(ran.is_some_and(|ran| ran.error.is_some()));
        let acknowledged = Found::surely(process.acknowledged.load(Ordering::SeqCst));
        found(&self.history, &members, acknowledged).map_err(|fault| format!("full: {fault}"))?;
        let cut = members.after_power_cut();
        let now = found(&self.history, &cut, acknowledged)?;
        let device: Arc<dyn Device> = Arc::new(cut.open().map_err(text)?);
        let graph = Arc::new(Graph::open(device).map_err(text)?);
        self.history.compare_answers(&graph, &self.history.states[now.state], Some(0))?;
        Ok(Count { moved, full, ..Count::default() })
    }

    fn play_all(&mut self) -> Outcome<Count> {
        let (mut count, map_syncs) = self.cut(None)?;
        let changes = count.cuts;
        count.add(self.cut_beside_moves()?);
        for at in 0..ENDS {
            // Before a sync of the map its newest pages are there, but not durable.
            let change = match at % 2 {
                0 => self.random.pick(&map_syncs),
                _ => self.random.below(changes),
            };
            count.add(self.end(change)?);
        }
        for _ in 0..FAILURES {
            count.add(self.fail(changes / 2)?);
        }
        count.add(self.fill()?);
        Ok(count)
    }
}

/// Plays the histories of some seeds.
///
/// # Errors
/// The first fault, with its seed, and how to repeat it.
pub fn sweep(seeds: Range<u64>) -> Outcome<Count> {
    let mut count = Count::default();
    for seed in seeds {
        let played = Case::new(seed).and_then(|mut case| case.play_all());
        count.add(played.map_err(|fault| {
            format!(
                "over tiers, seed {seed}: {fault}\n\
                 again: cargo run -p cenote-sim --example crash -- tiers {seed}"
            )
        })?);
    }
    Ok(count)
}

/// Cuts the power after every change of a history, which must have its epochs.
///
/// # Errors
/// The first fault.
pub fn cut_history(seed: u64, history: History) -> Outcome<Count> {
    Case::of(seed, history).cut(None).map(|(count, _)| count)
}

/// The same for a seed, while the syncs of one member, by its number from the map on, do nothing:
/// must find a fault in some history.
///
/// # Errors
/// The first fault.
pub fn cut_without_syncs(seed: u64, member: usize) -> Outcome<Count> {
    Case::new(seed)?.cut(Some(member)).map(|(count, _)| count)
}

/// [`sweep`] on some threads, from a seed on, until there were `cuts` power cuts.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_on(threads: usize, seed: u64, cuts: u64) -> Outcome<Count> {
    let (next, all) = (AtomicU64::new(seed), Mutex::new(Count::default()));
    let so_far = || *all.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        while so_far().cuts < cuts {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let played = sweep(seed..seed + 1).inspect_err(|_| {
                // The others end as well.
                all.lock().unwrap_or_else(PoisonError::into_inner).cuts = cuts;
            })?;
            all.lock().unwrap_or_else(PoisonError::into_inner).add(played);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        let ended = ended.map(|ended| ended.unwrap_or_else(|_| Err("a worker panicked".into())));
        ended.collect::<Outcome>()
    })?;
    Ok(so_far())
}

/// All faults of a random history.
///
/// # Errors
/// As [`sweep`].
pub fn every_cut(random: &mut Random) -> Outcome<Count> {
    let seed = random.below(1 << 32);
    sweep(seed..seed + 1)
}
