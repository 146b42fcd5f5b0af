//! `cenote run wcc` straight from edges, against an import and a run on its graph.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::{Bench, parse, text};

/// Components of few and of many vertices: in each block of a hundred numbers some are joined, by
/// edges of which many repeat, and loops.
fn edges(name: impl Fn(u64) -> String, separator: &str) -> String {
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut lines = String::new();
    for _ in 0..20_000 {
        let (block, few) = (next(400), next(40) + 1);
        let (u, v) = (block * 100 + next(few), block * 100 + next(few));
        lines += &format!("{}{separator}{}\n", name(u), name(v));
    }
    lines
}

/// Answers of both ways to the same files, which have to be equal.
fn assert_equal(bench: &Bench, inputs: &str, formats: &[&str]) {
    bench.succeed(&format!("import {inputs} --overwrite --out g.cenote"));
    for format in formats {
        let graph = format!("run wcc g.cenote --json --out graph.{format}");
        let graph = parse(&bench.succeed(&graph));
        for threads in [1, 3] {
            let flags = format!("--threads {threads} --memory 64MiB --json --out edges.{format}");
            let straight = parse(&bench.succeed(&format!("run wcc {inputs} {flags}")));
            assert_eq!(straight["result"], graph["result"], "{inputs}");
            assert_eq!(straight["vertices"], graph["vertices"], "{inputs}");
            let read = |name: &str| fs::read(bench.path(&format!("{name}.{format}"))).unwrap();
            assert!(read("edges") == read("graph"), "{inputs}: {format}, {threads} threads");
        }
    }
}

#[test]
fn components_of_edges_are_those_of_their_graph() {
    let bench = Bench::new();
    // Numbers over all 64 bits, in an order of their own.
    let wide = |v: u64| v.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text = edges(|v| wide(v).to_string(), " ");
    let pairs: Vec<u8> = text
        .split_ascii_whitespace()
        .flat_map(|word| word.parse::<u64>().unwrap().to_le_bytes())
        .collect();
    fs::write(bench.path("wide.txt"), &text).unwrap();
    fs::write(bench.path("wide.u64"), pairs).unwrap();
    fs::write(bench.path("small.txt"), edges(|v| v.to_string(), "\t")).unwrap();
    fs::write(bench.path("alone.txt"), "77777777\n3\n").unwrap();
    assert_equal(&bench, "wide.txt", &["csv", "npy"]);
    assert_equal(&bench, "wide.u64 small.txt --vertices alone.txt", &["csv"]);
    let names = edges(|v| format!("person {v}"), ",");
    fs::write(bench.path("names.csv"), format!("b,a\n{names}")).unwrap();
    assert_equal(&bench, "names.csv --source-column a --target-column b", &["csv"]);
    // Integers until the last line.
    fs::write(bench.path("late.txt"), format!("{text}0 x\n")).unwrap();
    assert_equal(&bench, "late.txt", &["csv"]);
    assert_equal(&bench, "small.txt --ids string", &["csv"]);
    // Parquet: columns of the same values, without the name of a graph beside them.
    bench.succeed("run wcc wide.u64 --out edges.parquet");
    bench.succeed("import wide.u64 --overwrite --out g.cenote");
    bench.succeed("run wcc g.cenote --out graph.parquet");
    for name in ["edges", "graph"] {
        let flags = "--source-column vertex --target-column component --directed --keep-self-loops";
        bench.succeed(&format!("import {name}.parquet --overwrite --out {name}.cenote {flags}"));
    }
    assert_eq!(bench.succeed("export edges.cenote"), bench.succeed("export graph.cenote"));
}

#[test]
fn degrees_of_edges_are_those_of_their_graph_with_repeated_edges() {
    compare_degrees(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_degrees_of_edges_are_those_of_their_graph_with_repeated_edges() {
    compare_degrees(true);
}

/// Of all inputs with all flags and numbers of threads, or with some of them in turn.
fn compare_degrees(is_long: bool) {
    let bench = Bench::new();
    let wide = |v: u64| v.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    fs::write(bench.path("wide.txt"), edges(|v| wide(v).to_string(), " ")).unwrap();
    let names = edges(|v| format!("person {v}"), ",");
    fs::write(bench.path("names.csv"), format!("b,a\n{names}")).unwrap();
    fs::write(bench.path("late.txt"), edges(|v| v.to_string(), " ") + "0 x\n").unwrap();
    fs::write(bench.path("ring.graph"), "3 3\n2 3\n1 3\n1 2\n").unwrap();
    let matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n";
    fs::write(bench.path("some.mtx"), matrix).unwrap();
    fs::write(bench.path("alone.txt"), "77777777\n3\n").unwrap();
    let inputs = [
        "wide.txt --vertices alone.txt",
        "names.csv --source-column a --target-column b",
        "late.txt",
        "ring.graph",
        "some.mtx",
    ];
    for (at, inputs) in inputs.into_iter().enumerate() {
        let all = ["", "--keep-self-loops", "--directed", "--directed --keep-self-loops"];
        let is_chosen = |i: &usize| is_long || (i + at).is_multiple_of(2);
        for kept in (0..all.len()).filter(is_chosen).map(|i| all[i]) {
            let both = if kept.contains("--directed") { "--in-edges" } else { "" };
            let flags = format!("{inputs} --keep-duplicates {kept}");
            bench.succeed(&format!("import {flags} {both} --overwrite --out g.cenote"));
            let graph = parse(&bench.succeed("run degrees g.cenote --json --out graph.csv"));
            let threads: &[_] = if is_long { &[1, 3] } else { [&[1], &[3]][at % 2] };
            for threads in threads {
                let straight = format!("run degrees {flags} --threads {threads} --memory 64MiB");
                let straight = bench.succeed(&format!("{straight} --json --out edges.csv"));
                assert_eq!(parse(&straight)["result"], graph["result"], "{flags}");
                let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
                assert_eq!(read("edges.csv"), read("graph.csv"), "{flags}, {threads} threads");
            }
        }
    }
}

#[test]
fn folders_are_no_edges_and_files_without_edges_have_no_components() {
    let bench = Bench::new();
    fs::create_dir(bench.path("parts.csv")).unwrap();
    let message = bench.fail_quietly("run wcc parts.csv --out x.csv");
    assert!(message.contains("parts.csv: cannot use: it is a directory: give a file"), "{message}");
    for args in ["parts.csv --format csv", "none.txt parts.csv", "parts.csv none.txt"] {
        fs::write(bench.path("none.txt"), "").unwrap();
        let message = bench.fail_quietly(&format!("run wcc {args} --out x.csv"));
        assert!(message.contains("parts.csv: it is a folder, not a file"), "{args}: {message}");
    }
    bench.succeed("run wcc none.txt --out x.csv");
    assert_eq!(fs::read_to_string(bench.path("x.csv")).unwrap(), "vertex,component\n");
    bench.succeed("run degrees none.txt --keep-duplicates --out y.csv");
}

#[test]
fn degrees_of_edges_want_to_know_that_repeated_edges_count() {
    let bench = Bench::new();
    fs::write(bench.path("a.txt"), "1 2\n2 1\n").unwrap();
    bench.succeed("import a.txt --out a.cenote");
    for (args, words) in [
        ("a.txt", &["a.txt", "--keep-duplicates", "cenote import"][..]),
        ("a.txt --directed", &["--keep-duplicates"]),
        ("a.cenote --keep-duplicates", &["a.cenote", "--keep-duplicates"]),
        ("a.cenote --directed", &["a.cenote", "--directed"]),
        ("a.txt --keep-duplicates --verify", &["--verify"]),
    ] {
        let message = bench.fail_quietly(&format!("run degrees {args} --out x.csv"));
        assert!(words.iter().all(|word| message.contains(word)), "{args}: {message}");
    }
    assert!(!bench.path("x.csv").exists());
}

/// `wide.u64`: 400,000 edges, each from an id anywhere in 64 bits to a small one.
fn write_wide_ids(bench: &Bench) {
    let pairs: Vec<u8> = (0..400_000u64)
        .flat_map(|i| [i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i].map(u64::to_le_bytes))
        .flatten()
        .collect();
    fs::write(bench.path("wide.u64"), pairs).unwrap();
}

#[test]
fn degrees_keep_to_their_memory() {
    let bench = Bench::new();
    write_wide_ids(&bench);
    for directed in ["", "--directed"] {
        let run = format!("run degrees wide.u64 --keep-duplicates {directed} --threads 1");
        let message = bench.fail(&format!("{run} --memory 6MiB"));
        let enough = message.rsplit_once("--memory ").unwrap().1.trim_end_matches("MiB");
        assert!(enough.parse::<u64>().unwrap() <= 80, "{message}");
        let report = parse(&bench.succeed(&format!("{run} --json --memory {enough}MiB")));
        let [used, budget] =
            ["memory_used_bytes", "memory_budget_bytes"].map(|name| report[name].as_u64().unwrap());
        assert!(used <= budget, "{report}");
    }
}

#[test]
fn standard_input_is_read_once_whatever_its_ids() {
    let bench = Bench::new();
    let run = |flags: &str, input: &str| {
        let mut child = bench
            .command(&format!("run wcc - --format edges --out out.csv {flags}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::read_to_string(bench.path("out.csv")).unwrap()
    };
    let answer = "vertex,component\n3,3\n4,3\n18446744073709551615,3\n";
    assert_eq!(run("", "4 3\n18446744073709551615 4\n"), answer);
    assert_eq!(run("", "007 b\n7 7\n"), "vertex,component\n007,007\n7,7\nb,007\n");
    assert_eq!(bench.names(), ["out.csv"]);
}

#[test]
fn graphs_and_edges_are_told_apart_by_their_contents() {
    let bench = Bench::new();
    fs::write(bench.path("a.txt"), "1 2\n").unwrap();
    bench.succeed("import a.txt --out a.cenote");
    fs::copy(bench.path("a.cenote"), bench.path("graph.txt")).unwrap();
    fs::copy(bench.path("a.txt"), bench.path("edges.cenote")).unwrap();
    let strategy = |name: &str| {
        let report = parse(&bench.succeed(&format!("run wcc {name} --json")));
        report["strategy"].as_str().map(str::to_owned)
    };
    assert_eq!(strategy("graph.txt").as_deref(), Some("auto"));
    assert_eq!(strategy("edges.cenote --format edges"), None);
    // A graph without its first page is not taken for edges, but for a damaged graph.
    let mut bytes = fs::read(bench.path("a.cenote")).unwrap();
    bytes[..100].fill(7);
    fs::write(bench.path("damaged.txt"), &bytes).unwrap();
    bytes[4096..4300].fill(7);
    fs::write(bench.path("lost.cenote"), &bytes).unwrap();
    for (args, words) in [
        ("damaged.txt", &["damaged.txt"][..]),
        ("lost.cenote", &["lost.cenote"]),
        ("edges.cenote", &["edges.cenote"]),
        ("missing.txt", &["missing.txt", "o such file"]),
        ("a.cenote --format edges", &["a.cenote", "--format"]),
        ("a.cenote a.txt", &["a.cenote", "INPUT"]),
        ("a.txt a.cenote", &["a.cenote"]),
        ("a.txt missing.txt", &["missing.txt", "o such file"]),
        ("a.txt --strategy block", &["a.txt", "--strategy"]),
        ("a.txt --verify", &["--verify"]),
        ("a.txt --since x.parquet", &["--since"]),
        ("a.txt --out a.txt", &["a.txt"]),
        ("a.txt --ids string --out x.npy", &["x.npy"]),
    ] {
        let message = bench.fail_quietly(&format!("run wcc {args}"));
        assert!(words.iter().all(|word| message.contains(word)), "{args}: {message}");
    }
    assert!(!bench.path("x.npy").exists());
}

#[test]
fn vertices_beyond_the_memory_are_counted_in_the_error() {
    let bench = Bench::new();
    write_wide_ids(&bench);
    let names: String = (0..100_000).map(|i| format!("name {i}, name {}\n", i / 2)).collect();
    fs::write(bench.path("names.csv"), names).unwrap();
    for (args, most) in [("wide.u64", 40), ("names.csv --header no", 20)] {
        let message = bench.fail(&format!("run wcc {args} --threads 1 --memory 6MiB"));
        assert!(message.contains("cenote import") && message.contains(" vertices"), "{message}");
        let enough = message.rsplit_once("--memory ").unwrap().1.trim_end_matches("MiB");
        assert!(enough.parse::<u64>().unwrap() <= most, "{message}");
        let report =
            bench.succeed(&format!("run wcc {args} --json --threads 1 --memory {enough}MiB"));
        let report = parse(&report);
        let [used, budget] =
            ["memory_used_bytes", "memory_budget_bytes"].map(|name| report[name].as_u64().unwrap());
        assert!(used <= budget, "{report}");
    }
}
