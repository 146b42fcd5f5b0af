"""Stored graphs as NetworkX's functions take them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import cenote

from ._views import Degrees, Edges, Nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

LISTS_PER_READ = 4096
"""Lists of neighbours that are read, and in memory, at a time."""


def open(
    path: str | os.PathLike[str], *, at: str | None = None, memory: int | None = None
) -> Graph:
    """Opens a graph file for NetworkX's functions, which run on it without a conversion.

    Its nodes are the ids of the graph. Runs use the memory of `nx.config.backends.cenote.memory`.

    Args:
        path: the graph file.
        at: the name of a snapshot [the present state].
        memory: bytes to keep for the pages of lists and ids that functions look up, such as those
            of paths and searches.

    Raises:
        CenoteError: as `cenote.open`.
        InvalidInput: the graph has deleted vertices.

    Example:
        >>> with nx_cenote.open("packages.cenote") as G:
        ...     nx.has_path(G, "bash", "libc6")
        True
    """
    stored = cenote.open(path, at=at, memory=memory)
    info = stored.info()
    if deleted := info["deleted_vertices"]:
        stored.close()
        raise cenote.InvalidInput(
            f"{os.fspath(path)}: the graph has {deleted} deleted vertices, which NetworkX's "
            "functions would see: write it again with cenote.compact"
        )
    return Graph(stored, info)


class Graph:
    """A stored graph that can be passed to the functions of NetworkX that the backend has.

    Other functions raise `NotImplementedError`, or, with `nx.config.fallback_to_nx`, run on a copy
    in memory. A node has the number of its vertex.
    """

    __networkx_backend__ = "cenote"

    def __init__(
        self,
        stored: cenote.Graph | None,
        info: dict[str, Any] | None = None,
        *,
        empty: nx.Graph | None = None,
        nodes: list[Hashable] | None = None,
        loops: int | None = None,
    ) -> None:
        """Wraps an open graph, or none if there are no nodes.

        Args:
            stored: the graph.
            info: its description.
            empty: a graph of NetworkX without nodes, of the same kind [by `info`].
            nodes: the node of each vertex [its id].
            loops: how many self-loops it has [None: not known].
        """
        self.stored = stored
        self.info = info or {}
        self.loops = loops if self.info.get("self_loops_kept") or empty is not None else 0
        if empty is None:
            directed, multiple = self.info["directed"], self.info["duplicates_kept"]
            kinds = (nx.Graph, nx.MultiGraph), (nx.DiGraph, nx.MultiDiGraph)
            empty = kinds[directed][multiple]()
        self.empty = empty
        self._nodes = nodes
        self._numbers = None if nodes is None else {node: at for at, node in enumerate(nodes)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the files of the graph."""
        if self.stored is not None:
            self.stored.close()

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self.empty.is_directed())

    def is_multigraph(self) -> bool:
        """Whether there may be several edges between two nodes."""
        return bool(self.empty.is_multigraph())

    @property
    def is_converted(self) -> bool:
        """Whether it is the temporary file of a graph of NetworkX."""
        return self._numbers is not None

    @property
    def is_weighted(self) -> bool:
        """Whether the file has weights of edges."""
        return bool(self.info.get("weighted"))

    @property
    def has_in_edges(self) -> bool:
        """Whether the edges to a node can be read: of an undirected graph always."""
        return self.stored is None or not self.is_directed() or bool(self.info["in_edges"])

    def __len__(self) -> int:
        return 0 if self.stored is None else self.stored.vertex_count

    def __iter__(self) -> Iterator[Any]:
        return iter(self.node_list)

    def __contains__(self, node: object) -> bool:
        return self.number(node) is not None

    def __repr__(self) -> str:
        return f"nx_cenote.Graph({self.stored!r})"

    def number_of_nodes(self) -> int:
        """Number of nodes."""
        return len(self)

    def number_of_edges(self) -> int:
        """Number of stored edges; parallel edges of a converted graph are stored once."""
        return 0 if self.stored is None else self.stored.edge_count

    @property
    def nodes(self) -> Nodes:
        """The nodes, as `G.nodes` or `G.nodes()`."""
        return Nodes(self)

    @property
    def edges(self) -> Edges:
        """The edges, as `G.edges` or `G.edges()`: each is read when it is reached."""
        return Edges(self)

    @property
    def degree(self) -> Degrees:
        """The degrees: `G.degree[n]`, `G.degree(n)`, or pairs of nodes and degrees of all."""
        return Degrees(self)

    def neighbors(self, n: Any) -> Iterator[Any]:
        """The neighbours of a node, ascending by the ids of the file; out-neighbours if directed.

        Raises:
            NetworkXError: there is no such node.
        """
        if (number := self.number(n)) is None:
            raise nx.NetworkXError(f"The node {n} is not in the graph.")
        return iter(self.picked(next(self.lists(np.array([number])))))

    def has_edge(self, u: Any, v: Any) -> bool:
        """Whether there is an edge, from `u` to `v` if the graph is directed."""
        source, target = self.number(u), self.number(v)
        if source is None or target is None:
            return False
        return bool(np.any(next(self.lists(np.array([source]))) == target))

    def has_node(self, n: Any) -> bool:
        """Whether there is a node."""
        return n in self

    def subgraph(self, nodes: Any) -> nx.Graph:
        """The graph of some nodes, a copy in memory; nodes that are not in the graph are left out.

        Raises:
            CenoteError: the graph cannot be read.
        """
        from ._convert import part

        return part(self, np.unique(self.numbers_in(nodes)))

    @cached_property
    def node_list(self) -> list[Any]:
        """The node of each vertex, by its number."""
        if self._nodes is not None:
            return self._nodes
        assert self.stored is not None
        ids = self.stored.ids()
        return ids.to_pylist() if isinstance(ids, cenote.Strings) else ids.tolist()

    def number(self, node: object) -> int | None:
        """The number of a node's vertex, None if there is no such node."""
        try:
            if self._numbers is not None:
                return self._numbers.get(node)
            if self.stored is None or not isinstance(node, self._kind_of_ids):
                return None
            return self.stored.vertex_of(node)
        except (TypeError, cenote.UnknownVertex):
            return None

    @cached_property
    def _kind_of_ids(self) -> Any:
        """The types of the nodes: integers, or strings."""
        assert self.stored is not None
        return str if isinstance(self.stored.id_of(0), str) else (int, np.integer)

    def numbers_in(self, nbunch: Any) -> NDArray[np.int64]:
        """The numbers of a node, or of those of several that are in the graph.

        Raises:
            NetworkXError: it is neither a node nor a collection.
        """
        if (number := self.number(nbunch)) is not None:
            return np.array([number])
        try:
            found = [self.number(node) for node in nbunch]
        except TypeError:
            raise nx.NetworkXError(f"Node {nbunch} is not in the graph.") from None
        return np.array([at for at in found if at is not None], dtype=np.int64)

    def degrees(self, numbers: NDArray[Any] | None = None) -> NDArray[np.uint64]:
        """The degree of each of some vertices, or of all, the sum of both directions.

        Raises:
            NetworkXNotImplemented: the degrees would not be those of NetworkX.
        """
        if self.is_converted and self.is_multigraph():
            raise nx.NetworkXNotImplemented("parallel edges count in NetworkX, and are one here")
        if self.loops != 0 and not self.is_directed():
            reason = "self-loops count twice in NetworkX, and once here"
            raise nx.NetworkXNotImplemented(reason)
        if not self.has_in_edges:
            reason = "the graph has no in-edges: import it with in_edges=True"
            raise nx.NetworkXNotImplemented(reason)
        if self.stored is None:
            return np.empty(0, np.uint64)
        ids = None if numbers is None else self.ids_of(numbers)
        degrees = np.asarray(self.stored.degree(ids))
        if self.is_directed():
            degrees = degrees + np.asarray(self.stored.degree(ids, direction="in"))
        return degrees

    def id_of(self, node: Any) -> Any:
        """The id of a node in the file."""
        return node if self._numbers is None else self._numbers[node]

    def ids_of(self, numbers: NDArray[Any]) -> list[Any]:
        """The ids in the file of vertices."""
        found = numbers.tolist()
        return found if self._numbers is not None else [self.node_list[at] for at in found]

    def keyed(self, values: NDArray[Any]) -> dict[Any, Any]:
        """Values by vertex as a dict by node, in the order of the nodes."""
        return dict(zip(self.node_list, values.tolist(), strict=True))

    def picked(self, numbers: NDArray[Any]) -> list[Any]:
        """The nodes of vertices."""
        return [self.node_list[at] for at in numbers.tolist()]

    def lists(self, numbers: NDArray[Any], *, inward: bool = False) -> Iterator[NDArray[np.int64]]:
        """The neighbours of vertices, ascending by their ids; up to 4,096 lists in memory."""
        assert self.stored is not None
        direction: Any = "in" if inward else "out"
        for start in range(0, len(numbers), LISTS_PER_READ):
            ids = self.ids_of(numbers[start : start + LISTS_PER_READ])
            for found in self.stored.neighbors(ids, direction=direction):
                yield self.numbers_of(found)

    def weighted_lists(
        self, numbers: NDArray[Any]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """As `lists`, with the weights of the edges."""
        assert self.stored is not None
        for start in range(0, len(numbers), LISTS_PER_READ):
            ids = self.ids_of(numbers[start : start + LISTS_PER_READ])
            for found, weights in self.stored.weighted_neighbors(ids):
                yield self.numbers_of(found), weights

    def search(self, source: int, *, inward: bool = False, limit: float | None = None) -> Search:
        """Breadth-first search by lists, up to a level, with or against the edges' direction.

        Neighbours come by ascending ids, so the order is that of NetworkX on a copy. Reads the
        lists of a level with many requests in flight; up to 4,096 of them are in memory at a time,
        and 16 bytes a vertex.
        """
        levels = np.full(len(self), cenote.UNREACHED, dtype=np.uint32)
        parents = np.full(len(self), cenote.UNREACHED, dtype=np.uint32)
        levels[source] = level = 0
        parents[source] = source
        order = [np.array([source])]
        while len(order[-1]) and (limit is None or level < limit):
            level += 1
            found = [np.empty(0, dtype=np.int64)]
            for start in range(0, len(order[-1]), LISTS_PER_READ):
                before = order[-1][start : start + LISTS_PER_READ]
                lists = list(self.lists(before, inward=inward))
                owners = np.repeat(before, [len(numbers) for numbers in lists])
                numbers = np.concatenate(lists)
                # Of several lists that have a vertex, the first.
                new = np.flatnonzero(levels[numbers] == cenote.UNREACHED)
                new = new[np.sort(np.unique(numbers[new], return_index=True)[1])]
                levels[numbers[new]] = level
                parents[numbers[new]] = owners[new]
                found.append(numbers[new])
            order.append(np.concatenate(found))
        return Search(np.concatenate(order), parents, levels)

    def numbers_of(self, ids: Any) -> NDArray[np.int64]:
        """The numbers of vertices by their ids in the file."""
        if self._numbers is not None:
            return np.asarray(ids, dtype=np.int64)
        names = ids.tolist() if isinstance(ids, np.ndarray) else ids
        return np.fromiter((self._number_of_id[id] for id in names), np.int64, len(names))

    @cached_property
    def _number_of_id(self) -> dict[Any, int]:
        return {id: at for at, id in enumerate(self.node_list)}

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The place of each vertex's id among all ids."""
        if self._numbers is not None or self.stored is None:
            return np.arange(len(self))
        ids = self.stored.ids()
        if isinstance(ids, cenote.Strings):
            order = np.asarray(sorted(range(len(self)), key=self.node_list.__getitem__))
        else:
            order = np.argsort(ids)
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[order] = np.arange(len(self))
        return ranks


@dataclass(frozen=True)
class Search:
    """What a search by lists found.

    Attributes:
        order: the vertices that were reached, as they were reached.
        parents: of each vertex the one before it, of the source itself; `cenote.UNREACHED` where
            a vertex was not reached.
        levels: the least number of edges from or to each vertex, `cenote.UNREACHED` if none.
    """

    order: NDArray[np.int64]
    parents: NDArray[np.uint32]
    levels: NDArray[np.uint32]
