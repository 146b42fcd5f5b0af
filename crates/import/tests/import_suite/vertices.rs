//! Vertices as inputs: in memory and in files they give the same graph as lines of one vertex.

use std::io::Write;
use std::path::Path;

use cenote_import::{
    Edges, FileWorkspace, ImportConfig, ImportReport, Input, InputSpec, NoProgress, Vertices,
    import, import_edges,
};
use cenote_store::{Order, WeightType};
use tempfile::TempDir;

use crate::oracle::file;

const EDGES: &[u8] = b"5 70000\n70000 9\n5 5\n";
/// Known and new ids, repeated, in no order.
const IDS: [u64; 6] = [9, 123_456_789_012, 7, 5, 7, 0];

fn config() -> ImportConfig {
    ImportConfig::default().overwrite(true).memory_bytes(16 << 20)
}

fn run(
    inputs: &[Input<'_>],
    out: &Path,
    config: &ImportConfig,
) -> cenote_import::Result<ImportReport> {
    let workspace = FileWorkspace::new(out, &[], config.temp_dir.as_deref(), true)?;
    import_edges(inputs, &workspace, config, &NoProgress)
}

/// Imports a list of vertices beside the edges and compares the bytes.
fn assert_gives(folder: &TempDir, vertices: Input<'_>, config: &ImportConfig, expected: &[u8]) {
    let name = vertices.name();
    let edges = Input::File(file(folder, "edges.txt", EDGES));
    let out = folder.path().join("g.cenote");
    run(&[vertices, edges], &out, config).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(std::fs::read(&out).unwrap() == expected, "{name}, {config:?}");
}

/// The graph of the edges and a list in the format `.v`.
fn expected(folder: &TempDir, vertices: &str, config: &ImportConfig) -> Vec<u8> {
    let inputs = [file(folder, "a.v", vertices.as_bytes()), file(folder, "edges.txt", EDGES)];
    let out = folder.path().join("expected.cenote");
    import(&inputs, &out, config, &NoProgress).unwrap();
    std::fs::read(out).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn integers_are_those_of_a_list_whatever_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = IDS.iter().map(|id| format!("{id}\n")).collect();
    let narrow = IDS.map(|id| id as u32);
    let bytes32: Vec<u8> = narrow.iter().flat_map(|id| id.to_le_bytes()).collect();
    let bytes64: Vec<u8> = IDS.iter().flat_map(|id| id.to_le_bytes()).collect();
    let narrow_text: String = narrow.iter().map(|id| format!("{id}\n")).collect();
    let spec = |name: &str, bytes: &[u8]| {
        Input::File(InputSpec::vertices(file(&folder, name, bytes).path))
    };
    for config in [
        config().threads(1),
        config().threads(3).order(Order::Bfs),
        config().directed(true).in_edges(true).memory_bytes(64 << 20).order(Order::Degree),
    ] {
        let wide = expected(&folder, &text, &config);
        assert_gives(&folder, Vertices::slice(&IDS).into(), &config, &wide);
        assert_gives(&folder, Vertices::iter(IDS).into(), &config, &wide);
        assert_gives(&folder, spec("v.txt", text.as_bytes()), &config, &wide);
        assert_gives(&folder, spec("ids", text.as_bytes()), &config, &wide);
        assert_gives(&folder, spec("v.txt.gz", &gzip(text.as_bytes())), &config, &wide);
        assert_gives(&folder, spec("v.u64", &bytes64), &config, &wide);
        let narrow_graph = expected(&folder, &narrow_text, &config);
        assert_gives(&folder, Vertices::iter(narrow).into(), &config, &narrow_graph);
        assert_gives(&folder, spec("v.u32", &bytes32), &config, &narrow_graph);
        assert_gives(&folder, spec("v.u32.gz", &gzip(&bytes32)), &config, &narrow_graph);
    }
}

#[test]
fn one_name_makes_all_ids_names() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["7", "a-name", "é", "5"];
    let text = "7\na-name\né\n5\n";
    for threads in [1, 3] {
        let config = config().threads(threads);
        let graph = expected(&folder, text, &config);
        assert_gives(&folder, Vertices::slice(&names).into(), &config, &graph);
        assert_gives(&folder, Vertices::iter(names).into(), &config, &graph);
        let spec = InputSpec::vertices(file(&folder, "v.txt", text.as_bytes()).path);
        assert_gives(&folder, spec.into(), &config, &graph);
    }
}

#[test]
fn vertices_are_read_once_and_edges_in_memory_are_not_spilled_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let edges: Vec<(u32, u32)> = (0..200_000).map(|i| (i % 4999, i * 31 % 5003)).collect();
    let spilled = |with_vertices: bool| {
        let mut inputs = vec![Input::from(Edges::slice(&edges))];
        if with_vertices {
            inputs.push(Vertices::iter(0..6000u32).into());
        }
        let report = run(&inputs, &folder.path().join("g.cenote"), &config()).unwrap();
        assert_eq!(report.vertices, if with_vertices { 6000 } else { 5003 });
        report.spill_bytes
    };
    let alone = spilled(false);
    assert!(spilled(true) < alone + alone / 10);
}

#[test]
fn vertices_need_no_weights_and_no_edges() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let weighted = config().weights(Some(WeightType::F32));
    let list = InputSpec::vertices(file(&folder, "v.u32", &7u32.to_le_bytes()).path);
    let edges = Edges::iter([(1u32, 2u32, 0.5)]);
    let inputs = [edges.into(), Vertices::iter([9u8]).into(), list.into()];
    let report = run(&inputs, &out, &weighted).unwrap();
    assert_eq!((report.vertices, report.edges), (4, 1));
    let report = run(&[Vertices::iter(["b", "a", "b"]).into()], &out, &config()).unwrap();
    assert_eq!((report.vertices, report.edges, report.ids), (2, 0, "string"));
    let none = Vertices::iter(std::iter::empty::<u32>());
    let error = run(&[none.into()], &out, &config()).unwrap_err().to_string();
    assert!(error.contains("no edges and no vertices"), "{error}");
}

#[test]
fn a_list_that_is_wrong_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let spec =
        |name: &str, bytes: &[u8]| InputSpec::vertices(file(&folder, name, bytes).path).into();
    let cases: [(Input<'_>, &[&str]); 8] = [
        (spec("v.txt", b"1\n\n-3\n"), &["v.txt", "line 3", "an integer id", "-3"]),
        (spec("v.u32", b"123456"), &["v.u32", "in the middle of an id", "multiple of 4"]),
        (spec("v.csv", b"id\n5\n"), &["v.csv", "an id a line", "not from format csv"]),
        (spec("v.parquet", b""), &["v.parquet", "not from format parquet"]),
        (Vertices::iter([3, -1]).into(), &["an iterator of vertices", "row 2", "found -1"]),
        (Vertices::iter(["a", ""]).named("mine").into(), &["mine", "row 2", "1 to 65535 bytes"]),
        (Vertices::slice(&["a\0b"]).into(), &["vertices in memory", "row 1", "without NUL bytes"]),
        (InputSpec::vertices(folder.path().join("none")).into(), &["none", "open"]),
    ];
    for (input, parts) in cases {
        let message = run(&[input], &out, &config()).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in: {message}");
        }
        assert!(!out.exists());
    }
}
