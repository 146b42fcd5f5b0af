//! Bad input gives an error of one line that names file, place, what was expected and what was
//! found, and leaves no file behind.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_import::{
    ComponentsConfig, Edges, Format, IdKind, ImportConfig, ImportError, Input, InputSpec,
    NoProgress, Phase, Progress, components, import,
};

use crate::oracle::file;

fn config() -> ImportConfig {
    ImportConfig::default().directed(true).memory_bytes(64 << 20)
}

/// The message of an import that must fail, and must leave nothing behind.
fn refusal(inputs: &[InputSpec], config: &ImportConfig) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let error = import(inputs, &out, config, &NoProgress).expect_err("bad input is refused");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    let message = error.to_string();
    assert!(!message.contains('\n'), "one line: {message}");
    message
}

#[track_caller]
fn assert_refused(name: &str, bytes: &[u8], parts: &[&str]) {
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let spec = file(&folder, name, bytes);
        let message = refusal(&[spec], &config().threads(threads));
        for part in parts.iter().chain(&[name]) {
            assert!(message.contains(part), "{part:?} is missing in: {message}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_line_that_is_no_edge_is_named() {
    assert_refused("a.txt", b"1 2\n3\n4 5\n", &["line 2", "two ids", "found \"3\""]);
    assert_refused("a.txt", b"# c\n\n1 2\r\n3 \r\n", &["line 4", "found \"3 \""]);
    assert_refused("a.csv", b"source,target\n1,2\n3\n", &["line 3", "2 columns"]);
    assert_refused("a.csv", b"source,target\n1,2\n\"3,4\n", &["line 3", "closing quote"]);
    assert_refused("a.tsv", b"a\tb\n1\t\n", &["line 2", "id"]);
}

#[test]
fn numbers_that_are_no_ids_are_named() {
    for wrong in ["-1", "1.0", "nan", "NaN", "inf", "1e5", "18446744073709551616", "+3"] {
        let text = format!("1 2\n2 {wrong}\nx y\n");
        let parts = ["line 2", "an integer id from 0 to 18446744073709551615", wrong];
        assert_refused("a.txt", text.as_bytes(), &parts);
        assert_refused("a.adjlist", text.as_bytes(), &parts);
    }
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt", b"1 2\n2 x\n");
    let message = refusal(&[spec], &config().ids(IdKind::Integer));
    assert!(message.contains("line 2") && message.contains("an integer id"), "{message}");
}

#[test]
fn the_first_of_many_broken_lines_is_named_far_into_packed_input() {
    let mut text = Vec::new();
    for line in 1..=500_000u64 {
        match line {
            400_000.. if line % 7 == 0 => writeln!(text, "{line}").unwrap(),
            _ => writeln!(text, "{line} {}", line * 3).unwrap(),
        }
    }
    let parts = ["line 400001", "found \"400001\""];
    assert_refused("a.txt", &text, &parts);
    assert_refused("a.txt.gz", &gzip(&text), &parts);
    assert_refused("a.txt.zst", &zstd::encode_all(&text[..], 1).unwrap(), &parts);
}

#[test]
fn binary_junk_is_no_text() {
    let junk: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_refused("a.txt", &junk, &["line "]);
    assert_refused("a.txt", b"a b\n\xff\xfe c\n", &["line 2", "UTF-8", "\\xff\\xfe c"]);
    assert_refused("a.txt", b"a b\nc\0 d\n", &["line 2", "ids without NUL bytes", "c\\0 d"]);
    assert_refused("a.txt", b"BZh91AY&SY", &["bzip2"]);
    assert_refused("a.txt", b"\xfd7zXZ\0", &["xz"]);
    assert_refused("a.txt", b"PAR1xxxx", &["`format` parquet"]);
    assert_refused("a.txt", b"\xff\xfe1\0 \x002\0", &["UTF-16"]);
}

#[test]
fn input_that_is_cut_off_is_named() {
    let mut text = Vec::new();
    (0..50_000u64).for_each(|i| writeln!(text, "{i} {}", i * 31 % 1009).unwrap());
    let packed = gzip(&text);
    assert_refused("a.txt.gz", &packed[..packed.len() / 2], &["gzip", "cut off"]);
    let packed = zstd::encode_all(&text[..], 1).unwrap();
    assert_refused("a.txt.zst", &packed[..packed.len() / 2], &["zstd", "cut off"]);
    assert_refused("a.u32", &[1, 0, 0, 0, 2, 0, 0], &["middle of an edge", "7 bytes"]);
    assert_refused("a.u64", &[0; 24], &["middle of an edge", "24 bytes"]);
    assert_refused("a.adj", &[2, 0, 0, 0, 1, 0, 0, 0], &["vertex 0", "1 targets"]);
    assert_refused("a.graph", b"3 2\n2\n1 3\n", &["3 vertices", "2 lines"]);
    assert_refused("a.graph", b"3 3\n2\n1 3\n2\n", &["3 edges", "2 were found"]);
    assert_refused("a.graph", b"3 1\n2\n3\n1\n", &["one end only"]);
    let matrix = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n";
    assert_refused("a.mtx", matrix, &["2 entries", "1 were found"]);
    assert_refused("a.parquet", b"PAR1 and then not", &["Parquet", "cut off"]);
}

#[test]
fn headers_that_are_wrong_are_named() {
    assert_refused("a.mtx", b"1 2\n", &["line 1", "%%MatrixMarket"]);
    let array = b"%%MatrixMarket matrix array real general\n2 2\n";
    assert_refused("a.mtx", array, &["line 1", "coordinate"]);
    let oblong = b"%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n";
    assert_refused("a.mtx", oblong, &["line 2", "square"]);
    let outside = b"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 4\n";
    assert_refused("a.mtx", outside, &["line 3", "from 1 to 3"]);
    assert_refused("a.graph", b"x\n", &["line 1", "METIS header"]);
    assert_refused("a.graph", b"2 1\n2\n1\n1\n", &["line 4", "after the 2 vertices"]);
    assert_refused("a.graph", b"2 1\n2\n0\n", &["line 3", "from 1 to 2"]);
    assert_refused("a.mtx", b"", &["rows columns entries"]);
    assert_refused("a.graph", b"", &["METIS file begins"]);
    assert_refused("a.csv", b"only\n1\n", &["two columns"]);
}

#[test]
fn an_unknown_column_is_named_with_those_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.csv", b"alpha,beta\n1,2\n");
    let spec = InputSpec { source_column: Some("gamma".to_owned()), ..spec };
    let message = refusal(&[spec], &config());
    assert!(message.contains("gamma") && message.contains("alpha, beta"), "{message}");
}

#[test]
fn empty_input_is_an_error() {
    for name in ["a.txt", "a.u32", "a.adjlist", "a.v", "a.adj", "a.csv", "a.tsv", "a.csv.gz"] {
        assert_refused(name, b"", &["no edges and no vertices"]);
    }
    assert_refused("a.csv", b"source,target\n", &["no edges and no vertices"]);
    assert_refused("a.txt", b"# nothing\n\n", &["no edges and no vertices"]);
}

#[test]
fn nothing_is_found_straight_in_files_and_in_memory_without_edges() {
    let folder = tempfile::tempdir().unwrap();
    let config = ComponentsConfig::default().memory_bytes(32 << 20);
    let none: &[(u32, u32)] = &[];
    let files = [("a.txt", ""), ("b.txt", "# none\n"), ("a.csv", ""), ("b.csv", "a,b\n")];
    let files = files.map(|(name, text)| Input::File(file(&folder, name, text.as_bytes())));
    for input in files.into_iter().chain([Edges::slice(none).into()]) {
        let name = input.name();
        let found = components(&[input], &config, &NoProgress).unwrap();
        assert_eq!((found.ids.len(), found.components, found.largest), (0, 0, 0), "{name}");
    }
    let ended = Input::File(file(&folder, "a.mtx", b""));
    assert!(components(&[ended], &config, &NoProgress).is_err(), "it has a header");
}

#[test]
fn a_folder_is_no_file_whatever_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["edges", "edges.csv", "edges.parquet", "edges.u32", "edges.txt.gz"] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let message = refusal(&[InputSpec::new(path)], &config());
        let expected = format!("{name}: cannot open: it is a folder, not a file; give the files");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn a_file_that_is_not_packed_as_its_name_says_is_named() {
    let junk: Vec<u8> = (0..300u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let page = b"<html>\n<title>not found</title>\n";
    for (name, packer) in [("a.csv.gz", "gzip"), ("a.txt.gz", "gzip"), ("a.txt.zst", "zstd")] {
        let says = format!("{name}: is not packed with {packer}, as its name says, and was read");
        assert_refused(name, &junk, &[&says, "expected ", "get the file anew"]);
        assert_refused(name, page, &[&says, "line 1: expected", "found \"<html>\""]);
    }
    assert_refused("a.csv.gz", b"\xfd7zXZ\0", &["a.csv.gz: is packed with xz; unpack it first"]);
    assert_refused("a.txt.zst", &gzip(b"1\n"), &["a.txt.zst: line 1: expected"]);
    // As numbers, all would be edges.
    for (name, packer) in [("a.u32.gz", "gzip"), ("a.u64.zst", "zstd"), ("A.ADJ.GZ", "gzip")] {
        let says = format!("{name}: is not packed with {packer}, as its name says: get the file");
        assert_refused(name, &junk[..288], &[&says]);
    }
    let packed = gzip(b"PAR1 and so on");
    assert_refused("a.parquet.gz", &packed, &["a.parquet.gz: is packed with gzip: unpack it"]);
}

#[test]
fn inputs_that_cannot_be_opened_are_named() {
    let message = refusal(&[InputSpec::new("missing.txt")], &config());
    assert!(message.contains("missing.txt: cannot open: No such file"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let spec = InputSpec::with_format(folder.path(), Format::Edges);
    assert!(refusal(&[spec], &config()).contains("is a folder"));
    let message = refusal(&[file(&folder, "a.what", b"1 2\n")], &config());
    assert!(message.contains("a.what") && message.contains("`format`: edges, csv"), "{message}");
    let message = refusal(&[InputSpec::new("-")], &config());
    assert!(message.contains("standard input") && message.contains("`format`"), "{message}");
    assert!(refusal(&[], &config()).contains("no input"));
}

#[test]
fn names_beyond_64_kib_and_null_rows_are_errors() {
    let long = format!("a {}\n", "x".repeat(70_000));
    assert_refused("a.txt", long.as_bytes(), &["line 1", "65535 bytes", "70000"]);
    assert_refused("a.csv", b"source,target\na,b\na,\n", &["line 3", "id of 1 to"]);
}

#[test]
fn a_budget_too_small_says_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let edges = file(&folder, "a.txt", b"1 2\n2 3\n");
    let vertices = |bytes: &[u8]| {
        let mut spec = file(&folder, "a.v", bytes);
        spec.is_vertices = true;
        spec
    };
    let names: String = (0..3000).map(|i| format!("vertex-{i}\t{i}\n")).collect();
    let inputs = [
        vec![edges.clone()],
        vec![edges.clone(), vertices(b"1\n7\n")],
        vec![edges, vertices(names.as_bytes())],
    ];
    for (at, inputs) in inputs.iter().enumerate() {
        for threads in [1, 64] {
            for memory_bytes in [1, 1 << 16, 1 << 21] {
                let import = |memory_bytes| {
                    let config = config().memory_bytes(memory_bytes).threads(threads);
                    let out = folder.path().join("g.cenote");
                    import(inputs, &out, &config.overwrite(true), &NoProgress)
                };
                let Err(error) = import(memory_bytes) else { continue };
                let ImportError::Memory { needed, given, .. } = error else { panic!("{error}") };
                assert_eq!(given, memory_bytes, "inputs {at}: {error}");
                let again = import(needed).map(drop);
                again.unwrap_or_else(|again| panic!("inputs {at}, {threads}: {error}; {again}"));
            }
        }
    }
}

#[test]
fn a_zstd_window_beyond_the_budget_is_an_error() {
    let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packer.window_log(27).unwrap();
    packer.long_distance_matching(true).unwrap();
    packer.write_all(b"1 2\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt.zst", &packer.finish().unwrap());
    let message = refusal(&[spec], &config());
    assert!(message.contains("zstd window") && message.contains("would do"), "{message}");
}

#[test]
fn an_existing_output_is_kept_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt", b"1 2\n");
    let out = folder.path().join("g.cenote");
    std::fs::write(&out, b"precious").unwrap();
    let error = import(std::slice::from_ref(&spec), &out, &config(), &NoProgress).unwrap_err();
    assert!(error.to_string().contains("`overwrite`"), "{error}");
    assert_eq!(std::fs::read(&out).unwrap(), b"precious");
    let bad = file(&folder, "b.txt", b"1\n");
    let config = config().overwrite(true);
    import(&[bad], &out, &config, &NoProgress).unwrap_err();
    assert_eq!(std::fs::read(&out).unwrap(), b"precious", "kept when the import fails");
    import(&[spec], &out, &config, &NoProgress).unwrap();
    assert_ne!(std::fs::read(&out).unwrap(), b"precious");
}

#[test]
fn options_that_contradict_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let spec = [file(&folder, "a.txt", b"1 2\n")];
    let undirected = config().directed(false).in_edges(true);
    assert!(refusal(&spec, &undirected).contains("`in_edges`"));
    assert!(refusal(&spec, &config().page_bytes(5000)).contains("4096"));
    let out = Path::new("/nonexistent/folder/g.cenote");
    let error = import(&spec, out, &config(), &NoProgress).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/folder"), "{error}");
}

/// Stops the import after some bytes of a phase.
struct StopIn {
    phase: Phase,
    inside: AtomicU64,
}

impl Progress for StopIn {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        self.inside.store(u64::from(phase == self.phase), Ordering::SeqCst);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 1
    }
}

#[test]
fn a_stopped_import_leaves_nothing_in_any_phase() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    (0..200_000u64).for_each(|i| writeln!(text, "{i} {}", i * 31 % 1009).unwrap());
    let spec = [file(&folder, "a.txt", &text)];
    for phase in [Phase::Read, Phase::Partition, Phase::Write, Phase::WriteIn] {
        for threads in [1, 3] {
            let home = tempfile::tempdir().unwrap();
            let config = config().in_edges(true).threads(threads);
            let progress = StopIn { phase, inside: AtomicU64::new(0) };
            let error = import(&spec, &home.path().join("g"), &config, &progress).unwrap_err();
            assert!(matches!(error, ImportError::Cancelled), "{phase:?}: {error}");
            assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{phase:?}");
        }
    }
}
