"""Ranks, betweenness, and centralities by distances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from .._graph import Graph
from .runs import options, stored_of
from .searches import levels_from, levels_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "average_shortest_path_length",
    "betweenness_centrality",
    "center",
    "closeness_centrality",
    "diameter",
    "eccentricity",
    "harmonic_centrality",
    "pagerank",
    "periphery",
    "radius",
]


def pagerank(
    G: Graph,
    alpha: float = 0.85,
    personalization: dict[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: None = None,
    weight: Any = "weight",
    dangling: None = None,
) -> dict[Any, float]:
    starts = None
    if personalization is not None:
        starts = {G.id_of(v): value for v, value in personalization.items() if v in G}
        if not any(starts.values()):
            raise ZeroDivisionError
    try:
        answer = stored_of(G).pagerank(
            iterations=int(max_iter),
            tolerance=len(G) * tol,
            damping=alpha,
            personalize=starts,
            weighted=weight is not None and G.is_weighted,
            **options(),
        )
    except cenote.InvalidInput as error:
        # Weights that are too large or too small.
        raise NotImplementedError(f"pagerank: {error}") from error
    if not answer.summary["converged"]:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.keyed(answer.ranks)


def betweenness_centrality(
    G: Graph,
    k: int | None = None,
    normalized: bool = True,
    weight: None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    size = len(G)
    numbers: Any = range(size)
    if k is not None and k != size:
        # The nodes that NetworkX chooses.
        numbers = nx.utils.create_py_random_state(seed).sample(numbers, k)
    sources = np.asarray(numbers, dtype=np.int64)
    answer = stored_of(G).betweenness(
        G.ids_of(sources), scale="normalized" if normalized else "full", **options()
    )
    values = answer.betweenness
    if len(sources) == 1 and size > 2:
        # A source is no end of its own paths: NetworkX divides 0 by 0.
        values = values.copy()
        values[sources] = math.nan
    return G.keyed(values)


# By distances: a search from each node ------------------------------------------------------------


def _each(G: Graph, nodes: Iterable[Any]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Of each node the vertices that can be reached from it, and their levels."""
    for node in nodes:
        levels = levels_from(G, [node])
        reached = np.flatnonzero(levels != cenote.UNREACHED)
        yield reached, levels[reached].astype(np.int64)


def _bunch(G: Graph, nodes: Any) -> list[Any]:
    """All nodes, one, or those of several that are in the graph."""
    return list(G) if nodes is None else [nodes] if nodes in G else [v for v in nodes if v in G]


def closeness_centrality(
    G: Graph, u: Any = None, distance: None = None, wf_improved: bool = True
) -> Any:
    size = len(G)
    counts, totals = np.zeros(size), np.zeros(size)
    if u is None:
        # Distances from all nodes are also those to all.
        for reached, levels in _each(G, G):
            counts[reached] += 1
            totals[reached] += levels
        chosen = slice(None)
    else:
        if u not in G:
            raise nx.NodeNotFound(f"Source {u} is not in G")
        to_node = levels_to(G, u)
        found = to_node[to_node != cenote.UNREACHED].astype(np.int64)
        at = G.number(u) or 0
        counts[at], totals[at] = len(found), found.sum()
        chosen = slice(at, at + 1)
    values = np.zeros(size)
    np.divide(counts - 1.0, totals, out=values, where=totals > 0)
    if wf_improved and size > 1:
        values *= (counts - 1.0) / (size - 1)
    return G.keyed(values) if u is None else float(values[chosen][0])


def harmonic_centrality(
    G: Graph, nbunch: Any = None, distance: None = None, sources: Any = None
) -> dict[Any, float]:
    ends, starts = _bunch(G, nbunch), _bunch(G, sources)
    sums = np.zeros(len(G))
    if len(ends) < len(starts) and not G.is_directed():
        chosen = np.zeros(len(G), dtype=bool)
        chosen[[at for node in starts if (at := G.number(node)) is not None]] = True
        for node, (reached, levels) in zip(ends, _each(G, ends), strict=True):
            near = levels[chosen[reached] & (levels > 0)]
            sums[G.number(node)] = (1.0 / near).sum()
    else:
        for reached, levels in _each(G, dict.fromkeys(starts)):
            sums[reached[levels > 0]] += 1.0 / levels[levels > 0]
    return {node: float(sums[G.number(node)]) for node in ends}


def eccentricity(G: Graph, v: Any = None, sp: None = None, weight: None = None) -> Any:
    nodes, found = _bunch(G, v), {}
    for node, (reached, levels) in zip(nodes, _each(G, nodes), strict=True):
        if len(reached) != len(G):
            kind = "digraph is not strongly" if G.is_directed() else "graph is not"
            raise nx.NetworkXError(f"Found infinite path length because the {kind} connected")
        found[node] = int(levels.max())
    return found[v] if v in G else found


def diameter(G: Graph, e: None = None, usebounds: bool = False, weight: None = None) -> Any:
    return max(eccentricity(G).values())


def radius(G: Graph, e: None = None, usebounds: bool = False, weight: None = None) -> Any:
    return min(eccentricity(G).values())


def center(G: Graph, e: None = None, usebounds: bool = False, weight: None = None) -> list[Any]:
    found = eccentricity(G)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


def periphery(G: Graph, e: None = None, usebounds: bool = False, weight: None = None) -> list[Any]:
    found = eccentricity(G)
    most = max(found.values())
    return [node for node, value in found.items() if value == most]


def average_shortest_path_length(G: Graph, weight: None = None, method: Any = None) -> float:
    size = len(G)
    if size == 1:
        return 0
    stored = stored_of(G)
    if (stored.scc if G.is_directed() else stored.wcc)(**options()).components != 1:
        kind = "strongly connected" if G.is_directed() else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    return sum(int(levels.sum()) for _, levels in _each(G, G)) / (size * (size - 1))
