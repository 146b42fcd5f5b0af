"""Features of vertices: a row of numbers for each, in a file beside the graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _cenote
from ._options import PathLike, warn
from ._visit import array_of, numbers
from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART_BYTES = 4 << 20
"""Bytes of rows that go to the native part at a time, at least one row."""


class Features:
    """An open file of features: `x[vertices]` is an array of shape (vertices, columns).

    The vertices are an array of numbers, a mask or a slice; one number gives one row.

    The pages of the rows are read with many requests in flight, adjacent pages in one request, past
    the page cache of the system. Memory is that of the array, and at most 16 MiB for each thread
    that fetches. It stays open when the graph is closed.

    Example:
        >>> size = g.write_features("x.features", np.eye(3, dtype=np.float32)[g.degree() % 3])
        >>> x = g.features("x.features")
        >>> x.path, x.shape, x.dtype
        ('x.features', (64245, 3), dtype('float32'))
        >>> x[g.vertex_of("bash")], x[:100].shape, x[g.degree() > 1000].shape
        (array([1., 0., 0.], dtype=float32), (100, 3), (21, 3))
    """

    def __init__(self, graph: _cenote.Graph, path: PathLike) -> None:
        self.path = os.fspath(path)
        self._native = _cenote.Features.open(graph, path)
        warn(self._native.warnings())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, one for each vertex when it was written, and columns."""
        return self._native.rows, self._native.columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return np.dtype(self._native.dtype)

    def __len__(self) -> int:
        """The number of rows."""
        return self._native.rows

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Features({self.path!r}, {rows:,} rows of {columns} {self.dtype})"

    def fetch(self, vertices: NDArray[Any] | Iterable[int]) -> NDArray[Any]:
        """The rows of vertices, by their numbers, in the given order: shape (vertices, columns).

        A mask of all rows gives those of its vertices, in order.

        Raises:
            InvalidInput: a vertex without a row.
            CorruptGraph: a page is damaged; the message names it.

        Example:
            >>> size = g.write_features("ids.features", np.arange(g.array_length))
            >>> g.features("ids.features").fetch([5, 2, 5]).ravel().tolist()
            [5, 2, 5]
        """
        given = array_of(vertices)
        if given.dtype == bool:
            given = self._masked(given)
        found = np.asarray(self._native.fetch(numbers(given, "vertices", len(self))))
        return found.view(self.dtype).reshape(len(given), self.shape[1])

    def _masked(self, mask: NDArray[Any]) -> NDArray[Any]:
        """The numbers of the vertices in a mask."""
        if mask.shape != (len(self),):
            reason = f"vertices has the shape {mask.shape}"
            raise InvalidInput(f"{reason}: expected a boolean for each of {len(self)} rows")
        return np.flatnonzero(mask)

    @overload
    def __getitem__(self, vertices: int | np.integer[Any]) -> NDArray[Any]: ...

    @overload
    def __getitem__(self, vertices: slice | NDArray[Any] | Iterable[int]) -> NDArray[Any]: ...

    def __getitem__(
        self, vertices: int | np.integer[Any] | slice | NDArray[Any] | Iterable[int]
    ) -> NDArray[Any]:
        """As `fetch`; also of a slice, and of one vertex its row of shape (columns,)."""
        if isinstance(vertices, slice):
            return self.fetch(np.arange(*vertices.indices(len(self))))
        if isinstance(vertices, int | np.integer):
            row: NDArray[Any] = self.fetch(np.array([vertices]))[0]
            return row
        return self.fetch(vertices)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """The rows, in order, which are fetched many at a time."""
        step = _rows_per_part(self.shape[1])
        for start in range(0, len(self), step):
            yield from self[start : start + step]


def write(graph: _cenote.Graph, path: PathLike, rows: Any, dtype: Any) -> int:
    """Writes rows to a file. Returns its bytes."""
    arrays = iter([rows]) if isinstance(rows, np.ndarray) else iter(rows)
    first = next(arrays, None)
    if first is None:
        raise InvalidInput("rows: no array: expected one for each vertex")
    first = _rows(first, None)
    wanted = np.dtype(first.dtype if dtype is None else dtype)
    columns = first.shape[1]
    writer = _cenote.FeatureWriter.create(graph, path, wanted.name, columns)
    try:
        for part in _parts(first, arrays, columns):
            _check(part, wanted)
            writer.push(np.ascontiguousarray(part, wanted.newbyteorder("<")).tobytes())
        return writer.finish()
    finally:
        writer.close()


def _parts(first: NDArray[Any], others: Iterator[Any], columns: int) -> Iterator[NDArray[Any]]:
    """Parts of arrays."""
    step = _rows_per_part(columns)
    array: NDArray[Any] | None = first
    while array is not None:
        for start in range(0, len(array), step):
            yield array[start : start + step]
        following = next(others, None)
        array = None if following is None else _rows(following, columns)


def _rows_per_part(columns: int) -> int:
    return max(1, PART_BYTES // (8 * columns))


def _check(part: NDArray[Any], wanted: np.dtype[Any]) -> None:
    """An error if a type does not hold the numbers of an array."""
    holds = np.can_cast(part.dtype, wanted, "same_kind")
    if holds and wanted.kind in "iu" and not np.can_cast(part.dtype, wanted) and part.size > 0:
        limits = np.iinfo(wanted)
        holds = limits.min <= int(part.min()) and int(part.max()) <= limits.max
    if not holds:
        raise InvalidInput(f"rows of {part.dtype}: {wanted} does not hold them: give another dtype")


def _rows(array: Any, columns: int | None) -> NDArray[Any]:
    """An array of rows."""
    found = np.asarray(array)
    found = found.reshape(-1, 1) if found.ndim == 1 else found
    if found.ndim != 2 or found.shape[1] != (columns or found.shape[1]) or found.shape[1] == 0:
        expected = "(vertices, columns)" if columns is None else f"(vertices, {columns})"
        raise InvalidInput(f"rows have the shape {np.shape(array)}: expected {expected}")
    return found
