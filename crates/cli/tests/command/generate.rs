//! `cenote generate`.

use crate::{Bench, parse};

#[test]
fn a_small_grid_is_written_as_text() {
    let bench = Bench::new();
    let printed = bench.succeed("generate grid --rows 2 --cols 3 --out grid.txt");
    assert!(printed.starts_with("grid.txt: 7 edges over 6 vertices, 28 B in "), "{printed}");
    let text = std::fs::read_to_string(bench.path("grid.txt")).unwrap();
    assert_eq!(text, "0 1\n1 2\n0 3\n1 4\n2 5\n3 4\n4 5\n");
    assert_eq!(bench.names(), ["grid.txt"]);
}

#[test]
fn the_summary_is_typed() {
    let bench = Bench::new();
    let printed = bench.succeed("generate kron --scale 8 --edge-factor 4 --out kron.u32 --json");
    let summary = parse(&printed);
    assert_eq!(summary["vertices"], 256);
    assert_eq!(summary["edges"], 1024);
    assert_eq!(summary["file_bytes"], 8192);
    assert_eq!(summary["out"], "kron.u32");
    assert!(summary["seconds"].is_f64());
}

#[test]
fn formats_hold_the_same_pairs() {
    let bench = Bench::new();
    let pairs = |ending: &str| {
        let out = format!("ring.{ending}");
        bench.succeed(&format!("generate smallworld --vertices 5000 --out {out} --seed 3"));
        std::fs::read(bench.path(&out)).unwrap()
    };
    let narrow: Vec<u64> = pairs("u32")
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()).into())
        .collect();
    let wide: Vec<u64> = pairs("u64")
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let text = |ending| -> Vec<u64> {
        let text = String::from_utf8(pairs(ending)).unwrap();
        text.split_whitespace().map(|id| id.parse().unwrap()).collect()
    };
    assert_eq!(narrow.len(), 2 * 25_000);
    assert_eq!(narrow, wide);
    assert_eq!(narrow, text("txt"));
    assert_eq!(narrow, text("tsv"));
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let bench = Bench::new();
    let bytes = |more: &str| {
        bench.succeed(&format!("generate kron --scale 14 --out kron.u32 {more}"));
        std::fs::read(bench.path("kron.u32")).unwrap()
    };
    let one = bytes("--threads 1");
    assert!(one == bytes("--threads 3"), "three threads made another graph");
    assert!(one != bytes("--seed 2"), "seed 2 made the graph of seed 1");
    assert!(one != bytes("--no-permute"));
}

#[test]
fn what_cannot_be_made_is_refused_in_one_line() {
    let bench = Bench::new();
    for (args, words) in [
        ("kron --scale 0 --out a.u32", "scale is 0: expected 1 to 32"),
        ("kron --scale 40 --out a.u32", "scale is 40"),
        ("kron --scale -3 --out a.u32", "-3"),
        ("kron --scale 8 --threads 0 --out a.u32", "--threads"),
        ("kron --scale 8 --out a", "expected .txt, .tsv, .u32, .u64 or .parquet"),
        ("kron --scale 8 --out a.png", "a.png"),
        ("kron --scale 8 --out none/a.u32", "none/a.u32"),
        ("kron --scale 8", "--out"),
        ("uniform --vertices 4 --edges 7 --out a.u32", "edges is 7: expected 1 to 6"),
        ("grid --rows 0 --cols 3 --out a.u32", "rows x columns is 0 x 3"),
        ("smallworld --vertices 99 --probability nan --out a.u32", "probability is NaN"),
        ("smallworld --vertices 9 --neighbors 3 --out a.u32", "neighbors is 3"),
        ("ba --vertices 1 --out a.u32", "vertices is 1"),
        ("torus --out a.u32", "torus"),
    ] {
        let message = bench.fail(&format!("generate {args}"));
        assert!(message.contains(words), "{args}: {message}");
    }
    assert!(bench.names().is_empty(), "{:?} left behind", bench.names());
}

#[test]
fn a_full_disk_is_an_error_that_leaves_nothing() {
    let bench = Bench::new();
    let args = "generate grid --rows 400 --cols 400 --out grid.u32";
    let output = bench.with_files_limited(args, 64);
    let message = crate::text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    crate::assert_one_line(&message);
    assert!(message.contains("cannot write grid.u32"), "{message}");
    assert!(bench.names().is_empty(), "{:?} left behind", bench.names());
}
