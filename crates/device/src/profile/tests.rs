//! Tests of the profiler on simulated devices.

use super::*;
use crate::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, When};
use crate::model::preset::Preset;
use crate::model::{DeviceModel, Pio};
use crate::op::Op;
use crate::{Device, DeviceError};

const REGION: u64 = 4 << 20;

fn sim(model: &DeviceModel) -> SimDevice {
    SimDevice::with_contents(SimConfig::new(model.clone()), &vec![7; REGION as usize])
}

/// A sweep of one size, in cells of a few thousand small requests (completions come in bunches,
/// and a bunch more or less must not matter) or fewer large ones (they are copied for real).
fn config_for(model: &DeviceModel, bytes: u64) -> ProfileConfig {
    let size = model.at(bytes);
    let requests = ((16 << 20) / bytes).clamp(400, 3000) as f64;
    ProfileConfig {
        sizes: vec![bytes],
        depths_sequential: Vec::new(),
        cell_seconds: requests / size.read_iops_max.max(size.write_iops_max),
        repetitions: 1,
        warm_up_seconds: 0.0,
        seconds_max: f64::MAX,
        ..ProfileConfig::full()
    }
}

fn measure(model: &DeviceModel, bytes: u64) -> Profile {
    profile(&sim(model), 0..REGION, &config_for(model, bytes), &mut |_| true).unwrap()
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= 0.1, "{what}: found {found}, expected {expected}");
}

fn close_k(found: u32, expected: u32, what: &str) {
    let tolerance = f64::from(expected) * 0.1;
    let off = f64::from(found.abs_diff(expected));
    assert!(off <= tolerance, "{what}: found {found}, expected {expected}");
}

#[test]
fn profile_of_every_preset_finds_its_alpha_and_k() {
    check_presets(2);
}

#[test]
#[ignore = "long: make soak"]
fn longer_profile_of_every_preset_finds_its_alpha_and_k() {
    check_presets(1);
}

/// Measures each preset with one of so many sizes of requests, in turn.
fn check_presets(one_in: usize) {
    for (at, preset) in Preset::all().iter().enumerate() {
        let model = preset.model();
        for expected in model.sizes.iter().skip(at % one_in).step_by(one_in) {
            let profile = measure(&model, expected.bytes);
            assert_eq!(profile.fault(), None);
            let found = profile.size(expected.bytes).unwrap();
            let what = |field| format!("{} {} {field}", preset.name, expected.bytes);
            close(found.alpha.unwrap(), expected.alpha, &what("alpha"));
            close_k(found.k_r, expected.k_r, &what("k_r"));
            close_k(found.k_w.unwrap(), expected.k_w, &what("k_w"));
            close(found.read_iops_max, expected.read_iops_max, &what("read_iops_max"));
            close(found.write_iops_max.unwrap(), expected.write_iops_max, &what("write_iops_max"));
            close(found.read_us_qd1, expected.read_us_qd1, &what("read_us_qd1"));
            close(found.write_us_qd1.unwrap(), expected.write_us_qd1, &what("write_us_qd1"));
        }
    }
}

#[test]
fn profile_of_an_ideal_device_finds_the_alpha_of_pio() {
    for (k_r, k_w, alpha) in [(80, 8, 2.8), (6, 5, 1.1), (1, 1, 1.0), (25, 9, 8.0), (11, 19, 2.0)] {
        let model = DeviceModel::pio("ideal", 4096, 10.0, &Pio::new(0, k_r, k_w, alpha));
        let profile = measure(&model, 4096);
        let found = profile.size(4096).unwrap();
        // 90% of an ideal device's throughput needs 90% of its channels.
        close_k(found.k_r, k_r, "k_r");
        close_k(found.k_w.unwrap(), k_w, "k_w");
        let bandwidths = alpha * f64::from(k_r) / f64::from(k_w);
        close(found.alpha.unwrap(), bandwidths, "alpha");
        let off = (found.alpha_batch.unwrap() / alpha - 1.0).abs();
        assert!(off < 0.12, "alpha of PIO is {off} off");
    }
}

#[test]
fn a_profile_of_a_profile_is_the_same() {
    let model = Preset::by_name("sata-s4610").unwrap().model();
    let first = measure(&model, 4096);
    let second = measure(&first.model(), 4096);
    close_k(second.sizes[0].k_r, first.sizes[0].k_r, "k_r");
    close_k(second.sizes[0].k_w.unwrap(), first.sizes[0].k_w.unwrap(), "k_w");
    close(second.sizes[0].alpha.unwrap(), first.sizes[0].alpha.unwrap(), "alpha");
}

#[test]
fn one_seed_gives_one_profile() {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let (first, second) = (measure(&model, 4096), measure(&model, 4096));
    assert_eq!(first.curves.len(), 2);
    for (a, b) in first.curves.iter().zip(&second.curves) {
        assert_eq!(a.throughput(), b.throughput());
    }
}

#[test]
fn a_fault_during_the_sweep_is_an_error_and_no_profile() {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let faults = FaultPlan::none().with(When::Read(500), Effect::Errno(libc::EIO));
    let config = SimConfig { faults, ..SimConfig::new(model.clone()) };
    let device = SimDevice::with_contents(config, &vec![0; REGION as usize]);
    let error = profile(&device, 0..REGION, &config_for(&model, 4096), &mut |_| true).unwrap_err();
    assert!(matches!(error, DeviceError::Io { .. }), "{error}");
}

#[test]
fn a_callback_that_says_no_ends_the_profile() {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let mut calls = 0;
    let error = profile(&sim(&model), 0..REGION, &config_for(&model, 4096), &mut |_| {
        calls += 1;
        calls < 5
    });
    assert!(error.unwrap_err().to_string().contains("interrupted"));
    assert_eq!(calls, 5);
}

#[test]
fn a_slow_device_is_measured_in_bounded_time() {
    let model = Preset::by_name("hdd-2t").unwrap().model();
    let device = sim(&model);
    let config = ProfileConfig { seconds_max: 10.0, ..ProfileConfig::quick() };
    let clock = Device::clock(&device);
    let found = profile(&device, 0..REGION, &config, &mut |_| true).unwrap();
    let seconds = clock.now_ns() as f64 / 1e9;
    assert!(seconds < 16.0, "{seconds} s");
    assert_eq!(found.sizes.len(), config.sizes.len());
    assert!(found.conditions.notes.iter().any(|n| n.contains("left out")));
    assert!(found.sizes.iter().all(|s| s.k_r == 1));
}

#[test]
fn a_sweep_that_cannot_run_says_why() {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = sim(&model);
    let good = config_for(&model, 4096);
    let fails = |region: u64, config: ProfileConfig, expected: &str| {
        let error = profile(&device, 0..region, &config, &mut |_| true).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("sim:"), "{error}");
    };
    fails(2048, good.clone(), "need a larger file than one of 2048");
    fails(REGION, ProfileConfig { sizes: vec![1000], ..good.clone() }, "blocks of 512");
    fails(REGION, ProfileConfig { sizes: vec![], ..good.clone() }, "ascend");
    fails(REGION, ProfileConfig { depths: vec![0, 1], ..good.clone() }, "between 1 and 4096");
    fails(REGION, ProfileConfig { ops: vec![Op::Write], ..good.clone() }, "reads");
    fails(REGION, ProfileConfig { repetitions: 0, ..good }, "repetition");
}

#[test]
fn writes_stay_within_the_region() {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let region = 1 << 20..2 << 20;
    let before: Vec<u8> = (0..REGION).map(|at| (at / 4096 % 251) as u8).collect();
    let device = SimDevice::with_contents(SimConfig::new(model.clone()), &before);
    profile(&device, region.clone(), &config_for(&model, 4096), &mut |_| true).unwrap();
    let after = device.contents();
    assert_eq!(before.len(), after.len());
    let changed: Vec<u64> =
        (0..REGION).filter(|at| before[*at as usize] != after[*at as usize]).collect();
    assert!(!changed.is_empty(), "no write moved a byte");
    assert!(changed.iter().all(|at| region.contains(at)), "a write left the region");
}

/// A sweep of a second on a real file.
fn short() -> ProfileConfig {
    ProfileConfig {
        sizes: vec![4096, 65536],
        depths: vec![1, 8],
        depths_sequential: vec![8],
        cell_seconds: 0.01,
        repetitions: 1,
        refinements: 0,
        warm_up_seconds: 0.02,
        ..ProfileConfig::quick()
    }
}

#[test]
fn a_directory_is_profiled_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let found = profile_path(dir.path(), &short(), Some(8 << 20), &mut |_| true).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(found.sizes.len(), 2);
    assert!(found.conditions.scratch && found.conditions.filesystem_used_share.is_some());
    assert_eq!(found.identity, Identity::of_path(dir.path()).unwrap());
    assert!(found.sizes[0].write_iops_max.is_some());
    assert_eq!(found.curves.len(), 8);
}

#[test]
fn more_scratch_than_half_of_the_free_space_is_refused_with_both_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let free = || {
        let space = rustix::fs::statvfs(dir.path()).unwrap();
        (space.f_bavail * space.f_frsize) >> 20
    };
    let before = free();
    let error = profile_path(dir.path(), &short(), Some(10 << 40), &mut |_| true).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("10485760 MiB is more than half of the"), "{text}");
    assert!(free() + 256 > before, "it took space first");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupted_profile_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let error = profile_path(dir.path(), &short(), Some(8 << 20), &mut |p| p.step.contains("writ"));
    assert!(error.unwrap_err().to_string().contains("interrupted"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_existing_file_is_only_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let bytes: Vec<u8> = (0..2 << 20).map(|i: u32| (i / 7) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let found = profile_path(&path, &short(), None, &mut |_| true).unwrap();
    assert!(found.sizes.iter().all(|s| s.alpha.is_none() && s.k_w.is_none()));
    assert!(found.conditions.notes.iter().any(|n| n.contains("writes were not measured")));
    assert!(std::fs::read(&path).unwrap() == bytes);
    let error = profile_path(&path, &short(), Some(8 << 20), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("directory"), "{error}");
}

#[test]
fn a_missing_path_and_an_empty_file_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let error = profile_path(&missing, &short(), None, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
    let empty = dir.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let error = profile_path(&empty, &short(), None, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("need a larger file than one of 0"), "{error}");
}
