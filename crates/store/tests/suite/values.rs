//! Values of vertices against a map: what becomes of each change, which pages are written, what
//! older readers and snapshots see, and sections that no program wrote.

use std::collections::BTreeMap;

use crate::graphs::model::changes;
use crate::graphs::{MemoryDevice, Random, TestGraph};
use cenote_store::header::PageHeader;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Answer, Batch, Change, Graph, Id, LookupConfig, Op, Store, StoreError, Value, ValueType, check,
    check_device, for_each_changed_value,
};

const VERTICES: u32 = 3000;

fn stored() -> (MemoryDevice, Store) {
    let device = MemoryDevice::default();
    let edges: Vec<_> = (1..VERTICES).map(|v| (v - 1, v)).collect();
    let graph = TestGraph::directed(VERTICES as usize, &edges);
    let graph = TestGraph { duplicates_kept: false, ..graph };
    graph.write(&device, usize::MAX).unwrap();
    let store = Store::open(device.shared()).unwrap();
    (device, store)
}

fn newest(store: &Store) -> Graph {
    store.graph(|_| LookupConfig::default()).unwrap()
}

fn set(values: impl IntoIterator<Item = (u32, Value)>) -> Batch {
    let (vertices, values): (Vec<u32>, Vec<Value>) = values.into_iter().unzip();
    let changes = vertices.into_iter().map(|vertex| Change::of_vertex(Op::SetValue, vertex));
    Batch { changes: changes.collect(), values, ..Batch::default() }
}

fn of(op: Op, vertices: impl IntoIterator<Item = u32>) -> Batch {
    changes(vertices.into_iter().map(|vertex| Change::of_vertex(op, vertex)))
}

type Model = BTreeMap<u32, Value>;

fn assert_same(graph: &Graph, model: &Model) {
    let mut found = Vec::new();
    graph
        .for_each_value(&mut |vertex, value| {
            found.push((vertex, value));
            Ok(())
        })
        .unwrap();
    let expected: Vec<_> = model.iter().map(|(vertex, value)| (*vertex, *value)).collect();
    assert_eq!(found, expected);
    for vertex in (0..graph.vertices() as u32).step_by(7) {
        assert_eq!(graph.value(vertex).unwrap(), model.get(&vertex).copied(), "vertex {vertex}");
    }
    let kind = model.values().next().map(|value| value.kind());
    assert_eq!(graph.superblock().value_type, kind);
    let report = check(graph, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{report:?}");
}

/// The values that differ between two states: those that are gone, then the others.
fn assert_changed((before, old): (&Graph, &Model), (after, new): (&Graph, &Model)) {
    let mut found = Vec::new();
    let counts = for_each_changed_value::<StoreError>(before, after, &mut |vertex, value| {
        found.push((vertex, value));
        Ok(())
    });
    let gone = old.keys().filter(|vertex| !new.contains_key(vertex) && !after.is_deleted(**vertex));
    let mut expected: Vec<_> = gone.map(|vertex| (*vertex, None)).collect();
    let removed = expected.len() as u64;
    let set = new.iter().filter(|(vertex, value)| old.get(vertex) != Some(value));
    expected.extend(set.map(|(vertex, value)| (*vertex, Some(*value))));
    assert_eq!(found, expected);
    assert_eq!(counts.unwrap(), (expected.len() as u64 - removed, removed));
}

#[test]
fn random_batches_leave_the_values_of_a_map() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let (device, store) = stored();
        let (mut model, mut n) = (Model::new(), VERTICES);
        let mut deleted = Vec::new();
        let kind = ValueType::NAMES[seed as usize % 3].1;
        let mut readers = Vec::new();
        for round in 0..12 {
            let mut batch = Batch::default();
            let mut expected = Vec::new();
            if random.below(3) == 0 {
                batch.new_ids.push(Id::Integer(u64::from(n)));
                n += 1;
            }
            for _ in 0..[3, 40, 2000][random.below(3) as usize] {
                let vertex = random.below(u64::from(n)) as u32;
                let is_deleted = deleted.contains(&vertex);
                let op = match random.below(20) {
                    0 => Op::DeleteVertex,
                    1 => Op::AddVertex,
                    2..6 => Op::RemoveValue,
                    _ => Op::SetValue,
                };
                batch.changes.push(Change::of_vertex(op, vertex));
                let value = match kind {
                    ValueType::U64 => Value::U64(random.next()),
                    ValueType::I64 => Value::I64(random.next().cast_signed()),
                    ValueType::F64 => Value::F64(random.below(1000) as f64 / 7.0 - 50.0),
                };
                batch.values.extend((op == Op::SetValue).then_some(value));
                expected.push(match (op, is_deleted) {
                    (Op::AddVertex, true) => {
                        deleted.retain(|gone| *gone != vertex);
                        Answer::Done
                    }
                    (Op::AddVertex, false) => Answer::Present,
                    (_, true) => Answer::Unknown,
                    (Op::DeleteVertex, _) => {
                        model.remove(&vertex);
                        deleted.push(vertex);
                        Answer::Done
                    }
                    (Op::RemoveValue, _) if model.remove(&vertex).is_none() => Answer::Absent,
                    (Op::RemoveValue, _) => Answer::Done,
                    _ => {
                        model.insert(vertex, value);
                        Answer::Done
                    }
                });
            }
            let updated = match random.below(2) {
                0 => store.commit(&batch).unwrap(),
                _ => store.update(&batch).unwrap(),
            };
            assert_eq!(updated.answers, expected, "seed {seed}, round {round}");
            readers.push((newest(&store), model.clone()));
            for (reader, before) in &readers {
                assert_same(reader, before);
                assert_changed((reader, before), (&newest(&store), &model));
            }
            if random.below(3) == 0 {
                readers.clear();
            }
        }
        assert_same(&Graph::open(device.shared()).unwrap(), &model);
    }
}

#[test]
fn a_batch_writes_the_pages_whose_values_change() {
    let (_, store) = stored();
    let even = (0..VERTICES).step_by(2).map(|v| (v, Value::U64(v.into())));
    let mut model: Model = even.clone().collect();
    store.update(&set(even)).unwrap();
    let places = |graph: &Graph| -> Vec<u64> {
        let section = graph.superblock().section(SectionKind::VertexValues).unwrap();
        section.range().map(|page| graph.physical(page)).collect()
    };
    let before = places(&newest(&store));
    assert_eq!(before.len(), 5);
    store.snapshot(Some("even"), 7).unwrap();
    let epoch = store.epoch();
    // To set what is there, or to set and remove, changes nothing.
    let mut batch = set([(700, Value::U64(700)), (1, Value::U64(9))]);
    batch.changes.push(Change::of_vertex(Op::RemoveValue, 1));
    assert_eq!(store.update(&batch).unwrap().answers, [Answer::Done; 3]);
    assert_eq!(store.epoch(), epoch);
    let odd = (1001..1100).step_by(2).map(|v| (v, Value::U64(5)));
    store.update(&set(odd.clone())).unwrap();
    let earlier = model.clone();
    model.extend(odd);
    let after = places(&newest(&store));
    let kept = after.iter().filter(|place| before.contains(place)).count();
    // A full page becomes two.
    assert_eq!((after.len(), kept), (6, 4));
    assert_same(&newest(&store), &model);
    let snapshot = store.graph_at("even", |_| LookupConfig::default()).unwrap();
    assert_same(&snapshot, &earlier);
    drop(snapshot);
    store.update(&of(Op::RemoveValue, model.keys().copied())).unwrap();
    assert_same(&newest(&store), &Model::new());
    assert_eq!(newest(&store).superblock().section(SectionKind::VertexValues), None);
    // Then the type is free.
    store.update(&set([(3, Value::F64(0.5))])).unwrap();
    assert_same(&newest(&store), &[(3, Value::F64(0.5))].into());
}

#[test]
fn values_that_a_graph_cannot_have_are_refused() {
    let (_, store) = stored();
    let refused = |batch: Batch, expected: &str| {
        let error = store.commit(&batch).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let two = [(1, Value::U64(1)), (2, Value::I64(2))];
    refused(set(two), "the value 2 is of type i64, its values are u64");
    refused(set([(1, Value::F64(f64::NAN))]), "the value NaN is not finite");
    refused(of(Op::SetValue, [1]), "0 values for 1 changes that set one");
    refused(set([(VERTICES, Value::U64(1))]), "vertex 3000 of a change");
    store.commit(&set([(1, Value::I64(-1))])).unwrap();
    refused(set([(2, Value::U64(1))]), "the value 1 is of type u64, its values are i64");
}

/// A page of values that a commit has rewritten.
fn forged(change: impl Fn(&mut PageHeader, &mut [u8])) -> MemoryDevice {
    let (device, store) = stored();
    store.update(&set((0..600).map(|v| (2 * v, Value::F64(v.into()))))).unwrap();
    let graph = newest(&store);
    let section = *graph.superblock().section(SectionKind::VertexValues).unwrap();
    assert_eq!(section.pages, 2);
    let page = graph.physical(section.first_page) as usize * 4096;
    let bytes = device.bytes()[page..page + 4096].to_vec();
    drop(graph);
    let mut transaction = store.begin().unwrap();
    let (mut header, mut payload) = (PageHeader::read(&bytes), bytes[48..].to_vec());
    change(&mut header, &mut payload);
    let fill = |page: &mut [u8]| page[48..].copy_from_slice(&payload);
    transaction.write(section.first_page, header, fill).unwrap();
    transaction.commit().unwrap();
    device
}

#[test]
fn a_hostile_page_of_values_is_an_error_and_no_panic() {
    let refused = |change: &dyn Fn(&mut PageHeader, &mut [u8]), expected: &str| {
        let device = forged(change);
        let graph = Graph::open(device.shared()).unwrap();
        let error = graph.for_each_value(&mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("(vertex values, ") && error.contains(expected), "{error}");
        assert!(graph.value(4).is_err());
        let report = check_device(device.shared(), &mut |_, _| true).unwrap();
        assert!(report.faults.iter().any(|fault| fault.message.contains(expected)), "{report:?}");
        let store = Store::open(device.shared()).unwrap();
        assert!(store.update(&set([(0, Value::F64(1.0))])).is_err());
    };
    let vertex = |page: &mut [u8], at: usize, vertex: u32| {
        page[300 * 8 + 4 * at..][..4].copy_from_slice(&vertex.to_le_bytes());
    };
    refused(&|_, page| vertex(page, 2, 2), "do not ascend");
    refused(&|_, page| vertex(page, 299, 9000), "vertex of a value is 9001");
    refused(&|_, page| vertex(page, 0, 1), "first vertex of a page");
    refused(&|header, _| header.entries = 0, "a page of values has none");
    refused(&|header, _| header.entries = 4000, "values of a page is 4000");
    refused(&|header, _| header.tail_degree = 1, "header that should be zero");
    refused(&|_, page| page[..8].fill(0xff), "a value is none of type f64");
    refused(&|_, page| page[4000] = 1, "behind the last value");
    let whole = forged(|_, _| {});
    assert!(check_device(whole.shared(), &mut |_, _| true).unwrap().is_whole());
    // Only a check looks at all pages.
    let device = forged(|_, page| vertex(page, 299, 2999));
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert!(report.faults[0].message.contains("do not ascend"), "{report:?}");
}
