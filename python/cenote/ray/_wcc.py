"""Weakly connected components, equal to those of `Graph.wcc`: labelled by their smallest vertex.

One pass joins what is connected within a shard, its boundary included. Then shards exchange labels
of boundary vertices until none changes: each component of a shard takes the smallest label that one
of its vertices got. So the number of supersteps does not depend on the length of paths within
shards, but on how often a path changes its shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._exchange import Mail
from ._program import Program, Report, Shared, sent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Shard


def roots(parents: NDArray[np.uint32], vertices: NDArray[Any]) -> NDArray[np.uint32]:
    """The roots of vertices in a forest."""
    found: NDArray[np.uint32] = parents[vertices]
    while True:
        above = parents[found]
        if np.array_equal(above, found):
            return found
        found = above


def join(parents: NDArray[np.uint32], left: NDArray[Any], right: NDArray[Any]) -> None:
    """Joins the trees of pairs of vertices: the larger root comes below the smaller one."""
    while True:
        parents[left] = left_roots = roots(parents, left)
        parents[right] = right_roots = roots(parents, right)
        differs = left_roots != right_roots
        if not differs.any():
            return
        left, right = left_roots[differs], right_roots[differs]
        # Of several that a root is to come below, one is taken; the other pairs are tried again.
        np.minimum.at(parents, np.maximum(left, right), np.minimum(left, right))


class WccProgram(Program):
    """Labels of components.

    An edge of an undirected graph is in the shards of both its ends, so it suffices to send labels
    to the owners. That of a directed graph without in-edges is in one shard: in odd supersteps
    owners send labels back.
    """

    name = "wcc"
    of_vertices = ("component",)

    def __init__(self, *, directed: bool, one_sided: bool) -> None:
        super().__init__()
        self.one_sided = one_sided
        self.directions = ("out", "in") if directed and not one_sided else ("out",)

    def array_bytes(self, own: int, boundary: int) -> int:
        return 48 * own + 52 * boundary

    def begin(self, shard: Shard) -> None:
        self.state = {"root": np.arange(shard.places, dtype=np.uint32)}

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        if superstep == 0:
            self._join(shard)
        root, label = self.state["root"], self.state["label"]
        given = label[root]
        if self.one_sided and superstep > 0 and superstep % 2 == 0:
            shard.refresh(inbox, given)
        else:
            shard.combine(inbox, given[shard.own], np.minimum)
        np.minimum.at(label, root, given)
        found = label[root]
        if self.one_sided and superstep % 2 == 1:
            is_new = found[shard.own] < self.state["shown"]
            self.state["shown"] = found[shard.own].copy()
            messages = shard.to_mirrors(found[shard.own], is_new)
        else:
            is_new = found < self.state["sent"]
            is_new[shard.own] = False
            self.state["sent"] = found
            messages = shard.to_owners(found, is_new)
        named = np.count_nonzero(found[shard.own] == shard.own_numbers())
        return messages, {"going": sent(messages), "components": int(named)}

    def _join(self, shard: Shard) -> None:
        root = self.state["root"]
        for direction in self.directions:
            for batch in shard.lists(direction=direction):
                join(root, batch.sources(), batch.targets)
        self.state["root"] = root = roots(root, np.arange(shard.places))
        # Of its root, the smallest number of a component is the label; numbers ascend by place.
        self.state["label"] = shard.numbers.copy()
        # What others know already: a boundary vertex is at first in a component of its own.
        self.state["sent"] = shard.numbers.copy()
        self.state["shown"] = shard.own_numbers().copy()

    def first(self) -> Shared:
        return {"quiet": 0}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        shared["quiet"] = 0 if any(report["going"] for report in reports) else shared["quiet"] + 1
        # One-sided, labels go both ways before nothing can change any more.
        return shared if shared["quiet"] < (2 if self.one_sided else 1) else None

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"components": sum(report["components"] for report in reports)}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        found = self.state["label"][self.state["root"]]
        return {"component": found[shard.own]}
