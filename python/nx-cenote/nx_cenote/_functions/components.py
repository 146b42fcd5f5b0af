"""Components, and what follows from their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._graph import Graph
from .runs import options, stored_of
from .searches import by_level, levels_from

__all__ = [
    "connected_components",
    "is_connected",
    "is_directed_acyclic_graph",
    "is_forest",
    "is_strongly_connected",
    "is_tree",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "strongly_connected_components",
    "weakly_connected_components",
]


def _count(G: Graph, *, strong: bool = False) -> int:
    stored = stored_of(G)
    return (stored.scc if strong else stored.wcc)(**options()).components


def _groups(G: Graph, *, strong: bool = False) -> Iterator[set[Any]]:
    """The components, by their first node."""
    stored = stored_of(G)
    labels = (stored.scc if strong else stored.wcc)(**options()).labels
    order = np.argsort(labels, kind="stable")
    _, starts = np.unique(labels[order], return_index=True)
    parts = np.split(order, starts[1:])
    for part in sorted(parts, key=lambda part: int(part[0])):
        yield set(G.picked(part))


def connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _groups(G)


def weakly_connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _groups(G)


def strongly_connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _groups(G, strong=True)


def number_connected_components(G: Graph) -> int:
    return _count(G)


def number_weakly_connected_components(G: Graph) -> int:
    return _count(G)


def number_strongly_connected_components(G: Graph) -> int:
    return _count(G, strong=True)


def is_connected(G: Graph) -> bool:
    return _count(G) == 1


def is_weakly_connected(G: Graph) -> bool:
    return _count(G) == 1


def is_strongly_connected(G: Graph) -> bool:
    return _count(G, strong=True) == 1


def node_connected_component(G: Graph, n: Any) -> set[Any]:
    if n not in G:
        raise KeyError(n)
    return set(by_level(G, levels_from(G, [n])))


def is_directed_acyclic_graph(G: Graph) -> bool:
    # A cycle is a self-loop, or makes a component of several nodes.
    return G.is_directed() and G.loops == 0 and _count(G, strong=True) == len(G)


def is_tree(G: Graph) -> bool:
    return len(G) - 1 == G.number_of_edges() and _count(G) == 1


def is_forest(G: Graph) -> bool:
    # A component of n nodes has n - 1 edges or more.
    return len(G) - G.number_of_edges() == _count(G)
