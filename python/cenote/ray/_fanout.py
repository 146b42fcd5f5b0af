"""The layers of a sample of neighbourhoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import InvalidInput


@dataclass(frozen=True)
class Fanout:
    """How neighbours of a layer are sampled."""

    most: int
    seed: int
    replace: bool
    weights: bool
    direction: Literal["out", "in"]


def layers_of(
    fanouts: Sequence[int],
    *,
    seed: int,
    replace: bool,
    weights: bool,
    direction: Literal["out", "in"],
) -> list[Fanout]:
    """The layers of a sample.

    Raises:
        InvalidInput: there is none, or one of 0.
    """
    if not fanouts or min(fanouts) < 1:
        raise InvalidInput(f"fanouts are {list(fanouts)}: at least one is needed, each at least 1")
    return [
        Fanout(most, (seed + depth) % 2**64, replace, weights, direction)
        for depth, most in enumerate(fanouts)
    ]
