"""Shortest paths: of several, those over the nodes that come first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from .._graph import Graph
from .distances import expect_sources, is_reached, near
from .runs import options, stored_of
from .searches import expect_ends, within

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_shortest_path",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "dijkstra_path",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "shortest_path",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_shortest_path",
    "single_target_shortest_path",
]


def _chain(G: Graph, parents: NDArray[np.uint32], end: int) -> list[Any]:
    """The path to a vertex, from its source on."""
    chain = [end]
    # The parent of a source is itself.
    while (parent := int(parents[chain[-1]])) != chain[-1]:
        chain.append(parent)
    return [G.node_list[at] for at in reversed(chain)]


def _chains(G: Graph, parents: NDArray[np.uint32], ends: NDArray[Any]) -> dict[Any, list[Any]]:
    """The paths to vertices; those to their parents are among them."""
    before, nodes = parents.tolist(), G.node_list
    paths: dict[int, list[Any]] = {}
    for end in ends.tolist():
        # Over edges of no length a parent may come later: back to a path that is known.
        trail = [end]
        while trail[-1] not in paths and before[trail[-1]] != trail[-1]:
            trail.append(before[trail[-1]])
        path = paths.setdefault(trail[-1], [nodes[trail[-1]]])
        for at in reversed(trail[:-1]):
            path = paths[at] = [*path, nodes[at]]
    return {nodes[end]: paths[end] for end in ends.tolist()}


# Without weights --------------------------------------------------------------------------------


def single_source_shortest_path(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    search = stored_of(G).bfs([G.id_of(source)], parents=True, **options())
    return _chains(G, search.parents, within(search.levels, cutoff))


def single_target_shortest_path(
    G: Graph, target: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} not in G")
    if G.is_directed():
        search = G.search(G.number(target) or 0, inward=True)
        paths = _chains(G, search.parents, within(search.levels, cutoff))
    else:
        paths = single_source_shortest_path(G, target, cutoff)
    return {node: path[::-1] for node, path in paths.items()}


def all_pairs_shortest_path(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G:
        yield node, single_source_shortest_path(G, node, cutoff)


def bidirectional_shortest_path(G: Graph, source: Any, target: Any) -> list[Any]:
    expect_ends(G, source, target)
    ends = [G.id_of(source)], [G.id_of(target)]
    search = stored_of(G).bfs(ends[0], target=ends[1], parents=True, **options())
    end = G.number(target)
    if end is None or search.levels[end] == cenote.UNREACHED:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return _chain(G, search.parents, end)


def shortest_path(
    G: Graph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    if source is not None and target is not None:
        if weight is None:
            return bidirectional_shortest_path(G, source, target)
        return bidirectional_dijkstra(G, source, target)[1]
    if source is not None:
        single_source = single_source_shortest_path if weight is None else _weighted_paths
        return single_source(G, source)
    if target is None:
        return all_pairs_shortest_path(G) if weight is None else all_pairs_dijkstra_path(G)
    if weight is None:
        if target not in G:
            raise nx.NodeNotFound(f"Source {target} not in G")
        return single_target_shortest_path(G, target)
    return {node: path[::-1] for node, path in _weighted_paths(G, target).items()}


# With weights -----------------------------------------------------------------------------------


def _weighted_paths(G: Graph, source: Any) -> dict[Any, list[Any]]:
    return dict(multi_source_dijkstra(G, {source})[1])


def multi_source_dijkstra(
    G: Graph,
    sources: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> Any:
    given = expect_sources(G, sources)
    if target in sources:
        return 0, [target]
    ids = [G.id_of(source) for source in given]
    if target is not None:
        found = _to_target(G, ids, target, cutoff)
        if found is None:
            raise nx.NetworkXNoPath(f"No path to {target}.")
        return found
    search = stored_of(G).sssp(ids, parents=True, **options())
    reached = np.flatnonzero(is_reached(search.distances))
    ends, distances = near(G, reached, search.distances[reached], given, cutoff)
    lengths = dict(zip(G.picked(ends), distances.tolist(), strict=True))
    return _exact(G, lengths), _chains(G, search.parents, ends)


def _to_target(G: Graph, ids: list[Any], target: Any, cutoff: float | None) -> Any:
    """The distance of a node and the path to it, None if there is no such path."""
    end = G.number(target)
    if end is None:
        return None
    search = stored_of(G).sssp(ids, target=[G.id_of(target)], parents=True, **options())
    distance = search.distances[[end]]
    if not is_reached(distance)[0] or (cutoff is not None and distance[0] > cutoff):
        return None
    return _exact(G, {target: distance[0].item()})[target], _chain(G, search.parents, end)


def _exact(G: Graph, lengths: dict[Any, Any]) -> dict[Any, Any]:
    """Distances of the type that NetworkX's have: edges without weights are counted."""
    return lengths if G.is_weighted else {node: int(found) for node, found in lengths.items()}


def multi_source_dijkstra_path(
    G: Graph, sources: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return dict(multi_source_dijkstra(G, sources, cutoff=cutoff)[1])


def single_source_dijkstra(
    G: Graph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> Any:
    return multi_source_dijkstra(G, {source}, target, cutoff)


def single_source_dijkstra_path(
    G: Graph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return multi_source_dijkstra_path(G, {source}, cutoff)


def dijkstra_path(G: Graph, source: Any, target: Any, weight: Any = "weight") -> Any:
    return multi_source_dijkstra(G, {source}, target)[1]


def bidirectional_dijkstra(
    G: Graph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    expect_ends(G, source, target)
    if source == target:
        return 0, [source]
    found: tuple[Any, list[Any]] | None = _to_target(G, [G.id_of(source)], target, None)
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found


def all_pairs_dijkstra(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[Any, Any]]]:
    for node in G:
        yield node, multi_source_dijkstra(G, {node}, cutoff=cutoff)


def all_pairs_dijkstra_path(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G:
        yield node, multi_source_dijkstra_path(G, {node}, cutoff)
