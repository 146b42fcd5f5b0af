"""Runs a program: supersteps of all shards, and what is done when a process dies.

The driver moves no values: what a shard sends stays in Ray's object store, and the driver passes
references on. Every few supersteps it keeps a checkpoint: the state of each shard with what its
next superstep receives, as objects or as files. When a process dies, a new one takes its place, and
all shards go on from the checkpoint. A superstep is a pure function of what a checkpoint has, so
the answer is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray import exceptions

from .._options import Listener, PathLike
from ..errors import InvalidInput
from ._actor import Failed
from ._cluster import Cluster, get, is_lost
from ._program import Program, Report, Shared

RESUMED = "checkpoint.json"


@dataclass
class Stats:
    """What a run did.

    Attributes:
        supersteps: of each superstep `bytes` that were exchanged, and `seconds`.
        restarts: how often a process was replaced and supersteps repeated.
        resumed_at: the superstep at which it went on from the files of an earlier run.
        boundary_vertices: vertices of all boundaries: a superstep exchanges at most one value each.
        memory_bytes_max: the most memory that a process took since it was started, but for code.
        seconds: of the run.

    Example:
        >>> stats = sharded.wcc().stats
        >>> stats.restarts, stats.resumed_at, len(stats.supersteps) > 1, stats.seconds > 0
        (0, None, True, True)
        >>> sum(step["bytes"] for step in stats.supersteps) == stats.bytes_exchanged
        True
        >>> stats.boundary_vertices, stats.memory_bytes_max >= 0
        (58811, True)
    """

    boundary_vertices: int
    supersteps: list[dict[str, float]] = field(default_factory=list)
    restarts: int = 0
    resumed_at: int | None = None
    memory_bytes_max: int = 0
    seconds: float = 0.0

    @property
    def bytes_exchanged(self) -> int:
        """Bytes of values that shards have sent each other."""
        return int(sum(step["bytes"] for step in self.supersteps))


@dataclass(frozen=True)
class Checkpoint:
    """Where a run can go on: before a superstep, with an object or a file of each shard."""

    superstep: int
    shared: Shared
    parts: list[Any]


def raise_failed(results: list[Any]) -> list[Any]:
    """The results of calls; an exception that one of them has is raised."""
    for result in results:
        if isinstance(result, Failed):
            result.raise_again()
    return results


class Run:
    """One run of a program."""

    def __init__(
        self,
        cluster: Cluster,
        program: Program,
        *,
        listener: Listener | None,
        checkpoint_every: int,
        checkpoints: PathLike | None,
    ) -> None:
        if checkpoint_every < 1:
            reason = f"is {checkpoint_every}: 1 superstep or more is needed"
            raise InvalidInput(f"checkpoint_every {reason}")
        self._cluster, self._program, self._listener = cluster, program, listener
        self._every = checkpoint_every
        self._folder = None if checkpoints is None else Path(checkpoints).absolute()
        self.stats = Stats(cluster.manifest.boundary_vertices)
        self._checkpoint = self._resumed() or Checkpoint(0, program.first(), [])
        self._furthest = -1

    def run(self) -> tuple[list[Any], dict[str, Any]]:
        """The columns of each shard, as references, and the summary."""
        started = time.perf_counter()
        while True:
            try:
                found = self._supersteps(started)
                break
            except Exception as error:
                if not is_lost(error):
                    raise
            self.stats.restarts += 1
            self._cluster.revive()
        self._cluster.progressed()
        self._clear()
        self.stats.seconds = time.perf_counter() - started
        return found

    def _supersteps(self, started: float) -> tuple[list[Any], dict[str, Any]]:
        actors = self._cluster.actors
        count = len(actors)
        superstep, shared = self._checkpoint.superstep, dict(self._checkpoint.shared)
        parts = self._checkpoint.parts or [None] * count
        begun = [a.begin.remote(self._program, part) for a, part in zip(actors, parts, strict=True)]
        try:
            raise_failed(get(begun))
        except exceptions.ObjectLostError:
            # A checkpoint in memory may go with a node: the run begins again.
            if self._folder is None:
                self._checkpoint = Checkpoint(0, self._program.first(), [])
            raise
        self.stats.supersteps = self.stats.supersteps[: superstep - (self.stats.resumed_at or 0)]
        inbox: list[list[Any]] = [[] for _ in actors]
        while True:
            at = time.perf_counter()
            steps = [
                actor.step.options(num_returns=count + 1).remote(superstep, shared, *mail)
                for actor, mail in zip(actors, inbox, strict=True)
            ]
            if self._listener is not None:
                phase = f"{self._program.name}, superstep"
                self._listener(phase, superstep, self._program.total, at - started)
            reports: list[Report] = raise_failed(get([step[0] for step in steps]))
            self._record(superstep, reports, time.perf_counter() - at)
            following = self._program.decide(superstep, dict(shared), reports)
            if following is None:
                columns = [actor.columns.options(num_returns=2).remote() for actor in actors]
                get([done for done, _ in columns])
                summary = self._program.summary(superstep, shared, reports)
                return [found for _, found in columns], summary
            inbox = [[step[1 + to] for step in steps] for to in range(count)]
            superstep, shared = superstep + 1, following
            if superstep % self._every == 0:
                self._keep(superstep, shared, inbox)

    def _record(self, superstep: int, reports: list[Report], seconds: float) -> None:
        sent = sum(report.pop("bytes_sent") for report in reports)
        most = max(report.pop("memory_bytes") for report in reports)
        self.stats.memory_bytes_max = max(self.stats.memory_bytes_max, most)
        self.stats.supersteps.append({"bytes": sent, "seconds": seconds})
        if superstep > self._furthest:
            self._furthest = superstep
            self._cluster.progressed()

    # Checkpoints --------------------------------------------------------------------------------

    def _keep(self, superstep: int, shared: Shared, inbox: list[list[Any]]) -> None:
        kept = []
        for shard, (actor, mail) in enumerate(zip(self._cluster.actors, inbox, strict=True)):
            path = None if self._folder is None else self._path(superstep, shard)
            kept.append(actor.checkpoint.options(num_returns=2).remote(path, *mail))
        get([done for done, _ in kept])
        before = self._checkpoint
        if self._folder is None:
            self._checkpoint = Checkpoint(superstep, dict(shared), [part for _, part in kept])
            return
        paths = [self._path(superstep, shard) for shard in range(len(kept))]
        self._checkpoint = Checkpoint(superstep, dict(shared), paths)
        found = {"run": self._fingerprint(), "superstep": superstep, "shared": shared}
        partial = self._folder / f".{RESUMED}.{os.getpid()}"
        partial.write_text(json.dumps(found))
        os.replace(partial, self._folder / RESUMED)
        for path in before.parts:
            Path(path).unlink(missing_ok=True)

    def _path(self, superstep: int, shard: int) -> str:
        assert self._folder is not None
        return os.fspath(self._folder / f"superstep-{superstep:08}-shard-{shard:05}.npz")

    def _fingerprint(self) -> str:
        """What says whether a checkpoint is of this run: the graph and all parameters."""
        options = self._program.parameters()
        shards = [shard.crc32 for shard in self._cluster.manifest.shards]
        text = repr((self._program.name, sorted(options.items()), shards))
        return hashlib.sha256(text.encode()).hexdigest()

    def _resumed(self) -> Checkpoint | None:
        """The checkpoint that an interrupted run has left in the folder."""
        if self._folder is None or not (self._folder / RESUMED).is_file():
            return None
        found = json.loads((self._folder / RESUMED).read_text())
        if found["run"] != self._fingerprint():
            reason = "it has a checkpoint of another graph, algorithm or parameters"
            raise InvalidInput(f"{self._folder}: {reason}: remove it, or give another folder")
        self.stats.resumed_at = found["superstep"]
        count = len(self._cluster.manifest)
        paths = [self._path(found["superstep"], shard) for shard in range(count)]
        return Checkpoint(found["superstep"], found["shared"], list(paths))

    def _clear(self) -> None:
        """Removes the checkpoint of a run that is complete."""
        if self._folder is not None:
            (self._folder / RESUMED).unlink(missing_ok=True)
            for path in self._checkpoint.parts:
                Path(path).unlink(missing_ok=True)
