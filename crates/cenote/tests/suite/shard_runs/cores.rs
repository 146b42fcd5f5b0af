//! Core numbers whose bounds fall far.

use cenote::Error;
use cenote::shards::{OpenShard, ShardAlgorithm, Values};

use super::set::{Kind, Set, edges};

/// Vertices of a square, with edges to those around: bounds fall from its border inward, below
/// those of the vertices that are joined with its middle, of which some are joined with a clique
/// too. Bounds of the path fall one by one, that of the hub by most of it.
fn square() -> Vec<(u64, u64, u32)> {
    let side = 17;
    let around = [(0, 1), (1, 0), (1, 1), (1, -1)];
    let of = |x: i64, y: i64| (x * side + y) as u64;
    let inside = |x: i64, y: i64| (0..side).contains(&x) && (0..side).contains(&y);
    let cells = (0..side * side).map(|v| (v / side, v % side));
    let ends = cells.flat_map(|(x, y)| around.map(|(dx, dy)| (x, y, x + dx, y + dy)));
    let square = ends.filter(|&(_, _, x, y)| inside(x, y));
    let square = square.map(|(a, b, x, y)| (of(a, b), of(x, y), 1));
    let joined = (0..8i64).flat_map(|i| {
        let middle = move |nth: i64| of((nth + 6 * i) / 7 + 5, (nth + 6 * i) % 7 + 5);
        let some = (0..6 - i % 2 * (1 + i % 3)).map(middle);
        let clique = (0..i % 2 * 3).map(move |nth| 360 + 2 * i as u64 + nth as u64);
        some.chain(clique).map(move |u| (289 + i as u64, u, 1)).collect::<Vec<_>>()
    });
    let clique = (360..390).flat_map(|v| (v + 1..390).map(move |u| (v, u, 1)));
    let path = (300..350).map(|v| (v, v + 1, 1));
    let hub = (0..100).map(|i| (395, i * 13 % 289, 1));
    square.chain(joined.collect::<Vec<_>>()).chain(clique).chain(path).chain(hub).collect()
}

/// Layers of 320, 160, 80, 40 and 20 vertices: each vertex has 20 neighbours in the layer before
/// and 10 in the layer behind, or in the last one 10 in that. Core numbers are 10, and bounds of 30
/// fall to it layer by layer: by more than lists in memory are pruned for. Then that of one more
/// vertex, with 11 neighbours in the last layer, falls by one.
fn layers() -> Vec<(u64, u64, u32)> {
    let layers = [(0, 320), (320, 160), (480, 80), (560, 40), (600, 20)];
    let behind = layers.windows(2).flat_map(|pair| {
        let [(first, count), (next, next_count)] = [pair[0], pair[1]];
        let ends = (0..count).flat_map(|v| (0..10).map(move |nth| (v, v + nth)));
        ends.map(move |(v, u)| (first + v, next + u % next_count, 1))
    });
    let last = (0..20).flat_map(|v| (1..6).map(move |nth| (600 + v, 600 + (v + nth) % 20, 1)));
    behind.chain(last).chain((600..611).map(|v| (v, 620, 1))).collect()
}

/// The same and five hubs, whose 1,503 neighbours have no others: where there are hubs, lists are
/// kept in memory. The vertices are spread over the shards.
fn with_hubs(edges: Vec<(u64, u64, u32)>) -> Vec<(u64, u64, u32)> {
    let hubs = (621..626).flat_map(|hub| (626..2_129).map(move |v| (hub, v, 1)));
    let spread = |v: u64| v * 426 % 2_129;
    edges.into_iter().chain(hubs).map(|(a, b, w)| (spread(a), spread(b), w)).collect()
}

fn check_cores(edges: &[(u64, u64, u32)], shards: u64, threads: usize) {
    for kind in [Kind::Undirected, Kind::InEdges] {
        let mut set = Set::of(edges, kind, shards);
        let expected = [Values::U32(set.cores())];
        assert_eq!(set.found_cores(threads), expected, "{kind:?} in {shards} shards");
        // The least memory has no room for lists.
        let least = |shard: &OpenShard<'_>| {
            let run = shard.run(&ShardAlgorithm::Kcore, 1 << 12, Some(threads), || false);
            match run.unwrap_err() {
                Error::MemoryBudget { needed, .. } => needed,
                error => panic!("{error}"),
            }
        };
        set.memory = set.shards().iter().map(least).max().unwrap();
        assert_eq!(set.found_cores(threads), expected, "{kind:?} in {shards} shards");
    }
}

#[test]
fn bounds_that_fall_far_or_have_no_room_in_memory_become_the_core_numbers() {
    for (shards, threads) in [(1, 1), (2, 2), (5, 1)] {
        for edges in [square(), with_hubs(square()), with_hubs(layers()), edges()] {
            check_cores(&edges, shards, threads);
        }
    }
}
