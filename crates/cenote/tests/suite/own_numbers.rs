//! Batches whose ids are the numbers of their vertices need no look-up of ids; others do.

use cenote::update::ChangeAnswer;
use cenote::{Graph, Import, Update};
use cenote_store::Order;

use crate::graphs::Random;
use crate::update::exported;

const VERTICES: u64 = 60;

/// Some changes of each kind, of vertices that the graph has.
fn push_changes(update: &mut Update) {
    let mut random = Random(7);
    for _ in 0..400 {
        let [source, target] = [(); 2].map(|()| random.below(VERTICES));
        match random.below(12) {
            0 => update.add_vertex(source),
            1 => update.delete_vertex(source),
            2..5 => update.delete(source, target),
            _ => update.add(source, target),
        }
        .unwrap();
    }
}

/// The same changes, once alone and once with an id that the graph does not have, which makes it
/// look up all of them.
#[test]
fn ids_that_are_vertices_are_answered_as_ids_that_are_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let edges: Vec<(u64, u64)> = (0..VERTICES - 1).map(|i| (i, i / 3 + 1)).collect();
    for order in [Order::Natural, Order::Bfs] {
        let [own, looked_up] = ["own", "looked up"].map(|case| {
            let path = folder.path().join(format!("{case} {order:?}"));
            let import = Import::new().vertices(0..VERTICES).slice(&edges).order(order);
            import.memory("64MiB").run(&path).unwrap();
            let mut update = Update::open(&path).unwrap();
            push_changes(&mut update);
            update.add(1000, 1001).unwrap();
            if case == "own" {
                update.truncate(400);
            }
            let mut answers = update.commit().unwrap().answers;
            answers.truncate(400);
            drop(update);
            let mut text = exported(&Graph::open(&path).unwrap());
            text.retain(|line| line != "1000\t1001" && line != "1001\t1000");
            (answers, text)
        });
        assert!(own == looked_up, "{order:?}");
        for answer in [ChangeAnswer::Done, ChangeAnswer::Present, ChangeAnswer::Absent] {
            assert!(own.0.contains(&answer), "{answer:?}");
        }
    }
}
