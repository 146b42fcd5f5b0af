"""The vertices within k hops of some vertices: a search whose edges need not fit memory.

python python/examples/khop.py packages.cenote 2 bash vim
"""

import sys

import numpy as np

import cenote


def neighbourhood(graph, sources, hops, memory="256MiB"):
    """The distance of each vertex from the nearest source: int32, -1 beyond `hops`."""
    distances = np.full(graph.array_length, -1, np.int32)
    distances[[graph.vertex_of(source) for source in sources]] = 0
    lists = graph.visit([], memory=memory)
    for hop in range(hops):
        # A mask of the vertices that the last hop has found.
        for batch in lists.of(distances == hop):
            found = batch.targets[distances[batch.targets] < 0]
            distances[found] = hop + 1
    return distances


def main(path, hops, *sources):
    with cenote.open(path) as graph:
        distances = neighbourhood(graph, sources, int(hops))
    for hop, count in enumerate(np.bincount(distances[distances >= 0])):
        print(f"{hop} hops: {count} vertices")


if __name__ == "__main__":
    main(*sys.argv[1:])
