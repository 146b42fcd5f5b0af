//! `cenote run wcc --since`: goes on from the file of an earlier answer, against runs over
//! everything; reasons to compute everything; files that are no answer.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{Bench, parse, text};

fn update(bench: &Bench, lines: &str) -> serde_json::Value {
    let mut child = bench
        .command("update g.cenote --stdin --json --durability sync")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    parse(&text(&output.stdout))
}

fn csv(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

/// Runs with and without the earlier answer, asserts that both say the same, and returns what the
/// first did.
fn since(bench: &Bench, labels: &str, flags: &str) -> serde_json::Value {
    bench.succeed(&format!("run wcc g.cenote --memory 64MiB --out full.csv {flags}"));
    let run = format!("run wcc g.cenote --memory 64MiB --since {labels} {flags} --verify --json");
    let printed = parse(&bench.succeed(&format!("{run} --out since.csv")));
    assert!(csv(bench, "since.csv") == csv(bench, "full.csv"), "{printed}");
    printed["result"].clone()
}

fn because(result: &serde_json::Value) -> &str {
    assert!(result.get("since").is_none(), "{result}");
    result["everything_because"].as_str().unwrap()
}

/// Pairs below a number, from a seed.
fn pairs(seed: u64, count: u64, below: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut state = seed;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count).map(move |_| (next(), next()))
}

#[test]
fn components_go_on_from_a_file() {
    let tiers = "--tier fast=fast:100KiB --tier slow=slow:9MiB --tier-block 4KiB";
    for (seed, prefix, flags) in [
        (1, "", ""),
        (2, "v", "--directed --order degree"),
        (3, "", "--order random --in-edges --directed"),
        (4, "x", tiers),
    ] {
        let bench = Bench::new();
        for folder in ["fast", "slow"] {
            std::fs::create_dir(bench.path(folder)).unwrap();
        }
        let edges: String = pairs(seed, 250, 400)
            .map(|(u, v)| format!("{prefix}{} {prefix}{}\n", u + 50, v + 50))
            .collect();
        std::fs::write(bench.path("edges.txt"), edges).unwrap();
        bench.succeed(&format!("import edges.txt --out g.cenote {flags}"));
        update(&bench, &format!("- {prefix}60\n+ {prefix}1000\n"));
        bench.succeed("snapshot g.cenote --name s0");
        bench.succeed("run wcc g.cenote --at s0 --memory 64MiB --out l0.parquet");
        for round in 0..4u64 {
            let added = pairs(seed * 100 + round, 15, 500);
            let added: String =
                added.map(|(u, v)| format!("+ {prefix}{u} {prefix}{v}\n")).collect();
            let report = update(&bench, &added);
            if round == 2 {
                bench.succeed("merge g.cenote");
            }
            let result = since(&bench, &format!("l{round}.parquet"), "");
            assert_eq!(result["since"]["added"], report["added"], "{result}");
            // The file of a snapshot, itself by what is new.
            let next = round + 1;
            bench.succeed(&format!("snapshot g.cenote --name s{next}"));
            let out = format!("--at s{next} --since l{round}.parquet --out l{next}.parquet");
            let table = bench.succeed(&format!("run wcc g.cenote --memory 64MiB {out}"));
            assert!(table.contains(" edges added, "), "{table}");
        }
        let result = since(&bench, "l1.parquet", "--at s3");
        assert!(result["since"]["added"].as_u64().unwrap() > 0, "{result}");
        let result = since(&bench, "l3.parquet", "--at s1");
        assert!(because(&result).contains("which is later"), "{result}");
        update(&bench, &format!("- {prefix}1000\n+ {prefix}1001\n"));
        let result = since(&bench, "l4.parquet", "");
        assert!(result["since"]["added"].as_u64().is_some(), "it had no edge: {result}");
        let (u, v) = pairs(seed * 100 + 3, 15, 500).find(|(u, v)| u != v).unwrap();
        let report = update(&bench, &format!("- {prefix}{u} {prefix}{v}\n"));
        assert_eq!(report["deleted"], 1, "{report}");
        let result = since(&bench, "l4.parquet", "");
        assert_eq!(because(&result), "an edge was deleted since");
    }
}

#[test]
fn without_the_state_of_the_answer_everything_is_computed_and_the_reason_reported() {
    let bench = Bench::new();
    std::fs::write(bench.path("edges.txt"), "1 2\n3 4\n5 6\n").unwrap();
    bench.succeed("import edges.txt --out g.cenote");
    update(&bench, "+ 6 7\n");
    bench.succeed("run wcc g.cenote --out logged.parquet");
    bench.succeed("merge g.cenote");
    bench.succeed("run wcc g.cenote --out merged.parquet");
    let result = since(&bench, "merged.parquet", "");
    assert_eq!(result["since"]["added"], 0);
    update(&bench, "+ 2 3\n");
    // The last commit, without its log.
    let result = since(&bench, "merged.parquet", "");
    assert_eq!(result["since"]["added"], 1);
    let result = since(&bench, "logged.parquet", "");
    assert!(because(&result).contains("changes in its log"), "{result}");
    let table = bench.succeed("run wcc g.cenote --since logged.parquet");
    assert!(table.contains("everything was computed: the answer is of a state with"), "{table}");
    bench.succeed("merge g.cenote");
    let result = since(&bench, "merged.parquet", "");
    assert!(because(&result).contains("is gone: keep it with a snapshot"), "{result}");
    bench.succeed("run wcc g.cenote --out newest.parquet");
    std::fs::copy(bench.path("g.cenote"), bench.path("copy.cenote")).unwrap();
    std::fs::rename(bench.path("copy.cenote"), bench.path("g.cenote")).unwrap();
    let result = since(&bench, "newest.parquet", "");
    assert!(because(&result).contains("of another file"), "{result}");
    std::fs::write(bench.path("edges.txt"), "1 2\n3 9\n").unwrap();
    bench.succeed("import edges.txt --out g.cenote --overwrite");
    let result = since(&bench, "newest.parquet", "");
    assert_eq!(because(&result), "the answer is of another graph");
}

const INTEGERS: &str = "message result { required int64 vertex (INTEGER(64,false)); \
                        optional int64 component (INTEGER(64,false)); }";

/// Writes a file with these columns and metadata.
fn write<T: DataType>(
    bench: &Bench,
    schema: &str,
    columns: [&[T::T]; 2],
    present: Option<&[i16]>,
    metadata: &[KeyValue],
) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(bench.path("bad.parquet")).unwrap();
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    metadata.iter().for_each(|entry| writer.append_key_value_metadata(entry.clone()));
    let mut group = writer.next_row_group().unwrap();
    let all = vec![1; columns[1].len()];
    let present = present.unwrap_or(&all);
    for (values, levels) in columns.into_iter().zip([None, Some(present)]) {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<T>().write_batch(values, levels, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// A graph of seven vertices, the metadata of its answer, and the columns of this.
struct Attacked {
    bench: Bench,
    good: Vec<KeyValue>,
}

const VERTICES: [i64; 7] = [1, 2, 3, 4, 5, 6, 7];
const COMPONENTS: [i64; 7] = [1, 1, 3, 3, 5, 5, 5];

impl Attacked {
    fn new() -> Self {
        let bench = Bench::new();
        std::fs::write(bench.path("edges.txt"), "1 2\n3 4\n5 6\n6 7\n").unwrap();
        bench.succeed("import edges.txt --out g.cenote");
        bench.succeed("run wcc g.cenote --out good.parquet");
        let file = File::open(bench.path("good.parquet")).unwrap();
        let read = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
        let good = read.file_metadata().key_value_metadata().unwrap().clone();
        Self { bench, good }
    }

    fn write(&self, vertices: &[i64], components: &[i64], metadata: &[KeyValue]) {
        write::<Int64Type>(&self.bench, INTEGERS, [vertices, components], None, metadata);
    }

    fn fails(&self, words: &str) {
        let printed = self.bench.fail_quietly("run wcc g.cenote --since bad.parquet --out no.csv");
        assert!(printed.contains("bad.parquet") && printed.contains(words), "{words}: {printed}");
        assert!(!self.bench.path("no.csv").exists(), "{words}");
    }
}

#[test]
fn rows_that_are_no_answer_of_the_graph_are_an_error() {
    let attacked = Attacked::new();
    let Attacked { bench, good } = &attacked;
    // The helper writes what a run accepts.
    attacked.write(&VERTICES, &COMPONENTS, good);
    let result = parse(&bench.succeed("run wcc g.cenote --since bad.parquet --json"));
    assert_eq!(result["result"]["since"]["added"], 0, "{result}");
    let rows = |vertices: &[i64], components: &[i64], words: &str| {
        attacked.write(vertices, components, good);
        attacked.fails(words);
    };
    rows(&VERTICES[..6], &COMPONENTS[..6], "it has 6 rows, but 7 vertices");
    rows(&[1, 2, 3, 4, 5, 6, 9], &COMPONENTS, "row 7: the graph has no vertex `9`");
    rows(&[1, 2, 3, 4, 5, 6, 6], &COMPONENTS, "row 7: the ids of its rows do not ascend");
    rows(&[2, 1, 3, 4, 5, 6, 7], &COMPONENTS, "row 2: the ids of its rows do not ascend");
    rows(&VERTICES, &[1, 1, 3, 3, 5, 5, 8], "row 7: `8` is not the smallest id");
    rows(&VERTICES, &[1, 1, 3, 3, 5, 5, 6], "row 7: `6` is not the smallest id");
    rows(&VERTICES, &[2, 2, 3, 3, 5, 5, 5], "row 1: `2` is not the smallest id");
    rows(&VERTICES, &[1, 1, 3, 3, 3, 3, 5], "row 7: `5` is not the smallest id");
    rows(&VERTICES, &[1, 1, 3, 3, 5, 5, 7], "its rows are not those of its metadata");
    rows(&VERTICES, &[1, 1, 1, 4, 5, 5, 5], "its rows are not those of its metadata");
    let columns: [&[i64]; 2] = [&VERTICES, &COMPONENTS[..6]];
    write::<Int64Type>(bench, INTEGERS, columns, Some(&[1, 1, 1, 1, 1, 1, 0]), good);
    attacked.fails("row 7");
}

#[test]
fn columns_and_metadata_of_anything_else_are_an_error() {
    let attacked = Attacked::new();
    let Attacked { bench, good } = &attacked;
    let of_columns = "its columns are not `vertex` and `component`";
    for schema in [INTEGERS.replace("vertex", "v"), INTEGERS.replace(" component", " vertex2")] {
        write::<Int64Type>(bench, &schema, [&VERTICES, &COMPONENTS], None, good);
        attacked.fails(of_columns);
    }
    let doubles = "message result { required double vertex; optional double component; }";
    write::<DoubleType>(bench, doubles, [&[1.0; 7], &[1.0; 7]], None, good);
    attacked.fails(of_columns);
    let names = "message result { required binary vertex (STRING); \
                 optional binary component (STRING); }";
    let texts: Vec<_> = VERTICES.iter().map(|v| v.to_string().into_bytes().into()).collect();
    write::<ByteArrayType>(bench, names, [&texts, &texts], None, good);
    attacked.fails(of_columns);
    for (at, entry) in good.iter().enumerate() {
        for value in [None, Some("-1".to_owned()), Some("99999999999999999999".to_owned())] {
            let mut metadata = good.clone();
            metadata[at].value.clone_from(&value);
            attacked.write(&VERTICES, &COMPONENTS, &metadata);
            let is_of_another = match entry.key.as_str() {
                "cenote.graph" => value.is_some(),
                key => key == "cenote.file",
            };
            if is_of_another {
                let result = parse(&bench.succeed("run wcc g.cenote --since bad.parquet --json"));
                assert!(because(&result["result"]).contains("another"), "{entry:?}: {result}");
            } else {
                attacked.fails("");
            }
        }
    }
    bench.succeed("run scc g.cenote --out bad.parquet");
    attacked.fails("it is not an answer that `wcc`");
    assert!(bench.fail_quietly("run wcc g.cenote --since .").contains("no file"));
    assert!(bench.fail_quietly("run wcc g.cenote --since none.parquet").contains("cannot open"));
    let printed = bench.fail_quietly("run wcc g.cenote --since good.parquet --out good.parquet");
    assert!(printed.contains("good.parquet"), "{printed}");
}

#[test]
fn a_damaged_answer_is_an_error_or_none_the_worse() {
    let attacked = Attacked::new();
    let bench = &attacked.bench;
    let bytes = std::fs::read(bench.path("good.parquet")).unwrap();
    for cut in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(bench.path("bad.parquet"), &bytes[..cut]).unwrap();
        attacked.fails("no readable Parquet file");
    }
    bench.succeed("run wcc g.cenote --out full.csv");
    std::fs::copy(bench.path("full.csv"), bench.path("bad.parquet")).unwrap();
    attacked.fails("no readable Parquet file");
    let mut refused = 0;
    for at in (4..bytes.len()).step_by(11) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(bench.path("bad.parquet"), bytes).unwrap();
        let output = bench.run("run wcc g.cenote --since bad.parquet --out flipped.csv");
        match output.status.code() {
            Some(0) => assert!(csv(bench, "flipped.csv") == csv(bench, "full.csv"), "byte {at}"),
            code => assert_eq!(code, Some(2), "byte {at}: {}", text(&output.stderr)),
        }
        refused += u32::from(!output.status.success());
    }
    assert!(refused > 20, "{refused}");
}
