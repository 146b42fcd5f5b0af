"""Edges of a graph: all as a stream, or a sample of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import _cenote
from ._options import Ids, PathLike
from .errors import InvalidInput

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from numpy.typing import NDArray

    from ._graph import Graph


@dataclass(frozen=True)
class Sample:
    """A sample of neighbourhoods. Its vertices have numbers of their own, from 0.

    Attributes:
        ids: the id of each vertex of the sample: first the given ones, each once.
        vertices: and its number in the graph, `uint32`, shape (vertices,): its place in the arrays
            of answers and its row of features.
        seeds: how many were given.
        layers: the edges of each layer, the nearest first, as two `int64` arrays of shape
            (edges,): the sampled neighbours, and for each the vertex whose neighbour it is.
        positions: of each layer, for each edge its position in the list of that vertex, as
            `neighbors` and `weighted_neighbors` return it: `int64`, shape (edges,). With the vertex
            it names the edge. The edge number `starts[sample.vertices[target]] + position`, with
            the sums `starts = np.cumsum(degree) - degree` of `degree = g.degree()`, is unique in
            the graph.

    Example:
        >>> sample = g.sample_neighbors("bash", fanouts=[3, 2], seed=7)
        >>> sample.seeds, sample.ids[:4]
        (1, ['bash', 'bash-builtins', 'git-ftp', 'podget'])
        >>> sources, targets = sample.layers[0]
        >>> sources, targets, sample.positions[0].shape
        (array([1, 2, 3]), array([0, 0, 0]), (3,))
        >>> [g.id_of(vertex) for vertex in sample.vertices[sources]]
        ['bash-builtins', 'git-ftp', 'podget']
    """

    ids: Ids
    vertices: NDArray[np.uint32]
    seeds: int
    layers: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    positions: list[NDArray[np.int64]]


class Edges:
    """The edges of a graph as a stream of record batches: `source`, `target` and `weight`.

    Example:
        >>> g.edges().to_pandas().columns.tolist(), g.edges().to_parquet("edges.parquet") > 0
        (['source', 'target'], True)
    """

    def __init__(self, native: _cenote.Graph, graph: Graph) -> None:
        self._native = native
        self._graph = graph

    def __repr__(self) -> str:
        return f"Edges({self._graph!r})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The edges as an Arrow stream, in batches of 65,536."""
        return self._native.edge_stream()

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        """The batches in pyarrow."""
        import pyarrow

        yield from pyarrow.RecordBatchReader.from_stream(self)

    def to_arrow(self) -> pyarrow.Table:
        """All edges in pyarrow.

        Example:
            >>> g.edges().to_arrow().slice(0, 1).to_pylist()
            [{'source': '0ad', 'target': '0ad-data'}]
        """
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """All edges in pandas.

        Example:
            >>> g.edges().to_pandas().head(2)
              source           target
            0    0ad         0ad-data
            1    0ad  0ad-data-common
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All edges in Polars.

        Example:
            >>> edges = g.edges().to_polars()
            >>> edges.shape, edges.row(0)
            ((283093, 2), ('0ad', '0ad-data'))
        """
        import polars

        return polars.DataFrame(self)

    def to_parquet(self, path: PathLike, *, overwrite: bool = False) -> int:
        """Writes them, streamed, to a name that ends with `.parquet`. Returns the bytes written.

        Raises:
            InvalidInput: another ending, or the file exists, without `overwrite`.
            FileError: the file cannot be written.

        Example:
            >>> import pyarrow.parquet
            >>> size = g.edges().to_parquet("edges.parquet")
            >>> pyarrow.parquet.read_metadata("edges.parquet").num_rows == g.edge_count
            True
        """
        if not str(path).lower().endswith(".parquet"):
            raise InvalidInput(f"{path}: expected a name that ends with .parquet")
        return self._graph.export(path, overwrite=overwrite)["file_bytes"]
