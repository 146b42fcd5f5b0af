"""Answers of runs on shards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ._cluster import get

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import NDArray

    from .._options import PathLike
    from ._driver import Stats
    from ._graph import ShardedGraph
    from ._program import Program


class ShardedResult:
    """The answer of a run on shards. It stays in Ray's object store until it is read.

    `result[column]` is an array with a value for each vertex by its number: its place among the ids
    of the graph in ascending order. Tables have the ids themselves.

    Attributes:
        columns: the names of the values of each vertex.
        summary: a summary of the answer.
        stats: what the run did.

    Example:
        >>> found = sharded.bfs("bash")
        >>> found.columns, found.summary, found.stats.restarts
        (['level'], {'reached': 63554, 'depth': 13}, 0)
        >>> found["level"].shape, found["level"].dtype, int(found["level"][g.vertex_of("bash")])
        ((64245,), dtype('uint32'), 0)
    """

    def __init__(
        self,
        graph: ShardedGraph,
        program: Program,
        parts: list[Any],
        summary: dict[str, Any],
        stats: Stats,
    ) -> None:
        self._graph, self._parts, self._program = graph, parts, program
        self.summary, self.stats = summary, stats
        first: dict[str, NDArray[Any]] = get(parts[0])
        self.columns = list(first)

    def __len__(self) -> int:
        """The number of vertices."""
        return self._graph.vertex_count

    def __getitem__(self, column: str) -> NDArray[Any]:
        """The values of a column, by number; all of them come to this process."""
        if column not in self.columns:
            raise KeyError(column)
        parts = [get(part)[column] for part in self._parts]
        # Numbers of vertices may have come in fewer bytes.
        is_number = column in self._program.of_vertices
        return np.concatenate(parts, dtype=np.uint64 if is_number else None)

    def __repr__(self) -> str:
        facts = self.summary | {"seconds": round(self.stats.seconds, 3)}
        return f"ShardedResult({', '.join(f'{key}={value!r}' for key, value in facts.items())})"

    def tables(self) -> list[Any]:
        """References to a table of pyarrow for each shard: `id`, then the columns.

        A value that is missing is null; a vertex is named by its id.

        Raises:
            InvalidInput: the graph is closed.

        Example:
            >>> import ray
            >>> [table.num_rows for table in ray.get(sharded.degrees().tables())]
            [20818, 20603, 22824]
        """
        return self._graph._cluster.retry(self._tables)

    def _tables(self) -> list[Any]:
        actors = self._graph._open_cluster().actors
        names = [name for name in self._program.of_vertices if name in self.columns]
        missing, count = dict(self._program.missing), len(actors)
        asked: list[Any] = [[None] for _ in actors]
        if names:
            asked = [
                a.asked.options(num_returns=count + 1).remote(part, names)
                for a, part in zip(actors, self._parts, strict=True)
            ]
        found = []
        for actor, part, (_, *numbers) in zip(actors, self._parts, asked, strict=True):
            ids = [a.ids_of.remote(ask) for a, ask in zip(actors, numbers, strict=False)]
            table = actor.table.options(num_returns=2)
            found.append(table.remote(part, missing, names, *numbers, *ids))
        get([done for done, _ in found])
        return [table for _, table in found]

    def to_arrow(self) -> pyarrow.Table:
        """The table in pyarrow, by ascending id; all of it comes to this process.

        Example:
            >>> sharded.pagerank().to_arrow().column_names
            ['id', 'rank']
        """
        import pyarrow

        return pyarrow.concat_tables(get(self.tables()))

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas.

        Example:
            >>> sharded.degrees().to_pandas().nlargest(2, "degree")
                           id  degree
            15548       libc6   21840
            39094  libstdc++6    7465
        """
        return self.to_arrow().to_pandas()

    def dataset(self) -> Any:
        """The table as a Ray Dataset with a block for each shard.

        It needs `ray[data]`.

        Example:
            >>> sharded.degrees().dataset().count() == sharded.vertex_count
            True
        """
        import ray.data

        return ray.data.from_arrow_refs(self.tables())

    def write(self, folder: PathLike) -> list[str]:
        """Writes the table as Parquet, a file for each shard, and returns their paths.

        Each process writes its part, so that the folder is one that all nodes share, or each node
        has its own parts. Columns are `id`, as GraphFrames and GraphScope name it, and those of the
        answer.

        Args:
            folder: a folder that does not exist or is empty. A part appears when it is complete.

        Raises:
            InvalidInput: there is something in the folder.

        Example:
            >>> [path.rsplit("/", 1)[-1] for path in sharded.wcc().write("components")]
            ['part-00000.parquet', 'part-00001.parquet', 'part-00002.parquet']
        """
        target = Path(folder).absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidInput(f"{target}: it exists and is no empty folder: choose another name")

        def written() -> list[str]:
            actors, tables = self._graph._open_cluster().actors, self._tables()
            calls = zip(actors, tables, strict=True)
            paths: list[str] = get([a.write.remote(os.fspath(target), t) for a, t in calls])
            return paths

        return self._graph._cluster.retry(written)
