"""Samples of neighbourhoods over several shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import Ids
from ._cluster import get
from ._fanout import Fanout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._graph import ShardedGraph


@dataclass(frozen=True)
class ShardedSample:
    """A sample of neighbourhoods. Its vertices have places in it, from 0.

    Attributes:
        ids: the id of each vertex of the sample: first the given ones, each once.
        numbers: and its number in the graph, `uint64`: its place in the arrays of answers.
        seeds: how many were given.
        layers: the edges of each layer, the nearest first, as two `int64` arrays: the sampled
            neighbours, and for each the vertex whose neighbour it is.

    Example:
        >>> sample = sharded.sample_neighbors("bash", fanouts=[3], seed=7)
        >>> sample.seeds, sample.ids, sample.numbers.dtype
        (1, ['bash', 'backupninja', 'foomatic-filters', 'lrzip'], dtype('uint64'))
        >>> sources, targets = sample.layers[0]
        >>> sources.tolist(), targets.tolist()
        ([1, 2, 3], [0, 0, 0])
    """

    ids: Ids
    numbers: NDArray[np.uint64]
    seeds: int
    layers: list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def sample(graph: ShardedGraph, given: Sequence[int], fanouts: Sequence[Fanout]) -> ShardedSample:
    """Samples layer by layer: of vertices that are new in a layer each owner samples neighbours."""
    numbers = np.array(list(dict.fromkeys(given)), np.uint64)
    seeds, first, layers = len(numbers), 0, []
    for fanout in fanouts:
        sources, targets = _layer(graph, numbers[first:], fanout)
        targets += first
        first = len(numbers)
        # New vertices follow in the order in which they are found.
        found, places = np.unique(np.concatenate((numbers, sources)), return_index=True)
        places.sort()
        numbers = np.concatenate((numbers, sources))[places]
        order = np.argsort(numbers)
        positions = order[np.searchsorted(numbers, sources, sorter=order)]
        layers.append((positions.astype(np.int64), targets))
        assert len(found) == len(numbers)
    return ShardedSample(_ids(graph, numbers), numbers, seeds, layers)


def _owned(graph: ShardedGraph, numbers: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
    """For each shard the places of the numbers that it owns."""
    owner = np.searchsorted(graph.manifest.starts(), numbers, "right") - 1
    return [np.flatnonzero(owner == shard) for shard in range(graph.shard_count)]


def _layer(
    graph: ShardedGraph, numbers: NDArray[np.uint64], fanout: Fanout
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sampled neighbours, and for each the place of its vertex, ascending."""
    owned = _owned(graph, numbers)
    actors = graph._open_cluster().actors
    parts = get(
        [
            actor.sample.remote(numbers[own], fanout)
            for actor, own in zip(actors, owned, strict=True)
        ]
    )
    sources = np.concatenate([part[0] for part in parts])
    targets = np.concatenate([own[part[1]] for own, part in zip(owned, parts, strict=True)])
    order = np.argsort(targets, kind="stable")
    return sources[order], targets[order].astype(np.int64)


def _ids(graph: ShardedGraph, numbers: NDArray[np.uint64]) -> Ids:
    owned = _owned(graph, numbers)
    actors = graph._open_cluster().actors
    asked = zip(actors, owned, strict=True)
    columns = get([actor.ids_of.remote(numbers[own]) for actor, own in asked])
    ids: list[Any] = [None] * len(numbers)
    for own, column in zip(owned, columns, strict=True):
        for place, id in zip(own.tolist(), column.to_pylist(), strict=True):
            ids[place] = id
    return ids if graph.manifest.ids == "string" else np.array(ids, np.uint64)
