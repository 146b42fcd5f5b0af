"""Communities by label propagation: each vertex takes the most frequent label of its neighbours.

The rounds are synchronous, and of several most frequent labels the smallest counts, as in LDBC's
Graphalytics (`cdlp` of the library).

    python python/examples/label_propagation.py packages.cenote 5
"""

import sys

import numpy as np

import cenote

MASK = np.uint64(2**32 - 1)


def propagate(lists, labels):
    """The labels after one round."""
    after = labels.copy()
    # Labels of the last vertex of a batch, whose list may go on in the next one, with counts.
    last_keys, last_counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    for batch in lists:
        keys = batch.sources().astype(np.uint64) << np.uint64(32) | labels[batch.targets]
        keys, counts = np.unique(keys, return_counts=True)
        keys, counts = added(np.concatenate((last_keys, keys)), np.append(last_counts, counts))
        vertices = keys >> np.uint64(32)
        # By vertex, then the most frequent label, then the smallest.
        order = np.lexsort((keys, -counts, vertices))
        first = order[np.unique(vertices[order], return_index=True)[1]]
        after[vertices[first]] = keys[first] & MASK
        is_last = vertices == batch.vertices[-1]
        last_keys, last_counts = keys[is_last], counts[is_last]
    return after


def added(keys, counts):
    """Each key once, with the sum of its counts."""
    keys, place = np.unique(keys, return_inverse=True)
    return keys, np.bincount(place, counts).astype(np.int64)


def communities(graph, rounds, memory="256MiB"):
    """The label of each vertex of an undirected graph: at first its own number."""
    labels = np.arange(graph.array_length, dtype=np.uint64)
    lists = graph.visit(memory=memory)
    for _ in range(rounds):
        labels = propagate(lists, labels)
    return labels


def main(path, rounds):
    with cenote.open(path) as graph:
        sizes = np.unique(communities(graph, int(rounds)), return_counts=True)[1]
    print(f"{len(sizes)} communities, the largest of {sizes.max()} vertices")


if __name__ == "__main__":
    main(*sys.argv[1:])
