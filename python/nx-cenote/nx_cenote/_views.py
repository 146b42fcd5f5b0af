"""Views of stored graphs as NetworkX's functions and users call them: read-only, by pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from ._graph import Graph


class View:
    """What the views have in common."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return len(self._graph)


class Nodes(View):
    """The nodes of a stored graph: a view that can be called, as `G.nodes` of NetworkX."""

    def __call__(self, data: bool = False, default: Any = None) -> Any:
        """The nodes; with `data`, pairs of a node and an empty dict, since attributes are none."""
        return ((node, {}) for node in self) if data else self

    def __iter__(self) -> Iterator[Any]:
        return iter(self._graph)

    def __contains__(self, node: object) -> bool:
        return node in self._graph


class Edges(View):
    """The edges of a stored graph, each once: a view that can be called, as `G.edges`."""

    def __call__(self, nbunch: Any = None, data: Any = False, default: Any = None) -> Any:
        """Pairs of nodes, of the edges of some nodes or all; with `data` and the weights.

        Args:
            nbunch: a node or nodes [all].
            data: True for a dict as the third, or `"weight"` for the weight.
            default: the weight if the graph has none.
        """
        if nbunch is None and data is False:
            return self
        return self._chosen(nbunch, data, default)

    def __len__(self) -> int:
        return self._graph.number_of_edges()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._chosen(None, False, None)

    def __contains__(self, edge: object) -> bool:
        return isinstance(edge, tuple) and len(edge) == 2 and self._graph.has_edge(*edge)

    def _chosen(self, nbunch: Any, data: Any, default: Any) -> Iterator[tuple[Any, ...]]:
        graph = self._graph
        given = np.arange(len(graph)) if nbunch is None else graph.numbers_in(nbunch)
        # An undirected edge is in two lists: it comes with the first of them.
        seen = np.zeros(len(graph), dtype=bool)
        for number, (found, weights) in zip(given.tolist(), self._lists(given), strict=True):
            is_new = slice(None) if graph.is_directed() else ~seen[found]
            source, targets = graph.node_list[number], graph.picked(found[is_new])
            values = [None] * len(targets) if weights is None else weights[is_new].tolist()
            for target, value in zip(targets, values, strict=True):
                yield (source, target, *_data(value, data, default))
            seen[number] = True

    def _lists(self, numbers: Any) -> Iterator[tuple[Any, Any]]:
        if self._graph.is_weighted:
            return self._graph.weighted_lists(numbers)
        return ((found, None) for found in self._graph.lists(numbers))


def _data(value: float | None, data: Any, default: Any) -> tuple[Any, ...]:
    """What follows the nodes of an edge."""
    if data is False:
        return ()
    if data is True:
        return ({} if value is None else {"weight": value},)
    return (value if data == "weight" and value is not None else default,)


class Degrees(View):
    """The degrees of a stored graph: a view that can be called, as `G.degree` of NetworkX."""

    def __call__(self, nbunch: Any = None, weight: Any = None) -> Any:
        """The degree of a node, or pairs of nodes and degrees, of some or all.

        Raises:
            NetworkXNotImplemented: with `weight`, or if they would not be those of NetworkX.
        """
        if weight is not None:
            raise nx.NetworkXNotImplemented("degrees by weights are not supported")
        if nbunch is None:
            return self
        if self._graph.number(nbunch) is not None:
            return self[nbunch]
        numbers = self._graph.numbers_in(nbunch)
        degrees = self._graph.degrees(numbers).tolist()
        return iter(list(zip(self._graph.picked(numbers), degrees, strict=True)))

    def __getitem__(self, node: Any) -> int:
        if (number := self._graph.number(node)) is None:
            raise KeyError(node)
        return int(self._graph.degrees(np.array([number]))[0])

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return iter(zip(self._graph.node_list, self._graph.degrees().tolist(), strict=True))
