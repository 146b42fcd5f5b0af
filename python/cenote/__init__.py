"""Graphs deeper than memory: import edges, open the graph, run algorithms within a budget.

>>> report = cenote.import_graph("data/debian-depends.tsv.zst", "packages.cenote", overwrite=True)
>>> with cenote.open("packages.cenote") as g:
...     components = g.wcc(memory="64MiB")
>>> components.components
201
"""

from . import errors
from ._cenote import __version__
from ._components import components, degrees
from ._edges import Edges, Sample
from ._features import Features
from ._graph import Graph, open
from ._import import import_graph
from ._options import Progress, RunOptions
from ._replay import pool_replay, tier_replay
from ._report import Report
from ._result import UNREACHED, Result
from ._results import (
    Betweenness,
    Bfs,
    Communities,
    Components,
    Degrees,
    Dfs,
    Hyperball,
    Kcore,
    Labels,
    Lcc,
    LexicographicDfs,
    Mis,
    ModularityCommunities,
    Msf,
    PageRank,
    Ppr,
    Reach,
    Similar,
    Sssp,
    Triangles,
    Walks,
)
from ._shards import shard
from ._strings import Strings
from ._update import CheckReport, Snapshot, Update, check, compact, profile, update
from ._visit import Batch, Visit
from .errors import (
    CenoteError,
    CenoteWarning,
    CorruptGraph,
    DeviceError,
    FileError,
    FileMissing,
    GraphLocked,
    InvalidInput,
    MemoryBudget,
    UnknownVertex,
    Unsupported,
)

__all__ = [
    "UNREACHED",
    "Batch",
    "Betweenness",
    "Bfs",
    "CenoteError",
    "CenoteWarning",
    "CheckReport",
    "Communities",
    "Components",
    "CorruptGraph",
    "Degrees",
    "DeviceError",
    "Dfs",
    "Edges",
    "Features",
    "FileError",
    "FileMissing",
    "Graph",
    "GraphLocked",
    "Hyperball",
    "InvalidInput",
    "Kcore",
    "Labels",
    "Lcc",
    "LexicographicDfs",
    "MemoryBudget",
    "Mis",
    "ModularityCommunities",
    "Msf",
    "PageRank",
    "Ppr",
    "Progress",
    "Reach",
    "Report",
    "Result",
    "RunOptions",
    "Sample",
    "Similar",
    "Snapshot",
    "Sssp",
    "Strings",
    "Triangles",
    "UnknownVertex",
    "Unsupported",
    "Update",
    "Visit",
    "Walks",
    "__version__",
    "check",
    "compact",
    "components",
    "degrees",
    "errors",
    "import_graph",
    "open",
    "pool_replay",
    "profile",
    "shard",
    "tier_replay",
    "update",
]
