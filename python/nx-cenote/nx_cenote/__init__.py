"""A NetworkX backend: algorithms of Cenote on stored graphs, within a memory budget.

>>> import networkx as nx, nx_cenote
>>> with nx_cenote.open("packages.cenote") as G:
...     nx.number_connected_components(G)
201
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._graph import Graph, open

__all__ = ["Graph", "open"]


def __getattr__(name: str) -> Any:
    # NetworkX imports this package when it starts: NumPy and the library are imported when needed.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _graph

    return getattr(_graph, name)
