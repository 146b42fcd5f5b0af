"""Sources of edges, for imports and for what is found without one: their kinds and parts.

A tuple of two or three arrays is columns. Other tuples and iterables are rows, or tables that are
parts of one.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._options import PathLike

ROWS = 1 << 16
"""Rows that go to the native part at a time."""

Chunk: TypeAlias = "list[Any] | tuple[tuple[str, bytes], ...]"
Input: TypeAlias = "tuple[str, Any]"
"""What an input for the native part is, and it."""

COLUMNS = (
    "for columns give a tuple of arrays, for rows a list of tuples or an array of shape (n, 2)"
)


def inputs_of(edges: Any, weights: str | None, weight: str | int | None) -> Iterator[Input]:
    """The inputs for the native part."""
    if _is_path(edges):
        yield from (("path", path) for path in _paths(edges))
    elif is_networkx(edges):
        yield "rows", _chunks(_of_networkx(edges, weights, weight))
        yield from vertices_of([vertex for vertex, degree in edges.degree() if degree == 0])
    elif hasattr(edges, "tocoo"):
        yield "rows", _of_matrix(edges, weights)
        yield "range", edges.shape[0]
    elif isinstance(edges, np.ndarray):
        yield "rows", _of_array(edges, weights)
    elif _is_arrow(edges):
        if _is_column(edges):
            kind = type(edges).__name__
            raise InvalidInput(
                f"edges: a {kind} is one column of ids, and edges have two: {COLUMNS}"
            )
        yield ("rows", iter(())) if _is_untyped(edges) else ("arrow", edges)
    elif isinstance(edges, list | tuple) and edges and all(map(_is_path, edges)):
        yield from (("path", path) for part in edges for path in _paths(part))
    elif _are_columns(edges):
        yield "rows", _of_columns([_column(column) for column in edges], weights)
    elif hasattr(edges, "iter_batches"):
        yield "tables", iter(edges.iter_batches())
    elif _is_dataset(edges):
        yield "tables", iter(edges.to_batches())
    elif isinstance(edges, Iterable):
        yield _of_iterable(edges)
    else:
        kind = type(edges).__name__
        remedy = ": collect() it, or give the path of its file" if hasattr(edges, "collect") else ""
        raise TypeError(f"a {kind} is no source of edges{remedy}")


def vertices_of(vertices: Any) -> list[Input]:
    """The input of vertices that may have no edge."""
    if vertices is None:
        return []
    if _is_path(vertices):
        return [("vertices_path", vertices)]
    if isinstance(vertices, bytes | bytearray):
        raise TypeError(f"vertices: {vertices!r} is bytes: decode() it for a path, or give a list")
    # Of pyarrow, each may be a scalar.
    plain = (v.as_py() if hasattr(v, "as_py") else v for v in vertices)
    found = [int(v) if isinstance(v, np.integer) else v for v in plain]
    if any(isinstance(v, bool) for v in found):
        raise InvalidInput("vertices: expected integers from 0 to 2^64 - 1, or strings, not bool")
    return [("vertices", found)] if found else []


def is_networkx(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("edges", "nodes", "degree", "is_directed"))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _is_untyped(table: Any) -> bool:
    """Whether it is a table without rows, of pandas or Polars, whose columns have no type: pandas
    makes floats of them."""
    kinds = [getattr(dtype, "kind", str(dtype)) for dtype in getattr(table, "dtypes", ())]
    return bool(kinds) and {"f", "Null"}.issuperset(kinds) and len(table) == 0


def _is_dataset(value: Any) -> bool:
    """Whether it is a dataset of pyarrow, or a scan of one."""
    return hasattr(value, "to_batches") and hasattr(value, "head")


def _is_column(value: Any) -> bool:
    """Whether it is an array or series of one dimension: of NumPy, pandas, Polars, pyarrow."""
    if isinstance(value, Sequence) or not hasattr(value, "__len__"):
        return False
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) == 1
    # Those of pyarrow have no shape, and neither have its structs, which are tables.
    return _is_arrow(value) and getattr(getattr(value, "type", None), "num_fields", None) == 0


def _are_columns(value: Any) -> bool:
    """Whether it is a tuple of columns. What may be columns or rows is refused."""
    if not isinstance(value, list | tuple) or len(value) not in (2, 3):
        return False
    has_columns = any(map(_is_column, value))
    is_unclear = isinstance(value, tuple) and all(isinstance(part, list) for part in value)
    if is_unclear or (has_columns and isinstance(value, list)):
        outer, inner = type(value).__name__, type(value[0]).__name__
        raise InvalidInput(
            f"edges: a {outer} of {len(value)} {inner}s may be columns or rows: {COLUMNS}"
        )
    return has_columns


def _column(column: Any) -> NDArray[Any]:
    """A column as an array; what Python has in a list stays as it is, to be checked by row."""
    if _is_column(column):
        return np.asarray(column)
    if isinstance(column, list | tuple | range):
        return np.fromiter(column, dtype=object, count=len(column))
    kind = type(column).__name__
    raise InvalidInput(f"edges: a tuple with an array is one of columns: a {kind} is none")


def _of_iterable(edges: Iterable[Any]) -> Input:
    """Rows, or tables that are parts of one, as the first item says."""
    items = iter(edges)
    first = list(islice(items, 1))
    if first and _is_arrow(first[0]) and not _is_column(first[0]):
        return "tables", chain(first, items)
    return "rows", _chunks(chain(first, items))


def _of_networkx(
    graph: Any, weights: str | None, weight: str | int | None
) -> Iterable[tuple[Any, ...]]:
    """The edges; without the attribute of weights they have weight 1, as in NetworkX."""
    if not weights:
        rows: Iterable[tuple[Any, ...]] = graph.edges()
        return rows
    attribute = "weight" if weight is None else weight
    if weight is not None and not any(attribute in data for *_, data in graph.edges(data=True)):
        raise InvalidInput(f"weight is {weight!r}: no edge of the graph has this attribute")
    rows = graph.edges(data=attribute, default=1)
    return rows


def _paths(path: PathLike) -> list[str]:
    """The path, or those that a pattern matches, sorted."""
    name = os.fspath(path)
    if not glob.has_magic(name) or Path(name).exists():
        return [name]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise InvalidInput(f"{name}: no file matches this pattern")
    return found


def _chunks(rows: Iterable[Any]) -> Iterator[Chunk]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, ROWS)):
        yield chunk


def _of_array(edges: NDArray[Any], weights: str | None) -> Iterator[Chunk]:
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        reason = f"an array of edges has the shape (n, 2) or (n, 3), not {edges.shape}"
        raise InvalidInput(reason)
    return _of_columns([edges[:, at] for at in range(edges.shape[1])], weights)


def _of_columns(columns: list[NDArray[Any]], weights: str | None) -> Iterator[Chunk]:
    """Parts of columns of equal length."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidInput(f"the columns of edges have different lengths: {sorted(lengths)}")
    if weights is None:
        columns = columns[:2]
    elif len(columns) < 3:
        raise InvalidInput("`weights` needs a third column")
    length = lengths.pop()
    if length:
        for column, is_id in zip(columns, (True, True, False), strict=False):
            _check_type(column.dtype, is_id)
    has_names = any(column.dtype.kind not in "iuf" for column in columns)
    for start in range(0, length, ROWS):
        parts = [column[start : start + ROWS] for column in columns]
        if has_names:
            yield list(zip(*(part.tolist() for part in parts), strict=True))
        else:
            yield tuple(map(_words, parts))


def _check_type(dtype: np.dtype[Any], is_id: bool) -> None:
    kind = dtype.kind
    if is_id and kind not in "iuOUT":
        hint = '; ids with nulls become floats: drop the nulls, then `astype("Int64")`'
        hint = hint if kind == "f" else ""
        raise InvalidInput(
            f"a column of ids has the type {dtype}: expected integers or strings{hint}"
        )
    if not is_id and kind not in "iufbO":
        raise InvalidInput(f"a column of weights has the type {dtype}: expected numbers")


def _words(part: NDArray[Any]) -> tuple[str, bytes]:
    """The type and the bytes of a part of a column."""
    kind = part.dtype.kind
    return f"{kind}8", part.astype(f"<{kind}8", copy=False).tobytes()


def _of_matrix(matrix: Any, weights: str | None) -> Iterator[Chunk]:
    """The entries of a sparse matrix, in parts of whole rows where it is stored by rows."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInput(f"the matrix of a graph is square, not of shape {matrix.shape}")
    if matrix.format != "csr":
        entries = matrix.tocoo()
        return _of_columns([*entries.coords, entries.data], weights)
    return _of_rows(matrix, weights)


def _of_rows(matrix: Any, weights: str | None) -> Iterator[Chunk]:
    ends = matrix.indptr
    for start in range(0, int(ends[-1]), ROWS):
        end = min(start + ROWS, int(ends[-1]))
        # The row of an entry is the last that begins at it or before.
        sources = np.searchsorted(ends, np.arange(start, end), side="right") - 1
        yield from _of_columns(
            [sources, matrix.indices[start:end], matrix.data[start:end]], weights
        )
