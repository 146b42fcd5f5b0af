"""Core numbers and label propagation, equal to those of `Graph.kcore` and `Graph.cdlp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._visit import Batch
from ..errors import InvalidInput
from ._exchange import Mail
from ._program import Program, Report, Shared, quiet, sent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Direction, Shard


Lists: TypeAlias = "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"
"""Vertices, labels and counts, a row for each label of a vertex."""


def both(directed: bool) -> tuple[Direction, ...]:
    """The directions of lists that together have each edge at both its ends."""
    return ("out", "in") if directed else ("out",)


class KcoreProgram(Program):
    """Core numbers by peeling: each list is read once, when its vertex is removed.

    For k = 0, 1.. vertices of degree k or less are removed, in a shard until none of its own is
    left; then it sends how many edges boundary vertices have lost. When no shard sends anything,
    k becomes the least degree of the vertices that remain.
    """

    name = "kcore"

    def __init__(self, *, directed: bool, self_loops: bool) -> None:
        super().__init__()
        self.directed, self.self_loops = directed, self_loops
        self.directions = both(directed)

    def array_bytes(self, own: int, boundary: int) -> int:
        return 40 * own + 24 * boundary

    def begin(self, shard: Shard) -> None:
        degree = shard.degrees("out").astype(np.int64)
        if self.directed:
            degree += shard.degrees("in").astype(np.int64)
        if self.self_loops:
            for direction in both(self.directed):
                for batch in shard.lists(direction=direction):
                    loops = batch.targets[batch.sources() == batch.targets] - shard.own.start
                    np.subtract.at(degree, loops, 1)
        self.state = {
            "degree": degree,
            "core": np.zeros(shard.count, np.uint32),
            "alive": np.ones(shard.count, bool),
        }

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        degree, alive, k = self.state["degree"], self.state["alive"], shared["k"]
        lost = np.zeros(shard.count, np.uint32)
        shard.combine(inbox, lost, np.add)
        degree -= lost
        local = np.zeros(shard.places, np.uint32)
        while len(removed := np.flatnonzero(alive & (degree <= k))) > 0:
            alive[removed] = False
            self.state["core"][removed] = k
            for direction in both(self.directed):
                for batch in shard.lists(removed, direction=direction):
                    np.add.at(local, batch.targets, np.uint32(1))
            degree -= local[shard.own]
            local[shard.own] = 0
        messages = shard.to_owners(local, local > 0)
        remaining = degree[alive]
        least = int(remaining.min()) if len(remaining) else None
        return messages, {"going": sent(messages), "least": least}

    def first(self) -> Shared:
        return {"k": 0}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        if any(report["going"] for report in reports):
            return shared
        least = [report["least"] for report in reports if report["least"] is not None]
        return {"k": max(min(least), shared["k"])} if least else None

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"degeneracy": shared["k"]}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {"core": self.state["core"]}


class CdlpProgram(Program):
    """Label propagation as LDBC Graphalytics defines it: owners send labels that have changed.

    In an iteration every vertex takes the most frequent label of its neighbours, of equally
    frequent ones the smallest; a neighbour counts once for each direction with an edge.
    """

    name = "cdlp"
    of_vertices = ("label",)

    def __init__(self, iterations: int, *, directed: bool) -> None:
        super().__init__()
        if iterations < 0:
            raise InvalidInput(f"iterations is {iterations}: 0 or more are needed")
        self.iterations, self.directed = iterations, directed
        self.directions = both(directed)
        self.total = iterations + 1

    def array_bytes(self, own: int, boundary: int) -> int:
        return 48 * own + 40 * boundary

    def begin(self, shard: Shard) -> None:
        # Without a message a boundary vertex has its own number as label, as at its owner.
        self.state = {"label": shard.numbers.copy()}

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        label = self.state["label"]
        if superstep == 0:
            return quiet(shard), {"changed": shard.count}
        shard.refresh(inbox, label)
        after = self._propagated(shard, label)
        changed = after != label[shard.own]
        label[shard.own] = after
        is_last = superstep >= self.iterations
        messages = quiet(shard) if is_last else shard.to_mirrors(after, changed)
        return messages, {"changed": int(np.count_nonzero(changed))}

    def _propagated(self, shard: Shard, label: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The labels of own vertices after an iteration."""
        after: NDArray[np.uint64] = label[shard.own].copy()
        if not self.directed:
            take(after, shard, shard.lists(), label)
            return after
        # Of some vertices at a time both lists are needed.
        entries = np.cumsum(shard.degrees("out") + shard.degrees("in"))
        first = 0
        while first < shard.count:
            done = entries[first - 1] if first else np.uint64(0)
            end = int(np.searchsorted(entries, done + np.uint64(shard.batch_edges), "right"))
            end = max(end, first + 1)
            own = np.arange(first, end)
            batches = [shard.lists(own, direction=direction) for direction in both(True)]
            take(after, shard, (b for part in batches for b in part), label, keep=True)
            first = end
        return after

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        is_still = not any(report["changed"] for report in reports)
        return None if is_still or superstep >= self.iterations else shared

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"iterations": superstep}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {"label": self.state["label"][shard.own]}


def take(
    after: NDArray[np.uint64],
    shard: Shard,
    batches: Any,
    label: NDArray[np.uint64],
    *,
    keep: bool = False,
) -> None:
    """Gives vertices the most frequent labels of their lists.

    Args:
        after: the labels of own vertices.
        shard: the shard.
        batches: lists of own vertices.
        label: the labels before, by place.
        keep: whether any list may go on in any later batch; else that of the last vertex of a
            batch in the next one.
    """
    held: Lists = (
        np.empty(0, np.uint32),
        np.empty(0, np.uint64),
        np.empty(0, np.int64),
    )
    batch: Batch
    for batch in batches:
        labels = label[batch.targets]
        ones = np.ones(len(labels), np.int64)
        held = counted(
            np.concatenate((held[0], batch.sources())),
            np.concatenate((held[1], labels)),
            np.concatenate((held[2], ones)),
        )
        if not keep:
            assign(after, shard, held)
            is_last = held[0] == batch.vertices[-1]
            held = (held[0][is_last], held[1][is_last], held[2][is_last])
    assign(after, shard, held)


def counted(vertices: NDArray[Any], labels: NDArray[Any], counts: NDArray[Any]) -> Lists:
    """Each label of each vertex once, with the sum of its counts, by vertex and label."""
    order = np.lexsort((labels, vertices))
    vertices, labels, counts = vertices[order], labels[order], counts[order]
    if len(vertices) == 0:
        return vertices, labels, counts
    differs = (vertices[1:] != vertices[:-1]) | (labels[1:] != labels[:-1])
    starts = np.flatnonzero(np.concatenate(([True], differs)))
    return vertices[starts], labels[starts], np.add.reduceat(counts, starts)


def assign(after: NDArray[np.uint64], shard: Shard, held: Lists) -> None:
    """Gives each vertex its label of the largest count, of several the smallest."""
    vertices, labels, counts = held
    # By vertex, then the most frequent label, then the smallest.
    order = np.lexsort((labels, -counts, vertices))
    is_first = np.concatenate(([True], np.diff(vertices[order]) != 0))[: len(order)]
    first = order[is_first]
    after[vertices[first] - shard.own.start] = labels[first]
