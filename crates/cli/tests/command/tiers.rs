//! A graph over several drives: `import --tier`, runs on it, `tier status`, `tier rebalance`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::{Bench, names, parse, text};

/// Half of a graph of 4 MiB, in raw pages, fits the fast tier, and some blocks more.
const TIERS: &str = "--tier fast=fast:2100KiB --tier slow=slow";

/// A folder with a graph over two tiers.
fn tiered(flags: &str) -> Bench {
    let bench = bench();
    bench.succeed(&format!("import kron.u32 --codec raw --out graph.cenote {TIERS} {flags}"));
    bench
}

/// A folder with a graph in one file, and the same over two tiers.
fn plain_and_tiered() -> Bench {
    let bench = tiered("--tier-policy tlru");
    bench.succeed("import kron.u32 --codec raw --out plain.cenote");
    bench
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 15 --out kron.u32");
    for folder in ["fast", "slow"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    bench
}

fn status(bench: &Bench) -> Value {
    parse(&bench.succeed("tier status graph.cenote --json"))
}

fn blocks(status: &Value, tier: usize) -> u64 {
    status["tiers"][tier]["blocks"].as_u64().unwrap()
}

/// The file of a tier.
fn member(bench: &Bench, tier: &str) -> PathBuf {
    let found = names(&bench.path(tier));
    assert_eq!(found.len(), 1, "{found:?}");
    bench.path(tier).join(&found[0])
}

#[test]
fn algorithms_answer_as_on_one_file_while_pages_move() {
    let bench = plain_and_tiered();
    bench.succeed("check graph.cenote");
    let printed = bench.succeed("info graph.cenote");
    assert!(printed.contains("tiers           fast ") && printed.contains("; slow "), "{printed}");
    let before = status(&bench);
    assert_eq!((&before["policy"], &before["moved"]), (&"tlru".into(), &0.into()));
    for run in [
        "bfs --source 0 --strategy vertex --memory 12MiB",
        "wcc --strategy block --memory 12MiB",
        "pagerank --memory 12MiB",
        "walk --per-vertex 1 --steps 5 --strategy vertex --memory 12MiB",
    ] {
        let (name, flags) = run.split_once(' ').unwrap();
        let ending = if name == "walk" { "txt" } else { "csv" };
        for graph in ["plain", "graph"] {
            bench.succeed(&format!("run {name} {graph}.cenote {flags} --out {graph}.{ending}"));
        }
        let read = |graph: &str| fs::read(bench.path(&format!("{graph}.{ending}"))).unwrap();
        assert!(read("plain") == read("graph"), "{run}: another answer on tiers");
    }
    let after = status(&bench);
    assert!(after["moved"].as_u64().unwrap() > 0, "{after}");
    assert!(after["accesses"].as_u64().unwrap() > 1000, "{after}");
    assert_eq!(after["has_state"], true);
    assert_eq!(blocks(&after, 0) + blocks(&after, 1), after["blocks"].as_u64().unwrap());
    bench.succeed("check graph.cenote");
    let printed = bench.succeed("run bfs graph.cenote --source 0 --json --no-migration");
    assert!(!printed.contains("\"migration\""), "{printed}");
    assert_eq!(
        status(&bench)["accesses"],
        after["accesses"],
        "--no-migration reports to no policy"
    );
    let export = |graph: &str| bench.succeed(&format!("export {graph}.cenote"));
    assert!(export("plain") == export("graph"), "another export from tiers");
}

#[test]
fn a_graph_can_be_put_into_order_again() {
    let bench = tiered("--tier-policy tlru");
    let message = bench.fail("tier rebalance graph.cenote");
    assert!(message.contains("learned nothing yet"), "{message}");
    bench.succeed("run bfs graph.cenote --strategy vertex --memory 12MiB");
    let printed = parse(&bench.succeed("tier rebalance graph.cenote --json"));
    assert_eq!((&printed["dropped"], &printed["failed"]), (&0.into(), &0.into()));
    assert_eq!(printed["moved"], printed["planned"]);
    bench.succeed("check graph.cenote");
    // What is where it belongs stays there.
    let again = parse(&bench.succeed("tier rebalance graph.cenote --json"));
    assert_eq!(again["planned"], 0, "{again}");
    bench.succeed("tier rebalance graph.cenote --by order");
    let message = bench.fail("tier rebalance graph.cenote --by order --policy tlfu");
    assert!(message.contains("--policy"), "{message}");
    bench.succeed("tier rebalance graph.cenote --policy tlfu");
    let printed = status(&bench);
    assert_eq!((&printed["policy"], &printed["has_state"]), (&"tlfu".into(), &false.into()));
    assert!(bench.succeed("tier status graph.cenote").contains("nothing learned yet"));
    bench.succeed("check graph.cenote");
}

#[test]
fn many_lists_are_printed_in_the_given_order() {
    let bench = plain_and_tiered();
    let known = bench.succeed("export plain.cenote");
    let known: HashSet<&str> = known.lines().flat_map(|line| line.split('\t')).collect();
    let asked: Vec<String> = (0..1000u64).map(|i| (i * i % 1000).to_string()).collect();
    let asked: Vec<_> = asked.into_iter().filter(|id| known.contains(id.as_str())).collect();
    assert!(asked.len() > 500);
    fs::write(bench.path("asked.txt"), asked.join("\n")).unwrap();
    let mut expected = String::new();
    for vertex in asked.iter().take(20) {
        let list = bench.succeed(&format!("neighbors plain.cenote {vertex}"));
        list.lines().for_each(|other| expected.push_str(&format!("{vertex}\t{other}\n")));
    }
    for flags in ["", "--threads 1", "--memory 1MiB --threads 3"] {
        let printed = bench.succeed(&format!("neighbors graph.cenote --from asked.txt {flags}"));
        assert!(printed.starts_with(&expected), "{flags}");
        let plain = bench.succeed(&format!("neighbors plain.cenote --from asked.txt {flags}"));
        assert!(printed == plain, "{flags}: another answer on tiers");
    }
    let printed =
        bench.succeed(&format!("neighbors plain.cenote {} {} --json", asked[0], asked[1]));
    assert_eq!(printed.lines().count(), 2);
    fs::write(bench.path("asked.txt"), "\n0\nnobody\n").unwrap();
    let output = bench.run("neighbors plain.cenote --from asked.txt");
    let message = text(&output.stderr);
    assert!(message.contains("asked.txt: line 3") && message.contains("nobody"), "{message}");
}

#[test]
fn a_tier_that_is_missing_or_foreign_is_named() {
    let bench = tiered("--tier-policy tlru");
    let fast = member(&bench, "fast");
    let away = bench.path("away");
    fs::rename(&fast, &away).unwrap();
    for verb in ["info", "check", "run bfs", "tier status", "estimate wcc", "export"] {
        let message = bench.fail(&format!("{verb} graph.cenote"));
        assert!(message.contains("tier fast is missing"), "{verb}: {message}");
        assert!(message.contains(&fast.display().to_string()), "{verb}: {message}");
    }
    // Another graph's tier in its place; the slow one; nothing of the kind.
    bench.succeed(&format!("import kron.u32 --codec raw --out other.cenote {TIERS}"));
    let other = member(&bench, "fast");
    for (what, words) in [(&other, "another graph"), (&member_of(&bench, "slow"), "slow")] {
        fs::copy(what, &fast).unwrap();
        let message = bench.fail("info graph.cenote");
        assert!(message.contains(words), "{message}");
    }
    fs::write(&fast, "nothing of the kind").unwrap();
    assert!(bench.fail("info graph.cenote").contains("fast"));
    fs::remove_file(&fast).unwrap();
    // Beside the graph it is found.
    fs::rename(&away, bench.path(fast.file_name().unwrap().to_str().unwrap())).unwrap();
    bench.succeed("check graph.cenote");
}

/// The file of graph.cenote on a tier that holds those of two graphs.
fn member_of(bench: &Bench, tier: &str) -> PathBuf {
    let found = names(&bench.path(tier));
    let ours = found.iter().find(|name| name.starts_with("graph.")).unwrap();
    bench.path(tier).join(ours)
}

#[test]
fn a_cut_tier_is_named() {
    let bench = tiered("");
    let slow = member(&bench, "slow");
    let file = File::options().write(true).open(&slow).unwrap();
    file.set_len(fs::metadata(&slow).unwrap().len() - (1 << 20)).unwrap();
    let message = bench.fail("info graph.cenote");
    assert!(message.contains("slow") && message.contains("ends at byte"), "{message}");
}

#[test]
fn what_was_learned_may_be_lost() {
    let bench = tiered("--tier-policy tlru");
    bench.succeed("run bfs graph.cenote --strategy vertex --memory 12MiB");
    fs::write(bench.path("graph.cenote.policy"), "of no use").unwrap();
    let output = bench.run("run bfs graph.cenote");
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stderr);
    assert!(
        printed.contains("begins anew") && printed.contains("graph.cenote.policy"),
        "{printed}"
    );
    // The line is whole, the state behind it is not.
    let path = bench.path("graph.cenote.policy");
    let mut kept = fs::read(&path).unwrap();
    *kept.last_mut().unwrap() ^= 1;
    fs::write(&path, kept).unwrap();
    bench.succeed("estimate bfs graph.cenote");
    let output = bench.run("run bfs graph.cenote");
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stderr);
    assert!(printed.contains("begins anew"), "{printed}");
    bench.succeed("check graph.cenote");
}

#[test]
fn one_process_moves_pages_and_no_other_reads_meanwhile() {
    let bench = tiered("--tier-policy tlru");
    let lock = File::open(bench.path("graph.cenote")).unwrap();
    lock.lock().unwrap();
    let message = bench.fail("info graph.cenote");
    assert!(message.contains("another process is moving"), "{message}");
    lock.unlock().unwrap();
    lock.lock_shared().unwrap();
    bench.succeed("info graph.cenote");
    let output = bench.run("run bfs graph.cenote");
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stderr);
    assert!(printed.contains("no page of it moves in this run"), "{printed}");
    let message = bench.fail_quietly("tier rebalance graph.cenote --by order");
    assert!(message.contains("cannot be moved now"), "{message}");
}

#[test]
fn an_import_that_fails_leaves_nothing_and_one_that_replaces_cleans_up() {
    let bench = bench();
    let before = bench.names();
    for (flags, words) in [
        ("--tier fast=fast:2MiB --tier slow=slow:1MiB", "more capacity"),
        // While the sorting threads wait for the writer, or not.
        ("--tier fast=fast:1MiB --tier slow=slow:1MiB", "more capacity"),
        ("--tier fast=fast:1MiB --tier slow=slow:1MiB --threads 1", "more capacity"),
        ("--tier fast=fast:4MiB", "2 to 16"),
        ("--tier fast=fast:4MiB --tier fast=slow", "same name"),
        ("--tier fast=nowhere:4MiB --tier slow=slow", "nowhere"),
        ("--tier fast=fast:16KiB --tier slow=slow", "fast"),
        ("--tier fast=fast:4000PiB --tier slow=slow", "free"),
        ("--tier fast=fast --tier slow=slow --tier-block 5000", "--tier-block"),
        ("--tier fast=fast --tier slow=slow --tier-policy ideal", "future"),
        ("--tier fast=fast --tier slow=slow --tier-policy best", "best"),
        ("--tier-policy tlru", "--tier"),
    ] {
        let message =
            bench.fail(&format!("import kron.u32 --codec raw --out graph.cenote {flags}"));
        assert!(message.contains(words), "{flags}: {message}");
        assert_eq!(bench.names(), before, "{flags}");
        for tier in ["fast", "slow"] {
            assert!(names(&bench.path(tier)).is_empty(), "{flags}: {:?}", names(&bench.path(tier)));
        }
    }
    bench.succeed(&format!("import kron.u32 --codec raw --out graph.cenote {TIERS}"));
    let first = member(&bench, "slow");
    bench.fail(&format!("import kron.u32 --codec raw --out graph.cenote {TIERS}"));
    assert_eq!(member(&bench, "slow"), first);
    bench.succeed(&format!("import kron.u32 --codec raw --out graph.cenote --overwrite {TIERS}"));
    assert_ne!(member(&bench, "slow"), first);
    bench.succeed("check graph.cenote");
    bench.succeed("import kron.u32 --codec raw --out graph.cenote --overwrite");
    assert!(names(&bench.path("slow")).is_empty() && names(&bench.path("fast")).is_empty());
    assert_eq!(bench.names(), ["fast", "graph.cenote", "kron.u32", "slow"]);
    let message = bench.fail("tier status graph.cenote");
    assert!(message.contains("no graph over tiers"), "{message}");
}

#[test]
fn an_interrupted_import_leaves_nothing_on_any_tier() {
    let bench = bench();
    // Of more edges than the memory holds.
    bench.succeed("generate kron --scale 19 --out kron.u32");
    let args = format!("import kron.u32 --codec raw --out graph.cenote {TIERS} --memory 24MiB");
    crate::interrupt::interrupt(&bench, &args, ".partial-", Signal::INT);
    for tier in ["fast", "slow"] {
        assert!(names(&bench.path(tier)).is_empty(), "{:?}", names(&bench.path(tier)));
    }
}

#[test]
fn a_graph_behind_a_link_keeps_its_policy_and_its_tiers() {
    let bench = tiered("--tier-policy tlru");
    fs::create_dir(bench.path("links")).unwrap();
    std::os::unix::fs::symlink(bench.path("graph.cenote"), bench.path("links/link.cenote"))
        .unwrap();
    let printed = parse(&bench.succeed("tier status links/link.cenote --json"));
    assert_eq!(printed["policy"], "tlru");
    bench.succeed("run bfs links/link.cenote --strategy vertex --memory 12MiB");
    assert_eq!(names(&bench.path("links")), ["link.cenote"]);
    assert_eq!(status(&bench)["has_state"], true);
    // Only the link is replaced.
    bench.succeed("import kron.u32 --codec raw --out links/link.cenote --overwrite");
    bench.succeed("check graph.cenote");
}

#[test]
fn a_damaged_map_can_be_replaced() {
    let bench = tiered("");
    let mut map = fs::read(bench.path("graph.cenote")).unwrap();
    map[100] ^= 1;
    map[16_384 + 100] ^= 1;
    fs::write(bench.path("graph.cenote"), map).unwrap();
    bench.fail("info graph.cenote");
    let output = bench.run("import kron.u32 --codec raw --out graph.cenote --overwrite");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("stay where they are"), "{}", text(&output.stderr));
    bench.succeed("check graph.cenote");
}

#[test]
fn a_file_of_ids_may_be_written_by_anybody() {
    let bench = bench();
    bench.succeed("import kron.u32 --codec raw --out plain.cenote --order random");
    let edges = bench.succeed("export plain.cenote");
    let id = edges.split_whitespace().next().unwrap();
    let expected = bench.succeed(&format!("neighbors plain.cenote {id} {id}"));
    fs::write(bench.path("asked.txt"), format!("\r\n  {id} \r\n\n{id}")).unwrap();
    assert_eq!(bench.succeed("neighbors plain.cenote --from asked.txt"), expected);
    fs::write(bench.path("asked.txt"), "").unwrap();
    assert_eq!(bench.succeed("neighbors plain.cenote --from asked.txt"), "");
    for (asked, words) in [
        (b"\n\xff\n".to_vec(), "asked.txt: line 2: an id has to be UTF-8"),
        (vec![b'7'; 2 << 20], "asked.txt: line 1: too long for an id"),
        (b"nobody\n".to_vec(), "no vertex `nobody`"),
    ] {
        fs::write(bench.path("asked.txt"), asked).unwrap();
        let message = bench.fail("neighbors plain.cenote --from asked.txt");
        assert!(message.contains(words), "{message}");
    }
}
