//! Updates of graphs over several drives: every verb, locks, members that are gone or stale, full
//! tiers, and `kill -9` at random moments.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use crate::{Bench, names, parse, text};

const TIERS: &str = "--tier fast=fast:160KiB --tier slow=slow --tier-block 4KiB --tier-policy tlru";

/// A folder with a graph over two tiers, and the same in one file.
fn bench(flags: &str) -> Bench {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 11 --out kron.u32");
    for folder in ["fast", "slow"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    bench.succeed(&format!("import kron.u32 --out g.cenote {TIERS} {flags}"));
    bench.succeed(&format!("import kron.u32 --out plain.cenote {flags}"));
    bench
}

/// A run with standard input.
fn fed(bench: &Bench, args: &str, input: &str) -> Output {
    let mut child = writer(bench, args);
    // A run that fails early does not read it all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn writer(bench: &Bench, args: &str) -> Child {
    let mut command = bench.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn update(bench: &Bench, graph: &str, lines: &str) {
    let output = fed(bench, &format!("update {graph}.cenote --stdin"), lines);
    assert_eq!(output.status.code(), Some(0), "{graph}: {}", text(&output.stderr));
}

/// The file of a tier of g.cenote.
fn member(bench: &Bench, tier: &str) -> PathBuf {
    let found = names(&bench.path(tier));
    assert_eq!(found.len(), 1, "{found:?}");
    bench.path(tier).join(&found[0])
}

/// The lines of changes of one round; each has a hub, and vertices of its own.
fn changes(round: u64) -> String {
    let line = |i: u64| match i % 4 {
        0 => format!("+ {} {}\n", 90_000 + round, i),
        1 => format!("+ {i} {}\n", i * 7 % 2000),
        2 => format!("- {} {}\n", i * 3 % 2000, i % 60),
        _ => format!("- 1 {}\n", i + round),
    };
    (0..400).map(line).collect()
}

/// Changes both graphs of a bench in four rounds, with moves between them.
fn change_both(bench: &Bench) {
    for round in 0..4 {
        for graph in ["g", "plain"] {
            update(bench, graph, &changes(round));
            match round {
                0 => drop(bench.succeed(&format!("merge {graph}.cenote"))),
                1 => drop(bench.succeed(&format!("snapshot {graph}.cenote --name one"))),
                _ => {}
            }
        }
        match round {
            1 => drop(bench.succeed("run bfs g.cenote --strategy vertex --memory 12MiB")),
            2 => drop(bench.succeed("tier rebalance g.cenote --by order")),
            _ => {}
        }
        bench.succeed("check g.cenote");
    }
}

/// Imports the edges and vertices of plain.cenote from scratch.
fn import_again(bench: &Bench) {
    let edges = bench.succeed("export plain.cenote");
    fs::write(bench.path("edges.txt"), edges).unwrap();
    bench.succeed("run wcc plain.cenote --memory 64MiB --out ids.csv");
    let ids = fs::read_to_string(bench.path("ids.csv")).unwrap();
    let ids: String =
        ids.lines().skip(1).map(|line| format!("{}\n", line.split(',').next().unwrap())).collect();
    fs::write(bench.path("vertices.txt"), ids).unwrap();
    bench.succeed("import edges.txt --out scratch.cenote --vertices vertices.txt");
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(Into::into).collect();
    lines.sort();
    lines
}

#[test]
fn every_verb_works_on_a_changed_graph() {
    let bench = bench("");
    change_both(&bench);
    import_again(&bench);
    for run in [
        "betweenness --source 1",
        "bfs --source 1 --strategy vertex",
        "cdlp",
        "degrees",
        "dfs --source 1",
        "kcore",
        "lcc",
        "leiden",
        "louvain",
        "mis",
        "pagerank",
        "scc",
        "triangles --per-vertex",
        "wcc --strategy block",
    ] {
        let (name, flags) = run.split_once(' ').unwrap_or((run, ""));
        let [found, expected] = ["g", "scratch"].map(|graph| {
            let out = format!("{graph}-{name}.csv");
            bench.succeed(&format!("run {name} {graph}.cenote {flags} --memory 64MiB --out {out}"));
            sorted(&fs::read_to_string(bench.path(&out)).unwrap())
        });
        assert!(found == expected, "{run}: another answer on changed tiers");
    }
    for verb in ["neighbors X 1", "export X --at one", "diff X --since one"] {
        let [found, expected] = ["g", "plain"]
            .map(|graph| sorted(&bench.succeed(&verb.replace('X', &format!("{graph}.cenote")))));
        assert!(found == expected && !found.is_empty(), "{verb}: not as on one file");
    }
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(info["snapshots"].as_array().unwrap().len(), 1, "{info}");
    let [found, expected] = ["g", "plain"].map(|graph| {
        bench.succeed(&format!("compact {graph}.cenote --out {graph}-compact.cenote"));
        fs::read(bench.path(&format!("{graph}-compact.cenote"))).unwrap()
    });
    assert!(found == expected, "compacted from tiers: another file");
    bench.succeed("snapshot g.cenote --remove one");
    let status = parse(&bench.succeed("tier status g.cenote --json"));
    let blocks = |tier: usize| status["tiers"][tier]["blocks"].as_u64().unwrap();
    assert!(blocks(0) > 0 && blocks(1) > 0, "{status}");
    let printed = parse(&bench.succeed("tier rebalance g.cenote --json"));
    assert_eq!(printed["moved"], printed["planned"], "{printed}");
    bench.succeed("check g.cenote");
}

#[test]
fn what_the_policy_learned_outlives_an_update_that_makes_the_graph_grow() {
    let bench = bench("");
    bench.succeed("run bfs g.cenote --strategy vertex --memory 12MiB");
    let before = parse(&bench.succeed("tier status g.cenote --json"));
    let lines: String = (0..20_000).map(|i| format!("+ {} {}\n", i, 200_000 + i)).collect();
    update(&bench, "g", &lines);
    let after = parse(&bench.succeed("tier status g.cenote --json"));
    let number = |status: &serde_json::Value, what: &str| status[what].as_u64().unwrap();
    assert!(number(&after, "blocks") > number(&before, "blocks") + 20, "{before} {after}");
    assert_eq!((&after["has_state"], &after["accesses"]), (&true.into(), &before["accesses"]));
    let output = bench.run("run bfs g.cenote --strategy vertex --memory 12MiB");
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(!printed.contains("anew"), "{printed}");
    let learned = parse(&bench.succeed("tier status g.cenote --json"));
    assert!(number(&learned, "accesses") > number(&after, "accesses"), "{learned}");
    bench.succeed("tier rebalance g.cenote");
    bench.succeed("check g.cenote");
}

#[test]
fn a_writer_goes_on_beside_readers_and_nothing_moves_meanwhile() {
    let bench = bench("");
    let lock = File::open(bench.path("g.cenote")).unwrap();
    lock.lock().unwrap();
    let message = bench.fail("update g.cenote --add kron.u32");
    assert!(message.contains("g.cenote: another process is moving the graph's pages"), "{message}");
    lock.unlock().unwrap();
    lock.lock_shared().unwrap();
    update(&bench, "g", "+ 1 90001\n");
    drop(lock);
    let mut child = writer(&bench, "update g.cenote --stdin --durability group");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"+ 1 90002\n").unwrap();
    let is_there =
        |vertex: &str| bench.succeed("neighbors g.cenote 1").lines().any(|v| v == vertex);
    for _ in 0..500 {
        if is_there("90002") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_there("90001") && is_there("90002"));
    let output = bench.run("run wcc g.cenote --memory 64MiB");
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("reading or changing the graph: no page of it moves"), "{printed}");
    let message = bench.fail_quietly("tier rebalance g.cenote --by order");
    assert!(message.contains("cannot be moved now"), "{message}");
    let message = bench.fail("update g.cenote --add kron.u32");
    let process = format!("process {} is changing the graph", child.id());
    assert!(message.contains(&process), "{message}");
    bench.succeed("check g.cenote");
    drop(input);
    assert!(child.wait().unwrap().success());
    bench.succeed("tier rebalance g.cenote --by order");
    bench.succeed("check g.cenote");
}

#[test]
fn a_member_that_is_gone_or_stale_is_named_and_nothing_is_written() {
    let bench = bench("");
    let (fast, slow, map) =
        (member(&bench, "fast"), member(&bench, "slow"), bench.path("g.cenote"));
    let files = [&fast, &slow, &map];
    let old = files.map(|file| fs::read(file).unwrap());
    update(&bench, "g", &changes(0));
    let new = files.map(|file| fs::read(file).unwrap());
    for (at, file) in files.into_iter().enumerate() {
        fs::write(file, &old[at]).unwrap();
        let before = files.map(|file| fs::read(file).unwrap());
        for verb in ["update g.cenote --add kron.u32", "merge g.cenote", "snapshot g.cenote"] {
            let message = bench.fail(verb);
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(message.contains("older copy") && message.contains(name), "{message}");
        }
        assert!(files.map(|file| fs::read(file).unwrap()) == before, "{file:?}: it was written to");
        fs::write(file, &new[at]).unwrap();
    }
    fs::rename(&slow, bench.path("away")).unwrap();
    let message = bench.fail("update g.cenote --add kron.u32");
    assert!(message.contains("tier slow is missing"), "{message}");
    fs::rename(bench.path("away"), &slow).unwrap();
    update(&bench, "g", &changes(1));
    bench.succeed("check g.cenote");
    let message = bench.fail("compact g.cenote");
    assert!(message.contains("over tiers cannot be replaced"), "{message}");
}

#[test]
fn full_tiers_are_one_line_and_the_graph_is_read_on() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 11 --out kron.u32");
    fs::create_dir(bench.path("tier")).unwrap();
    let tiers = "--tier fast=tier:100KiB --tier slow=tier:1400KiB --tier-block 4KiB";
    bench.succeed(&format!("import kron.u32 --codec raw --out g.cenote {tiers}"));
    let lines: String = (0..40_000).map(|i| format!("+ {} {}\n", i, 200_000 + i)).collect();
    let edges = bench.succeed("export g.cenote");
    let output = fed(&bench, "update g.cenote --stdin --durability sync", &lines);
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    for words in ["g.cenote: no room for the new pages on its tiers (fast has", "slow has", "again"]
    {
        assert!(message.contains(words), "{message}");
    }
    bench.succeed("check g.cenote");
    assert!(bench.succeed("export g.cenote") == edges, "the graph is as it was");
    // What fits is done.
    update(&bench, "g", "+ 1 200000\n");
    assert_eq!(bench.succeed("export g.cenote").lines().count(), edges.lines().count() + 1);
    bench.succeed("check g.cenote");
    // A file of a tier that cannot grow, as on a full drive.
    let limited = bench.with_files_limited("update g.cenote --add kron.u32", 100);
    let message = text(&limited.stderr);
    assert_eq!(limited.status.code(), Some(2), "{message}");
    bench.succeed("check g.cenote");
}

#[test]
fn a_killed_update_over_tiers_leaves_whole_commits() {
    kill_updates(12);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_killed_update_over_tiers_leaves_whole_commits() {
    kill_updates(36);
}

/// Kills so many verbs, and as many again while too few of them were killed or committed anything.
fn kill_updates(rounds: u64) {
    let bench = Bench::new();
    fs::write(bench.path("edges.txt"), "0 1\n").unwrap();
    for folder in ["fast", "slow"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    bench.succeed(&format!("import edges.txt --out g.cenote {TIERS}"));
    let lines: String = (1..60_000).map(|i| format!("+ {i} {}\n", i + 1)).collect();
    fs::write(bench.path("lines"), lines).unwrap();
    let (mut before, mut killed) = (1, 0);
    for round in 0..10 * rounds {
        // On a busy machine a commit may take longer than the first rounds wait.
        let (turn, patience) = (round % rounds, 1 + round / rounds);
        if turn == 0 && killed > 8 && before > 1000 {
            break;
        }
        let (args, is_update) = match round % 4 {
            0 => ("update g.cenote --stdin --memory 32MiB --durability sync", true),
            1 => ("update g.cenote --stdin --memory 32MiB --durability group", true),
            2 => ("merge g.cenote", false),
            _ => ("tier rebalance g.cenote --by order", false),
        };
        let mut child = bench
            .command(args)
            .stdin(File::open(bench.path("lines")).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let ms = if is_update { turn * 53 % 240 } else { turn % 12 };
        std::thread::sleep(Duration::from_millis(ms * patience));
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        bench.succeed("check g.cenote");
        // The lines of whole commits are a path from 0 on.
        let edges = bench.succeed("export g.cenote").lines().count();
        let info = parse(&bench.succeed("info g.cenote --json"));
        assert_eq!(info["vertices"], edges + 1, "{info}");
        assert!(edges >= before, "{edges} edges, {before} before");
        assert!(is_update || edges == before, "{args} changed the edges");
        before = edges;
        if round % 6 == 5 {
            // Blocks move between the updates.
            bench.succeed("run bfs g.cenote --source 0 --strategy vertex --memory 16MiB");
        }
    }
    assert!(killed > 8 && before > 1000, "{killed} were killed, {before} edges");
}
