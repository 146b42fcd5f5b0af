"""The backend as NetworkX loads it: conversions, what can and should run, and the functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx

from . import _functions
from ._convert import from_networkx, to_networkx, weight_kind
from ._graph import Graph
from ._info import FUNCTIONS

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run", *FUNCTIONS]

# What NetworkX refuses by the kind of the graph: so does the backend, with the same exception.
UNDIRECTED = {
    "connected_components",
    "is_connected",
    "node_connected_component",
    "number_connected_components",
    "triangles",
}
DIRECTED = {
    "in_degree_centrality",
    "is_strongly_connected",
    "is_weakly_connected",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "out_degree_centrality",
    "strongly_connected_components",
    "weakly_connected_components",
}
NO_MULTIGRAPH = {"core_number"}

# What depends on how many edges there are between two nodes: a converted multigraph has one.
SIMPLE = {
    "average_clustering",
    "betweenness_centrality",
    "clustering",
    "degree_centrality",
    "in_degree_centrality",
    "out_degree_centrality",
    "pagerank",
    "transitivity",
    "triangles",
}
CLUSTERING = {"average_clustering", "clustering", "transitivity"}
IN_EDGES = {
    "ancestors",
    "core_number",
    "degree_centrality",
    "in_degree_centrality",
    "single_target_shortest_path_length",
}


def convert_from_nx(graph: Any, edge_attrs: dict[str, Any] | None = None, **_unused: Any) -> Graph:
    """A stored graph of a graph of NetworkX, with one attribute of its edges if it is needed."""
    return graph if isinstance(graph, Graph) else from_networkx(graph, edge_attrs)


def convert_to_nx(result: Any, **_unused: Any) -> Any:
    """A graph of NetworkX of a stored graph; any other result as it is."""
    return to_networkx(result) if isinstance(result, Graph) else result


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether the backend has the function for these arguments, or the reason why not."""
    if name not in FUNCTIONS:
        return "the backend does not have the function"
    try:
        given = _arguments(name, args, kwargs)
    except TypeError:
        return "the arguments are not those of the function"
    return _reason(name, given.pop("G"), given) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a graph of NetworkX is worth a conversion, or the reason why not."""
    graph, least = _arguments(name, args, kwargs)["G"], nx.config.backends.cenote.min_edges
    if isinstance(graph, Graph) or graph.number_of_edges() >= least:
        return True
    return f"the graph has fewer edges than nx.config.backends.cenote.min_edges, {least}"


def _arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(getattr(_functions, name)).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _is_refused(name: str, graph: Any) -> bool:
    """Whether NetworkX refuses the kind of graph, or there are no nodes: NetworkX answers then."""
    directed = graph.is_directed()
    return (
        len(graph) == 0
        or (directed and name in UNDIRECTED)
        or (not directed and name in DIRECTED)
        or (graph.is_multigraph() and name in NO_MULTIGRAPH)
    )


def _reason(name: str, graph: Any, given: dict[str, Any]) -> str | None:
    """Why the result would not be that of NetworkX."""
    if _is_refused(name, graph):
        return None
    if name in SIMPLE and graph.is_multigraph():
        return "parallel edges count in NetworkX, and are one here"
    if name in CLUSTERING and graph.is_directed():
        return "clustering of directed graphs is defined otherwise"
    in_edges = name in IN_EDGES or (name == "shortest_path_length" and given["source"] is None)
    doubles_loops = name == "degree_centrality" and not graph.is_directed()
    if isinstance(graph, Graph):
        if in_edges and not graph.has_in_edges:
            return "the graph has no in-edges: import it with in_edges=True"
        if name == "core_number" and graph.loops is None:
            return "the graph may have self-loops, of which NetworkX has no core numbers"
        if doubles_loops and graph.loops != 0:
            return "self-loops count twice in NetworkX, and once here"
    elif doubles_loops and nx.number_of_selfloops(graph, backend="networkx"):
        return "self-loops count twice in NetworkX, and once here"
    check = CHECKS.get(name)
    return None if check is None else check(graph, given)


def _unweighted(graph: Any, given: dict[str, Any]) -> str | None:
    return None if given["weight"] is None else "weights are not supported"


def _weights(graph: Any, weight: Any) -> str | None:
    """Why distances over the weights cannot be found."""
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


def _dijkstra(graph: Any, given: dict[str, Any]) -> str | None:
    if given["cutoff"] is not None and not isinstance(given["cutoff"], int | float):
        return "cutoff is not a number"
    return _weights(graph, given["weight"])


def _path_length(graph: Any, given: dict[str, Any]) -> str | None:
    source, target, weight = given["source"], given["target"], given["weight"]
    if source is None and target is None:
        return "distances of all pairs are not supported"
    if given["method"] not in ("dijkstra", "bellman-ford"):
        return "the method is not one of NetworkX"
    if weight is None:
        return None
    if given["method"] != "dijkstra":
        return "only the method dijkstra is supported"
    if source is None and graph.is_directed():
        return "weighted distances to a target are not supported"
    return _weights(graph, weight)


def _has_path(graph: Any, given: dict[str, Any]) -> str | None:
    is_open = given["source"] is None or given["target"] is None
    return "source or target is None" if is_open else None


def _layers(graph: Any, given: dict[str, Any]) -> str | None:
    # A fallback would find it consumed.
    return "sources is an iterator" if isinstance(given["sources"], Iterator) else None


def _between(graph: Any, given: dict[str, Any]) -> str | None:
    if given["k"] is not None and given["k"] != len(graph):
        return "the sample of k sources is not that of NetworkX"
    if given["endpoints"]:
        return "endpoints are not supported"
    return _unweighted(graph, given)


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
        values = {value for value in given["personalization"].values() if value != 0}
        if len(values) > 1 or not all(value > 0 for value in values):
            return "the values of personalization differ"
    if given["weight"] is None:
        return None
    if isinstance(graph, Graph):
        return "the graph has weights: pass weight=None" if graph.is_weighted else None
    try:
        is_weighted = weight_kind(graph, given["weight"]) is not None
    except NotImplementedError as error:
        return str(error)
    return "edges have weights other than the integer 1: pass weight=None" if is_weighted else None


CHECKS: dict[str, Callable[[Any, dict[str, Any]], str | None]] = {
    "average_clustering": _unweighted,
    "betweenness_centrality": _between,
    "bfs_layers": _layers,
    "clustering": _unweighted,
    "has_path": _has_path,
    "pagerank": _pagerank,
    "shortest_path_length": _path_length,
    "single_source_dijkstra_path_length": _dijkstra,
}


def _checked(name: str) -> Callable[..., Any]:
    """The function, which leaves to NetworkX what that refuses, and graphs without nodes."""
    function = getattr(_functions, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(name, args, kwargs)
        graph: Graph = given["G"]
        if _is_refused(name, graph):
            arguments = {**given, "G": graph.empty}
            return getattr(nx, name)(**arguments, backend="networkx")
        if (reason := _reason(name, graph, {**given})) is not None:
            raise NotImplementedError(f"{name}: {reason}")
        return function(*args, **kwargs)

    return call


globals().update({name: _checked(name) for name in FUNCTIONS})
