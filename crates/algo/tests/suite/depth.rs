//! The depth follows a drive that is not what its profile says.

use std::sync::Arc;

use cenote_algo::wcc;
use cenote_device::Device;
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::profile::Profile;
use cenote_engine::EngineConfig;
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

const VERTICES: u32 = 25_000;
const DEGREE: u32 = 256;

/// A ring in which everybody knows the next few hundred: 26 MB on the drive called `name`.
fn ring_on(name: &str) -> Arc<SimDevice> {
    let model = Preset::by_name(name).unwrap().model();
    let device = Arc::new(SimDevice::new(SimConfig::new(model)));
    let spec = GraphSpec {
        page_bytes: 4096,
        vertices: u64::from(VERTICES),
        directed: true,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 7,
    };
    let mut writer = GraphWriter::create(device.clone(), spec).unwrap();
    for v in 0..VERTICES {
        let mut list: Vec<u32> = (1..=DEGREE).map(|i| (v + i) % VERTICES).collect();
        list.sort_unstable();
        writer.push_list(&list).unwrap();
    }
    let edges = u64::from(VERTICES) * u64::from(DEGREE);
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
    device
}

/// Virtual seconds of one pass, planned by the profile of another drive.
fn seconds(device: &Arc<SimDevice>, profile: &Profile, depth: Option<usize>) -> f64 {
    let graph = Arc::new(Graph::open(Arc::clone(device) as Arc<dyn Device>).unwrap());
    let config =
        EngineConfig::with_memory(128 << 20).threads(1).depth(depth).profile(profile.clone());
    let clock = device.clock();
    let started_ns = clock.now_ns();
    wcc::run(&graph, config).unwrap();
    (clock.now_ns() - started_ns) as f64 / 1e9
}

const DRIVES: [&str; 5] =
    ["optane-p4800x", "p4510", "sata-s4610", "aws-io-60k", "samsung-nvme-2024"];

#[test]
fn run_on_a_drive_unlike_its_profile_does_nearly_as_well_as_the_best_fixed_depth() {
    // The profile of the drive behind.
    compare_depths(|real, believed| (real + 1) % 5 == believed);
}

#[test]
#[ignore = "long: make soak"]
fn run_on_a_drive_unlike_any_other_profile_longer() {
    compare_depths(|real, believed| real != believed);
}

/// Runs on all pairs of a drive and the profile of another one that are chosen.
fn compare_depths(is_chosen: fn(usize, usize) -> bool) {
    for (i, real) in DRIVES.into_iter().enumerate() {
        let device = ring_on(real);
        let profile = |name| Profile::of_model(&Preset::by_name(name).unwrap().model());
        // Request sizes are those of the profile: the best depth is sought with the same.
        let chosen = DRIVES.into_iter().enumerate().filter(|(j, _)| is_chosen(i, *j));
        for (_, believed) in chosen {
            let profile = profile(believed);
            let adaptive = seconds(&device, &profile, None);
            let fixed = [1, 2, 4, 8, 16, 32, 64].map(|d| seconds(&device, &profile, Some(d)));
            let best = fixed.into_iter().fold(f64::INFINITY, f64::min);
            println!("{real} by {believed}: {adaptive:.4} s, fixed {fixed:.4?}");
            assert!(best >= 0.9 * adaptive, "{real}: {adaptive} s, best {best} s of {fixed:?}");
        }
    }
}
