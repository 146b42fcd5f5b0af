//! Power cuts at moments that are hard to meet.

use std::sync::{Arc, Mutex};

use cenote_device::backend::sim::{FaultPlan, SimDevice, Unsynced};
use cenote_device::wrapper::Layer;
use cenote_device::{
    Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request, Result,
};
use cenote_tier::device::{Migrator, Outcome, TieredDevice};
use cenote_tier::placement::Move;

use crate::oracle::{self, Oracle, SECTOR, fill};
use crate::support::{self, BLOCK};

/// A sync promises what was written before it, even if the same block is being written again.
#[test]
fn a_sync_keeps_a_write_whose_block_is_being_written() {
    for unsynced in [Unsynced::Lost, Unsynced::Kept] {
        let plan = FaultPlan { unsynced, ..FaultPlan::seeded(1) };
        let sims: Vec<_> = (0..3).map(|_| support::sim(plan.clone())).collect();
        let parts = support::parts(&sims[1..], &[4, 8]);
        let map = Arc::clone(&sims[0]) as _;
        let device = TieredDevice::create(map, parts, &support::config(4)).unwrap();
        oracle::write(&device, 0, BLOCK as usize / 2, 1).unwrap();
        let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
        let (offset, len) = (BLOCK / 2, BLOCK as usize / 2);
        let mut buffer = Buffer::new(len).unwrap();
        fill(offset, 2, &mut buffer);
        queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer });
        queue.submit().unwrap();
        device.sync().unwrap();
        let found = support::after_power_cut(&sims);
        let found = oracle::contents(&support::open(&found[0], &found[1..]));
        assert_eq!(oracle::version_of(0, &found[..SECTOR]), Some(1), "{unsynced:?}");
        // The write goes on, and the next sync promises it.
        queue.reap(1, &mut Vec::new()).unwrap();
        device.sync().unwrap();
        let found = support::after_power_cut(&sims);
        let found = oracle::contents(&support::open(&found[0], &found[1..]));
        assert_eq!(oracle::version_of(4, &found[4 * SECTOR..5 * SECTOR]), Some(2));
    }
}

/// Damages the page of this number in both places of the journal, as a torn write does.
fn tear(map: &SimDevice, index: u32) -> usize {
    let bytes = map.contents();
    let is_journal = |page: &[u8]| page[..4] == *b"LNRJ" && page[16..20] == index.to_le_bytes();
    let pages = bytes.chunks(4096).enumerate().filter(|(_, page)| is_journal(page));
    pages.map(|(at, _)| map.flip_bit(at as u64 * 4096 + 100, 0)).count()
}

/// A sync of many blocks is cut: of its pages in the journal the first is torn and later ones are
/// whole. Another run writes the very same first page. What follows it must not come back to life.
#[test]
fn a_commit_that_never_ended_does_not_follow_a_later_one() {
    const BLOCKS: u64 = 300;
    let plan = FaultPlan { unsynced: Unsynced::Kept, ..FaultPlan::seeded(1) };
    let sims: Vec<_> = (0..3).map(|_| support::sim(plan.clone())).collect();
    let parts = support::parts(&sims[1..], &[800, 10]);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(8)).unwrap();
    let mut oracle = Oracle::new((700 * BLOCK) as usize / SECTOR);
    device.set_len(700 * BLOCK).unwrap();
    device.sync().unwrap();
    oracle.set_len(700 * BLOCK);
    oracle.synced();
    let write = |device: &TieredDevice, oracle: &mut Oracle, blocks: std::ops::Range<u64>| {
        for block in blocks {
            // The same bytes in both runs.
            let version = oracle.begin_write(block * BLOCK, SECTOR);
            oracle::write(device, block * BLOCK, SECTOR, version).unwrap();
        }
    };
    write(&device, &mut oracle, 0..BLOCKS);
    device.sync().unwrap();
    drop(device);
    // The power was cut in that sync: it has not returned.
    assert_eq!(tear(&sims[0], 1), 2, "one page in two places");
    let device = support::open(&sims[0], &sims[1..]);
    let case = "after the first cut";
    oracle.check(&oracle::contents(&device), false, case);
    assert_eq!(device.tier_of(0), None, "{case}: nothing of that sync is there");
    // The blocks of one page of the journal again; and then others, in the same slots, of which
    // the map hears nothing.
    write(&device, &mut oracle, 0..253);
    device.sync().unwrap();
    write(&device, &mut oracle, 400..448);
    drop(device);
    let device = support::open(&sims[0], &sims[1..]);
    oracle.check(&oracle::contents(&device), false, "after the second cut");
    assert_eq!(device.tier_of(299), None, "a block came back to life");
}

/// A device whose queues break with their requests under way; these land when the test says so.
#[derive(Debug)]
struct Late {
    inner: Arc<SimDevice>,
    under_way: Arc<Mutex<Option<Vec<Request>>>>,
}

impl Late {
    fn land(&self) {
        let requests = self.under_way.lock().unwrap().take().expect("it was broken");
        let mut queue = self.inner.queue(&QueueConfig::with_depth(8)).unwrap();
        let count = requests.len();
        requests.into_iter().for_each(|request| queue.push(request));
        queue.reap(count, &mut Vec::new()).unwrap();
    }
}

impl Layer for Late {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let under_way = Arc::clone(&self.under_way);
        Ok(Box::new(LateQueue { inner: self.inner.queue(config)?, under_way, lost: 0 }))
    }
}

struct LateQueue {
    inner: Box<dyn Queue>,
    under_way: Arc<Mutex<Option<Vec<Request>>>>,
    lost: usize,
}

impl Queue for LateQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.lost
    }

    fn push(&mut self, request: Request) {
        match &mut *self.under_way.lock().unwrap() {
            Some(requests) => {
                requests.push(request);
                self.lost += 1;
            }
            None => self.inner.push(request),
        }
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        if self.lost == 0 {
            return self.inner.reap(wait_for, completions);
        }
        let source = std::io::Error::from_raw_os_error(5);
        Err(DeviceError::File { device: "late".into(), action: "reap", source })
    }
}

/// The slot of a write that may still land is not given to another block.
#[test]
fn a_queue_dropped_while_broken_keeps_the_slots_of_writes_under_way() {
    let sims: Vec<_> = (0..3).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let late = |at: usize| {
        let under_way = Arc::new(Mutex::new(None));
        Arc::new(Late { inner: Arc::clone(&sims[at]), under_way })
    };
    let tiers = [late(1), late(2)];
    let parts = support::parts(&tiers, &[4, 16]);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(4)).unwrap();
    for block in 0..8 {
        oracle::write(&device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    device.sync().unwrap();
    assert_eq!(device.tier_of(0), Some(0));
    let mut queue = device.queue(&QueueConfig::with_depth(4)).unwrap();
    *tiers[0].under_way.lock().unwrap() = Some(Vec::new());
    let mut buffer = Buffer::new(BLOCK as usize).unwrap();
    fill(0, 2, &mut buffer);
    queue.push(Request { tag: 0, op: Op::Write, offset: 0, len: BLOCK as usize, buffer });
    assert!(queue.reap(1, &mut Vec::new()).is_err());
    drop(queue);
    let requests = std::mem::take(&mut *tiers[0].under_way.lock().unwrap());
    // The block goes down, and another one up into its slot.
    let mut migrator = Migrator::new(&device, 4).unwrap();
    let outcome = migrator.carry_out(&[Move { page: 0, to: 1 }]).unwrap();
    assert_eq!(outcome, [Outcome::Dropped], "a block that is being written moved");
    let before: Vec<_> = (1..8).map(|block| contents_of(&device, block)).collect();
    migrator.carry_out(&[7, 6, 5, 4].map(|page| Move { page, to: 0 })).unwrap();
    *tiers[0].under_way.lock().unwrap() = requests;
    tiers[0].land();
    let after: Vec<_> = (1..8).map(|block| contents_of(&device, block)).collect();
    assert!(before == after, "a late write landed in another block");
}

fn contents_of(device: &TieredDevice, block: usize) -> Vec<u8> {
    oracle::contents(device)[block * BLOCK as usize..(block + 1) * BLOCK as usize].to_vec()
}
