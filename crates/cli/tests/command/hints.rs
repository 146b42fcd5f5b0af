//! Errors that name the memory that would do: it does.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::{Bench, text};

/// The memory that an error names: `--memory 7MiB`, or so many `bytes would do`.
fn hint(error: &str) -> Option<&str> {
    let words: Vec<&str> = error.split_whitespace().collect();
    let flag = words.windows(4).find(|words| words[..3] == ["give", "at", "least"]);
    if flag.is_some() {
        let flag = words.windows(2).rev().find(|words| words[0] == "--memory")?;
        return Some(flag[1].trim_end_matches(|c: char| !c.is_alphanumeric()));
    }
    words.windows(3).find(|words| words[1..] == ["bytes", "would"]).map(|words| words[0])
}

/// A grid's edges, packed with a window of 128 MiB.
fn pack_with_window(bench: &Bench, name: &str) {
    let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packer.window_log(27).unwrap();
    packer.long_distance_matching(true).unwrap();
    packer.write_all(&std::fs::read(bench.path("near.txt")).unwrap()).unwrap();
    std::fs::write(bench.path(name), packer.finish().unwrap()).unwrap();
}

#[test]
fn the_memory_that_an_error_names_is_enough() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 9 --edge-factor 24 --out k.u32");
    bench.succeed("generate grid --rows 20 --cols 30 --out near.txt");
    bench.succeed("import near.txt k.u32 --out g.cenote");
    bench.succeed("import k.u32 --tier a=.:1MiB --tier b=. --out tiered.cenote");
    pack_with_window(&bench, "window.txt.zst");
    std::fs::write(bench.path("vertices.txt"), "1\n5000 17\n").unwrap();
    let lines = [
        "import near.txt --overwrite --out i.cenote",
        "import near.txt --vertices vertices.txt --overwrite --out i.cenote",
        "import k.u32 --directed --in-edges --threads 64 --overwrite --out i.cenote",
        "import k.u32 --order degree --codec packed --overwrite --out i.cenote",
        "import window.txt.zst --overwrite --out i.cenote",
        "run wcc near.txt",
        "run wcc window.txt.zst",
        "run wcc window.txt.zst --threads 64",
        "run wcc near.txt --threads 64",
        "run degrees k.u32 --keep-duplicates --threads 64",
        "run bfs g.cenote --source 0",
        "run lcc g.cenote --threads 32",
        "run triangles g.cenote",
        "run louvain g.cenote",
        "subgraph g.cenote --source 0 --hops 1 --overwrite --out s.cenote",
        "subgraph g.cenote --source 0 --hops 2 --threads 64 --overwrite --out s.cenote",
        "shard g.cenote --shards 2 --out shards",
        "shard tiered.cenote --shards 3 --out tiered-shards",
        "compact g.cenote --overwrite --out c.cenote",
        "neighbors g.cenote 0",
    ];
    let mut faults = Vec::new();
    for line in lines {
        let first = bench.run(&format!("{line} --memory 4KiB"));
        if first.status.success() {
            continue;
        }
        let error = text(&first.stderr);
        let Some(memory) = hint(&error) else {
            faults.push(format!("{line}: no memory is named: {error}"));
            continue;
        };
        let second = bench.run(&format!("{line} --memory {memory}"));
        if !second.status.success() {
            faults.push(format!("{line}: {error}then {}", text(&second.stderr)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_update_goes_on_in_smaller_commits_and_names_what_is_enough() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 9 --out k.u32");
    bench.succeed("generate uniform --vertices 3000000 --edges 60000 --out new.parquet");
    let update = |memory: &str| {
        bench.succeed("import k.u32 --overwrite --out g.cenote");
        bench.run(&format!("update g.cenote --add new.parquet --memory {memory}"))
    };
    let to_open = text(&update("4KiB").stderr);
    let error = text(&update(hint(&to_open).unwrap()).stderr);
    assert!(error.contains("after ") && error.contains("commits with the first"), "{error}");
    let last = update(hint(&error).unwrap());
    assert!(last.status.success(), "{to_open}{error}{}", text(&last.stderr));
}

#[test]
fn an_update_from_a_pipe_that_stays_open_reports_that_memory_is_too_little() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 9 --out k.u32");
    bench.succeed("import k.u32 --out g.cenote");
    let update = "update g.cenote --add - --format edges --memory";
    let to_open = text(&bench.run(&format!("{update} 4KiB")).stderr);
    let line = format!("{update} {}", hint(&to_open).unwrap());
    let mut running = bench
        .command(&line)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = running.stdin.take().unwrap();
    let edges: String = (0..400_000).map(|v| format!("{v} {}\n", 3_000_000 - v)).collect();
    // It may end before it has read all of them.
    let writer = std::thread::spawn(move || (pipe.write_all(edges.as_bytes()), pipe));
    let has_ended = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        running.try_wait().unwrap().is_some()
    });
    running.kill().unwrap();
    let error = text(&running.wait_with_output().unwrap().stderr);
    assert!(has_ended && error.contains("commits with the first"), "{error}");
    drop(writer.join().unwrap());
}
