"""The backend as NetworkX loads it: conversions, what can and should run, and the functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import networkx as nx

from ._checks import CHEAP, is_refused, reason
from ._convert import from_networkx, to_networkx
from ._functions import BY_NAME
from ._graph import Graph
from ._info import FUNCTIONS

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run", *FUNCTIONS]


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
    return reason(name, given.pop("G"), given) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a graph of NetworkX is worth a conversion, or the reason why not."""
    graph, least = _arguments(name, args, kwargs)["G"], nx.config.backends.cenote.min_edges
    if isinstance(graph, Graph):
        return True
    if name in CHEAP:
        return "NetworkX answers in less time than a conversion takes"
    if graph.number_of_edges() >= least:
        return True
    return f"the graph has fewer edges than nx.config.backends.cenote.min_edges, {least}"


def _arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(BY_NAME[name]).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _checked(name: str) -> Callable[..., Any]:
    """The function, which leaves to NetworkX what that refuses, and graphs without nodes."""
    function = BY_NAME[name]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = _arguments(name, args, kwargs)
        graph: Graph = given["G"]
        if is_refused(name, graph):
            arguments = {**given, "G": graph.empty}
            return getattr(nx, name)(**arguments, backend="networkx")
        if (found := reason(name, graph, given)) is not None:
            raise NotImplementedError(f"{name}: {found}")
        return function(*args, **kwargs)

    return call


globals().update({name: _checked(name) for name in FUNCTIONS})
