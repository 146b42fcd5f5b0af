"""Tables with the columns `src`, `dst` and `id`, as GraphFrames and GraphScope name them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._import import import_graph as import_file
from .._options import Memory, PathLike
from .._shards import shard
from ..errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow


def import_graph(
    edges: Any,
    out: PathLike,
    /,
    *,
    shards: int,
    vertices: Any = None,
    src: str = "src",
    dst: str = "dst",
    id: str = "id",
    directed: bool = True,
    in_edges: bool = True,
    weights: Literal["f32", "f64", "u32", "i64"] | None = None,
    weight: str = "weight",
    memory: Memory = "1GiB",
    threads: int | None = None,
) -> dict[str, Any]:
    """Imports tables of edges and vertices into the folder of a sharded graph.

    Edges are read in parts. A temporary graph file beside the folder takes some 8 bytes an edge.

    Args:
        edges: a path of Parquet, a pattern such as `"edges/*.parquet"`, a folder of Parquet files,
            or a Ray Dataset.
        out: the folder to write, which must not exist or be empty.
        shards: how many.
        vertices: the same of vertices, which may have no edge. Ids that are strings are in memory
            while they are read.
        src, dst, id, weight: the columns of sources, targets, vertices and weights.
        directed: whether edges lead from `src` to `dst`, as in GraphFrames.
        in_edges: also store the in-edges of a directed graph, which label propagation and core
            numbers need.
        weights: store weights as this type.
        memory: the budget of the import.
        threads: worker threads [one per core].

    Returns:
        The manifest of the shards, as `cenote.shard`.

    Raises:
        InvalidInput: a column is missing, or `out` has something in it.

    Example:
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> pq.write_table(pa.table({"src": [1, 2, 7], "dst": [2, 3, 8]}), "edges.parquet")
        >>> pq.write_table(pa.table({"id": [1, 2, 3, 5, 7, 8]}), "vertices.parquet")
        >>> found = cenote.ray.import_graph(
        ...     "edges.parquet", "tables.shards", shards=2, vertices="vertices.parquet",
        ...     memory="64MiB",
        ... )
        >>> found["vertices"], found["edges"]
        (6, 3)
    """
    folder = Path(out).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder}: it exists and is no empty folder: choose another name")
    path = folder.with_name(f".{folder.name}.import-{os.getpid()}.cenote")
    columns = [src, dst] if weights is None else [src, dst, weight]
    try:
        import_file(
            reader(edges, columns),
            path,
            directed=directed,
            in_edges=directed and in_edges,
            weights=weights,
            source=src,
            target=dst,
            weight=None if weights is None else weight,
            vertices=None if vertices is None else list(ids_of(reader(vertices, [id]))),
            memory=memory,
            threads=threads,
            overwrite=True,
        )
        return shard(path, folder, shards=shards, memory=memory, threads=threads)
    finally:
        path.unlink(missing_ok=True)


def reader(table: Any, columns: list[str]) -> pyarrow.RecordBatchReader:
    """The batches of some columns of Parquet files or of a Ray Dataset."""
    import pyarrow
    import pyarrow.parquet

    if isinstance(table, str | os.PathLike):
        paths = files(table)
        schema = pyarrow.parquet.read_schema(paths[0])
        batches = of_files(paths, columns)
    elif hasattr(table, "iter_batches"):
        schema = table.schema().base_schema
        batches = of_dataset(table, columns)
    else:
        kind = type(table).__name__
        raise TypeError(f"a {kind} is no table: expected a path of Parquet or a Ray Dataset")
    for name in columns:
        if name not in schema.names:
            raise InvalidInput(f"there is no column {name!r}: the columns are {schema.names}")
    schema = pyarrow.schema([schema.field(name) for name in columns])
    return pyarrow.RecordBatchReader.from_batches(schema, batches)


def files(path: PathLike) -> list[str]:
    """The Parquet files of a folder, those that a pattern matches, or the one of this name."""
    name = os.fspath(path)
    if os.path.isdir(name):
        name = os.path.join(name, "*.parquet")
    found = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
    if not found:
        raise InvalidInput(f"{name}: there is no Parquet file")
    return found


def of_files(paths: list[str], columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
    """The batches of files, one after the other."""
    import pyarrow.parquet

    for path in paths:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(columns=columns)


def of_dataset(table: Any, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
    """The batches of a Ray Dataset."""
    for batch in table.select_columns(columns).iter_batches(batch_format="pyarrow"):
        yield from batch.to_batches()


def ids_of(batches: pyarrow.RecordBatchReader) -> Iterator[int | str]:
    """The ids of vertices."""
    for batch in batches:
        column = batch.column(0)
        yield from column.to_pylist()
