"""Core numbers and label propagation, equal to those of `Graph.kcore` and `Graph.cdlp`."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ._program import KernelProgram, Report, Shared


class KcoreProgram(KernelProgram):
    """Core numbers: bounds fall from the degrees on until those of all neighbours allow them.

    In the first superstep owners send degrees to the shards that have their vertices in the
    boundary, in later ones the bounds that fell.
    """

    name = "kcore"

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        is_stable = not any(report["sent"] or report["waiting"] for report in reports)
        # The first round is in the second superstep, also where nothing has to be sent.
        return None if superstep > 0 and is_stable else shared

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"degeneracy": max(report["most"] for report in reports)}


class CdlpProgram(KernelProgram):
    """Label propagation as LDBC Graphalytics defines it: owners send labels that have changed.

    In an iteration every vertex takes the most frequent label of its neighbours, of equally
    frequent ones the smallest; a neighbour counts once for each direction with an edge.
    """

    name = "cdlp"
    of_vertices = ("label",)

    def __init__(self, iterations: int) -> None:
        if iterations < 0:
            raise InvalidInput(f"iterations is {iterations}: 0 or more are needed")
        self.iterations, self.total = iterations, iterations + 1

    def words(self, superstep: int, shared: Shared) -> list[int]:
        return [int(superstep >= self.iterations)]

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        is_still = not any(report["changed"] for report in reports)
        return None if is_still or superstep >= self.iterations else shared

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"iterations": superstep}
