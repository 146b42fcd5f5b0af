"""One library with one graph in memory, for `gap_bench.py`: reads names of kernels, prints rows.

    gap_rivals.py LIBRARY FOLDER SOURCE

A line of standard input is a kernel; its answer is one line of JSON: `seconds`, `cpu_seconds`, the
peak of the process so far, and `answer`, a number that all contenders must agree on, where the
kernel has one. The graph's arrays are in FOLDER, as `gap_bench.py` writes them. Loading is not
counted.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

ITERATIONS = 10
DAMPING = 0.85


def networkit(folder, source):
    import networkit as nk

    nk.setNumberOfThreads(2)
    low, high, weights = (np.load(folder / f"{name}.npy") for name in ["low", "high", "weights"])
    n = int(np.load(folder / "vertices.npy"))

    def graph(values, weighted):
        coordinates = (values, (low.astype(np.uint64), high.astype(np.uint64)))
        return nk.GraphFromCoo(coordinates, n=n, weighted=weighted, directed=False)

    plain = graph(np.ones(len(low)), False)
    weighted = graph(weights.astype(np.float64), True)

    def bfs():
        found = nk.distance.BFS(plain, source, storePaths=False).run()
        return lambda: sum(1 for distance in found.getDistances() if distance < n)

    def wcc():
        found = nk.components.ParallelConnectedComponents(plain, False).run()
        return found.numberOfComponents

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
    graph = ig.Graph(n=n, edges=np.stack([low, high], axis=1).astype(np.int64))
    graph.es["weight"] = weights.tolist()

    def finite(distances):
        return [d for d in distances[0] if d != float("inf")]

    def bfs():
        found = graph.distances(source)
        return lambda: len(finite(found))

    def wcc():
        found = graph.connected_components(mode="weak")
        return lambda: len(found)

    def kcore():
        return lambda found=graph.coreness(): max(found)

    def triangles():
        graph.transitivity_undirected()

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
    shares = 1 / np.maximum(np.diff(offsets), 1)

    def bfs():
        order = csgraph.breadth_first_order(plain, source, return_predecessors=False)
        return lambda: len(order)

    def wcc():
        found, _ = csgraph.connected_components(plain, directed=False)
        return lambda: found

    def pagerank():
        ranks = np.full(n, 1 / n)
        for _ in range(ITERATIONS):
            ranks = (1 - DAMPING) / n + DAMPING * (plain @ (ranks * shares))

    def sssp():
        found = csgraph.dijkstra(weighted, indices=source)
        return lambda: found[np.isfinite(found)].max()

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
