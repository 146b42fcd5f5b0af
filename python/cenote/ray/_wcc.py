"""Weakly connected components, equal to those of `Graph.wcc`: labelled by their smallest vertex."""

from __future__ import annotations

from typing import Any

from ._program import KernelProgram, Report, Shared


class WccProgram(KernelProgram):
    """Labels of components.

    In the first superstep each shard joins what is connected within it. Labels of boundary vertices
    go to their owners in even supersteps, and from owners in odd ones, until none is new. The
    component of the hub has the least label; its smallest number is what shards share.
    """

    name = "wcc"
    of_vertices = ("component",)

    def __init__(self, hub: int) -> None:
        self.hub = hub

    def options(self) -> dict[str, Any]:
        return {"hub": self.hub}

    def words(self, superstep: int, shared: Shared) -> list[int]:
        return [shared["least"]] if shared else []

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        least = min(report["least"] for report in reports)
        goes_on = any(report["sent"] or report["unsent"] for report in reports)
        # A shard that has sent nothing knows the smallest number of each of its components.
        is_known = not shared or least == shared["least"]
        return None if is_known and not goes_on else {"least": least}

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"components": sum(report["components"] for report in reports)}
