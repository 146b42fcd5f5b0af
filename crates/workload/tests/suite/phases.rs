//! Properties of the loads of the tiering chapter.

use std::collections::{HashMap, HashSet};

use cenote_workload::page::drift::{Drift, DriftConfig};
use cenote_workload::page::phases::{Phases, PhasesConfig, Shape};
use cenote_workload::page::zipf::ZipfConfig;
use cenote_workload::page::{PageLoad, PageOp};

const PAGES: u64 = 10_000;
const OPS: u64 = 200_000;

fn load(name: &str) -> Phases {
    Phases::new(PhasesConfig::named(name, PAGES, OPS, 3).expect("a name")).expect("valid")
}

/// Share of the accesses `ops` of a load that go to these pages.
fn share(load: &Phases, ops: std::ops::Range<u64>, pages: &[u64]) -> f64 {
    let pages: HashSet<u64> = pages.iter().copied().collect();
    let hits = ops.clone().filter(|&index| pages.contains(&load.op(index).page)).count();
    hits as f64 / ops.count() as f64
}

#[test]
fn the_names_say_which_part_of_the_accesses_goes_to_which_part_of_the_pages() {
    for (name, pages, accesses) in [
        ("5hf90", 500, 0.9),
        ("10hf90", 1_000, 0.9),
        ("10hf80", 1_000, 0.8),
        ("20hf80", 2_000, 0.8),
    ] {
        let load = load(name);
        let [(0, hot)] = &load.hot_pages()[..] else { panic!("{name} has one phase") };
        assert_eq!(hot.len(), pages);
        let found = share(&load, 0..OPS, hot);
        assert!((found - accesses).abs() < 0.005, "{name}: {found} of the accesses are hot");
        let early = hot.iter().filter(|&&page| page < PAGES / 2).count() as f64;
        assert!((0.4..0.6).contains(&(early / pages as f64)), "{name}: hot pages lie together");
    }
}

#[test]
fn accesses_are_even_among_the_hot_and_among_the_cold() {
    let load = load("10hf90");
    let mut counts: HashMap<u64, u64> = HashMap::new();
    load.clone().for_each(|op| *counts.entry(op.unwrap().page).or_default() += 1);
    let hot: HashSet<u64> = load.hot_pages()[0].1.iter().copied().collect();
    let hot = &hot;
    let of = |is_hot: bool| counts.iter().filter(move |(page, _)| hot.contains(page) == is_hot);
    // 180 and 2.2 on average; seven standard deviations.
    assert!(of(true).all(|(_, &count)| (86..274).contains(&count)), "hot pages differ");
    assert!(of(false).all(|(_, &count)| count < 17), "some cold page is hot");
}

#[test]
fn phases_change_the_hot_pages_where_they_say() {
    for (name, phases) in [("A", 2), ("B", 3), ("C", 10), ("D", 50)] {
        let load = load(name);
        let hot = load.hot_pages();
        assert_eq!(hot.len(), phases);
        for (number, (start, pages)) in hot.iter().enumerate() {
            let end = hot.get(number + 1).map_or(OPS, |next| next.0);
            assert_eq!(*start, (OPS * number as u64).div_ceil(phases as u64));
            let now = share(&load, *start..end, pages);
            assert!(now > 0.77, "{name}, phase {number}: {now} of the accesses are hot");
            if number > 0 {
                let before = share(&load, hot[number - 1].0..*start, pages);
                assert!(before < 0.35, "{name}, phase {number} was hot before: {before}");
            }
        }
    }
    let hot = load("B").hot_pages();
    let all: HashSet<u64> = hot.iter().flat_map(|(_, pages)| pages.iter().copied()).collect();
    assert_eq!(all.len() as u64, PAGES * 35 / 100, "hot pages of B's phases are their own");
}

#[test]
fn the_hot_set_of_hot_shift_slides_evenly() {
    let load = load("hot-shift");
    let hot_around = |at: u64| -> HashSet<u64> {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        (at..at + 2_000).for_each(|index| *counts.entry(load.op(index).page).or_default() += 1);
        counts.into_iter().filter(|(_, count)| *count > 1).map(|(page, _)| page).collect()
    };
    let start = hot_around(0);
    let kept = |at: u64| hot_around(at).intersection(&start).count() as f64 / start.len() as f64;
    // After a tenth of the load the set is another one.
    assert!(kept(OPS / 40) > 0.5, "too fast: {}", kept(OPS / 40));
    assert!(kept(OPS / 10 + 2_000) < 0.2, "too slow: {}", kept(OPS / 10 + 2_000));
}

#[test]
fn loads_are_the_same_by_seed_and_skip_ahead() {
    for name in Shape::NAMES {
        let ops: Vec<PageOp> = load(name).collect::<Result<_, _>>().unwrap();
        assert_eq!(ops.len() as u64, OPS);
        assert!(ops.iter().all(|op| op.page < PAGES));
        assert_eq!(load(name).nth(777).unwrap().unwrap(), ops[777]);
        let config = PhasesConfig::named(name, PAGES, OPS, 4).unwrap();
        assert_ne!(Phases::new(config).unwrap().op(0), ops[0], "{name}: the seed does nothing");
        assert_eq!((load(name).pages(), load(name).ops()), (Some(PAGES), Some(OPS)));
    }
}

#[test]
fn the_share_of_reads_is_as_asked() {
    for percent in [1, 50, 99] {
        let config = PhasesConfig::named("5hf90", PAGES, OPS, 1).unwrap();
        let load = Phases::new(config.read_share(f64::from(percent) / 100.0));
        let reads = load.unwrap().filter(|op| !op.as_ref().unwrap().write).count() as f64;
        assert!((reads / OPS as f64 - f64::from(percent) / 100.0).abs() < 0.005, "{percent}%");
    }
}

#[test]
fn odd_sizes_and_names_are_met_with_words() {
    for name in ["", "hf", "5hf", "hf90", "xhfy", "101hf90", "5hf101", "-1hf5", "nanhf90", "E"] {
        assert!(PhasesConfig::named(name, 10, 10, 1).is_err(), "{name} was taken");
    }
    for (name, pages) in [("5hf90", 1), ("100hf100", 3), ("0hf90", 7), ("D", 2), ("hot-shift", 1)] {
        let load = Phases::new(PhasesConfig::named(name, pages, 100, 1).unwrap()).unwrap();
        assert!(load.map(|op| op.unwrap().page).all(|page| page < pages), "{name} of {pages}");
    }
    let none = PhasesConfig::named("A", 10, 0, 1).unwrap();
    assert_eq!(Phases::new(none).unwrap().count(), 0);
    let none = PhasesConfig::named("A", 10, 10, 1).unwrap().pages(0);
    assert!(Phases::new(none).is_err());
}

#[test]
fn zipf_drifts_as_fast_as_asked() {
    let zipf = ZipfConfig::default().pages(1_000).ops(100_000).skew(1.2);
    let hottest = |drift: f64, ops: std::ops::Range<u64>| {
        let config = DriftConfig::new("zipf", zipf.clone(), drift);
        let load = Drift::new(config).unwrap();
        let mut counts: HashMap<u64, u64> = HashMap::new();
        ops.for_each(|index| *counts.entry(load.op(index).page).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(page, _)| page).unwrap()
    };
    let config = DriftConfig::new("zipf", zipf.clone(), 0.0);
    let first = Drift::new(config).unwrap().hottest(1)[0];
    assert_eq!(hottest(0.0, 0..1_000), first);
    assert_eq!(hottest(0.0, 99_000..100_000), first);
    assert_eq!(hottest(0.5, 0..100), first);
    assert_ne!(hottest(0.5, 50_000..51_000), first);
    let config = DriftConfig::new("zipf", zipf, -1.0);
    assert!(Drift::new(config).is_err());
}
