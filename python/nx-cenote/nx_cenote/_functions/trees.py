"""The order in which a search visits, of stored graphs: neighbours come by ascending ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

import cenote

from .._graph import Graph
from .runs import options, stored_of
from .searches import expect_node

__all__ = [
    "bfs_edges",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "dfs_edges",
    "dfs_postorder_nodes",
    "dfs_predecessors",
    "dfs_preorder_nodes",
    "dfs_successors",
    "dfs_tree",
]


def _tree(source: Any, edges: Iterator[tuple[Any, Any]]) -> nx.DiGraph:
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(edges)
    return tree


def _successors(edges: Iterator[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for parent, child in edges:
        found.setdefault(parent, []).append(child)
    return found


# Breadth first ----------------------------------------------------------------------------------


def bfs_edges(
    G: Graph,
    source: Any,
    reverse: bool = False,
    depth_limit: int | None = None,
    sort_neighbors: None = None,
) -> Iterator[tuple[Any, Any]]:
    expect_node(G, source)
    number = G.number(source)
    assert number is not None
    search = G.search(number, inward=bool(reverse) and G.is_directed(), limit=depth_limit)
    children = search.order[1:]
    yield from zip(G.picked(search.parents[children]), G.picked(children), strict=True)


def bfs_tree(
    G: Graph,
    source: Any,
    reverse: bool = False,
    depth_limit: int | None = None,
    sort_neighbors: None = None,
) -> nx.DiGraph:
    return _tree(source, bfs_edges(G, source, reverse, depth_limit))


def bfs_predecessors(
    G: Graph, source: Any, depth_limit: int | None = None, sort_neighbors: None = None
) -> Iterator[tuple[Any, Any]]:
    for parent, child in bfs_edges(G, source, False, depth_limit):
        yield child, parent


def bfs_successors(
    G: Graph, source: Any, depth_limit: int | None = None, sort_neighbors: None = None
) -> Iterator[tuple[Any, list[Any]]]:
    yield from _successors(bfs_edges(G, source, False, depth_limit)).items() or [(source, [])]


# Depth first ------------------------------------------------------------------------------------


def _depth_first(G: Graph, source: Any) -> cenote.LexicographicDfs:
    expect_node(G, source)
    return stored_of(G).lexicographic_dfs(G.id_of(source), **options())


def _sorted(values: Any) -> Any:
    """The vertices by ascending values, those without one left out."""
    order = np.argsort(values, kind="stable")
    return order[: np.count_nonzero(values != cenote.UNREACHED)]


def dfs_edges(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> Iterator[tuple[Any, Any]]:
    search = _depth_first(G, source)
    children = _sorted(search.orders)[1:]
    yield from zip(G.picked(search.parents[children]), G.picked(children), strict=True)


def dfs_tree(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> nx.DiGraph:
    return _tree(source, dfs_edges(G, source))


def dfs_predecessors(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> dict[Any, Any]:
    return {child: parent for parent, child in dfs_edges(G, source)}


def dfs_successors(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> dict[Any, list[Any]]:
    return _successors(dfs_edges(G, source))


def dfs_preorder_nodes(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> Iterator[Any]:
    yield from G.picked(_sorted(_depth_first(G, source).orders))


def dfs_postorder_nodes(
    G: Graph, source: Any = None, depth_limit: None = None, *, sort_neighbors: None = None
) -> Iterator[Any]:
    yield from G.picked(_sorted(_depth_first(G, source).finishes))
