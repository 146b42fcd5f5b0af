//! Parquet files: columns of every kind, and pages of any size within the memory.

use std::sync::Arc;

use cenote_import::{ComponentsConfig, ImportConfig, ImportError, Input, InputSpec};
use cenote_import::{NoProgress, components, import};
use cenote_store::WeightType;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::SerializedFileWriter;

use crate::oracle::{assert_imports, file, integers, names};

/// A column of a row group.
pub enum Column {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    Text(Vec<String>),
    /// Of a repeated column, a value in each row.
    Repeated(Vec<i64>),
}

/// Writes a Parquet file with row groups of these columns.
pub fn parquet(
    schema: &str,
    properties: impl Into<WriterPropertiesPtr>,
    groups: &[Vec<Column>],
) -> Vec<u8> {
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties.into()).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for column in columns {
            let mut one = group.next_column().unwrap().unwrap();
            match column {
                Column::I32(values) => {
                    let levels = vec![1; values.len()];
                    one.typed::<Int32Type>().write_batch(values, Some(&levels), None)
                }
                Column::I64(values) => one.typed::<Int64Type>().write_batch(values, None, None),
                Column::Repeated(values) => {
                    let (levels, starts) = (vec![1; values.len()], vec![0; values.len()]);
                    one.typed::<Int64Type>().write_batch(values, Some(&levels), Some(&starts))
                }
                Column::F64(values) => one.typed::<DoubleType>().write_batch(values, None, None),
                Column::Text(values) => {
                    let texts: Vec<ByteArray> = values.iter().map(|t| t.as_str().into()).collect();
                    one.typed::<ByteArrayType>().write_batch(&texts, None, None)
                }
            }
            .unwrap();
            one.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn directed() -> ImportConfig {
    ImportConfig::default().directed(true).in_edges(true).memory_bytes(64 << 20)
}

fn text(values: &[&str]) -> Column {
    Column::Text(values.iter().map(|&value| value.to_owned()).collect())
}

#[test]
fn decimals_and_times_are_neither_ids_nor_weights() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |schema, weights| {
        let groups = [vec![Column::I64(vec![1]), Column::I64(vec![2]), Column::I64(vec![150])]];
        let bytes = parquet(schema, WriterProperties::default(), &groups);
        let spec = file(&folder, "a.parquet", &bytes);
        let config = directed().weights(weights);
        let imported = import(&[spec], &folder.path().join("a.cenote"), &config, &NoProgress);
        imported.map_err(|error| error.to_string()).map(|_| ())
    };
    let weights = Some(WeightType::F64);
    let ids = "message m { required int64 source (DECIMAL(9, 2)); required int64 target; \
               required int64 weight; }";
    assert!(refused(ids, None).unwrap_err().contains("column source holds decimals"));
    let weighted = "message m { required int64 source; required int64 target; \
                    required int64 weight (DECIMAL(9, 2)); }";
    assert!(refused(weighted, weights).unwrap_err().contains("column weight holds decimals"));
    let times = weighted.replace("DECIMAL(9, 2)", "TIMESTAMP(MILLIS, true)");
    assert!(refused(&times, weights).unwrap_err().contains("column weight holds dates or times"));
    let times = ids.replace("DECIMAL(9, 2)", "TIMESTAMP_MILLIS");
    assert!(refused(&times, None).unwrap_err().contains("column source holds dates or times"));
    // They are integers without digits behind the point.
    refused(&weighted.replace("9, 2", "9, 0"), weights).unwrap();
}

#[test]
fn a_compression_that_is_not_read_is_named_with_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int64 source; required int64 target; }";
    let groups = [vec![Column::I64(vec![1]), Column::I64(vec![2])]];
    let bytes = parquet(schema, WriterProperties::default(), &groups);
    for (codec, name) in [(4, "Brotli"), (3, "LZO")] {
        // The codec, a zigzag number, follows the path of the column.
        let mut bytes = bytes.clone();
        let at = bytes.windows(8).position(|part| part == b"target\x15\x00").unwrap();
        bytes[at + 7] = 2 * codec;
        let spec = file(&folder, "a.parquet", &bytes);
        let run = import(&[spec], &folder.path().join("a.cenote"), &directed(), &NoProgress);
        let error = run.unwrap_err().to_string();
        let expected = format!("a.parquet: column target is compressed with {name}, which is not");
        assert!(error.contains(&expected) && error.contains("zstd"), "{error}");
    }
}

#[test]
fn one_column_is_not_both_source_and_target() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int64 day; required int64 user; required int64 film; }";
    let groups = [vec![Column::I64(vec![1]), Column::I64(vec![2]), Column::I64(vec![3])]];
    let bytes = parquet(schema, WriterProperties::default(), &groups);
    let text = "day,user,film\n1,2,3\n";
    for spec in [file(&folder, "a.parquet", &bytes), file(&folder, "a.csv", text.as_bytes())] {
        let out = folder.path().join("a.cenote");
        let run = |spec: InputSpec| import(&[spec], &out, &directed(), &NoProgress);
        let named = |source: Option<&str>, target: Option<&str>| {
            let mut spec = spec.clone();
            spec.source_column = source.map(str::to_owned);
            spec.target_column = target.map(str::to_owned);
            run(spec)
        };
        let error = named(Some("user"), None).unwrap_err().to_string();
        assert!(error.contains("both be column 2 `user`"), "{error}");
        let error = named(None, Some("1")).unwrap_err().to_string();
        assert!(error.contains("both be column 1 `day`"), "{error}");
        named(Some("user"), Some("film")).unwrap();
        std::fs::remove_file(&out).unwrap();
    }
    // Of two columns the other one.
    let spec = file(&folder, "b.csv", b"film,user\n3,2\n");
    for (source, target, edge) in [(Some("user"), None, (2, 3)), (None, Some("film"), (2, 3))] {
        let mut spec = spec.clone();
        (spec.source_column, spec.target_column) =
            (source.map(str::to_owned), target.map(str::to_owned));
        assert_imports(&[spec], &directed(), &integers(&[edge]), &[]);
    }
}

#[test]
fn memory_for_the_components_of_a_row_group_is_named_by_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int64 source; required int64 target; }";
    let ids = |by: i64| Column::I64((0..150_000).map(|at| at * by % 90_001 * 1_000_003).collect());
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(64 << 10)
        .build();
    let bytes = parquet(schema, properties, &[vec![ids(7_919), ids(104_729)]]);
    let find = |memory_bytes| {
        let inputs = [Input::File(file(&folder, "a.parquet", &bytes))];
        let config = ComponentsConfig::default().threads(1).memory_bytes(memory_bytes);
        components(&inputs, &config, &NoProgress)
    };
    let error = find(3 << 20).unwrap_err();
    let ImportError::Straight { needed, .. } = error else { panic!("{error}") };
    assert!(needed < 16 << 20, "{error}");
    assert_eq!(find(needed).unwrap().ids.len(), 90_001);
}

#[test]
fn parquet_columns_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let properties = WriterProperties::default;
    let schema = "message m { required int64 w; required int64 target; required int64 source; }";
    let groups = [
        vec![Column::I64(vec![0, 0]), Column::I64(vec![5, 6]), Column::I64(vec![1, 2])],
        vec![Column::I64(vec![0]), Column::I64(vec![1 << 40]), Column::I64(vec![3])],
    ];
    let spec = file(&folder, "a.parquet", &parquet(schema, properties(), &groups));
    let edges = integers(&[(1, 5), (2, 6), (3, 1 << 40)]);
    assert_imports(&[spec], &directed(), &edges, &[]);
    let schema = "message m { optional int32 a (UINT_32); optional int32 b (UINT_32); }";
    let groups = [vec![Column::I32(vec![-1, 2]), Column::I32(vec![0, 1])]];
    let spec = file(&folder, "b.parquet", &parquet(schema, properties(), &groups));
    let edges = integers(&[(u64::from(u32::MAX), 0), (2, 1)]);
    assert_imports(&[spec], &directed(), &edges, &[]);
    let schema = "message m { required binary from (UTF8); required binary to (UTF8); }";
    let groups = [vec![text(&["x", "ä"]), text(&["7", "x"])]];
    let spec = file(&folder, "c.parquet", &parquet(schema, properties(), &groups));
    assert_imports(&[spec], &directed(), &names(&[("x", "7"), ("ä", "x")]), &[]);
}

#[test]
fn a_row_that_is_no_edge_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = |schema: &str, columns: Vec<Column>, weights| {
        let bytes = parquet(schema, WriterProperties::default(), &[columns]);
        let spec = file(&folder, "a.parquet", &bytes);
        let config = directed().weights(weights);
        import(&[spec], &folder.path().join("g"), &config, &NoProgress).unwrap_err().to_string()
    };
    let ids = |last| Column::I64((0..10_000).chain([last]).collect());
    let schema = "message m { required int64 a; required int64 b; }";
    let negative = message(schema, vec![ids(0), ids(-7)], None);
    assert!(negative.contains("row 10001") && negative.contains("-7"), "{negative}");
    let schema = "message m { required int64 a; required int64 b; required double w; }";
    let mut weights = vec![0.5; 10_001];
    weights[9_000] = f64::NAN;
    let columns = vec![ids(0), ids(0), Column::F64(weights)];
    let nan = message(schema, columns, Some(WeightType::F64));
    assert!(nan.contains("row 9001") && nan.contains("a weight"), "{nan}");
    let schema = "message m { required binary a; required binary b; }";
    let empty = message(schema, vec![text(&["a", "b"]), text(&["c", ""])], None);
    assert!(empty.contains("row 2") && empty.contains("1 to 65535 bytes"), "{empty}");
}

const NAMES: &str = "message m { required binary a; required binary b; }";

#[test]
fn digits_in_a_column_of_strings_are_strings_unless_integers_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let columns = vec![text(&["007", "7"]), text(&["7", "8"])];
    let spec = file(&folder, "a.parquet", &parquet(NAMES, plain(1 << 20), &[columns]));
    let run = |config: ImportConfig| {
        let out = folder.path().join("g");
        let report =
            import(std::slice::from_ref(&spec), &out, &config.overwrite(true), &NoProgress);
        report.map(|report| (report.ids, report.vertices)).unwrap()
    };
    assert_eq!(run(directed()), ("string", 3));
    assert_eq!(run(directed().ids(cenote_import::IdKind::Integer)), ("integer", 2));
}

/// Writes names to pages of this size, plain and packed.
fn plain(page_bytes: usize) -> WriterProperties {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_data_page_size_limit(page_bytes)
        .set_write_batch_size(16)
        .build()
}

#[test]
fn a_page_too_large_for_the_memory_is_refused_with_the_memory_that_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let column = || Column::Text((0..800u32).map(|i| format!("{:060000}", i % 7)).collect());
    let bytes = parquet(NAMES, plain(1 << 30), &[vec![column(), column()]]);
    assert!(bytes.len() < 1 << 20, "the pages are packed well: {} bytes", bytes.len());
    let spec = file(&folder, "a.parquet", &bytes);
    let out = folder.path().join("g");
    let run = |memory_bytes| {
        let config = directed().memory_bytes(memory_bytes).ids(cenote_import::IdKind::String);
        import(std::slice::from_ref(&spec), &out, &config, &NoProgress)
    };
    let Err(ImportError::Memory { needed, what, .. }) = run(40 << 20) else { panic!("refused") };
    assert!(what.contains("Parquet") && needed > 96_000_000, "{what}: {needed}");
    assert!(!out.exists());
    assert_eq!(run(needed).unwrap().vertices, 7);
}

#[test]
fn long_names_are_read_a_few_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let name = |i: u32| format!("{:060000}", i % 7);
    let column = |step: u32| Column::Text((0..1000).map(|i| name(i * step)).collect());
    let bytes = parquet(NAMES, plain(1 << 20), &[vec![column(1), column(2)]]);
    let spec = file(&folder, "a.parquet", &bytes);
    let ids = cenote_import::IdKind::String;
    let config = directed().memory_bytes(24 << 20).ids(ids);
    let report = import(&[InputSpec::clone(&spec)], &folder.path().join("g"), &config, &NoProgress);
    let report = report.unwrap();
    assert_eq!((report.vertices, report.input_edges), (7, 1000));
}

#[test]
fn row_groups_are_decoded_side_by_side_as_far_as_their_pages_fit() {
    let folder = tempfile::tempdir().unwrap();
    let name = |i: u32| format!("{:060000}", i % 11);
    let group = |first: u32| {
        [1, 3].map(|step| Column::Text((first..first + 150).map(|i| name(i * step)).collect()))
    };
    let groups: Vec<_> = (0..6).map(|at| group(at * 150).into()).collect();
    let spec = file(&folder, "a.parquet", &parquet(NAMES, plain(1 << 30), &groups));
    let out = folder.path().join("g");
    let run = |threads, memory_bytes| {
        let ids = cenote_import::IdKind::String;
        let config = directed().memory_bytes(memory_bytes).ids(ids).threads(threads);
        import(std::slice::from_ref(&spec), &out, &config.overwrite(true), &NoProgress)
    };
    // Pages of 18 MB: what suffices for one group suffices for any threads.
    let Err(ImportError::Memory { needed, .. }) = run(1, 17 << 20) else { panic!("refused") };
    let mut known: Option<Vec<u8>> = None;
    for (threads, memory_bytes) in [(1, needed), (4, needed + (8 << 20)), (4, 512 << 20)] {
        let report = run(threads, memory_bytes).unwrap();
        assert_eq!((report.vertices, report.input_edges), (11, 900));
        assert!(report.peak_memory_bytes <= memory_bytes as u64);
        let graph = std::fs::read(&out).unwrap();
        assert!(*known.get_or_insert_with(|| graph.clone()) == graph, "{threads} threads");
    }
}

#[test]
fn the_first_of_the_wrong_rows_is_named_whichever_group_is_decoded_first() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int64 a; required int64 b; }";
    let group = |at: i64| {
        // The first wrong group is long and its wrong row comes last.
        let rows = if at == 2 { 50_000 } else { 100 };
        let mut ids: Vec<i64> = (0..rows).collect();
        if at >= 2 {
            ids[rows as usize - 1] = -1 - at;
        }
        vec![Column::I64((0..rows).collect()), Column::I64(ids)]
    };
    let groups: Vec<_> = (0..8).map(group).collect();
    let bytes = parquet(schema, WriterProperties::default(), &groups);
    let spec = file(&folder, "a.parquet", &bytes);
    for threads in [1, 2, 5] {
        let config = directed().threads(threads);
        let error =
            import(std::slice::from_ref(&spec), &folder.path().join("g"), &config, &NoProgress);
        let message = error.unwrap_err().to_string();
        assert!(message.contains("row 50200:") && message.contains("-3"), "{message}");
    }
}

#[test]
fn every_encoding_gives_the_same_edges() {
    let folder = tempfile::tempdir().unwrap();
    let count = 9000i64;
    let name = |i: i64| format!("https://example.org/{}/{}", i % 40, i * i % 1009);
    let named = |step: i64| Column::Text((0..count).map(|i| name(i * step)).collect());
    let numbers = |step: i64| (0..count).map(|i| i * step % 7919).collect::<Vec<i64>>();
    let small = |step| Column::I32(numbers(step).into_iter().map(|n| n as i32).collect());
    let large = |step| Column::I64(numbers(step));
    let texts = [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];
    let integers = [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED];
    let schema = |kind: &str| format!("message m {{ {kind} a; {kind} b; }}");
    let out = folder.path().join("g");
    let check = |kind: &str, encodings: &[Encoding], columns: &dyn Fn() -> Vec<Column>| {
        let mut known = None;
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for &encoding in encodings {
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_dictionary_enabled(false)
                    .set_encoding(encoding)
                    .set_data_page_row_count_limit(2500)
                    .build();
                let bytes = parquet(&schema(kind), properties, &[columns(), columns()]);
                let spec = file(&folder, "a.parquet", &bytes);
                let config = directed().overwrite(true);
                let report = import(&[spec], &out, &config, &NoProgress).unwrap();
                assert_eq!(report.input_edges, 2 * count as u64);
                let graph = std::fs::read(&out).unwrap();
                assert!(*known.get_or_insert_with(|| graph.clone()) == graph, "{kind}: {encoding}");
            }
        }
    };
    check("required binary", &texts, &|| vec![named(1), named(7)]);
    check("required int64", &integers, &|| vec![large(1), large(5)]);
    check("optional int32", &integers, &|| vec![small(3), small(2)]);
}
