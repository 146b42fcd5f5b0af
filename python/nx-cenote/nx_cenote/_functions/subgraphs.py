"""Parts of the graph, as graphs of NetworkX in memory."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .._convert import part
from .._graph import Graph
from .cores import cores_of
from .searches import levels_from, within

__all__ = ["ego_graph", "k_core", "k_corona", "k_crust", "k_shell"]


def k_core(G: Graph, k: Any = None, core_number: None = None) -> nx.Graph:
    cores = cores_of(G)
    return part(G, np.flatnonzero(cores >= (cores.max() if k is None else k)))


def k_shell(G: Graph, k: Any = None, core_number: None = None) -> nx.Graph:
    cores = cores_of(G)
    return part(G, np.flatnonzero(cores == (cores.max() if k is None else k)))


def k_crust(G: Graph, k: Any = None, core_number: None = None) -> nx.Graph:
    cores = cores_of(G)
    return part(G, np.flatnonzero(cores <= (int(cores.max()) - 1 if k is None else k)))


def k_corona(G: Graph, k: Any, core_number: None = None) -> nx.Graph:
    cores = cores_of(G)
    shell = np.flatnonzero(cores == (cores.max() if k is None else k))
    k = cores.max() if k is None else k
    lists = zip(shell.tolist(), G.lists(shell), strict=True)
    chosen = [at for at, found in lists if np.count_nonzero(cores[found] >= k) == k]
    return part(G, np.asarray(chosen, dtype=np.int64))


def ego_graph(
    G: Graph,
    n: Any,
    radius: Any = 1,
    center: bool = True,
    undirected: bool = False,
    distance: None = None,
) -> nx.Graph:
    if n not in G:
        raise nx.NodeNotFound(f"Source {n} is not in G")
    found = part(G, np.sort(within(levels_from(G, [n]), radius)))
    if not center:
        found.remove_node(n)
    return found
