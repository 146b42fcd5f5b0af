"""The functions, with the parameters, results and exceptions of NetworkX's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from ._convert import memory
from ._graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _options() -> Any:
    """The options of each run."""
    return {} if memory() is None else {"memory": memory()}


def _stored(G: Graph) -> cenote.Graph:
    assert G.stored is not None
    return G.stored


# Components -------------------------------------------------------------------------------------


def _count(G: Graph, *, strong: bool = False) -> int:
    stored = _stored(G)
    return (stored.scc if strong else stored.wcc)(**_options()).components


def _groups(G: Graph, *, strong: bool = False) -> Iterator[set[Any]]:
    """The components, by their first node."""
    stored = _stored(G)
    labels = (stored.scc if strong else stored.wcc)(**_options()).labels
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
    return set(_by_level(G, _levels(G, [n])))


# Searches ---------------------------------------------------------------------------------------


def _levels(G: Graph, sources: Iterable[Any]) -> NDArray[np.uint32]:
    ids = [G.id_of(source) for source in sources]
    return _stored(G).bfs(ids, **_options()).levels


def _in_levels(G: Graph, target: Any) -> NDArray[np.uint32]:
    """Levels against the direction of the edges."""
    if not G.is_directed():
        return _levels(G, [target])
    number = G.number(target)
    assert number is not None
    return G.in_levels(number)


def _by_level(G: Graph, levels: NDArray[np.uint32], cutoff: float | None = None) -> dict[Any, int]:
    """The level of each node that was reached, ascending; levels up to `cutoff`."""
    reached = np.flatnonzero(levels != cenote.UNREACHED)
    if cutoff is not None:
        # NetworkX goes on from a level that is less than the cutoff.
        found = levels[reached].astype(np.int64)
        reached = reached[(found == 0) | (found - 1 < cutoff)]
    reached = reached[np.argsort(levels[reached], kind="stable")]
    return dict(zip(G.picked(reached), levels[reached].tolist(), strict=True))


def single_source_shortest_path_length(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    return _by_level(G, _levels(G, [source]), cutoff)


def single_target_shortest_path_length(
    G: Graph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return _by_level(G, _in_levels(G, target), cutoff)


def shortest_path_length(
    G: Graph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    if source is not None and target is not None:
        return _distance(G, source, target, weight)
    if weight is not None:
        end = target if source is None else source
        return single_source_dijkstra_path_length(G, end, weight=weight)
    if source is not None:
        return single_source_shortest_path_length(G, source)
    if target not in G:
        # NetworkX searches from it in the reversed graph.
        raise nx.NodeNotFound(f"Source {target} is not in G")
    return _by_level(G, _in_levels(G, target))


def _distance(G: Graph, source: Any, target: Any, weight: Any) -> Any:
    """The distance of two nodes."""
    if weight is not None:
        distances = single_source_dijkstra_path_length(G, source, weight=weight)
        if target not in distances:
            raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
        return distances[target]
    _expect_ends(G, source, target)
    search = _stored(G).bfs([G.id_of(source)], target=[G.id_of(target)], **_options())
    level = int(search.levels[G.number(target)])
    if level == cenote.UNREACHED:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return level


def _expect_ends(G: Graph, source: Any, target: Any) -> None:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")


def has_path(G: Graph, source: Any, target: Any) -> bool:
    _expect_ends(G, source, target)
    return bool(_stored(G).reach(G.id_of(source), [G.id_of(target)], **_options()))


def single_source_dijkstra_path_length(
    G: Graph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, Any]:
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} not found in graph")
    if not G.is_weighted:
        levels = _levels(G, [source])
        reached = np.flatnonzero(levels != cenote.UNREACHED)
        return _by_distance(G, reached, levels[reached], source, cutoff)
    found = _stored(G).sssp([G.id_of(source)], **_options()).distances
    is_reached = ~np.isnan(found) if found.dtype.kind == "f" else found != 2**64 - 1
    reached = np.flatnonzero(is_reached)
    return _by_distance(G, reached, found[reached], source, cutoff)


def _by_distance(
    G: Graph, reached: NDArray[Any], distances: NDArray[Any], source: Any, cutoff: float | None
) -> dict[Any, Any]:
    """The distances of vertices by node, ascending, up to `cutoff`."""
    if cutoff is not None:
        chosen = (distances <= cutoff) | (reached == G.number(source))
        reached, distances = reached[chosen], distances[chosen]
    order = np.argsort(distances, kind="stable")
    return dict(zip(G.picked(reached[order]), distances[order].tolist(), strict=True))


def bfs_layers(G: Graph, sources: Any) -> Iterator[list[Any]]:
    chosen = {sources} if sources in G else set(sources)
    for source in chosen:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not chosen:
        return
    levels = _levels(G, chosen)
    for level in range(int(levels[levels != cenote.UNREACHED].max()) + 1):
        yield G.picked(np.flatnonzero(levels == level))


def descendants_at_distance(G: Graph, source: Any, distance: int) -> set[Any]:
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    levels = _levels(G, [source])
    # No level is negative, a fraction, or that of what was not reached.
    if not 0 <= distance < cenote.UNREACHED:
        return set()
    return set(G.picked(np.flatnonzero(levels == distance)))


def descendants(G: Graph, source: Any) -> set[Any]:
    _expect_node(G, source)
    return set(_by_level(G, _levels(G, [source]))) - {source}


def ancestors(G: Graph, source: Any) -> set[Any]:
    _expect_node(G, source)
    return set(_by_level(G, _in_levels(G, source))) - {source}


def _expect_node(G: Graph, node: Any) -> None:
    if node not in G:
        kind = "digraph" if G.is_directed() else "graph"
        raise nx.NetworkXError(f"The node {node} is not in the {kind}.")


# Ranks and centralities -------------------------------------------------------------------------


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
        starts = [G.id_of(v) for v, value in personalization.items() if value != 0 and v in G]
        if not starts:
            raise ZeroDivisionError
    answer = _stored(G).pagerank(
        iterations=int(max_iter),
        tolerance=len(G) * tol,
        damping=alpha,
        personalize=starts,
        **_options(),
    )
    if not answer.summary["converged"]:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.keyed(answer.ranks)


def betweenness_centrality(
    G: Graph,
    k: None = None,
    normalized: bool = True,
    weight: None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    answer = _stored(G).betweenness(
        G.ids_of(np.arange(len(G))), scale="normalized" if normalized else "full", **_options()
    )
    return G.keyed(answer.betweenness)


def _degrees(G: Graph, direction: Any) -> NDArray[np.float64]:
    return np.asarray(_stored(G).degree(direction=direction), dtype=np.float64)


def _centrality(G: Graph, degrees: NDArray[np.float64]) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    return G.keyed(degrees * (1.0 / (len(G) - 1.0)))


def degree_centrality(G: Graph) -> dict[Any, float]:
    degrees = _degrees(G, "out")
    if G.is_directed():
        degrees = degrees + _degrees(G, "in")
    return _centrality(G, degrees)


def in_degree_centrality(G: Graph) -> dict[Any, float]:
    return _centrality(G, _degrees(G, "in"))


def out_degree_centrality(G: Graph) -> dict[Any, float]:
    return _centrality(G, _degrees(G, "out"))


# Cores and triangles ----------------------------------------------------------------------------


def core_number(G: Graph) -> dict[Any, int]:
    if G.loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return G.keyed(_stored(G).kcore(**_options()).cores)


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
    answer = _stored(G).triangles(per_vertex=True, **_options())
    return _chosen(G, answer.counts, nodes)


def clustering(G: Graph, nodes: Any = None, weight: None = None) -> Any:
    return _chosen(G, _stored(G).lcc(**_options()).coefficients, nodes)


def average_clustering(
    G: Graph, nodes: Any = None, weight: None = None, count_zeros: bool = True
) -> float:
    values = list(clustering(G, nodes).values())
    if not count_zeros:
        values = [value for value in values if value > 0]
    return float(sum(values) / len(values))


def transitivity(G: Graph) -> float:
    answer = _stored(G).triangles(**_options())
    return float(answer.summary["transitivity"]) if answer.triangles else 0
