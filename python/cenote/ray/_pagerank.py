"""PageRank, equal to the last bit to that of `Graph.pagerank`, for any number of shards."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InvalidInput
from ._program import KernelProgram, Report, Shared

ONE = float(2**62)


def from_fixed(total: int) -> float:
    """The mass of a sum in steps of 2^-62, which wraps as 64-bit integers do."""
    return float(total % 2**64) / ONE


class PageRankProgram(KernelProgram):
    """Ranks. Where shards have in-lists, owners send what a vertex gives each of its neighbours to
    those who have it in their boundary; else shards send what boundary vertices get."""

    name = "pagerank"

    def __init__(self, damping: float, iterations: int, tolerance: float | None) -> None:
        if not 0 <= damping <= 1:
            raise InvalidInput(f"damping is {damping}: a probability from 0 to 1 is needed")
        if iterations < 0:
            raise InvalidInput(f"iterations is {iterations}: 0 or more are needed")
        if tolerance is not None and not 0 < tolerance < math.inf:
            raise InvalidInput(f"tolerance is {tolerance}: a positive number is needed")
        self.damping, self.iterations, self.tolerance = damping, iterations, tolerance
        self.total = iterations + 1

    def options(self) -> dict[str, Any]:
        return {"damping": self.damping}

    def first(self) -> Shared:
        return {"dangling": 0}

    def words(self, superstep: int, shared: Shared) -> list[int]:
        return [shared["dangling"], int(superstep >= self.iterations)]

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
