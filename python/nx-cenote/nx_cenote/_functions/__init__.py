"""The functions, with the parameters, results and exceptions of NetworkX's.

- `components`: components, and what follows from their number
- `searches`: levels, and what can be reached
- `distances`: distances over weights
- `paths`: shortest paths
- `trees`: the order of a search, of stored graphs
- `degrees`: degrees, isolated nodes
- `centralities`: ranks, betweenness, closeness
- `links`: scores of pairs of nodes
- `cores`: core numbers, triangles, independent sets
- `subgraphs`: parts of the graph, as graphs of NetworkX
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    centralities,
    components,
    cores,
    degrees,
    distances,
    links,
    paths,
    searches,
    subgraphs,
    trees,
)

_MODULES: tuple[Any, ...] = (
    centralities,
    components,
    cores,
    degrees,
    distances,
    links,
    paths,
    searches,
    subgraphs,
    trees,
)

BY_NAME: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module in _MODULES for name in module.__all__
}
"""The functions by their names."""
