//! `cenote compact`: a graph that was changed becomes that of an import, whatever ends it.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::interrupt::interrupt;
use crate::update::wait_for_lock;
use crate::{Bench, parse, text};

/// A folder with a graph that has a log, appended vertices and free pages.
fn changed(scale: u32) -> Bench {
    let bench = Bench::new();
    bench.succeed(&format!("generate kron --scale {scale} --out kron.u32"));
    bench.succeed("import kron.u32 --out g.cenote");
    let mut more = String::new();
    for i in 0..20_000 {
        writeln!(more, "{} {}", i * 31 % 50_000, 3_000_000 + i % 700).unwrap();
    }
    std::fs::write(bench.path("more.txt"), more).unwrap();
    bench.succeed("update g.cenote --add more.txt");
    std::fs::write(bench.path("few.txt"), "1 4000000\n2 4000001\n").unwrap();
    bench.succeed("update g.cenote --add few.txt");
    bench
}

const NAMES: [&str; 4] = ["few.txt", "g.cenote", "kron.u32", "more.txt"];

fn sorted_export(bench: &Bench) -> Vec<String> {
    let mut lines: Vec<String> =
        bench.succeed("export g.cenote").lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_changed_graph_is_rewritten_as_its_import() {
    let bench = changed(12);
    let before = parse(&bench.succeed("info g.cenote --json"));
    assert!(before["free_pages"].as_u64().unwrap() > 0, "{before}");
    let printed = parse(&bench.succeed("compact g.cenote --memory 64MiB --json"));
    for (field, value) in [
        ("vertices", &before["vertices"]),
        ("edges", &before["edges"]),
        ("bytes_before", &before["file_bytes"]),
        ("free_pages", &before["free_pages"]),
        ("appended_vertices", &before["appended_vertices"]),
        ("merged", &2.into()),
        ("memory_budget_bytes", &(64 << 20).into()),
    ] {
        assert_eq!(&printed[field], value, "{field}: {printed}");
    }
    assert!(printed["seconds"].as_f64().unwrap() > 0.0);
    let after = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(printed["bytes_after"], after["file_bytes"]);
    for field in ["free_pages", "appended_vertices", "logged_changes", "log_bytes"] {
        assert_eq!(after[field], 0, "{after}");
    }
    assert_eq!(after["used_bytes"], after["file_bytes"], "{after}");
    assert_eq!(after["space_amplification"], 1.0, "{after}");
    bench.succeed("import kron.u32 more.txt few.txt --out scratch.cenote");
    let read = |name| std::fs::read(bench.path(name)).unwrap();
    assert!(read("g.cenote") != read("scratch.cenote"), "they count repeated edges of the input");
    bench.succeed("compact scratch.cenote");
    assert!(read("g.cenote") == read("scratch.cenote"));
    let table = bench.succeed("compact g.cenote --order degree --out degree.cenote");
    assert!(table.contains("order degree") && table.contains("removed"), "{table}");
    assert_eq!(parse(&bench.succeed("info degree.cenote --json"))["order"], "degree");
    assert!(read("g.cenote") == read("scratch.cenote"));
    bench.succeed("compact degree.cenote --order natural");
    assert!(read("g.cenote") == read("degree.cenote"));
    bench.succeed("compact g.cenote --order random --seed 9 --out degree.cenote --overwrite");
    assert_eq!(parse(&bench.succeed("info degree.cenote --json"))["order_seed"], 9);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let bench = changed(8);
    std::fs::create_dir(bench.path("fast")).unwrap();
    std::fs::create_dir(bench.path("slow")).unwrap();
    bench.succeed("import kron.u32 --tier a=fast:1MiB --tier b=slow --out tiers.cenote");
    std::fs::write(bench.path("there.cenote"), "").unwrap();
    let tier = std::fs::read_dir(bench.path("slow")).unwrap().next().unwrap().unwrap().path();
    let over_tier = format!("compact tiers.cenote --overwrite --out {}", tier.display());
    for (args, words) in [
        ("compact g.cenote --out g.cenote --overwrite", "is an input too"),
        (
            "compact g.cenote --out there.cenote",
            "there.cenote exists; give another name or set --o",
        ),
        ("compact g.cenote --out tiers.cenote --overwrite", "tiers: remove it"),
        ("compact tiers.cenote", "tiers cannot be replaced by its compacted graph: give another f"),
        (over_tier.as_str(), "is an input too"),
        ("compact missing.cenote", "missing.cenote"),
        ("compact .", "it is no file"),
        ("compact few.txt", "few.txt: not a Cenote graph"),
        ("compact g.cenote --memory 1MiB", "give at least --memory"),
        ("compact g.cenote --temp-dir nowhere", "nowhere"),
        ("compact g.cenote --threads 100000", "--threads"),
    ] {
        let printed = bench.fail(args);
        assert!(printed.contains(words), "{args}: {printed}");
    }
    bench.succeed("compact tiers.cenote --out there.cenote --overwrite");
    bench.succeed("import kron.u32 --out again.cenote");
    bench.succeed("compact again.cenote");
    let read = |name| std::fs::read(bench.path(name)).unwrap();
    assert!(read("there.cenote") == read("again.cenote"));
    bench.succeed("check g.cenote");
}

#[test]
fn snapshots_are_not_lost() {
    let bench = changed(8);
    bench.succeed("snapshot g.cenote --name monday");
    let refused = bench.fail("compact g.cenote");
    assert!(refused.contains("snapshots") && refused.contains("--out"), "{refused}");
    let edges = sorted_export(&bench);
    std::fs::write(bench.path("more.txt"), "5 9000000\n").unwrap();
    bench.succeed("update g.cenote --add more.txt");
    bench.succeed("compact g.cenote --out other.cenote");
    bench.succeed("check g.cenote --at monday");
    // A snapshot becomes a graph of its own.
    assert!(bench.fail("compact g.cenote --at monday").contains("--out"));
    bench.succeed("compact g.cenote --at monday --out monday.cenote");
    let mut of_monday: Vec<String> =
        bench.succeed("export monday.cenote").lines().map(str::to_owned).collect();
    of_monday.sort_unstable();
    assert_eq!(of_monday, edges);
    assert_eq!(sorted_export(&bench).len(), edges.len() + 1);
    bench.succeed("snapshot g.cenote --remove monday");
    bench.succeed("compact g.cenote");
    bench.succeed("check g.cenote");
}

#[test]
fn a_full_disk_leaves_the_graph_as_it_was() {
    let bench = changed(12);
    let before = std::fs::read(bench.path("g.cenote")).unwrap();
    let output = bench.with_files_limited("compact g.cenote", 200);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.matches('\n').count(), 1, "{message}");
    assert!(std::fs::read(bench.path("g.cenote")).unwrap() == before);
    assert_eq!(bench.names(), NAMES);
}

#[test]
fn a_killed_compaction_leaves_a_whole_graph_and_the_next_one_no_file() {
    kill_compactions(changed(14), 3);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_killed_compaction_leaves_a_whole_graph_and_the_next_one_no_file() {
    kill_compactions(changed(15), 12);
}

/// Kills so many at other moments, and then one while it writes.
fn kill_compactions(bench: Bench, rounds: u64) {
    let mut expected = sorted_export(&bench);
    let begin = || {
        let mut command = bench.command("compact g.cenote --memory 64MiB");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let is_left = || bench.names().len() > NAMES.len();
    for round in 0..rounds {
        let mut child = begin();
        std::thread::sleep(Duration::from_millis(10 + round * 444 / rounds % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        bench.succeed("check g.cenote");
        // The lock died with its process.
        let edge = format!("{} {}\n", 5_000_000 + round, 6_000_000 + round);
        std::fs::write(bench.path("few.txt"), &edge).unwrap();
        bench.succeed("update g.cenote --add few.txt");
        expected.push(edge.trim_end().replace(' ', "\t"));
    }
    expected.sort_unstable();
    // One that is killed while it writes, which a random moment need not be.
    let was_killed = (0..100).any(|_| {
        let mut child = begin();
        while !is_left() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        is_left()
    });
    assert!(was_killed, "each ended before it was killed");
    assert!(sorted_export(&bench) == expected);
    bench.succeed("compact g.cenote --memory 64MiB");
    assert_eq!(bench.names(), NAMES);
    assert!(sorted_export(&bench) == expected);
    bench.succeed("check g.cenote");
}

#[test]
fn an_interrupted_compaction_leaves_nothing() {
    let bench = changed(16);
    let before = std::fs::read(bench.path("g.cenote")).unwrap();
    for signal in [Signal::INT, Signal::TERM] {
        let message = interrupt(&bench, "compact g.cenote --threads 1", ".partial-", signal);
        assert_eq!(message, "cenote: interrupted\n");
        assert!(std::fs::read(bench.path("g.cenote")).unwrap() == before);
    }
}

#[test]
fn a_second_writer_is_refused_with_the_process_of_the_first() {
    let bench = changed(16);
    let mut first =
        bench.command("compact g.cenote --threads 1").stdout(Stdio::null()).spawn().unwrap();
    wait_for_lock(&first);
    let process = format!("process {} is changing the graph", first.id());
    for args in ["update g.cenote --add few.txt", "compact g.cenote", "merge g.cenote"] {
        let printed = bench.fail(args);
        assert!(printed.contains(&process), "{printed}");
    }
    assert!(first.wait().unwrap().success());
    bench.succeed("update g.cenote --add few.txt");
}

#[test]
fn vertices_without_edges_come_from_files_and_from_standard_input() {
    let bench = Bench::new();
    std::fs::write(bench.path("edges.txt"), "1 2\n2 3\n").unwrap();
    std::fs::write(bench.path("ids.txt"), "# ids\n7\n2\n\n900000000000\n").unwrap();
    let bytes: Vec<u8> =
        [7u64, 2, 900_000_000_000].iter().flat_map(|id| id.to_le_bytes()).collect();
    std::fs::write(bench.path("ids.u64"), bytes).unwrap();
    std::fs::write(bench.path("ids.csv"), "id\n7\n").unwrap();
    let import = |flags: &str, input: Stdio| {
        let args = format!("import {flags} --out g.cenote --overwrite");
        let output = bench.command(&args).stdin(input).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args}: {}", text(&output.stderr));
        std::fs::read(bench.path("g.cenote")).unwrap()
    };
    let file = || std::fs::File::open(bench.path("ids.txt")).unwrap().into();
    let expected = import("edges.txt --vertices ids.txt", Stdio::null());
    assert!(import("edges.txt --vertices ids.u64", Stdio::null()) == expected);
    assert!(import("edges.txt --vertices -", file()) == expected);
    assert!(import("edges.txt --vertices ids.txt --vertices ids.u64", Stdio::null()) == expected);
    assert!(import("edges.txt --format edges --vertices ids.txt", Stdio::null()) == expected);
    bench.succeed("neighbors g.cenote 900000000000");
    let printed = bench.fail("import edges.txt --vertices ids.csv --out g.cenote --overwrite");
    assert!(
        printed.contains("ids.csv: vertices are read from text with an id a line"),
        "{printed}"
    );
    assert!(bench.fail("import --out g.cenote").contains("INPUT"));
    import("--vertices ids.txt", Stdio::null());
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!((&info["vertices"], &info["edges"]), (&3.into(), &0.into()), "{info}");
    bench.succeed("compact g.cenote");
    let again = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(info, again, "without edges, too");
}
