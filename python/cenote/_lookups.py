"""Look-ups in graphs: ids, values, neighbours, degrees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from . import _cenote
from ._edges import Sample
from ._options import Ids, Memory, VertexId, VertexIds
from ._result import id_list, ids_of
from ._strings import Strings
from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray


WeightedIds: TypeAlias = "tuple[Ids, NDArray[np.float64]]"
"""Neighbours, and the weight of the edge to each."""


class Lookups:
    """What a graph says of given vertices."""

    _native: _cenote.Graph

    def ids(self) -> NDArray[np.uint64] | Strings:
        """The ids of all vertices, by vertex: a `uint64` array, or strings in Arrow's format.

        There are `array_length`: those of deleted vertices, too. They are read from the graph, and
        in memory as long as the returned object.

        Example:
            >>> g.ids()
            Strings(64245: '0ad', '0ad-data', '0ad-data-common', ..)
            >>> report = cenote.import_graph([(70, 5), (5, 12)], "numbers.cenote")
            >>> with cenote.open("numbers.cenote") as numbers:
            ...     numbers.ids()
            array([ 5, 12, 70], dtype=uint64)
        """
        return ids_of(self._native.ids())

    def vertex_of(self, id: VertexId) -> int:
        """The number of the vertex with an id: its place in the arrays of answers.

        Raises:
            UnknownVertex: there is none.

        Example:
            >>> bash = g.vertex_of("bash")
            >>> bash, int(g.degree()[bash])
            (1156, 27)
        """
        return self._native.vertex_of(id)

    def id_of(self, vertex: int) -> int | str:
        """The id of a vertex, by its number.

        Raises:
            InvalidInput: the graph has no vertex of that number.

        Example:
            >>> g.id_of(int(g.degree().argmax()))
            'libc6'
        """
        return self._native.id_of(vertex)

    def value(self, id: VertexId) -> int | float | None:
        """The value of a vertex, that an import or an update has given it; None without one.

        Raises:
            UnknownVertex: there is no vertex of the id.

        Example:
            >>> report = cenote.import_graph([("ada", "bob")], "ages.cenote", values={"ada": 36})
            >>> with cenote.open("ages.cenote") as ages:
            ...     ages.value("ada"), ages.value("bob")
            (36, None)
        """
        return self._native.value(id)

    def values(self) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """The numbers of the vertices that have a value, ascending, and their values.

        Returns:
            Two arrays of shape (values,), the second of `uint64`, `int64` or `float64` as the graph
            stores them. They are all in memory.

        Example:
            >>> cenote.import_graph([(1, 2)], "valued.cenote")["vertices"]
            2
            >>> with cenote.update("valued.cenote", values="f64") as u:
            ...     u.set_value(2, 0.5)
            >>> with cenote.open("valued.cenote") as valued:
            ...     valued.value(1), valued.value(2), [a.tolist() for a in valued.values()]
            (None, 0.5, [[1], [0.5]])
        """
        vertices, values = self._native.values()
        return np.asarray(vertices), np.asarray(values)

    @overload
    def neighbors(  # type: ignore[overload-overlap]  # a string is one id, not several
        self,
        ids: VertexId,
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> Ids: ...

    @overload
    def neighbors(
        self,
        ids: Iterable[VertexId],
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> list[Ids]: ...

    def neighbors(
        self,
        ids: VertexIds,
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> Ids | list[Ids]:
        """The neighbours of a vertex, or of many, which are read with many requests in flight.

        Args:
            ids: an id, or ids.
            direction: `"in"` for a directed graph that was imported with `in_edges`.
            memory: bytes for lists and ids while they are read [256 MiB]; those for pages that stay
                from call to call are the `memory` of `cenote.open`.
            threads: reading threads [one per core].

        Returns:
            The ids of the neighbours, ascending: a `uint64` array or a list of strings; for many
            vertices a list of these. They are all in memory.

        Raises:
            UnknownVertex: there is no vertex of an id.
            Unsupported: `direction="in"` of a directed graph without in-edges.
            MemoryBudget: the memory does not hold the lists.

        Example:
            >>> g.neighbors("bash")[:3]
            ['backupninja', 'base-files', 'bash-builtins']
            >>> [len(found) for found in g.neighbors(["bash", "vim"])]
            [27, 50]
        """
        inward = is_inward(direction)
        degrees, found, _ = self._native.neighbors(ids, inward, False, memory, threads)
        lists = self._split(degrees, id_list(found))
        return lists[0] if _is_one(ids) else lists

    @overload
    def weighted_neighbors(  # type: ignore[overload-overlap]  # a string is one id, not several
        self,
        ids: VertexId,
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> WeightedIds: ...

    @overload
    def weighted_neighbors(
        self,
        ids: Iterable[VertexId],
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> list[WeightedIds]: ...

    def weighted_neighbors(
        self,
        ids: VertexIds,
        *,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> WeightedIds | list[WeightedIds]:
        """The neighbours of a vertex with the weights of the edges as `float64`, or of many.

        Returns:
            The ids, an array of `uint64` or a list of strings, and the weights, `float64`, both of
            shape (neighbours,); for many vertices a list of such pairs.

        Raises:
            Unsupported: the graph has no weights, or no in-edges.
            UnknownVertex: there is no vertex of an id.
            MemoryBudget: the memory does not hold the lists.

        Example:
            >>> roads = [("ada", "bob", 2.5), ("ada", "cem", 4)]
            >>> report = cenote.import_graph(roads, "roads.cenote", weights="f32")
            >>> with cenote.open("roads.cenote") as graph:
            ...     graph.weighted_neighbors("ada"), graph.weighted_neighbors(["bob"])
            ((['bob', 'cem'], array([2.5, 4. ])), [(['ada'], array([2.5]))])
        """
        inward = is_inward(direction)
        degrees, found, weights = self._native.neighbors(ids, inward, True, memory, threads)
        lists: list[Ids] = self._split(degrees, id_list(found))
        parts: list[NDArray[np.float64]] = self._split(degrees, np.asarray(weights))
        pairs = list(zip(lists, parts, strict=True))
        return pairs[0] if _is_one(ids) else pairs

    def sample_neighbors(
        self,
        seeds: VertexIds,
        *,
        fanouts: Sequence[int],
        replace: bool = False,
        weights: bool = False,
        seed: int = 1,
        direction: Literal["out", "in"] = "out",
        memory: Memory | None = None,
        threads: int | None = None,
    ) -> Sample:
        """Samples neighbours, layer by layer: a mini-batch for training.

        Of each of `seeds` at most `fanouts[0]` neighbours are sampled, of each vertex that is new
        then at most `fanouts[1]`, and so on. The sample depends on `seed`, the ids and the other
        arguments alone, not on threads, memory or the order of the vertices in the file.

        Of a long list only the pages that hold a sampled neighbour are read. Whole lists are read
        of a graph in another order than that of the ids, of vertices with neighbours that came
        after the import, and with `weights`.

        Args:
            seeds: an id, or ids; one that is given twice counts once.
            fanouts: how many neighbours to sample of each vertex of a layer.
            replace: whether a neighbour may be sampled more than once; then there are as many as
                the fanout of each vertex that has one. A fanout is at most 2^20 then.
            weights: sample with probabilities proportional to the weights of the edges: without
                replacement one after the other, each among those that are left. An edge of weight 0
                is never sampled.
            seed: of the random numbers.
            direction: `"in"` for a directed graph that was imported with `in_edges`.
            memory: for pages and lists while they are read [256 MiB], and as much for the sample,
                of which an edge counts 64 bytes [half of the machine's].
            threads: reading threads [one per core].

        Raises:
            UnknownVertex: there is no vertex of an id.
            MemoryBudget: the sample does not fit.
            InvalidInput: no fanout, or one that is 0; a weight that is negative or not finite.
            Unsupported: `weights` of a graph that has none.

        Example:
            >>> sample = g.sample_neighbors(["bash", "vim"], fanouts=[15, 10], seed=7)
            >>> sample.seeds, [len(src) for src, dst in sample.layers]
            (2, [30, 148])
        """
        inward, fanouts = is_inward(direction), list(fanouts)
        ids, vertices, count, layers = self._native.sample_neighbors(
            seeds, fanouts, seed, inward, replace, weights, memory, threads
        )
        parts = [(np.asarray(sources), np.asarray(targets)) for sources, targets, _ in layers]
        positions = [np.asarray(places) for _, _, places in layers]
        return Sample(id_list(ids), np.asarray(vertices), count, parts, positions)

    @staticmethod
    def _split(degrees: _cenote.Array, items: Any) -> list[Any]:
        """Parts of an array or list, of given lengths."""
        ends = np.cumsum(np.asarray(degrees), dtype=np.int64).tolist()
        return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def degree(
        self, ids: VertexIds | None = None, *, direction: Literal["out", "in"] = "out"
    ) -> int | NDArray[np.uint64]:
        """The degree of a vertex, or an array of those of many; of all by vertex, if none is given.

        Returns:
            A number, or a `uint64` array of shape (ids,), of all of shape (array_length,).

        Raises:
            UnknownVertex: there is no vertex of an id.
            Unsupported: `direction="in"` of a directed graph without in-edges.

        Example:
            >>> g.degree("bash"), g.degree(["bash", "vim"]).tolist(), int(g.degree().max())
            (27, [27, 50], 21840)
        """
        degrees = np.asarray(self._native.degree(ids, is_inward(direction)))
        return int(degrees[0]) if ids is not None and _is_one(ids) else degrees


def is_inward(direction: str) -> bool:
    if direction not in ("out", "in"):
        raise InvalidInput(f"direction is {direction!r}: expected 'out' or 'in'")
    return direction == "in"


def _is_one(ids: object) -> bool:
    """Whether it is one id, not several."""
    return isinstance(ids, str | int | np.integer) or hasattr(ids, "as_py")
