"""The processes of the shards: where they run, and new ones in place of dead ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..errors import CenoteError, DeviceError, FileMissing
from ._actor import ShardActor

if TYPE_CHECKING:
    from ._manifest import Manifest

T = TypeVar("T")

UNSCHEDULABLE: tuple[type[BaseException], ...] = (
    exceptions.ActorUnschedulableError,
    exceptions.TaskUnschedulableError,
)
"""A node is gone, or has not what a process needs."""

LOST: tuple[type[BaseException], ...] = (
    *UNSCHEDULABLE,
    exceptions.RayActorError,
    exceptions.ObjectLostError,
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.OutOfMemoryError,
)
"""A process or an object is gone: what depends on it is done again."""

NO_ANSWER: tuple[type[BaseException], ...] = (*LOST, exceptions.GetTimeoutError)
NOT_PLACED: tuple[type[BaseException], ...] = (*UNSCHEDULABLE, exceptions.GetTimeoutError)


def is_lost(error: BaseException) -> bool:
    """Whether a process or an object is gone, also where a call that needed it reports that."""
    cause = getattr(error, "cause", None)
    return isinstance(error, LOST) or isinstance(cause, LOST)


def get(refs: Any, timeout: float | None = None) -> Any:
    """`ray.get`, with exceptions of this package as they were raised."""
    try:
        return ray.get(refs, timeout=timeout)
    except exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, CenoteError):
            raise cause from None
        raise


def is_alive(ping: Any) -> bool:
    """Whether a process answers."""
    try:
        get(ping)
    except LOST:
        return False
    return True


@dataclass(frozen=True)
class Options:
    """How the processes run."""

    memory: int
    threads: int | None
    cpus: float
    copy_to: str | None
    restarts: int
    start_seconds: float


def present(paths: Sequence[str]) -> list[bool]:
    """Whether files are on this machine; runs on each node."""
    return [Path(path).is_file() for path in paths]


def placed(found: dict[str, list[bool]], shards: int) -> list[str]:
    """A node for each shard that has its file, so that nodes get nearly equally many.

    Args:
        found: of each node whether it has the file of each shard.
        shards: how many.

    Raises:
        FileMissing: no node has the file of a shard.
    """
    counts = dict.fromkeys(found, 0)
    nodes: list[str] = [""] * shards
    # Those with the fewest nodes first, for they have no choice.
    for shard in sorted(range(shards), key=lambda at: sum(has[at] for has in found.values())):
        having = [node for node, has in found.items() if has[shard]]
        if not having:
            raise FileMissing(f"no node of the Ray cluster has the file of shard {shard}")
        node = min(having, key=lambda name: counts[name])
        counts[node] += 1
        nodes[shard] = node
    return nodes


class Cluster:
    """An actor for each shard."""

    def __init__(self, manifest: Manifest, options: Options) -> None:
        self.manifest, self.options = manifest, options
        self.restarts = 0
        self.hub = 0
        """The number of a vertex with the longest list."""
        self.actors: list[Any] = [None] * len(manifest)
        self.is_open = False
        try:
            self._start(range(len(manifest)), self._nodes())
        except BaseException:
            self.close()
            raise
        self.is_open = True

    def close(self) -> None:
        """Ends the processes."""
        actors, self.actors = self.actors, []
        for actor in actors:
            if actor is not None and ray.is_initialized():
                ray.kill(actor)

    def _nodes(self) -> list[str] | None:
        """The node for each shard; None where there is one node alone."""
        alive = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        if len(alive) <= 1:
            return None
        paths = [os.path.join(self.manifest.folder, s.file) for s in self.manifest.shards]
        probe = ray.remote(present)
        asked = {
            node: probe.options(
                num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
            ).remote(paths)
            for node in alive
        }
        found = {node: self._found(ref) for node, ref in asked.items()}
        return placed(found, len(self.manifest))

    def _found(self, ref: Any) -> list[bool]:
        """What a node has found; nothing if it is gone, or does not answer."""
        try:
            found: list[bool] = get(ref, self.options.start_seconds)
        except NO_ANSWER:
            return [False] * len(self.manifest)
        return found

    def _start(self, shards: Sequence[int], nodes: list[str] | None) -> None:
        """Starts actors, and tells them which of their vertices others have in their boundary."""
        options = self.options
        remote = ray.remote(ShardActor)
        for shard in shards:
            own: dict[str, Any] = {"num_cpus": options.cpus, "memory": options.memory}
            if nodes is not None:
                own["scheduling_strategy"] = NodeAffinitySchedulingStrategy(
                    nodes[shard], soft=options.copy_to is not None
                )
            self.actors[shard] = remote.options(**own).remote(self.manifest, shard)
        opened = [
            self.actors[shard].open.remote(options.memory, options.threads, options.copy_to)
            for shard in shards
        ]
        try:
            hubs = get(opened, options.start_seconds)
        except NOT_PLACED as error:
            if self.is_open and not isinstance(error, exceptions.GetTimeoutError):
                # A node may have gone meanwhile: another one is looked for.
                raise
            have = ray.cluster_resources().get("CPU", 0)
            raise DeviceError(
                f"not all of {len(self.manifest)} shards have a process after "
                f"{options.start_seconds:g} s: each takes {options.cpus:g} CPUs and "
                f"{options.memory} bytes, and the Ray cluster has {have:g} CPUs: "
                "give fewer as `cpus`, less `memory`, or more nodes"
            ) from None
        # The same for all runs: a process that replaces a dead one has the same file.
        if not self.is_open:
            self.hub = max(hubs)[1]
        parts = len(self.manifest) + 1
        numbers = [
            actor.boundary_numbers.options(num_returns=parts).remote() for actor in self.actors
        ]
        get([self.actors[s].connect.remote(*(part[1 + s] for part in numbers)) for s in shards])

    def revive(self) -> list[int]:
        """Starts new actors in place of dead ones. Returns their shards.

        Raises:
            DeviceError: as often as `restarts` since the last call of `progressed`.
        """
        for tries in count():
            # Ray takes a moment to notice that a node is gone.
            time.sleep(min(tries, 5))
            self.restarts += 1
            if self.restarts > self.options.restarts:
                raise DeviceError(
                    f"processes of shards died {self.restarts} times without a new superstep: "
                    "the logs of Ray say why; often they have too little memory"
                )
            pings = [actor.ping.remote() for actor in self.actors]
            dead = [shard for shard, ping in enumerate(pings) if not is_alive(ping)]
            if not dead:
                return dead
            try:
                self._start(dead, self._nodes())
                return dead
            except Exception as error:
                if not is_lost(error):
                    raise
        raise AssertionError("the loop ends by returning or raising")

    def progressed(self) -> None:
        """Processes have done something that none had done before."""
        self.restarts = 0

    def retry(self, work: Callable[[], T]) -> T:
        """The result of `work`, which is done again when a process died meanwhile."""
        while True:
            try:
                found = work()
                self.progressed()
                return found
            except Exception as error:
                if not is_lost(error):
                    raise
            self.revive()
