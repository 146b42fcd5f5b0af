"""A shard as its process sees it: lists of its own vertices, and the way to other shards.

Three numberings: *numbers* are those of vertices across shards; *places* are those of the vertices
in the shard's file, own and boundary; *own* places count from the first own vertex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _cenote
from .._graph import Graph
from .._graph import open as open_graph
from .._visit import Batch, Visit
from ..errors import CorruptGraph, MemoryBudget
from ._exchange import Mail, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._manifest import Manifest

Direction = Literal["out", "in"]

EDGE_BYTES = 64
"""Bytes of NumPy's arrays for an edge of a batch while a program works on it."""


READ_EDGE_BYTES = 4 * 24
"""Bytes of an edge in the batches that a visit reads ahead, with its weight."""


class Shard:
    """The open file of a shard.

    Attributes:
        manifest: the description of the sharded graph.
        index: which shard it is.
        graph: its file.
        native: its part in algorithms whose supersteps are compiled.
        numbers: the numbers of its vertices by place, ascending: `uint64`, shape (places,).
        own: the places of its own vertices, a slice.
        runs: for each shard the places of the boundary vertices that it owns, a slice.
        mirrored: for each shard the own places of the vertices in its boundary, ascending.
    """

    def __init__(self, manifest: Manifest, index: int, path: str, memory: int, threads: int | None):
        self.manifest, self.index = manifest, index
        self.entry = manifest.shards[index]
        self.memory, self.threads = memory, threads
        self.graph: Graph = open_graph(path)
        starts = manifest.starts().tolist()
        self.native = _cenote.Shard.open(self.graph._native, index, starts, manifest.directed)
        self.numbers: NDArray[np.uint64] = np.asarray(self.native.numbers())
        cuts = np.searchsorted(self.numbers, manifest.starts()).tolist()
        self.runs = [slice(cuts[at], cuts[at + 1]) for at in range(len(manifest))]
        self.own = self.runs[index]
        sizes = [run.stop - run.start for run in self.runs]
        expected = list(self.entry.boundary)
        expected[index] = self.entry.vertices
        if sizes != expected or cuts[-1] != len(self.numbers):
            raise CorruptGraph(f"{path}: its vertices are not those of the manifest: check the set")
        self.mirrored: list[NDArray[np.uint32]] = []
        self._visits: dict[tuple[Direction, bool], Visit] = {}
        self._visit_memory, self._batch_edges = 0, 0
        self._run: _cenote.ShardRun | None = None

    @property
    def batch_edges(self) -> int:
        """How many edges a program should work on at a time."""
        return self._batch_edges

    @property
    def count(self) -> int:
        """How many vertices it owns."""
        return self.entry.vertices

    @property
    def places(self) -> int:
        """Own and boundary vertices."""
        return len(self.numbers)

    @property
    def boundary(self) -> int:
        """Boundary vertices."""
        return self.places - self.count

    def own_numbers(self) -> NDArray[np.uint64]:
        """The numbers of its own vertices: `uint64`, shape (count,)."""
        return self.numbers[self.own]

    def boundary_numbers(self) -> list[NDArray[np.uint64]]:
        """For each shard the numbers of the boundary vertices that it owns."""
        return [
            self.numbers[run] if at != self.index else np.empty(0, np.uint64)
            for at, run in enumerate(self.runs)
        ]

    def connect(self, numbers: Sequence[NDArray[np.uint64]]) -> None:
        """Gets from each shard the numbers of the vertices of this one in its boundary."""
        first = np.uint64(self.entry.first_vertex)
        self.mirrored = [(part - first).astype(np.uint32) for part in numbers]
        self.native.connect([part.tobytes() for part in self.mirrored])

    def degrees(self, direction: Direction = "out") -> NDArray[np.uint64]:
        """The lengths of the lists of its own vertices: `uint64`, shape (count,)."""
        degrees = self.graph.degree(direction=direction)
        assert isinstance(degrees, np.ndarray)
        own: NDArray[np.uint64] = degrees[self.own].copy()
        return own

    # Lists --------------------------------------------------------------------------------------

    def end_visits(self) -> None:
        """Releases what the passes of programs have in memory."""
        self._visits.clear()
        self._run = None

    def start(self, algorithm: str, options: dict[str, Any]) -> _cenote.ShardRun:
        """A run of an algorithm whose supersteps are compiled. One at a time.

        Pages stay in memory if the run before was of the same algorithm.
        """
        if self._run is None or not self._run.restart(algorithm, options):
            self.end_visits()
            self._run = self.native.run(algorithm, options, self.memory, self.threads)
        return self._run

    def reserve(self, array_bytes: int, directions: Sequence[Direction], *, weights: bool) -> None:
        """Divides the memory: arrays of a program, and what is left for its passes over lists.

        Args:
            array_bytes: of all arrays of the program.
            directions: of the lists that it reads.
            weights: whether it reads them with weights.

        Raises:
            MemoryBudget: too little is left.
        """
        self.end_visits()
        held = self.numbers.nbytes + sum(part.nbytes for part in self.mirrored)
        # An eighth is for what Python does not give back at once.
        left = self.memory - self.memory // 8 - held - array_bytes
        visits = len(directions)
        self._visit_memory = left // 3 // visits
        # A quarter for the arrays of a batch here, a quarter of a visit for batches that are read.
        edges = min(left // 4 // EDGE_BYTES, self._visit_memory // 4 // READ_EDGE_BYTES)
        self._batch_edges = max(edges, 1)
        try:
            # Also finds out whether it suffices.
            for direction in directions:
                self._visit(direction, weights=weights)
        except (MemoryBudget, OverflowError):
            least = held + array_bytes + (16 << 20) * visits
            reason = f"give at least {-(-least // (1 << 20))}MiB as `memory`, or cut more shards"
            given = f"a memory budget of {self.memory} bytes is too small for shard {self.index}"
            raise MemoryBudget(
                f"{given}: {held} bytes of numbers of vertices, {array_bytes} of their values; "
                f"{reason}"
            ) from None

    def _visit(self, direction: Direction, *, weights: bool) -> Visit:
        key = (direction, weights)
        if key not in self._visits:
            self._visits[key] = self.graph.visit(
                np.empty(0, np.uint32),
                direction=direction,
                weights=weights,
                memory=max(self._visit_memory, 0),
                threads=self.threads,
                batch_edges=self._batch_edges,
            )
        return self._visits[key]

    def lists(
        self,
        own: NDArray[Any] | None = None,
        *,
        direction: Direction = "out",
        weights: bool = False,
    ) -> Iterator[Batch]:
        """The lists of own vertices, by their own places or as a mask [all], in batches.

        Vertices and targets of a batch are places.
        """
        visit = self._visit(direction, weights=weights)
        if own is None:
            frontier = np.arange(self.own.start, self.own.stop)
        else:
            frontier = (np.flatnonzero(own) if own.dtype == bool else own) + self.own.start
        if len(frontier) > 0:
            yield from visit.of(frontier.astype(np.uint32))

    # Exchange -----------------------------------------------------------------------------------

    def to_owners(
        self, values: NDArray[Any], present: NDArray[np.bool_] | None = None
    ) -> list[Mail]:
        """Messages to each shard with the values of the boundary vertices that it owns.

        Args:
            values: by place, shape (places,).
            present: where there is a value to be sent [everywhere].
        """
        return [
            None
            if at == self.index
            else encode(values[run], None if present is None else present[run])
            for at, run in enumerate(self.runs)
        ]

    def to_mirrors(
        self, values: NDArray[Any], present: NDArray[np.bool_] | None = None
    ) -> list[Mail]:
        """Messages to each shard with the values of own vertices that are in its boundary.

        Args:
            values: of own vertices, shape (count,).
            present: where there is a value to be sent [everywhere].
        """
        return [
            None
            if at == self.index
            else encode(values[own], None if present is None else present[own])
            for at, own in enumerate(self.mirrored)
        ]

    def combine(self, inbox: Sequence[Mail], into: NDArray[Any], ufunc: np.ufunc) -> None:
        """Combines what other shards have sent to the owner into values of own vertices."""
        for own, message in zip(self.mirrored, inbox, strict=True):
            if message is not None:
                # A vertex is once in a list, so no combination is lost.
                places = message.places(own)
                into[places] = ufunc(into[places], message.values)

    def refresh(self, inbox: Sequence[Mail], into: NDArray[Any]) -> None:
        """Puts what owners have sent into values by place."""
        for run, message in zip(self.runs, inbox, strict=True):
            if message is not None:
                part = into[run]
                part[slice(None) if message.positions is None else message.positions] = (
                    message.values
                )
