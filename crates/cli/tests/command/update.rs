//! `cenote update`: files in every format, lines of changes, commits, errors that change nothing.

use std::fs::DirEntry;
use std::io::Write;
use std::process::{Child, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Bench, parse, text};

/// A folder with a graph of two edges, and its flags.
fn imported(edges: &str, flags: &str) -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path("edges.txt"), edges).unwrap();
    bench.succeed(&format!("import edges.txt --out g.cenote {flags}"));
    bench
}

/// A run with standard input.
fn fed(bench: &Bench, args: &str, input: &str) -> Output {
    let mut child = bench
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that fails early does not read it all.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn exported(bench: &Bench) -> Vec<String> {
    let mut lines: Vec<String> =
        bench.succeed("export g.cenote").lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn lines_add_and_delete_in_their_order() {
    let bench = imported("a b\nb c\n", "--directed --in-edges");
    let lines = "# changes\n\n+ a c\n- b c\n\t+ c\u{e9} a \r\n- a x\n- c a\n+ a b\n+ a a\n- a c\n";
    let output = fed(&bench, "update g.cenote --stdin --json --durability sync", lines);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = parse(&text(&output.stdout));
    for (field, value) in [
        ("commits", 1),
        ("epoch", 2),
        ("added", 2),
        ("present", 1),
        ("deleted", 2),
        ("absent", 1),
        ("self_loops", 1),
        ("unknown_vertices", 1),
        ("new_vertices", 1),
    ] {
        assert_eq!(printed[field], value, "{field}: {printed}");
    }
    assert!(printed["log_bytes_written"].as_u64().unwrap() > 4096, "{printed}");
    assert!(printed["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(exported(&bench), ["a\tb", "c\u{e9}\ta"]);
    bench.succeed("check g.cenote");
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!((&info["epoch"], &info["logged_changes"]), (&2.into(), &2.into()), "{info}");
    assert_eq!(info["log_bytes"], 1 << 20, "{info}");
    let merged = parse(&bench.succeed("merge g.cenote --json"));
    assert_eq!((&merged["merged"], &merged["epoch"]), (&2.into(), &3.into()), "{merged}");
    let pages = merged["pages_written"].as_u64().unwrap();
    assert!(pages > 0 && merged["bytes_written"] == pages * 4096, "{merged}");
    assert_eq!(exported(&bench), ["a\tb", "c\u{e9}\ta"]);
    bench.succeed("check g.cenote");
    let again = bench.succeed("merge g.cenote");
    assert!(again.contains("merged       0 changes\n"), "{again}");
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!((&info["epoch"], &info["appended_vertices"]), (&3.into(), &1.into()));
    assert_eq!(info["logged_changes"], 0);
    assert!(info["free_pages"].as_u64().unwrap() > 0, "{info}");
    let table = bench.succeed("info g.cenote");
    assert!(table.contains("appended        1 vertices\n"), "{table}");
}

#[test]
fn lines_add_and_delete_vertices() {
    let bench = imported("a b\nb c\nc d\n", "--directed");
    let lines = "- b\n- b\n+ b\n+ e\n+ a\n- d\n";
    let output = fed(&bench, "update g.cenote --stdin --json", lines);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = parse(&text(&output.stdout));
    for (field, value) in [
        ("new_vertices", 2),
        ("deleted_vertices", 2),
        ("deleted_with_vertices", 3),
        ("unknown_vertices", 1),
        ("present", 1),
        ("deleted", 0),
    ] {
        assert_eq!(printed[field], value, "{field}: {printed}");
    }
    bench.succeed("check g.cenote");
    let info = parse(&bench.succeed("info g.cenote --json"));
    assert_eq!((&info["vertices"], &info["deleted_vertices"]), (&4.into(), &1.into()), "{info}");
    let table = bench.succeed("info g.cenote");
    assert!(table.contains("deleted         1 vertices\n"), "{table}");
    assert!(bench.fail("neighbors g.cenote d").contains("its 4 vertices have names"));
    let output = fed(&bench, "update g.cenote --stdin", "- c\n");
    let table = text(&output.stdout);
    assert!(table.contains("deleted vertices  1, with 0 edges\n"), "{table}");
    let compacted = parse(&bench.succeed("compact g.cenote --json"));
    assert_eq!((&compacted["vertices"], &compacted["deleted_vertices"]), (&3.into(), &2.into()));
}

#[test]
fn lines_set_and_remove_values() {
    let bench = imported("a b\nb c\n", "");
    let output =
        fed(&bench, "update g.cenote --stdin --json --values i64", "= a 5\n= b 7\n= b\n= x 1\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = parse(&text(&output.stdout));
    let counts = ["values_set", "values_removed", "unknown_vertices"].map(|name| &printed[name]);
    assert_eq!(counts, [2, 1, 1], "{printed}");
    let output = fed(&bench, "update g.cenote --stdin", "= c -3\n");
    assert!(text(&output.stdout).contains("values            1 set, 0 removed\n"), "{output:?}");
    let shown = bench.succeed("export g.cenote --vertices v.tsv");
    assert_eq!(shown, "v.tsv: 3 vertices, 2 with a value\n");
    assert_eq!(std::fs::read_to_string(bench.path("v.tsv")).unwrap(), "a\t5\nb\nc\t-3\n");
    let shown = parse(&bench.succeed("export g.cenote --vertices v.tsv --json"));
    assert_eq!((&shown["vertices"], &shown["values"]), (&3.into(), &2.into()));
    let wrong = fed(&bench, "update g.cenote --stdin --values u64", "");
    assert!(text(&wrong.stderr).contains("its values are of type i64, not u64"), "{wrong:?}");
    assert!(bench.succeed("info g.cenote").contains("i64, of 2 vertices\n"));
    let refused = bench.fail("export g.cenote --vertices v.csv");
    assert!(refused.contains("use .txt, .tsv or .parquet"), "{refused}");
    bench.succeed("check g.cenote");
}

#[test]
fn a_wrong_line_is_named_and_nothing_is_changed() {
    let bench = imported("1 2\n2 3\n", "");
    let before = std::fs::read(bench.path("g.cenote")).unwrap();
    for (wrong, words) in [
        (
            "1 2",
            "line 2: expected `+ u v [w]`, `- u v [w]`, `= u v w`, `+ u`, `- u` or \
             `= u [value]`, found `1 2`",
        ),
        ("= 1 x", "line 2: g.cenote: the value `x`: expected a finite number"),
        ("=", "line 2: expected"),
        ("= 1 2 3", "line 2: g.cenote: the weight `3`: the edges of this graph have no weights"),
        ("+", "line 2: expected"),
        ("- bob", "line 2: g.cenote: the id `bob`"),
        ("+ 1 2 3", "line 2: g.cenote: the weight `3`: the edges of this graph have no weights"),
        ("- 1 2 3", "line 2: g.cenote: the weight `3`: the edges of this graph have no weights"),
        ("+ 1 2 3 4", "line 2: expected"),
        ("- 1 2 3 4", "line 2: expected"),
        ("+ 1 bob", "line 2: g.cenote: the id `bob`"),
        ("- -1 2", "line 2: g.cenote: the id `-1`"),
    ] {
        for durability in ["group", "sync"] {
            let args = format!("update g.cenote --stdin --durability {durability}");
            let output = fed(&bench, &args, &format!("+ 1 3\n{wrong}\n+ 7 8\n"));
            let printed = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{wrong}: {printed}");
            let words = format!("after no commit: standard input: {words}");
            assert!(
                printed.contains(&words) && printed.matches('\n').count() == 1,
                "{wrong}: {printed}"
            );
            assert_eq!(std::fs::read(bench.path("g.cenote")).unwrap(), before, "{wrong}");
        }
    }
}

#[test]
fn files_of_every_format_are_added_and_deleted() {
    let bench = imported("1 2\n", "");
    let pairs = [[2u32, 3], [3, 4]];
    let bytes32: Vec<u8> = pairs.as_flattened().iter().flat_map(|id| id.to_le_bytes()).collect();
    let bytes64: Vec<u8> =
        pairs.as_flattened().iter().flat_map(|id| u64::from(*id).to_le_bytes()).collect();
    // Degrees and targets of the vertices 0 to 3.
    let lists: Vec<u8> = [0u32, 0, 1, 3, 1, 4].iter().flat_map(|id| id.to_le_bytes()).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"2 3\n3 4\n").unwrap();
    let files: [(&str, Vec<u8>); 9] = [
        ("new.txt", b"% a comment\n2 3\n3,4\n".to_vec()),
        ("new.txt.gz", packed.finish().unwrap()),
        ("new.csv", b"weight,source,target\n1,2,3\n1,3,4\n".to_vec()),
        ("new.tsv", b"2\t3\n3\t4\n".to_vec()),
        ("new.adjlist", b"2 3\n3 4\n".to_vec()),
        ("new.graph", b"4 2\n\n3\n2 4\n3\n".to_vec()),
        ("new.mtx", b"%%MatrixMarket matrix coordinate pattern general\n4 4 2\n2 3\n3 4\n".into()),
        ("new.u32", bytes32),
        ("new.u64", bytes64),
    ];
    let names = files.iter().map(|(name, _)| *name).chain(["new.adj", "new.parquet"]);
    let names: Vec<&str> = names.collect();
    for (name, bytes) in &files {
        std::fs::write(bench.path(name), bytes).unwrap();
    }
    std::fs::write(bench.path("new.adj"), lists).unwrap();
    bench.succeed("import new.txt --out new.cenote");
    bench.succeed("export new.cenote --out new.parquet");
    for name in names {
        let printed = parse(&bench.succeed(&format!("update g.cenote --add {name} --json")));
        assert_eq!(printed["added"], 2, "{name}: {printed}");
        assert_eq!(exported(&bench), ["1\t2", "2\t3", "3\t4"], "{name}");
        let printed = parse(&bench.succeed(&format!("update g.cenote --delete {name} --json")));
        assert_eq!(printed["deleted"], 2, "{name}: {printed}");
        assert_eq!(exported(&bench), ["1\t2"], "{name}");
    }
    bench.succeed("check g.cenote");
    let output = fed(&bench, "update g.cenote --add - --format edges", "5 6\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(exported(&bench), ["1\t2", "5\t6"]);
}

#[test]
fn names_are_names_in_every_file() {
    let bench = imported("ada bob\n", "");
    std::fs::write(bench.path("a.csv"), "from,to\n\"dyke\",ada\n7,bob\n").unwrap();
    std::fs::write(bench.path("b.adjlist"), "bob cem dil ada\ncem ada\n").unwrap();
    bench.succeed("update g.cenote --add a.csv --add b.adjlist");
    let expected = ["7\tbob", "ada\tbob", "ada\tcem", "ada\tdyke", "bob\tcem", "bob\tdil"];
    assert_eq!(exported(&bench), expected);
}

#[test]
fn more_than_the_memory_holds_takes_several_commits() {
    let bench = imported("1 2\n", "");
    let edges: String = (0..160_000).map(|i| format!("{} {}\n", i % 977, i % 499 + 1)).collect();
    std::fs::write(bench.path("all.txt"), &edges).unwrap();
    let printed = parse(&bench.succeed("update g.cenote --add all.txt --memory 28MiB --json"));
    assert!(printed["commits"].as_u64().unwrap() > 1, "{printed}");
    let answers = ["added", "present", "self_loops"].map(|field| printed[field].as_u64().unwrap());
    assert_eq!(answers.iter().sum::<u64>(), 160_000, "{printed}");
    assert!(printed["peak_rss_bytes"].as_u64().unwrap() < 34 << 20, "{printed}");
    bench.succeed("check g.cenote");
    std::fs::write(bench.path("bad.txt"), format!("{edges}oops\n")).unwrap();
    let error = bench.fail("update g.cenote --delete bad.txt --memory 28MiB");
    assert!(error.contains("after ") && error.contains(" commits with the first "), "{error}");
    assert!(error.contains("bad.txt: line 160001"), "{error}");
    bench.succeed("check g.cenote");
    // What a budget that is too small asks for suffices.
    let error = bench.fail("update g.cenote --delete all.txt --memory 8MiB");
    let hint = error.split("--memory ").nth(1).unwrap().split(|c: char| !c.is_alphanumeric());
    let hint = hint.into_iter().next().unwrap();
    bench.succeed(&format!("update g.cenote --delete all.txt --memory {hint}"));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let bench = imported("1 2\n1 2\n", "");
    std::fs::write(bench.path("vertices.v"), "1\n").unwrap();
    for (args, words) in [
        ("update g.cenote", "nothing to change: give --add FILE"),
        ("update g.cenote --stdin --add -", "only once"),
        ("update g.cenote --add -", "--format"),
        ("update g.cenote --add vertices.v", "no edges"),
        ("update g.cenote --add missing.txt", "missing.txt: cannot open"),
        ("update missing.cenote --add edges.txt", "missing.cenote"),
        ("update edges.txt --add edges.txt", "not a Cenote graph"),
        ("update g.cenote --add edges.txt --memory 1MiB", "--memory"),
        ("update . --add edges.txt", "no file or block device"),
    ] {
        let printed = bench.fail(args);
        assert!(printed.contains(words), "{args}: {printed}");
    }
}

/// Waits until a process has locked a graph to change it, so that it is not refused by another one.
pub fn wait_for_lock(process: &Child) {
    let (folder, start) = (format!("/proc/{}/fdinfo", process.id()), std::time::Instant::now());
    // Files may be closed meanwhile.
    let is_locked = |file: DirEntry| {
        let locks = std::fs::read_to_string(file.path()).unwrap_or_default();
        locks.lines().any(|line| line.contains("OFDLCK") && line.contains(" WRITE "))
    };
    while !std::fs::read_dir(&folder).unwrap().flatten().any(is_locked) {
        assert!(start.elapsed().as_secs() < 60, "it locks the graph before it reads");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_second_writer_is_refused_with_the_process_of_the_first() {
    let bench = imported("1 2\n", "");
    let mut first = bench
        .command("update g.cenote --stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = first.stdin.take().unwrap();
    writeln!(lines, "+ 2 3").unwrap();
    let process = format!("process {} is changing the graph", first.id());
    wait_for_lock(&first);
    let printed = bench.fail("update g.cenote --add edges.txt");
    assert!(printed.contains(&process) && printed.contains("g.cenote"), "{printed}");
    bench.succeed("run wcc g.cenote");
    drop(lines);
    assert!(first.wait().unwrap().success());
    assert_eq!(exported(&bench), ["1\t2", "2\t3"]);
}

#[test]
fn a_killed_update_leaves_whole_commits() {
    kill_updates(12);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_killed_update_leaves_whole_commits() {
    kill_updates(24);
}

/// Kills so many after up to 132 ms.
fn kill_updates(rounds: u64) {
    let bench = imported("0 1\n", "");
    let lines: String = (1..30_000).map(|i| format!("+ {i} {}\n", i + 1)).collect();
    std::fs::write(bench.path("lines"), lines).unwrap();
    let mut before = 1;
    for round in 0..rounds {
        let mut child = bench
            .command(&format!(
                "update g.cenote --stdin --memory 19MiB --durability {}",
                ["sync", "group", "none"][round as usize % 3]
            ))
            .stdin(std::fs::File::open(bench.path("lines")).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(
            round * round * 144 / (rounds * rounds),
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        bench.succeed("check g.cenote");
        // The lines of whole commits are a path from 0 on.
        let found = exported(&bench);
        let edges = found.len();
        let mut prefix: Vec<String> = (0..edges).map(|i| format!("{i}\t{}", i + 1)).collect();
        prefix.sort();
        assert!(found == prefix, "{edges} edges: they are not those of the first lines");
        let info = parse(&bench.succeed("info g.cenote --json"));
        assert_eq!(info["vertices"], edges + 1, "{info}");
        assert!(edges >= before, "{edges} edges, {before} before");
        before = edges;
    }
}

#[test]
fn a_graph_that_may_only_be_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let bench = imported("1 2\n", "");
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    std::fs::set_permissions(bench.path("g.cenote"), mode(0o444)).unwrap();
    std::fs::set_permissions(bench.folder.path(), mode(0o555)).unwrap();
    assert_eq!(exported(&bench), ["1\t2"]);
    let output = bench.run("update g.cenote --add edges.txt");
    // The superuser may write to it.
    if output.status.code() == Some(2) {
        assert!(text(&output.stderr).contains("cannot open it for changes"));
    }
    std::fs::set_permissions(bench.folder.path(), mode(0o755)).unwrap();
}

#[test]
fn a_log_that_was_cut_off_is_read_to_its_last_whole_batch_with_a_warning() {
    let bench = imported("1 2\n", "");
    for edge in ["+ 2 3\n", "+ 3 4\n"] {
        let output = fed(&bench, "update g.cenote --stdin", edge);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let mut bytes = std::fs::read(bench.path("g.cenote")).unwrap();
    // The log is the last megabyte, and each update took a block.
    let log = bytes.len() - (1 << 20);
    bytes[log + 4096 + 100] ^= 1;
    std::fs::write(bench.path("g.cenote"), &bytes).unwrap();
    let output = bench.run("export g.cenote");
    assert_eq!(text(&output.stdout), "1\t2\n2\t3\n");
    let warning = text(&output.stderr);
    let words = ["cenote: warning: g.cenote", "log", "checksum", "all commits before this one"];
    assert!(words.iter().all(|word| warning.contains(word)), "{warning}");
    assert!(!warning.contains("import again"), "{warning}");
    let output = fed(&bench, "update g.cenote --stdin", "+ 4 5\n");
    let warning = text(&output.stderr);
    assert!(warning.contains("all commits before this one"), "{warning}");
    assert_eq!(exported(&bench), ["1\t2", "2\t3", "4\t5"]);
    // A file that ends within its log is whole up to there.
    let bytes = std::fs::read(bench.path("g.cenote")).unwrap();
    std::fs::write(bench.path("g.cenote"), &bytes[..log + 6000]).unwrap();
    let output = bench.run("export g.cenote");
    assert_eq!(text(&output.stdout), "1\t2\n2\t3\n");
    assert!(text(&output.stderr).contains("the file ends in the log"));
    std::fs::write(bench.path("g.cenote"), &bytes).unwrap();
    // With a flush behind it that says that it was durable, it is damage.
    let mut bytes = std::fs::read(bench.path("g.cenote")).unwrap();
    bytes[log + 100] ^= 1;
    std::fs::write(bench.path("g.cenote"), &bytes).unwrap();
    let error = bench.fail("export g.cenote");
    assert!(error.contains("log") && error.contains("flush 1 is damaged"), "{error}");
    let output = bench.run("check g.cenote");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("flush 1 is damaged"), "{}", text(&output.stdout));
}

/// An update whose lines come through the pipe.
fn fed_slowly(bench: &Bench, args: &str) -> (std::process::Child, std::process::ChildStdin) {
    let mut command = bench.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = child.stdin.take().unwrap();
    (child, lines)
}

/// Waits until the graph has these edges.
fn await_edges(bench: &Bench, edges: &[&str]) {
    let start = std::time::Instant::now();
    while exported(bench) != edges {
        assert!(start.elapsed().as_secs() < 60, "the lines are in the graph soon");
    }
}

#[test]
fn lines_are_committed_in_groups_as_they_come() {
    let bench = imported("1 2\n", "");
    for durability in ["", "--durability group", "--durability none"] {
        let (child, mut lines) =
            fed_slowly(&bench, &format!("update g.cenote --stdin --json {durability}"));
        // The last line has no end yet.
        write!(lines, "+ 2 3\n\n# nothing\n- 1 2\n+ 10 1").unwrap();
        await_edges(&bench, &["2\t3"]);
        let more: String = (11..500).map(|i| format!("+ {i} {}\n", i + 1)).collect();
        lines.write_all(format!("1\n{more}").as_bytes()).unwrap();
        writeln!(lines, "- 2 3\n+ 1 2").unwrap();
        for i in 10..500 {
            writeln!(lines, "- {i} {}", i + 1).unwrap();
        }
        write!(lines, "+ 2 9").unwrap();
        drop(lines);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let printed = parse(&text(&output.stdout));
        assert!(printed["commits"].as_u64().unwrap() > 1, "{printed}");
        assert_eq!((&printed["added"], &printed["deleted"]), (&493.into(), &492.into()));
        assert_eq!(exported(&bench), ["1\t2", "2\t9"]);
        assert!(fed(&bench, "update g.cenote --stdin", "- 2 9\n").status.success());
    }
    bench.succeed("check g.cenote");
}

#[test]
fn columns_of_files_are_those_that_are_named() {
    let bench = imported("a b\n", "");
    std::fs::write(bench.path("n.csv"), "id,start,km,arrival\n3,b,1.5,c\n4,c,2,a\n").unwrap();
    let columns = "--source-column start --target-column 4";
    bench.succeed(&format!("update g.cenote --add n.csv {columns}"));
    assert_eq!(exported(&bench), ["a\tb", "a\tc", "b\tc"]);
    bench.succeed(&format!("update g.cenote --delete n.csv {columns} --header yes"));
    assert_eq!(exported(&bench), ["a\tb"]);
    bench.succeed(
        "import n.csv --source-column start --target-column arrival --weights f32 \
                   --weight-column km --out w.cenote",
    );
    std::fs::write(bench.path("m.csv"), "start,arrival,km,price\na,d,7,1\n").unwrap();
    let named = "--source-column start --target-column arrival --weight-column km";
    bench.succeed(&format!("update w.cenote --add m.csv {named}"));
    bench.succeed("export w.cenote --out w.tsv");
    let exported = std::fs::read_to_string(bench.path("w.tsv")).unwrap();
    assert!(exported.contains("a\td\t7"), "{exported}");
}

#[test]
fn before_a_wrong_line_the_commits_stay_and_the_message_counts_them() {
    let bench = imported("1 2\n", "");
    let (child, mut lines) = fed_slowly(&bench, "update g.cenote --stdin");
    write!(lines, "# one\n+ 2 3\n+ 3 4\n").unwrap();
    await_edges(&bench, &["1\t2", "2\t3", "3\t4"]);
    write!(lines, "+ 7 8\n* 7 9\n+ 8 9\n").unwrap();
    drop(lines);
    let output = child.wait_with_output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    let words = "after 1 commit with the first 2 changes, up to line 3 of standard input: standard \
                 input: line 5: expected";
    assert!(message.contains(words), "{message}");
    assert_eq!(exported(&bench), ["1\t2", "2\t3", "3\t4"]);
    bench.succeed("check g.cenote");
}

#[test]
fn many_lines_at_once_are_few_commits_within_a_small_memory() {
    let bench = imported("0 1\n", "");
    let lines: String = (1..200_000).map(|i| format!("+ {i} {}\n", i + 1)).collect();
    let output = fed(&bench, "update g.cenote --stdin --memory 64MiB --json", &lines);
    let printed = parse(&text(&output.stdout));
    assert_eq!(printed["added"], 199_999, "{printed}");
    assert!((1..40).contains(&printed["commits"].as_u64().unwrap()), "{printed}");
    assert!(printed["peak_rss_bytes"].as_u64().unwrap() < 76 << 20, "{printed}");
    assert_eq!(exported(&bench).len(), 200_000);
    bench.succeed("check g.cenote");
}

#[test]
fn an_interrupted_update_keeps_its_commits_and_drops_the_lines_that_wait() {
    let bench = imported("1 2\n", "");
    for (durability, kept) in [("sync", false), ("group", true)] {
        let (child, mut lines) =
            fed_slowly(&bench, &format!("update g.cenote --stdin --durability {durability}"));
        writeln!(lines, "+ 2 3").unwrap();
        let a_while = std::time::Duration::from_millis(300);
        match kept {
            true => await_edges(&bench, &["1\t2", "2\t3"]),
            false => std::thread::sleep(a_while),
        }
        write!(lines, "+ 3 4").unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        std::thread::sleep(a_while);
        let _ = writeln!(lines);
        drop(lines);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        if kept {
            let message = "cenote: after 1 commit with the first 1 changes, up to line 1 of \
                           standard input: interrupted\n";
            assert_eq!(text(&output.stderr), message);
            assert_eq!(exported(&bench), ["1\t2", "2\t3"]);
        } else {
            assert_eq!(exported(&bench), ["1\t2"]);
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_not_cut_in_two() {
    let bench = imported("1 2\n", "");
    for durability in ["sync", "group"] {
        let args = format!("update g.cenote --stdin --durability {durability}");
        for more in [1, 1 << 20] {
            let line = format!("#{}+ 1 99\n", "x".repeat((1 << 18) - 1 + more));
            let output = fed(&bench, &args, &line);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2));
            assert!(message.contains("line 1: longer than 262144 bytes"), "{message}");
        }
        let output = fed(&bench, &args, &format!("#{}\n", "x".repeat((1 << 18) - 2)));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(exported(&bench), ["1\t2"]);
    }
}

#[test]
fn weights_are_added_and_set() {
    for (kind, half) in [("f32", "0.5"), ("f64", "0.5"), ("u32", "5"), ("i64", "-5")] {
        let bench = imported(&format!("1 2 {half}\n2 3 7\n3 4 1\n"), &format!("--weights {kind}"));
        let lines = "+ 4 1 9\n= 2 1 8\n= 1 3 6\n= 1 77 6\n+ 2 3 100\n- 3 4\n+ 5 6 2\n";
        let output = fed(&bench, "update g.cenote --stdin --json", lines);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = parse(&text(&output.stdout));
        for (field, value) in [
            ("added", 2),
            ("reweighted", 1),
            ("present", 1),
            ("deleted", 1),
            ("absent", 1),
            ("unknown_vertices", 1),
        ] {
            assert_eq!(printed[field], value, "{kind}: {field}: {printed}");
        }
        let point = if kind.starts_with('f') { ".0" } else { "" };
        let weighted = |edges: &[&str]| -> Vec<String> {
            edges.iter().map(|edge| format!("{edge}{point}")).collect()
        };
        let expected = weighted(&["1\t2\t8", "1\t4\t9", "2\t3\t7", "5\t6\t2"]);
        assert_eq!(exported(&bench), expected, "{kind}");
        bench.succeed("check g.cenote");
        std::fs::write(bench.path("new.csv"), "source,target,weight\n6,7,3\n1,2,1\n").unwrap();
        let printed = parse(&bench.succeed("update g.cenote --add new.csv --json"));
        assert_eq!((&printed["added"], &printed["present"]), (&1.into(), &1.into()));
        bench.succeed("update g.cenote --delete new.csv");
        assert_eq!(exported(&bench), weighted(&["1\t4\t9", "2\t3\t7", "5\t6\t2"]), "{kind}");
        bench.succeed("check g.cenote");
        let run = bench.succeed("run sssp g.cenote --source 1 --verify");
        assert!(!run.is_empty());
        for (wrong, words) in [
            ("+ 1 9", "an edge needs a weight"),
            ("= 1 4 x", "the weight `x`: expected"),
            ("+ 1 9 nan", "the weight `nan`: expected"),
        ] {
            let output = fed(&bench, "update g.cenote --stdin", wrong);
            assert_eq!(output.status.code(), Some(2), "{kind}: {wrong}");
            assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        }
    }
}
