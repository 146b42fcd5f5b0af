"""Imports: builds graph files from files, tables, arrays, graphs and iterables."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from . import _cenote
from ._options import Memory, OnProgress, PathLike, given, listener
from ._values import values_of
from .errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 1 << 16
"""Rows that go to the native part at a time."""

Chunk: TypeAlias = "list[Any] | tuple[tuple[str, bytes], ...]"


def import_graph(
    edges: Any,
    out: PathLike,
    /,
    *,
    directed: bool | None = None,
    in_edges: bool = False,
    weights: Literal["f32", "f64", "u32", "i64"] | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    format: str | None = None,
    header: bool | None = None,
    vertices: Any = None,
    values: Any = None,
    keep_duplicates: bool = False,
    keep_self_loops: bool = False,
    ids: Literal["auto", "integer", "string"] = "auto",
    order: Literal["natural", "degree", "bfs", "random", "auto"] = "natural",
    seed: int = 1,
    memory: Memory = "1GiB",
    page_bytes: int = 4096,
    free_space: int = 0,
    codec: Literal["raw", "packed"] = "raw",
    hub_neighbours: bool | Literal["auto"] = "auto",
    threads: int | None = None,
    overwrite: bool = False,
    temp_dir: PathLike | None = None,
    tiers: Sequence[str] | None = None,
    tier_policy: str | None = None,
    tier_block: Memory | None = None,
    report: PathLike | None = None,
    progress: OnProgress = False,
) -> dict[str, Any]:
    """Builds the graph file `out` from edges, within a memory budget.

    Args:
        edges: a path, a pattern such as `"parts/*.parquet"`, or several of them; a table of pandas,
            Polars, pyarrow or any object with `__arrow_c_stream__` or `__arrow_c_array__`; a sparse
            matrix of SciPy, whose entries are the edges; a graph of NetworkX; an array of shape
            (n, 2) or (n, 3); a tuple of two or three arrays of length n; or an iterable of
            `(source, target)` or `(source, target, weight)`. They are read once, in parts.
        out: the graph file. It gets its name when it is complete.
        directed: whether edges lead from source to target [as a NetworkX graph says, else no].
        in_edges: also store the in-edges of a directed graph.
        weights: store weights as this type [`"f64"` if `weight` is given, else no weights]. A
            repeated edge keeps its smallest weight.
        source, target, weight: columns, by name or by number from 1, where there are more than two;
            for NetworkX `weight` is the attribute [`"weight"`].
        format: of files whose ending does not say it, such as `"edges"` or `"csv"`.
        header: whether the first line of CSV and TSV names the columns [found out].
        vertices: a path, or ids, of vertices that may have no edge. A file has an id a line, and
            behind it its value if it has one.
        values: the values of vertices: a mapping of ids to numbers, a tuple of two arrays, of ids
            and of numbers, or a table with two such columns, read once in parts. Integers are
            stored as `i64`, those without a sign as `u64`, floats as `f64`; the integers of a
            mapping as `u64` if none is negative. A null is no value; of several values of an id the
            last one counts. Or of a file of vertices the type of its values, `"u64"`, `"i64"` or
            `"f64"` [the first that holds the first value].
        keep_duplicates, keep_self_loops: store repeated edges, and edges from a vertex to itself.
        ids: the kind of ids [integers if all of them are].
        order: the order of the vertices in the file; `seed` is that of `"random"`. `"auto"` takes
            `"natural"` or `"degree"`, whichever makes many passes over all edges faster by a sample
            of the edges.
        memory: the budget, in bytes or as text such as `"512MiB"` or `"25%"` of the machine's.
        page_bytes: of the graph file, a power of two from 4,096 to 65,536.
        free_space: percent of each page of lists that stay free, 0 to 50: when changes are merged,
            lists grow into it before pages are split.
        codec: the encoding of lists.
        hub_neighbours: whether to store the neighbours of largest degree of each vertex.
        threads: worker threads [one per core].
        overwrite: replace the graph file if it exists.
        temp_dir: folder of temporary files [that of `out`].
        tiers, tier_policy, tier_block: spread the graph over drives: `"NAME=FOLDER:CAPACITY"` each.
        report: a file that ends with `.html`: what the import did over time, as one page.
        progress: see `cenote.Progress`.

    Returns:
        Counts and times: `vertices`, `edges`, `duplicates`, `self_loops`, `seconds` and others.

    Raises:
        InvalidInput: an option or a row is wrong; the message names it.
        UnknownVertex: a value of an id that is no vertex.
        MemoryBudget: the budget is too small; the message says what would do.
        FileError: a file cannot be read or written. After any error nothing is left behind.

    Example:
        >>> report = cenote.import_graph([("ada", "bob"), ("bob", "cem")], "friends.cenote")
        >>> report["vertices"], report["edges"]
        (3, 2)
        >>> ages = {"ada": 36, "cem": 41.5}
        >>> report = cenote.import_graph([("ada", "bob"), ("bob", "cem")], "a.cenote", values=ages)
        >>> with cenote.open("a.cenote") as aged:
        ...     aged.value("ada"), aged.value("bob")
        (36.0, None)
    """
    weights = weights or ("f64" if weight is not None else None)
    inputs = list(inputs_of(edges, weights, weight))
    inputs += vertices_of(vertices)
    if directed is None:
        directed = _is_networkx(edges) and edges.is_directed()
    options = given(
        directed=bool(directed),
        in_edges=in_edges,
        weights=weights,
        source=source,
        target=target,
        weight=weight,
        format=format,
        header=header,
        values=values if isinstance(values, str) else None,
        vertex_values=None if isinstance(values, str) else values_of(values),
        keep_duplicates=keep_duplicates,
        keep_self_loops=keep_self_loops,
        ids=ids,
        order=order,
        seed=seed,
        memory=memory,
        page_bytes=page_bytes,
        free_space=free_space,
        codec=codec,
        hub_neighbours=hub_neighbours,
        threads=threads,
        overwrite=overwrite,
        temp_dir=temp_dir,
        tiers=None if tiers is None else list(tiers),
        tier_policy=tier_policy,
        tier_block=tier_block,
        report=report,
    )
    found: dict[str, Any] = json.loads(
        _cenote.import_graph(inputs, out, options, listener(progress))
    )
    return found


def inputs_of(
    edges: Any, weights: str | None, weight: str | int | None
) -> Iterator[tuple[str, Any]]:
    """The inputs for the native part: what each is, and it."""
    if _is_path(edges):
        yield from (("path", path) for path in _paths(edges))
    elif _is_networkx(edges):
        attribute = "weight" if weight is None else weight
        rows = edges.edges(data=attribute) if weights else edges.edges()
        yield "rows", _chunks(rows)
        yield from vertices_of([vertex for vertex, degree in edges.degree() if degree == 0])
    elif hasattr(edges, "tocoo"):
        yield "rows", _of_matrix(edges, weights)
        yield "range", edges.shape[0]
    elif hasattr(edges, "__arrow_c_stream__") or hasattr(edges, "__arrow_c_array__"):
        yield "arrow", edges
    elif isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            reason = f"an array of edges has the shape (n, 2) or (n, 3), not {edges.shape}"
            raise InvalidInput(reason)
        yield "rows", _of_columns([edges[:, at] for at in range(edges.shape[1])], weights)
    elif _is_columns(edges):
        yield "rows", _of_columns(list(edges), weights)
    elif isinstance(edges, list | tuple) and edges and all(map(_is_path, edges)):
        yield from (("path", path) for part in edges for path in _paths(part))
    elif isinstance(edges, Iterable):
        yield "rows", _chunks(edges)
    else:
        kind = type(edges).__name__
        remedy = ": collect() it, or give the path of its file" if hasattr(edges, "collect") else ""
        raise TypeError(f"a {kind} is no source of edges{remedy}")


def vertices_of(vertices: Any) -> list[tuple[str, Any]]:
    if vertices is None:
        return []
    if _is_path(vertices):
        return [("vertices_path", vertices)]
    found = [int(v) if isinstance(v, np.integer) else v for v in vertices]
    return [("vertices", found)] if found else []


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_networkx(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("edges", "nodes", "degree", "is_directed"))


def _is_columns(value: Any) -> bool:
    """Whether it is a tuple of arrays, each a column."""
    return (
        isinstance(value, tuple)
        and len(value) in (2, 3)
        and all(isinstance(column, np.ndarray) and column.ndim == 1 for column in value)
    )


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


def _of_columns(columns: list[NDArray[Any]], weights: str | None) -> Iterator[Chunk]:
    """Parts of columns of equal length."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InvalidInput(f"the columns of edges have different lengths: {sorted(lengths)}")
    if weights is None:
        columns = columns[:2]
    elif len(columns) < 3:
        raise InvalidInput("`weights` needs a third column")
    has_names = any(column.dtype.kind not in "iuf" for column in columns)
    for start in range(0, lengths.pop(), ROWS):
        parts = [column[start : start + ROWS] for column in columns]
        if has_names:
            yield list(zip(*(part.tolist() for part in parts), strict=True))
        else:
            yield tuple(
                _words(part, is_id) for part, is_id in zip(parts, (True, True, False), strict=False)
            )


def _words(part: NDArray[Any], is_id: bool) -> tuple[str, bytes]:
    """The type and the bytes of a part of a column."""
    kind = part.dtype.kind
    if kind == "f" and is_id:
        raise InvalidInput(f"a column of ids has the type {part.dtype}: expected integers")
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
