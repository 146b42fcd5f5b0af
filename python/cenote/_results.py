"""Answers of runs.

An array of an answer has one value for each vertex, by the number of the vertex: `ids()` are the
ids in the same order. It is a read-only NumPy view of the memory of the answer where that has it,
without a copy. As a table (`to_arrow()`, `to_pandas()`, `to_polars()`, `write()`) an answer has the
ids themselves, ascending, and no deleted vertices.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _cenote
from ._options import Ids, PathLike
from ._report import Report
from ._strings import Strings

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from numpy.typing import NDArray

UNREACHED = 2**32 - 1
"""In `levels`, of a vertex that was not reached, and in `parents`, of one without a parent."""


class Result:
    """The answer of a run: `answer[column]` are its values, by vertex; iterating gives columns."""

    def __init__(self, native: _cenote.Answer) -> None:
        self._native = native

    @property
    def algorithm(self) -> str:
        """The algorithm."""
        return self._native.algorithm

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Statistics of the run: seconds, bytes read, requests, memory and others."""
        stats: dict[str, Any] = json.loads(self._native.stats())
        return stats

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A summary of the result, as `cenote run --json` prints it."""
        summary: dict[str, Any] = json.loads(self._native.summary())
        return summary

    @property
    def columns(self) -> list[str]:
        """The names of the values of each vertex."""
        return self._native.columns()

    def __len__(self) -> int:
        """The length of each array: the number of vertices, deleted ones too."""
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.columns)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """The values of a column, by vertex; `"vertex"` are the numbers of all vertices."""
        if column in self.columns:
            found = np.asarray(self._native.values(column))
            # The native part has bytes for booleans alone.
            return found.view(bool) if found.dtype == np.uint8 else found
        if column == "vertex" and self.columns:
            return np.arange(len(self), dtype=np.uint32)
        columns = ", ".join(self.columns) or "none"
        raise KeyError(f"this answer of {self.algorithm} has no column {column!r}, only {columns}")

    def _given_by(self, column: str, option: str) -> NDArray[Any]:
        """The values of a column that a run has by an option."""
        if column in self.columns:
            return self[column]
        reason = f"this run of {self.algorithm} has no {column!r}: run it {option}"
        raise AttributeError(reason)

    def ids(self) -> NDArray[np.uint64] | Strings:
        """The ids of all vertices: a `uint64` array, or strings in Arrow's format.

        They are read from the graph, and in memory as long as the returned object.
        """
        return _ids(self._native.ids())

    def deleted(self) -> NDArray[np.uint32]:
        """The numbers of deleted vertices, whose values have no meaning."""
        return np.asarray(self._native.deleted())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, in batches of 65,536 rows."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The table in pyarrow: `vertex`, then the columns; a missing value is null."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table in Polars."""
        import polars

        return polars.DataFrame(self)

    def write(self, path: PathLike) -> int:
        """Writes the table as `.parquet`, `.csv` or `.npy`, streamed. Returns the bytes written.

        The file appears under its name when it is complete.
        """
        return self._native.write(path)

    @overload
    def report(self, path: PathLike) -> int: ...

    @overload
    def report(self) -> Report: ...

    def report(self, path: PathLike | None = None) -> int | Report:
        """A report to look at, written to a name that ends with `.html`. Returns the bytes written.

        Without a path it returns the page, which a notebook shows.

        It is one page without references to anything outside of it: a picture of the answer, the
        figures of the run, and of a run with `record=True` what bounded it, its timeline, its steps
        and the time of its reads. The file appears under its name when it is complete.

        Example:
            >>> ranks = g.pagerank(memory="64MiB", record=True)
            >>> ranks.report("ranks.html") > 10_000
            True
        """
        return Report(self._native.report_html()) if path is None else self._native.report(path)

    def to_parquet(self, path: PathLike) -> int:
        """Writes the table as Parquet, to a name that ends with `.parquet`."""
        return self._write(path, ".parquet")

    def to_csv(self, path: PathLike) -> int:
        """Writes the table as CSV, to a name that ends with `.csv`."""
        return self._write(path, ".csv")

    def _write(self, path: PathLike, ending: str) -> int:
        if not str(path).lower().endswith(ending):
            from .errors import InvalidInput

            raise InvalidInput(f"{path}: expected a name that ends with {ending}")
        return self.write(path)

    def _facts(self) -> dict[str, Any]:
        """What the representation shows."""
        facts = {
            key: value
            for key, value in self.summary.items()
            if value is not None and not isinstance(value, list)
        }
        return facts | {"seconds": round(self.stats["seconds"], 3)}

    def __repr__(self) -> str:
        facts = ", ".join(f"{key}={value!r}" for key, value in self._facts().items())
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        return html_table(f"{type(self).__name__}: {', '.join(self.columns)}", self._facts())


def html_table(caption: str, facts: dict[str, Any]) -> str:
    """Facts as a table for a notebook."""
    cells = (
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>"
        for key, value in facts.items()
    )
    return f"<table><caption>{html.escape(caption)}</caption>{''.join(cells)}</table>"


def _ids(native: _cenote.Array | _cenote.Strings) -> NDArray[np.uint64] | Strings:
    return Strings(native) if isinstance(native, _cenote.Strings) else np.asarray(native)


def id_list(native: _cenote.Array | _cenote.Strings) -> Ids:
    """Ids as an array of integers or a list of strings."""
    found = _ids(native)
    return found.to_pylist() if isinstance(found, Strings) else found


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
