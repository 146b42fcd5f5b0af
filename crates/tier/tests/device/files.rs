//! Tiers of real files, each within a budget, on every backend.

use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::wrapper::{BudgetDevice, IoBudget};
use cenote_tier::device::{Migrator, Outcome, TierPart, TieredDevice};
use cenote_tier::placement::Move;

use crate::oracle::{self, Oracle, SECTOR};
use crate::support::{self, BLOCK, Random};

/// A directory with a map and tiers.
pub struct Files {
    directory: tempfile::TempDir,
    tiers: usize,
    backend: BackendChoice,
}

impl Files {
    pub fn new(tiers: usize, backend: BackendChoice) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), tiers, backend }
    }

    /// The map, then the tiers.
    fn devices(&self, options: &OpenOptions) -> Vec<Arc<dyn Device>> {
        let options = options.clone().backend(self.backend);
        let open = |at: usize| {
            let path = self.directory.path().join(format!("member{at}"));
            let device = file::open(&path, &options).unwrap();
            Arc::new(BudgetDevice::new(device, IoBudget::new(4, 2))) as Arc<dyn Device>
        };
        (0..=self.tiers).map(open).collect()
    }

    pub fn create(&self, slots: &[u64], journal_pages: u32) -> TieredDevice {
        let mut devices = self.devices(&OpenOptions::creating()).into_iter();
        let map = devices.next().unwrap();
        let part = |(device, (at, &slots)): (Arc<dyn Device>, (usize, &u64))| TierPart {
            device,
            name: format!("tier{at}"),
            capacity_bytes: support::capacity(slots),
        };
        let parts = devices.zip(slots.iter().enumerate()).map(part).collect();
        TieredDevice::create(map, parts, &support::config(journal_pages)).unwrap()
    }

    pub fn open(&self, options: &OpenOptions) -> TieredDevice {
        let mut devices = self.devices(options);
        let map = devices.remove(0);
        TieredDevice::open(map, devices).unwrap()
    }
}

fn write_move_and_reopen(backend: BackendChoice) {
    const BLOCKS: u64 = 40;
    let slots = [7, 12, 48];
    let files = Files::new(slots.len(), backend);
    let mut device = files.create(&slots, 2);
    let mut oracle = Oracle::new((BLOCKS * BLOCK) as usize / SECTOR);
    let mut random = Random(1);
    let mut moved = 0;
    for session in 0..5 {
        let mut migrator = Migrator::new(&device, 4).unwrap();
        for _ in 0..30 {
            let sectors = BLOCKS * BLOCK / SECTOR as u64;
            let first = random.below(sectors) / 8 * 8;
            let count = (8 * (1 + random.below(6))).min(sectors - first);
            let (offset, len) = (first * SECTOR as u64, count as usize * SECTOR);
            let version = oracle.begin_write(offset, len);
            oracle::write(&device, offset, len, version).unwrap();
            let moves: Vec<_> = (0..4)
                .map(|_| Move { page: random.below(BLOCKS) as u32, to: random.below(3) as u8 })
                .collect();
            let outcomes = migrator.carry_out(&moves).unwrap();
            moved += outcomes.iter().filter(|outcome| **outcome == Outcome::Moved).count();
        }
        let case = format!("session {session}");
        oracle.check(&oracle::contents(&device), true, &case);
        device.sync().unwrap();
        oracle.synced();
        let places: Vec<_> = (0..BLOCKS as u32).map(|block| device.tier_of(block)).collect();
        drop((migrator, device));
        // Files that cannot be written are read as they are.
        let reader = files.open(&OpenOptions::reading());
        oracle.check(&oracle::contents(&reader), true, &case);
        device = files.open(&OpenOptions::default());
        let found: Vec<_> = (0..BLOCKS as u32).map(|block| device.tier_of(block)).collect();
        assert_eq!(found, places, "{case}");
    }
    assert!(moved > 50, "only {moved} blocks moved");
}

#[test]
fn files_behind_threads_are_found_as_they_were_left() {
    write_move_and_reopen(BackendChoice::Threads);
}

#[test]
fn files_behind_io_uring_are_found_as_they_were_left() {
    match file::uring_refusal() {
        None => write_move_and_reopen(BackendChoice::Uring),
        Some(reason) => println!("not run: {reason}"),
    }
}
