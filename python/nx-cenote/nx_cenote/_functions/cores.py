"""Core numbers, triangles, clustering, independent sets."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from .._graph import Graph
from .runs import options, stored_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "average_clustering",
    "clustering",
    "core_number",
    "maximal_independent_set",
    "transitivity",
    "triangles",
]


def cores_of(G: Graph) -> NDArray[np.uint32]:
    """The core number of each vertex."""
    if G.loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return stored_of(G).kcore(**options()).cores


def core_number(G: Graph) -> dict[Any, int]:
    return G.keyed(cores_of(G))


def _chosen(G: Graph, values: NDArray[Any], nodes: Any) -> Any:
    """The values of all nodes, of one, or of those of several that are in the graph."""
    if nodes is None:
        return G.keyed(values)
    if nodes in G:
        return values[G.number(nodes)].item()
    try:
        given = list(nodes)
    except TypeError:
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from None
    for node in given:
        if not isinstance(node, Hashable):
            raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.")
    return {node: values[G.number(node)].item() for node in given if node in G}


def triangles(G: Graph, nodes: Any = None) -> Any:
    answer = stored_of(G).triangles(per_vertex=True, **options())
    return _chosen(G, answer.counts, nodes)


def clustering(G: Graph, nodes: Any = None, weight: None = None) -> Any:
    return _chosen(G, stored_of(G).lcc(**options()).coefficients, nodes)


def average_clustering(
    G: Graph, nodes: Any = None, weight: None = None, count_zeros: bool = True
) -> float:
    values = list(clustering(G, nodes).values())
    if not count_zeros:
        values = [value for value in values if value > 0]
    return float(sum(values) / len(values))


def transitivity(G: Graph) -> float:
    answer = stored_of(G).triangles(**options())
    return float(answer.summary["transitivity"]) if answer.triangles else 0


def maximal_independent_set(G: Graph, nodes: None = None, seed: Any = None) -> list[Any]:
    chosen = nx.utils.create_py_random_state(seed).randrange(0, 2**62)
    members = stored_of(G).mis(seed=int(chosen), **options()).members
    return G.picked(np.flatnonzero(members))
