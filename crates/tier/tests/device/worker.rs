//! Blocks that move as a policy says.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_device::backend::sim::FaultPlan;
use cenote_device::{Buffer, Device, Op, QueueConfig, Request};
use cenote_tier::device::{TieredDevice, Worker, WorkerConfig};
use cenote_tier::spec::TierSpec;

use crate::support::{self, BLOCK};

fn read(device: &TieredDevice, blocks: impl Iterator<Item = u64>, len: usize) {
    let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
    let (mut buffer, mut completions) = (Some(Buffer::new(len).unwrap()), Vec::new());
    for block in blocks {
        let buffer_now = buffer.take().unwrap();
        queue.push(Request {
            tag: 0,
            op: Op::Read,
            offset: block * BLOCK,
            len,
            buffer: buffer_now,
        });
        queue.reap(1, &mut completions).unwrap();
        buffer = completions.pop().map(|completion| completion.buffer);
    }
}

fn config() -> WorkerConfig {
    WorkerConfig {
        policy: "tlfu".parse().unwrap(),
        tiers: TierSpec::text()[..2].to_vec(),
        batch: 8,
        heard_bytes_max: 2 * BLOCK,
        seed: 1,
        state: None,
    }
}

#[test]
fn hot_blocks_go_up_and_passes_and_pauses_move_nothing() {
    let sims: Vec<_> = (0..3).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &[11, 100]);
    let device =
        TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(4)).unwrap();
    for block in 0..64 {
        crate::oracle::write(&device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    let hot = [20u64, 25, 30, 35, 40];
    assert!(hot.iter().all(|&block| device.tier_of(block as u32) == Some(1)));
    let worker = Worker::start(&device, config()).unwrap();
    for _ in 0..20 {
        read(&device, (0..60).step_by(4), 4 * BLOCK as usize);
    }
    worker.pause();
    for _ in 0..20 {
        read(&device, hot.into_iter(), 512);
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(worker.report().moved, 0, "a pass or a pause moved blocks");
    worker.resume();
    let patience = Instant::now();
    while hot.iter().any(|&block| device.tier_of(block as u32) != Some(0)) {
        assert!(patience.elapsed() < Duration::from_secs(20), "{:?}", worker.report());
        read(&device, hot.into_iter().flat_map(|block| [block; 20]), 512);
    }
    let (report, _) = worker.stop().unwrap();
    assert!(report.moved >= 5 && report.failed == 0, "{report:?}");
    let reopened = support::open(&sims[0], &sims[1..]);
    assert!(hot.iter().all(|&block| reopened.tier_of(block as u32) == Some(0)), "not durable");
}
