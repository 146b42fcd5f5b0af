"""Values that shards send each other.

Two shards exchange values of a fixed list of vertices: the boundary vertices of the one that the
other owns. Both have this list in the same order, so a message need not name vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

POSITION_BYTES = 4


@dataclass(frozen=True, eq=False)
class Message:
    """Values of a list of vertices: of all, or of those at some positions.

    Attributes:
        positions: places in the list, ascending: `uint32`, shape (values,); None for all.
        values: shape (values,).
    """

    positions: NDArray[np.uint32] | None
    values: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.values.nbytes + (0 if self.positions is None else self.positions.nbytes)

    @classmethod
    def of(cls, positions: Any, values: Any) -> Message:
        """A message of arrays of the native part."""
        return cls(None if positions is None else np.asarray(positions), np.asarray(values))

    def to_bytes(self) -> tuple[bytes | None, bytes]:
        """Copies of the arrays for the native part."""
        return None if self.positions is None else self.positions.tobytes(), self.values.tobytes()

    def places(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Of the list of vertices those that have a value here."""
        return vertices if self.positions is None else vertices[self.positions]


Mail: TypeAlias = "Message | None"
"""None where nothing is to be sent."""


def encode(values: NDArray[Any], present: NDArray[np.bool_] | None = None) -> Mail:
    """The shorter form of a message with the values where `present` is true [everywhere].

    Values elsewhere are sent too if that is shorter: they must be neutral in the combination.
    """
    if len(values) == 0:
        return None
    if present is None:
        return Message(None, values.copy())
    count = int(np.count_nonzero(present))
    if count == 0:
        return None
    if count * (POSITION_BYTES + values.itemsize) < values.nbytes:
        positions = np.flatnonzero(present).astype(np.uint32)
        return Message(positions, values[positions])
    return Message(None, values.copy())


Combine: TypeAlias = Literal["sum", "min", "max"]

UFUNCS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def neutral(combine: Combine, dtype: DTypeLike) -> Any:
    """The value that changes nothing when it is combined with another."""
    dtype = np.dtype(dtype)
    value: float = 0
    if combine != "sum" and dtype.kind == "f":
        value = np.inf if combine == "min" else -np.inf
    elif combine != "sum":
        limits = np.iinfo(dtype)
        value = limits.max if combine == "min" else limits.min
    return np.array(value, dtype)[()]
