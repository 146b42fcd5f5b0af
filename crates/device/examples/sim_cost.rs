//! What a request costs on the simulated device, in nanoseconds of real time: `sim_cost [COUNT [CASE]]`,
//! where CASE is a part of the line to print.
//!
//! Reads one at a time and writes eight at a time, 4 KiB each at random places of 1 GiB, on the
//! device that keeps its contents and on the one that keeps time only.

use std::sync::Arc;
use std::time::Instant;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::{Arena, Device, Op, QueueConfig, Request};

const BYTES: usize = 4096;
const BLOCKS: u64 = 1 << 18;

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2_000_000);
    let only = std::env::args().nth(2).unwrap_or_default();
    let model = Preset::by_name("p4510").expect("it is a preset").model();
    let ideal = model.ideal(BYTES as u64);
    for (timing, model) in [("curve", model), ("ideal", ideal)] {
        let kept: Arc<dyn Device> = Arc::new(SimDevice::new(SimConfig::new(model.clone())));
        let config = SimConfig::timing_only(model);
        let forgotten: Arc<dyn Device> = Arc::new(SimDevice::new(config));
        for (contents, device) in [("kept", kept), ("forgotten", forgotten)] {
            device.set_len(BLOCKS * BYTES as u64).expect("no fault was planned");
            for (op, depth) in [(Op::Read, 1), (Op::Write, 8), (Op::Read, 128)] {
                let case = format!("{timing} {contents} {op} at depth {depth}");
                if !case.contains(&only) {
                    continue;
                }
                let ns = nanoseconds_per_request(&*device, op, depth, count);
                println!("{case}: {ns:.0} ns per request");
            }
        }
    }
}

fn nanoseconds_per_request(device: &dyn Device, op: Op, depth: usize, count: u64) -> f64 {
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
        }
        queue.reap(1, &mut completions).expect("no fault was planned");
        buffers.extend(completions.drain(..).map(|completion| completion.buffer));
    }
    began.elapsed().as_nanos() as f64 / pushed as f64
}
