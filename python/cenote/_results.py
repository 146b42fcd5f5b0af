"""Answers of runs: a class each, with its arrays and figures by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Betweenness(Result):
    """Betweenness centrality.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     found = friends.betweenness(["ada", "bob", "cem"])
        ...     found.betweenness
        array([0., 2., 0.])
    """

    @property
    def betweenness(self) -> NDArray[np.float64]:
        """The betweenness of each vertex, shape (vertices,); computed when it is first read."""
        return self["betweenness"]


class Bfs(Result):
    """Levels and parents of a breadth-first search.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     search = friends.bfs("ada", parents=True)
        >>> search.levels, search.parents
        (array([0, 1, 2], dtype=uint32), array([0, 0, 1], dtype=uint32))
        >>> search.reached, search.depth
        (3, 2)
    """

    @property
    def levels(self) -> NDArray[np.uint32]:
        """The fewest edges from a source, `UNREACHED` where there is no path; shape (vertices,)."""
        return self["level"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none; shape (vertices,).

        Raises:
            AttributeError: the run was without `parents=True`.
        """
        return self._given_by("parent", "with `parents=True`")

    @property
    def reached(self) -> int:
        """Vertices reached, with the sources."""
        return int(self.summary["reached"])

    @property
    def depth(self) -> int:
        """The largest level."""
        return int(self.summary["depth"])


class Labels(Result):
    """A label of each vertex: a vertex whose id names the group.

    Example:
        >>> groups = g.cdlp(iterations=3)
        >>> groups.labels.shape, groups.labels.dtype
        ((64245,), dtype('uint32'))
        >>> groups.ids()[groups.labels[g.vertex_of("bash")]]
        'backupninja'
    """

    @property
    def labels(self) -> NDArray[np.uint32]:
        """The number of the vertex that names the group of each vertex, shape (vertices,)."""
        return self[self.columns[0]]


class Components(Labels):
    """Components, named by their smallest id.

    Example:
        >>> found = g.wcc()
        >>> found.components, found.largest, int(np.bincount(found.labels).max())
        (201, 63554, 63554)
    """

    @property
    def components(self) -> int:
        """Number of components."""
        return int(self.summary["components"])

    @property
    def largest(self) -> int:
        """Vertices in the largest."""
        return int(self.summary["largest"])


class Communities(Labels):
    """Communities.

    Example:
        >>> found = g.cdlp(iterations=3)
        >>> found.communities == len(np.unique(found.labels))
        True
    """

    @property
    def communities(self) -> int:
        """Number of communities."""
        return int(self.summary["communities"])


class ModularityCommunities(Communities):
    """Communities of high modularity.

    Example:
        >>> edges = [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4), (3, 4)]
        >>> report = cenote.import_graph(edges, "triangles.cenote")
        >>> with cenote.open("triangles.cenote") as triangles:
        ...     found = triangles.leiden()
        >>> found.communities, round(found.modularity, 3)
        (2, 0.357)
    """

    @property
    def modularity(self) -> float:
        """Their modularity, by the resolution that was given."""
        return float(self.summary["modularity"])


class Degrees(Result):
    """Degrees.

    Example:
        >>> edges = [("ada", "bob"), ("ada", "cem")]
        >>> found = cenote.degrees(edges, directed=True, keep_duplicates=True)
        >>> found.degrees
        array([2, 1, 1], dtype=uint64)
        >>> found.out_degrees.tolist(), found.in_degrees.tolist()
        ([2, 0, 0], [0, 1, 1])
    """

    @property
    def degrees(self) -> NDArray[np.uint64]:
        """The edges of each vertex, on a directed graph both ways; shape (vertices,)."""
        if "degree" in self.columns:
            return self["degree"]
        total: NDArray[np.uint64] = self["out_degree"] + self["in_degree"]
        return total

    @property
    def out_degrees(self) -> NDArray[np.uint64]:
        """The edges that leave each vertex, shape (vertices,); as `degrees` if undirected."""
        return self["degree" if "degree" in self.columns else "out_degree"]

    @property
    def in_degrees(self) -> NDArray[np.uint64]:
        """The edges that lead to each vertex, shape (vertices,); as `degrees` if undirected."""
        return self["degree" if "degree" in self.columns else "in_degree"]


class Dfs(Result):
    """What a pseudo-DFS reached.

    Example:
        >>> found = g.dfs("bash")
        >>> found.reached.dtype, int(found.reached.sum())
        (dtype('bool'), 63554)
    """

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether each vertex can be reached: a mask, shape (vertices,)."""
        return self["reached"]


class LexicographicDfs(Result):
    """The order of a lexicographic depth-first search.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     found = friends.lexicographic_dfs("bob")
        >>> found.orders
        array([1, 0, 2], dtype=uint32)
        >>> found.parents.tolist(), found.finishes.tolist()
        ([1, 1, 1], [0, 2, 1])
    """

    @property
    def orders(self) -> NDArray[np.uint32]:
        """Preorder numbers, `UNREACHED` of a vertex that was not visited; shape (vertices,)."""
        return self["order"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none; shape (vertices,)."""
        return self["parent"]

    @property
    def finishes(self) -> NDArray[np.uint32]:
        """Postorder numbers, `UNREACHED` where there is none; shape (vertices,)."""
        return self["finish"]


class Hyperball(Result):
    """Estimates of distances: of each vertex, and of the graph.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     found = friends.hyperball(registers=4096)
        ...     found.harmonic.round(2), found.closeness.round(2), found.reachable.round(2)
        (array([1.5 , 1.99, 1.5 ]), array([0.67, 1.  , 0.67]), array([2.99, 2.99, 2.99]))
        >>> found.neighborhood.round(2), round(found.effective_diameter, 2)
        (array([3.  , 6.99, 8.98]), 1.55)
        >>> round(found.average_distance, 2)
        1.33
    """

    @property
    def harmonic(self) -> NDArray[np.float64]:
        """Harmonic centrality of each vertex, shape (vertices,); computed when it is first read."""
        return self["harmonic"]

    @property
    def closeness(self) -> NDArray[np.float64]:
        """Closeness of each vertex, as NetworkX defines it, shape (vertices,).

        It is computed when it is first read.
        """
        return self["closeness"]

    @property
    def reachable(self) -> NDArray[np.float64]:
        """How many vertices reach each vertex, itself included, shape (vertices,).

        It is computed when it is first read.
        """
        return self["reachable"]

    @property
    def neighborhood(self) -> NDArray[np.float64]:
        """The ordered pairs of vertices at most 0, 1, 2.. edges apart, shape (distances,)."""
        return np.array(self.summary["neighborhood"])

    @property
    def effective_diameter(self) -> float:
        """The distance in edges within which 90% of the pairs with a path lie, interpolated."""
        return float(self.summary["effective_diameter"])

    @property
    def average_distance(self) -> float | None:
        """The average distance in edges of pairs of different vertices with a path, if any."""
        distance: float | None = self.summary["average_distance"]
        return distance


class Kcore(Result):
    """Core numbers, or the members of one k-core.

    Example:
        >>> cores = g.kcore().cores
        >>> cores.dtype, int(cores.max()), int(cores[g.vertex_of("bash")])
        (dtype('uint32'), 29, 7)
        >>> bool((g.kcore(k=10).members == (cores >= 10)).all())
        True
    """

    @property
    def cores(self) -> NDArray[np.uint32]:
        """The core number of each vertex, shape (vertices,).

        Raises:
            AttributeError: the run was with `k`.
        """
        return self._given_by("core", "without `k`")

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whether each vertex is in the k-core: a mask, shape (vertices,).

        Raises:
            AttributeError: the run was without `k`.
        """
        return self._given_by("member", "with `k`")


class Lcc(Result):
    """Local clustering coefficients.

    Example:
        >>> edges = [("ada", "bob"), ("bob", "cem"), ("cem", "ada"), ("cem", "dil")]
        >>> report = cenote.import_graph(edges, "triangle.cenote")
        >>> with cenote.open("triangle.cenote") as triangle:
        ...     triangle.lcc().coefficients.round(2)
        array([1.  , 1.  , 0.33, 0.  ])
    """

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The coefficient of each vertex, 0 to 1, shape (vertices,); computed when first read."""
        return self["lcc"]


class Mis(Result):
    """A maximal independent set.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     found = friends.mis()
        >>> found.members, found.size
        (array([ True, False,  True]), 2)
    """

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whether each vertex is in the set: a mask, shape (vertices,)."""
        return self["member"]

    @property
    def size(self) -> int:
        """Vertices in the set."""
        return int(self.summary["size"])


class Msf(Result):
    """The edges of a minimum spanning forest: a row each, not one for each vertex.

    Example:
        >>> edges = [("ada", "bob", 2), ("bob", "cem", 1), ("ada", "cem", 5)]
        >>> report = cenote.import_graph(edges, "roads.cenote", weights="u32")
        >>> with cenote.open("roads.cenote") as roads:
        ...     forest = roads.msf()
        >>> forest.sources, forest.targets, forest.weights
        (array([0, 1], dtype=uint32), array([1, 2], dtype=uint32), array([2, 1], dtype=uint64))
        >>> forest.weight
        3
    """

    @property
    def sources(self) -> NDArray[np.uint32]:
        """The end with the smaller id of each edge, by the number of the vertex; shape (edges,)."""
        return self["source"]

    @property
    def targets(self) -> NDArray[np.uint32]:
        """The end with the larger id, shape (edges,)."""
        return self["target"]

    @property
    def weights(self) -> NDArray[Any]:
        """The weight of each edge, shape (edges,): `float64`, of integers `uint64` or `int64`."""
        return self["weight"]

    @property
    def weight(self) -> float:
        """The sum of the weights, an integer where they are integers."""
        weight: float = self.summary["weight"]
        return weight


class PageRank(Result):
    """Ranks.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     friends.pagerank(tolerance=1e-9).ranks.round(3)
        array([0.257, 0.486, 0.257])
    """

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The rank of each vertex, shape (vertices,); they sum to 1."""
        return self["rank"]


class Ppr(Result):
    """Vertices of highest personalised PageRank: rows by seed, highest rank first.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     near = friends.ppr(["ada", "cem"], top_k=2)
        >>> near.seeds.tolist(), near.vertices.tolist(), near.ranks.round(3)
        ([0, 0, 2, 2], [1, 0, 1, 2], array([0.459, 0.345, 0.459, 0.345]))
    """

    @property
    def seeds(self) -> NDArray[np.uint32]:
        """The seed of each row, by the number of the vertex; shape (rows,)."""
        return self["seed"]

    @property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertex of each row, by its number; shape (rows,)."""
        return self["vertex"]

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The rank of each row, shape (rows,)."""
        return self["rank"]


class Reach(Result):
    """Whether targets can be reached; no value per vertex.

    Example:
        >>> found = g.reach("bash", ["libc6", "vim"])
        >>> bool(found), found.columns, found.summary["reachable"]
        (True, [], True)
    """

    def __bool__(self) -> bool:
        """Whether all targets can be reached."""
        return bool(self.summary["reachable"])


class Similar(Result):
    """Similarities: a row for each pair, or for each of the most similar vertices of a source.

    Example:
        >>> near = g.similar("bash", top=3)
        >>> near.sources.shape, near.ids()[near.targets].tolist(), near.scores.round(3)
        ((3,), ['dialog', 'w3m', 's-nail'], array([0.111, 0.108, 0.094]))
    """

    @property
    def sources(self) -> NDArray[np.uint32]:
        """The number of the source of each row, or of the first of its pair; shape (rows,)."""
        return self["source"]

    @property
    def targets(self) -> NDArray[np.uint32]:
        """The other vertex of each row, by its number; shape (rows,)."""
        return self["target"]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The similarity of each row, shape (rows,)."""
        return self["score"]


class Sssp(Result):
    """Distances over weighted edges.

    Example:
        >>> edges = [("ada", "bob", 2), ("bob", "cem", 1), ("ada", "cem", 5)]
        >>> report = cenote.import_graph(edges, "roads.cenote", weights="u32")
        >>> with cenote.open("roads.cenote") as roads:
        ...     search = roads.sssp("ada", parents=True)
        >>> search.distances, search.parents
        (array([0, 2, 3], dtype=uint64), array([0, 0, 1], dtype=uint32))
    """

    @property
    def distances(self) -> NDArray[np.uint64] | NDArray[np.float64]:
        """The distance of each vertex in the unit of the weights, shape (vertices,).

        Of integer weights `uint64`, 2**64 - 1 where there is no path; else `float64`, NaN where
        there is none.
        """
        return self["distance"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none; shape (vertices,).

        Raises:
            AttributeError: the run was without `parents=True`.
        """
        return self._given_by("parent", "with `parents=True`")


class Triangles(Result):
    """The number of triangles.

    Example:
        >>> found = g.triangles(per_vertex=True)
        >>> found.triangles, found.counts.dtype, int(found.counts[g.vertex_of("bash")])
        (413127, dtype('uint64'), 7)
    """

    @property
    def triangles(self) -> int:
        """Triangles of the graph."""
        return int(self.summary["triangles"])

    @property
    def counts(self) -> NDArray[np.uint64]:
        """Triangles of each vertex, shape (vertices,).

        Raises:
            AttributeError: the run was without `per_vertex=True`.
        """
        return self._given_by("triangles", "with `per_vertex=True`")


class Walks(Result):
    """What random walks did; the walks themselves are in the file that was given as `out`.

    Example:
        >>> with cenote.open("friends.cenote") as friends:
        ...     friends.walk(source="ada", walkers=2, steps=4, out="walks.txt").summary["steps"]
        8
        >>> print(open("walks.txt").read(), end="")
        ada bob cem bob cem
        ada bob cem bob ada
    """
