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
    """A shard: its range of vertices, and its files; see docs/shards.md.

    Attributes:
        file: the name of its graph file in the folder.
        first_vertex: the number of its first own vertex.
        vertices: how many own vertices it has.
        out_entries: entries of their out-lists.
        in_entries: entries of their in-lists, 0 without such.
        boundary: how many vertices of its boundary each shard owns, 0 for itself.
        bytes: the size of the graph file.
        crc32: the CRC-32 of the graph file, eight hexadecimal digits.
        ids_file: the name of the file of ids.
        ids_bytes: its size in bytes.
        ids_crc32: its CRC-32.

    Example:
        >>> first, second, third = sharded.manifest.shards
        >>> first.file, first.ids_file, first.first_vertex, first.vertices, first.out_entries
        ('shard-00000.cenote', 'shard-00000.ids.parquet', 0, 20818, 189271)
        >>> first.in_entries, first.boundary, second.first_vertex == first.vertices
        (0, (0, 11632, 11835), True)
        >>> len(first.crc32), len(first.ids_crc32), first.bytes > first.ids_bytes > 0
        (8, 8, True)
    """

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
    """The description of a sharded graph; see docs/shards.md.

    Attributes:
        folder: the absolute path of the folder.
        vertices: how many vertices the graph has.
        edges: how many edges, each undirected one once.
        directed: whether edges have a direction.
        in_edges: whether in-lists of a directed graph are stored.
        weights: the type of weights, `"f32"`, `"f64"`, `"u32"` or `"i64"`; None without.
        ids: `"integer"` or `"string"`.
        duplicates_kept: whether repeated edges are stored.
        self_loops_kept: whether edges from a vertex to itself are stored.
        shards: the shards, by ascending numbers of vertices.

    Example:
        >>> manifest = sharded.manifest
        >>> manifest.folder.rsplit("/", 1)[-1], len(manifest.shards)
        ('shards', 3)
        >>> manifest.vertices, manifest.edges
        (64245, 283093)
        >>> manifest.directed, manifest.in_edges, manifest.weights, manifest.ids
        (False, False, None, 'string')
        >>> manifest.duplicates_kept, manifest.self_loops_kept, manifest.boundary_vertices
        (False, False, 58811)
    """

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
        """The first number of each shard, and the number of vertices, shape (shards + 1,).

        Example:
            >>> sharded.manifest.starts()
            array([    0, 20818, 41421, 64245], dtype=uint64)
        """
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
