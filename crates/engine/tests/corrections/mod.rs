//! Runs with the profile of another drive: gaps follow the costs that the run sees.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::model::{DeviceModel, SizeModel, Timing};
use cenote_device::profile::Profile;
use cenote_engine::{ActiveSet, Direction, Engine, EngineConfig, Frontier, Needs};

use crate::{Each, graph};

const VERTICES: u32 = 40_000;

/// A page holds the lists of four vertices.
const DEGREE: u32 = 250;

/// A drive that a request of n pages occupies for `request_us` + n x 2 microseconds.
fn drive(request_us: f64) -> DeviceModel {
    let sizes = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20].map(|bytes: u64| {
        let us = request_us + bytes as f64 / 2048.0;
        SizeModel {
            bytes,
            alpha: 1.0,
            k_r: 4,
            k_w: 4,
            read_iops_max: 1e6 / us,
            write_iops_max: 1e6 / us,
            read_us_qd1: 3.0 * us,
            write_us_qd1: 3.0 * us,
        }
    });
    DeviceModel {
        name: format!("{request_us} us"),
        source: "a test".into(),
        timing: Timing::Curve,
        sizes: sizes.to_vec(),
        curves: Vec::new(),
    }
}

/// A visit: bytes read, requests, and seconds of the drive's time.
#[derive(Clone, Copy, Debug)]
struct Visit {
    bytes: f64,
    requests: f64,
    seconds: f64,
}

/// Visits of one of `sparse` groups of lists on a drive, planned by the profile of another one: the
/// first, and the same after full visits and other sparse ones. The lists are the same whatever the
/// plan.
fn visits(actual: f64, profiled: f64, sparse: u64) -> (Visit, Visit, Engine) {
    let list = |v: u32| (1..=DEGREE).map(|i| (v + i) % VERTICES).collect();
    let graph = graph::on(drive(actual), (0..VERTICES).map(list).collect());
    let profile = Profile::of_model(&drive(profiled));
    let config = EngineConfig::with_memory(32 << 20).threads(1).profile(profile);
    let config = config.cache_bytes(Some(0)).depth(Some(4));
    let needs = Needs { what: "test", state_bytes: 0, scratch_bytes: 0 };
    let engine = Engine::new(graph, config, &needs).unwrap();
    let visit = |seed: u64| {
        let mut frontier = Frontier::new(VERTICES as usize).unwrap();
        let is_active = |v: &u32| mix(u64::from(*v / 4) + (seed << 32)).is_multiple_of(sparse);
        frontier.set((0..VERTICES).filter(is_active));
        let before = engine.stats();
        let entries = AtomicU64::new(0);
        let kernel = Each(|list: &cenote_engine::List<'_>| {
            entries.fetch_add(list.targets.len() as u64, Ordering::Relaxed);
        });
        let active = ActiveSet::In(&frontier);
        engine.visit("sparse", Direction::Out, active, &kernel).unwrap();
        assert_eq!(entries.into_inner(), frontier.count() * u64::from(DEGREE));
        let after = engine.stats();
        Visit {
            bytes: (after.bytes_read - before.bytes_read) as f64,
            requests: (after.read_requests - before.read_requests) as f64,
            seconds: after.visit_seconds - before.visit_seconds,
        }
    };
    let first = visit(1);
    for seed in 2..6 {
        let nothing = Each(|_: &cenote_engine::List<'_>| {});
        engine.visit("all", Direction::Out, ActiveSet::All, &nothing).unwrap();
        visit(seed);
    }
    let last = visit(1);
    (first, last, engine)
}

/// SplitMix64's last step.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[test]
fn gaps_follow_a_drive_whose_requests_cost_more_or_less_than_its_profile_says() {
    const PROFILED: f64 = 8.0;
    for (factor, sparse) in [(5.0, 25), (0.2, 8)] {
        let (_, right, engine) = visits(PROFILED * factor, PROFILED * factor, sparse);
        assert_eq!(engine.schedule().correction(), None, "{factor}: the profile is right");
        let (first, last, engine) = visits(PROFILED * factor, PROFILED, sparse);
        let off = |visit: Visit, value: fn(&Visit) -> f64| (value(&visit) / value(&right)).ln();
        let far = off(first, |v| v.bytes).abs();
        assert!(far > 1.5_f64.ln(), "{factor}: {first:?} by the profile, {right:?} by the drive");
        assert!(first.seconds > 1.15 * right.seconds, "{factor}: {first:?} {right:?}");
        assert!(last.seconds < 1.06 * right.seconds, "{factor}: {last:?} {right:?}");
        assert!(off(last, |v| v.bytes).abs() < 1.2_f64.ln(), "{factor}: {last:?} {right:?}");
        assert!(off(last, |v| v.requests).abs() < 1.2_f64.ln(), "{factor}: {last:?} {right:?}");
        let found = engine.schedule().correction().unwrap();
        let ratio = found.request / found.pages;
        assert!((ratio / factor - 1.0).abs() < 0.3, "{factor}: {found:?}");
        assert_eq!(found.gap_pages > found.gap_pages_planned, factor > 1.0, "{found:?}");
    }
}
