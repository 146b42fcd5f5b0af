//! Each page of the map file damaged in turn, in every state that a set goes through: it is found
//! exactly as it was, or the damage is reported. No block is ever another's.

use std::sync::Arc;

use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::{Device, DeviceError};
use cenote_tier::device::{Migrator, TieredDevice, TieredError};
use cenote_tier::placement::Move;

use crate::oracle;
use crate::support::{self, BLOCK, Random};

const SLOTS: [u64; 3] = [40, 90, 700];
const BLOCKS: u64 = 600;
const PAGE: usize = 4096;

/// What is done to a page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    Flip,
    Zero,
    /// The file ends before it.
    Cut,
}

/// How often it was found as it was, and how often the damage was reported.
#[derive(Debug, Default, PartialEq)]
struct Ends {
    exact: u32,
    reported: u32,
}

fn with_contents(bytes: &[u8]) -> Arc<SimDevice> {
    let model = Preset::all()[0].model();
    Arc::new(SimDevice::with_contents(SimConfig::new(model), bytes))
}

fn harmed(map: &[u8], page: usize, harm: Harm, random: &mut Random) -> Vec<u8> {
    let mut bytes = map.to_vec();
    match harm {
        Harm::Flip => {
            let at = page * PAGE + random.below(PAGE as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        Harm::Zero => bytes[page * PAGE..(page + 1) * PAGE].fill(0),
        Harm::Cut => bytes.truncate(page * PAGE),
    }
    bytes
}

/// Opens a set with this map and compares it.
fn outcome(map: &[u8], tiers: &[Arc<SimDevice>], wanted: &[u8], case: &str, ends: &mut Ends) {
    let map = with_contents(map);
    let devices = tiers.iter().map(|tier| Arc::clone(tier) as Arc<dyn Device>).collect();
    match TieredDevice::open(Arc::clone(&map) as _, devices) {
        Ok(device) => {
            assert!(oracle::contents(&device) == wanted, "{case}: something else was found");
            ends.exact += 1;
        }
        Err(TieredError::Damaged { .. } | TieredError::Member { .. }) => ends.reported += 1,
        Err(TieredError::Device(DeviceError::Short { .. })) => panic!("{case}: no clear words"),
        Err(error) => panic!("{case}: {error}"),
    }
}

/// Every page in turn. Where the file goes on behind it, it is made up for.
fn each_page(sims: &[Arc<SimDevice>], device: &TieredDevice, case: &str, random: &mut Random) {
    device.sync().unwrap();
    let wanted = oracle::contents(device);
    let map = sims[0].contents();
    for harm in [Harm::Flip, Harm::Zero, Harm::Cut] {
        let mut ends = Ends::default();
        for page in 0..map.len() / PAGE {
            let bytes = harmed(&map, page, harm, random);
            let case = format!("{case}, page {page}, {harm:?}");
            outcome(&bytes, &sims[1..], &wanted, &case, &mut ends);
        }
        println!("{case}, {harm:?}: {ends:?}");
        if harm != Harm::Cut {
            assert_eq!(ends.reported, 0, "{case}, {harm:?}: one page is made up for");
        }
    }
}

#[test]
fn a_damaged_page_of_the_map_is_made_up_for_or_reported() {
    damage_each_page(3);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_damaged_page_of_the_map_is_made_up_for_or_reported() {
    damage_each_page(12);
}

/// Damages each page of a new map, of a full one, and after so many rounds of moves.
fn damage_each_page(rounds: usize) {
    let sims: Vec<_> = (0..4).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &SLOTS);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(4)).unwrap();
    let mut random = Random(5);
    device.set_len(BLOCKS * BLOCK).unwrap();
    each_page(&sims, &device, "new", &mut random);
    for block in 0..BLOCKS {
        oracle::write(&device, block * BLOCK, 512, 1).unwrap();
    }
    each_page(&sims, &device, "full", &mut random);
    let mut migrator = Migrator::new(&device, 8).unwrap();
    for round in 0..rounds {
        for _ in 0..=random.below(3) {
            let step = |_| Move {
                page: random.below(BLOCKS) as u32,
                to: random.below(SLOTS.len() as u64) as u8,
            };
            let moves: Vec<_> = (0..16).map(step).collect();
            migrator.carry_out(&moves).unwrap();
        }
        each_page(&sims, &device, &format!("round {round}"), &mut random);
    }
}

/// What is opened with a damaged page works on, and mends it.
#[test]
fn a_set_that_was_damaged_goes_on_and_is_whole_again() {
    let sims: Vec<_> = (0..4).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &SLOTS);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(3)).unwrap();
    let mut random = Random(6);
    for block in 0..BLOCKS {
        oracle::write(&device, block * BLOCK, 512, 1).unwrap();
    }
    device.sync().unwrap();
    let mut bytes = sims[0].contents();
    let wanted = oracle::contents(&device);
    drop(device);
    for round in 0..60 {
        // A page of the heads, the journals or the copies; another in each round.
        let page = 8 + random.below((bytes.len() / PAGE - 8) as u64) as usize;
        let harm = if round % 2 == 0 { Harm::Flip } else { Harm::Zero };
        let case = format!("round {round}, page {page}, {harm:?}");
        let map = with_contents(&harmed(&bytes, page, harm, &mut random));
        let tiers = sims[1..].iter().map(|tier| Arc::clone(tier) as Arc<dyn Device>).collect();
        let device = match TieredDevice::open(Arc::clone(&map) as _, tiers) {
            Ok(device) => device,
            Err(error) => panic!("{case}: {error}"),
        };
        let mut migrator = Migrator::new(&device, 8).unwrap();
        for _ in 0..1 + random.below(4) {
            let step = |_| Move {
                page: random.below(BLOCKS) as u32,
                to: random.below(SLOTS.len() as u64) as u8,
            };
            let moves: Vec<_> = (0..8).map(step).collect();
            migrator.carry_out(&moves).unwrap();
        }
        assert!(oracle::contents(&device) == wanted, "{case}: something else was found");
        drop(device);
        bytes = map.contents();
    }
}
