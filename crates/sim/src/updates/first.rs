//! Random graphs with which histories begin, and limits of their logs.

use cenote_import::ImportConfig;
use cenote_store::{Codec, HubNeighboursChoice, Order, VertexId, WriteLimits};

use crate::random::Random;

/// Memory of an import; these graphs are tiny.
const IMPORT_MEMORY: usize = 16 << 20;

/// Limits of a log.
pub(super) fn limits(random: &mut Random) -> WriteLimits {
    let bytes = match random.below(8) {
        0 => 0,
        1 => 64 << 10,
        _ => (8 + 4 * random.below(5)) << 10,
    };
    let limits = WriteLimits::default().bytes(bytes).changes(random.pick(&[3, 10, 40, 1000, 1000]));
    // Of a small graph runs are more than a share of the lists.
    let limits = limits.run_percent(random.pick(&[0, 12, 100, 5000, 5000]));
    // Threads that start cost more than what they do for so small a graph.
    if random.below(16) == 0 { limits.threads(2).thread_pages(0) } else { limits.threads(1) }
}

/// Options of the import.
pub(super) fn options(random: &mut Random) -> ImportConfig {
    let directed = random.chance(60);
    let in_edges = directed && random.chance(60);
    let hubs = [HubNeighboursChoice::No, HubNeighboursChoice::Yes];
    let orders = [Order::Natural, Order::Natural, Order::Degree, Order::Bfs, Order::Cluster];
    ImportConfig::default()
        .directed(directed)
        .in_edges(in_edges)
        .keep_self_loops(random.chance(50))
        .keep_duplicates(random.chance(20))
        .memory_bytes(IMPORT_MEMORY)
        .page_bytes(random.pick(&[4096, 4096, 4096, 4096, 8192]))
        .threads(1)
        .codec(random.pick(&Codec::ALL))
        .free_space(random.pick(&[0, 0, 0, 5, 50]))
        .hub_neighbours(if !directed || in_edges { random.pick(&hubs) } else { hubs[0] })
        .order(match random.chance(15) {
            true => Order::Random { seed: random.bits() },
            false => random.pick(&orders),
        })
}

/// Numbers of vertices, and edges by places among them.
pub(super) fn random_edges(random: &mut Random) -> (Vec<u64>, Vec<(VertexId, VertexId)>) {
    let (n, count) = match random.below(20) {
        0 => (1100 + random.below(300), 40),
        1 => (300, 1200),
        2 => (1, 1),
        _ => {
            let n = 2 + random.below(11);
            (n, random.below(3 * n))
        }
    };
    let mut vertex = || random.below(n) as VertexId;
    let mut edges: Vec<_> = (0..count).map(|_| (vertex(), vertex())).collect();
    if n >= 1100 {
        let hub = vertex();
        edges.extend((0..n as VertexId).map(|v| (hub, v)));
    }
    ((0..n).collect(), edges)
}
