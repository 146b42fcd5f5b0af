"""Breadth-first search and shortest paths, equal to those of `Graph.bfs` and `Graph.sssp`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ._exchange import Mail
from ._program import Program, Report, Shared, quiet, sent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Shard

UNREACHED = 2**32 - 1
"""The level of a vertex that is not reached, as in `cenote.UNREACHED`."""
NO_NUMBER = 2**64 - 1
"""The parent of a vertex that has none."""


def own_places(shard: Shard, numbers: Sequence[int]) -> NDArray[np.int64]:
    """The own places of those of the numbers that the shard owns."""
    first = shard.entry.first_vertex
    found = [number - first for number in numbers if 0 <= number - first < shard.count]
    return np.array(sorted(set(found)), np.int64)


class BfsProgram(Program):
    """Levels, and with `parents` the in-neighbour on the level before with the smallest number.

    In superstep t the vertices of level t get it. A boundary vertex is sent once, when the shard
    first reaches it: a later candidate would be of a higher level.
    """

    name = "bfs"
    of_vertices = ("parent",)
    missing: Mapping[str, float] = MappingProxyType({"level": UNREACHED, "parent": NO_NUMBER})

    def __init__(self, sources: Sequence[int], *, parents: bool) -> None:
        super().__init__()
        self.sources, self.parents = list(sources), parents

    def array_bytes(self, own: int, boundary: int) -> int:
        return (40 if self.parents else 16) * own + (34 if self.parents else 6) * boundary

    def begin(self, shard: Shard) -> None:
        self.state = {
            "level": np.full(shard.count, UNREACHED, np.uint32),
            "known": np.zeros(shard.places, bool),
            "next": self._none(shard.count),
        }
        if self.parents:
            self.state["parent"] = np.full(shard.count, NO_NUMBER, np.uint64)
        own = own_places(shard, self.sources)
        found = shard.own_numbers()[own] if self.parents else True
        self.state["next"][own] = found

    def _none(self, count: int) -> NDArray[Any]:
        """Candidates where there are none: of the parent, or whether a vertex is reached."""
        if self.parents:
            return np.full(count, NO_NUMBER, np.uint64)
        return np.zeros(count, bool)

    def _is_found(self, candidates: NDArray[Any]) -> NDArray[np.bool_]:
        return candidates != NO_NUMBER if self.parents else candidates

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        ufunc = np.minimum if self.parents else np.logical_or
        level, known, reached = self.state["level"], self.state["known"], self.state["next"]
        shard.combine(inbox, reached, ufunc)
        frontier = np.flatnonzero(self._is_found(reached) & (level == UNREACHED))
        level[frontier] = superstep
        known[shard.own.start + frontier] = True
        if self.parents:
            self.state["parent"][frontier] = reached[frontier]
        local = self._none(shard.places)
        for batch in shard.lists(frontier):
            is_new = ~known[batch.targets]
            targets = batch.targets[is_new]
            if self.parents:
                lengths = np.diff(batch.offsets)
                numbers = np.repeat(shard.numbers[batch.vertices], lengths)
                np.minimum.at(local, targets, numbers[is_new])
            else:
                local[targets] = True
        self.state["next"] = local[shard.own].copy()
        found = self._is_found(local)
        waiting = int(np.count_nonzero(found[shard.own]))
        found[shard.own] = False
        known |= found
        messages = shard.to_owners(local, found)
        report = {"reached": len(frontier), "going": waiting + sent(messages)}
        return messages, report

    def first(self) -> Shared:
        return {"reached": 0, "depth": 0}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        count = sum(report["reached"] for report in reports)
        shared["reached"] += count
        shared["depth"] = superstep if count else shared["depth"]
        return shared if any(report["going"] for report in reports) else None

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        reached = shared["reached"] + sum(report["reached"] for report in reports)
        any_new = any(report["reached"] for report in reports)
        return {"reached": reached, "depth": superstep if any_new else shared["depth"]}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {name: self.state[name] for name in ("level", "parent") if name in self.state}


class SsspProgram(Program):
    """Distances: the minimum over all paths of the sum from the source on, as `Graph.sssp`.

    In a superstep a shard shortens distances until its own lists yield no shorter one; then it
    sends those of boundary vertices that became shorter. Minima do not depend on the order.
    """

    name = "sssp"

    def __init__(self, sources: Sequence[int], weights: str | None) -> None:
        super().__init__()
        self.sources, self.weights = list(sources), weights
        self.reads_weights = weights is not None
        self.dtype = np.dtype(np.float64 if weights in ("f32", "f64") else np.uint64)
        self.missing = {"distance": np.nan if self.dtype.kind == "f" else NO_NUMBER}

    @property
    def _far(self) -> Any:
        """The distance of a vertex that is not reached, while distances are found."""
        return np.inf if self.dtype.kind == "f" else np.uint64(NO_NUMBER)

    def array_bytes(self, own: int, boundary: int) -> int:
        return 34 * own + 42 * boundary

    def begin(self, shard: Shard) -> None:
        local = np.full(shard.places, self._far, self.dtype)
        self.state = {"distance": local, "sources": own_places(shard, self.sources)}

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        local = self.state["distance"]
        before = local.copy()
        own = local[shard.own]
        shard.combine(inbox, own, np.minimum)
        if superstep == 0:
            own[self.state["sources"]] = 0
        frontier = np.flatnonzero(own < before[shard.own])
        while len(frontier) > 0:
            improved = [np.empty(0, np.uint32)]
            for batch in shard.lists(frontier, weights=self.reads_weights):
                starts = np.repeat(local[batch.vertices], np.diff(batch.offsets))
                ends = self._ends(starts, batch.weights)
                improved.append(np.unique(batch.targets[ends < local[batch.targets]]))
                np.minimum.at(local, batch.targets, ends)
            found = np.unique(np.concatenate(improved)).astype(np.int64) - shard.own.start
            frontier = found[(found >= 0) & (found < shard.count)]
        shorter = local < before
        shorter[shard.own] = False
        messages = shard.to_owners(local, shorter)
        return messages, {"going": sent(messages)}

    def _ends(self, starts: NDArray[Any], weights: NDArray[np.float64] | None) -> NDArray[Any]:
        """The distances behind edges."""
        if weights is None:
            following: NDArray[Any] = np.add(starts, 1, dtype=self.dtype)
            return following
        if len(weights) and not weights.min() >= 0:
            least = weights[~(weights >= 0)][0]
            raise InvalidInput(f"the graph has an edge of weight {least}: 0 or more is needed")
        lengths = weights.astype(self.dtype)
        ends: NDArray[Any] = starts + lengths
        # Integers wrap, and floating-point numbers become infinite.
        if (ends < lengths).any() or (ends >= self._far).any():
            raise InvalidInput(f"a path is longer than {self.dtype} holds")
        return ends

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        return shared if any(report["going"] for report in reports) else None

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        own = self.state["distance"][shard.own]
        return {"distance": np.where(own == np.inf, np.nan, own) if own.dtype.kind == "f" else own}


class DegreesProgram(Program):
    """Degrees. Where shards have no in-lists, in-degrees are counted at the targets and added."""

    name = "degrees"

    def __init__(self, *, directed: bool, in_edges: bool) -> None:
        super().__init__()
        self.directed, self.in_edges = directed, in_edges
        self.counts = directed and not in_edges
        self.total = 2 if self.counts else 1

    def array_bytes(self, own: int, boundary: int) -> int:
        return 32 * own + 24 * boundary

    def begin(self, shard: Shard) -> None:
        self.state = {"out": shard.degrees("out")}
        if self.in_edges:
            self.state["in"] = shard.degrees("in")

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        if not self.counts:
            return quiet(shard), {}
        if superstep > 0:
            shard.combine(inbox, self.state["in"], np.add)
            return quiet(shard), {}
        local = np.zeros(shard.places, np.uint64)
        for batch in shard.lists():
            np.add.at(local, batch.targets, np.uint64(1))
        self.state["in"] = local[shard.own].copy()
        return shard.to_owners(local, local > 0), {}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        return shared if self.total is not None and superstep + 1 < self.total else None

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        if not self.directed:
            return {"degree": self.state["out"]}
        return {"out_degree": self.state["out"], "in_degree": self.state["in"]}
