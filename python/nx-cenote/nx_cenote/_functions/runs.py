"""What every function needs for a run."""

from __future__ import annotations

from typing import Any

import cenote

from .._convert import memory
from .._graph import Graph


def options() -> Any:
    """The options of each run."""
    return {} if memory() is None else {"memory": memory()}


def stored_of(G: Graph) -> cenote.Graph:
    """The stored graph; NetworkX answers for graphs without nodes."""
    assert G.stored is not None
    return G.stored
