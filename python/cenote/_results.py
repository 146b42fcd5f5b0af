"""Answers of runs: a class each, with its arrays and figures by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Betweenness(Result):
    """Betweenness centrality."""

    @property
    def betweenness(self) -> NDArray[np.float64]:
        """The betweenness of each vertex; computed when it is first read, 8 bytes a vertex."""
        return self["betweenness"]


class Bfs(Result):
    """Levels and parents of a breadth-first search."""

    @property
    def levels(self) -> NDArray[np.uint32]:
        """The least number of edges from a source, `UNREACHED` where there is no path."""
        return self["level"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none; with `parents=True`."""
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
    """A label of each vertex: a vertex whose id names the group."""

    @property
    def labels(self) -> NDArray[np.uint32]:
        """The number of the vertex that names the group of each vertex."""
        return self[self.columns[0]]


class Components(Labels):
    """Components, named by their smallest id."""

    @property
    def components(self) -> int:
        """Number of components."""
        return int(self.summary["components"])

    @property
    def largest(self) -> int:
        """Vertices in the largest."""
        return int(self.summary["largest"])


class Communities(Labels):
    """Communities."""

    @property
    def communities(self) -> int:
        """Number of communities."""
        return int(self.summary["communities"])


class ModularityCommunities(Communities):
    """Communities of high modularity."""

    @property
    def modularity(self) -> float:
        """Their modularity, by the resolution that was given."""
        return float(self.summary["modularity"])


class Degrees(Result):
    """Degrees."""

    @property
    def degrees(self) -> NDArray[np.uint64]:
        """The number of edges of each vertex; on a directed graph the sum of both degrees."""
        if "degree" in self.columns:
            return self["degree"]
        total: NDArray[np.uint64] = self["out_degree"] + self["in_degree"]
        return total

    @property
    def out_degrees(self) -> NDArray[np.uint64]:
        """The edges that leave each vertex; as `degrees` on an undirected graph."""
        return self["degree" if "degree" in self.columns else "out_degree"]

    @property
    def in_degrees(self) -> NDArray[np.uint64]:
        """The edges that lead to each vertex; as `degrees` on an undirected graph."""
        return self["degree" if "degree" in self.columns else "in_degree"]


class Dfs(Result):
    """What a pseudo-DFS reached."""

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether each vertex can be reached: a mask."""
        return self["reached"]


class LexicographicDfs(Result):
    """The order of a lexicographic depth-first search."""

    @property
    def orders(self) -> NDArray[np.uint32]:
        """Preorder numbers, `UNREACHED` where a vertex was not visited."""
        return self["order"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none."""
        return self["parent"]

    @property
    def finishes(self) -> NDArray[np.uint32]:
        """Postorder numbers, `UNREACHED` where there is none."""
        return self["finish"]


class Hyperball(Result):
    """Estimates of distances: of each vertex, and of the graph."""

    @property
    def harmonic(self) -> NDArray[np.float64]:
        """Harmonic centrality of each vertex; computed when it is first read."""
        return self["harmonic"]

    @property
    def closeness(self) -> NDArray[np.float64]:
        """Closeness of each vertex, as NetworkX defines it; computed when it is first read."""
        return self["closeness"]

    @property
    def reachable(self) -> NDArray[np.float64]:
        """How many vertices reach each vertex, itself included; computed when it is first read."""
        return self["reachable"]

    @property
    def neighborhood(self) -> NDArray[np.float64]:
        """The ordered pairs of vertices at distance 0, 1, 2.. at most."""
        return np.array(self.summary["neighborhood"])

    @property
    def effective_diameter(self) -> float:
        """The distance within which 90% of the pairs with a path lie, interpolated."""
        return float(self.summary["effective_diameter"])

    @property
    def average_distance(self) -> float | None:
        """The average distance of pairs of different vertices with a path, if there are any."""
        distance: float | None = self.summary["average_distance"]
        return distance


class Kcore(Result):
    """Core numbers, or the members of one k-core."""

    @property
    def cores(self) -> NDArray[np.uint32]:
        """The core number of each vertex; not if `k` was given."""
        return self._given_by("core", "without `k`")

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whether each vertex is in the k-core: a mask; only if `k` was given."""
        return self._given_by("member", "with `k`")


class Lcc(Result):
    """Local clustering coefficients."""

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The coefficient of each vertex, 0 to 1; computed when it is first read."""
        return self["lcc"]


class Mis(Result):
    """A maximal independent set."""

    @property
    def members(self) -> NDArray[np.bool_]:
        """Whether each vertex is in the set: a mask."""
        return self["member"]

    @property
    def size(self) -> int:
        """Vertices in the set."""
        return int(self.summary["size"])


class Msf(Result):
    """The edges of a minimum spanning forest: a row each, not one for each vertex."""

    @property
    def sources(self) -> NDArray[np.uint32]:
        """The end with the smaller id of each edge, by the number of the vertex."""
        return self["source"]

    @property
    def targets(self) -> NDArray[np.uint32]:
        """The end with the larger id."""
        return self["target"]

    @property
    def weights(self) -> NDArray[Any]:
        """The weight of each edge: `float64`, or an integer where weights are integers."""
        return self["weight"]

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        weight: float = self.summary["weight"]
        return weight


class PageRank(Result):
    """Ranks."""

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The rank of each vertex; they sum to 1."""
        return self["rank"]


class Ppr(Result):
    """Vertices of highest personalised PageRank: rows by seed, highest rank first."""

    @property
    def seeds(self) -> NDArray[np.uint32]:
        """The seed of each row, by the number of the vertex."""
        return self["seed"]

    @property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertex of each row, by its number."""
        return self["vertex"]

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The rank of each row."""
        return self["rank"]


class Reach(Result):
    """Whether targets can be reached; no value per vertex."""

    def __bool__(self) -> bool:
        """Whether all targets can be reached."""
        return bool(self.summary["reachable"])


class Similar(Result):
    """Similarities: a row for each pair, or for each of the most similar vertices of a source."""

    @property
    def sources(self) -> NDArray[np.uint32]:
        """The source of each row, or the first vertex of its pair, by the number of the vertex."""
        return self["source"]

    @property
    def targets(self) -> NDArray[np.uint32]:
        """The other vertex of each row."""
        return self["target"]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The similarity of each row."""
        return self["score"]


class Sssp(Result):
    """Distances over weighted edges."""

    @property
    def distances(self) -> NDArray[np.uint64] | NDArray[np.float64]:
        """The distance of each vertex in the unit of the weights.

        Of integer weights `uint64`, 2**64 - 1 where there is no path; else `float64`, NaN where
        there is none.
        """
        return self["distance"]

    @property
    def parents(self) -> NDArray[np.uint32]:
        """The number of the vertex before, `UNREACHED` where there is none; with `parents=True`."""
        return self._given_by("parent", "with `parents=True`")


class Triangles(Result):
    """The number of triangles."""

    @property
    def triangles(self) -> int:
        """Triangles of the graph."""
        return int(self.summary["triangles"])

    @property
    def counts(self) -> NDArray[np.uint64]:
        """Triangles of each vertex; only with `per_vertex=True`."""
        return self._given_by("triangles", "with `per_vertex=True`")


class Walks(Result):
    """What random walks did; the walks themselves are in the file that was given as `out`."""
