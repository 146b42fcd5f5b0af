"""Passes over the lists of a graph, for algorithms of the user's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _cenote
from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._graph import Graph

Frontier: TypeAlias = "NDArray[Any] | Iterable[int] | None"
"""Vertices: a mask of booleans, one for each vertex, or numbers of vertices; None is all."""


NUMBER = np.dtype("<u4")
"""Of a vertex, as the native part reads it."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Lists of neighbours, one after the other: a part of the rows of a sparse matrix.

    List `i` is that of `vertices[i]`, and its neighbours are
    `targets[offsets[i]:offsets[i + 1]]`. The arrays are read-only views of the memory of the batch.

    Attributes:
        vertices: the numbers of the vertices, ascending: `uint32`, shape (lists,).
        offsets: where each list starts, and the end of the last: `int64`, shape (lists + 1,).
        targets: the numbers of the neighbours, ascending in a list: `uint32`, shape (edges,).
        weights: the weights of the edges: `float64`, shape (edges,); None without `weights=True`.

    Example:
        >>> batch = next(iter(g.visit(memory="64MiB")))
        >>> batch.vertices[:3], batch.offsets[:4], batch.weights
        (array([0, 1, 2], dtype=uint32), array([ 0, 25, 27, 35]), None)
        >>> g.ids()[batch.targets[batch.offsets[1] : batch.offsets[2]]].tolist()
        ['0ad', 'dpkg']
    """

    vertices: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    weights: NDArray[np.float64] | None

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.vertices)

    def sources(self) -> NDArray[np.uint32]:
        """For each of the targets the vertex whose neighbour it is, as a new array:
        `uint32`, shape (edges,).

        Example:
            >>> pairs = 0
            >>> for batch in g.visit(memory="64MiB"):
            ...     pairs += int((batch.sources() < batch.targets).sum())
            >>> pairs == g.edge_count
            True
        """
        return np.repeat(self.vertices, np.diff(self.offsets))


class Visit:
    """The lists of a graph, or those of a frontier. Each iteration is a pass over them in batches.

    One pass at a time: two at once need two visits. Pages that the budget can hold stay in memory
    from pass to pass.

    Example:
        >>> lists = g.visit(memory="64MiB")
        >>> sum(len(batch.targets) for batch in lists) == 2 * g.edge_count
        True
        >>> lists.batch_edges, lists.stats["bytes_read"]
        (262144, 827392)
    """

    def __init__(self, native: _cenote.Lists, graph: Graph, frontier: Frontier) -> None:
        self._native = native
        self._graph = graph
        self._frontier = _numbers(frontier, graph.array_length)

    def __repr__(self) -> str:
        frontier = self._frontier
        lists = "all" if frontier is None else f"{len(frontier) // NUMBER.itemsize:,}"
        return f"Visit({self._graph.path!r}, {lists} lists, batch_edges={self.batch_edges:,})"

    def of(self, frontier: Frontier) -> Visit:
        """The visit of another frontier, with the same memory, threads and cached pages.

        Raises:
            InvalidInput: a vertex that the graph has not.

        Example:
            >>> lists = g.visit(memory="64MiB")
            >>> near = lists.of([g.vertex_of("bash"), g.vertex_of("vim")])
            >>> [np.diff(batch.offsets).tolist() for batch in near]
            [[27, 50]]
        """
        return Visit(self._native, self._graph, frontier)

    def __iter__(self) -> Iterator[Batch]:
        """Batches, which a thread reads while those before are used."""
        if self._graph.closed:
            raise InvalidInput(f"{self._graph.path}: the graph is closed: open it again")
        batches = self._native.batches(self._frontier)
        try:
            while (found := batches.next()) is not None:
                vertices, offsets, targets, weights = found
                yield Batch(
                    np.asarray(vertices),
                    np.asarray(offsets),
                    np.asarray(targets),
                    None if weights is None else np.asarray(weights),
                )
        finally:
            batches.close()

    @property
    def batch_edges(self) -> int:
        """Most edges of a batch. Lists longer than half of it come in pieces."""
        return self._native.batch_edges

    @property
    def stats(self) -> dict[str, Any]:
        """What all passes have read so far: `bytes_read`, `read_requests` and others."""
        stats: dict[str, Any] = json.loads(self._native.stats())
        return stats


def _numbers(frontier: Frontier, vertices: int) -> bytes | None:
    """The numbers of the vertices of a frontier, four bytes each."""
    if frontier is None:
        return None
    found = array_of(frontier)
    if found.dtype == bool and found.shape == (vertices,):
        found = np.flatnonzero(found)
    if found.dtype == bool:
        reason = f"frontier has the shape {found.shape}"
        expected = f"a boolean for each of {vertices} vertices, deleted ones included"
        raise InvalidInput(f"{reason}: expected {expected}")
    return numbers(found, "frontier", vertices)


def array_of(given: Any) -> NDArray[Any]:
    """An array of what is given, of which NumPy cannot read a set or an iterator."""
    is_read = hasattr(given, "__array__") or isinstance(given, int | str | Sequence)
    return np.asarray(given if is_read else list(given))


def numbers(found: NDArray[Any], name: str, limit: int) -> bytes:
    """Numbers below a limit, four bytes each."""
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size > 0):
        reason = f"{name} has the type {found.dtype} and the shape {found.shape}"
        raise InvalidInput(f"{reason}: expected numbers of vertices")
    if found.size > 0 and (found.min() < 0 or found.max() >= limit):
        beyond = int(found[(found < 0) | (found >= limit)][0])
        raise InvalidInput(f"{name} has the vertex {beyond}: there are {limit}, from 0")
    return found.astype(NUMBER).tobytes()
