//! Tests of plans and extents.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::model::preset::Preset;
use crate::profile::{CurveProfile, Pattern, ProfilePoint};

fn planner_of(name: &str, page_bytes: usize) -> Planner {
    let model = Preset::by_name(name).unwrap().model();
    Planner::new(&Profile::of_model(&model), page_bytes, 16 << 20, 2)
}

/// A profile whose every figure wiggles at random, as measurements on shared drives do.
fn noisy_profile() -> impl Strategy<Value = Profile> {
    let iops = prop::collection::vec(1e2..1e6_f64, 40);
    iops.prop_map(|iops| {
        let mut iops = iops.into_iter();
        let curves: Vec<_> = [12, 14, 16, 18, 20]
            .map(|log| {
                let points = (0..8).map(|d| {
                    let iops = iops.next().unwrap();
                    let us = f64::from(1 << d) * 1e6 / iops;
                    ProfilePoint {
                        depth: 1 << d,
                        iops,
                        iops_min: iops,
                        iops_max: iops,
                        p50_us: us,
                        p99_us: us,
                        repetitions: 1,
                        cpu_share: 0.0,
                    }
                });
                CurveProfile {
                    op: Op::Read,
                    pattern: Pattern::Random,
                    bytes: 1 << log,
                    points: points.collect(),
                }
            })
            .into();
        let sizes = Profile::summarise(&curves, 0.9);
        Profile { sizes, curves, ..Profile::assumed() }
    })
}

fn profiles() -> impl Strategy<Value = Profile> {
    let presets = prop::sample::select(Preset::all()).prop_map(|p| Profile::of_model(&p.model()));
    prop_oneof![presets, noisy_profile(), Just(Profile::assumed())]
}

/// Wanted pages: sparse, dense, in runs, with repetitions.
fn wanted_pages() -> impl Strategy<Value = (Vec<u64>, u64)> {
    let steps = prop_oneof![Just(1_u64), 0..4_u64, 1..40_u64, 1..5000_u64];
    (0..100_u64, prop::collection::vec(steps, 0..400), 1..50_u64).prop_map(
        |(first, steps, rest)| {
            let mut page = first;
            let pages: Vec<u64> = steps
                .into_iter()
                .map(|step| {
                    page += step;
                    page
                })
                .collect();
            let total = pages.last().map_or(0, |p| p + 1) + rest;
            (pages, total)
        },
    )
}

/// So many cases of a property.
fn check_cases<S: Strategy>(
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(cases) };
    TestRunner::new(config).run(strategy, property).unwrap_or_else(|error| panic!("{error}"));
}

fn check_wanted_pages(cases: u32) {
    let strategy = (profiles(), wanted_pages(), 12..17_u32, 14..27_u32, 1..5_usize);
    check_cases(cases, &strategy, |(profile, (wanted, _), page_log, buffer_log, workers)| {
        let page_bytes = 1_usize << page_log;
        let planner = Planner::new(&profile, page_bytes, 1 << buffer_log, workers);
        let extents: Vec<Extent> = planner.extents(wanted.iter().copied()).collect();
        let mut covered = Vec::new();
        let mut end = 0;
        for extent in &extents {
            prop_assert!(extent.pages >= 1);
            prop_assert!(extent.pages as usize * page_bytes <= planner.plan().request_bytes);
            prop_assert!(extent.first_page >= end, "overlap at {extent:?}");
            prop_assert!(wanted.binary_search(&extent.first_page).is_ok());
            prop_assert!(wanted.binary_search(&(extent.end_page() - 1)).is_ok());
            end = extent.end_page();
            covered.extend(extent.first_page..end);
        }
        for page in wanted {
            prop_assert!(covered.binary_search(&page).is_ok(), "page {page} is missing");
        }
        Ok(())
    });
}

#[test]
fn every_wanted_page_is_read_once_and_within_bounds() {
    check_wanted_pages(100);
}

#[test]
#[ignore = "long: make soak"]
fn longer_every_wanted_page_is_read_once_and_within_bounds() {
    check_wanted_pages(400);
}

fn check_costs(cases: u32) {
    let strategy = (profiles(), wanted_pages(), 12..17_u32);
    check_cases(cases, &strategy, |(profile, (mut wanted, total), page_log)| {
        let planner = Planner::new(&profile, 1 << page_log, 16 << 20, 2);
        let seconds: f64 =
            planner.extents(wanted.iter().copied()).map(|e| planner.extent_seconds(e.pages)).sum();
        wanted.dedup();
        let singly = wanted.len() as f64 * planner.extent_seconds(1);
        prop_assert!(seconds <= singly * (1.0 + 1e-6), "{seconds} > {singly} page by page");
        let longest = planner.extent_pages_max();
        let everything = total.div_ceil(longest) as f64 * planner.extent_seconds(longest);
        prop_assert!(seconds <= everything * (1.0 + 1e-6), "{seconds} > {everything} in full");
        Ok(())
    });
}

#[test]
fn extents_never_cost_more_than_single_pages_or_everything() {
    check_costs(100);
}

#[test]
#[ignore = "long: make soak"]
fn longer_extents_never_cost_more_than_single_pages_or_everything() {
    check_costs(400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn buffers_stay_within_their_memory(
        profile in profiles(),
        page_log in 12..17_u32,
        buffer_log in 12..28_u32,
        workers in 1..9_usize,
    ) {
        let (page_bytes, buffer_bytes) = (1_usize << page_log, 1_usize << buffer_log);
        let plan = Planner::new(&profile, page_bytes, buffer_bytes, workers).plan();
        let least = page_bytes * workers;
        prop_assert!(plan.buffer_bytes() <= buffer_bytes.max(least));
        prop_assert!(plan.request_bytes.is_multiple_of(page_bytes));
        prop_assert!(plan.depth >= workers && plan.depth.is_multiple_of(workers));
    }
}

#[test]
fn all_pages_become_full_requests() {
    let planner = Planner::new(&Profile::assumed(), 4096, 16 << 20, 2);
    let longest = planner.extent_pages_max();
    assert_eq!(planner.plan().request_bytes, 256 << 10);
    let extents: Vec<_> = planner.extents(0..1000).collect();
    assert_eq!(extents.len() as u64, 1000_u64.div_ceil(longest));
    assert_eq!(extents.iter().map(|e| e.pages).sum::<u64>(), 1000);
}

#[test]
fn near_gaps_are_read_through_and_far_ones_are_not() {
    let planner = Planner::new(&Profile::assumed(), 4096, 16 << 20, 2);
    let gap = planner.plan().gap_pages;
    // 8 us for a request against 2 us for a page of transfer.
    assert!((2..=8).contains(&gap), "{gap}");
    let near: Vec<_> = planner.extents([10, 11 + gap]).collect();
    assert_eq!(near, [Extent { first_page: 10, pages: gap + 2 }]);
    let far: Vec<_> = planner.extents([10, 12 + gap]).collect();
    assert_eq!(far.len(), 2);
}

#[test]
fn a_disk_reads_through_wide_gaps_in_large_requests() {
    let planner = planner_of("hdd-2t", 4096);
    assert!(planner.plan().gap_pages > planner_of("optane-p4800x", 4096).plan().gap_pages);
}

#[test]
fn no_wanted_page_means_no_extent() {
    let planner = Planner::new(&Profile::assumed(), 4096, 16 << 20, 2);
    assert_eq!(planner.extents([]).count(), 0);
    assert_eq!(planner.extents([u64::MAX - 1]).count(), 1);
    assert_eq!(planner.predicted_seconds(0, 0), 0.0);
}

#[test]
fn few_requests_are_predicted_by_latency_and_many_by_throughput() {
    let planner = Planner::new(&Profile::assumed(), 4096, 16 << 20, 2);
    let one = planner.predicted_seconds(1, 4096);
    assert!((one - 92e-6).abs() < 5e-6, "{one}");
    let many = planner.predicted_seconds(100_000, 100_000 * 4096);
    assert!((0.9..1.2).contains(&many), "{many}");
}

#[test]
fn few_buffers_are_divided_so_that_more_requests_are_in_flight() {
    let plan = |buffer_bytes| Planner::new(&Profile::assumed(), 4096, buffer_bytes, 2).plan();
    let is = |plan: Plan, request_kib: usize, depth: usize| {
        assert_eq!((plan.request_bytes >> 10, plan.depth), (request_kib, depth));
    };
    is(plan(512 << 10), 64, 8);
    is(plan(256 << 10), 64, 4);
    is(plan(1 << 20), 128, 8);
    let rich = plan(4 << 20);
    assert!(rich.request_bytes == 256 << 10 && rich.depth >= 8, "{rich:?}");
    // On a disk small requests are much slower.
    let disk = Profile::of_model(&Preset::by_name("hdd-2t").unwrap().model());
    let disk = Planner::new(&disk, 4096, 512 << 10, 2).plan();
    assert!(disk.request_bytes > 64 << 10, "{disk:?}");
}

#[test]
fn less_memory_makes_a_smaller_plan() {
    let profile = Profile::assumed();
    let rich = Planner::new(&profile, 4096, 64 << 20, 2);
    let poor = Planner::new(&profile, 4096, 512 << 10, 2);
    assert!(poor.plan().buffer_bytes() <= 512 << 10);
    assert!(rich.bytes_per_second() >= poor.bytes_per_second());
    assert!(poor.bytes_per_second() > 0.5 * rich.bytes_per_second());
    let none = Planner::new(&profile, 4096, 0, 2).plan();
    assert_eq!((none.request_bytes, none.depth), (4096, 2));
}
