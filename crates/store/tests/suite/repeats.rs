//! Batches over graphs that keep repeated edges, against the copies of each edge.

use crate::diff::assert_diff;
use crate::graphs::model::{KINDS, add, changes, delete, random_batch, random_multigraph};
use crate::graphs::{Random, TestGraph};
use crate::live::{Live, assert_same};
use cenote_store::{
    Answer, Batch, Change, Codec, Graph, Op, Store, Weight, WeightType, WriteLimits,
};

fn set(source: u32, target: u32) -> Change {
    Change { op: Op::Set, source, target }
}

fn with_weights(batch: impl IntoIterator<Item = (Change, Option<u32>)>) -> Batch {
    let (changes, weights) = batch.into_iter().map(|(c, w)| (c, w.map(Weight::U32))).unzip();
    Batch { changes, weights, ..Batch::default() }
}

fn play(seed: u64, weights: Option<WeightType>) {
    let mut random = Random(seed);
    let mut live = Live::new(TestGraph { weights, ..random_multigraph(&mut random) });
    for round in 0..6 {
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        println!("seed {seed}, {weights:?}, batch {round}: {kind:?}, {}", live.model.edge_count());
        let (before, before_model) = (live.graph(), live.model.clone());
        let batch = random_batch(&live.model, kind, &mut random);
        if random.below(2) == 0 {
            live.update(&batch);
        } else {
            assert_eq!(live.commit(&batch).log_bytes, 0, "the log has no repeated edges");
        }
        live.assert_same();
        assert_diff((&before, &before_model), (&live.graph(), &live.model));
        if random.below(3) == 0 {
            live.store = Store::open(live.device.shared()).unwrap();
        }
    }
    assert!(live.graph().superblock().log.is_empty());
    assert_same(&Graph::open(live.device.shared()).unwrap(), &live.model);
}

#[test]
fn random_batches_leave_as_many_copies_of_each_edge_as_they_make() {
    (0..2).for_each(|seed| play(seed, None));
    for (i, (_, kind)) in (0..).zip(WeightType::NAMES) {
        (0..1).for_each(|seed| play(3000 + 10 * i + seed, Some(kind)));
    }
}

#[test]
#[ignore = "long: make soak"]
fn random_batches_leave_as_many_copies_longer() {
    (2..12).for_each(|seed| play(seed, None));
    for (i, (_, kind)) in (0..).zip(WeightType::NAMES) {
        (1..4).for_each(|seed| play(3000 + 10 * i + seed, Some(kind)));
    }
}

#[test]
fn each_change_of_a_repeated_edge_sees_the_copies_that_those_before_it_left() {
    use Answer::{Absent, Done};
    for directed in [false, true] {
        let pairs = [(0, 1), (0, 1), (2, 2), (2, 2)];
        let lists = match directed {
            true => TestGraph::directed(4, &pairs),
            false => TestGraph::undirected(4, &pairs),
        };
        let mut live = Live::new(TestGraph { weights: Some(WeightType::U32), ..lists });
        live.update(&with_weights([(set(0, 1), Some(9)), (set(2, 2), Some(8))]));
        let answers = live.update(&with_weights([
            (add(0, 1), Some(7)),
            (add(0, 1), Some(11)),
            // The smallest one.
            (delete(0, 1), None),
            (delete(0, 1), Some(8)),
            (delete(0, 1), Some(11)),
            (delete(0, 1), Some(11)),
            (add(3, 2), Some(5)),
            (add(2, 3), Some(4)),
            (set(2, 3), Some(6)),
            (delete(2, 2), Some(8)),
            (delete(2, 2), None),
            (delete(2, 2), None),
            (set(2, 2), Some(1)),
        ]));
        let left = [Absent, Done, Absent, Done, Done, Done, Done, Done, Absent, Absent];
        assert_eq!(answers.answers, [&[Done, Done, Done][..], &left].concat());
        let weights = |u, v| live.model.copies[&(u, v)].clone();
        assert_eq!(weights(0, 1), [9, 9].map(|weight| Some(Weight::U32(weight))));
        let of_both = if directed { vec![6] } else { vec![6, 6] };
        let of_both: Vec<_> = of_both.into_iter().map(|weight| Some(Weight::U32(weight))).collect();
        assert_eq!(weights(2, 3), of_both);
        live.assert_same();
        // All copies go with a vertex, those of the batch too.
        let batch = [
            (add(0, 1), Some(1)),
            (Change::of_vertex(Op::DeleteVertex, 0), None),
            (add(1, 0), Some(2)),
            (add(1, 0), Some(2)),
        ];
        let updated = live.update(&with_weights(batch));
        assert_eq!((updated.edges_of_vertices, updated.revived), (3, 1));
        live.assert_same();
    }
}

#[test]
fn one_edge_has_copies_of_many_pages() {
    for (codec, weights) in [(Codec::Raw, Some(WeightType::U32)), (Codec::Packed, None)] {
        let edges: Vec<(u32, u32)> = std::iter::repeat_n((1, 7), 10_000).chain([(1, 9)]).collect();
        let graph = TestGraph { codec, weights, ..TestGraph::undirected(12, &edges) };
        let mut live = Live::new(graph);
        let before = (live.graph(), live.model.clone());
        let weighed = |change: Change, weight: u32| (change, weights.map(|_| Some(weight)));
        let batch = (0..3_000).map(|i| weighed(add(7, 1), i % 50));
        let batch = batch.chain((0..1_000).map(|i| weighed(delete(1, 7), i % 50)));
        let (changes, weights): (Vec<_>, Vec<_>) = batch.unzip();
        let weights = weights.into_iter().flatten().map(|weight| weight.map(Weight::U32));
        live.update(&Batch { changes, weights: weights.collect(), ..Batch::default() });
        assert_eq!(live.model.copies[&(1, 7)].len(), 12_000);
        live.assert_same();
        assert_diff((&before.0, &before.1), (&live.graph(), &live.model));
        let all = (0..11_999).map(|_| delete(7, 1));
        live.update(&changes_of(all));
        assert_eq!(live.graph().superblock().edges, 2);
        live.assert_same();
    }
}

fn changes_of(all: impl Iterator<Item = Change>) -> Batch {
    changes(all.collect::<Vec<_>>())
}

/// Programs before those that could change such a graph made a log for it.
#[test]
fn an_empty_log_of_a_graph_with_repeated_edges_stays_empty() {
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::undirected(9, &[(0, 1)]) };
    let mut live = Live::new(graph);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(WriteLimits::default());
    live.commit(&changes([add(3, 4)]));
    live.store.merge().unwrap();
    assert!(!live.graph().superblock().log.is_empty() && live.store.logged_changes() == 0);
    // Bit 5 of the flags, in the slot of epoch 3.
    let epoch = live.store.epoch();
    live.device.change(|bytes| {
        let slot = if epoch % 2 == 1 { 0 } else { 1 };
        let page = &mut bytes[slot * 4096..][..4096];
        page[80] |= 1 << 5;
        let header = cenote_store::header::PageHeader::read(page);
        header.seal(page, 0, slot as u64);
    });
    live.model.first.duplicates_kept = true;
    live.store = Store::open(live.device.shared()).unwrap();
    for batch in [[add(3, 4), add(0, 1)], [delete(4, 3), add(5, 5)]] {
        assert_eq!(live.commit(&changes(batch)).log_bytes, 0);
        live.assert_same();
    }
    assert_eq!(live.model.copies[&(0, 1)].len(), 2);
}
