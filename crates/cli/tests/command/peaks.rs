//! Peaks of memory over several drives, as the kernel counts them, against the budgets.

use std::fmt::Write as _;
use std::fs;

use crate::{Bench, parse};

/// What a process has beside its budget: the program, its stacks, what the allocator keeps.
const PROGRAM_BYTES: u64 = 32 << 20;

/// What more than on one file: the tiers' code, a thread, the journals that an opening reads. Less
/// than the graph, so that a run that kept what it read would be noticed.
const MORE_BYTES: u64 = 8 << 20;

/// Runs of every algorithm, the budget in MiB first. S and T are vertices.
const RUNS: [&str; 21] = [
    "16 betweenness --source S",
    "8 bfs --source S",
    "16 cdlp",
    "8 degrees",
    "8 dfs --source S",
    "16 hyperball",
    "16 kcore",
    "16 lcc",
    "128 leiden",
    "128 louvain",
    "8 mis",
    "16 msf",
    "8 pagerank",
    "32 ppr --seed S --seed T --tolerance 1e-4",
    "8 reach --source S --target T",
    "16 scc",
    "16 similar --source S --source T",
    "12 sssp --source S",
    "16 triangles",
    "8 walk --per-vertex 1 --steps 5",
    "8 wcc",
];

/// A folder with a million weighted edges, and two of them that meet in a vertex.
fn bench() -> (Bench, [u32; 2]) {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 16 --out kron.u32");
    let ids = fs::read(bench.path("kron.u32")).unwrap();
    let ids: Vec<u32> =
        ids.chunks_exact(4).map(|id| u32::from_le_bytes(id.try_into().unwrap())).collect();
    let mut text = String::new();
    for edge in ids.chunks_exact(2) {
        writeln!(text, "{} {} {}", edge[0], edge[1], (edge[0] ^ edge[1]) % 97 + 1).unwrap();
    }
    fs::write(bench.path("edges.txt"), text).unwrap();
    for folder in ["fast", "slow"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    (bench, [ids[0], ids[1]])
}

/// The peak of `cenote ARGS`, which must not be more than its budget and the program.
fn peak(bench: &Bench, args: &str, mebibytes: u64) -> u64 {
    let report = parse(&bench.succeed(&format!("{args} --memory {mebibytes}MiB --json")));
    let number = |name: &str| report[name].as_u64().unwrap();
    assert_eq!(number("memory_budget_bytes"), mebibytes << 20, "{args}");
    let peak = number("peak_rss_bytes");
    assert!(peak <= (mebibytes << 20) + PROGRAM_BYTES, "{args}: {peak} bytes of {mebibytes} MiB");
    peak
}

/// The peaks on one file and on tiers; these must not be much more.
fn compare(what: &str, plain: u64, tiered: u64) {
    assert!(tiered <= plain + MORE_BYTES, "{what}: {tiered} bytes on tiers, {plain} on one file");
}

#[test]
#[ignore = "long: make soak"]
fn longer_import_and_every_algorithm_keep_to_their_budgets_on_tiers() {
    let (bench, [source, target]) = bench();
    let import = "import edges.txt --directed --in-edges --weights u32 --overwrite --out";
    let tiers = "--tier fast=fast:8MiB --tier slow=slow --tier-policy lrfu";
    for mebibytes in [16, 32] {
        let plain = peak(&bench, &format!("{import} plain.cenote"), mebibytes);
        let tiered = peak(&bench, &format!("{import} tiered.cenote {tiers}"), mebibytes);
        compare("import", plain, tiered);
    }
    // Forests and communities are of undirected graphs.
    let import = import.replace("--directed --in-edges", "--undirected");
    bench.succeed(&format!("{import} plain-both.cenote"));
    bench.succeed(&format!("{import} tiered-both.cenote {tiers}"));
    for run in RUNS {
        let (mebibytes, run) = run.split_once(' ').unwrap();
        let mebibytes = mebibytes.parse().unwrap();
        let run = run.replace('S', &source.to_string()).replace('T', &target.to_string());
        let (name, flags) = run.split_once(' ').unwrap_or((&run, ""));
        let is_undirected = ["leiden", "louvain", "msf"].contains(&name);
        let both = if is_undirected { "-both" } else { "" };
        let on =
            |graph| peak(&bench, &format!("run {name} {graph}{both}.cenote {flags}"), mebibytes);
        compare(&run, on("plain"), on("tiered"));
    }
}

#[test]
#[ignore = "long: make soak"]
fn longer_compaction_keeps_to_its_budget_whatever_the_ids() {
    let (bench, _) = bench();
    let mut names = String::new();
    for line in fs::read_to_string(bench.path("edges.txt")).unwrap().lines() {
        let ids: Vec<&str> = line.split(' ').collect();
        writeln!(names, "the-vertex-{} the-vertex-{}", ids[0], ids[1]).unwrap();
    }
    fs::write(bench.path("names.txt"), names).unwrap();
    let mut more = String::new();
    for i in 0..30_000 {
        let (source, target) = (i * 31 % 50_000, 1_000_000 + i % 20_000);
        writeln!(more, "{source} {target} {}", i % 50).unwrap();
    }
    fs::write(bench.path("more.txt"), more).unwrap();
    for (edges, flags, mebibytes) in [
        ("edges.txt", "--weights u32 --directed --in-edges", [32, 64]),
        ("edges.txt", "--codec packed --order bfs", [24, 48]),
        ("names.txt", "--hub-neighbours yes", [32, 64]),
    ] {
        bench.succeed(&format!("import {edges} {flags} --out g.cenote --overwrite"));
        bench.succeed("update g.cenote --add more.txt");
        for mebibytes in mebibytes {
            fs::copy(bench.path("g.cenote"), bench.path("copy.cenote")).unwrap();
            peak(&bench, "compact copy.cenote", mebibytes);
        }
    }
}

#[test]
fn no_algorithm_is_left_out() {
    let help = Bench::new().succeed("run --help");
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<&str> = names.filter(|name| *name != "help").collect();
    names.sort_unstable();
    let measured: Vec<&str> = RUNS.iter().filter_map(|run| run.split_whitespace().nth(1)).collect();
    assert_eq!(names, measured);
}

/// Of the buffers for all requests that may be in flight, those that are never needed take no
/// memory.
#[test]
fn a_run_on_a_small_graph_does_not_touch_all_of_its_buffers() {
    let bench = Bench::new();
    fs::write(bench.path("edges.txt"), "1 2\n2 3\n").unwrap();
    bench.succeed("import edges.txt --out g.cenote");
    let run = |flags: &str| {
        let args = format!("run bfs g.cenote --source 1 --threads 1 --json {flags}");
        let report = parse(&bench.succeed(&args));
        let buffers = report["memory_plan"]["buffer_bytes"].as_u64().unwrap();
        (buffers, report["peak_rss_bytes"].as_u64().unwrap())
    };
    let ((few, with_few), (many, with_many)) = (run("--depth 1"), run(""));
    assert!(many > few + (8 << 20), "{many} and {few} bytes of buffers");
    assert!(with_many < with_few + (4 << 20), "{with_many} and {with_few} bytes");
}
