//! The whole system on tiers: imports a graph onto several devices, opens it and runs algorithms
//! while its blocks move.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_import::{ImportError, Workspace};
use cenote_tier::device::{Migrator, SetConfig, TierPart, TieredDevice};
use cenote_tier::placement::Move;

use crate::disk::{drive_with, random_drive};
use crate::house::{Case, compare_answer, compare_stored, open_whole};
use crate::question::{Question, random_config};
use crate::random::Random;
use crate::{Outcome, demand};

/// The devices of the graph, the map first.
#[derive(Debug)]
struct Tiers {
    drives: Vec<Arc<SimDevice>>,
    block_bytes: u32,
    journal_pages: u32,
    slots: Vec<u64>,
    spill: SimConfig,
    device: Mutex<Option<TieredDevice>>,
}

impl Tiers {
    fn random(random: &mut Random) -> Self {
        let tiers = 2 + random.index(3);
        let drive = |random: &mut Random| {
            let config = random_drive(random);
            drive_with(&config, FaultPlan::none(), &[])
        };
        let mut slots: Vec<u64> = (1..tiers).map(|_| 2 + random.below(40)).collect();
        // The slowest tier holds any graph.
        slots.push(1 << 20);
        Self {
            drives: (0..=tiers).map(|_| drive(random)).collect(),
            block_bytes: random.pick(&[4096, 4096, 16384, 65536]),
            journal_pages: 2 + random.below(30) as u32,
            slots,
            spill: random_drive(random),
            device: Mutex::default(),
        }
    }

    fn create(&self) -> Result<TieredDevice, String> {
        let block = u64::from(self.block_bytes);
        let part = |(at, &slots): (usize, &u64)| TierPart {
            device: Arc::clone(&self.drives[at + 1]) as _,
            name: format!("tier{at}"),
            capacity_bytes: 65_536 + slots * block,
        };
        let parts = self.slots.iter().enumerate().map(part).collect();
        let config =
            SetConfig::new([9; 16]).block_bytes(self.block_bytes).journal_pages(self.journal_pages);
        let map = Arc::clone(&self.drives[0]) as _;
        TieredDevice::create(map, parts, &config).map_err(|e| e.to_string())
    }

    /// Opens the tiers after a power cut.
    fn reopen(&self) -> Outcome<TieredDevice> {
        let found = |drive: &Arc<SimDevice>| Arc::new(drive.restart(FaultPlan::none()));
        let tiers = self.drives[1..].iter().map(|drive| found(drive) as Arc<dyn Device>);
        TieredDevice::open(found(&self.drives[0]), tiers.collect())
            .map_err(|e| format!("the tiers do not open: {e}"))
    }
}

impl Workspace for Tiers {
    fn spill(&self) -> Result<Arc<dyn Device>, ImportError> {
        Ok(drive_with(&self.spill, FaultPlan::none(), &[]))
    }

    fn output(&self) -> Result<Arc<dyn Device>, ImportError> {
        let device = self.create().map_err(ImportError::Options)?;
        *self.device.lock().unwrap_or_else(PoisonError::into_inner) = Some(device.clone());
        Ok(Arc::new(device))
    }

    fn publish(&self) -> Result<(), ImportError> {
        Ok(())
    }
}

/// Imports, cuts the power, opens the graph, and runs algorithms while blocks move.
pub fn live(random: &mut Random) -> Outcome {
    let (case, tiers) = (Case::random(random), Tiers::random(random));
    case.import(&tiers).map_err(|e| format!("import failed: {e}"))?;
    let device = tiers.reopen()?;
    let oracle = case.oracle();
    let graph = open_whole(Arc::new(device.clone()))?;
    compare_stored(&graph, &oracle)?;
    let questions = Question::all(graph.vertices(), random);
    let (is_over, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut moves = random.clone();
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| shuffle(&device, &mut moves, &is_over, &moved));
        let asked = questions.iter().try_for_each(|&question| {
            compare_answer(&graph, &oracle, question, &random_config(random))
        });
        is_over.store(true, Ordering::SeqCst);
        mover.join().unwrap_or_else(|_| Err("the mover panicked".into())).and(asked)
    })?;
    compare_stored(&graph, &oracle).map_err(|fault| format!("after moves: {fault}"))?;
    demand(moved.into_inner() > 0, || "nothing moved".into())
}

/// Moves random blocks until the runs are over, and for at least 20 rounds.
fn shuffle(
    device: &TieredDevice,
    random: &mut Random,
    is_over: &AtomicBool,
    moved: &AtomicU64,
) -> Outcome {
    let mut migrator = Migrator::new(device, 8).map_err(|e| e.to_string())?;
    let tiers = device.tiers().len();
    for round in 0u64.. {
        if is_over.load(Ordering::SeqCst) && round >= 20 {
            break;
        }
        let step = |_| {
            let page = random.index(device.blocks() as usize) as u32;
            Move { page, to: random.index(tiers) as u8 }
        };
        let moves: Vec<_> = (0..8).map(step).collect();
        let outcomes = migrator.carry_out(&moves).map_err(|e| e.to_string())?;
        let done = outcomes.iter().filter(|o| **o == cenote_tier::device::Outcome::Moved).count();
        moved.fetch_add(done as u64, Ordering::SeqCst);
    }
    Ok(())
}
