"""What an algorithm on shards is: supersteps of each shard, and a decision between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ._exchange import Mail, Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .. import _cenote
    from ._shard import Shard

Report: TypeAlias = "dict[str, Any]"
"""What a shard tells the driver of a superstep: a few numbers."""
Shared: TypeAlias = "dict[str, Any]"
"""What the driver tells all shards for a superstep: a few numbers."""


State: TypeAlias = "dict[str, Any]"
"""Arrays and numbers that a checkpoint keeps, by name."""


class Program(ABC):
    """An algorithm. Each shard has a copy of it, with a state; the driver has one without.

    A superstep depends on the state, what other shards have sent, and what the driver tells alone,
    so it can be repeated from a checkpoint with the same result.
    """

    name: str
    total: int | None = None
    """Supersteps, where they are known."""

    @abstractmethod
    def begin(self, shard: Shard, state: State | None) -> None:
        """Sets the state before the first superstep, or that of a checkpoint.

        Raises:
            MemoryBudget: it does not fit.
        """

    @abstractmethod
    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        """One superstep: what it sends to each shard, and its report."""

    @abstractmethod
    def saved(self) -> State:
        """The state, for a checkpoint."""

    @abstractmethod
    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        """The values of own vertices, by own place. Those named in `of_vertices` are numbers."""

    of_vertices: tuple[str, ...] = ()
    """Columns whose values are numbers of vertices."""
    missing: Mapping[str, float] = {}
    """The value of a column that stands for none."""

    def first(self) -> Shared:
        """The shared values of superstep 0."""
        return {}

    @abstractmethod
    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        """The shared values of the next superstep, or None if this was the last one."""

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        """A summary of the answer, from the shared values and the reports of the last superstep."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """What distinguishes its answer from that of another run."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


class KernelProgram(Program):
    """An algorithm whose supersteps are compiled: those of `_cenote.ShardRun`."""

    _run: _cenote.ShardRun

    def options(self) -> dict[str, Any]:
        """The parameters of its supersteps."""
        return {}

    def words(self, superstep: int, shared: Shared) -> list[int]:
        """The shared values of a superstep for the native part, in the order of the algorithm."""
        return []

    def begin(self, shard: Shard, state: State | None) -> None:
        self._run = shard.start(self.name, self.options())
        if state is not None:
            self._run.restore({name: array.tobytes() for name, array in state.items()})

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        mail = [None if message is None else message.to_bytes() for message in inbox]
        messages, report = self._run.step(superstep, self.words(superstep, shared), mail)
        return [None if arrays is None else Message.of(*arrays) for arrays in messages], report

    def saved(self) -> State:
        return {name: np.asarray(array) for name, array in self._run.state().items()}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {name: np.asarray(array) for name, array in self._run.columns()}


def sent(messages: Sequence[Mail]) -> int:
    """How many values messages have."""
    return sum(len(message.values) for message in messages if message is not None)
