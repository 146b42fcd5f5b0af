"""Searches and degrees, equal to those of `Graph.bfs`, `Graph.sssp` and `Graph.degrees`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ._program import KernelProgram, Report, Shared

UNREACHED = 2**32 - 1
"""The level of a vertex that is not reached, as in `cenote.UNREACHED`."""
NO_NUMBER = 2**64 - 1
"""The parent of a vertex that has none, and the distance of one that is not reached."""
BOTTOM_UP_SHARE = 14
"""A level is expanded bottom-up if its vertices have more than this part of the edges of vertices
that are not reached (alpha in Beamer's paper)."""


def total(reports: list[Report], name: str) -> int:
    """The sum of a number over all shards."""
    return sum(report[name] for report in reports)


class BfsProgram(KernelProgram):
    """Levels, and with `parents` the in-neighbour on the level before with the smallest number.

    In superstep t the vertices of level t are known. If they have few edges, they mark their
    neighbours, and boundary vertices are sent to their owners. If they have many, they are sent to
    those who have them in their boundary, and vertices that are not reached look for them.
    """

    name = "bfs"
    of_vertices = ("parent",)
    missing: Mapping[str, float] = MappingProxyType({"level": UNREACHED, "parent": NO_NUMBER})

    def __init__(self, sources: Sequence[int], *, parents: bool, pulls: bool) -> None:
        self.sources, self.parents, self.pulls = list(sources), parents, pulls

    def options(self) -> dict[str, Any]:
        return {"sources": self.sources, "parents": self.parents}

    def first(self) -> Shared:
        return {"reached": 0, "depth": 0, "was_bottom_up": 0, "bottom_up": 0}

    def words(self, superstep: int, shared: Shared) -> list[int]:
        return [shared["was_bottom_up"], shared["bottom_up"]]

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        count = total(reports, "reached")
        found, sent = total(reports, "found"), total(reports, "sent")
        is_bottom_up = bool(shared["bottom_up"])
        if not (count if is_bottom_up else found + sent):
            return None
        # Of the next level those that are owned where they were found are known. After a step
        # bottom-up none is: then it goes on as the level before suggests.
        edges = total(reports, "edges")
        if not is_bottom_up:
            edges = total(reports, "found_edges") * (found + sent) // max(found, 1)
        goes_up = self.pulls and edges * BOTTOM_UP_SHARE > total(reports, "unvisited_edges")
        return {
            "reached": shared["reached"] + count,
            "depth": superstep if count else shared["depth"],
            "was_bottom_up": int(is_bottom_up),
            "bottom_up": int(goes_up),
        }

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        count = total(reports, "reached")
        return {
            "reached": shared["reached"] + count,
            "depth": superstep if count else shared["depth"],
        }


class SsspProgram(KernelProgram):
    """Distances: the minimum over all paths of the sum from the source on, as `Graph.sssp`.

    In a superstep a shard shortens distances below a bound until its own lists yield no shorter
    one; then it sends those of boundary vertices that became shorter.
    """

    name = "sssp"

    def __init__(self, sources: Sequence[int], weights: str | None) -> None:
        self.sources, self.weights = list(sources), weights
        self.missing = {"distance": np.nan if weights in ("f32", "f64") else NO_NUMBER}

    def options(self) -> dict[str, Any]:
        return {"sources": self.sources}

    def first(self) -> Shared:
        return {"bound": 0}

    def words(self, superstep: int, shared: Shared) -> list[int]:
        return [shared["bound"]]

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        if any(report["sent"] for report in reports):
            return shared
        nearest = min(reports, key=lambda report: report["nearest"])
        return {"bound": nearest["end"]} if nearest["nearest"] != NO_NUMBER else None


class DegreesProgram(KernelProgram):
    """Degrees. Where shards have no in-lists, in-degrees are counted at the targets and added."""

    name = "degrees"

    def __init__(self, *, counts: bool) -> None:
        self.total = 2 if counts else 1

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        return shared if self.total is not None and superstep + 1 < self.total else None
