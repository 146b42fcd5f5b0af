"""PageRank, equal to the last bit to that of `Graph.pagerank`, for any number of shards.

Sums are added as integers, so they do not depend on how their terms are grouped.

- `Pull`, where shards have in-lists or the graph is undirected: an owner sends rank / degree to
  those who have the vertex in their boundary, and each vertex adds up its own list, as
  crates/algo/src/pagerank/pull.rs does: each term is split in steps of 2^-51 and 2^-84.
- `Push`, for the others: ranks are added to the targets in steps of 2^-62, as in push.rs, in the
  shard first, then at the owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ._exchange import Mail
from ._program import Program, Report, Shared, quiet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Shard

ONE = float(2**62)
HIGH = 2.0
LOW = 1.5 / 2.0**32
HIGH_STEP = 2.0 / 2.0**52
LOW_STEP = HIGH_STEP / 2.0**33


def to_fixed(mass: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Masses from 0 to 2 in steps of 2^-62."""
    return (mass * ONE).astype(np.uint64)


def fixed_sum(mass: NDArray[np.float64]) -> int:
    """The sum of masses in steps of 2^-62."""
    return int(np.add.reduce(to_fixed(mass), dtype=np.uint64))


def from_fixed(total: int) -> float:
    """The mass of a sum, which wraps as 64-bit integers do."""
    return float(total % 2**64) / ONE


class PageRankProgram(Program):
    """What both ways have in common: the mass without edges, and when it ends."""

    name = "pagerank"

    def __init__(
        self, damping: float, iterations: int, tolerance: float | None, *, directed: bool
    ) -> None:
        super().__init__()
        if not 0 <= damping <= 1:
            raise InvalidInput(f"damping is {damping}: a probability from 0 to 1 is needed")
        if iterations < 0:
            raise InvalidInput(f"iterations is {iterations}: 0 or more are needed")
        if tolerance is not None and not 0 < tolerance < np.inf:
            raise InvalidInput(f"tolerance is {tolerance}: a positive number is needed")
        self.damping, self.iterations, self.tolerance = damping, iterations, tolerance
        self.directed, self.total = directed, iterations + 1

    def array_bytes(self, own: int, boundary: int) -> int:
        return 128 * own + 48 * boundary

    def base(self, shard: Shard, shared: Shared) -> float:
        """The mass of each vertex without that of its neighbours."""
        dangling = from_fixed(shared["dangling"])
        mass = 1.0 - self.damping + self.damping * dangling
        return mass * (1.0 / max(shard.manifest.vertices, 1))

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        change = from_fixed(sum(report["change"] for report in reports))
        is_small = superstep > 0 and self.tolerance is not None and change < self.tolerance
        if superstep >= self.iterations or is_small:
            return None
        return {"dangling": sum(report["dangling"] for report in reports) % 2**64}

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        change = from_fixed(sum(report["change"] for report in reports))
        found: dict[str, Any] = {"iterations": superstep, "change": change if superstep else None}
        if self.tolerance is not None:
            found["converged"] = superstep > 0 and change < self.tolerance
        return found


class Pull(PageRankProgram):
    """Each vertex sums the shares of its in-neighbours."""

    def __init__(
        self, damping: float, iterations: int, tolerance: float | None, *, directed: bool
    ) -> None:
        super().__init__(damping, iterations, tolerance, directed=directed)
        self.directions = ("in",) if directed else ("out",)

    def begin(self, shard: Shard) -> None:
        degree = shard.degrees("out").astype(np.float64)
        start = np.full(shard.count, 1.0 / max(shard.manifest.vertices, 1))
        self.state = {"degree": degree, "shares": shares(start, degree)}

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        degree, change = self.state["degree"], 0
        if superstep > 0:
            before = ranks(self.state["shares"], degree)
            after = self.base(shard, shared) + self.damping * self._sums(shard, inbox)
            change = fixed_sum(np.abs(after - before))
            self.state["shares"] = shares(after, degree)
        own = self.state["shares"]
        report = {"change": change, "dangling": fixed_sum(own[degree == 0])}
        is_last = superstep >= self.iterations
        return (quiet(shard) if is_last else shard.to_mirrors(own)), report

    def _sums(self, shard: Shard, inbox: Sequence[Mail]) -> NDArray[np.float64]:
        """The sum of the shares of the in-neighbours of each own vertex."""
        local = np.zeros(shard.places)
        local[shard.own] = self.state["shares"]
        shard.refresh(inbox, local)
        high = local + HIGH
        low = (local - (high - HIGH)) + LOW
        high_bits, low_bits = high.view(np.uint64), low.view(np.uint64)
        sums = np.zeros((2, shard.count), np.uint64)
        terms = np.zeros(shard.count, np.uint64)
        for batch in shard.lists(direction=self.directions[0]):
            own, starts = batch.vertices - shard.own.start, batch.offsets[:-1]
            sums[0, own] += np.add.reduceat(high_bits[batch.targets], starts)
            sums[1, own] += np.add.reduceat(low_bits[batch.targets], starts)
            terms[own] += np.diff(batch.offsets).astype(np.uint64)
        sums[0] -= np.array(HIGH).view(np.uint64) * terms
        sums[1] -= np.array(LOW).view(np.uint64) * terms
        signed = sums.view(np.int64).astype(np.float64)
        found: NDArray[np.float64] = signed[0] * HIGH_STEP + signed[1] * LOW_STEP
        return found

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {"rank": ranks(self.state["shares"], self.state["degree"])}


def shares(rank: NDArray[np.float64], degree: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a vertex gives each out-neighbour; of one without any its rank."""
    return rank / np.where(degree == 0, 1.0, degree)


def ranks(share: NDArray[np.float64], degree: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ranks of shares."""
    return share * np.where(degree == 0, 1.0, degree)


class Push(PageRankProgram):
    """Each vertex adds to its out-neighbours."""

    def begin(self, shard: Shard) -> None:
        self.state = {
            "degree": shard.degrees("out").astype(np.float64),
            "ranks": np.full(shard.count, 1.0 / max(shard.manifest.vertices, 1)),
            "received": np.zeros(shard.count, np.uint64),
        }

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        change, rank = 0, self.state["ranks"]
        if superstep > 0:
            received = self.state["received"]
            shard.combine(inbox, received, np.add)
            after = self.base(shard, shared) + self.damping * (received / ONE)
            change = fixed_sum(np.abs(after - rank))
            self.state["ranks"] = rank = after
        dangling = fixed_sum(rank[self.state["degree"] == 0])
        report = {"change": change, "dangling": dangling}
        if superstep >= self.iterations:
            return quiet(shard), report
        share = to_fixed(shares(rank, self.state["degree"]))
        local = np.zeros(shard.places, np.uint64)
        for batch in shard.lists():
            own = share[batch.vertices - shard.own.start]
            np.add.at(local, batch.targets, np.repeat(own, np.diff(batch.offsets)))
        self.state["received"] = local[shard.own].copy()
        return shard.to_owners(local), report

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {"rank": self.state["ranks"]}
