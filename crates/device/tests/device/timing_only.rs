//! The simulated device without contents: as slow, as faulty and as long as the one with them.

use cenote_device::backend::sim::{Effect, FaultPlan, MediumKind, SimConfig, SimDevice, When};
use cenote_device::model::preset::Preset;
use cenote_device::{Buffer, Device, Op, QueueConfig};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{BLOCK, drain, errno, ideal_model, one, pattern, read, request};

#[derive(Clone, Debug)]
enum Step {
    Push { op: Op, sector: u64, sectors: usize },
    Reap(usize),
    SetLen(u64),
    Sync,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
    prop_oneof![
        12 => (op, 0..256u64, 1..40usize)
            .prop_map(|(op, sector, sectors)| Step::Push { op, sector, sectors }),
        4 => (0..20usize).prop_map(Step::Reap),
        1 => (0..200_000u64).prop_map(Step::SetLen),
        1 => Just(Step::Sync),
        1 => (0..300_000u64).prop_map(Step::Pass),
    ]
}

/// Everything that can be observed of a run: times, lengths, operations, and every completion.
fn run(config: SimConfig, steps: &[Step]) -> Vec<(u64, String)> {
    let device = SimDevice::new(config);
    let mut queue = device.queue(&QueueConfig::with_depth(20)).unwrap();
    let (mut events, mut completions) = (Vec::new(), Vec::new());
    for (tag, step) in (0..).zip(steps) {
        match *step {
            Step::Push { op, sector, sectors } => {
                if queue.in_flight() < 20 {
                    let buffer = Buffer::new(sectors * 512).unwrap();
                    queue.push(request(tag, op, sector * 512, sectors * 512, buffer));
                }
            }
            Step::Reap(count) => {
                queue.reap(count.min(queue.in_flight()), &mut completions).unwrap();
            }
            Step::SetLen(bytes) => events.push((tag, format!("{:?}", device.set_len(bytes)))),
            Step::Sync => events.push((tag, format!("{:?}", device.sync()))),
            Step::Pass(ns) => device.sim_clock().advance(ns),
        }
        for done in completions.drain(..) {
            let heard = format!("{} {:?} {} ns", done.tag, done.result, done.latency_ns);
            events.push((device.clock().now_ns(), heard));
        }
        let len = device.len_bytes().map_err(|error| error.to_string());
        events.push((device.clock().now_ns(), format!("{len:?} {}", device.operations())));
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn times_results_and_lengths_are_those_of_the_device_with_contents(
        steps in vec(step(), 1..120),
        preset in 0..Preset::all().len(),
        is_ideal in any::<bool>(),
        jitter in prop_oneof![Just(0.0), 0.0..1.0],
        seed in any::<u64>(),
        cut in 0..400u64,
    ) {
        let model = Preset::all()[preset].model();
        let model = if is_ideal { model.ideal(4096) } else { model };
        let faults = FaultPlan { capacity_bytes: Some(140_000), ..FaultPlan::seeded(seed) }
            .with(When::ReadChance(0.05), Effect::Errno(libc::EIO))
            .with(When::WriteChance(0.05), Effect::Errno(libc::EIO))
            .with(When::ReadChance(0.1), Effect::ShortRead)
            .with(When::WriteChance(0.1), Effect::LostWrite)
            .with(When::WriteChance(0.1), Effect::TornWrite)
            .with(When::Operation(cut), Effect::PowerCut);
        let config = SimConfig::new(model).jitter(jitter).faults(faults);
        let forgetful = config.clone().medium(MediumKind::Forgotten);
        prop_assert_eq!(run(config, &steps), run(forgetful, &steps));
    }
}

#[test]
fn reads_give_zeros_and_only_the_length_is_known() {
    let device = SimDevice::new(SimConfig::timing_only(ideal_model()));
    assert_eq!(one(&device, Op::Write, 8192, pattern(1, BLOCK)).result, Ok(BLOCK));
    assert_eq!(device.len_bytes().unwrap(), 8192 + BLOCK as u64);
    assert_eq!(read(&device, 0, 3 * BLOCK), [0; 3 * BLOCK], "a buffer's old bytes are gone too");
    let across = one(&device, Op::Read, 8192, pattern(2, 2 * BLOCK));
    assert_eq!(across.result, Ok(BLOCK));
    assert!(across.buffer[..BLOCK].iter().all(|&byte| byte == 0));
    assert!(across.buffer[BLOCK..].iter().all(|&byte| byte != 0), "the rest is poisoned");
    device.set_len(1000).unwrap();
    assert_eq!(device.contents(), [0; 1000]);
    assert_eq!(device.restart(FaultPlan::none()).len_bytes().unwrap(), 1000);
    assert_eq!(device.unsynced_bytes(), 0);
}

#[test]
fn planned_faults_meet_the_same_operations() {
    let faults = FaultPlan { flipped_bits: vec![(100, 2)], ..FaultPlan::none() }
        .with(When::Write(1), Effect::Errno(libc::EIO));
    let device = SimDevice::new(SimConfig::timing_only(ideal_model()).faults(faults));
    assert_eq!(errno(&one(&device, Op::Write, 0, pattern(1, BLOCK))), None);
    assert_eq!(errno(&one(&device, Op::Write, 0, pattern(1, BLOCK))), Some(libc::EIO));
    let found = read(&device, 0, BLOCK);
    assert_eq!((found[99], found[100], found[101]), (0, 4, 0));
}

/// Resident bytes of this process.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn memory_does_not_grow_with_what_is_written() {
    let device = SimDevice::new(SimConfig::timing_only(ideal_model()));
    let mut queue = device.queue(&QueueConfig::with_depth(8)).unwrap();
    let before = resident_bytes();
    // 2 GiB in 64 KiB, all over a tebibyte and never synced.
    let mut buffers: Vec<_> = (0..8).map(|_| Buffer::new(1 << 16).unwrap()).collect();
    for round in 0..4096u64 {
        for buffer in buffers.drain(..) {
            let offset = (round.wrapping_mul(0x9e37_79b9) % (1 << 24)) << 16;
            queue.push(request(round, Op::Write, offset, 1 << 16, buffer));
        }
        buffers.extend(drain(queue.as_mut()).into_iter().map(|write| write.buffer));
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown} bytes more than before");
    assert!(device.len_bytes().unwrap() > 1 << 38);
}
