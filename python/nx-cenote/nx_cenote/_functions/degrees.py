"""Degrees, and nodes without edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._graph import Graph
from .components import is_connected, is_forest, is_strongly_connected, is_tree
from .runs import stored_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "degree_centrality",
    "in_degree_centrality",
    "is_arborescence",
    "is_branching",
    "is_empty",
    "is_eulerian",
    "is_isolate",
    "is_k_regular",
    "is_regular",
    "isolates",
    "number_of_isolates",
    "number_of_selfloops",
    "out_degree_centrality",
]


def _degrees(G: Graph, direction: Any) -> NDArray[np.float64]:
    return np.asarray(stored_of(G).degree(direction=direction), dtype=np.float64)


def _all_degrees(G: Graph) -> NDArray[np.float64]:
    """The degrees, of both directions."""
    degrees = _degrees(G, "out")
    return degrees + _degrees(G, "in") if G.is_directed() else degrees


def _centrality(G: Graph, degrees: NDArray[np.float64]) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    return G.keyed(degrees * (1.0 / (len(G) - 1.0)))


def degree_centrality(G: Graph) -> dict[Any, float]:
    return _centrality(G, _all_degrees(G))


def in_degree_centrality(G: Graph) -> dict[Any, float]:
    return _centrality(G, _degrees(G, "in"))


def out_degree_centrality(G: Graph) -> dict[Any, float]:
    return _centrality(G, _degrees(G, "out"))


def isolates(G: Graph) -> Iterator[Any]:
    yield from G.picked(np.flatnonzero(_all_degrees(G) == 0))


def number_of_isolates(G: Graph) -> int:
    return int(np.count_nonzero(_all_degrees(G) == 0))


def is_isolate(G: Graph, n: Any) -> bool:
    stored, id = stored_of(G), G.id_of(n)
    has_in_edge = G.is_directed() and stored.degree(id, direction="in") != 0
    return not has_in_edge and stored.degree(id) == 0


def is_empty(G: Graph) -> bool:
    return G.number_of_edges() == 0


def number_of_selfloops(G: Graph) -> int:
    assert G.loops is not None
    return G.loops


def is_regular(G: Graph) -> bool:
    directions = ("out", "in") if G.is_directed() else ("out",)
    return all(len(np.unique(_degrees(G, direction))) == 1 for direction in directions)


def is_k_regular(G: Graph, k: Any) -> bool:
    return bool(np.all(_degrees(G, "out") == k))


def is_eulerian(G: Graph) -> bool:
    if G.is_directed():
        is_balanced = np.array_equal(_degrees(G, "in"), _degrees(G, "out"))
        return is_balanced and is_strongly_connected(G)
    return not np.any(_degrees(G, "out") % 2) and is_connected(G)


def is_arborescence(G: Graph) -> bool:
    return is_tree(G) and bool(_degrees(G, "in").max() <= 1)


def is_branching(G: Graph) -> bool:
    return is_forest(G) and bool(_degrees(G, "in").max() <= 1)
