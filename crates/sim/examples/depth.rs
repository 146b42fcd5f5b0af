//! The CAVE paper's Figure 9 in simulation: breadth-first search by blocks at depth 1, 2, 4, .. 128
//! on the presets' devices, in virtual time (computation takes none).
//!
//! `cargo run --release -p cenote-sim --example depth -- GRAPH` prints a JSON row for each run.

use std::sync::Arc;

use cenote_algo::bfs::{self, BfsConfig};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::profile::Profile;
use cenote_device::{Device, Op};
use cenote_engine::{EngineConfig, Graph, Strategy};

const DEVICES: [&str; 5] = ["optane-p4800x", "p4510", "sata-s4610", "aws-io-60k", "hdd-2t"];

const PAGE_BYTES: u64 = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("one argument is needed: GRAPH")?;
    let contents = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    for name in DEVICES {
        let model = Preset::by_name(name).ok_or("a preset of that name")?.model();
        let profile = Profile::of_model(&model);
        let k_r = model.channels(Op::Read, PAGE_BYTES);
        let device = Arc::new(SimDevice::with_contents(SimConfig::new(model), &contents));
        let graph = Arc::new(Graph::open(Arc::clone(&device) as Arc<dyn Device>)?);
        for depth in (0..8).map(|log| 1 << log) {
            let config = EngineConfig::with_memory(1 << 30)
                .threads(1)
                .strategy(Strategy::Block)
                .depth(Some(depth))
                .cache_bytes(Some(0))
                .profile(profile.clone());
            let clock = device.clock();
            let started_ns = clock.now_ns();
            let found = bfs::run(&graph, config, &BfsConfig::default())?;
            let seconds = (clock.now_ns() - started_ns) as f64 / 1e9;
            let requests = found.run.stats.read_requests;
            print!(r#"{{"device": "{name}", "k_r": {k_r}, "depth": {depth}, "#);
            println!(r#""seconds": {seconds}, "read_requests": {requests}}}"#);
        }
    }
    Ok(())
}
