"""Distances over weights, and of the one kind or the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from .._graph import Graph
from .runs import options, stored_of
from .searches import (
    all_pairs_shortest_path_length,
    by_level,
    level_of,
    levels_from,
    levels_to,
    single_source_shortest_path_length,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "all_pairs_dijkstra_path_length",
    "bellman_ford_path_length",
    "dijkstra_path_length",
    "multi_source_dijkstra_path_length",
    "shortest_path_length",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length",
]


def expect_sources(G: Graph, sources: Iterable[Any]) -> list[Any]:
    """The sources as a list; raises NetworkX's exceptions if there is none, or one is missing."""
    given = list(sources)
    if not given:
        raise ValueError("sources must not be empty")
    for source in given:
        if source not in G:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
    return given


def is_reached(distances: NDArray[Any]) -> Any:
    """Whether there is a path to each vertex."""
    return ~np.isnan(distances) if distances.dtype.kind == "f" else distances != 2**64 - 1


def near(
    G: Graph, reached: NDArray[Any], distances: NDArray[Any], sources: list[Any], cutoff: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Vertices and their distances, ascending, up to `cutoff`; the sources always."""
    if cutoff is not None:
        starts = np.asarray([G.number(source) for source in sources])
        chosen = (distances <= cutoff) | np.isin(reached, starts)
        reached, distances = reached[chosen], distances[chosen]
    order = np.argsort(distances, kind="stable")
    return reached[order], distances[order]


def _lengths(G: Graph, sources: list[Any], cutoff: Any = None) -> dict[Any, Any]:
    """The distance of each node from the nearest source, ascending."""
    found: NDArray[Any]
    if G.is_weighted:
        found = stored_of(G).sssp([G.id_of(source) for source in sources], **options()).distances
        reached = np.flatnonzero(is_reached(found))
    else:
        levels = levels_from(G, sources)
        found, reached = levels, np.flatnonzero(levels != cenote.UNREACHED)
    reached, distances = near(G, reached, found[reached], sources, cutoff)
    return dict(zip(G.picked(reached), distances.tolist(), strict=True))


def _length(G: Graph, source: Any, target: Any) -> Any:
    """The distance of two nodes, None if there is no path."""
    end = G.number(target)
    if end is None:
        return None
    ends = [G.id_of(source)], [G.id_of(target)]
    if G.is_weighted:
        found = stored_of(G).sssp(ends[0], target=ends[1], **options()).distances
        distance = found[[end]]
        return distance[0].item() if is_reached(distance)[0] else None
    level = int(stored_of(G).bfs(ends[0], target=ends[1], **options()).levels[end])
    return None if level == cenote.UNREACHED else level


def single_source_dijkstra_path_length(
    G: Graph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return _lengths(G, expect_sources(G, [source]), cutoff)


def multi_source_dijkstra_path_length(
    G: Graph, sources: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return _lengths(G, expect_sources(G, sources), cutoff)


def all_pairs_dijkstra_path_length(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    for node in G:
        yield node, _lengths(G, [node], cutoff)


def dijkstra_path_length(G: Graph, source: Any, target: Any, weight: Any = "weight") -> Any:
    expect_sources(G, [source])
    if source == target:
        return 0
    length = _length(G, source, target)
    if length is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return length


def single_source_bellman_ford_path_length(
    G: Graph, source: Any, weight: Any = "weight"
) -> dict[Any, Any]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    return _lengths(G, [source])


def bellman_ford_path_length(G: Graph, source: Any, target: Any, weight: Any = "weight") -> Any:
    if source == target:
        expect_sources(G, [source])
        return 0
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    length = _length(G, source, target)
    if length is None:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return length


def shortest_path_length(
    G: Graph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    if weight is not None:
        return _weighted_length(G, source, target, weight, method)
    if source is not None and target is not None:
        return level_of(G, source, target)
    if source is not None:
        return single_source_shortest_path_length(G, source)
    if target is None:
        return all_pairs_shortest_path_length(G)
    if target not in G:
        # NetworkX searches from it in the reversed graph.
        raise nx.NodeNotFound(f"Source {target} is not in G")
    return by_level(G, levels_to(G, target))


def _weighted_length(G: Graph, source: Any, target: Any, weight: Any, method: str) -> Any:
    is_dijkstra = method == "dijkstra"
    if source is not None and target is not None:
        between = dijkstra_path_length if is_dijkstra else bellman_ford_path_length
        return between(G, source, target, weight)
    end = target if source is None else source
    if end is None:
        return all_pairs_dijkstra_path_length(G)
    if is_dijkstra:
        return single_source_dijkstra_path_length(G, end)
    return single_source_bellman_ford_path_length(G, end)
