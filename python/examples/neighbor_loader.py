"""Mini-batches for graph neural networks, of the shape that PyTorch Geometric uses.

Sampled neighbourhoods come from `sample_neighbors`, features of vertices from a file beside the
graph. With torch the arrays are tensors, without it NumPy arrays.

    python python/examples/neighbor_loader.py packages.cenote degree.features
"""

import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import cenote

try:
    import torch
except ImportError:
    torch = None


@dataclass
class Data:
    """A mini-batch.

    x: features of its vertices, shape (vertices, columns); None without features. edge_index: the
    sampled edges, each from a neighbour to the vertex whose neighbour it is, by the numbers of the
    mini-batch: shape (2, edges). edge_pos: the position of each edge in the list of that vertex.
    n_id: the number of each vertex in the graph; the first `batch_size` are those to train on.
    input_id: which of the input vertices these are.
    """

    x: Any
    edge_index: Any
    edge_pos: Any
    n_id: Any
    batch_size: int
    input_id: Any


class NeighborLoader:
    """Iterates over mini-batches of `input_ids`, ids of the graph, in another order each epoch.

    A thread makes `prefetch` mini-batches ahead, so that the drive reads while the model computes.
    """

    def __init__(
        self,
        graph,
        num_neighbors,
        input_ids,
        *,
        batch_size=1,
        features=None,
        shuffle=False,
        replace=False,
        weights=False,
        seed=1,
        prefetch=1,
        **options,
    ):
        self.graph, self.num_neighbors, self.features = graph, list(num_neighbors), features
        self.input_ids = list(dict.fromkeys(input_ids))
        self.batch_size, self.shuffle, self.seed, self.epoch = batch_size, shuffle, seed, 0
        self.prefetch = prefetch
        self.options = options | {"replace": replace, "weights": weights}

    def __len__(self):
        return -(-len(self.input_ids) // self.batch_size)

    def __iter__(self):
        random = np.random.default_rng([self.seed, self.epoch])
        order = np.arange(len(self.input_ids))
        if self.shuffle:
            random.shuffle(order)
        self.epoch += 1
        thread, ahead = ThreadPoolExecutor(max_workers=1), deque()
        try:
            for start in range(0, len(order), self.batch_size):
                part = order[start : start + self.batch_size]
                ahead.append(thread.submit(self.sample, part, int(random.integers(2**63))))
                if len(ahead) > self.prefetch:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            # A loop that ends early waits for the mini-batch that is being made.
            thread.shutdown(cancel_futures=True)

    def sample(self, input_id, seed):
        """The mini-batch of some of the input vertices."""
        seeds = [self.input_ids[at] for at in input_id]
        sample = self.graph.sample_neighbors(
            seeds, fanouts=self.num_neighbors, seed=seed, **self.options
        )
        edges = [np.stack(layer) for layer in sample.layers]
        return Data(
            x=None if self.features is None else tensor(self.features[sample.vertices]),
            edge_index=tensor(np.concatenate(edges, axis=1)),
            edge_pos=tensor(np.concatenate(sample.positions)),
            n_id=tensor(sample.vertices.astype(np.int64)),
            batch_size=sample.seeds,
            input_id=tensor(input_id),
        )


def tensor(array):
    """A tensor of torch where it is installed, else the array."""
    # Views of the library are read-only, which torch does not know.
    return array if torch is None else torch.from_numpy(array.copy())


def main(path, features=None):
    with cenote.open(path) as graph:
        x = None if features is None else graph.features(features)
        # A deleted vertex has no list to sample.
        live = np.setdiff1d(np.arange(graph.array_length), graph.deleted())[:100]
        ids = [graph.id_of(int(vertex)) for vertex in live]
        for data in NeighborLoader(graph, [15, 10], ids, batch_size=32, features=x, shuffle=True):
            vertices, edges = len(data.n_id), data.edge_index.shape[1]
            print(f"{data.batch_size} vertices: {vertices} with neighbours, {edges} edges")


if __name__ == "__main__":
    main(*sys.argv[1:])
