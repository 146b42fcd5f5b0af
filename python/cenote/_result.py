"""What all answers of runs have.

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
    """The answer of a run: `answer[column]` are its values, by vertex; iterating gives columns.

    Example:
        >>> ranks = g.pagerank(memory="64MiB")
        >>> ranks.algorithm, ranks.columns, len(ranks)
        ('pagerank', ['rank'], 64245)
        >>> ranks["rank"].shape, ranks["rank"].dtype, ranks["vertex"][:3].tolist()
        ((64245,), dtype('float64'), [0, 1, 2])
        >>> ranks.summary["top"][0]["vertex"], ranks.stats["bytes_read"]
        ('libc6', 827392)
    """

    def __init__(self, native: _cenote.Answer) -> None:
        self._native = native

    @property
    def algorithm(self) -> str:
        """The algorithm."""
        return self._native.algorithm

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Statistics of the run: `seconds`, `bytes_read`, `peak_rss_bytes` and others."""
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
        """The values of a column, shape (vertices,); `"vertex"` are the numbers of all vertices.

        Raises:
            KeyError: the answer has no such column; `columns` are those that it has.
        """
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
        """The ids of all vertices: a `uint64` array of shape (vertices,), or strings for Arrow.

        They are read from the graph, and in memory as long as the returned object.

        Example:
            >>> ranks = g.pagerank()
            >>> ranks.ids()[ranks.ranks.argmax()]
            'libc6'
        """
        return ids_of(self._native.ids())

    def deleted(self) -> NDArray[np.uint32]:
        """The numbers of deleted vertices, ascending, shape (deleted,): their values mean nothing.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.delete_vertex("ada")
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.wcc().deleted()
            array([0], dtype=uint32)
        """
        return np.asarray(self._native.deleted())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, in batches of 65,536 rows."""
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The table in pyarrow: `vertex`, then the columns; a missing value is null.

        Raises:
            InvalidInput: the answer has no column.

        Example:
            >>> table = g.wcc().to_arrow()
            >>> table.num_rows, table.slice(1, 1).to_pylist()
            (64245, [{'vertex': '0ad-data', 'component': '0ad'}])
        """
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas.

        A missing value is NaN in a column of floats, and makes one of integers a column of floats.

        Example:
            >>> g.degrees().to_pandas().nlargest(2, "degree")
                       vertex  degree
            15548       libc6   21840
            39094  libstdc++6    7465
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table in Polars.

        Example:
            >>> g.degrees().to_polars().row(0, named=True)
            {'vertex': '0ad', 'degree': 25}
        """
        import polars

        return polars.DataFrame(self)

    def write(self, path: PathLike) -> int:
        """Writes the table as `.parquet`, `.csv` or `.npy`, streamed. Returns the bytes written.

        The file appears under its name when it is complete.

        Raises:
            InvalidInput: another ending, or `.npy` of a graph whose ids are strings.
            FileError: the file cannot be written.

        Example:
            >>> report = cenote.import_graph([(1, 2), (2, 3)], "numbers.cenote")
            >>> with cenote.open("numbers.cenote") as numbers:
            ...     bytes_written = numbers.bfs(1).write("levels.npy")
            >>> np.load("levels.npy")
            array([(1, 0), (2, 1), (3, 2)],
                  dtype=[('vertex', '<u8'), ('level', '<i8')])
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
        """Writes the table as Parquet, to a name that ends with `.parquet`.

        Returns the bytes written.

        Raises:
            InvalidInput: another ending.
            FileError: the file cannot be written.

        Example:
            >>> import pyarrow.parquet
            >>> bytes_written = g.bfs("bash").to_parquet("levels.parquet")
            >>> pyarrow.parquet.read_schema("levels.parquet").names
            ['vertex', 'level']
        """
        return self._write(path, ".parquet")

    def to_csv(self, path: PathLike) -> int:
        """Writes the table as CSV, to a name that ends with `.csv`.

        Returns the bytes written.

        Raises:
            InvalidInput: another ending.
            FileError: the file cannot be written.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.bfs("ada").to_csv("levels.csv")
            31
            >>> print(open("levels.csv").read(), end="")
            vertex,level
            ada,0
            bob,1
            cem,2
        """
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


def ids_of(native: _cenote.Array | _cenote.Strings) -> NDArray[np.uint64] | Strings:
    return Strings(native) if isinstance(native, _cenote.Strings) else np.asarray(native)


def id_list(native: _cenote.Array | _cenote.Strings) -> Ids:
    """Ids as an array of integers or a list of strings."""
    found = ids_of(native)
    return found.to_pylist() if isinstance(found, Strings) else found
