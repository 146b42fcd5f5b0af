//! `cenote import`, `info`, `check`, `neighbors`, `export`: a graph in and out again.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::{Bench, parse, text};

/// Two triangles that share a vertex, a repeated edge, a loop, a comment.
const EDGES: &str = "# a comment\n10 20\n20 30\n30 10\n10 40\n40 50\n50 10\n20 10\n40 40\n";

/// A folder with `EDGES` imported as `graph.cenote`.
fn imported(flags: &str) -> (Bench, Value) {
    let bench = Bench::new();
    std::fs::write(bench.path("edges.txt"), EDGES).unwrap();
    let printed = bench.succeed(&format!("import edges.txt --out graph.cenote --json {flags}"));
    assert_eq!(bench.names(), ["edges.txt", "graph.cenote"]);
    (bench, parse(&printed))
}

#[test]
fn import_counts_what_it_found() {
    let (_, printed) = imported("");
    for (field, value) in [
        ("vertices", 5),
        ("edges", 6),
        ("stored_edges", 12),
        ("duplicates", 1),
        ("self_loops", 1),
        ("input_edges", 8),
    ] {
        assert_eq!(printed[field], value, "{field}: {printed}");
    }
    assert!(printed["seconds"].as_f64().unwrap() > 0.0);
    assert!(printed["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
}

#[test]
fn info_has_the_promised_fields() {
    let (bench, _) = imported("");
    let info = parse(&bench.succeed("info graph.cenote --json"));
    let file_bytes = std::fs::metadata(bench.path("graph.cenote")).unwrap().len();
    let expected = json!({
        "vertices": 5, "edges": 6, "stored_edges": 12, "pages": 1, "page_size": 4096,
        "page_bytes": 4096, "file_bytes": file_bytes, "directed": false, "in_edges": false,
        "weighted": false, "codec": "packed", "format_version": 2, "used_bytes": file_bytes,
        "space_amplification": 1.0,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&info[field], value, "{field}");
    }
    let table = bench.succeed("info graph.cenote");
    assert!(table.contains("vertices        5\n"), "{table}");
    assert!(table.contains(", 1.00 times the ") && table.contains(" in use\n"), "{table}");
}

#[test]
fn integer_weights_take_the_bytes_that_all_of_them_need() {
    let bench = Bench::new();
    let write = |name: &str, text: &str| std::fs::write(bench.path(name), text).unwrap();
    write("edges.txt", "1 2 5\n2 3 255\n");
    write("more.txt", "3 4 70000\n");
    write("gone.txt", "3 4\n");
    bench.succeed("import edges.txt --weights u32 --out g.cenote");
    let weights = || {
        let table = bench.succeed("info g.cenote");
        let line = table.lines().find_map(|line| line.strip_prefix("weights")).unwrap();
        line.trim().split(", mean").next().unwrap().to_owned()
    };
    assert_eq!(weights(), "u32 in a byte, 5 to 255");
    bench.succeed("update g.cenote --add more.txt");
    assert_eq!(weights(), "u32 in a byte, 5 to 70000", "a larger weight is in the log");
    bench.succeed("merge g.cenote");
    assert_eq!(weights(), "u32 in 4 bytes, 5 to 70000");
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!(info["weights"]["bytes"], 4);
    bench.succeed("update g.cenote --delete gone.txt");
    bench.succeed("compact g.cenote");
    assert_eq!(weights(), "u32 in a byte, 5 to 255");
    let distances = bench.succeed("run sssp g.cenote --source 1 --verify");
    assert!(distances.contains("distance 260"), "{distances}");
}

#[test]
fn a_damaged_commit_slot_is_a_warning_of_every_verb_that_opens_the_graph() {
    let (bench, _) = imported("");
    let path = bench.path("graph.cenote");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096] = 1;
    std::fs::write(&path, bytes).unwrap();
    for args in ["info graph.cenote", "run bfs graph.cenote", "neighbors graph.cenote 10"] {
        let output = bench.run(args);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "cenote {args}: {printed}");
        assert!(
            printed.contains("page 1 (superblock, bytes 4096..8192)"),
            "cenote {args}: {printed}"
        );
        assert!(printed.contains("a newer commit may be lost"), "cenote {args}: {printed}");
    }
    assert_eq!(bench.run("check graph.cenote").status.code(), Some(1));
}

#[test]
fn info_counts_the_lists_of_both_directions() {
    let (bench, _) = imported("--directed --in-edges --page-size 8KiB --keep-self-loops");
    let info = parse(&bench.succeed("info graph.cenote --json"));
    for (field, value) in [
        ("edges", json!(8)),
        ("stored_edges", json!(16)),
        ("pages", json!(2)),
        ("page_size", json!(8192)),
        ("page_bytes", json!(16384)),
        ("directed", json!(true)),
        ("in_edges", json!(true)),
    ] {
        assert_eq!(info[field], value, "{field}: {info}");
    }
}

#[test]
fn neighbors_speak_the_ids_of_the_input() {
    let (bench, _) = imported("");
    assert_eq!(bench.succeed("neighbors graph.cenote 10"), "20\n30\n40\n50\n");
    let printed = parse(&bench.succeed("neighbors graph.cenote 40 --json"));
    assert_eq!(printed, json!({"vertex": 40, "degree": 2, "neighbors": [10, 50]}));
    let message = bench.fail("neighbors graph.cenote 11");
    assert!(message.contains("no vertex `11`"), "{message}");
    let message = bench.fail("neighbors graph.cenote libc6");
    assert!(message.contains("no vertex `libc6`"), "{message}");
}

#[test]
fn no_order_of_the_vertices_shows_outside() {
    let edges = "10\t20\n10\t30\n10\t40\n10\t50\n20\t30\n40\t50\n";
    for (flags, order, seed) in [
        ("", "natural", json!(null)),
        ("--order auto", "natural", json!(null)),
        ("--order natural", "natural", json!(null)),
        ("--order cluster", "cluster", json!(null)),
        ("--order degree", "degree", json!(null)),
        ("--order bfs", "bfs", json!(null)),
        ("--order random --seed 3", "random", json!(3)),
    ] {
        let (bench, printed) = imported(flags);
        assert_eq!(printed["order"], order);
        let is_chosen = flags.is_empty() || flags.ends_with("auto");
        assert_eq!(printed["order_reason"].is_string(), is_chosen);
        let info = parse(&bench.succeed("info graph.cenote --json"));
        assert_eq!((&info["order"], &info["order_seed"]), (&json!(order), &seed));
        assert_eq!(info["degree_max_vertex"], 10);
        assert!(bench.succeed("info graph.cenote").contains(order));
        bench.succeed("check graph.cenote");
        assert_eq!(bench.succeed("neighbors graph.cenote 10"), "20\n30\n40\n50\n");
        let printed = bench.succeed("export graph.cenote");
        let mut lines: Vec<_> = printed.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, edges.lines().collect::<Vec<_>>());
        bench.succeed("run wcc graph.cenote --out wcc.csv");
        let printed = std::fs::read_to_string(bench.path("wcc.csv")).unwrap();
        assert_eq!(printed, "vertex,component\n10,10\n20,10\n30,10\n40,10\n50,10\n");
    }
}

#[test]
fn names_come_back_as_names() {
    let bench = Bench::new();
    std::fs::write(bench.path("names.txt"), "bash libc6\nlibc6 libgcc\nzsh libc6\n").unwrap();
    bench.succeed("import names.txt --directed --in-edges --out names.cenote");
    assert_eq!(bench.succeed("neighbors names.cenote libc6"), "libgcc\n");
    assert_eq!(bench.succeed("neighbors names.cenote libc6 --in"), "bash\nzsh\n");
    let printed = parse(&bench.succeed("neighbors names.cenote bash --json"));
    assert_eq!(printed, json!({"vertex": "bash", "degree": 1, "neighbors": ["libc6"]}));
    let edges = "bash\tlibc6\nlibc6\tlibgcc\nzsh\tlibc6\n";
    assert_eq!(bench.succeed("export names.cenote"), edges);
}

#[test]
fn in_edges_that_are_not_there_are_named() {
    let (bench, _) = imported("--directed");
    let message = bench.fail("neighbors graph.cenote 10 --in");
    assert!(message.contains("--in-edges"), "{message}");
}

#[test]
fn standard_input_is_an_input() {
    let bench = Bench::new();
    for (name, edges, vertices) in [("numbers", "1 2\n2 3\n", 3), ("names", "a b\nb c\nc d\n", 4)] {
        std::fs::write(bench.path("edges"), edges).unwrap();
        let output = bench
            .command(&format!("import - --format edges --out {name}.cenote --json"))
            .stdin(std::fs::File::open(bench.path("edges")).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        assert_eq!(parse(&text(&output.stdout))["vertices"], vertices);
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let child = bench
        .command("import - --format edges --out pipe.cenote --json")
        .stdin(reader)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    for pair in ["x y\n", "y z\n"] {
        std::io::Write::write_all(&mut writer, pair.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(writer);
    let output = child.wait_with_output().unwrap();
    assert_eq!(parse(&text(&output.stdout))["vertices"], 3);
}

#[test]
fn every_export_imports_to_the_same_bytes() {
    for flags in ["", "--directed --in-edges", "--directed --keep-self-loops --keep-duplicates"] {
        let (bench, _) = imported(flags);
        let graph = std::fs::read(bench.path("graph.cenote")).unwrap();
        for ending in ["txt", "tsv", "parquet"] {
            let out = format!("edges-again.{ending}");
            bench.succeed(&format!("export graph.cenote --out {out}"));
            let again = format!("again-{ending}.cenote");
            // The counts of what was left out differ, so repeated edges must stay out of it.
            bench.succeed(&format!("import {out} --out {again} {flags}"));
            let export = |graph: &str| bench.succeed(&format!("export {graph}"));
            assert_eq!(export(&again), export("graph.cenote"), "{flags} {ending}");
            let size = std::fs::metadata(bench.path(&again)).unwrap().len();
            assert_eq!(size, graph.len() as u64, "{flags} {ending}");
        }
        let lines = bench.succeed("export graph.cenote").lines().count();
        let info = parse(&bench.succeed("info graph.cenote --json"));
        assert_eq!(info["edges"], lines, "{flags}");
    }
}

#[test]
fn check_answers_yes_no_or_error() {
    let (bench, _) = imported("");
    let printed = bench.succeed("check graph.cenote");
    assert!(printed.starts_with("graph.cenote: whole, all "), "{printed}");
    assert_eq!(parse(&bench.succeed("check graph.cenote --json"))["whole"], true);

    let mut bytes = std::fs::read(bench.path("graph.cenote")).unwrap();
    bytes[4096 + 100] ^= 4;
    std::fs::write(bench.path("torn.cenote"), &bytes).unwrap();
    let output = bench.run("check torn.cenote");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("page 1 "), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
    let output = bench.run("check torn.cenote --json");
    assert_eq!(output.status.code(), Some(1));
    let printed = parse(&text(&output.stdout));
    assert_eq!((&printed["whole"], &printed["faults"][0]["page"]), (&json!(false), &json!(1)));

    let message = bench.fail("check missing.cenote");
    assert!(message.contains("missing.cenote"), "{message}");
}

#[test]
fn verbs_that_read_never_write() {
    let (bench, _) = imported("");
    let path = bench.path("graph.cenote");
    let before = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    for verb in ["info graph.cenote", "check graph.cenote", "neighbors graph.cenote 10"] {
        bench.succeed(verb);
    }
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(bench.names(), ["edges.txt", "graph.cenote"]);
}

#[test]
fn files_that_are_no_graph_are_one_line_and_status_2() {
    let (bench, _) = imported("");
    let graph = std::fs::read(bench.path("graph.cenote")).unwrap();
    std::fs::write(bench.path("empty"), "").unwrap();
    std::fs::write(bench.path("short"), &graph[..graph.len() / 2]).unwrap();
    std::fs::write(bench.path("stub"), &graph[..100]).unwrap();
    std::fs::write(bench.path("noise"), vec![0xA5; 20_000]).unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    for file in ["empty", "short", "stub", "noise", "folder", "missing", "edges.txt"] {
        for verb in ["info FILE", "neighbors FILE 10", "export FILE"] {
            let message = bench.fail(&verb.replace("FILE", file));
            assert!(message.contains(file), "{verb}: {message}");
        }
    }
}

#[test]
fn bad_input_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    for (name, content) in [
        ("empty.txt", &b""[..]),
        ("comments.txt", b"# nothing\n% here\n"),
        ("one.txt", b"1 2\n3\n"),
        ("minus.txt", b"1 2\n3 -4\n"),
        ("nan.csv", b"source,target\n1,2\nNaN,3\n"),
        ("binary.txt", b"1 2\n\x00\xff\xfe\x01\n"),
        ("odd.u32", b"12345"),
        ("cut.txt.gz", b"\x1f\x8b\x08\x00\x00"),
        ("cut.parquet", b"PAR1"),
        ("huge.txt", b"1 99999999999999999999\n"),
    ] {
        std::fs::write(bench.path(name), content).unwrap();
    }
    let before = bench.names();
    for name in before.iter().map(String::as_str).chain(["missing.txt", "noending"]) {
        let message = bench.fail(&format!("import {name} --out graph.cenote"));
        assert!(message.contains(name), "{message}");
        assert_eq!(bench.names(), before, "{name}");
    }
    let message = bench.fail("import one.txt --out graph.cenote");
    assert!(message.contains("one.txt: line 2: expected "), "{message}");
    let message = bench.fail("import minus.txt --out graph.cenote");
    assert!(message.contains("line 2"), "{message}");
}

#[test]
fn flags_that_contradict_are_refused() {
    let (bench, _) = imported("");
    for (flags, words) in [
        ("--directed --undirected", "--undirected"),
        ("--in-edges", "--directed"),
        ("--memory 0", "--memory"),
        ("--memory much", "--memory"),
        ("--memory 4KiB", "too small"),
        ("--format runes", "runes"),
        ("--page-size 5KiB", "page"),
        ("--page-size 10%", "--page-size"),
        ("--header perhaps", "perhaps"),
        ("--ids colours", "colours"),
        ("--temp-dir missing-folder", "missing-folder"),
    ] {
        let message = bench.fail(&format!("import edges.txt --out new.cenote {flags}"));
        assert!(message.contains(words), "{flags}: {message}");
    }
    let message = bench.fail("import edges.txt --out graph.cenote");
    assert!(message.contains("--overwrite"), "{message}");
    bench.succeed("import edges.txt --out graph.cenote --overwrite");
    assert_eq!(bench.names(), ["edges.txt", "graph.cenote"]);
}

#[test]
fn exports_that_cannot_be_are_refused() {
    let (bench, _) = imported("");
    for (flags, words) in [
        ("--out edges.png", ".parquet"),
        ("--out edges.u32", ".u32"),
        ("--out missing/edges.txt", "missing/edges.txt"),
        ("--json", "--out"),
    ] {
        let message = bench.fail(&format!("export graph.cenote {flags}"));
        assert!(message.contains(words), "{flags}: {message}");
    }
    assert_eq!(bench.names(), ["edges.txt", "graph.cenote"]);
}

#[test]
fn vertices_without_an_edge_are_missed_aloud() {
    let bench = Bench::new();
    std::fs::write(bench.path("social.v"), "1\n2\n3\n4\n").unwrap();
    std::fs::write(bench.path("social.e"), "1 2\n").unwrap();
    bench.succeed("import social.v social.e --out social.cenote");
    let output = bench.run("export social.cenote");
    assert_eq!(text(&output.stdout), "1\t2\n");
    let warning =
        "cenote: warning: social.cenote: 2 vertices without an edge are not in the export\n";
    assert_eq!(text(&output.stderr), warning);
}

#[test]
fn a_full_disk_during_import_leaves_no_half_graph() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 14 --out kron.u32");
    let before = bench.names();
    for kibibytes in [4, 64, 1024] {
        let output =
            bench.with_files_limited("import kron.u32 --codec raw --out kron.cenote", kibibytes);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{kibibytes} KiB: {message}");
        crate::assert_one_line(&message);
        assert_eq!(bench.names(), before, "{kibibytes} KiB");
    }
    bench.succeed("import kron.u32 --out kron.cenote");
}

#[test]
fn without_io_uring_the_answer_is_the_same_and_a_warning_says_so() {
    let (bench, _) = imported("");
    let output =
        bench.command("neighbors graph.cenote 10").env("CENOTE_IO_URING", "off").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "20\n30\n40\n50\n");
    let warning = text(&output.stderr);
    assert!(warning.starts_with("cenote: warning: "), "{warning}");
    crate::assert_one_line(&warning);
}

fn file(bench: &Bench, name: &str, content: &[u8]) {
    std::fs::write(bench.path(name), content).unwrap();
}

/// The vertices of a graph with their values.
fn vertices(bench: &Bench, graph: &str) -> String {
    bench.succeed(&format!("check {graph}"));
    bench.succeed(&format!("export {graph} --vertices found.tsv"));
    std::fs::read_to_string(bench.path("found.tsv")).unwrap()
}

#[test]
fn an_import_takes_the_values_of_vertices() {
    take_values(|prefix| if prefix.is_empty() { 9_000 } else { 70_000 });
}

#[test]
#[ignore = "long: make soak"]
fn longer_an_import_takes_the_values_of_vertices() {
    take_values(|_| 70_000);
}

/// As many values as are chosen for a prefix of the ids: more than a page holds, 70,000 are also
/// more than a commit holds.
fn take_values(values: impl Fn(&str) -> u64) {
    for (prefix, flags) in [
        ("", ""),
        ("v", "--order degree --directed --codec packed"),
        ("", "--order random --keep-self-loops --ids string"),
        ("", "--weights u32 --memory 64MiB"),
        ("", "--tier fast=fast:100KiB --tier slow=slow:9MiB --tier-block 4KiB"),
    ] {
        let bench = Bench::new();
        for folder in ["fast", "slow"] {
            std::fs::create_dir(bench.path(folder)).unwrap();
        }
        let edge = |i: u64| format!("{prefix}{} {prefix}{} 1\n", 100 + i, 100 + i * 7 % 900);
        file(&bench, "edges.txt", (0..900).map(edge).collect::<String>().as_bytes());
        // The last value of a vertex counts.
        let values = values(prefix);
        let value = |i: u64| format!("{prefix}{}\t{}\n", 500 + i, i as i64 - 40);
        let mut first = format!("# no value\n{prefix}7\n{prefix}500 13\n");
        first.extend((0..values).map(value));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, first.as_bytes()).unwrap();
        file(&bench, "first.txt.gz", &packed.finish().unwrap());
        file(&bench, "second.txt", format!("{prefix}100 9\n{prefix}501, -1\n").as_bytes());
        let files = "--vertices first.txt.gz --vertices second.txt --values i64";
        bench.succeed(&format!("import edges.txt {files} {flags} --out g.cenote"));
        let mut expected: Vec<(String, String)> = (0..values)
            .map(|i| (format!("{prefix}{}", 500 + i), (i as i64 - 40).to_string()))
            .collect();
        expected[1].1 = "-1".into();
        expected.push((format!("{prefix}100"), "9".into()));
        let found = vertices(&bench, "g.cenote");
        let found_values = found.lines().filter_map(|line| line.split_once('\t'));
        let mut found_values: Vec<(String, String)> =
            found_values.map(|(id, value)| (id.into(), value.into())).collect();
        found_values.sort();
        expected.sort();
        assert!(found_values == expected, "{flags}");
        assert!(found.lines().any(|line| line == format!("{prefix}7")), "{flags}");
        // What is exported is imported again.
        std::fs::rename(bench.path("found.tsv"), bench.path("again.txt")).unwrap();
        bench.succeed("import edges.txt --vertices again.txt --values i64 --out again.cenote");
        let [original, again] = [found, vertices(&bench, "again.cenote")].map(|text| {
            let mut lines: Vec<String> = text.lines().map(Into::into).collect();
            lines.sort();
            lines
        });
        assert!(original == again, "{flags}");
    }
}

#[test]
fn wrong_values_of_vertices_are_named_and_leave_no_graph() {
    let bench = Bench::new();
    file(&bench, "edges.txt", b"1 2\n2 3\n");
    for (lines, flags, words) in [
        (
            "1 5\n2 x\n",
            "",
            "values.txt: line 2: expected behind the id nothing or its value, an int",
        ),
        ("1 x\n", "", "line 1: expected behind the id nothing or its value, a finite number"),
        ("1 5\n2 -5\n", "", "line 2: expected"),
        ("1 5\n2 0.5\n", "--values i64", "line 2: expected"),
        ("1 nan\n", "--values f64", "line 1: expected"),
        ("1 inf\n", "", "line 1: expected"),
        ("1 18446744073709551616\n", "--values u64", "line 1: expected"),
        ("one 5\n", "--ids integer", "one"),
    ] {
        file(&bench, "values.txt", lines.as_bytes());
        let import = format!("import edges.txt --vertices values.txt --out g.cenote {flags}");
        let printed = bench.fail(&import);
        assert!(printed.contains(words), "{lines}: {printed}");
        let names = bench.names();
        assert_eq!(names, ["edges.txt", "values.txt"], "{lines}");
    }
    file(&bench, "values.txt", &[b'1', b' ', 0xff, b'\n']);
    bench.fail("import edges.txt --vertices values.txt --out g.cenote");
    // Of a pipe values are refused; ids alone are not.
    let through = |lines: &str| {
        file(&bench, "values.txt", lines.as_bytes());
        let mut child = bench
            .command("import edges.txt --vertices - --out g.cenote")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let refused = through("1\n2 5\n");
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert!(message.contains("values need a file that can be read twice"), "{message}");
    assert!(through("1\n9\n").status.success());
    assert!(bench.fail("import edges.txt --values u64 --out h.cenote").contains("--vertices"));
}
