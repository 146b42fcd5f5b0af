"""One library with one graph in memory, for `gap_bench.py`: reads names of kernels, prints rows.

    gap_rivals.py LIBRARY FOLDER SOURCE

A line of standard input is a kernel; its answer is one line of JSON: `seconds`, `cpu_seconds`, the
peak of the process so far, and `answer`, a number that all contenders must agree on, where the
kernel has one. The graph's arrays are in FOLDER, as `gap_bench.py` writes them; it is directed
where `directed.npy` says so. Loading is not counted.
"""

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

ITERATIONS = 10
DAMPING = 0.85
# Edges that are given to a library at a time.
PART = 1 << 20


def is_directed(folder):
    return bool(np.load(folder / "directed.npy"))


def triangles_of(transitivity, low, high):
    """The function of the answer: transitivity is three triangles for each pair of neighbours."""
    def count():
        n = max(low.max(), high.max()) + 1
        degrees = np.bincount(low, minlength=n) + np.bincount(high, minlength=n)
        return round(transitivity * int((degrees * (degrees - 1) // 2).sum()) / 3)

    return count


def networkit(folder, source):
    import networkit as nk

    nk.setNumberOfThreads(2)
    low, high, weights = (np.load(folder / f"{name}.npy") for name in ["low", "high", "weights"])
    n, directed = int(np.load(folder / "vertices.npy")), is_directed(folder)

    def graph(values, weighted):
        coordinates = (values, (low.astype(np.uint64), high.astype(np.uint64)))
        return nk.GraphFromCoo(coordinates, n=n, weighted=weighted, directed=directed)

    plain = graph(np.ones(len(low)), False)
    weighted = graph(weights.astype(np.float64), True)

    def bfs():
        found = nk.distance.BFS(plain, source, storePaths=False).run()
        return lambda: sum(1 for distance in found.getDistances() if distance < n)

    def wcc():
        if directed:
            return nk.components.WeaklyConnectedComponents(plain).run().numberOfComponents
        found = nk.components.ParallelConnectedComponents(plain, False).run()
        return found.numberOfComponents

    def scc():
        return nk.components.StronglyConnectedComponents(plain).run().numberOfComponents

    def pagerank():
        made = nk.centrality.PageRank(plain, damp=DAMPING, tol=1e-300)
        made.maxIterations = ITERATIONS
        made.run()

    def kcore():
        found = nk.centrality.CoreDecomposition(plain).run()
        return found.maxCoreNumber

    def triangles():
        nk.centrality.LocalClusteringCoefficient(plain, True).run()

    def betweenness():
        nk.centrality.EstimateBetweenness(plain, 1, normalized=False, parallel=True).run()

    def sssp():
        found = nk.distance.Dijkstra(weighted, source, storePaths=False).run()
        return lambda: max(d for d in found.getDistances() if d < sys.float_info.max)

    return locals()


def igraph(folder, source):
    import igraph as ig

    low, high, weights = (np.load(folder / f"{name}.npy") for name in ["low", "high", "weights"])
    n = int(np.load(folder / "vertices.npy"))
    edges = np.stack([low, high], axis=1).astype(np.int64)
    graph = ig.Graph(n=n, edges=edges, directed=is_directed(folder))
    del edges
    graph.es["weight"] = weights.tolist()

    def finite(distances):
        return [d for d in distances[0] if d != float("inf")]

    def bfs():
        found = graph.distances(source)
        return lambda: len(finite(found))

    def wcc():
        found = graph.connected_components(mode="weak")
        return lambda: len(found)

    def scc():
        found = graph.connected_components(mode="strong")
        return lambda: len(found)

    def kcore():
        return lambda found=graph.coreness(): max(found)

    def triangles():
        return triangles_of(graph.transitivity_undirected(), low, high)

    def betweenness():
        graph.betweenness(sources=[source])

    def sssp():
        found = graph.distances(source, weights="weight")
        return lambda: max(finite(found))

    return locals()


def scipy(folder, source):
    from scipy import sparse
    from scipy.sparse import csgraph

    offsets, neighbours = np.load(folder / "offsets.npy"), np.load(folder / "neighbours.npy")
    each = np.load(folder / "neighbour-weights.npy")
    n = len(offsets) - 1
    if len(neighbours) < 2**31:
        offsets = offsets.astype(np.int32)
    plain = sparse.csr_array((np.ones(len(neighbours)), neighbours, offsets), shape=(n, n))
    weighted = sparse.csr_array((each.astype(np.float64), neighbours, offsets), shape=(n, n))
    # The row of a vertex is what it gets from others.
    received = plain.T.tocsr() if is_directed(folder) else plain
    # The rank of a vertex without out-edges is lost: others spread it.
    shares = 1 / np.maximum(np.diff(offsets), 1)

    def bfs():
        order = csgraph.breadth_first_order(plain, source, return_predecessors=False)
        return lambda: len(order)

    def wcc():
        found, _ = csgraph.connected_components(plain, directed=False)
        return lambda: found

    def scc():
        found, _ = csgraph.connected_components(plain, directed=True, connection="strong")
        return lambda: found

    def pagerank():
        ranks = np.full(n, 1 / n)
        for _ in range(ITERATIONS):
            ranks = (1 - DAMPING) / n + DAMPING * (received @ (ranks * shares))

    def sssp():
        found = csgraph.dijkstra(weighted, indices=source)
        return lambda: found[np.isfinite(found)].max()

    return locals()


def rustworkx(folder, source):
    os.environ["RAYON_NUM_THREADS"] = "2"
    import rustworkx as rx

    low, high, weights = (np.load(folder / f"{name}.npy") for name in ["low", "high", "weights"])
    n, directed = int(np.load(folder / "vertices.npy")), is_directed(folder)
    graph = rx.PyDiGraph() if directed else rx.PyGraph()
    graph.add_nodes_from([None] * n)
    for at in range(0, len(low), PART):
        part = slice(at, at + PART)
        ends = [column[part].tolist() for column in [low, high, weights]]
        graph.add_edges_from(list(zip(*ends, strict=True)))
    # PageRank takes directed graphs alone.
    arcs = graph if directed else graph.to_directed()

    def bfs():
        found = rx.bfs_layers(graph, [source])
        return lambda: sum(map(len, found))

    def wcc():
        components = (
            rx.number_weakly_connected_components if directed else rx.number_connected_components)
        return lambda found=components(graph): found

    def scc():
        return lambda found=rx.number_strongly_connected_components(graph): found

    def pagerank():
        # It makes all its iterations, and then says that it did not converge.
        with contextlib.suppress(rx.FailedToConverge):
            rx.pagerank(arcs, alpha=DAMPING, tol=0, max_iter=ITERATIONS)

    def kcore():
        return lambda found=rx.core_number(graph): max(found.values())

    def triangles():
        return triangles_of(rx.transitivity(graph), low, high)

    def sssp():
        # The weight of each edge is a call of Python.
        found = rx.dijkstra_shortest_path_lengths(graph, source, float)
        return lambda: max(found.values(), default=0)

    return locals()


def main():
    library, folder, source = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    kernels = globals()[library](folder, source)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        kernel = kernels.get(line.strip())
        if kernel is None:
            print(json.dumps({"missing": True}), flush=True)
            continue
        started, cpu = time.perf_counter(), time.process_time()
        answer = kernel()
        row = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
        row["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        row["answer"] = None if answer is None else int(answer())
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
