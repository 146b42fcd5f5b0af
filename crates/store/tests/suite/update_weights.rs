//! Batches over graphs with weights: which pages they write, what stays of the weights before, what
//! is refused, and damage.

use std::collections::BTreeSet;

use crate::graphs::model::{Kind, add, changes, delete, random_batch};
use crate::graphs::{MemoryDevice, Random, TestGraph, weight_of};
use crate::live::{DIRECTIONS, Live, assert_same};
use cenote_store::format::{HEADER_BYTES, LOG_BLOCK_BYTES};
use cenote_store::header::PageHeader;
use cenote_store::superblock::{Section, SectionKind};
use cenote_store::{
    Answer, Batch, Change, Codec, Direction, Graph, LookupConfig, Op, Store, StoreError, Weight,
    WeightType, WriteLimits, check_device,
};

/// A random graph of so many vertices and about so many edges, with weights.
fn weighted(kind: WeightType, directed: bool, (n, edges): (u64, u64)) -> TestGraph {
    let mut random = Random(n + edges);
    let mut vertex = || random.below(n) as u32;
    let edges = (0..edges).map(|_| (vertex(), vertex()));
    let edges = edges.map(|(u, v)| if directed { (u, v) } else { (u.min(v), u.max(v)) });
    let edges: BTreeSet<_> = edges.collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = match directed {
        true => TestGraph::directed(n as usize, &edges),
        false => TestGraph::undirected(n as usize, &edges),
    };
    TestGraph { duplicates_kept: false, weights: Some(kind), ..graph }
}

fn set(source: u32, target: u32) -> Change {
    Change { op: Op::Set, source, target }
}

fn with_weights(batch: Batch, weights: impl IntoIterator<Item = Weight>) -> Batch {
    Batch { weights: weights.into_iter().map(Some).collect(), ..batch }
}

fn section(graph: &Graph, kind: SectionKind) -> Section {
    *graph.superblock().section(kind).unwrap()
}

/// Where the pages of a section lie.
fn places(graph: &Graph, kind: SectionKind) -> Vec<u64> {
    section(graph, kind).range().map(|page| graph.physical(page)).collect()
}

fn added(after: &Graph, before: &Graph, kind: SectionKind) -> usize {
    let before: BTreeSet<u64> = places(before, kind).into_iter().collect();
    places(after, kind).into_iter().filter(|place| !before.contains(place)).count()
}

// ------------------------------------------------------------------------------------------------
// What a batch writes

#[test]
fn small_batches_leave_most_pages_of_weights_until_half_of_the_weights_are_of_no_entry() {
    change_few_weights(|i| i % 3 == 0);
}

#[test]
#[ignore = "long: make soak"]
fn small_batches_leave_most_pages_of_weights_longer() {
    change_few_weights(|_| true);
}

fn change_few_weights(is_chosen: impl Fn(u64) -> bool) {
    let kinds = (0..).zip(WeightType::NAMES).filter(|(i, _)| is_chosen(*i));
    for (i, (_, kind)) in kinds {
        let mut random = Random(i);
        let directed = i % 2 == 0;
        let codec = Codec::ALL[i as usize / 2];
        let edges = if codec == Codec::Raw { 25_000 } else { 90_000 };
        let graph = weighted(kind, directed, (2_000, edges));
        let mut live = Live::new(TestGraph { codec, ..graph });
        let (mut kept, mut rewritten, mut unreferenced) = (0, 0, 0);
        for round in 0..60 {
            let before = live.graph();
            let batch = random_batch(&live.model, Kind::Few, &mut random);
            live.update(&batch);
            let after = live.graph();
            let column = section(&after, SectionKind::OutWeights);
            let stored = after.superblock().stored_out;
            unreferenced = unreferenced.max(column.items - stored);
            match added(&after, &before, SectionKind::OutWeights) as u64 {
                new if new < column.pages => kept += 1,
                _ => rewritten += 1,
            }
            if round % 12 == 0 {
                live.assert_same();
            }
        }
        live.assert_same();
        println!("{kind:?}: {kept} kept, {rewritten} written anew, {unreferenced} of no entry");
        assert!(kept > 3 * rewritten && rewritten > 0, "{kept} kept, {rewritten} written anew");
        assert!(unreferenced > 2_000, "{unreferenced} weights of no entry");
    }
}

#[test]
fn a_weight_that_is_set_costs_its_pages_of_weights_and_no_page_of_lists() {
    for directed in [false, true] {
        let mut live = Live::new(weighted(WeightType::F32, directed, (3_000, 120_000)));
        let before = live.graph();
        let &(u, v) = live.model.edges.iter().nth(40_000).unwrap();
        let batch = with_weights(changes([set(u, v)]), [Weight::F32(0.125)]);
        let updated = live.update(&batch);
        let after = live.graph();
        for kind in [SectionKind::OutAdjacency, SectionKind::OutIndex, SectionKind::OutWeightIndex]
        {
            assert_eq!(places(&after, kind), places(&before, kind), "{kind:?}");
        }
        let pages = added(&after, &before, SectionKind::OutWeights);
        assert!((1..=4).contains(&pages), "{pages} pages of weights");
        assert!(updated.pages_written <= 12, "{} pages", updated.pages_written);
        let items = |graph| section(graph, SectionKind::OutWeights).items;
        assert_eq!(items(&after), items(&before));
        live.assert_same();
        // The same weight again is no change.
        let again = live.update(&batch);
        assert_eq!((again.answers, again.epoch), (vec![Answer::Done], updated.epoch));
    }
}

/// A graph with weights that take one byte where they are integers.
fn narrow(kind: WeightType, directed: bool, size: (u64, u64)) -> TestGraph {
    TestGraph { small_weights: true, ..weighted(kind, directed, size) }
}

/// Bytes of a weight, and pages of weights of both directions.
fn stored_in(graph: &Graph) -> (usize, Vec<u64>) {
    let columns: Vec<_> = DIRECTIONS.iter().filter_map(|way| graph.weights(*way)).collect();
    let bytes = graph.superblock().weights.unwrap().format().bytes();
    assert!(columns.iter().all(|column| column.format().bytes() == bytes));
    (bytes, columns.iter().map(|column| column.pages()).collect())
}

#[test]
fn integers_take_as_few_bytes_as_all_of_them_need() {
    for (kind, full) in [(WeightType::U32, 4), (WeightType::I64, 8)] {
        let mut live = Live::new(narrow(kind, true, (900, 20_000)));
        let weight = |number| weight_of(kind, number);
        let edges: Vec<_> = live.model.edges.iter().copied().step_by(1_500).collect();
        let set_to = |edge: usize, number| {
            let (u, v) = edges[edge];
            with_weights(changes([set(u, v)]), [weight(number)])
        };
        let pages = stored_in(&live.graph()).1;
        assert_eq!(stored_in(&live.graph()), (1, vec![20_000u64.div_ceil(4048); 2]));
        live.store.snapshot(Some("narrow"), 1).unwrap();
        let narrow = live.model.clone();
        live.update(&set_to(0, 255));
        assert_eq!(stored_in(&live.graph()), (1, pages.clone()));
        live.update(&set_to(1, 256));
        assert_eq!(stored_in(&live.graph()).0, 2, "{kind:?}");
        live.assert_same();
        // It has been that large once.
        live.update(&set_to(1, 3));
        live.update(&set_to(2, 65_535));
        assert_eq!(stored_in(&live.graph()).0, 2);
        // In the log a weight has all its bytes.
        live.commit(&set_to(3, 65_536));
        assert_eq!((stored_in(&live.graph()).0, live.graph().logged_changes()), (2, 1));
        live.assert_same();
        live.store.merge().unwrap();
        assert_eq!(stored_in(&live.graph()).0, 4);
        live.assert_same();
        if kind == WeightType::I64 {
            live.update(&set_to(4, -1));
            assert_eq!(stored_in(&live.graph()).0, full);
            live.assert_same();
        }
        let snapshot = live.store.graph_at("narrow", |_| LookupConfig::default()).unwrap();
        assert_eq!(stored_in(&snapshot), (1, pages));
        assert_same(&snapshot, &narrow);
    }
}

#[test]
fn narrow_weights_change_as_others_do() {
    for (seed, (directed, kind)) in
        [(true, WeightType::U32), (false, WeightType::I64)].into_iter().enumerate()
    {
        let mut live = Live::new(narrow(kind, directed, (700, 9_000)));
        let (mut random, mut sizes) = (Random(seed as u64), BTreeSet::new());
        for round in 0..120 {
            // Not so many that the weights are written anew without a wider one.
            let batch = random_batch(&live.model, Kind::Few, &mut random);
            match round {
                0..60 => live.update(&batch),
                _ => live.commit(&batch),
            };
            let bytes = stored_in(&live.graph()).0;
            assert!(sizes.last().is_none_or(|before| *before <= bytes), "it shrank");
            sizes.insert(bytes);
            if round % 10 == 0 {
                live.assert_same();
            }
        }
        live.assert_same();
        assert!(sizes.contains(&1) && sizes.len() > 1, "bytes of a weight: {sizes:?}");
    }
}

#[test]
fn more_weights_than_wait_in_memory_go_to_their_places() {
    let mut random = Random(5);
    let mut live = Live::new(weighted(WeightType::I64, true, (6_000, 420_000)));
    // The weights of lists that are far from each other get to share a page.
    for sources in [&[300, 1_990][..], &[5_000]] {
        let missing = |u: u32| (0..).find(|v| !live.model.edges.contains(&(u, *v))).unwrap();
        let batch = changes(sources.iter().map(|&u| add(u, missing(u))));
        live.update(&with_weights(batch, sources.iter().map(|_| Weight::I64(-5))));
    }
    for (vertices, grown) in [(0..2_000, 0), (2_000..4_000, 20), (4_000..5_300, 1)] {
        // Less than half of the pages of lists, in which lists stay or grow.
        let of_them = live.model.edges.range((vertices.start, 0)..(vertices.end, 0));
        let mut batch = changes(of_them.step_by(40).map(|&(u, v)| set(u, v)));
        let mut far = || random.below(6_000) as u32;
        let grow: Vec<_> = vertices.step_by(90).take(grown).map(|u| add(u, far())).collect();
        batch.changes.extend(grow);
        let weights =
            batch.changes.iter().map(|_| random.weight(WeightType::I64)).collect::<Vec<_>>();
        let batch = with_weights(batch, weights);
        live.update(&batch);
        let column = section(&live.graph(), SectionKind::OutWeights);
        assert!(column.items > live.graph().superblock().stored_out, "not written anew");
    }
    live.assert_same();
}

#[test]
fn a_file_does_not_grow_when_the_same_weighted_edges_come_and_go() {
    let mut live = Live::new(weighted(WeightType::U32, false, (900, 9_000)));
    let missing = (0..900).filter(|v| !live.model.edges.contains(&(1, *v)) && *v > 1);
    let edges: Vec<u32> = missing.take(30).collect();
    let mut size = Vec::new();
    for round in 0..300 {
        let change = if round % 2 == 0 { add } else { delete };
        let batch = changes(edges.iter().map(|&v| change(1, v)));
        let weights = edges.iter().map(|&v| Weight::U32(v + round));
        let batch = with_weights(batch, weights);
        live.store.update(&batch).unwrap();
        live.model.apply(&batch);
        size.push(live.graph().superblock().pages_total);
    }
    live.assert_same();
    let (early, late) = (size[..60].iter().max().unwrap(), size[240..].iter().max().unwrap());
    assert!(late <= early, "{early} pages at first, {late} later");
}

#[test]
fn a_small_batch_of_a_graph_with_weights_costs_one_flush_and_a_full_log_is_merged() {
    let mut live = Live::new(weighted(WeightType::F64, true, (100, 300)));
    let limits = WriteLimits::default().bytes(4 * LOG_BLOCK_BYTES as u64);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    let mut merged = Vec::new();
    for v in 0..9 {
        // Each sets a weight, so pages of lists stay while a merge writes those of weights.
        let &(u, w) = live.model.edges.iter().nth(30 * v).unwrap();
        let batch = with_weights(changes([set(u, w)]), [Weight::F64(v as f64)]);
        let before = live.graph();
        let updated = live.commit(&batch);
        let is_logged = updated.merged == 0;
        assert_eq!((updated.log_bytes > 0, updated.spilled), (is_logged, 0));
        let after = live.graph();
        assert_eq!(after.superblock().epoch - before.superblock().epoch, {
            u64::from(v == 0 || !is_logged)
        });
        assert_eq!(added(&after, &before, SectionKind::OutWeights) > 0, !is_logged);
        merged.push(updated.merged);
        live.assert_same();
    }
    assert_eq!(merged, [0, 0, 0, 0, 4, 0, 0, 0, 0]);
    assert_eq!(live.store.merge().unwrap().merged, 4);
    live.assert_same();
    assert_eq!(live.store.merge().unwrap().epoch, live.store.epoch());
}

/// The log keeps what an edge comes to: every order of two changes of one edge, before and after a
/// merge.
#[test]
fn changes_of_one_edge_in_different_batches_come_to_what_the_last_says() {
    let ops = [Op::Add, Op::Delete, Op::Set];
    for directed in [false, true] {
        for case in 0..27 {
            let mut live = Live::new(weighted(WeightType::I64, directed, (40, 200)));
            let &there = live.model.edges.iter().find(|(u, v)| u < v).unwrap();
            let missing = (0..40)
                .map(|v| (there.0, v))
                .find(|edge| edge.0 < edge.1 && !live.model.edges.contains(edge));
            for (i, digit) in [1, 3, 9].into_iter().enumerate() {
                let op = ops[case / digit % 3];
                for (edge, weight) in [(there, 7 + i as i64), (missing.unwrap(), -3 - i as i64)] {
                    let change = Change { op, source: edge.0, target: edge.1 };
                    let mut batch = with_weights(changes([change]), [Weight::I64(weight)]);
                    if op == Op::Delete && case % 2 == 0 {
                        batch.weights = Vec::new();
                    }
                    live.commit(&batch);
                }
            }
            live.assert_same();
            assert!(live.graph().superblock().epoch == 2, "all of it is in the log");
            live.store.merge().unwrap();
            live.assert_same();
        }
    }
}

/// A batch that has no room is taken back as a whole: a page cannot have more entries.
#[test]
fn a_batch_that_is_taken_back_leaves_the_weights_of_the_log_as_they_were() {
    let mut live = Live::new(weighted(WeightType::U32, true, (30, 0)));
    live.store = Store::open(live.device.shared()).unwrap();
    live.commit(&with_weights(changes([add(1, 2), add(1, 3)]), [2, 3].map(Weight::U32)));
    // A part of a long list would be left without an entry.
    let hub: Vec<u32> = (0..12_000).collect();
    let mut graph = TestGraph::directed(12_000, &hub.iter().map(|v| (0, *v)).collect::<Vec<_>>());
    (graph.duplicates_kept, graph.weights) = (false, Some(WeightType::U32));
    let mut live = Live::new(graph);
    let first = [set(0, 5), delete(0, 6), add(9, 6)];
    live.commit(&with_weights(changes(first), [5, 6, 7].map(Weight::U32)));
    let taken_back = [set(0, 5), add(0, 6), delete(9, 6)].into_iter();
    let all = taken_back.chain((3_000..9_000).map(|v| delete(0, v)));
    let mut batch = changes(all);
    batch.weights = vec![None; batch.changes.len()];
    batch.weights[0] = Some(Weight::U32(50));
    batch.weights[1] = Some(Weight::U32(60));
    let updated = live.commit(&batch);
    assert!(updated.merged > 0 && updated.log_bytes == 0, "it is a commit");
    live.assert_same();
}

// ------------------------------------------------------------------------------------------------
// Answers

#[test]
fn changes_of_one_edge_see_the_weights_of_each_other() {
    use Answer::{Absent, Done, Present};
    for (directed, is_logged) in [false, true].into_iter().flat_map(|d| [(d, false), (d, true)]) {
        let make = |live: &mut Live, batch: &Batch| match is_logged {
            true => live.commit(batch),
            false => live.update(batch),
        };
        let mut graph = weighted(WeightType::U32, directed, (4, 0));
        let pairs = [(0, 1), (2, 3)];
        let lists = match directed {
            true => TestGraph::directed(4, &pairs),
            false => TestGraph::undirected(4, &pairs),
        };
        (graph.out, graph.back) = (lists.out, lists.back);
        let mut live = Live::new(graph);
        let batch = [
            add(0, 1),
            set(0, 1),
            set(1, 0),
            delete(2, 3),
            set(2, 3),
            add(2, 3),
            add(2, 3),
            add(2, 2),
            set(2, 2),
        ];
        let weights = (100..).map(Weight::U32).take(batch.len());
        let mut batch = with_weights(changes(batch), weights);
        // With a weight a deletion is of an edge of that weight.
        batch.weights[3] = None;
        let answers = make(&mut live, &batch).answers;
        let turned = if directed { Absent } else { Done };
        assert_eq!(answers, [Present, Done, turned, Done, Absent, Done, Present, Done, Done]);
        let weight = if directed { 101 } else { 102 };
        assert_eq!(live.model.copies[&(0, 1)], [Some(Weight::U32(weight))]);
        assert_eq!(live.model.copies[&(2, 3)], [Some(Weight::U32(105))]);
        assert_eq!(live.model.copies[&(2, 2)], [Some(Weight::U32(108))]);
        live.assert_same();
        let other = with_weights(changes([delete(2, 3)]), [Weight::U32(104)]);
        assert_eq!(make(&mut live, &other).answers, [Absent]);
        let its = with_weights(changes([delete(2, 3)]), [Weight::U32(105)]);
        assert_eq!(make(&mut live, &its).answers, [Done]);
        // Deletions need no weights, and an empty graph has none.
        let all = changes(live.model.edges.clone().into_iter().map(|(u, v)| delete(u, v)));
        make(&mut live, &all);
        live.store.merge().unwrap();
        assert_eq!(section(&live.graph(), SectionKind::OutWeights).items, 0);
        live.assert_same();
        make(&mut live, &with_weights(changes([add(3, 0)]), [Weight::U32(7)]));
        let summary = live.graph().superblock().weights.unwrap();
        assert_eq!((summary.min(), summary.mean()), (Some(Weight::U32(7)), 7.0));
        live.assert_same();
    }
}

#[test]
fn a_minus_zero_is_stored_as_zero() {
    let mut live = Live::new(weighted(WeightType::F32, true, (3, 0)));
    live.update(&with_weights(changes([add(0, 1)]), [Weight::F32(-0.0)]));
    let mut found = Vec::new();
    live.graph().read_weights(Direction::Out, 0, &mut found).unwrap();
    let [Weight::F32(zero)] = found[..] else { panic!("{found:?}") };
    assert!(zero.is_sign_positive());
    live.assert_same();
}

#[test]
fn weights_that_a_graph_cannot_have_are_refused_for_the_whole_batch() {
    let refused = |live: &Live, batch: &Batch, why: &str| {
        let (bytes, epoch) = (live.device.bytes(), live.store.epoch());
        for error in [live.store.update(batch).unwrap_err(), live.store.commit(batch).unwrap_err()]
        {
            assert!(matches!(error, StoreError::Update { .. }), "{error:?}");
            let error = error.to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{why} is not in: {error}");
        }
        assert!(live.device.bytes() == bytes && live.store.epoch() == epoch, "{why}: it changed");
    };
    let live = Live::new(weighted(WeightType::F32, false, (9, 20)));
    let two = || changes([add(0, 3), add(4, 7)]);
    let right = Weight::F32(1.0);
    refused(&live, &with_weights(two(), [right, Weight::F64(2.5)]), "2.5");
    refused(&live, &with_weights(two(), [right, Weight::I64(-77)]), "-77");
    refused(&live, &with_weights(two(), [right, Weight::F32(f32::NAN)]), "NaN");
    refused(&live, &with_weights(two(), [right, Weight::F32(f32::INFINITY)]), "inf");
    refused(&live, &with_weights(two(), [right]), "1 weights for 2 changes");
    refused(&live, &two(), "from vertex 0 to 3 has no weight");
    refused(&live, &Batch { weights: vec![Some(right), None], ..two() }, "4 to 7 has no weight");
    refused(&live, &changes([set(0, 3)]), "0 to 3 has no weight");
    let deletion = with_weights(changes([delete(0, 3)]), [Weight::U32(5)]);
    refused(&live, &deletion, "5");
    let graph = TestGraph { weights: None, ..weighted(WeightType::F32, false, (9, 20)) };
    let live = Live::new(TestGraph { weights: None, ..graph });
    live.store.update(&changes([])).unwrap();
    let refused_too = |batch: &Batch, why: &str| {
        let error = live.store.update(batch).unwrap_err().to_string();
        assert!(error.contains(why), "{why} is not in: {error}");
        assert_eq!(live.store.epoch(), 1);
    };
    refused_too(&with_weights(two(), [right, right]), "its edges have none");
    refused_too(&changes([set(0, 3)]), "its edges have none");
}

// ------------------------------------------------------------------------------------------------
// Damage

/// A graph in which some pages of weights hold none of an entry, and some are looked up by jumps.
fn scattered(kind: WeightType) -> Live {
    let mut live = Live::new(weighted(kind, true, (600, 12_000)));
    let mut random = Random(77);
    for _ in 0..2 {
        // Neighbouring lists, so that whole pages of weights are left.
        let first = random.below(450) as u32;
        let grown = (first..first + 150).map(|u| add(u, random.below(600) as u32));
        let batch = changes(grown.collect::<Vec<_>>());
        let weights = batch.changes.iter().map(|_| random.weight(kind)).collect::<Vec<_>>();
        live.update(&with_weights(batch, weights));
    }
    live.assert_same();
    live
}

fn faults(device: &MemoryDevice) -> Vec<Option<u64>> {
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    report.faults.iter().map(|fault| fault.page).collect()
}

#[test]
fn a_flipped_bit_in_any_page_of_weights_is_found_even_where_no_entry_has_its_weight() {
    for (_, kind) in WeightType::NAMES {
        let live = scattered(kind);
        let graph = live.graph();
        let page_bytes = graph.page_bytes();
        let mut random = Random(3);
        let mut unreferenced = 0;
        for direction in DIRECTIONS {
            let column = graph.load_weights(direction).unwrap().unwrap();
            let lists = graph.adjacency(direction).unwrap().pages();
            let referenced = (0..lists).flat_map(|page| column.pages_of(column.addresses_of(page)));
            let referenced: BTreeSet<u64> = referenced.collect();
            unreferenced += (0..column.pages()).filter(|page| !referenced.contains(page)).count();
            for page in column.first_page()..column.first_page() + column.pages() {
                let at = graph.physical(page) as usize * page_bytes;
                let byte = at + random.below(page_bytes as u64) as usize;
                let flip = || live.device.change(|bytes| bytes[byte] ^= 1 << 3);
                flip();
                assert!(faults(&live.device).contains(&Some(page)), "{kind:?}, page {page}");
                flip();
            }
        }
        assert_eq!(faults(&live.device), []);
        assert!(unreferenced > 0, "{kind:?}: each page has the weight of an entry");
    }
}

#[test]
fn a_weight_index_that_leads_to_a_weight_twice_or_to_others_is_found() {
    let live = scattered(WeightType::F32);
    let graph = live.graph();
    let (index, page_bytes) = (section(&graph, SectionKind::OutWeightIndex), graph.page_bytes());
    let before = live.device.bytes();
    for (word, add) in [(0, 1 << 16), (3, 1 << 16), (5, 7 << 16), (2, 1), (9, 1 << 60)] {
        live.device.change(|bytes| {
            let physical = graph.physical(index.first_page);
            let page = &mut bytes[physical as usize * page_bytes..][..page_bytes];
            let at = HEADER_BYTES + word * 8;
            let number = u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
            page[at..at + 8].copy_from_slice(&number.wrapping_add(add).to_le_bytes());
            let header = PageHeader::read(page);
            header.seal(page, graph.superblock().salt, physical);
        });
        let found = faults(&live.device);
        assert!(!found.is_empty(), "word {word}, {add:x} more");
        live.device.change(|bytes| bytes.clone_from(&before));
    }
}

#[test]
fn a_batch_over_damaged_weights_is_an_error_or_leaves_them_where_they_are() {
    let live = scattered(WeightType::F64);
    let (graph, bytes) = (live.graph(), live.device.bytes());
    let epoch = graph.superblock().epoch;
    let mut random = Random(1);
    let batch = random_batch(&live.model, Kind::Few, &mut random);
    let mut after = live.model.clone();
    after.apply(&batch);
    let mut ends = [0; 2];
    for kind in [SectionKind::OutWeights, SectionKind::InWeights, SectionKind::OutWeightIndex] {
        for place in places(&graph, kind) {
            let byte = place as usize * graph.page_bytes() + 99;
            let device = MemoryDevice::with_bytes(bytes.clone());
            let flip = || device.change(|bytes| bytes[byte] ^= 0x10);
            flip();
            let store = Store::open(device.shared()).unwrap();
            let model = match store.update(&batch) {
                Ok(_) => {
                    ends[1] += 1;
                    assert!(!faults(&device).is_empty(), "page {place} was not read");
                    after.clone()
                }
                Err(error) => {
                    ends[0] += 1;
                    assert!(matches!(error, StoreError::Page(_)), "{error}");
                    assert_eq!(store.epoch(), epoch);
                    live.model.clone()
                }
            };
            flip();
            Live { device, store, model }.assert_same();
        }
    }
    println!("{ends:?} with an error, without");
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}
