"""Levels, and what can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from .._graph import Graph
from .runs import options, stored_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "all_pairs_shortest_path_length",
    "ancestors",
    "bfs_layers",
    "descendants",
    "descendants_at_distance",
    "has_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path_length",
]


def levels_from(G: Graph, sources: Iterable[Any]) -> NDArray[np.uint32]:
    """The least number of edges from the nearest of several nodes, by vertex."""
    ids = [G.id_of(source) for source in sources]
    return stored_of(G).bfs(ids, **options()).levels


def levels_to(G: Graph, target: Any) -> NDArray[np.uint32]:
    """The least number of edges to a node, by vertex."""
    if not G.is_directed():
        return levels_from(G, [target])
    number = G.number(target)
    assert number is not None
    return G.search(number, inward=True).levels


def level_of(G: Graph, source: Any, target: Any) -> int:
    """The least number of edges between two nodes."""
    expect_ends(G, source, target)
    search = stored_of(G).bfs([G.id_of(source)], target=[G.id_of(target)], **options())
    level = int(search.levels[G.number(target)])
    if level == cenote.UNREACHED:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return level


def within(levels: NDArray[np.uint32], cutoff: float | None = None) -> NDArray[np.intp]:
    """The vertices that were reached, ascending by level; levels up to `cutoff`."""
    reached = np.flatnonzero(levels != cenote.UNREACHED)
    if cutoff is not None:
        # NetworkX goes on from a level that is less than the cutoff.
        found = levels[reached].astype(np.int64)
        reached = reached[(found == 0) | (found - 1 < cutoff)]
    return reached[np.argsort(levels[reached], kind="stable")]


def by_level(G: Graph, levels: NDArray[np.uint32], cutoff: float | None = None) -> dict[Any, int]:
    """The level of each node that was reached, ascending; levels up to `cutoff`."""
    reached = within(levels, cutoff)
    return dict(zip(G.picked(reached), levels[reached].tolist(), strict=True))


def expect_ends(G: Graph, source: Any, target: Any) -> None:
    """Raises NetworkX's exception if one of two nodes is missing."""
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")


def expect_node(G: Graph, node: Any) -> None:
    """Raises NetworkX's exception if a node is missing."""
    if node not in G:
        kind = "digraph" if G.is_directed() else "graph"
        raise nx.NetworkXError(f"The node {node} is not in the {kind}.")


def single_source_shortest_path_length(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    return by_level(G, levels_from(G, [source]), cutoff)


def single_target_shortest_path_length(
    G: Graph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return by_level(G, levels_to(G, target), cutoff)


def all_pairs_shortest_path_length(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    for node in G:
        yield node, single_source_shortest_path_length(G, node, cutoff)


def has_path(G: Graph, source: Any, target: Any) -> bool:
    expect_ends(G, source, target)
    return bool(stored_of(G).reach(G.id_of(source), [G.id_of(target)], **options()))


def bfs_layers(G: Graph, sources: Any) -> Iterator[list[Any]]:
    chosen = {sources} if sources in G else set(sources)
    for source in chosen:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not chosen:
        return
    levels = levels_from(G, chosen)
    for level in range(int(levels[levels != cenote.UNREACHED].max()) + 1):
        yield G.picked(np.flatnonzero(levels == level))


def descendants_at_distance(G: Graph, source: Any, distance: int) -> set[Any]:
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    levels = levels_from(G, [source])
    # No level is negative, a fraction, or that of what was not reached.
    if not 0 <= distance < cenote.UNREACHED:
        return set()
    return set(G.picked(np.flatnonzero(levels == distance)))


def descendants(G: Graph, source: Any) -> set[Any]:
    expect_node(G, source)
    return set(by_level(G, levels_from(G, [source]))) - {source}


def ancestors(G: Graph, source: Any) -> set[Any]:
    expect_node(G, source)
    return set(by_level(G, levels_to(G, source))) - {source}
