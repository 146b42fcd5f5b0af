"""Imports: builds graph files from files, tables, arrays, graphs and iterables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from . import _cenote
from ._options import Memory, OnProgress, PathLike, given, listener
from ._sources import inputs_of, is_networkx, vertices_of
from ._values import values_of


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
    order: Literal["natural", "degree", "bfs", "cluster", "random", "auto"] = "auto",
    seed: int = 1,
    memory: Memory = "1GiB",
    page_bytes: int = 4096,
    free_space: int = 0,
    codec: Literal["packed", "raw"] = "packed",
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
            Polars, pyarrow or any object with `__arrow_c_stream__` or `__arrow_c_array__`, or an
            iterable of them, such as record batches; a dataset of pyarrow; a sparse matrix of
            SciPy, whose entries are the edges; a graph of NetworkX; an array of shape (n, 2) or
            (n, 3); a tuple of two or three arrays or series of length n; or an iterable of
            `(source, target)` or `(source, target, weight)`. They are read once, in parts.
        out: the graph file. It gets its name when it is complete.
        directed: whether edges lead from source to target [as a NetworkX graph says, else no].
        in_edges: also store the in-edges of a directed graph.
        weights: store weights as this type [`"f64"` if `weight` is given, else no weights]. A
            repeated edge keeps its smallest weight.
        source, target, weight: columns, by name or by number from 1, where there are more than two;
            for NetworkX `weight` is the attribute [`"weight"`], without which an edge has weight 1.
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
        ids: the kind of ids [that of the columns or values; of text integers if all of them are].
            `"integer"` takes strings of digits as integers.
        order: the order of the vertices in the file; `seed` is that of `"random"`. `"auto"` takes
            `"cluster"` for a large graph of few edges per vertex whose ids do not bring neighbours
            together, else `"natural"`.
        memory: the budget, in bytes or as text such as `"512MiB"` or `"25%"` of the machine's.
        page_bytes: of the graph file, a power of two from 4,096 to 65,536.
        free_space: percent of each page of lists that stay free, 0 to 50: when changes are merged,
            lists grow into it before pages are split.
        codec: the encoding of lists: "packed", gaps of few bits, or "raw", 4 bytes an entry.
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
        directed = is_networkx(edges) and edges.is_directed()
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
