"""Graphs in several files, on a cluster of Ray: a process for each shard, supersteps between them.

>>> with cenote.ray.open("packages.shards", memory="64MiB", cpus=0.5) as graph:
...     ranks = graph.pagerank(iterations=20)
>>> ranks.summary["iterations"]
20

Ray starts the processes, restarts them elsewhere, and moves what they exchange; in each of them
Cenote reads its shard within a memory budget. `pip install 'cenote[ray]'` brings what is needed.
"""

from __future__ import annotations

try:
    import ray  # noqa: F401
except ImportError as missing:
    reason = "cenote.ray needs Ray, which is not installed: pip install 'cenote[ray]'"
    raise ImportError(reason) from missing

from ._driver import Stats
from ._graph import ShardedGraph, ShardOptions, open
from ._manifest import Manifest, ShardEntry
from ._results import ShardedResult
from ._sample import ShardedSample
from ._tables import import_graph
from ._vertex_program import Edges, VertexProgram, Vertices

__all__ = [
    "Edges",
    "Manifest",
    "ShardEntry",
    "ShardOptions",
    "ShardedGraph",
    "ShardedResult",
    "ShardedSample",
    "Stats",
    "VertexProgram",
    "Vertices",
    "import_graph",
    "open",
]
