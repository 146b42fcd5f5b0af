//! `cenote snapshot`: makes, lists and removes snapshots; `--at` reads them.

use std::io::Write;
use std::process::Stdio;

use crate::{Bench, parse, text};

/// A folder with a graph of some hundred edges.
fn bench() -> Bench {
    let bench = Bench::new();
    let edges: String = (0..400).map(|i| format!("{} {}\n", i % 60, i * 7 % 61)).collect();
    std::fs::write(bench.path("edges.txt"), edges).unwrap();
    bench.succeed("import edges.txt --directed --in-edges --out g.cenote");
    bench
}

/// Changes the graph by lines.
fn update(bench: &Bench, lines: &str) {
    let mut child = bench
        .command("update g.cenote --stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// What the verbs print of the graph, or of a snapshot.
fn shown(bench: &Bench, at: &str) -> Vec<String> {
    let mut printed: Vec<String> = ["run wcc g.cenote", "run bfs g.cenote --source 3"]
        .into_iter()
        .map(|verb| {
            let report = parse(&bench.succeed(&format!("{verb} --json --memory 64MiB {at}")));
            report["result"].to_string()
        })
        .collect();
    let mut lines: Vec<String> =
        bench.succeed(&format!("export g.cenote {at}")).lines().map(str::to_owned).collect();
    lines.sort();
    printed.extend(lines);
    for verb in ["neighbors g.cenote 3", "neighbors g.cenote 3 4 5 --in"] {
        printed.push(bench.succeed(&format!("{verb} {at}")));
    }
    let info = parse(&bench.succeed(&format!("info g.cenote --json {at}")));
    printed.push(format!("{} {}", info["vertices"], info["edges"]));
    printed
}

#[test]
fn a_snapshot_is_read_as_the_graph_was_and_its_space_comes_back() {
    let bench = bench();
    let before = shown(&bench, "");
    let made = parse(&bench.succeed("snapshot g.cenote --name monday --json"));
    assert_eq!((&made["action"], &made["snapshot"]), (&"made".into(), &serde_json::Value::Null));
    assert_eq!((&made["name"], &made["epoch"]), (&"monday".into(), &1.into()), "{made}");
    assert!(made["created"].as_u64().unwrap() > 1_700_000_000, "{made}");
    update(&bench, "+ 3 77777\n- 3 21\n+ 59 3\n");
    let between = shown(&bench, "");
    let made = bench.succeed("snapshot g.cenote");
    assert!(made.contains("snapshot  epoch-4\n") && made.contains("epoch     4\n"), "{made}");
    update(&bench, "- 3 77777\n+ 1 3\n+ 3 3\n");
    let now = shown(&bench, "");
    assert!(before != between && between != now);
    assert_eq!(shown(&bench, "--at monday"), before);
    assert_eq!(shown(&bench, "--at epoch-4"), between);
    let estimate = parse(&bench.succeed("estimate wcc g.cenote --json --at monday"));
    assert!(estimate["memory_bytes"].as_u64().unwrap() > 0);
    bench.succeed("check g.cenote");
    let checked = bench.succeed("check g.cenote --at monday");
    assert!(checked.starts_with("g.cenote: whole, all "), "{checked}");

    let listed = parse(&bench.succeed("snapshot g.cenote --list --json"));
    let names: Vec<_> =
        listed["snapshots"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["monday", "epoch-4"]);
    let table = bench.succeed("snapshot g.cenote --list");
    assert!(table.contains("| monday ") && table.contains("pages of its own"), "{table}");
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(info["snapshots"], listed["snapshots"]);
    assert!(info["snapshot_pages"].as_u64().unwrap() > 0, "{info}");
    let printed = bench.succeed("info g.cenote");
    assert!(
        printed.contains("\nsnapshots       2, ") && printed.contains("monday: epoch 1, made 2")
    );
    let info = parse(&bench.succeed("info g.cenote --json --at monday"));
    assert_eq!((&info["snapshot"], &info["epoch"]), (&"monday".into(), &1.into()));
    assert!(bench.succeed("info g.cenote --at monday").contains("at snapshot     monday\n"));

    let removed = parse(&bench.succeed("snapshot g.cenote --remove monday --json"));
    assert_eq!((&removed["action"], &removed["epoch"]), (&"removed".into(), &1.into()));
    assert!(removed["pages_held"].as_u64().unwrap() > 0, "{removed}");
    assert_eq!(shown(&bench, "--at epoch-4"), between);
    assert!(bench.succeed("snapshot g.cenote --remove epoch-4").contains("\nfreed     "));
    assert_eq!(bench.succeed("snapshot g.cenote --list"), "g.cenote: no snapshots\n");
    let size = || std::fs::metadata(bench.path("g.cenote")).unwrap().len();
    let mut sizes = Vec::new();
    for _ in 0..6 {
        update(&bench, "+ 3 999\n- 3 999\n+ 2 50\n- 2 50\n+ 1 3\n- 1 3\n");
        bench.succeed("merge g.cenote");
        sizes.push(size());
    }
    assert_eq!(sizes[2], sizes[5], "{sizes:?}");
    bench.succeed("check g.cenote");
}

#[test]
fn wrong_names_are_one_line_that_says_what_to_do() {
    let bench = bench();
    bench.succeed("snapshot g.cenote --name one");
    let bytes = std::fs::read(bench.path("g.cenote")).unwrap();
    for (args, words) in [
        ("snapshot g.cenote --name one", "the graph has one of that name: remove it or choose"),
        ("snapshot g.cenote --name a/b", "its name has a control character, `/` or `@`"),
        ("snapshot g.cenote --remove two", "g.cenote: no snapshot `two`: the graph has `one`"),
        ("snapshot g.cenote --remove two --name one", "cannot be used with"),
        ("snapshot g.cenote --list --name one", "cannot be used with"),
        ("snapshot missing.cenote", "missing.cenote"),
        ("neighbors g.cenote 3 --at two", "no snapshot `two`: the graph has `one`"),
        ("export g.cenote --at two", "no snapshot `two`"),
        ("info g.cenote --at two", "no snapshot `two`"),
        ("check g.cenote --at two", "no snapshot `two`"),
    ] {
        let message = bench.fail(args);
        assert!(message.contains(words), "{args}: {message}");
    }
    let message = bench.fail_quietly("run wcc g.cenote --at two --memory 64MiB");
    assert!(message.contains("no snapshot `two`"), "{message}");
    assert_eq!(std::fs::read(bench.path("g.cenote")).unwrap(), bytes);
}

#[test]
fn repeated_edges_change_beside_a_snapshot_and_a_copy_follows() {
    for flags in ["", "--directed --in-edges", "--weights u32"] {
        let bench = Bench::new();
        let weight =
            |w: u64| if flags.contains("weights") { format!(" {w}") } else { String::new() };
        let edges = (0..300u64).map(|i| format!("{} {}{}\n", i % 20, i * 7 % 21, weight(i % 4)));
        std::fs::write(bench.path("edges.txt"), edges.collect::<String>()).unwrap();
        std::fs::write(bench.path("vertices.txt"), "3 17\n").unwrap();
        let import = format!("--keep-duplicates --keep-self-loops {flags} --page-size 4KiB");
        bench.succeed(&format!("import edges.txt --vertices vertices.txt --out g.cenote {import}"));
        let message = bench.fail("info g.cenote --at x");
        assert!(message.contains("no snapshot `x`: the graph has none"), "{message}");
        std::fs::copy(bench.path("g.cenote"), bench.path("copy.cenote")).unwrap();
        bench.succeed("snapshot g.cenote --name monday");
        let before = shown(&bench, "");
        bench.succeed("run wcc g.cenote --at monday --memory 64MiB --out labels.parquet");
        let added = (0..30u64).map(|i| format!("+ {} {}{}\n", i % 3, i % 5 + 90, weight(i % 2)));
        update(&bench, &added.collect::<String>());
        let since = "run wcc g.cenote --memory 64MiB --since labels.parquet --verify --json";
        let result = parse(&bench.succeed(since));
        assert!(result["result"]["everything_because"].is_null(), "{result}");
        let changes = ["= 3 5\n", "- 0 90\n", "- 0 90\n- 1 91\n- 1 99\n", "- 7\n", "+ 5 5"];
        changes[..4].iter().for_each(|lines| update(&bench, lines));
        update(&bench, &format!("{}{}\n", changes[4], weight(9)));
        if flags.contains("weights") {
            update(&bench, "= 1 91 77\n- 2 92 77\n- 2 92 0\n");
        }
        assert_eq!(shown(&bench, "--at monday"), before, "{flags}");
        assert_ne!(shown(&bench, ""), before, "{flags}");
        // The changes make the graph of a copy.
        std::fs::write(bench.path("diff.txt"), bench.succeed("diff g.cenote --since monday"))
            .unwrap();
        bench.succeed("check g.cenote");
        bench.succeed("snapshot g.cenote --remove monday");
        follow(&bench, "copy.cenote", "diff.txt");
        let counts = |graph: &str| {
            let info = parse(&bench.succeed(&format!("info {graph} --json")));
            ["vertices", "edges", "duplicates"].map(|name| info[name].as_u64().unwrap())
        };
        let live = counts("g.cenote");
        assert_eq!(live, counts("copy.cenote"), "{flags}");
        for graph in ["g.cenote", "copy.cenote"] {
            bench.succeed(&format!("compact {graph}"));
        }
        bench.succeed("export g.cenote --vertices all.txt");
        let lines = bench.succeed("export g.cenote");
        std::fs::write(bench.path("again.txt"), lines).unwrap();
        bench.succeed(&format!("import again.txt --vertices all.txt --out again.cenote {import}"));
        let bytes = |graph: &str| std::fs::read(bench.path(graph)).unwrap();
        assert!(bytes("g.cenote") == bytes("copy.cenote"), "{flags}: the copy differs");
        assert_eq!(counts("again.cenote"), live, "{flags}");
        assert!(bytes("g.cenote") == bytes("again.cenote"), "{flags}: an import differs");
    }
}

/// Changes a graph by the lines of a file.
fn follow(bench: &Bench, graph: &str, lines: &str) {
    let lines = std::fs::File::open(bench.path(lines)).unwrap();
    let update = bench.command(&format!("update {graph} --stdin")).stdin(lines).output().unwrap();
    assert_eq!(update.status.code(), Some(0), "{}", text(&update.stderr));
}

#[test]
fn a_damaged_snapshot_is_found_by_check_and_the_graph_is_read_without_it() {
    let bench = bench();
    bench.succeed("snapshot g.cenote --name one");
    update(&bench, "+ 3 77777\n");
    bench.succeed("merge g.cenote");
    let mut bytes = std::fs::read(bench.path("g.cenote")).unwrap();
    // Epoch 4, of the log's commit, the merge's and so on, is in one of the slots.
    let newest = if bytes[40] > bytes[4096 + 40] { 0 } else { 4096 };
    let page = u64::from_le_bytes(bytes[newest + 280..newest + 288].try_into().unwrap()) as usize;
    bytes[page * 4096 + 320] ^= 1;
    std::fs::write(bench.path("g.cenote"), bytes).unwrap();
    let output = bench.run("check g.cenote");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains(&format!("page {page} (snapshot, bytes ")), "{printed}");
    bench.succeed("export g.cenote");
    for args in ["info g.cenote --at one", "snapshot g.cenote --list", "merge g.cenote"] {
        assert!(bench.fail(args).contains(&format!("page {page} (snapshot")), "{args}");
    }
}

/// The lines of a difference, given to an update of the earlier state, make the later one.
#[test]
fn a_difference_is_what_makes_the_later_state_of_the_earlier_one() {
    let weighted: String = (0..300).map(|i| format!("{},{},{}\n", i % 50, i * 7 % 53, i)).collect();
    let named: String = (0..300).map(|i| format!("a{} b{}\n", i % 50, i * 7 % 53)).collect();
    let cases = [
        ("edges.csv", weighted.as_str(), "--weights u32", [" 5", " 6", " 7"]),
        ("named.txt", named.as_str(), "", ["", "", ""]),
        ("named.txt", named.as_str(), "--directed --order degree", ["", "", ""]),
    ];
    for (input, edges, flags, [first, second, third]) in cases {
        let bench = Bench::new();
        let header = if input.ends_with(".csv") { "source,target,weight\n" } else { "" };
        std::fs::write(bench.path(input), format!("{header}{edges}")).unwrap();
        bench.succeed(&format!("import {input} {flags} --out g.cenote"));
        std::fs::copy(bench.path("g.cenote"), bench.path("copy.cenote")).unwrap();
        bench.succeed("snapshot g.cenote --name monday");
        assert_eq!(bench.succeed("diff g.cenote --since monday"), "");
        let (a, b) = if first.is_empty() { ("a", "b") } else { ("", "") };
        let set = if first.is_empty() { String::new() } else { "= 1 7 900\n".to_owned() };
        update(
            &bench,
            &format!(
                "+ {a}1 {b}40{first}\n- {a}2 {b}14\n{set}+ {a}3 {b}77{second}\n+ {a}9 {b}9{third}\n\
                 - {a}9 {b}9\n"
            ),
        );
        let lines = bench.succeed("diff g.cenote --since monday");
        let mut sorted: Vec<&str> = lines.lines().collect();
        sorted.sort_unstable();
        let turned = |u: &str, v: &str| format!("{u} {v}");
        let mut expected = vec![
            format!("+ {}{first}", turned(&format!("{a}1"), &format!("{b}40"))),
            format!("+ {}{second}", turned(&format!("{a}3"), &format!("{b}77"))),
            format!("- {}", turned(&format!("{a}2"), &format!("{b}14"))),
        ];
        if !set.is_empty() {
            expected.push("= 1 7 900".into());
        }
        assert_eq!(sorted, expected);
        let counts = parse(&bench.succeed("diff g.cenote --since monday --json"));
        assert_eq!((&counts["added"], &counts["deleted"]), (&2.into(), &1.into()), "{counts}");
        assert_eq!(counts["reweighed"], u64::from(!set.is_empty()));

        // A copy of the earlier state becomes the later one.
        bench.succeed("snapshot g.cenote --name tuesday");
        let at = bench.succeed("diff g.cenote --since monday --at tuesday");
        assert_eq!(at, lines);
        let mut child = bench
            .command("update copy.cenote --stdin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let [mut copy, mut original] = ["copy.cenote", "g.cenote"].map(|graph| {
            bench.succeed(&format!("export {graph}")).lines().map(str::to_owned).collect::<Vec<_>>()
        });
        copy.sort_unstable();
        original.sort_unstable();
        assert_eq!(copy, original);
        let unknown = bench.fail("diff g.cenote --since sunday");
        assert!(unknown.contains("sunday") && unknown.contains("`monday`"), "{unknown}");
    }
}

#[test]
fn a_difference_has_the_values_that_changed_so_that_a_copy_follows_them() {
    for (values, some) in [("i64", ["-5", "7", "0"]), ("f64", ["0.5", "3", "-1e300"])] {
        let bench = Bench::new();
        std::fs::write(bench.path("edges.txt"), "a b\nb c\nc d\n").unwrap();
        bench.succeed("import edges.txt --out g.cenote");
        let [x, y, z] = some;
        update(&bench, &format!("= a {x}\n= b {y}\n= c {z}\n= d {x}\n"));
        std::fs::copy(bench.path("g.cenote"), bench.path("copy.cenote")).unwrap();
        bench.succeed("snapshot g.cenote --name monday");
        assert_eq!(bench.succeed("diff g.cenote --since monday"), "");
        update(&bench, &format!("= a\n= b {z}\n- d\n+ e f\n= f {y}\n+ h\n= h {x}\n"));
        let lines = bench.succeed("diff g.cenote --since monday");
        let behind = lines.split_once("- d\n").unwrap().1;
        // 1e300 is printed with all its digits.
        let printed = |text: &str| text.parse::<f64>().unwrap().to_string();
        let [x, y, z] = [x, y, z].map(printed);
        assert_eq!(behind, format!("= a\n= b {z}\n= f {y}\n= h {x}\n"), "{values}");
        let counts = parse(&bench.succeed("diff g.cenote --since monday --json"));
        assert_eq!((&counts["values_set"], &counts["values_removed"]), (&3.into(), &1.into()));
        let mut command = bench.command("update copy.cenote --stdin");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let [copy, original] = ["copy", "g"].map(|graph| {
            bench.succeed(&format!("export {graph}.cenote --vertices {graph}.tsv"));
            std::fs::read_to_string(bench.path(&format!("{graph}.tsv"))).unwrap()
        });
        assert_eq!(copy, original);
        assert!(original.contains(&format!("h\t{x}\n")), "{original}");
    }
}
