//! Answers that go on from earlier ones, against those of a run over everything.

use std::path::Path;

use cenote::algorithm::Wcc;
use cenote::run::Answer;
use cenote::{Graph, Import, Update};
use cenote_store::{Codec, Order, VertexId};

use crate::graphs::Random;

fn labels(answer: &Answer<Wcc>) -> Vec<VertexId> {
    answer.labels().to_vec()
}

fn full(path: &Path) -> Answer<Wcc> {
    Graph::open(path).unwrap().wcc().memory("64MiB").verify(true).run().unwrap()
}

fn since(path: &Path, answer: Answer<Wcc>) -> Answer<Wcc> {
    let graph = Graph::open(path).unwrap();
    graph.wcc().memory("64MiB").verify(true).since(answer).run().unwrap()
}

#[test]
fn components_go_on_while_edges_are_added_and_begin_anew_after_a_deletion() {
    for (seed, order) in (1..).zip([Order::Natural, Order::Degree, Order::Random { seed: 9 }]) {
        for directed in [false, true] {
            let mut random = Random(seed);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("g.cenote");
            let edges: Vec<(u64, u64)> =
                (0..250).map(|_| (random.below(400) + 50, random.below(400) + 50)).collect();
            let import = Import::new().slice(&edges).order(order).memory("64MiB");
            let import = import.codec(if directed { Codec::Packed } else { Codec::Raw });
            let import = if directed { import.directed() } else { import };
            import.run(&path).unwrap();
            let mut update = Update::open(&path).unwrap();
            let mut answer = full(&path);
            for round in 0..12 {
                let deletes = round % 5 == 4;
                let mut expected = 0;
                for _ in 0..1 + random.below(12) {
                    // Some of them are new, with smaller and larger ids than there are.
                    update.add(random.below(500), random.below(500)).unwrap();
                }
                if deletes {
                    let (source, target) = edges[random.below(edges.len() as u64) as usize];
                    update.delete(source, target).unwrap();
                }
                let report = update.commit().unwrap();
                expected += report.added;
                if round % 3 == 2 {
                    update.merge().unwrap();
                }
                answer = since(&path, answer);
                let whole = full(&path);
                assert_eq!(labels(&answer), labels(&whole), "round {round}, {order:?}");
                assert_eq!(answer.components, whole.components);
                let summary = answer.summary().unwrap();
                assert_eq!(summary.largest_label, whole.summary().unwrap().largest_label);
                let added = summary.since.map(|since| since.added);
                let expected = if report.deleted > 0 { None } else { Some(expected) };
                assert_eq!(added, expected, "round {round}: {report:?}");
            }
        }
    }
}

#[test]
fn an_answer_of_another_graph_is_not_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one.cenote", "other.cenote"].map(|name| folder.path().join(name));
    Import::new().slice(&[(1u64, 2u64), (3, 4)]).memory("64MiB").run(&one).unwrap();
    Import::new().slice(&[(1u64, 3u64), (2, 5)]).memory("64MiB").run(&other).unwrap();
    let answer = since(&other, full(&one));
    assert_eq!(labels(&answer), labels(&full(&other)));
    assert!(answer.since.is_none());
}
