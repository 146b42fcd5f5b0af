"""Vertex programs of the user's own, in NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ._exchange import UFUNCS, Combine, Mail, neutral
from ._program import Program, Report, Shared, State, sent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._shard import Shard


@dataclass(frozen=True, eq=False)
class Vertices:
    """The own vertices of a shard.

    Attributes:
        count: vertices of the whole graph.
        numbers: their numbers: places among the ids of the graph, ascending: `uint64`,
            shape (vertices,).
        degrees: the lengths of their out-lists: `uint64`, shape (vertices,).

    Example:
        A step of a random walk that starts at all vertices alike:

        >>> class Step(cenote.ray.VertexProgram):
        ...     combine = "sum"
        ...     supersteps = 1
        ...
        ...     def start(self, vertices):
        ...         return 1 / (vertices.count * vertices.degrees)
        ...
        ...     def send(self, edges, values):
        ...         return values[edges.sources]
        ...
        ...     def update(self, vertices, values, received, superstep):
        ...         return received, np.zeros(len(vertices.numbers), bool)
        >>> after = sharded.run(Step())["value"]
        >>> after.shape, float(after.sum().round(9)), int(after.argmax()) == g.vertex_of("libc6")
        ((64245,), 1.0, True)
    """

    count: int
    numbers: NDArray[np.uint64]
    degrees: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges that leave active vertices of a shard, in a batch.

    Attributes:
        sources: for each edge its source, as a place in the values of own vertices: `int64`,
            shape (edges,).
        targets: for each edge the number of its target: `uint64`, shape (edges,).
        weights: `float64`, shape (edges,); None without weights.

    Example:
        The weights of the edges of each vertex, or their number:

        >>> class Strength(cenote.ray.VertexProgram):
        ...     combine = "sum"
        ...     supersteps = 1
        ...
        ...     def start(self, vertices):
        ...         return np.zeros(len(vertices))
        ...
        ...     def send(self, edges, values):
        ...         assert edges.sources.shape == edges.targets.shape
        ...         return np.ones(len(edges.targets)) if edges.weights is None else edges.weights
        ...
        ...     def update(self, vertices, values, received, superstep):
        ...         return received, np.zeros(len(vertices), bool)
        >>> bool((sharded.run(Strength())["value"] == g.degree()).all())
        True
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.uint64]
    weights: NDArray[np.float64] | None


class VertexProgram(ABC):
    """An algorithm that works on all vertices at once, superstep by superstep.

    In a superstep active vertices send a message along each of their out-edges (on an undirected
    graph along all edges). Messages to a vertex are combined, in the shard before they are sent.
    Then `update` gets what each vertex has received, and says which are active next. It ends when
    no vertex is active, or after `supersteps`.

    With `"min"`, `"max"`, and `"sum"` of integers the answer does not depend on the shards; sums of
    floating-point numbers are rounded differently.

    Example:
        The largest number that reaches each vertex:

        >>> class Largest(cenote.ray.VertexProgram):
        ...     combine = "max"
        ...     dtype = np.int64
        ...     weights = False
        ...     supersteps = 100
        ...
        ...     def start(self, vertices):
        ...         return vertices.numbers.astype(np.int64)
        ...
        ...     def send(self, edges, values):
        ...         return values[edges.sources]
        ...
        ...     def update(self, vertices, values, received, superstep):
        ...         after = np.maximum(values, received)
        ...         return after, after > values
        >>> found = sharded.run(Largest())
        >>> len(np.unique(found["value"])) == sharded.wcc().summary["components"]
        True
    """

    combine: Combine = "min"
    """How messages to a vertex become one: `"sum"`, `"min"` or `"max"`."""
    dtype: Any = np.float64
    """The type of messages, of at most 64 bits."""
    weights: bool = False
    """Whether `send` gets the weights of edges."""
    supersteps: int | None = None
    """The most supersteps in which messages are sent [until no vertex is active]."""

    @abstractmethod
    def start(self, vertices: Vertices) -> NDArray[Any]:
        """The values of vertices at first, shape (vertices,). All are active then."""

    @abstractmethod
    def send(self, edges: Edges, values: NDArray[Any]) -> NDArray[Any]:
        """The message along each edge, shape (edges,).

        Args:
            edges: edges of active vertices.
            values: the values of own vertices, shape (vertices,).
        """

    @abstractmethod
    def update(
        self, vertices: Vertices, values: NDArray[Any], received: NDArray[Any], superstep: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The values after a superstep, and which vertices are active in the next.

        Args:
            vertices: the own vertices.
            values: their values before, shape (vertices,).
            received: their combined messages, shape (vertices,). Without a message it is what
                changes nothing: 0 of a sum, the largest number of a minimum, the smallest of a
                maximum.
            superstep: from 1.
        """


class UserProgram(Program):
    """The supersteps of a vertex program."""

    name = "run"

    def __init__(self, program: VertexProgram, weights: str | None) -> None:
        self.program, self.dtype = program, np.dtype(program.dtype)
        if program.combine not in UFUNCS:
            raise InvalidInput(f"combine is {program.combine!r}: expected one of {[*UFUNCS]}")
        if self.dtype.kind not in "iuf" or self.dtype.itemsize > 8:
            raise InvalidInput(f"dtype is {self.dtype}: expected a number of at most 64 bits")
        if program.weights and weights is None:
            raise InvalidInput("weights: the edges have no weights: import the graph with them")
        self.reads_weights = program.weights
        self.total = None if program.supersteps is None else program.supersteps + 1

    def parameters(self) -> dict[str, Any]:
        program = self.program
        return {"program": type(program).__qualname__, **vars(program)}

    def begin(self, shard: Shard, state: State | None) -> None:
        array_bytes = 80 * shard.count + 32 * shard.boundary
        shard.reserve(array_bytes, ("out",), weights=self.reads_weights)
        if state is not None:
            # Objects of the store are read-only.
            self.state = {name: array.copy() for name, array in state.items()}
            return
        values = np.asarray(self.program.start(self._vertices(shard)))
        self.state = {
            "values": self._checked(values, shard.count, "start"),
            "active": np.ones(shard.count, bool),
            "received": np.full(shard.count, self._neutral(), self.dtype),
        }

    def saved(self) -> State:
        return self.state

    def _neutral(self) -> Any:
        return neutral(self.program.combine, self.dtype)

    @staticmethod
    def _vertices(shard: Shard) -> Vertices:
        return Vertices(shard.manifest.vertices, shard.own_numbers(), shard.degrees())

    @staticmethod
    def _checked(values: NDArray[Any], count: int, method: str) -> NDArray[Any]:
        if values.shape != (count,):
            raise InvalidInput(f"{method} gave the shape {values.shape}: expected ({count},)")
        return values

    def step(
        self, shard: Shard, superstep: int, shared: Shared, inbox: Sequence[Mail]
    ) -> tuple[list[Mail], Report]:
        ufunc, received = UFUNCS[self.program.combine], self.state["received"]
        if superstep > 0:
            shard.combine(inbox, received, ufunc)
            vertices, values = self._vertices(shard), self.state["values"]
            values, active = self.program.update(vertices, values, received, superstep)
            self.state["values"] = self._checked(np.asarray(values), shard.count, "update")
            self.state["active"] = self._checked(np.asarray(active, bool), shard.count, "update")
        local = np.full(shard.places, self._neutral(), self.dtype)
        is_last = self.total is not None and superstep + 1 >= self.total
        active = self.state["active"] & (not is_last)
        for batch in shard.lists(active, weights=self.reads_weights):
            sources = batch.sources().astype(np.int64) - shard.own.start
            edges = Edges(sources, shard.numbers[batch.targets], batch.weights)
            messages = np.asarray(self.program.send(edges, self.state["values"]))
            messages = self._checked(messages, len(sources), "send").astype(self.dtype)
            ufunc.at(local, batch.targets, messages)
        self.state["received"] = local[shard.own].copy()
        mail = shard.to_owners(local, local != self._neutral())
        return mail, {"active": int(np.count_nonzero(active)), "sent": sent(mail)}

    def decide(self, superstep: int, shared: Shared, reports: list[Report]) -> Shared | None:
        return shared if any(report["active"] for report in reports) else None

    def summary(self, superstep: int, shared: Shared, reports: list[Report]) -> dict[str, Any]:
        return {"supersteps": superstep}

    def columns(self, shard: Shard) -> dict[str, NDArray[Any]]:
        return {"value": self.state["values"]}
