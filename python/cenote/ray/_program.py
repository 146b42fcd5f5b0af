"""What an algorithm on shards is: supersteps of each shard, and a decision between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ._exchange import Mail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Direction, Shard

Report: TypeAlias = "dict[str, Any]"
"""What a shard tells the driver of a superstep: a few numbers."""
Shared: TypeAlias = "dict[str, Any]"
"""What the driver tells all shards for a superstep: a few numbers."""


class Program(ABC):
    """An algorithm. Each shard has a copy of it, with `state`; the driver has one without.

    A superstep depends on the state, what other shards have sent, and what the driver tells alone,
    so it can be repeated from a checkpoint with the same result. `state` holds NumPy arrays and
    numbers, no more: it is what a checkpoint keeps.
    """

    name: str
    directions: tuple[Direction, ...] = ("out",)
    """The directions of lists that it reads."""
    reads_weights = False
    """Whether it reads lists with weights, and none without."""
    total: int | None = None
    """Supersteps, where they are known."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    @abstractmethod
    def array_bytes(self, own: int, boundary: int) -> int:
        """Bytes of all arrays that it holds at a time, messages included."""

    @abstractmethod
    def begin(self, shard: Shard) -> None:
        """Sets the state before the first superstep."""

    @abstractmethod
    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        """One superstep: what it sends to each shard, and its report."""

    @abstractmethod
    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        """The values of own vertices, by own place. Those named in `of_vertices` are numbers."""

    of_vertices: tuple[str, ...] = ()
    """Columns whose values are numbers of vertices."""
    missing: Mapping[str, float] = {}
    """The value of a column that stands for none."""

    def first(self) -> Shared:
        """What is told for superstep 0."""
        return {}

    @abstractmethod
    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        """What is told for the next superstep, or None if this was the last one."""

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        """A summary of the answer, from what was told for the last superstep and reported of it."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """What distinguishes its answer from that of another run."""
        return {name: value for name, value in vars(self).items() if name != "state"}


def quiet(shard: Shard) -> list[Mail]:
    """Messages that send nothing."""
    return [None] * len(shard.manifest)


def sent(messages: Sequence[Mail]) -> int:
    """How many values messages have."""
    return sum(len(message.values) for message in messages if message is not None)
