"""Scores of pairs of nodes by their common neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx

from .._graph import Graph
from .runs import options, stored_of

__all__ = ["jaccard_coefficient"]


def jaccard_coefficient(
    G: Graph, ebunch: Collection[Any] | None = None
) -> Iterator[tuple[Any, Any, float]]:
    assert ebunch is not None
    for pair in ebunch:
        for node in pair:
            if node not in G:
                raise nx.NodeNotFound(f"Node {node} not in G.")
    scores: list[float] = []
    if len(ebunch) > 0:
        pairs = [(G.id_of(u), G.id_of(v)) for u, v in ebunch]
        scores = stored_of(G).similar(pairs=pairs, **options()).scores.tolist()
    return ((u, v, score) for (u, v), score in zip(ebunch, scores, strict=True))
