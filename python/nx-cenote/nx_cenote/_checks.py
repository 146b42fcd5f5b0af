"""What the backend does not run, since the result would not be that of NetworkX, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import networkx as nx

from ._convert import weight_kind
from ._graph import Graph

# What NetworkX refuses by the kind of the graph: so does the backend, with the same exception.
UNDIRECTED = {
    "connected_components",
    "is_connected",
    "is_k_regular",
    "jaccard_coefficient",
    "maximal_independent_set",
    "node_connected_component",
    "number_connected_components",
    "triangles",
}
DIRECTED = {
    "in_degree_centrality",
    "is_arborescence",
    "is_branching",
    "is_strongly_connected",
    "is_weakly_connected",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "out_degree_centrality",
    "strongly_connected_components",
    "weakly_connected_components",
}
CORES = {"core_number", "k_core", "k_corona", "k_crust", "k_shell"}
NO_MULTIGRAPH = CORES | {"jaccard_coefficient"}

# What depends on how many edges there are between two nodes: a converted multigraph has one.
SIMPLE = {
    "average_clustering",
    "betweenness_centrality",
    "clustering",
    "degree_centrality",
    "ego_graph",
    "in_degree_centrality",
    "is_arborescence",
    "is_branching",
    "is_eulerian",
    "is_forest",
    "is_k_regular",
    "is_regular",
    "is_tree",
    "number_of_selfloops",
    "out_degree_centrality",
    "pagerank",
    "transitivity",
    "triangles",
}
CLUSTERING = {"average_clustering", "clustering", "transitivity"}
DOUBLE_LOOPS = {"degree_centrality", "is_eulerian", "is_k_regular", "is_regular"}
COUNTED_LOOPS = {"is_directed_acyclic_graph", "number_of_selfloops"}
IN_EDGES = CORES | {
    "ancestors",
    "degree_centrality",
    "in_degree_centrality",
    "is_arborescence",
    "is_branching",
    "is_eulerian",
    "is_isolate",
    "is_regular",
    "isolates",
    "number_of_isolates",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
}

# What depends on the order of neighbours: that of a stored graph is by ids.
ORDERED = {
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
}

SUBGRAPHS = {"ego_graph", "k_core", "k_corona", "k_crust", "k_shell"}

# What NetworkX looks up in a graph in memory, or counts in one pass over its nodes.
CHEAP = {
    "degree_centrality",
    "in_degree_centrality",
    "is_empty",
    "is_eulerian",
    "is_isolate",
    "is_k_regular",
    "is_regular",
    "isolates",
    "number_of_isolates",
    "number_of_selfloops",
    "out_degree_centrality",
}


def is_refused(name: str, graph: Any) -> bool:
    """Whether NetworkX refuses the kind of graph, or there are no nodes: NetworkX answers then."""
    directed = graph.is_directed()
    return (
        len(graph) == 0
        or (directed and name in UNDIRECTED)
        or (not directed and name in DIRECTED)
        or (graph.is_multigraph() and name in NO_MULTIGRAPH)
    )


def reason(name: str, graph: Any, given: dict[str, Any]) -> str | None:
    """Why the result would not be that of NetworkX."""
    if is_refused(name, graph):
        return None
    if name in SIMPLE and graph.is_multigraph():
        return "parallel edges count in NetworkX, and are one here"
    if name in CLUSTERING and graph.is_directed():
        return "clustering of directed graphs is defined otherwise"
    is_stored = isinstance(graph, Graph) and not graph.is_converted
    if name in ORDERED and not is_stored:
        return "the order of neighbours of a graph of NetworkX is not stored"
    found = _loops(name, graph)
    if isinstance(graph, Graph) and found is None and _needs_in_edges(name, graph, given):
        return "the graph has no in-edges: import it with in_edges=True"
    if found is None and name in SUBGRAPHS:
        found = _attributes(graph)
    check = CHECKS.get(name)
    return check(graph, given) if found is None and check is not None else found


def _needs_in_edges(name: str, graph: Graph, given: dict[str, Any]) -> bool:
    needs = name in IN_EDGES
    if name in ("shortest_path", "shortest_path_length"):
        needs = given["source"] is None and given["target"] is not None
    needs |= name == "closeness_centrality" and given["u"] is not None
    needs |= name in ("bfs_edges", "bfs_tree") and bool(given["reverse"])
    return needs and not graph.has_in_edges


def _loops(name: str, graph: Any) -> str | None:
    """Why self-loops, or that they are not known of, make a difference."""
    if name in DOUBLE_LOOPS and not graph.is_directed():
        return None if _has_no_loops(graph) else "self-loops count twice in NetworkX, and once here"
    if name == "jaccard_coefficient" and not _has_no_loops(graph):
        return "a node with a self-loop is its own neighbour, which NetworkX counts otherwise"
    if name == "maximal_independent_set" and not _has_no_loops(graph):
        return "a chosen node with a self-loop is an error in NetworkX"
    if isinstance(graph, Graph) and graph.loops is None:
        if name in CORES:
            return "the graph may have self-loops, of which NetworkX has no core numbers"
        if name in COUNTED_LOOPS:
            return "the graph may have self-loops, which are not counted in the file"
    return None


def _has_no_loops(graph: Any) -> bool:
    if isinstance(graph, Graph):
        return graph.loops == 0
    return not nx.number_of_selfloops(graph, backend="networkx")


def _attributes(graph: Any) -> str | None:
    if isinstance(graph, Graph):
        is_lost = graph.is_converted and graph.is_weighted
    else:
        is_lost = (
            bool(graph.graph)
            or any(data for _, data in graph.nodes(data=True))
            or any(data for _, _, data in graph.edges(data=True))
        )
    return "attributes are not stored" if is_lost else None


# The arguments of each --------------------------------------------------------------------------


def _unweighted(graph: Any, given: dict[str, Any]) -> str | None:
    weight = given["weight"] if "weight" in given else given["distance"]
    return None if weight is None else "weights are not supported"


def _weights(graph: Any, weight: Any) -> str | None:
    """Why the weights cannot be used."""
    if not isinstance(weight, str):
        return "weight is not the name of an attribute"
    if isinstance(graph, Graph):
        # A converted graph has the weights that NetworkX asked for.
        if graph.is_converted or weight == "weight" or not graph.is_weighted:
            return None
        return "the weights of a stored graph have the name weight"
    try:
        weight_kind(graph, weight)
    except NotImplementedError as error:
        return str(error)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _cutoff(graph: Any, given: dict[str, Any]) -> str | None:
    cutoff = given["cutoff"]
    return None if cutoff is None or _is_number(cutoff) else "cutoff is not a number"


def _dijkstra(graph: Any, given: dict[str, Any]) -> str | None:
    if "cutoff" in given and (found := _cutoff(graph, given)) is not None:
        return found
    if "sources" in given and not isinstance(given["sources"], Collection):
        # A fallback would find an iterator consumed.
        return "sources is not a collection"
    return _weights(graph, given["weight"])


def _length(graph: Any, given: dict[str, Any]) -> str | None:
    source, target, weight = given["source"], given["target"], given["weight"]
    if given["method"] not in ("dijkstra", "bellman-ford"):
        return "the method is not one of NetworkX"
    if weight is None:
        return None
    if source is None and graph.is_directed() and target is not None:
        return "weights to a target are not supported"
    if source is None and target is None and given["method"] != "dijkstra":
        return "only the method dijkstra is supported"
    return _weights(graph, weight)


def _path(graph: Any, given: dict[str, Any]) -> str | None:
    if given["weight"] is not None and given["method"] == "bellman-ford":
        return "only the method dijkstra is supported"
    return _length(graph, given)


def _ends(graph: Any, given: dict[str, Any]) -> str | None:
    is_open = given["source"] is None or given["target"] is None
    return "source or target is None" if is_open else None


def _layers(graph: Any, given: dict[str, Any]) -> str | None:
    is_given = isinstance(given["sources"], Collection) or given["sources"] in graph
    return None if is_given else "sources is not a collection"


def _breadth_first(graph: Any, given: dict[str, Any]) -> str | None:
    if given["sort_neighbors"] is not None:
        return "neighbours come by their ids: sort_neighbors is not supported"
    limit = given["depth_limit"]
    return None if limit is None or _is_number(limit) else "depth_limit is not a number"


def _depth_first(graph: Any, given: dict[str, Any]) -> str | None:
    if given["depth_limit"] is not None or given["sort_neighbors"] is not None:
        return "depth_limit and sort_neighbors are not supported"
    return "source is None" if given["source"] is None else None


def _between(graph: Any, given: dict[str, Any]) -> str | None:
    k = given["k"]
    if k is not None and not (type(k) is int and 0 < k <= len(graph)):
        return "k is from 1 to the number of nodes"
    if given["endpoints"]:
        return "endpoints are not supported"
    return _unweighted(graph, given)


def _nbunch(name: str) -> Callable[[Any, Any], str | None]:
    """A check of nodes that may be one node, several, or None for all."""

    def check(graph: Any, given: dict[str, Any]) -> str | None:
        nodes = given[name]
        if nodes is None or nodes in graph or isinstance(nodes, list | tuple | set | dict):
            return None
        return f"{name} is neither a node nor a collection of nodes"

    return check


def _all(*checks: Callable[[Any, Any], str | None]) -> Callable[[Any, Any], str | None]:
    def check(graph: Any, given: dict[str, Any]) -> str | None:
        return next((found for one in checks if (found := one(graph, given))), None)

    return check


def _eccentric(graph: Any, given: dict[str, Any]) -> str | None:
    return None if given["sp"] is None else "sp is not supported"


def _extreme(graph: Any, given: dict[str, Any]) -> str | None:
    if given["e"] is not None:
        return "e is not supported: eccentricities are computed"
    return "usebounds is left to NetworkX" if given["usebounds"] else None


def _pairs(graph: Any, given: dict[str, Any]) -> str | None:
    pairs = given["ebunch"]
    if pairs is None:
        return "ebunch is None: a graph has too many pairs of nodes"
    if not isinstance(pairs, Collection):
        # A fallback would find an iterator consumed.
        return "ebunch is not a collection"
    are_pairs = all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs)
    return None if are_pairs else "ebunch has an item that is no pair"


def _average(graph: Any, given: dict[str, Any]) -> str | None:
    is_usual = given["method"] in (None, "unweighted")
    return None if is_usual else "only the method unweighted is supported"


def _isolate(graph: Any, given: dict[str, Any]) -> str | None:
    return None if given["n"] in graph else "n is not a node"


def _cores(graph: Any, given: dict[str, Any]) -> str | None:
    if given["core_number"] is not None:
        return "core_number is not supported: core numbers are computed"
    is_open = given["k"] is None or _is_number(given["k"])
    return None if is_open else "k is not a number"


def _ego(graph: Any, given: dict[str, Any]) -> str | None:
    if given["undirected"] and graph.is_directed():
        return "neighbourhoods without directions are not supported"
    if given["radius"] is not None and not _is_number(given["radius"]):
        return "radius is not a number"
    return _unweighted(graph, given)


def _independent(graph: Any, given: dict[str, Any]) -> str | None:
    return None if given["nodes"] is None else "nodes is not supported"


def _pagerank(graph: Any, given: dict[str, Any]) -> str | None:
    if given["nstart"] is not None or given["dangling"] is not None:
        return "nstart and dangling are not supported"
    if not 0 <= given["alpha"] <= 1 or not 0 < given["tol"] < float("inf"):
        return "alpha is from 0 to 1, and tol a positive number"
    if not isinstance(given["max_iter"], int) or given["max_iter"] < 1:
        return "max_iter is a positive integer"
    if given["personalization"] is not None:
        if not isinstance(given["personalization"], dict):
            return "personalization is not a dict"
        if not all(0 <= value < float("inf") for value in given["personalization"].values()):
            return "a value of personalization is negative or not finite"
    return None if given["weight"] is None else _weights(graph, given["weight"])


CHECKS: dict[str, Callable[[Any, dict[str, Any]], str | None]] = {
    **dict.fromkeys(("average_clustering", "clustering", "closeness_centrality"), _unweighted),
    **dict.fromkeys(ORDERED & {"bfs_edges", "bfs_tree"}, _breadth_first),
    **dict.fromkeys(("bfs_predecessors", "bfs_successors"), _breadth_first),
    **dict.fromkeys((name for name in ORDERED if name.startswith("dfs")), _depth_first),
    **dict.fromkeys(("has_path", "bidirectional_shortest_path"), _ends),
    **dict.fromkeys(("k_core", "k_corona", "k_crust", "k_shell"), _cores),
    **dict.fromkeys(
        (
            "all_pairs_dijkstra",
            "all_pairs_dijkstra_path",
            "all_pairs_dijkstra_path_length",
            "bellman_ford_path_length",
            "bidirectional_dijkstra",
            "dijkstra_path",
            "dijkstra_path_length",
            "multi_source_dijkstra",
            "multi_source_dijkstra_path",
            "multi_source_dijkstra_path_length",
            "single_source_bellman_ford_path_length",
            "single_source_dijkstra",
            "single_source_dijkstra_path",
            "single_source_dijkstra_path_length",
        ),
        _dijkstra,
    ),
    **dict.fromkeys(
        (
            "all_pairs_shortest_path",
            "all_pairs_shortest_path_length",
            "single_source_shortest_path",
            "single_source_shortest_path_length",
            "single_target_shortest_path",
            "single_target_shortest_path_length",
        ),
        _cutoff,
    ),
    "average_shortest_path_length": _all(_unweighted, _average),
    "betweenness_centrality": _between,
    "bfs_layers": _layers,
    "eccentricity": _all(_unweighted, _eccentric, _nbunch("v")),
    "ego_graph": _ego,
    "harmonic_centrality": _all(_unweighted, _nbunch("nbunch"), _nbunch("sources")),
    **dict.fromkeys(("center", "diameter", "periphery", "radius"), _all(_unweighted, _extreme)),
    "is_isolate": _isolate,
    "jaccard_coefficient": _pairs,
    "maximal_independent_set": _independent,
    "pagerank": _pagerank,
    "shortest_path": _path,
    "shortest_path_length": _length,
}
