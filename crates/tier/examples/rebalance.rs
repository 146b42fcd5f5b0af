//! Two simulated drives as one device: a policy watches reads, and a rebalance brings the blocks
//! that it found hot to the fast drive.
//!
//! `cargo run -p cenote-tier --example rebalance`

use std::error::Error;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::{Buffer, Device, read_exact, write_all};
use cenote_tier::device::{Progress, Rebalance, SetConfig, TierPart, TieredDevice};
use cenote_tier::device::{Worker, WorkerConfig};
use cenote_tier::spec::TierSpec;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const BLOCK_BYTES: u64 = 16 << 10;

/// Blocks that are written, and those that are read again and again.
const BLOCKS: Range<u64> = 0..512;
const HOT: Range<u64> = 300..350;

/// A tier's drive, and room for so many blocks behind its headers.
struct Tier {
    drive: Arc<SimDevice>,
    spec: TierSpec,
    part: TierPart,
}

fn tier(preset: &str, blocks: u64) -> Result<Tier> {
    let model = Preset::by_name(preset).ok_or("no such preset")?.model();
    let size = model.at(BLOCK_BYTES);
    let spec = TierSpec::new(size.read_us_qd1, size.alpha, size.k_r, size.k_w)?;
    let drive = Arc::new(SimDevice::new(SimConfig::new(model)));
    let part = TierPart {
        device: Arc::clone(&drive) as Arc<dyn Device>,
        name: preset.into(),
        capacity_bytes: (64 << 10) + blocks * BLOCK_BYTES,
    };
    Ok(Tier { drive, spec, part })
}

/// Reads blocks one after the other.
fn read(device: &TieredDevice, blocks: Range<u64>) -> Result<()> {
    let mut buffer = Buffer::new(BLOCK_BYTES as usize)?;
    for block in blocks {
        buffer = read_exact(device, block * BLOCK_BYTES, BLOCK_BYTES as usize, buffer)?;
        assert!(buffer.iter().all(|&byte| byte == block as u8), "block {block} is another's");
    }
    Ok(())
}

/// What the rebalance did, and how long a read of a hot block took before and after it, in
/// microseconds of the simulated drives.
#[derive(Debug)]
struct Figures {
    progress: Progress,
    before_us: f64,
    after_us: f64,
}

fn run() -> Result<Figures> {
    let (fast, slow) = (tier("optane-p4800x", 64)?, tier("sata-s4610", 1024)?);
    let drives = [fast.drive, slow.drive];
    // One reader waits for one drive at a time, so the times of both add up.
    let now_us = || drives.iter().map(|drive| drive.clock().now_ns()).sum::<u64>() as f64 / 1e3;
    let map = Arc::new(SimDevice::new(SimConfig::new(Preset::all()[0].model())));
    let device = TieredDevice::create(map, vec![fast.part, slow.part], &SetConfig::new([7; 16]))?;
    let mut buffer = Buffer::new(BLOCK_BYTES as usize)?;
    for block in BLOCKS {
        buffer.fill(block as u8);
        buffer = write_all(&device, block * BLOCK_BYTES, BLOCK_BYTES as usize, buffer)?;
    }
    device.sync()?;

    let mut config = WorkerConfig::new("tlfu".parse()?, vec![fast.spec, slow.spec])
        .batch(16)
        .recorded_bytes_max(BLOCK_BYTES);
    let worker = Worker::start(&device, config.clone())?;
    worker.pause(); // it watches, and moves nothing
    let start_us = now_us();
    read(&device, HOT)?;
    let before_us = (now_us() - start_us) / HOT.count() as f64;
    while worker.report().accesses < HOT.count() as u64 {
        std::thread::sleep(Duration::from_millis(1));
    }
    config.state = Some(worker.stop()?.1);

    let plan = Rebalance::by_heat(&device, &config)?;
    let progress = plan.carry_out(&device, config.batch, |_| ControlFlow::Continue(()))?;
    let start_us = now_us();
    read(&device, HOT)?;
    let after_us = (now_us() - start_us) / HOT.count() as f64;
    read(&device, BLOCKS)?;
    for tier in device.tiers() {
        println!("{}: {} of {} blocks", tier.name, tier.blocks, tier.slots);
    }
    Ok(Figures { progress, before_us, after_us })
}

fn main() -> Result<()> {
    let Figures { progress, before_us, after_us } = run()?;
    println!("{} of {} blocks moved", progress.moved, progress.planned);
    println!("a hot block took {before_us:.1} us to read, and takes {after_us:.1} us now");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_blocks_are_read_from_the_fast_drive_after_the_rebalance() {
        let figures = run().unwrap();
        // Fifty hot blocks go up, and as many come down for them.
        assert_eq!((figures.progress.planned, figures.progress.moved), (100, 100));
        assert!(figures.after_us * 4.0 < figures.before_us, "{figures:?}");
    }
}
