//! What a request costs on the simulated device, in nanoseconds of real time:
//! `sim_cost [COUNT [CASE]]`, where CASE is a part of the lines to print.
//!
//! 4 KiB each at random places of 1 GiB, on the device that keeps its contents, on the one that
//! keeps time only, and on the latter within an ample and within a tight I/O budget; with one
//! submit for all that is pushed, and with one after every push.

use std::sync::Arc;
use std::time::Instant;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::wrapper::{BudgetDevice, IoBudget};
use cenote_device::{Arena, Device, Op, QueueConfig, Request};

const BYTES: usize = 4096;
const BLOCKS: u64 = 1 << 18;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(2_000_000);
    let only = arguments.next().unwrap_or_default();
    let model = Preset::by_name("p4510").expect("it is a preset").model();
    let ideal = model.ideal(BYTES as u64);
    for (timing, model) in [("curve", model), ("ideal", ideal)] {
        for (name, device) in devices(SimConfig::new(model)) {
            device.set_len(BLOCKS * BYTES as u64).expect("no fault was planned");
            for (op, depth) in [(Op::Read, 1), (Op::Write, 8), (Op::Read, 128)] {
                for (submits, is_eager) in [("a batch", false), ("a request", true)] {
                    let case = format!("{timing} {name} {op} depth {depth} submit {submits}");
                    if case.contains(&only) {
                        let ns = nanoseconds_per_request(&*device, op, depth, count, is_eager);
                        println!("{case}: {ns:.0} ns per request");
                    }
                }
            }
        }
    }
}

fn devices(config: SimConfig) -> [(&'static str, Arc<dyn Device>); 4] {
    let timing_only = || Arc::new(SimDevice::new(SimConfig::timing_only(config.model.clone())));
    let within =
        |reads, writes| Arc::new(BudgetDevice::new(timing_only(), IoBudget::new(reads, writes)));
    [
        ("kept", Arc::new(SimDevice::new(config.clone()))),
        ("forgotten", timing_only()),
        ("budget-ample", within(128, 128)),
        ("budget-tight", within(80, 4)),
    ]
}

fn nanoseconds_per_request(
    device: &dyn Device,
    op: Op,
    depth: usize,
    count: u64,
    is_eager: bool,
) -> f64 {
    let (_arena, mut buffers) = Arena::carve(BYTES, depth).expect("little memory");
    let mut queue = device.queue(&QueueConfig::with_depth(depth)).expect("a queue");
    let mut completions = Vec::with_capacity(depth);
    let began = Instant::now();
    let mut pushed = 0u64;
    while pushed < count {
        for buffer in buffers.drain(..) {
            pushed += 1;
            let block = (pushed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % BLOCKS;
            let offset = block * BYTES as u64;
            queue.push(Request { tag: pushed, op, offset, len: BYTES, buffer });
            if is_eager {
                queue.submit().expect("no fault was planned");
            }
        }
        queue.reap(queue.in_flight(), &mut completions).expect("no fault was planned");
        buffers.extend(completions.drain(..).map(|completion| completion.buffer));
    }
    began.elapsed().as_nanos() as f64 / pushed as f64
}
