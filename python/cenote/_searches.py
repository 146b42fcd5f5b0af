"""The searches from one or several vertices: a method each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _results
from ._options import PathLike, RunOptions, VertexId, VertexIds, given
from ._running import Running

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Searches(Running):
    """The searches of a graph."""

    def bfs(
        self,
        source: VertexIds | None = None,
        *,
        sources_file: PathLike | None = None,
        target: VertexIds | None = None,
        targets_file: PathLike | None = None,
        parents: bool = False,
        **options: Unpack[RunOptions],
    ) -> _results.Bfs:
        """Breadth-first search: levels and, with `parents`, parents.

        Args:
            source: ids [the vertex of largest degree].
            sources_file: a file of ids, one a line.
            target, targets_file: the search ends when all of them are reached; `summary["targets"]`
                has their levels and paths.
            parents: whether to find parents: of the level before, the smallest id.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            MemoryBudget: the budget is too small; the message says what would do.

        Example:
            >>> search = g.bfs("bash")
            >>> search.levels[g.vertex_of("bash")]
            np.uint32(0)
            >>> int((search.levels != cenote.UNREACHED).sum()) == search.reached
            True
        """
        own = given(
            source=source,
            sources_file=sources_file,
            target=target,
            targets_file=targets_file,
            parents=parents,
        )
        return _results.Bfs(self._run("bfs", options, **own))

    def dfs(
        self,
        source: VertexId | None = None,
        *,
        target: VertexIds | None = None,
        targets_file: PathLike | None = None,
        threshold: int | None = None,
        stacks: int | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.Dfs:
        """Pseudo-DFS: what can be reached, by many stacks in parallel.

        Args:
            source: an id [the vertex of largest degree].
            target, targets_file: the search ends when all of them are reached.
            threshold: a stack of more entries is split.
            stacks: the most, each with one request in flight.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> g.dfs("bash").reached.sum() > 1
            np.True_
        """
        own = given(
            source=source,
            target=target,
            targets_file=targets_file,
            threshold=threshold,
            stacks=stacks,
        )
        return _results.Dfs(self._run("dfs", options, **own))

    def lexicographic_dfs(
        self,
        source: VertexId | None = None,
        *,
        target: VertexIds | None = None,
        targets_file: PathLike | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.LexicographicDfs:
        """Depth-first search that goes on with the smallest unvisited neighbour.

        Args:
            source: an id [the vertex of largest degree].
            target, targets_file: the search ends when all of them are reached.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> g.lexicographic_dfs("bash").orders.min()
            np.uint32(0)
        """
        own = given(source=source, target=target, targets_file=targets_file)
        return _results.LexicographicDfs(self._run("lexicographic_dfs", options, **own))

    def reach(
        self,
        source: VertexId | None = None,
        target: VertexIds | None = None,
        *,
        targets_file: PathLike | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.Reach:
        """Whether all targets can be reached; from both ends where in-edges are stored.

        Args:
            source: an id [the vertex of largest degree].
            target, targets_file: ids, or a file of ids, one a line; one of them is needed.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> bool(g.reach("bash", "libc6"))
            True
        """
        own = given(source=source, target=target, targets_file=targets_file)
        return _results.Reach(self._run("reach", options, **own))

    def sssp(
        self,
        source: VertexIds | None = None,
        *,
        sources_file: PathLike | None = None,
        target: VertexIds | None = None,
        targets_file: PathLike | None = None,
        parents: bool = False,
        delta: float | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.Sssp:
        """Shortest paths over weighted edges; an edge without a weight counts 1.

        Args:
            source: ids [the vertex of largest degree].
            sources_file: a file of ids, one a line.
            target, targets_file: the search ends when all of them are reached.
            parents: whether to find parents.
            delta: the width of a bucket, in the unit of the weights [from the weights].
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            InvalidInput: an edge has a negative weight.

        Example:
            >>> bool((g.sssp("bash").distances[g.bfs("bash").levels == 2] == 2).all())
            True
        """
        own = given(
            source=source,
            sources_file=sources_file,
            target=target,
            targets_file=targets_file,
            parents=parents,
            delta=delta,
        )
        return _results.Sssp(self._run("sssp", options, **own))
