"""States of graphs and their changes: snapshots, updates, merges, compactions, checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from . import _cenote
from ._options import Memory, OnProgress, PathLike, listener
from ._update import CheckReport, Snapshot, Update, check, compact

if TYPE_CHECKING:
    from ._graph import Graph


class States:
    """What a graph does with the states of its file."""

    path: str
    _native: _cenote.Graph

    def info(self) -> dict[str, Any]:
        """The description of the graph: sizes, kinds, log, snapshots, sections, tiers.

        Example:
            >>> info = g.info()
            >>> info["pages"], info["page_size"], info["ids"], info["degree_max_vertex"]
            (202, 4096, 'string', 'libc6')
        """
        info: dict[str, Any] = json.loads(self._native.info())
        return info

    def diff(
        self, before: Graph, *, out: PathLike | None = None, progress: OnProgress = False
    ) -> dict[str, int]:
        """Counts what changed since an earlier state of the graph, by the pages that differ.

        Args:
            before: the graph as it was opened at a snapshot, or before an update.
            out: a file of the changes, one a line, as `cenote update --stdin` reads them.
            progress: see `cenote.Progress`.

        Raises:
            InvalidInput: the two are not states of one graph.

        Example:
            >>> with cenote.open("friends.cenote") as before:
            ...     with before.update() as u:
            ...         u.add("cem", "dil")
            ...     with cenote.open("friends.cenote") as after:
            ...         changes = after.diff(before)
            >>> changes["added"], changes["deleted"], changes["new_vertices"]
            (1, 0, 1)
        """
        counts = self._native.diff(before._native, out, listener(progress))
        names = ("added", "deleted", "reweighed", "new_vertices", "deleted_vertices")
        return dict(zip((*names, "pages_read", "pages"), counts, strict=True))

    def snapshots(self) -> list[Snapshot]:
        """The snapshots, the oldest first; none if the graph was opened at one.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     kept = friends.snapshot("monday")
            >>> with cenote.open("friends.cenote") as friends:
            ...     [snapshot.name for snapshot in friends.snapshots()]
            ['monday']
        """
        return [Snapshot(**snapshot) for snapshot in self.info()["snapshots"]]

    def update(
        self,
        *,
        memory: Memory = "1GiB",
        synced: bool = True,
        values: Literal["u64", "i64", "f64"] | None = None,
        progress: OnProgress = False,
    ) -> Update:
        """Opens the graph for changes: see `cenote.update`. This graph stays as it is.

        Raises:
            GraphLocked: another writer has the graph open.
            MemoryBudget: the memory does not hold the graph's indexes.

        Example:
            >>> with cenote.open("friends.cenote") as before:
            ...     with before.update() as u:
            ...         u.add("cem", "dil")
            ...     with cenote.open("friends.cenote") as after:
            ...         before.edge_count, after.edge_count
            (2, 3)
        """
        return Update(self.path, memory=memory, synced=synced, values=values, progress=progress)

    def snapshot(self, name: str | None = None, *, progress: OnProgress = False) -> Snapshot:
        """Keeps the present state of the file under a name [`epoch-` and its number].

        Args:
            name: 1 to 64 bytes, without `/` and `@`.
            progress: see `cenote.Progress`: commits in log and delta runs are merged first.

        Raises:
            InvalidInput: the name is taken, or not possible.
            GraphLocked: a writer has the graph open.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     kept = friends.snapshot("monday")
            >>> with cenote.open("friends.cenote", at="monday") as monday:
            ...     monday.edge_count == kept.edges
            True
        """
        with self.update(progress=progress) as update:
            return update.snapshot(name)

    def remove_snapshot(self, name: str, *, progress: OnProgress = False) -> Snapshot:
        """Removes a snapshot, and returns it as it was.

        Raises:
            InvalidInput: there is no snapshot of that name.
            GraphLocked: a writer has the graph open.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.snapshot("monday") == friends.remove_snapshot("monday")
            True
        """
        with self.update(progress=progress) as update:
            return update.remove_snapshot(name)

    def merge(
        self,
        *,
        memory: Memory = "1GiB",
        report: PathLike | None = None,
        progress: OnProgress = False,
    ) -> dict[str, Any]:
        """Merges small commits from the log into the lists. Returns counts.

        It is one commit: ended by Ctrl-C, it leaves the graph as it was.

        Args:
            memory: the budget.
            report: a file that ends with `.html`: what the merge did over time, as one page.
            progress: see `cenote.Progress`.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.merge()["pages_written"]
            0
        """
        with self.update(memory=memory, progress=progress) as update:
            return update.merge(report=report)

    def compact(
        self,
        *,
        out: PathLike | None = None,
        overwrite: bool = False,
        order: Literal["natural", "degree", "bfs", "cluster", "random"] | None = None,
        seed: int = 1,
        hub_neighbours: bool | Literal["auto"] | None = None,
        free_space: int | None = None,
        memory: Memory = "1GiB",
        threads: int | None = None,
        temp_dir: PathLike | None = None,
        progress: OnProgress = False,
    ) -> dict[str, Any]:
        """Writes the present state of the file as an import of its edges would: `cenote.compact`.

        This graph stays as it is, and so do answers of it: open the path again for the compacted
        one, whose vertices have other numbers if there were deleted or appended ones.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.compact(memory="64MiB")["vertices"]
            3
        """
        return compact(
            self.path,
            out=out,
            overwrite=overwrite,
            order=order,
            seed=seed,
            hub_neighbours=hub_neighbours,
            free_space=free_space,
            memory=memory,
            threads=threads,
            temp_dir=temp_dir,
            progress=progress,
        )

    def check(self, *, progress: OnProgress = False) -> CheckReport:
        """Verifies every byte of the file, its snapshots too, as `cenote.check` does.

        Example:
            >>> bool(g.check())
            True
        """
        return check(self.path, progress=progress)
