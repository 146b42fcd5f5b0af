"""Weakly connected components, equal to those of `Graph.wcc`: labelled by their smallest vertex."""

from __future__ import annotations

from typing import Any

from ._program import KernelProgram, Report, Shared


class WccProgram(KernelProgram):
    """Labels of components.

    In the first superstep each shard joins what is connected within it. Labels of boundary vertices
    go to their owners in even supersteps, and from owners in odd ones, until none is new.
    """

    name = "wcc"
    of_vertices = ("component",)

    def __init__(self, hub: int) -> None:
        self.hub = hub

    def options(self) -> dict[str, Any]:
        return {"hub": self.hub}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        return shared if any(report["sent"] or report["waiting"] for report in reports) else None

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"components": sum(report["components"] for report in reports)}
