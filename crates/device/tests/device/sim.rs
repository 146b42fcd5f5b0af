//! Virtual time: the simulated device keeps to its model.

use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::{DeviceModel, preset};
use cenote_device::{Arena, Buffer, Device, Op, QueueConfig};

use crate::support::{BLOCK, drain, ideal_model, one, pattern, request, sim};

const US: u64 = 1000;

/// Runs `count` requests at once; returns their latencies in the order of completion.
fn batch(device: &SimDevice, op: Op, count: u64) -> Vec<u64> {
    let mut queue = device.queue(&QueueConfig::with_depth(64)).unwrap();
    for tag in 0..count {
        queue.push(request(tag, op, tag * BLOCK as u64, BLOCK, Buffer::new(BLOCK).unwrap()));
    }
    drain(queue.as_mut()).iter().map(|completion| completion.latency_ns).collect()
}

#[test]
fn channels_serve_k_requests_at_once_and_the_others_wait() {
    let device = sim(FaultPlan::none());
    assert_eq!(batch(&device, Op::Read, 1), [100 * US]);
    assert_eq!(batch(&device, Op::Read, 4), [100 * US; 4]);
    let five = [100 * US, 100 * US, 100 * US, 100 * US, 200 * US];
    assert_eq!(batch(&device, Op::Read, 5), five);
    assert_eq!(batch(&device, Op::Write, 5).last(), Some(&(400 * US)));
    assert_eq!(device.clock().now_ns(), (100 + 100 + 200 + 400) * US);
}

#[test]
fn request_submitted_later_takes_the_channel_that_is_free_first() {
    let device = sim(FaultPlan::none());
    let mut queue = device.queue(&QueueConfig::with_depth(8)).unwrap();
    let read = |tag| request(tag, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap());
    (0..4).for_each(|tag| queue.push(read(tag)));
    queue.submit().unwrap();
    device.sim_clock().advance(30 * US);
    queue.push(read(4));
    let mut completions = Vec::new();
    queue.reap(5, &mut completions).unwrap();
    assert_eq!(completions[4].tag, 4);
    assert_eq!(completions[4].latency_ns, 170 * US);
    assert_eq!(device.clock().now_ns(), 200 * US);
}

#[test]
fn reads_and_writes_have_channels_of_their_own() {
    let device = sim(FaultPlan::none());
    let mut queue = device.queue(&QueueConfig::with_depth(8)).unwrap();
    for tag in 0..8 {
        let op = if tag < 4 { Op::Write } else { Op::Read };
        queue.push(request(tag, op, tag * BLOCK as u64, BLOCK, Buffer::new(BLOCK).unwrap()));
    }
    drain(queue.as_mut());
    assert_eq!(device.clock().now_ns(), 200 * US);
}

#[test]
fn waiting_for_one_leaves_the_others_in_flight() {
    let device = sim(FaultPlan::none());
    let mut queue = device.queue(&QueueConfig::with_depth(8)).unwrap();
    for tag in 0..5 {
        queue.push(request(tag, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap()));
    }
    let mut completions = Vec::new();
    queue.reap(1, &mut completions).unwrap();
    assert_eq!((completions.len(), queue.in_flight()), (4, 1), "four end at the same moment");
    device.sim_clock().advance(100 * US);
    queue.reap(0, &mut completions).unwrap();
    assert_eq!(completions.len(), 5);
}

/// Reads per second in virtual time with `depth` requests always in flight.
fn steady_iops(model: DeviceModel, op: Op, bytes: usize, depth: usize) -> f64 {
    let device = SimDevice::new(SimConfig::new(model));
    device.set_len(1 << 30).unwrap();
    device.sync().unwrap();
    let mut queue = device.queue(&QueueConfig::with_depth(depth)).unwrap();
    let (_arena, buffers) = Arena::carve(bytes, depth).unwrap();
    for buffer in buffers {
        queue.push(request(0, op, 0, bytes, buffer));
    }
    let (mut done, mut from, mut completions) = (0, (0, 0), Vec::new());
    let (warm, count) = (20 * depth, 60 * depth);
    while done < count {
        queue.reap(1, &mut completions).unwrap();
        for completion in completions.drain(..) {
            assert_eq!(completion.result, Ok(bytes));
            done += 1;
            queue.push(request(0, op, 0, bytes, completion.buffer));
        }
        if from.0 == 0 && done >= warm {
            from = (done, device.clock().now_ns());
        }
    }
    (done - from.0) as f64 * 1e9 / (device.clock().now_ns() - from.1) as f64
}

#[test]
fn every_preset_is_as_fast_as_its_model_says_at_every_depth() {
    for preset in preset::Preset::all() {
        let model = preset.model();
        for op in [Op::Read, Op::Write] {
            for bytes in [4096, 8192] {
                for depth in [1, 2, 5, 8, 32, 100] {
                    let expected = model.iops(op, bytes, depth);
                    let found = steady_iops(model.clone(), op, bytes as usize, depth as usize);
                    let error = (found / expected - 1.0).abs();
                    let name = &model.name;
                    assert!(
                        error < 0.03,
                        "{name}: {op} {bytes} at {depth}: {found:.0}, model {expected:.0}"
                    );
                }
            }
        }
    }
}

#[test]
fn large_request_among_small_ones_does_not_wait_as_if_all_were_large() {
    let model = preset::Preset::all()[0].model();
    let alone = {
        let device = SimDevice::new(SimConfig::new(model.clone()));
        device.set_len(1 << 20).unwrap();
        one(&device, Op::Read, 0, Buffer::new(1 << 20).unwrap()).latency_ns
    };
    let device = SimDevice::new(SimConfig::new(model));
    device.set_len(1 << 20).unwrap();
    let mut queue = device.queue(&QueueConfig::with_depth(32)).unwrap();
    for tag in 0..31 {
        queue.push(request(tag, Op::Read, 0, BLOCK, Buffer::new(BLOCK).unwrap()));
    }
    queue.push(request(31, Op::Read, 0, 1 << 20, Buffer::new(1 << 20).unwrap()));
    let completions = drain(queue.as_mut());
    let large = completions.iter().find(|completion| completion.tag == 31).unwrap();
    assert!(large.latency_ns <= alone * 3 / 2, "{} ns, alone {alone} ns", large.latency_ns);
}

/// The order of completions and the time at the end.
fn run(seed: u64, jitter: f64) -> (Vec<u64>, u64) {
    let config = SimConfig::new(ideal_model()).jitter(jitter).faults(FaultPlan::seeded(seed));
    let device = SimDevice::new(config);
    let mut queue = device.queue(&QueueConfig::with_depth(32)).unwrap();
    let mut order = Vec::new();
    for round in 0..4 {
        for i in 0..32 {
            let tag = round * 32 + i;
            queue.push(request(tag, Op::Write, tag * BLOCK as u64, BLOCK, pattern(tag, BLOCK)));
        }
        order.extend(drain(queue.as_mut()).iter().map(|completion| completion.tag));
    }
    (order, device.clock().now_ns())
}

#[test]
fn same_seed_gives_the_same_order_and_time_and_another_seed_does_not() {
    let steady: Vec<u64> = (0..128).collect();
    assert_eq!(run(1, 0.0).0, steady);
    assert_eq!(run(1, 0.9), run(1, 0.9));
    assert_ne!(run(1, 0.9).0, steady, "with jitter completions overtake each other");
    assert_ne!(run(1, 0.9), run(2, 0.9));
}

#[test]
fn an_hour_of_virtual_time_passes_in_a_moment() {
    let device = sim(FaultPlan::none());
    device.sim_clock().advance(3_600_000_000_000);
    one(&device, Op::Write, 1 << 40, pattern(1, BLOCK));
    assert_eq!(device.len_bytes().unwrap(), (1 << 40) + BLOCK as u64, "sparse");
    assert_eq!(device.clock().now_ns(), 3_600_000_200_000);
}
