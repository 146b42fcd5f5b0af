//! What is left of a flush of the log that was cut off, and the next flush in its place.

use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::sim::SimDevice;
use cenote_sim::updates::History;
use cenote_store::format::LOG_BLOCK_BYTES;
use cenote_store::{Batch, Change, Graph, Op, Store, VertexId, Weight, WeightType, WriteLimits};

/// A batch that adds and deletes an edge so often that it takes two blocks.
fn toggles(store: &Store, source: VertexId, target: VertexId) -> Batch {
    let weight = store.superblock().weights.map(|weights| match weights.kind() {
        WeightType::F32 => Weight::F32(7.0),
        WeightType::F64 => Weight::F64(7.0),
        WeightType::U32 => Weight::U32(7),
        WeightType::I64 => Weight::I64(7),
    });
    let change = |op| Change { op, source, target };
    let ops = [Op::Add, Op::Delete].into_iter().cycle();
    let mut batch = Batch { changes: ops.take(200).map(change).collect(), ..Batch::default() };
    if weight.is_some() {
        batch.weights = [weight, None].into_iter().cycle().take(200).collect();
    }
    batch
}

fn device_of(history: &History, image: &[u8]) -> Arc<SimDevice> {
    Arc::new(SimDevice::with_contents(history.drive.clone(), image))
}

fn open(device: &Arc<SimDevice>) -> Store {
    let store = Store::open(Arc::clone(device) as Arc<dyn Device>).expect("it opens");
    store.with_limits(WriteLimits::default().bytes(64 << 10))
}

/// The blocks that differ, by their numbers.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    let blocks = before.chunks(LOG_BLOCK_BYTES).zip(after.chunks(LOG_BLOCK_BYTES));
    (0..).zip(blocks).filter_map(|(at, (one, two))| (one != two).then_some(at)).collect()
}

fn with_block(image: &[u8], from: &[u8], block: usize) -> Vec<u8> {
    let mut image = image.to_vec();
    let bytes = block * LOG_BLOCK_BYTES..(block + 1) * LOG_BLOCK_BYTES;
    image[bytes.clone()].copy_from_slice(&from[bytes]);
    image
}

#[test]
fn blocks_of_a_flush_that_was_cut_off_are_not_taken_for_those_of_the_next_one() {
    let histories = (0..40).map(|seed| History::new(seed).expect("no faults"));
    let has_vertices = |history: &History| (3..100).contains(&history.states[0].numbers.len());
    let mut tested = 0;
    for history in histories.filter(has_vertices) {
        let device = device_of(&history, &history.contents);
        let store = open(&device);
        if store.superblock().duplicates_kept {
            continue; // Such graphs have no log.
        }
        tested += 1;
        store.commit(&toggles(&store, 0, 1)).unwrap();
        let before = device.contents();
        store.commit(&toggles(&store, 0, 2)).unwrap();
        let whole = device.contents();
        let blocks = changed(&before, &whole);
        assert_eq!(blocks.len(), 2, "{blocks:?}");

        // The second of two blocks was written, and not the first one.
        let cut = device_of(&history, &with_block(&before, &whole, blocks[1]));
        let graph = Graph::open(Arc::clone(&cut) as Arc<dyn Device>).unwrap();
        let (superblock, logged) = (graph.superblock().clone(), graph.logged_changes());
        let store = open(&cut);
        let erased = cut.contents();
        store.commit(&toggles(&store, 1, 2)).unwrap();
        let next = cut.contents();
        assert_eq!(changed(&erased, &next), blocks, "the next flush takes its place");

        // Of the next flush the first one was written, and not the second.
        let mixed = device_of(&history, &with_block(&erased, &next, blocks[0]));
        let graph = Graph::open(Arc::clone(&mixed) as Arc<dyn Device>).unwrap();
        assert_eq!((graph.superblock(), graph.logged_changes()), (&superblock, logged));
    }
    assert!(tested > 10, "{tested} graphs had a log");
}
