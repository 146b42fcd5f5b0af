//! Arrow batches give the same graph, to the byte, as the same edges from other sources.

use std::path::Path;
use std::sync::{Arc, Weak};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Int8Type, Int32Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, LargeStringArray, NullArray, RecordBatch,
    RecordBatchIterator, RecordBatchReader, StringArray, StringViewArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cenote_import::{
    ArrowBatches, Edges, FileWorkspace, IdKind, ImportConfig, ImportReport, Input, InputSpec,
    NoProgress, Result, VertexValues, import_edges, import_with_values,
};
use cenote_store::{Order, WeightType};

use crate::oracle::file;
use crate::parquet::{Column, parquet};

const CONFIG: fn() -> ImportConfig =
    || ImportConfig::default().memory_bytes(32 << 20).overwrite(true);

fn weighted() -> ImportConfig {
    CONFIG().weights(Some(WeightType::F64))
}

fn edges(count: u64) -> Vec<(u64, u64)> {
    (0..count).map(|i| (i * i % 499, i * 31 % 503)).collect()
}

fn array<A: Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let fields =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.iter().map(|(_, column)| Arc::clone(column)).collect())
        .unwrap()
}

/// Batches as another language hands them over: through the Arrow C stream interface.
fn through_c(batches: Vec<RecordBatch>) -> RecordBatchStreamReader {
    let schema = batches[0].schema();
    reader_through_c(RecordBatchIterator::new(batches.into_iter().map(Ok), schema))
}

fn reader_through_c(reader: impl RecordBatchReader + Send + 'static) -> RecordBatchStreamReader {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    RecordBatchStreamReader::try_new(stream).unwrap()
}

fn run(
    input: impl Into<Input<'static>>,
    out: &Path,
    config: &ImportConfig,
) -> Result<ImportReport> {
    run_any(input.into(), out, config)
}

fn run_any(input: Input<'_>, out: &Path, config: &ImportConfig) -> Result<ImportReport> {
    let workspace = FileWorkspace::new(out, &[], None, config.overwrite)?;
    import_edges(&[input], &workspace, config, &NoProgress)
}

/// The bytes of the graph file.
#[track_caller]
fn graph<'a>(input: impl Into<Input<'a>>, config: &ImportConfig) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    run_any(input.into(), &out, config).unwrap();
    std::fs::read(out).unwrap()
}

#[track_caller]
fn assert_alike(columns: &[(&str, ArrayRef)], config: &ImportConfig, expected: &[u8], what: &str) {
    let batches = vec![batch(columns)];
    assert!(graph(ArrowBatches::new(through_c(batches)), config) == expected, "{what}");
}

/// The message of an import that must fail, and must leave nothing behind.
#[track_caller]
fn refusal(batches: ArrowBatches<'static>, config: &ImportConfig) -> String {
    let folder = tempfile::tempdir().unwrap();
    let message = run(batches, &folder.path().join("g"), config).unwrap_err().to_string();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left: {message}");
    assert!(message.starts_with("Arrow batches") && !message.contains('\n'), "{message}");
    message
}

fn refused_columns(columns: &[(&str, ArrayRef)], config: &ImportConfig) -> String {
    refusal(ArrowBatches::new(through_c(vec![batch(columns)])), config)
}

/// An array of integers of one width.
type Make = fn(&[u64]) -> ArrayRef;

macro_rules! widths {
    ($($array:ident)*) => {
        [$((|ids| array(ids.iter().map(|&id| Some(id.try_into().unwrap())).collect::<$array>()))
            as Make),*]
    };
}

const WIDTHS: [Make; 8] = widths!(Int8Array Int16Array Int32Array Int64Array UInt8Array UInt16Array
    UInt32Array UInt64Array);

#[test]
fn integers_of_every_width_are_those_of_a_slice() {
    let edges: Vec<(u64, u64)> = edges(5000).iter().map(|(s, t)| (s % 128, t % 101)).collect();
    let (sources, targets): (Vec<u64>, Vec<u64>) = edges.iter().copied().unzip();
    for config in [
        CONFIG().directed(true).in_edges(true),
        CONFIG().order(Order::Degree),
        CONFIG().ids(IdKind::String),
    ] {
        let expected = graph(Edges::slice(&edges), &config);
        for (at, make) in WIDTHS.iter().enumerate() {
            let other = WIDTHS[(at + 3) % WIDTHS.len()];
            let columns = [("source", make(&sources)), ("target", other(&targets))];
            assert_alike(&columns, &config, &expected, &format!("{:?}", columns[0].1.data_type()));
        }
    }
    let wide = [(u64::MAX, 0), (1 << 63, 1 << 32)];
    let columns = [
        ("a", array(UInt64Array::from(vec![wide[0].0, wide[1].0]))),
        ("b", array(UInt64Array::from(vec![wide[0].1, wide[1].1]))),
    ];
    assert_alike(&columns, &CONFIG(), &graph(Edges::slice(&wide), &CONFIG()), "64 bits");
}

/// The same strings in every layout.
fn layouts(names: &[String]) -> [ArrayRef; 4] {
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    [
        array(StringArray::from(refs.clone())),
        array(LargeStringArray::from(refs.clone())),
        array(StringViewArray::from(refs.clone())),
        array(refs.into_iter().collect::<DictionaryArray<Int32Type>>()),
    ]
}

#[test]
fn strings_of_every_layout_are_those_of_a_slice() {
    let digits: Vec<(String, String)> =
        edges(5000).iter().map(|(s, t)| (s.to_string(), t.to_string())).collect();
    let mut named = digits.clone();
    named.push(("a name that is longer than twelve bytes".to_owned(), "ä".to_owned()));
    for edges in [digits, named] {
        let (sources, targets): (Vec<String>, Vec<String>) = edges.iter().cloned().unzip();
        let expected = graph(Edges::slice(&edges), &CONFIG());
        for (source, target) in layouts(&sources).into_iter().zip(layouts(&targets)) {
            let what = format!("{:?}", source.data_type());
            assert_alike(&[("x", source), ("y", target)], &CONFIG(), &expected, &what);
        }
    }
}

#[test]
fn a_column_without_a_type_has_no_rows_or_only_nulls() {
    let nulls = |count| array(NullArray::new(count));
    let message = refused_columns(&[("a", nulls(2)), ("b", nulls(2))], &CONFIG());
    assert!(message.contains("row 1") && message.contains("found null"), "{message}");
    let message = refused_columns(&[("a", nulls(0)), ("b", layouts(&[])[0].clone())], &CONFIG());
    assert!(message.ends_with("no edges and no vertices found: a graph has one vertex at least"));
}

#[test]
fn long_strings_are_taken_a_few_at_a_time() {
    let names: Vec<String> = (0..40).map(|i| format!("{:060000}", i % 7)).collect();
    let edges: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), names[3].as_str())).collect();
    let expected = graph(Edges::slice(&edges), &CONFIG());
    let target = array(StringArray::from(vec![names[3].as_str(); 40]));
    let columns = [("a", layouts(&names)[2].clone()), ("b", target)];
    assert_alike(&columns, &CONFIG(), &expected, "long");
}

#[test]
fn dictionaries_of_integers_are_their_values() {
    let values = Arc::new(UInt64Array::from(vec![1 << 40, 7, 9]));
    let keys = Int8Array::from(vec![0, 1, 2, 0, 2]);
    let source = DictionaryArray::<Int8Type>::new(keys, values.clone());
    let keys = UInt16Array::from(vec![2, 0, 0, 1, 1]);
    let target = DictionaryArray::<UInt16Type>::new(keys, values);
    let edges = [(1u64 << 40, 9), (7, 1 << 40), (9, 1 << 40), (1 << 40, 7), (9, 7)];
    let expected = graph(Edges::slice(&edges), &CONFIG());
    let columns = [("source", array(source)), ("target", array(target))];
    assert_alike(&columns, &CONFIG(), &expected, "dictionary");
}

#[test]
fn weights_are_those_of_a_slice() {
    let (sources, targets): (Vec<u64>, Vec<u64>) = edges(5000).into_iter().unzip();
    let ids = || [("source", WIDTHS[6](&sources)), ("target", WIDTHS[3](&targets))];
    let check = |kind, column: ArrayRef, weight: &dyn Fn(u64) -> f64| {
        let config = CONFIG().weights(Some(kind));
        let edges: Vec<(u64, u64, f64)> =
            sources.iter().zip(&targets).map(|(&s, &t)| (s, t, weight(s))).collect();
        let expected = graph(Edges::slice(&edges), &config);
        let [source, target] = ids();
        let what = format!("{kind:?} of {:?}", column.data_type());
        assert_alike(&[("km", column), source, target], &config, &expected, &what);
    };
    let seventh = |s: u64| s as f64 / 7.0;
    let eighth = |s: u64| s as f64 / 8.0;
    let wide: Float64Array = sources.iter().map(|&s| Some(seventh(s))).collect();
    check(WeightType::F64, array(wide.clone()), &seventh);
    check(WeightType::F32, array(wide), &seventh);
    let narrow: Float32Array = sources.iter().map(|&s| Some(eighth(s) as f32)).collect();
    check(WeightType::F64, array(narrow), &eighth);
    for make in WIDTHS {
        let small: Vec<u64> = sources.iter().map(|s| s % 100).collect();
        check(WeightType::F64, make(&small), &|s| (s % 100) as f64);
    }
}

#[test]
fn a_parquet_file_of_the_same_columns_makes_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let weights: Vec<f64> = (0..20_000).map(|i| f64::from(i) / 3.0).collect();
    let (sources, targets): (Vec<i64>, Vec<i64>) =
        edges(20_000).iter().map(|&(s, t)| (s as i64, t as i64)).unzip();
    let schema = "message m { required int64 dst; required double w; required int64 src; }";
    let columns = vec![
        Column::I64(targets.clone()),
        Column::F64(weights.clone()),
        Column::I64(sources.clone()),
    ];
    let properties = parquet::file::properties::WriterProperties::default();
    let spec = file(&folder, "a.parquet", &parquet(schema, properties, &[columns]));
    let columns = [
        ("dst", array(Int64Array::from(targets))),
        ("w", array(Float64Array::from(weights))),
        ("src", array(Int64Array::from(sources))),
    ];
    for config in [CONFIG(), weighted()] {
        let config = config.directed(true).in_edges(true);
        let expected = graph(InputSpec::clone(&spec), &config);
        assert_alike(&columns, &config, &expected, "the columns of the file");
    }
}

#[test]
fn columns_are_chosen_as_in_a_file() {
    let column = |ids: [i32; 2]| array(Int32Array::from(ids.to_vec()));
    let columns = [
        ("x", column([1, 2])),
        ("to", column([3, 4])),
        ("y", column([5, 6])),
        ("from", column([7, 8])),
    ];
    let batches = || ArrowBatches::new(through_c(vec![batch(&columns)]));
    let of = |edges: &[(i32, i32)]| graph(Edges::slice(edges), &CONFIG());
    let directed = CONFIG().directed(true);
    let of_directed = |edges: &[(i32, i32)]| graph(Edges::slice(edges), &directed);
    assert!(graph(batches(), &CONFIG()) == of(&[(7, 3), (8, 4)]));
    let chosen = batches().source_column("y").target_column("1");
    assert!(graph(chosen, &directed) == of_directed(&[(5, 1), (6, 2)]));
    let message = refusal(batches().source_column("z"), &CONFIG());
    assert!(message.contains("`source_column` z") && message.contains("x, to, y, from"));
    let message = refusal(batches(), &weighted());
    assert!(message.contains("`weight_column`"), "{message}");
    let chosen = batches().weight_column("y");
    let edges = [(7, 3, 5), (8, 4, 6)];
    assert!(graph(chosen, &weighted()) == graph(Edges::slice(&edges), &weighted()));
}

#[test]
fn batches_may_be_many_empty_and_parts_of_others() {
    let edges = edges(50_000);
    let (sources, targets): (Vec<u64>, Vec<u64>) = edges.iter().copied().unzip();
    let all = batch(&[("a", WIDTHS[6](&sources)), ("b", WIDTHS[1](&targets))]);
    let mut batches = vec![all.slice(0, 0)];
    let mut at = 0;
    for rows in (1..).map(|i| i * i % 4099) {
        let rows = rows.min(all.num_rows() - at);
        batches.push(all.slice(at, rows));
        at += rows;
        if at == all.num_rows() {
            break;
        }
    }
    let config = CONFIG().directed(true).in_edges(true).memory_bytes(16 << 20);
    let expected = graph(Edges::slice(&edges), &config);
    assert!(graph(ArrowBatches::new(through_c(batches)), &config) == expected);
}

#[test]
fn batches_without_rows_are_an_empty_input() {
    let columns = [("a", array(Int32Array::from(vec![0; 0]))), ("b", WIDTHS[1](&[]))];
    let empty = batch(&columns);
    let reader = RecordBatchIterator::new(Vec::new(), empty.schema());
    assert!(refusal(ArrowBatches::new(reader_through_c(reader)), &CONFIG()).contains("no edges"));
    assert!(refused_columns(&columns, &CONFIG()).contains("no edges"));
}

#[test]
fn a_null_is_refused_with_its_row() {
    let ids = |null: Option<usize>, from: usize| {
        let id = |at| if Some(at) == null { None } else { Some(at as i32) };
        array((from..from + 3000).map(id).collect::<Int32Array>())
    };
    let two = |null| {
        let batches =
            [0, 3000].map(|from| batch(&[("a", ids(None, from)), ("b", ids(null, from))]));
        ArrowBatches::new(through_c(batches.to_vec()))
    };
    assert!(graph(two(None), &CONFIG()).len() > 4096, "a column that may hold nulls holds none");
    let message = refusal(two(Some(4321)), &CONFIG());
    assert!(message.contains("row 4322") && message.contains("found null"), "{message}");
    let names: DictionaryArray<Int32Type> = [Some("x"), None, Some("x")].into_iter().collect();
    let texts = array(StringArray::from(vec!["p", "q", "r"]));
    let message = refused_columns(&[("a", texts), ("b", array(names))], &CONFIG());
    assert!(message.contains("row 2") && message.contains("found null"), "{message}");
    let values = Arc::new(Int32Array::from(vec![Some(5), None]));
    let source = DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0, 0, 1]), values);
    let columns = [("a", array(source)), ("b", array(Int32Array::from(vec![1, 2, 3])))];
    assert!(refused_columns(&columns, &CONFIG()).contains("row 3"));
    let weights = array(Float32Array::from(vec![Some(1.0), None]));
    let ids = array(Int32Array::from(vec![1, 2]));
    let columns = [("a", ids.clone()), ("b", ids), ("w", weights)];
    assert!(refused_columns(&columns, &weighted()).contains("row 2"));
    // No weight is read where none is imported.
    let read = graph(ArrowBatches::new(through_c(vec![batch(&columns)])), &keeping_loops());
    assert!(read == graph(Edges::slice(&[(1, 1), (2, 2)]), &keeping_loops()));
}

fn keeping_loops() -> ImportConfig {
    CONFIG().keep_self_loops(true)
}

#[test]
fn ids_and_weights_out_of_range_are_refused_with_their_row() {
    let good = array(Int64Array::from(vec![1, 2, 3]));
    let negative = array(Int64Array::from(vec![1, 2, -3]));
    let message = refused_columns(&[("a", good.clone()), ("b", negative)], &CONFIG());
    assert!(message.contains("row 3") && message.contains("-3"), "{message}");
    let nan = array(Float64Array::from(vec![1.0, f64::NAN, 2.0]));
    let message = refused_columns(&[("a", good.clone()), ("b", good), ("w", nan)], &weighted());
    assert!(message.contains("row 2") && message.contains("expected a weight"), "{message}");
    let texts = |last: &str| array(StringArray::from(vec!["a", last]));
    let long = "x".repeat(65_536);
    for wrong in ["", &long] {
        let message = refused_columns(&[("a", texts("b")), ("b", texts(wrong))], &CONFIG());
        assert!(message.contains("row 2") && message.contains("1 to 65535 bytes"), "{message}");
    }
    let numbers = |last: &str| array(StringArray::from(vec!["1", last]));
    let integers = CONFIG().ids(IdKind::Integer);
    let message = refused_columns(&[("a", numbers("2")), ("b", numbers("-1"))], &integers);
    assert!(message.contains("row 2") && message.contains("-1"), "{message}");
}

#[test]
fn columns_of_other_types_are_refused() {
    let ids = array(Int32Array::from(vec![1, 2]));
    let flags = array(BooleanArray::from(vec![true, false]));
    let texts = array(StringArray::from(vec!["a", "b"]));
    let floats = array(Float64Array::from(vec![0.5, 1.5]));
    for other in [&flags, &floats] {
        let message = refused_columns(&[("a", ids.clone()), ("b", other.clone())], &CONFIG());
        assert!(message.contains("column b") && message.contains("integers or strings"));
    }
    let message = refused_columns(&[("a", ids.clone()), ("b", texts.clone())], &CONFIG());
    assert!(message.contains("one id column holds integers, the other strings"), "{message}");
    let message = refused_columns(&[("a", ids.clone())], &CONFIG());
    assert!(message.contains("at least two columns"), "{message}");
    let columns = [("a", ids.clone()), ("b", ids.clone()), ("w", texts)];
    assert!(refused_columns(&columns, &weighted()).contains("weights are numbers"));
    assert!(refused_columns(&columns[..2], &weighted()).contains("import it without `weights`"));
}

/// A reader whose batches are made on the way.
struct Made<F> {
    schema: SchemaRef,
    next: F,
}

impl<F: FnMut() -> Option<std::result::Result<RecordBatch, ArrowError>>> Iterator for Made<F> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.next)()
    }
}

impl<F: FnMut() -> Option<std::result::Result<RecordBatch, ArrowError>>> RecordBatchReader
    for Made<F>
{
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn two_columns() -> SchemaRef {
    let field = |name| Field::new(name, DataType::Int32, false);
    Arc::new(Schema::new(vec![field("a"), field("b")]))
}

fn made_batch(from: i32, rows: i32) -> RecordBatch {
    let source: Int32Array = (from..from + rows).map(|i| Some(i % 5003)).collect();
    let target: Int32Array = (from..from + rows).map(|i| Some(i % 4999)).collect();
    RecordBatch::try_new(two_columns(), vec![array(source), array(target)]).unwrap()
}

#[test]
fn an_error_of_the_reader_ends_the_import_with_its_reason() {
    let mut batches = 0;
    let next = move || {
        batches += 1;
        Some(if batches < 20 {
            Ok(made_batch(0, 10_000))
        } else {
            Err(ArrowError::ExternalError("the wire broke".into()))
        })
    };
    let reader = reader_through_c(Made { schema: two_columns(), next });
    let message = refusal(ArrowBatches::new(reader), &CONFIG());
    assert!(message.contains("the wire broke"), "{message}");
}

#[test]
fn batches_that_are_not_of_the_schema_are_refused() {
    let texts = || array(StringArray::from(vec!["x"]));
    let ids = || array(Int32Array::from(vec![1]));
    for wrong in [
        batch(&[("a", ids())]),
        batch(&[("a", texts()), ("b", texts())]),
        batch(&[("a", ids()), ("b", texts())]),
        batch(&[("a", ids()), ("b", array(BooleanArray::from(vec![true])))]),
    ] {
        let mut batches = vec![wrong, made_batch(0, 5)];
        let reader = Made { schema: two_columns(), next: move || batches.pop().map(Ok) };
        let message = refusal(ArrowBatches::new(reader), &CONFIG());
        assert!(message.contains("row 6"), "{message}");
    }
}

#[test]
fn one_batch_of_a_long_stream_is_in_memory_at_a_time() {
    let mut last: Weak<dyn Array> = Weak::<Int32Array>::new();
    let mut made = 0;
    let next = move || {
        assert!(last.upgrade().is_none(), "the batch before is not needed any more");
        made += 1;
        let batch = (made <= 64).then(|| made_batch(made * 7919, 1 << 15))?;
        last = Arc::downgrade(batch.column(0));
        Some(Ok(batch))
    };
    let batches = ArrowBatches::new(Made { schema: two_columns(), next });
    let folder = tempfile::tempdir().unwrap();
    let config = CONFIG().memory_bytes(16 << 20);
    let report = run(batches, &folder.path().join("g"), &config).unwrap();
    assert_eq!(report.input_edges, 64 << 15);
    assert!(report.spill_bytes > 16 << 20, "more than the memory goes through it");
    assert!(report.peak_memory_bytes <= 16 << 20);
}

#[test]
fn batches_are_imported_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let batches = Edges::from(ArrowBatches::new(through_c(vec![made_batch(0, 9)])));
    let inputs = [batches.named("trips").into()];
    let workspace = |name| FileWorkspace::new(&folder.path().join(name), &[], None, false).unwrap();
    import_edges(&inputs, &workspace("a"), &CONFIG(), &NoProgress).unwrap();
    let error = import_edges(&inputs, &workspace("b"), &CONFIG(), &NoProgress).unwrap_err();
    assert!(error.to_string().contains("trips: can be imported only once"), "{error}");
}

#[test]
fn values_of_batches_are_imported_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let ids = array(UInt64Array::from(vec![0, 1]));
    let numbers = array(Int32Array::from(vec![Some(-5), None]));
    let values = VertexValues::new(through_c(vec![batch(&[("id", ids), ("number", numbers)])]));
    let import = |name, edges| {
        let workspace = FileWorkspace::new(&folder.path().join(name), &[], None, false).unwrap();
        import_with_values(&[edges], Some(&values), &workspace, &CONFIG(), &NoProgress)
    };
    import("a", Edges::iter([(0u64, 1u64)]).into()).unwrap();
    let unread = std::iter::once_with(|| -> (u64, u64) { panic!("no edge is read") });
    let error = import("b", Edges::iter(unread).into()).unwrap_err();
    assert!(error.to_string().contains("values: can be imported only once"), "{error}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left of the second");
}
