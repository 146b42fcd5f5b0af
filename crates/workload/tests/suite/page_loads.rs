//! Properties of the generated page loads.

use std::collections::HashMap;

use cenote_workload::page::dense::Dense;
use cenote_workload::page::mix::{Mix, MixConfig};
use cenote_workload::page::zipf::{Zipf, ZipfConfig};
use cenote_workload::page::{PageLoad, PageOp};
use cenote_workload::{Result, WorkloadError};

fn ops(load: impl Iterator<Item = Result<PageOp>>) -> Vec<PageOp> {
    load.collect::<Result<_>>().expect("a generator makes no errors")
}

/// Asserts that `found` of `draws` events fits their probability: six standard deviations of the
/// binomial distribution, which chance exceeds twice in a billion.
fn assert_share(what: &str, found: usize, draws: usize, share: f64) {
    let mean = draws as f64 * share;
    let tolerance = 6.0 * (mean * (1.0 - share)).sqrt();
    let off = (found as f64 - mean).abs();
    assert!(off <= tolerance, "{what}: {found} of {draws}, expected {mean} +- {tolerance}");
}

#[test]
fn the_four_mixes_have_the_shares_of_the_table() {
    let (pages, count) = (34_406, 200_000);
    for (config, read_share, hot_ops, hot_pages) in [
        (MixConfig::ms(pages, count, 1), 0.5, 0.9, 3_441),
        (MixConfig::wis(pages, count, 2), 0.1, 0.9, 3_441),
        (MixConfig::ris(pages, count, 3), 0.9, 0.9, 3_441),
        (MixConfig::mu(pages, count, 4), 0.5, 0.5, 17_203),
    ] {
        let load = Mix::new(config).expect("valid");
        let name = load.name();
        assert_eq!((load.pages(), load.ops()), (Some(pages), Some(count)));
        let ops = ops(load);
        assert_eq!(ops.len() as u64, count);
        let reads = ops.iter().filter(|op| !op.write).count();
        assert_share(&format!("{name} reads"), reads, ops.len(), read_share);
        let hot: Vec<_> = ops.iter().filter(|op| op.page < hot_pages).collect();
        assert_share(&format!("{name} hot"), hot.len(), ops.len(), hot_ops);
        let hot_reads = hot.iter().filter(|op| !op.write).count();
        assert_share(&format!("{name} hot reads"), hot_reads, hot.len(), read_share);
        let early = hot.iter().filter(|op| op.page < hot_pages / 4).count();
        let share = (hot_pages / 4) as f64 / hot_pages as f64;
        assert_share(&format!("{name} first quarter of the hot"), early, hot.len(), share);
        assert!(ops.iter().all(|op| op.page < pages));
        assert!(ops.iter().any(|op| op.page > pages - pages / 50), "{name}: the end is cold");
    }
}

#[test]
fn a_load_is_the_same_forever() {
    let (read, write) = (PageOp::read, PageOp::write);
    let mix = Mix::new(MixConfig::ms(1_000_000, 4, 42)).expect("valid");
    let golden = [read(77_205), write(70_584), write(1_781), read(569_131)];
    assert_eq!(ops(mix), golden, "the mix of a seed changed: old results can't be repeated");
    let config = ZipfConfig::default().pages(1_000_000).ops(4).seed(42);
    let golden = [read(43_995), write(198_749), write(354_635), write(394_030)];
    assert_eq!(ops(Zipf::new(config).expect("valid")), golden, "the Zipf load of a seed changed");
}

#[test]
fn asking_in_any_order_gives_the_same_accesses() {
    let mix = Mix::new(MixConfig::wis(5_000, 1_000, 9)).expect("valid");
    let zipf = Zipf::new(ZipfConfig::default().pages(5_000).ops(1_000));
    let zipf = zipf.expect("valid");
    let (mixed, zipfed) = (ops(mix.clone()), ops(zipf.clone()));
    for index in (0..1_000).rev().step_by(7) {
        assert_eq!(mix.op(index as u64), mixed[index]);
        assert_eq!(zipf.op(index as u64), zipfed[index]);
        let skipped = mix.clone().nth(index).expect("in range").expect("no errors");
        assert_eq!(skipped, mixed[index], "after skipping {index}");
    }
    assert!(mix.clone().nth(1_000).is_none());
    assert_eq!(mix.size_hint(), (1_000, Some(1_000)));
    assert_ne!(mixed, ops(Mix::new(MixConfig::wis(5_000, 1_000, 10)).expect("valid")));
}

#[test]
fn shares_of_nothing_and_everything_are_exact() {
    for share in [0.0, 1.0] {
        let mut config = MixConfig::ms(100, 20_000, 5);
        config.read_share = share;
        config.hot_ops = share;
        for op in ops(Mix::new(config).expect("valid")) {
            assert_eq!(op.write, share == 0.0);
            assert_eq!(op.page < 10, share == 1.0);
        }
    }
    // One page, and hot pages that are all pages.
    assert!(ops(Mix::new(MixConfig::ms(1, 100, 1)).expect("valid")).iter().all(|op| op.page == 0));
}

#[test]
fn impossible_parameters_are_errors_that_name_them() {
    let ms = || MixConfig::ms(100, 100, 1);
    let zipf = ZipfConfig::default;
    let errors: [(&str, Option<WorkloadError>); 8] = [
        ("pages", Mix::new(MixConfig::ms(0, 1, 1)).err()),
        ("read-share", Mix::new(ms().read_share(1.1)).err()),
        ("read-share", Mix::new(ms().read_share(f64::NAN)).err()),
        ("hot-ops", Mix::new(ms().hot_ops(-0.1)).err()),
        ("hot-pages", Mix::new(ms().hot_pages(f64::INFINITY)).err()),
        ("pages", Zipf::new(zipf().pages(0)).err()),
        ("skew", Zipf::new(zipf().skew(-1.0)).err()),
        ("skew", Zipf::new(zipf().skew(f64::NAN)).err()),
    ];
    for (name, error) in errors {
        let message = error.expect(name).to_string();
        assert!(message.starts_with(name) && message.contains("expected"), "{message}");
    }
}

#[test]
fn zipf_has_the_distribution_of_the_naive_sum() {
    // Enough draws that accepting too few points between curve and steps shows.
    for (pages, draws) in [(1u64, 1_000), (2, 100_000), (3, 100_000), (1_000, 2_000_000)] {
        for skew in [0.0, 0.3, 0.99, 1.0, 1.0 + 1e-12, 1.5, 3.0] {
            let config = ZipfConfig::default()
                .pages(pages)
                .ops(draws as u64)
                .skew(skew)
                .read_share(0.3)
                .scramble(false)
                .seed(7);
            let ops = ops(Zipf::new(config).expect("valid"));
            let mut counts = vec![0usize; pages as usize];
            ops.iter().for_each(|op| counts[op.page as usize] += 1);
            let weight = |rank: u64| ((rank + 1) as f64).powf(-skew);
            let sum: f64 = (0..pages).map(weight).sum();
            let (mut below, mut expected) = (0, 0.0);
            for rank in 0..pages {
                below += counts[rank as usize];
                expected += weight(rank) / sum;
                let what = format!("{pages} pages, skew {skew}, up to rank {rank}");
                assert_share(&what, below, draws, expected.min(1.0));
            }
            let reads = ops.iter().filter(|op| !op.write).count();
            assert_share("Zipf reads", reads, draws, 0.3);
        }
    }
}

#[test]
fn scrambling_moves_the_ranks_and_keeps_their_counts() {
    let config = |scramble| ZipfConfig::default().pages(1_000).ops(50_000).scramble(scramble);
    let counts = |scramble| {
        let mut counts = HashMap::new();
        for op in ops(Zipf::new(config(scramble)).expect("valid")) {
            *counts.entry(op.page).or_insert(0u32) += 1;
        }
        counts
    };
    let (plain, scrambled) = (counts(false), counts(true));
    let sorted = |counts: &HashMap<u64, u32>| {
        let mut sorted: Vec<u32> = counts.values().copied().collect();
        sorted.sort_unstable();
        sorted
    };
    assert_eq!(sorted(&plain), sorted(&scrambled));
    let hottest = scrambled.iter().max_by_key(|&(_, count)| count).expect("not empty").0;
    assert_ne!(*hottest, 0);
    assert!(scrambled.keys().all(|&page| page < 1_000));
}

#[test]
fn zipf_stays_in_range_at_the_limits() {
    for pages in [1 << 48, (1 << 48) - 1, 3] {
        for skew in [0.0, 0.5, 1.0, 2.0, 100.0] {
            let config = ZipfConfig::default().pages(pages).ops(2_000).skew(skew);
            assert!(ops(Zipf::new(config).expect("valid")).iter().all(|op| op.page < pages));
        }
    }
}

#[test]
fn loads_of_any_kind_fit_one_list_that_moves_between_threads() {
    let zipf = Zipf::new(ZipfConfig::default().ops(7)).expect("valid");
    let loads: Vec<Box<dyn PageLoad + Send>> = vec![
        Box::new(Mix::new(MixConfig::mu(10, 5, 1)).expect("valid")),
        Box::new(Dense::new(zipf.clone())),
        Box::new(zipf),
    ];
    let counts = std::thread::spawn(|| {
        loads.into_iter().map(|load| (load.name(), ops(load).len())).collect::<Vec<_>>()
    });
    let counts = counts.join().expect("no panic");
    assert_eq!(counts[0], ("MU".to_owned(), 5));
    assert_eq!(counts[1], ("Zipf 0.99".to_owned(), 7));
    assert_eq!(counts[2], counts[1]);
}
