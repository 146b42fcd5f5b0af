"""Components and degrees straight from edges, without a graph file."""

from __future__ import annotations

from typing import Any, Literal

from . import _cenote
from ._options import Memory, OnProgress, PathLike, given, listener
from ._results import Components, Degrees
from ._sources import inputs_of, vertices_of


def components(
    edges: Any,
    /,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    format: str | None = None,
    header: bool | None = None,
    vertices: Any = None,
    ids: Literal["auto", "integer", "string"] = "auto",
    memory: Memory | None = None,
    threads: int | None = None,
    temp_dir: PathLike | None = None,
    out: PathLike | None = None,
    progress: OnProgress = False,
) -> Components:
    """Weakly connected components of edges, in one pass and without a graph file.

    The answer is that of `import_graph` and `Graph.wcc`: each vertex has the smallest id of its
    component. The ids of all vertices are in memory, 20 to 24 bytes for each integer, and 12 after
    that; a graph file takes less. Edges that are none, in memory or in a file, give an empty
    answer.

    Args:
        edges: as in `import_graph`: paths, tables, matrices, graphs, arrays or an iterable.
        source, target: columns, by name or by number from 1, where there are more than two.
        format: of files whose ending does not say it, such as `"edges"` or `"csv"`.
        header: whether the first line of CSV and TSV names the columns [found out].
        vertices: a path, or ids, of vertices that may have no edge.
        ids: the kind of ids [that of the columns or values; of text integers if all of them are].
            `"integer"` takes strings of digits as integers.
        memory: the budget, in bytes or as text such as `"512MiB"` or `"25%"` of the machine's
            [half of it].
        threads: worker threads [one per core].
        temp_dir: folder for the copy of edges that can be read only once, while ids may turn out to
            be strings [that of the system].
        out: write the table to this file, as `Result.write` does.
        progress: see `cenote.Progress`.

    Raises:
        MemoryBudget: the vertices do not fit the memory; the message says how many were met.
        InvalidInput: an option or a row is wrong; the message names it.
        FileError: a file cannot be read or written.

    Example:
        >>> pairs = [("ada", "bob"), ("cem", "dan"), ("bob", "eve")]
        >>> found = cenote.components(pairs)
        >>> found.components, found.largest
        (2, 3)
        >>> found.to_arrow()["component"].to_pylist()
        ['ada', 'ada', 'cem', 'cem', 'ada']
    """
    options = given(
        source=source,
        target=target,
        format=format,
        header=header,
        ids=ids,
        memory=memory,
        threads=threads,
        temp_dir=temp_dir,
        out=out,
    )
    inputs = [*inputs_of(edges, None, None), *vertices_of(vertices)]
    return Components(_cenote.components(inputs, options, listener(progress)))


def degrees(
    edges: Any,
    /,
    *,
    keep_duplicates: bool = False,
    directed: bool = False,
    keep_self_loops: bool = False,
    source: str | int | None = None,
    target: str | int | None = None,
    format: str | None = None,
    header: bool | None = None,
    vertices: Any = None,
    ids: Literal["auto", "integer", "string"] = "auto",
    memory: Memory | None = None,
    threads: int | None = None,
    temp_dir: PathLike | None = None,
    out: PathLike | None = None,
    progress: OnProgress = False,
) -> Degrees:
    """Degrees of the vertices of edges, in one pass and without a graph file.

    The answer is that of `import_graph` with `keep_duplicates=True` and `Graph.degrees`. One pass
    cannot leave out repeated edges, so `keep_duplicates` must be given. The ids of all vertices and
    their degrees are in memory, 24 to 29 bytes for each integer, 32 to 38 if edges are directed.
    Edges that are none, in memory or in a file, give an empty answer.

    Args:
        edges: as in `import_graph`: paths, tables, matrices, graphs, arrays or an iterable.
        keep_duplicates: count repeated edges as often as they occur.
        directed: edges lead from source to target; then there are out-degrees and in-degrees.
        keep_self_loops: count edges from a vertex to itself, once.
        source, target: columns, by name or by number from 1, where there are more than two.
        format: of files whose ending does not say it, such as `"edges"` or `"csv"`.
        header: whether the first line of CSV and TSV names the columns [found out].
        vertices: a path, or ids, of vertices that may have no edge.
        ids: the kind of ids [that of the columns or values; of text integers if all of them are].
            `"integer"` takes strings of digits as integers.
        memory: the budget, in bytes or as text such as `"512MiB"` or `"25%"` of the machine's
            [half of it].
        threads: worker threads [one per core].
        temp_dir: folder for the copy of edges that can be read only once, while ids may turn out to
            be strings [that of the system].
        out: write the table to this file, as `Result.write` does.
        progress: see `cenote.Progress`.

    Raises:
        MemoryBudget: the vertices do not fit the memory; the message says how many were met.
        InvalidInput: an option or a row is wrong, or `keep_duplicates` is not given.
        FileError: a file cannot be read or written.

    Example:
        >>> pairs = [("ada", "bob"), ("ada", "cem"), ("bob", "ada")]
        >>> found = cenote.degrees(pairs, keep_duplicates=True)
        >>> found.to_arrow()["degree"].to_pylist()
        [3, 2, 1]
    """
    options = given(
        source=source,
        target=target,
        format=format,
        header=header,
        ids=ids,
        memory=memory,
        threads=threads,
        temp_dir=temp_dir,
        out=out,
        directed=directed,
        keep_duplicates=keep_duplicates,
        keep_self_loops=keep_self_loops,
    )
    inputs = [*inputs_of(edges, None, None), *vertices_of(vertices)]
    return Degrees(_cenote.degrees(inputs, options, listener(progress)))
