"""Conversions between NetworkX's graphs and stored ones."""

from __future__ import annotations

import math
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import numpy as np

import cenote

from ._graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_SUM = 2**62
"""Integer weights sum to less, so that no distance overflows."""

_warned: set[str] = set()


def memory() -> Any:
    """The budget of conversions and runs, of the configuration."""
    return nx.config.backends.cenote.memory


def weight_kind(graph: nx.Graph, attribute: str, default: Any = 1) -> str | None:
    """The type in which an attribute of the edges is stored, None if it is the integer 1 of all.

    Raises:
        NotImplementedError: a value that no type holds, with the value.
    """
    total, all_one, has_float = 0, True, False
    for source, target, value in graph.edges(data=attribute, default=default):
        where = f"the weight of the edge {source!r}, {target!r} is {value!r}"
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise NotImplementedError(f"{where}: expected an integer or a float")
        if not math.isfinite(value) or value < 0:
            raise NotImplementedError(f"{where}: expected a finite number that is not negative")
        if isinstance(value, int | np.integer):
            total += int(value)
            all_one = all_one and value == 1
        else:
            all_one, has_float = False, True
    if all_one:
        return None
    if total >= LARGEST_SUM:
        raise NotImplementedError(f"the weights sum to {total}: expected less than 2**62")
    if has_float and total >= 2**53:
        raise NotImplementedError("integer weights beyond 2**53 beside floats would be rounded")
    return "f64" if has_float else "i64"


def from_networkx(graph: nx.Graph, edge_attrs: dict[str, Any] | None) -> Graph:
    """Writes a graph of NetworkX to a temporary file, which is removed with the returned graph.

    Args:
        graph: the graph. Its nodes become vertices 0 to n - 1, in their order; parallel edges
            become one, with the smallest weight.
        edge_attrs: the attribute of weights and its default, if they are needed.

    Raises:
        CenoteError: the file cannot be written, or the memory does not suffice.
        NotImplementedError: the weights cannot be stored.
    """
    nodes = list(graph)
    kinds = {(False, False): nx.Graph, (False, True): nx.MultiGraph}
    kinds |= {(True, False): nx.DiGraph, (True, True): nx.MultiDiGraph}
    empty = kinds[graph.is_directed(), graph.is_multigraph()]()
    if not nodes:
        return Graph(None, empty=empty, nodes=nodes)
    attribute, default = next(iter((edge_attrs or {}).items()), (None, 1))
    kind: Any = None if attribute is None else weight_kind(graph, attribute, default)
    loops = nx.number_of_selfloops(graph, backend="networkx")
    directory = Path(tempfile.mkdtemp(prefix="nx-cenote-", dir=nx.config.backends.cenote.directory))
    try:
        path = directory / "graph.cenote"
        _import(graph, nodes, path, kind, (attribute, default))
        stored = _open(path)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    found = Graph(stored, stored.info(), empty=empty, nodes=nodes, loops=loops)
    weakref.finalize(found, _remove, stored, directory)
    return found


def _import(
    graph: nx.Graph,
    nodes: list[Any],
    path: Path,
    kind: Literal["i64", "f64"] | None,
    weight: tuple[str | None, Any],
) -> None:
    number = {node: at for at, node in enumerate(nodes)}
    attribute, default = weight
    rows: Iterator[tuple[Any, ...]]
    if kind is None:
        rows = ((number[u], number[v]) for u, v in graph.edges())
    else:
        cast = int if kind == "i64" else float
        weighted = graph.edges(data=attribute, default=default)
        rows = ((number[u], number[v], cast(value)) for u, v, value in weighted)
    cenote.import_graph(
        rows,
        path,
        directed=graph.is_directed(),
        in_edges=graph.is_directed(),
        weights=kind,
        vertices=[number[node] for node, degree in graph.degree() if degree == 0],
        keep_self_loops=True,
        **({} if memory() is None else {"memory": memory()}),
    )


def _open(path: Path) -> cenote.Graph:
    """Opens a temporary graph; what the library warns of its folder is said once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = cenote.open(path)
    for warning in caught:
        text = str(warning.message).replace(str(path), str(path.parents[1]))
        if text not in _warned:
            _warned.add(text)
            warnings.warn(text, warning.category, stacklevel=2)
    return stored


def _remove(stored: cenote.Graph, directory: Path) -> None:
    stored.close()
    shutil.rmtree(directory, ignore_errors=True)


def to_networkx(graph: Graph) -> nx.Graph:
    """A copy in memory: nodes, edges, and weights as the attribute `weight`.

    Raises:
        CenoteError: the graph cannot be read.
    """
    return part(graph, np.arange(len(graph)))


def part(graph: Graph, numbers: NDArray[Any]) -> nx.Graph:
    """The graph of some of the vertices as a copy in memory, as `to_networkx`.

    Args:
        graph: the graph.
        numbers: the vertices, ascending. The neighbours of a node come by ascending ids.

    Raises:
        CenoteError: the graph cannot be read.
    """
    copy = graph.empty.copy()
    copy.add_nodes_from(graph.picked(numbers))
    if not len(numbers):
        return copy
    sources, targets, weights = _edges(graph, numbers)
    ends = zip(graph.picked(sources), graph.picked(targets), strict=True)
    if weights is None:
        copy.add_edges_from(ends)
    else:
        weighted = zip(ends, weights.tolist(), strict=True)
        copy.add_weighted_edges_from((*pair, value) for pair, value in weighted)
    return copy


def _edges(
    graph: Graph, numbers: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Sources, targets and weights of the edges between vertices, by ascending ids."""
    assert graph.stored is not None
    is_part = np.zeros(len(graph), dtype=bool)
    is_part[numbers] = True
    ranks, none = graph.ranks, np.empty(0, np.uint32)
    parts = [(none, none, np.empty(0))]
    budget = {} if memory() is None else {"memory": memory()}
    for batch in graph.stored.visit(is_part, weights=graph.is_weighted, **budget):
        sources, chosen = batch.sources(), is_part[batch.targets]
        if not graph.is_directed():
            # Each undirected edge is in two lists: it is taken from that of its smaller id.
            chosen &= ranks[batch.targets] >= ranks[sources]
        weights = np.empty(0) if batch.weights is None else batch.weights[chosen]
        parts.append((sources[chosen], batch.targets[chosen], weights))
    sources, targets, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    # Repeated edges keep their order.
    order = np.lexsort((ranks[targets], ranks[sources]))
    return sources[order], targets[order], weights[order] if graph.is_weighted else None
