"""Stored graphs: opened, looked at, visited, written to other files."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _cenote
from ._edges import Edges
from ._features import Features, write
from ._lookups import Lookups, is_inward
from ._options import (
    Memory,
    OnProgress,
    PathLike,
    VertexIds,
    listener,
    warn,
)
from ._result import html_table
from ._runs import Runs
from ._states import States
from ._visit import Frontier, Visit
from .errors import InvalidInput, UnknownVertex

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


def open(
    path: PathLike,
    *,
    at: str | None = None,
    migration: bool = True,
    memory: Memory | None = None,
    threads: int | None = None,
) -> Graph:
    """Opens a graph: one file, or tiers.

    Args:
        path: the graph file.
        at: the name of a snapshot [the present state].
        migration: whether pages of a graph over tiers move while it is open.
        memory: to reserve for pages and lists of `neighbors` of `threads` threads.
        threads: threads of `neighbors` [one per core].

    Raises:
        CorruptGraph: it is not a graph, or damaged.
        FileMissing: there is no such file.
        GraphLocked: another process moves its pages.

    Example:
        >>> with cenote.open("packages.cenote") as g:
        ...     g.vertex_count, g.wcc().components
        (64245, 201)
    """
    native = _cenote.Graph.open(path, at, migration, memory, threads)
    warn(native.warnings())
    return Graph(native, path)


class Graph(Runs, Lookups, States):
    """An open graph. It stays as it is when it was opened, whatever changes the file later.

    Runs of several threads may go on at the same time. Close it, or use it in a `with` statement,
    to release its files; answers can be used on.

    Example:
        >>> with cenote.open("packages.cenote") as packages:
        ...     packages
        ...     packages.path, len(packages), "bash" in packages
        ...     packages.vertex_count, packages.edge_count, packages.directed
        Graph('packages.cenote', 64,245 vertices, 283,093 undirected edges)
        ('packages.cenote', 64245, True)
        (64245, 283093, False)
        >>> packages.closed
        True
    """

    def __init__(self, native: _cenote.Graph, path: PathLike) -> None:
        super().__init__(native)
        self.path = os.fspath(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the files, locks and threads of the graph.

        Raises:
            GraphLocked: another thread works on it.

        Example:
            >>> friends = cenote.open("friends.cenote")
            >>> ranks = friends.pagerank().ranks
            >>> friends.close()
            >>> ranks.shape, friends
            ((3,), Graph('friends.cenote', closed))
        """
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    @property
    def vertex_count(self) -> int:
        """Number of vertices, without deleted ones: arrays by vertex have `array_length`."""
        return self._native.vertices

    @property
    def array_length(self) -> int:
        """The length of arrays by vertex: `vertex_count` and the number of deleted vertices.

        The numbers of vertices are below it. A deleted vertex keeps its number, with an empty list,
        until the graph is compacted.

        Example:
            >>> g.array_length == len(g.ids()) == len(g.degree()) == len(g.wcc().labels)
            True
        """
        return self._native.array_length

    def deleted(self) -> NDArray[np.uint32]:
        """The numbers of deleted vertices, ascending: `uint32`, shape (deleted,).

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.delete_vertex("bob")
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.deleted(), friends.vertex_count, friends.array_length
            (array([1], dtype=uint32), 2, 3)
        """
        return np.asarray(self._native.deleted())

    @property
    def edge_count(self) -> int:
        """Number of edges, each undirected one once."""
        return self._native.edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._native.directed

    def __len__(self) -> int:
        """As `vertex_count`."""
        return self.vertex_count

    def __contains__(self, id: object) -> bool:
        """Whether there is a vertex of an id."""
        try:
            return isinstance(id, str | int | np.integer) and self.vertex_of(id) >= 0
        except UnknownVertex:
            return False

    def __repr__(self) -> str:
        if self.closed:
            return f"Graph({self.path!r}, closed)"
        kind = "directed" if self.directed else "undirected"
        edges = f"{self.edge_count:,} {kind} edges"
        return f"Graph({self.path!r}, {self.vertex_count:,} vertices, {edges})"

    def _repr_html_(self) -> str:
        if self.closed:
            return f"<p>{html.escape(repr(self))}</p>"
        kind = "directed" if self.directed else "undirected"
        facts = {"vertices": f"{self.vertex_count:,}", f"{kind} edges": f"{self.edge_count:,}"}
        return html_table(f"Graph: {self.path}", facts)

    def visit(
        self,
        frontier: Frontier = None,
        *,
        direction: Literal["out", "in"] = "out",
        weights: bool = False,
        memory: Memory | None = None,
        threads: int | None = None,
        batch_edges: int | None = None,
    ) -> Visit:
        """The lists of all vertices, or of a frontier, in batches of NumPy arrays.

        For an algorithm of your own whose vertex state fits memory and whose edges need not: each
        iteration over the result is a pass, for which a thread reads with many requests in flight
        while the batch before is used.

        Batches ascend by vertex, and are the same in each pass with the same `batch_edges`. Empty
        lists are left out. A list is in one piece, unless it is longer than half of `batch_edges`:
        then consecutive batches have its pieces, in order, under the same vertex. A pass ends when
        its iterator is dropped, or by Ctrl-C.

        Args:
            frontier: the vertices: a mask with a boolean for each vertex, or their numbers, in any
                order and each visited once [all].
            direction: `"in"` for a directed graph that was imported with `in_edges`.
            weights: whether batches have the weights of the edges, as `float64`.
            memory: the budget for index, requests, batches and cached pages, in bytes or as text
                such as `"256MiB"` or `"10%"` of the pages of the graph [half of the machine's].
                Arrays that you keep or compute are beside it.
            threads: reading threads [one per core].
            batch_edges: most edges of a batch, at least two pages [2,097,152, or what fits a
                quarter of the budget].

        Raises:
            MemoryBudget: the budget is too small.
            InvalidInput: a vertex that the graph has not; a second pass while one goes on.
            Unsupported: no lists of the direction, or no weights.
            CorruptGraph: while it is iterated over, a page is damaged.

        Example:
            >>> degrees = np.zeros(g.array_length, np.int64)
            >>> for batch in g.visit(memory="64MiB"):
            ...     np.add.at(degrees, batch.vertices, np.diff(batch.offsets))
            >>> bool((degrees == g.degree()).all())
            True
        """
        native = _cenote.Lists.open(
            self._native, is_inward(direction), weights, memory, threads, batch_edges
        )
        return Visit(native, self, frontier)

    def write_features(self, path: PathLike, rows: Any, *, dtype: Any = None) -> int:
        """Writes a file of features: for each vertex a row of numbers of one type.

        Args:
            path: the file, beside the graph or elsewhere. It appears when it is complete, and then
                replaces one of this name.
            rows: an array of shape (vertices, columns) or (vertices,), or an iterable of such
                arrays, one after the other: `array_length` rows, one for each vertex by its number,
                so in the order of `ids()`. An iterable is read once, in parts.
            dtype: the type of the numbers [that of the first array]: bool, integers, floats.

        Returns:
            The bytes of the file.

        Raises:
            InvalidInput: fewer or more rows than vertices, rows of different lengths, or a type
                that does not hold the numbers.

        Example:
            >>> size = g.write_features("degree.features", g.degree().astype(np.float32))
            >>> g.features("degree.features").fetch([0, 1, 2]).shape
            (3, 1)
        """
        return write(self._native, path, rows, dtype)

    def features(self, path: PathLike) -> Features:
        """Opens a file of features of this graph, to fetch the rows of some vertices at a time.

        Rows belong to the numbers of the vertices. Updates keep the numbers, and a vertex that is
        added later has no row. A compaction and a new import give other numbers: then the file is
        refused, and has to be written anew.

        Raises:
            CorruptGraph: it is damaged, cut off or no file of features; the message names the page.
            InvalidInput: it belongs to another graph, or to another numbering of its vertices.
            FileMissing: there is no such file.

        Example:
            >>> rows = np.arange(2 * g.array_length, dtype=np.float32).reshape(-1, 2)
            >>> size = g.write_features("x.features", rows)
            >>> x = g.features("x.features")
            >>> x.shape, x.dtype, x[[7, 3]].tolist()
            ((64245, 2), dtype('float32'), [[14.0, 15.0], [6.0, 7.0]])
        """
        return Features(self._native, path)

    def edges(self) -> Edges:
        """The edges as a stream of record batches, each edge once.

        The batches are read as they are asked for, so a graph that is larger than memory can be
        streamed; the ids of all vertices are in memory.

        Example:
            >>> g.edges().to_arrow().num_rows == g.edge_count
            True
        """
        return Edges(self._native, self)

    def export(
        self, path: PathLike, *, overwrite: bool = False, progress: OnProgress = False
    ) -> dict[str, int]:
        """Writes the edges to a file, `.txt`, `.el`, `.tsv` or `.parquet`, streamed.

        Args:
            path: the file, which appears under its name when it is complete.
            overwrite: replace the file if it exists.
            progress: see `cenote.Progress`.

        Returns:
            `edges`, `isolated` (vertices without an edge, which are not in it) and `file_bytes`.

        Raises:
            InvalidInput: the file exists, without `overwrite`; another ending.

        Example:
            >>> g.export("edges.tsv", overwrite=True)["edges"] == g.edge_count
            True
        """
        if not overwrite and os.path.isfile(path):
            raise InvalidInput(f"{os.fspath(path)} exists: give another name or overwrite=True")
        edges, isolated, file_bytes = self._native.export(path, listener(progress))
        return {"edges": edges, "isolated": isolated, "file_bytes": file_bytes}

    def subgraph(
        self,
        vertices: VertexIds | None = None,
        *,
        out: PathLike,
        hops: int = 0,
        vertices_file: PathLike | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        overwrite: bool = False,
        progress: OnProgress = False,
    ) -> dict[str, int]:
        """Writes all edges between vertices, or between all that are near them.

        Args:
            vertices: their ids.
            out: the file: `.cenote` for a graph with the ids, weights and isolated vertices, or a
                list of edges, `.parquet`, `.txt`, `.el` or `.tsv`.
            hops: how many edges other vertices may be away, on a directed graph along out-edges.
            vertices_file: a file of further ids, one a line.
            memory: the budget, in bytes or as text such as `"512MiB"` [half of the machine's].
            threads: worker threads [one per core].
            overwrite: replace the file if it exists.
            progress: see `cenote.Progress`.

        Returns:
            `vertices`, `edges`, `isolated` (vertices without an edge, that a list of edges leaves
            out), `bytes_read` and `file_bytes`.

        Example:
            >>> found = g.subgraph("bash", hops=1, out="near.cenote", overwrite=True)
            >>> with cenote.open("near.cenote") as near:
            ...     near.vertex_count == found["vertices"] == len(g.neighbors("bash")) + 1
            True
        """
        counts = self._native.subgraph(
            vertices, out, hops, vertices_file, memory, threads, overwrite, listener(progress)
        )
        names = ("vertices", "edges", "isolated", "bytes_read", "file_bytes")
        return dict(zip(names, counts, strict=True))
