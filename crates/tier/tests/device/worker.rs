//! Blocks that move as a policy says.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, When};
use cenote_device::model::preset::Preset;
use cenote_device::{Buffer, Device, Op, QueueConfig, Request};
use cenote_tier::device::{Rebalance, TieredDevice, TieredError, Worker, WorkerConfig};
use cenote_tier::spec::TierSpec;

use crate::support::{self, BLOCK, Plug, Random, Strip};

fn read(device: &TieredDevice, blocks: impl Iterator<Item = u64>, len: usize) {
    let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
    let (mut buffer, mut completions) = (Some(Buffer::new(len).unwrap()), Vec::new());
    for block in blocks {
        let offset = block * BLOCK;
        queue.push(Request { tag: 0, op: Op::Read, offset, len, buffer: buffer.take().unwrap() });
        queue.reap(1, &mut completions).unwrap();
        buffer = completions.pop().map(|completion| completion.buffer);
    }
}

fn config() -> WorkerConfig {
    WorkerConfig::new("tlfu".parse().unwrap(), TierSpec::text()[..2].to_vec())
        .batch(8)
        .recorded_bytes_max(2 * BLOCK)
}

/// A device of `blocks` blocks; the first tier holds `fast` without its spare slots.
fn device(sims: &[Arc<SimDevice>], slots: &[u64], blocks: u64) -> TieredDevice {
    let parts = support::parts(&sims[1..], slots);
    let device =
        TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(4)).unwrap();
    write(&device, 0..blocks);
    device
}

fn write(device: &TieredDevice, blocks: std::ops::Range<u64>) {
    for block in blocks {
        crate::oracle::write(device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
}

fn sims(count: u64) -> Vec<Arc<SimDevice>> {
    (0..count).map(|at| support::sim(FaultPlan::seeded(at))).collect()
}

/// Reads the hot blocks until they are up.
fn heat(device: &TieredDevice, worker: &Worker, hot: &[u64]) {
    let patience = Instant::now();
    while hot.iter().any(|&block| device.tier_of(block as u32) != Some(0)) {
        assert!(patience.elapsed() < Duration::from_secs(30), "{:?}", worker.report());
        read(device, hot.iter().flat_map(|&block| [block; 20]), 512);
    }
}

#[test]
fn hot_blocks_go_up_and_passes_and_pauses_move_nothing() {
    let sims = sims(3);
    let device = device(&sims, &[11, 100], 64);
    let hot = [20u64, 25, 30, 35, 40];
    assert!(hot.iter().all(|&block| device.tier_of(block as u32) == Some(1)));
    let needs = Worker::needs(&device, &config()).unwrap();
    let worker = Worker::start(&device, config()).unwrap();
    assert!(Worker::start(&device, config()).is_err(), "two workers of one device");
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
    heat(&device, &worker, &hot);
    let (report, state) = worker.stop().unwrap();
    assert!(report.moved >= 5 && report.failed == 0 && report.memory_bytes > 0, "{report:?}");
    assert!(report.memory_bytes <= needs, "{report:?}: more than {needs}");
    assert!(!state.is_empty());
    let reopened = support::open(&sims[0], &sims[1..]);
    assert!(hot.iter().all(|&block| reopened.tier_of(block as u32) == Some(0)), "not durable");
}

/// What a worker knows at its end: the states of two runs of the same reads, one interrupted.
#[test]
fn a_state_that_was_kept_goes_on_and_another_is_refused() {
    let sims = sims(3);
    let device = device(&sims, &[11, 100], 64);
    let worker = Worker::start(&device, config()).unwrap();
    heat(&device, &worker, &[50, 51, 52]);
    let (_, state) = worker.stop().unwrap();
    let with = |state: &[u8]| config().state(Some(state.to_vec()));
    let (_, again) = Worker::start(&device, with(&state)).unwrap().stop().unwrap();
    assert!(again == state, "a run without accesses changed the state");

    // The policy is notified of blocks that moved in between.
    let mut moved = cenote_tier::device::Migrator::new(&device, 4).unwrap();
    let down = cenote_tier::placement::Move { page: 50, to: 1 };
    moved.carry_out(&[down]).unwrap();
    let worker = Worker::start(&device, with(&state)).unwrap();
    heat(&device, &worker, &[50, 51, 52]);
    assert_eq!(worker.stop().unwrap().0.failed, 0);

    let refused = |device: &TieredDevice, config: WorkerConfig, words: &str| {
        let error = Worker::start(device, config).expect_err(words);
        assert!(matches!(error, TieredError::State { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let mut damaged = state.clone();
    *damaged.last_mut().unwrap() ^= 1;
    refused(&device, with(&damaged), "damaged");
    refused(&device, with(b"nonsense"), "it is none");
    let tlru = with(&state).policy("tlru".parse().unwrap());
    refused(&device, tlru, "not of 'tlru'");
    device.set_len(60 * BLOCK).unwrap();
    refused(&device, with(&state), "there are 60");
}

/// The configured speeds are those of other devices.
#[test]
fn speeds_are_learned_from_requests_of_a_block() {
    let sims = sims(3);
    let device = device(&sims, &[11, 100], 64);
    let worker = Worker::start(&device, config().policy("payback".parse().unwrap())).unwrap();
    let patience = Instant::now();
    let model = Preset::all()[0].model();
    let alone_ns = model.latency_ns(Op::Read, BLOCK, 1) as f64;
    // Latencies of this device grow by up to a half of themselves.
    let is_learned = |spec: &TierSpec| (0.9..1.5).contains(&(spec.read_ns as f64 / alone_ns));
    assert!(!config().tiers.iter().any(is_learned), "nothing to learn");
    while !worker.speeds().is_some_and(|tiers| tiers.iter().all(is_learned)) {
        assert!(patience.elapsed() < Duration::from_secs(30), "{:?}", worker.speeds());
        read(&device, 0..64, 512);
        read(&device, 0..64, BLOCK as usize);
    }
    let writes = worker.speeds().unwrap().into_iter().map(|spec| spec.write_ns);
    let configured = config().tiers.into_iter().map(|spec| spec.write_ns);
    assert!(writes.eq(configured), "a speed of writes changed, but nothing was written");
}

/// A run may end within a pause of the worker: what it read counts all the same.
#[test]
fn reads_right_before_the_end_are_known_to_the_next_run() {
    let sims = sims(3);
    let device = device(&sims, &[11, 100], 64);
    for _ in 0..20 {
        let worker = Worker::start(&device, config()).unwrap();
        read(&device, 0..60, 512);
        let (report, _) = worker.stop().unwrap();
        assert_eq!(report.accesses + report.missed, 60, "{report:?}");
    }
}

/// Heat is what a rebalance goes by: the blocks that were hot before the device grew come up.
#[test]
fn what_was_learned_outlives_growth_between_runs_and_within_one() {
    for grows_within_a_run in [false, true] {
        let sims = sims(3);
        let device = device(&sims, &[11, 100], 40);
        let mut worker = Worker::start(&device, config()).unwrap();
        worker.pause();
        read(&device, [30u64, 31, 32].into_iter().cycle().take(300), 512);
        while worker.report().accesses < 300 {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !grows_within_a_run {
            let state = Some(worker.stop().unwrap().1);
            write(&device, 40..64);
            worker = Worker::start(&device, config().state(state)).unwrap();
        } else {
            write(&device, 40..90);
            // So much growth is taken in before the next accesses.
            read(&device, [89].into_iter(), 512);
            while worker.report().accesses < 351 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let state = Some(worker.stop().unwrap().1);
        let plan = Rebalance::by_heat(&device, &config().state(state)).unwrap();
        plan.carry_out(&device, 8, |_| ControlFlow::Continue(())).unwrap();
        for block in 30..33 {
            assert_eq!(device.tier_of(block), Some(0), "block {block} was forgotten");
        }
    }
}

#[test]
fn blocks_that_come_later_go_up_too() {
    let sims = sims(3);
    let device = device(&sims, &[11, 100], 20);
    let worker = Worker::start(&device, config()).unwrap();
    heat(&device, &worker, &[15, 16]);
    write(&device, 20..60);
    heat(&device, &worker, &[55, 56, 57]);
    device.set_len(10 * BLOCK).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    write(&device, 10..40);
    heat(&device, &worker, &[39]);
    let (report, _) = worker.stop().unwrap();
    assert_eq!(report.failed, 0, "{report:?}");
}

/// A tier that fails all writes: the policy wants the same again and again.
#[test]
fn moves_in_vain_are_followed_by_ever_longer_rests() {
    let mut plan = FaultPlan::seeded(1);
    for write in 12..4_000 {
        plan = plan.with(When::Write(write), Effect::Errno(5));
    }
    let sims = [FaultPlan::seeded(0), plan, FaultPlan::seeded(2)].map(support::sim);
    let device = device(&sims, &[11, 100], 64);
    let worker = Worker::start(&device, config()).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(600) {
        read(&device, [40, 41, 42].into_iter().cycle().take(600), 512);
    }
    let (report, _) = worker.stop().unwrap();
    assert!(report.failed > 0, "{report:?}: the test tests nothing");
    assert!(report.failed + report.dropped < 300, "{report:?}: it tries all the time");
    assert!(report.accesses > 1_000, "{report:?}: it listens while it rests");
}

/// A device panics under the worker, at each of its first changes.
#[test]
fn a_worker_that_panics_leaves_its_users_alone() {
    let mut in_doubt = 0;
    for at in 0..14 {
        let sims = sims(3);
        let strip = Arc::new(Strip::default());
        let plug = |sim: &Arc<SimDevice>| {
            Arc::new(Plug { inner: Arc::clone(sim), strip: Arc::clone(&strip) })
        };
        let plugs: Vec<_> = sims.iter().map(plug).collect();
        let parts = support::parts(&plugs[1..], &[11, 100]);
        let map = Arc::clone(&plugs[0]) as _;
        let device = TieredDevice::create(map, parts, &support::config(4)).unwrap();
        write(&device, 0..64);
        device.sync().unwrap();
        let left = Mutex::new(at);
        strip.listen(Box::new(move |_| {
            if std::thread::current().name() == Some("tier-worker") {
                let mut left = left.lock().unwrap();
                *left -= 1;
                assert!(*left >= 0, "on purpose");
            }
        }));
        let worker = Worker::start(&device, config()).unwrap();
        let patience = Instant::now();
        while !worker.is_over() {
            assert!(patience.elapsed() < Duration::from_secs(30), "{:?}", worker.report());
            read(&device, [40, 41, 42].into_iter().cycle().take(60), 512);
        }
        let error = worker.stop().expect_err("it panicked").to_string();
        assert!(error.contains("on purpose"), "{error}");
        strip.deaf();
        let before = crate::oracle::contents(&device);
        let wrote = |block: u64| crate::oracle::write(&device, block * BLOCK, 512, 1);
        in_doubt += (0..64).filter(|&block| wrote(block).is_err()).count();
        assert!(crate::oracle::contents(&device) == before, "panic {at}");
        // New blocks are what a journal in doubt refuses.
        let _ = device.sync();
        let found = support::after_power_cut(&sims);
        let found = support::open(&found[0], &found[1..]);
        assert!(crate::oracle::contents(&found) == before, "panic {at}");
        assert!(Worker::start(&device, config()).is_ok(), "another may come");
    }
    assert!((1..40).contains(&in_doubt), "{in_doubt} blocks were in doubt");
}

#[test]
fn rebalance_brings_the_hottest_up_and_all_back_in_few_moves() {
    for (seed, slots) in [(1, &[9, 14, 100][..]), (2, &[33, 100]), (3, &[4, 4, 4, 4, 90])] {
        let sims = sims(slots.len() as u64 + 1);
        let device = device(&sims, slots, 64);
        let tiers = vec![TierSpec::text()[0]; slots.len()];
        let config = config().tiers(tiers);
        let laid: Vec<_> = (0..64).map(|block| device.tier_of(block)).collect();
        assert!(Rebalance::by_heat(&device, &config).is_err(), "nothing is known");
        assert!(Rebalance::in_file_order(&device).moves().is_empty(), "as it was laid");
        let worker = Worker::start(&device, config.clone()).unwrap();
        worker.pause();
        let mut random = Random(seed);
        let (mut heats, mut missed) = (vec![0; 64], 0);
        for _ in 0..3_000 {
            let block = random.below(8) * random.below(8);
            heats[block as usize] += 1;
            read(&device, [block].into_iter(), 512);
            missed = worker.report().missed;
        }
        while worker.report().accesses < 3_000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (_, state) = worker.stop().unwrap();
        assert_eq!(missed, 0);
        let before = crate::oracle::contents(&device);
        let plan = Rebalance::by_heat(&device, &config.state(Some(state))).unwrap();
        let mut calls = 0;
        let report = plan.carry_out(&device, 4, |_| {
            calls += 1;
            ControlFlow::Continue(())
        });
        let report = report.unwrap();
        assert_eq!(
            (report.planned, report.dropped, report.failed),
            (report.moved, 0, 0),
            "{slots:?}"
        );
        assert!(calls > 0 && report.moved > 0);
        for a in 0..64 {
            for b in 0..64 {
                let tiers = [a, b].map(|block| device.tier_of(block as u32).unwrap());
                assert!(heats[a] <= heats[b] || tiers[0] <= tiers[1], "{slots:?}: {a} and {b}");
            }
        }
        // Broken off after the first batch, and then to its end.
        let back = Rebalance::in_file_order(&device);
        let report = back.carry_out(&device, 2, |_| ControlFlow::Break(())).unwrap();
        assert!(report.moved <= 2 && report.moved < report.planned, "{report:?}");
        Rebalance::in_file_order(&device)
            .carry_out(&device, 64, |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!((0..64).map(|block| device.tier_of(block)).collect::<Vec<_>>(), laid);
        assert!(crate::oracle::contents(&device) == before, "contents changed");
    }
}
