//! The same table chooses the same columns as Parquet and as Arrow, also with nested ones.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, RecordBatchIterator, StructArray,
};
use arrow_schema::{DataType, Field, Fields};
use cenote_import::{
    ArrowBatches, ComponentsConfig, FileWorkspace, ImportConfig, Input, InputSpec, NoProgress,
    components, import_edges,
};
use cenote_store::{Order, WeightType};

use crate::oracle::file;
use crate::parquet::{Column, parquet};

/// A struct, an integer, a list, two more integers, and a number, of which each has other values.
const SCHEMA: &str = "message m {
    required group place { required int64 a; required int64 b; }
    required int64 first;
    repeated int64 many;
    required int64 second;
    required int64 third;
    required double weight;
}";

fn as_parquet() -> Vec<u8> {
    let column = |first: i64| Column::I64(vec![first, first + 1]);
    let many = Column::Repeated(vec![30, 31]);
    let weights = Column::F64(vec![0.5, 1.5]);
    let columns = vec![column(1), column(3), column(10), many, column(20), column(40), weights];
    parquet(SCHEMA, parquet::file::properties::WriterProperties::default(), &[columns])
}

fn as_arrow() -> RecordBatch {
    let column = |first: i64| Arc::new(Int64Array::from(vec![first, first + 1])) as ArrayRef;
    let fields: Fields =
        ["a", "b"].map(|name| Field::new(name, DataType::Int64, false)).to_vec().into();
    let place = StructArray::new(fields, vec![column(1), column(3)], None);
    let many = ListArray::from_iter_primitive::<Int64Type, _, _>(
        [30, 31].map(|value| Some(vec![Some(value)])),
    );
    RecordBatch::try_from_iter([
        ("place", Arc::new(place) as ArrayRef),
        ("first", column(10)),
        ("many", Arc::new(many)),
        ("second", column(20)),
        ("third", column(40)),
        ("weight", Arc::new(Float64Array::from(vec![0.5, 1.5]))),
    ])
    .unwrap()
}

#[derive(Clone, Copy, Debug, Default)]
struct Given {
    source: Option<&'static str>,
    target: Option<&'static str>,
    weight: Option<&'static str>,
}

impl Given {
    fn of_parquet(self, folder: &tempfile::TempDir) -> Input<'static> {
        let text = |name: Option<&str>| name.map(str::to_owned);
        Input::File(InputSpec {
            source_column: text(self.source),
            target_column: text(self.target),
            weight_column: text(self.weight),
            ..file(folder, "a.parquet", &as_parquet())
        })
    }

    fn of_arrow(self) -> Input<'static> {
        let batch = as_arrow();
        let schema = batch.schema();
        let mut batches = ArrowBatches::new(RecordBatchIterator::new([Ok(batch)], schema));
        if let Some(source) = self.source {
            batches = batches.source_column(source);
        }
        if let Some(target) = self.target {
            batches = batches.target_column(target);
        }
        if let Some(weight) = self.weight {
            batches = batches.weight_column(weight);
        }
        batches.into()
    }
}

/// The bytes of the graph and the ids that a straight run meets, or the error without its place.
fn read(input: impl Fn() -> Input<'static>) -> Result<(Vec<u8>, Vec<u64>), String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let without_place = |message: String| match message.split_once(": ") {
        Some((_, reason)) => reason.to_owned(),
        None => message,
    };
    let workspace = FileWorkspace::new(&out, &[], None, false).unwrap();
    let config = ImportConfig::default().weights(Some(WeightType::F64)).order(Order::Natural);
    let config = config.memory_bytes(32 << 20).directed(true);
    import_edges(&[input()], &workspace, &config, &NoProgress)
        .map_err(|error| without_place(error.to_string()))?;
    let config = ComponentsConfig::default().memory_bytes(32 << 20);
    let found = components(&[input()], &config, &NoProgress).unwrap();
    Ok((std::fs::read(out).unwrap(), found.ids.integers().unwrap().to_vec()))
}

#[track_caller]
fn both(given: Given) -> Result<Vec<u64>, String> {
    let folder = tempfile::tempdir().unwrap();
    let of_parquet = read(|| given.of_parquet(&folder));
    assert_eq!(of_parquet, read(|| given.of_arrow()), "{given:?}");
    of_parquet.map(|(_, ids)| ids)
}

#[test]
fn a_nested_column_counts_as_one_and_holds_no_ids() {
    let none = Given::default();
    let given = |source, target| Given { source: Some(source), target: Some(target), ..none };
    let weighted = |weight| Given { weight: Some(weight), ..none };
    assert_eq!(both(none), Ok(vec![10, 11, 20, 21]), "the first two that are not nested");
    assert_eq!(both(given("4", "2")), Ok(vec![10, 11, 20, 21]));
    assert_eq!(both(given("third", "second")), Ok(vec![20, 21, 40, 41]));
    assert_eq!(both(given("5", "4")), Ok(vec![20, 21, 40, 41]));
    for (source, name) in [("1", "place"), ("place", "place"), ("3", "many"), ("many", "many")] {
        let refused = both(given(source, "4")).unwrap_err();
        let expected = format!("column {name} holds nested values");
        assert!(refused.starts_with(&expected) && refused.contains("`source_column`"), "{refused}");
    }
    let refused = both(given("place.a", "4")).unwrap_err();
    assert!(refused.contains("there are: place, first, many, second, third, weight"), "{refused}");
    assert!(both(weighted("5")).is_ok());
    let refused = both(weighted("many")).unwrap_err();
    assert!(refused.contains("nested values") && refused.contains("`weight_column`"), "{refused}");
}

#[test]
fn nested_columns_leave_the_other_one_of_two() {
    let schema = "message m { required group x { required int64 x; } required int64 b; \
                  required int64 a; }";
    let groups = [vec![Column::I64(vec![7]), Column::I64(vec![2]), Column::I64(vec![1])]];
    let properties = parquet::file::properties::WriterProperties::default();
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.parquet", &parquet(schema, properties, &groups));
    let spec = InputSpec { source_column: Some("a".to_owned()), ..spec };
    let config = ImportConfig::default().directed(true).memory_bytes(32 << 20);
    crate::oracle::assert_imports(&[spec], &config, &crate::oracle::integers(&[(1, 2)]), &[]);
}
