"""Changes of stored graphs, snapshots, compaction and check; profiles of drives."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _cenote
from ._options import Memory, OnProgress, PathLike, VertexId, given, listener, warn
from ._sources import inputs_of

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Snapshot:
    """A state of a graph that is kept under a name.

    Attributes:
        name: its name, for `cenote.open(path, at=name)`.
        epoch: the number of its commit.
        created: seconds since 1970.
        vertices: how many vertices it has.
        edges: how many edges.
        pages_held: pages of the file that only this snapshot needs.

    Example:
        >>> import time
        >>> with cenote.update("friends.cenote") as u:
        ...     kept = u.snapshot("monday")
        >>> kept.name, kept.epoch, kept.vertices, kept.edges, kept.pages_held
        ('monday', 1, 3, 2, 0)
        >>> 0 <= time.time() - kept.created < 60
        True
    """

    name: str
    epoch: int
    created: int
    vertices: int
    edges: int
    pages_held: int


class Update:
    """A graph that is open for changes.

    Changes are collected, and made as one by `commit`, or at the end of a `with` statement; if that
    ends with an exception, they are dropped. There is one update of a graph at a time, in any
    process; readers go on beside it.

    Args:
        path: the graph file.
        memory: for the indexes of the graph and the changes of a batch.
        synced: whether a commit returns only when its changes are on stable storage.
        values: type of the values of vertices, where none has one yet [that of the first one].
        progress: see `cenote.Progress`: of commits and merges that rewrite lists.

    Ctrl-C ends a commit, a merge, a snapshot and the reading of edges within a second. The graph is
    then as it was before them, and the changes wait for the next commit, as `len(update)` says; a
    `with` statement drops them. A commit that only writes to the log is too short to be ended: it
    is made, and then the interrupt is raised.

    Raises:
        GraphLocked: another writer has the graph open.
        MemoryBudget: the memory does not hold the graph's indexes.

    Example:
        >>> with cenote.update("friends.cenote") as u:
        ...     u.add("cem", "dil")
        ...     u.delete("ada", "bob")
        >>> u.path, u.report["added"], u.report["deleted"], u.report["new_vertices"]
        ('friends.cenote', 1, 1, 1)
    """

    def __init__(
        self,
        path: PathLike,
        *,
        memory: Memory = "1GiB",
        synced: bool = True,
        values: Literal["u64", "i64", "f64"] | None = None,
        progress: OnProgress = False,
    ) -> None:
        self.path = os.fspath(path)
        self._native = _cenote.Update.open(path, memory, synced, values, listener(progress))
        self._closed = False
        self.report: dict[str, Any] = {}
        """What the last commit did."""
        warn(self._native.warnings())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._closed:
                if len(self) > 0:
                    self.commit()
                self._native.settle()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the update; changes that were not committed are dropped.

        Example:
            >>> u = cenote.update("friends.cenote")
            >>> u.add("cem", "dil")
            >>> u.close()
            >>> with cenote.open("friends.cenote") as friends:
            ...     "dil" in friends
            False
        """
        self._closed = True
        self._native.close()

    def __len__(self) -> int:
        """Number of changes for the next commit."""
        return len(self._native)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Update({self.path!r})"

    def add(self, source: VertexId, target: VertexId, weight: float | None = None) -> None:
        """Adds an edge; in a graph that keeps duplicates once more, if it is there.

        Ids that the graph does not have become vertices. An integer is no id of a graph of strings,
        although look-ups find the vertex of its digits: it would add another kind of ids.

        Raises:
            TypeError: an id is an integer, and those of the graph are strings.
            InvalidInput: the graph cannot have the id or the weight.
            MemoryBudget: the batch does not fit the memory: commit more often.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.add("cem", "dil")
            ...     u.add("ada", "bob")
            >>> u.report["added"], u.report["present"], u.report["new_vertices"]
            (1, 1, 1)
        """
        self._native.add(source, target, weight)

    def add_all(
        self,
        edges: Any,
        *,
        source: str | int | None = None,
        target: str | int | None = None,
        weight: str | int | None = None,
        format: str | None = None,
        header: bool | Literal["auto", "yes", "no"] | None = None,
    ) -> int:
        """Adds many edges, each as `add` does. Returns how many it read.

        After an exception none of them is added.

        Args:
            edges: anything that `cenote.import_graph` takes: files, a table, a graph of NetworkX, a
                sparse matrix, arrays, or rows `(source, target)` or `(source, target, weight)`.
                Vertices of a graph of NetworkX without an edge are added too.
            source, target, weight: columns, by name or by number from 1, where there are more than
                two; a graph with weights takes the third as the weight.
            format: of files whose ending does not say it.
            header: whether the first line of CSV and TSV names the columns [found out].

        Raises:
            InvalidInput: an input cannot be read, or the graph cannot have an id or a weight.
            MemoryBudget: the batch does not fit the memory: add a part at a time.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.add_all([("dil", "eve"), ("eve", "ada")])
            2
        """
        options = given(source=source, target=target, weight=weight, format=format, header=header)
        return self._change_all(True, edges, options)

    def delete_all(
        self,
        edges: Any,
        *,
        source: str | int | None = None,
        target: str | int | None = None,
        format: str | None = None,
        header: bool | Literal["auto", "yes", "no"] | None = None,
    ) -> int:
        """Deletes many edges, each as `delete` without a weight does. Returns how many it read.

        As `add_all`; weights of the input and vertices without an edge are passed over.

        Raises:
            InvalidInput: an input cannot be read, or the graph cannot have an id.
            MemoryBudget: the batch does not fit the memory: delete a part at a time.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.delete_all([("ada", "bob"), ("ada", "cem")])
            2
            >>> u.report["deleted"], u.report["absent"]
            (1, 1)
        """
        options = given(source=source, target=target, format=format, header=header)
        return self._change_all(False, edges, options)

    def _change_all(self, is_added: bool, edges: Any, options: dict[str, Any]) -> int:
        weights = self._native.weights() if is_added else None
        inputs = list(inputs_of(edges, weights, options.get("weight")))
        of_edges = [one for one in inputs if one[0] not in ("vertices", "range")]
        isolated = [v for kind, found in inputs if kind == "vertices" for v in found]
        return self._native.change_all(is_added, of_edges, isolated if is_added else [], options)

    def delete(self, source: VertexId, target: VertexId, weight: float | None = None) -> None:
        """Deletes an edge, with `weight` only one of this weight.

        Of an edge that repeats one is deleted, without `weight` one with the smallest.

        An edge that is not there is passed over: `absent` counts it, `unknown_vertices` an id that
        no vertex has.

        Raises:
            InvalidInput: the graph cannot have the id or the weight.
            MemoryBudget: the batch does not fit the memory: commit more often.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.delete("bob", "ada")
            >>> u.report["deleted"], u.report["absent"]
            (1, 0)
        """
        self._native.delete(source, target, weight)

    def set_weight(self, source: VertexId, target: VertexId, weight: float) -> None:
        """Sets the weight of an edge, or of all its copies.

        An edge that is not there is passed over: `absent` counts it.

        Raises:
            InvalidInput: the edges of the graph have no weights, or the type does not hold it.
            MemoryBudget: the batch does not fit the memory: commit more often.

        Example:
            >>> report = cenote.import_graph([("ada", "bob", 2)], "roads.cenote", weights="u32")
            >>> with cenote.update("roads.cenote") as u:
            ...     u.set_weight("ada", "bob", 7)
            >>> with cenote.open("roads.cenote") as roads:
            ...     roads.weighted_neighbors("ada")
            (['bob'], array([7.]))
        """
        self._native.set_weight(source, target, weight)

    def add_vertex(self, id: VertexId) -> None:
        """Adds a vertex without edges.

        Raises:
            InvalidInput: the graph cannot have the id.
            MemoryBudget: the batch does not fit the memory: commit more often.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.add_vertex("dil")
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.vertex_count, friends.neighbors("dil")
            (4, [])
        """
        self._native.add_vertex(id)

    def delete_vertex(self, id: VertexId) -> None:
        """Deletes a vertex with all its edges.

        An id that no vertex has is passed over: `unknown_vertices` counts it.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.delete_vertex("bob")
            >>> u.report["deleted_vertices"], u.report["deleted_with_vertices"]
            (1, 2)
        """
        self._native.delete_vertex(id)

    def set_value(self, id: VertexId, value: float) -> None:
        """Sets the value of a vertex.

        It is stored as the type of the graph's values. Where no vertex has one yet, that is
        `values` of the update [that of the first value: `u64`, `i64` or `f64`]. An id that no
        vertex has is passed over: `unknown_vertices` counts it.

        Raises:
            InvalidInput: the type does not hold the value.

        Example:
            >>> with cenote.update("friends.cenote", values="i64") as u:
            ...     u.set_value("ada", -3)
            >>> with cenote.open("friends.cenote") as friends:
            ...     friends.value("ada"), friends.value("bob")
            (-3, None)
        """
        self._native.set_value(id, value)

    def remove_value(self, id: VertexId) -> None:
        """Removes the value of a vertex.

        A value that is not there is passed over, and so is an id that no vertex has.

        Example:
            >>> report = cenote.import_graph([("ada", "bob")], "ages.cenote", values={"ada": 36})
            >>> with cenote.update("ages.cenote") as u:
            ...     u.remove_value("ada")
            >>> with cenote.open("ages.cenote") as ages:
            ...     ages.value("ada") is None
            True
        """
        self._native.remove_value(id)

    def commit(self) -> dict[str, Any]:
        """Makes all changes durable, as one. Returns counts, which are `report` then.

        After an exception all or none of them are durable: none, if `len(self)` is not 0.

        Raises:
            MemoryBudget: the new vertices of the batch do not fit the memory beside its changes,
                or the edges of deleted ones do not: the message says what would do.

        Example:
            >>> u = cenote.update("friends.cenote")
            >>> u.add("cem", "dil")
            >>> len(u), u.commit()["added"], len(u)
            (1, 1, 0)
            >>> u.close()
        """
        self.report = json.loads(self._native.commit())
        return self.report

    def commit_what_fits(self) -> dict[str, Any]:
        """Makes the first changes durable, as many as fit the memory with their new vertices.

        The others wait for the next commit: while `len(update)` is not 0, call it again.

        Raises:
            MemoryBudget: not even the first change fits.

        Example:
            >>> with cenote.update("friends.cenote", memory="64MiB") as u:
            ...     _ = u.add_all([("dil", "eve"), ("eve", "ada")])
            ...     while len(u) > 0:
            ...         report = u.commit_what_fits()
        """
        self.report = json.loads(self._native.commit_what_fits())
        return self.report

    def merge(self, *, report: PathLike | None = None) -> dict[str, Any]:
        """Merges commits from delta runs and log into the lists. Returns counts.

        Args:
            report: a file that ends with `.html`: what the merge did over time, as one page.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     u.add("cem", "dil")
            ...     _ = u.commit()
            ...     u.merge()["merged"]
            1
        """
        counts: dict[str, Any] = json.loads(self._native.merge(report))
        return counts

    def settle(self) -> dict[str, Any]:
        """Merges what large commits leave in delta runs, if runs would read much more for it.

        The end of a `with` statement does that; call it at the end of a series of large commits
        otherwise. Returns counts.

        Example:
            >>> u = cenote.update("friends.cenote")
            >>> u.add_all(("ada", f"friend-{n}") for n in range(1000))
            1000
            >>> report = u.commit()
            >>> counts = u.settle()
            >>> u.close()
            >>> counts["epoch"], counts["merged"]
            (2, 0)
        """
        report: dict[str, Any] = json.loads(self._native.settle())
        return report

    def snapshot(self, name: str | None = None) -> Snapshot:
        """Keeps the present state under a name; changes that wait for a commit are not in it.

        Raises:
            InvalidInput: the name is taken, or not possible.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     kept = u.snapshot("monday")
            ...     u.delete("ada", "bob")
            >>> with cenote.open("friends.cenote", at="monday") as monday:
            ...     monday.neighbors("ada")
            ['bob']
        """
        return Snapshot(**json.loads(self._native.snapshot(name)))

    def remove_snapshot(self, name: str) -> Snapshot:
        """Removes a snapshot, and returns it as it was.

        Raises:
            InvalidInput: there is no snapshot of that name.

        Example:
            >>> with cenote.update("friends.cenote") as u:
            ...     kept = u.snapshot("monday")
            ...     u.remove_snapshot("monday").epoch == kept.epoch
            True
        """
        return Snapshot(**json.loads(self._native.remove_snapshot(name)))


update = Update


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes:
        pages: pages of the file, of 4,096 bytes or what its import was given.
        faults: the first faults, each a line.
        faults_total: how many there are.

    Example:
        >>> found = cenote.check("packages.cenote")
        >>> bool(found), found.pages, found.faults, found.faults_total
        (True, 371, [], 0)
    """

    pages: int
    faults: list[str]
    faults_total: int

    def __bool__(self) -> bool:
        """Whether the graph has no fault."""
        return self.faults_total == 0


def check(path: PathLike, *, at: str | None = None, progress: OnProgress = False) -> CheckReport:
    """Verifies every byte of a graph, of one snapshot, or of a sharded graph; only reads.

    Args:
        path: the graph file, or the folder of a sharded graph.
        at: the name of a snapshot.
        progress: see `Progress`.

    Raises:
        FileError: the file cannot be read. Faults of the graph are in the report.

    Example:
        >>> bool(cenote.check("packages.cenote"))
        True
    """
    return CheckReport(*_cenote.check(path, at, listener(progress)))


def compact(
    path: PathLike,
    *,
    out: PathLike | None = None,
    at: str | None = None,
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
    """Writes a changed graph as an import of its edges would, and puts it in its place.

    Args:
        path: the graph file.
        out: another file to write instead.
        at: the snapshot to write, with `out`.
        overwrite: replace the file of `out` if it exists.
        order: of the vertices [the graph's]; `seed` is that of `"random"`.
        hub_neighbours: whether to store them [if the graph has them].
        free_space: percent of each page of lists that stay free, 0 to 50 [the graph's].
        memory: the budget.
        threads: worker threads [one per core].
        temp_dir: folder of temporary files.
        progress: see `cenote.Progress`.

    Returns:
        Counts and times: `vertices`, `edges`, `bytes_before`, `bytes_after`, `seconds` and others.

    Raises:
        GraphLocked: a writer has the graph open. After any error the graph is as it was.
        MemoryBudget: the budget is too small.

    Example:
        >>> with cenote.update("friends.cenote") as u:
        ...     u.delete_vertex("ada")
        >>> report = cenote.compact("friends.cenote", memory="64MiB")
        >>> report["vertices"], report["edges"], report["deleted_vertices"]
        (2, 1, 1)
        >>> with cenote.open("friends.cenote") as friends:
        ...     friends.ids().tolist()
        ['bob', 'cem']
    """
    options = given(
        out=out,
        at=at,
        overwrite=overwrite,
        order=order,
        seed=seed,
        hub_neighbours=hub_neighbours,
        free_space=free_space,
        memory=memory,
        threads=threads,
        temp_dir=temp_dir,
    )
    text, warnings = _cenote.compact(path, options, listener(progress))
    warn(warnings)
    report: dict[str, Any] = json.loads(text)
    return report


def profile(
    path: PathLike,
    *,
    quick: bool = False,
    scratch: int | None = None,
    replace: bool = False,
    report: PathLike | None = None,
    progress: OnProgress = False,
) -> dict[str, Any]:
    """Measures the drive under a folder, and saves its profile, from which runs plan their reads.

    Args:
        path: a folder, in which a scratch file is written and removed; or a file or a drive,
            which is only read, and whose profile is not saved.
        quick: 20 seconds instead of minutes.
        scratch: bytes of the scratch file [1 GiB, or half of the free space].
        replace: save the profile even if the machine was busy and the saved profile is calmer.
        report: a file that ends with `.html`: the profile's curves, as one page.
        progress: see `cenote.Progress`.

    Returns:
        The profile: latency, bandwidth and parallelism by request size, how calm the machine was
        (`conditions`, `calm`), and `saved`, its file. `saved` is `None` for a file, and, with a
        warning, where the machine was busy and the saved profile is calmer.

    Raises:
        FileMissing: there is no such path.
        DeviceError: the drive failed, or a file is smaller than the largest request, 1 MiB.

    Example:
        >>> with open("small", "wb") as file:
        ...     size = file.write(bytes(4096))
        >>> try:
        ...     cenote.profile("small", quick=True)
        ... except cenote.DeviceError as error:
        ...     print(error)
        profile small: requests of 1048576 bytes need a larger file than one of 4096
    """
    text, saved, kept = _cenote.profile(path, quick, scratch, replace, report, listener(progress))
    warn([] if kept is None else [kept])
    found: dict[str, Any] = json.loads(text)
    return found | {"saved": None if saved is None else os.fspath(saved)}
