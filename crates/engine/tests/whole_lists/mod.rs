//! Kernels that need whole lists, and the memory for pieces.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Assembled, Direction, Engine, EngineConfig, Kernel, List, Needs, pieces_bytes_max,
};

use crate::graph;

/// Counts how often it sees each list, which must be whole, and adds up the entries.
struct Whole(Vec<AtomicU64>, AtomicU64);

impl Kernel for Whole {
    type Local = u64;

    fn local(&self) -> u64 {
        0
    }

    fn list(&self, shown: &mut u64, list: &List<'_>) {
        assert!(list.is_whole() && list.targets.is_sorted(), "vertex {}", list.vertex);
        self.0[list.vertex as usize].fetch_add(1, Ordering::Relaxed);
        self.1.fetch_add(list.targets.len() as u64, Ordering::Relaxed);
        *shown += 1;
    }
}

#[test]
fn lists_come_whole_once_whatever_room_their_pieces_have() {
    // Every page ends within a list, and some lists have several pages for themselves.
    let n = 40_000u32;
    let degree = |v: u32| if v.is_multiple_of(8_000) { 9_000 } else { 60 };
    let list = |v| {
        let mut list: Vec<u32> = (1..=degree(v)).map(|i| (v + i) % n).collect();
        list.sort_unstable();
        list
    };
    let graph = graph::of((0..n).map(list).collect());
    let (mut planned, mut before) = (0, 0);
    for step in 18..56u64 {
        let memory_bytes = (1 << (step / 2 + 10)) + (step % 2) * (1 << (step / 2 + 9));
        let config = EngineConfig::with_memory(memory_bytes).threads(2);
        let pieces = Assembled::bytes_for(&graph, &config);
        assert!(pieces >= before, "more memory, fewer pieces: {pieces} bytes, {before} before");
        before = pieces;
        assert!(pieces < (memory_bytes / 16).max(512 << 10), "{memory_bytes} bytes: {pieces}");
        let needs = Needs { what: "test", state_bytes: pieces, scratch_bytes: 0 };
        let Ok(engine) = Engine::new(graph.clone(), config, &needs) else { continue };
        planned += 1;
        for room in [None, Some(0), Some(20_000)] {
            let seen = Whole((0..n).map(|_| AtomicU64::new(0)).collect(), AtomicU64::new(0));
            let (direction, active) = (Direction::Out, ActiveSet::All);
            let shown = match room {
                None => engine.visit_whole("all", direction, active, &seen).unwrap(),
                Some(room) => {
                    let whole = Assembled::with_room(&seen, room);
                    let mut shown = engine.visit("all", direction, active, &whole).unwrap();
                    assert!(shown.iter().sum::<u64>() < u64::from(n), "lists are left out");
                    whole.finish("all", direction, (&engine, &mut shown)).unwrap();
                    shown
                }
            };
            assert_eq!(shown.iter().sum::<u64>(), u64::from(n), "a list is shown to one worker");
            assert!(seen.0.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            assert_eq!(seen.1.into_inner(), (0..n).map(|v| u64::from(degree(v))).sum::<u64>());
        }
    }
    assert!(planned > 20, "{planned} budgets");
}

/// Pages of a chunk, of which each worker has one.
const CHUNK_PAGES: u64 = 256;

#[test]
fn pieces_have_room_beside_the_requests_of_any_budget() {
    let (n, degree) = (40_000u32, 60);
    let list = |v| (1..=degree).map(|i| (v + i) % n).collect();
    let graph = graph::of((0..n).map(list).collect());
    let adjacency = graph.adjacency(Direction::Out).unwrap();
    assert!(adjacency.list_entries_bound() < 2 * 1024);
    let (mut planned, mut before) = (0, 0);
    for step in 8..64u64 {
        let memory_bytes = (1 << (step / 2 + 10)) + (step % 2) * (1 << (step / 2 + 9));
        let config = EngineConfig::with_memory(memory_bytes).threads(2);
        let pieces = pieces_bytes_max(&graph, &config);
        assert!(pieces >= before, "more memory, fewer pieces: {pieces} bytes, {before} before");
        before = pieces;
        let needs = Needs { what: "test", state_bytes: pieces, scratch_bytes: 0 };
        let Ok((schedule, _)) = Engine::plan(&graph, &config, &needs) else { continue };
        planned += 1;
        let pages = schedule.buffer_bytes() / 4096 + 2 * CHUNK_PAGES;
        let entries = adjacency.entries_max_of(pages) + 4 * adjacency.list_entries_bound();
        let all = 6 * u64::from(n * degree);
        assert!(pieces >= (4 * entries).min(all), "{memory_bytes} bytes: {pieces} of pieces");
    }
    assert!(planned > 20, "{planned} budgets");
}
