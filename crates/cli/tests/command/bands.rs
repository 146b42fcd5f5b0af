//! Runs with less memory than their vertex state: the answer of a run in memory, and no file left.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::{Bench, assert_one_line, parse, text};

/// Budgets of which the state needs several times as much; and how far estimates may be off.
const RUNS: [(&str, &str, Range<f64>); 4] = [
    ("pagerank --iterations 3", "600KiB", 0.85..1.3),
    // How often components go over hub neighbours depends on the graph.
    ("wcc", "560KiB", 0.5..1.3),
    ("degrees", "360KiB", 0.85..1.15),
    ("bfs", "300KiB", 0.85..1.15),
];

/// More of them, some of which take many sweeps.
const LONGER: [(&str, &str, Range<f64>); 6] = [
    ("pagerank", "1200KiB", 0.85..1.3),
    ("sssp", "800KiB", 0.85..1.15),
    ("cdlp --iterations 2", "1200KiB", 0.7..1.3),
    ("kcore --k 8", "900KiB", 0.6..1.8),
    ("cdlp", "1200KiB", 0.7..1.3),
    ("kcore", "900KiB", 0.6..1.6),
];

/// A graph of 2^18 vertices, most of them with edges.
fn bench() -> Bench {
    bench_of(18)
}

/// The same of another scale.
fn bench_of(scale: u32) -> Bench {
    let bench = Bench::new();
    bench.succeed(&format!("generate kron --scale {scale} --edge-factor 8 --out kron.u32"));
    bench.succeed("import kron.u32 --undirected --out kron.cenote");
    bench
}

/// Compares answers in bands with those in memory, and what was read and written with estimates.
fn check(bench: &Bench, runs: &[(&str, &str, Range<f64>)]) {
    for (algorithm, memory, close) in runs {
        let run = format!("{algorithm} kron.cenote --memory {memory}");
        bench.succeed(&format!("run {algorithm} kron.cenote --memory 64MiB --out plenty.parquet"));
        let names = bench.names();
        let little = bench.succeed(&format!("run {run} --out little.parquet --json --verify"));
        let report = parse(&little);
        assert!(report["verified"].as_bool().unwrap(), "{run}: {report}");
        let number = |name: &str| report[name].as_u64().unwrap();
        assert!(report["bands"]["count"].as_u64().unwrap() > 1, "{run}: {report}");
        assert!(number("bytes_written") > 0, "{run}: {report}");
        assert!(number("state_bytes_read") > 0 || *algorithm == "degrees", "{run}: {report}");
        let estimate = parse(&bench.succeed(&format!("estimate {run} --json")));
        for bytes in ["bytes_read", "bytes_written"] {
            let (planned, found) = (estimate[bytes].as_f64().unwrap(), number(bytes) as f64);
            assert!(close.contains(&(planned / found)), "{run}: {bytes} {planned} {found}");
        }
        let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
        assert!(read("plenty.parquet") == read("little.parquet"), "{run}");
        std::fs::remove_file(bench.path("little.parquet")).unwrap();
        assert_eq!(bench.names(), names, "{run}");
        let printed = bench.succeed(&format!("estimate {run}"));
        assert!(printed.contains("bands") && printed.contains("written"), "{printed}");
        std::fs::remove_file(bench.path("plenty.parquet")).unwrap();
    }
}

#[test]
fn answers_in_bands_are_written_as_those_in_memory() {
    let bench = bench_of(17);
    check(&bench, &RUNS);
    let printed = bench.succeed("run bfs kron.cenote --memory 300KiB --explain");
    assert!(printed.contains("bands") && printed.contains("state file"), "{printed}");
}

#[test]
#[ignore = "long: make soak"]
fn longer_answers_in_bands_are_written_as_those_in_memory() {
    check(&bench(), &LONGER);
}

#[test]
fn a_killed_run_leaves_no_state_file() {
    let bench = bench();
    std::fs::create_dir(bench.path("state")).unwrap();
    let run = "run pagerank kron.cenote --memory 1200KiB --iterations 100000 --state-dir state";
    let mut child = bench.command(run).spawn().unwrap();
    // Until it has a state file: one that was deleted.
    let files = format!("/proc/{}/fd", child.id());
    let has_state = || {
        let links = std::fs::read_dir(&files).into_iter().flatten().flatten();
        let mut targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        targets.any(|target| target.starts_with(bench.path("state").canonicalize().unwrap()))
    };
    let started = Instant::now();
    while !has_state() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let names = || std::fs::read_dir(bench.path("state")).unwrap().count();
    let (had_state, before) = (has_state(), names());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(had_state);
    assert_eq!(before, 0, "it has no name while the run uses it");
    assert_eq!((names(), bench.names().len()), (0, 3));
}

#[test]
fn a_full_disk_is_an_error_of_one_line() {
    let bench = bench();
    let limited = bench.with_files_limited("run pagerank kron.cenote --memory 1200KiB", 1024);
    let message = text(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{message}");
    let last = message.lines().last().unwrap_or_default();
    assert!(last.contains("no room for the vertex state after"), "{message}");
    assert_one_line(&format!("{last}\n"));
    assert_eq!(bench.names(), ["kron.cenote", "kron.u32"]);
}
