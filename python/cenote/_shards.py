"""Graphs cut into several files, for several machines."""

from __future__ import annotations

import json
from typing import Any

from . import _cenote
from ._options import Memory, OnProgress, PathLike, listener, warn


def shard(
    path: PathLike,
    out: PathLike,
    *,
    shards: int,
    at: str | None = None,
    memory: Memory | None = None,
    threads: int | None = None,
    progress: OnProgress = False,
) -> dict[str, Any]:
    """Cuts a graph into shards: ranges of vertices of nearly equally many edges, a file each.

    `cenote.ray` runs algorithms on them. The folder appears when it is complete.

    Args:
        path: the graph file.
        out: the folder, which must not exist or be empty.
        shards: how many.
        at: the name of a snapshot [the present state].
        memory: the budget, in bytes or as text such as `"256MiB"` [half of the machine's].
        threads: working threads [one per core].
        progress: see `Progress`.

    Returns:
        The manifest of the shards, with `written_bytes`, `bytes_read` and `seconds`.

    Raises:
        InvalidInput: `out` has something in it, or more shards than vertices.
        MemoryBudget: the budget is too small.

    Example:
        >>> found = cenote.shard("packages.cenote", "packages.shards", shards=3, memory="64MiB")
        >>> len(found["shards"]), sum(part["vertices"] for part in found["shards"])
        (3, 64245)
        >>> bool(cenote.check("packages.shards"))
        True
    """
    written, warnings = _cenote.shard(path, out, shards, at, memory, threads, listener(progress))
    warn(warnings)
    found: dict[str, Any] = json.loads(written)
    return found
