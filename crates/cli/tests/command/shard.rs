//! `cenote shard` and `cenote import --shards`: folders of several graph files.

use rustix::process::Signal;

use crate::interrupt::interrupt;
use crate::{Bench, names, parse, text};

#[test]
fn a_graph_and_its_edges_become_the_same_shards() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 10 --out kron.u32");
    bench.succeed("import kron.u32 --out g.cenote");
    let printed = parse(&bench.succeed("shard g.cenote --shards 3 --out a --memory 64MiB --json"));
    let graph = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(printed["vertices"], graph["vertices"]);
    assert_eq!(printed["edges"], graph["edges"]);
    assert_eq!(printed["shards"].as_array().unwrap().len(), 3);
    let line = bench.succeed("import kron.u32 --shards 3 --out b --memory 64MiB");
    assert!(line.contains("b: ") && line.contains("duplicates"), "{line}");
    let both = parse(&bench.succeed("import kron.u32 --shards 3 --out c --memory 64MiB --json"));
    assert_eq!(both["shards"]["shards"][1]["vertices"], printed["shards"][1]["vertices"]);
    let read = |folder: &str, name: &str| std::fs::read(bench.path(folder).join(name)).unwrap();
    for name in names(&bench.path("a")).iter().filter(|name| name.ends_with(".parquet")) {
        assert_eq!(read("a", name), read("b", name), "{name}");
    }
    for folder in ["a", "b", "c"] {
        assert!(bench.succeed(&format!("check {folder}")).contains("whole"));
    }
    assert_eq!(bench.names(), ["a", "b", "c", "g.cenote", "kron.u32"]);
    // Each shard is a graph file like any other.
    bench.succeed("check a/shard-00001.cenote");
    bench.succeed("info a/shard-00001.cenote");
    for line in ["info a", "run wcc a"] {
        let message = bench.fail_quietly(line);
        assert!(message.contains("a: it holds the shards of a graph"), "{message}");
    }
}

#[test]
fn a_damaged_set_is_told_apart_from_one_that_cannot_be_checked() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 8 --out kron.u32");
    bench.succeed("import kron.u32 --shards 2 --out s");
    std::fs::remove_file(bench.path("s/shard-00001.ids.parquet")).unwrap();
    let output = bench.run("check s --json");
    assert_eq!(output.status.code(), Some(1));
    let printed = parse(&text(&output.stdout));
    assert_eq!(printed["whole"], false);
    let message = printed["faults"][0]["message"].as_str().unwrap();
    assert_eq!(message, "shard-00001.ids.parquet: it is missing");
    assert!(bench.fail("check .").contains("no sharded graph"));
    assert!(bench.fail("check s --at x").contains("--at"));
    for (args, words) in [
        ("import kron.u32 --shards 2 --out s", "no empty folder"),
        ("import kron.u32 --shards 0 --out t", "--shards is 0"),
        ("import kron.u32 --shards 2 --out t --overwrite", "--overwrite"),
    ] {
        let message = bench.fail(args);
        assert!(message.contains(words), "{args}: {message}");
    }
    assert_eq!(bench.names(), ["kron.u32", "s"]);
}

#[test]
fn ctrl_c_leaves_no_folder() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 16 --out kron.u32");
    bench.succeed("import kron.u32 --out g.cenote");
    let args = "shard g.cenote --shards 200 --out s --memory 64MiB";
    assert_eq!(interrupt(&bench, args, ".partial-", Signal::INT), "cenote: interrupted\n");
    let args = "import kron.u32 --shards 200 --out s --memory 64MiB";
    assert_eq!(interrupt(&bench, args, ".partial-", Signal::TERM), "cenote: interrupted\n");
}
