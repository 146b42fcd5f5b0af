"""The manifest of a sharded graph."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CorruptGraph, InvalidInput, Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._options import PathLike

NAME = "shards.json"
VERSION = 1
CHECKSUM = b',\n  "checksum": "'


@dataclass(frozen=True)
class ShardEntry:
    """A shard: its range of vertices, and its files; see docs/shards.md."""

    file: str
    first_vertex: int
    vertices: int
    out_entries: int
    in_entries: int
    boundary: tuple[int, ...]
    bytes: int
    crc32: str
    ids_file: str
    ids_bytes: int
    ids_crc32: str


@dataclass(frozen=True)
class Manifest:
    """The description of a sharded graph; see docs/shards.md."""

    folder: str
    vertices: int
    edges: int
    directed: bool
    in_edges: bool
    weights: str | None
    ids: str
    duplicates_kept: bool
    self_loops_kept: bool
    shards: tuple[ShardEntry, ...]

    def __len__(self) -> int:
        """The number of shards."""
        return len(self.shards)

    def starts(self) -> NDArray[np.uint64]:
        """The first number of each shard, and the number of vertices."""
        return np.array([*(s.first_vertex for s in self.shards), self.vertices], np.uint64)

    @property
    def boundary_vertices(self) -> int:
        """Vertices of all boundaries; one counts once for each shard in whose boundary it is."""
        return sum(sum(shard.boundary) for shard in self.shards)


def read(folder: PathLike) -> Manifest:
    """Reads the manifest of a folder.

    Raises:
        InvalidInput: the folder is no sharded graph.
        CorruptGraph: the manifest is damaged.
        Unsupported: it has a newer version.
    """
    folder = os.path.abspath(os.fspath(folder))
    path = Path(folder) / NAME
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        reason = f"is no sharded graph: it has no {NAME}: make one with cenote.shard"
        raise InvalidInput(f"{folder}: {reason}") from None
    covered, _, after = text.rpartition(CHECKSUM)
    if after[:8] != b"%08x" % zlib.crc32(covered):
        raise CorruptGraph(f"{path}: damaged: its checksum is another")
    found: dict[str, Any] = json.loads(text)
    if found["format"] != "cenote-shards":
        raise CorruptGraph(f"{path}: it describes no sharded graph")
    if found["version"] != VERSION:
        reason = f"version {found['version']} of sharded graphs: this package reads {VERSION}"
        raise Unsupported(f"{path}: {reason}")
    for name in ("format", "version", "checksum"):
        del found[name]
    shards = tuple(
        ShardEntry(**(shard | {"boundary": tuple(shard["boundary"])}))
        for shard in found.pop("shards")
    )
    return Manifest(folder=folder, shards=shards, **found)
