"""The process of a shard. It knows nothing of Ray but that its methods are called by it."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CenoteWarning, CorruptGraph, InvalidInput
from ._exchange import Mail, Message
from ._fanout import Fanout
from ._program import Program, Shared
from ._shard import Shard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._manifest import Manifest

Checkpoint = dict[str, Any]
Columns = dict[str, Any]
"""Values of own vertices, by the name of their column."""


def crc32(path: Path) -> str:
    """The CRC-32 of a file, in hexadecimal."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def copied(source: Path, folder: Path, bytes: int, checksum: str) -> Path:
    """A copy of a file on this machine's own drive; one that is there already is used.

    Raises:
        CorruptGraph: the file is not the one that the manifest describes.
    """
    # The checksum is in the name, so that copies of other graphs are not taken for it.
    target = folder / f"{checksum}-{source.name}"
    if target.is_file() and target.stat().st_size == bytes:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".copy-")
    os.close(handle)
    try:
        shutil.copyfile(source, name)
        if os.stat(name).st_size != bytes or crc32(Path(name)) != checksum:
            raise CorruptGraph(f"{source}: it is not the file that the manifest describes")
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    return target


def memory_bytes() -> tuple[int, int]:
    """Bytes of the process that are its own: now, and at most.

    Libraries, which are mapped from files, and objects of Ray's store are left out.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {line.split()[0]: int(line.split()[1]) * 1024 for line in lines if " kB" in line}
    # The peak is that of all memory: it may have been before what is mapped now.
    most = found["VmHWM:"] - found["RssFile:"] - found["RssShmem:"]
    return found["RssAnon:"], max(most, found["RssAnon:"])


def release_memory() -> None:
    """Gives memory that was freed back to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Failed:
    """An exception that a program has raised in a process, for the driver to raise again.

    As a result of a call it is reported once; Ray prints an exception for each object that nobody
    has read.
    """

    def __init__(self, error: Exception) -> None:
        self.error, self.text = error, traceback.format_exc()

    def raise_again(self) -> None:
        """Raises it, with the traceback of the process as its cause."""
        raise self.error from RuntimeError(f"in the process of a shard:\n{self.text}")


class ShardActor:
    """Runs the supersteps of one shard."""

    def __init__(self, manifest: Manifest, index: int) -> None:
        self._manifest, self._index = manifest, index
        self._entry = manifest.shards[index]
        self._bytes_before, _ = memory_bytes()
        self._bytes_most = 0
        self._has_arrow = False
        self._program: Program | None = None
        self._waiting: list[Mail] = []

    def open(self, memory: int, threads: int | None, copy_to: str | None) -> tuple[int, int]:
        """Opens the file of the shard, or of a copy of it.

        Returns:
            The length of its longest list, and the number of its vertex.
        """
        folder, entry = Path(self._manifest.folder), self._entry
        path, ids = folder / entry.file, folder / entry.ids_file
        if copy_to is not None:
            path = copied(path, Path(copy_to), entry.bytes, entry.crc32)
            ids = copied(ids, Path(copy_to), entry.ids_bytes, entry.ids_crc32)
        self._ids_path = ids
        with warnings.catch_warnings():
            # The driver says what its caller should know.
            warnings.simplefilter("ignore", CenoteWarning)
            self._shard = Shard(self._manifest, self._index, os.fspath(path), memory, threads)
        number, degree = self._shard.native.hub()
        return degree, number

    def ping(self) -> int:
        """The number of the process."""
        return os.getpid()

    def boundary_numbers(self) -> tuple[Any, ...]:
        """The process, then for each shard the numbers of its vertices in the boundary here."""
        return (self.ping(), *self._shard.boundary_numbers())

    def connect(self, *numbers: NDArray[np.uint64]) -> None:
        """Learns which of its vertices are in the boundary of each other shard."""
        self._shard.connect(numbers)

    # Supersteps ---------------------------------------------------------------------------------

    def begin(self, program: Program, checkpoint: Checkpoint | str | None) -> Failed | None:
        """Starts a program, or goes on with it from a checkpoint or the file of one."""
        try:
            self._begin(program, checkpoint)
        except Exception as error:
            return Failed(error)
        return None

    def _begin(self, program: Program, checkpoint: Checkpoint | str | None) -> None:
        shard = self._shard
        # The values of the run before make room first.
        self._program, self._waiting = None, []
        release_memory()
        if isinstance(checkpoint, str):
            checkpoint = load(checkpoint)
        program.begin(shard, None if checkpoint is None else checkpoint["state"])
        self._program = program
        self._waiting = [] if checkpoint is None else checkpoint["inbox"]

    def step(self, superstep: int, shared: Shared, *inbox: Mail) -> tuple[Any, ...]:
        """One superstep: the report, then what is sent to each shard."""
        try:
            return self._step(superstep, shared, inbox)
        except Exception as error:
            return (Failed(error), *[None] * len(self._manifest))

    def _step(self, superstep: int, shared: Shared, inbox: Sequence[Mail]) -> tuple[Any, ...]:
        assert self._program is not None
        started = time.perf_counter()
        received = list(inbox) or self._waiting or [None] * len(self._manifest)
        self._waiting = []
        messages, report = self._program.step(self._shard, superstep, shared, received)
        report["bytes_sent"] = sum(m.nbytes for m in messages if m is not None)
        report["seconds"] = time.perf_counter() - started
        # Each is a difference, which falls when more files are mapped or tables need a library.
        self._bytes_most = max(self._bytes_most, memory_bytes()[1] - self._bytes_before)
        report["memory_bytes"] = self._bytes_most
        return (report, *messages)

    def checkpoint(self, path: str | None, *inbox: Mail) -> tuple[int, Checkpoint | str]:
        """The state, with what the next superstep receives: as an object, or in a file."""
        assert self._program is not None
        checkpoint = {"state": self._program.saved(), "inbox": list(inbox)}
        if path is None:
            return self.ping(), checkpoint
        save(path, checkpoint)
        return self.ping(), path

    def columns(self) -> tuple[int, dict[str, NDArray[Any]]]:
        """The answer: values of own vertices."""
        assert self._program is not None
        return self.ping(), self._program.columns(self._shard)

    # Ids ----------------------------------------------------------------------------------------

    def _load_arrow(self) -> None:
        """Loads what tables and ids need, which takes a second and is no memory of the shard."""
        if not self._has_arrow:
            before, _ = memory_bytes()
            import pyarrow.compute
            import pyarrow.parquet

            pyarrow.array([0])
            # Its own allocator keeps what it no longer uses.
            pyarrow.set_memory_pool(pyarrow.system_memory_pool())
            self._bytes_before += max(memory_bytes()[0] - before, 0)
            self._has_arrow = True

    def ids(self) -> Any:
        """The user's ids of own vertices, as a column of Arrow."""
        self._load_arrow()
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(self._ids_path, columns=["id"], use_threads=False)
        return table["id"].combine_chunks()

    def find(self, ids: Sequence[int | str]) -> list[int | None]:
        """The numbers of ids; None for those of other shards.

        Ids ascend in their file, so of its groups of rows those alone are read that may have one.
        """
        self._load_arrow()
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet

        known: dict[int | str, int] = {}
        first = self._entry.first_vertex
        with pyarrow.parquet.ParquetFile(self._ids_path) as file:
            at = file.schema_arrow.get_field_index("id")
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group)
                limits = rows.column(at).statistics
                wanted = [
                    id
                    for id in ids
                    if limits is None or not limits.has_min_max or limits.min <= id <= limits.max
                ]
                if wanted:
                    column = file.read_row_group(group, columns=["id"], use_threads=False)["id"]
                    # The table of a hash is over the wanted ids, which are few.
                    mask = pyarrow.compute.is_in(
                        column, value_set=pyarrow.array(wanted, column.type)
                    )
                    places = pyarrow.compute.indices_nonzero(mask)
                    found = zip(column.take(places).to_pylist(), places.to_pylist(), strict=True)
                    known |= {id: first + place for id, place in found}
                first += rows.num_rows
        return [known.get(id) for id in ids]

    def sample(
        self, numbers: NDArray[np.uint64], fanout: Fanout
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Sampled neighbours of own vertices, and for each the place of its vertex."""
        if len(numbers) == 0:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        self._shard.end_visits()
        found = self._shard.graph.sample_neighbors(
            numbers.tolist(),
            fanouts=[fanout.most],
            replace=fanout.replace,
            weights=fanout.weights,
            seed=fanout.seed,
            direction=fanout.direction,
            memory=self._shard.memory // 2,
            threads=self._shard.threads,
        )
        sources, targets = found.layers[0]
        ids = np.asarray(found.ids, np.uint64)
        return ids[sources], targets

    # Tables -------------------------------------------------------------------------------------

    def asked(self, columns: Columns, names: Sequence[str]) -> tuple[Any, ...]:
        """The process, then for each shard the numbers of its vertices in columns, ascending."""
        parts = [columns[name] for name in names] or [np.empty(0, np.uint64)]
        numbers = np.unique(np.concatenate(parts))
        cuts = np.searchsorted(numbers, self._manifest.starts())
        return (self.ping(), *(numbers[a:b] for a, b in pairwise(cuts)))

    def ids_of(self, numbers: NDArray[np.uint64]) -> Any:
        """The ids of own vertices, by their numbers, as a column of Arrow."""
        return self.ids().take(numbers - np.uint64(self._entry.first_vertex))

    def table(
        self, columns: Columns, missing: dict[str, Any], names: Sequence[str], *parts: Any
    ) -> tuple[int, Any]:
        """The process, then the table of own vertices: `id`, then the columns.

        Args:
            columns: the values of own vertices.
            missing: the value of a column that stands for none.
            names: the columns of vertices, which become ids.
            parts: what `asked` has found for each shard, then the ids of these.
        """
        import pyarrow

        half = len(parts) // 2
        numbers = np.concatenate(parts[:half]) if half else np.empty(0, np.uint64)
        table = {"id": self.ids()}
        for name, values in columns.items():
            none = None
            if name in missing:
                none = values == values.dtype.type(missing[name])
                none |= values != values  # NaN stands for none too.
            if name in names:
                ids = pyarrow.chunked_array(parts[half:]).combine_chunks()
                places = np.searchsorted(numbers, values)
                table[name] = ids.take(pyarrow.array(places, mask=none))
            else:
                table[name] = pyarrow.array(values, mask=none)
        return self.ping(), pyarrow.table(table)

    def write(self, folder: str, table: Any) -> str:
        """Writes a table as the part of this shard, which appears when it is complete."""
        import pyarrow.parquet

        path = Path(folder) / f"part-{self._index:05}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            pyarrow.parquet.write_table(table, partial)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return os.fspath(path)


def save(path: str, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint; it appears under its name when it is complete."""
    arrays: dict[str, Any] = {f"state.{k}": v for k, v in checkpoint["state"].items()}
    for at, message in enumerate(checkpoint["inbox"]):
        if message is not None:
            arrays[f"values.{at}"] = message.values
            if message.positions is not None:
                arrays[f"positions.{at}"] = message.positions
    arrays["senders"] = np.array(len(checkpoint["inbox"]))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str) -> Checkpoint:
    """Reads a checkpoint."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = dict(found)
    except (OSError, ValueError, zlib.error) as error:
        raise InvalidInput(f"{path}: it is no checkpoint: {error}") from None
    state = {
        name.partition(".")[2]: value if value.ndim else value.item()
        for name, value in arrays.items()
        if name.startswith("state.")
    }
    inbox: list[Mail] = [
        Message(arrays.get(f"positions.{at}"), arrays[f"values.{at}"])
        if f"values.{at}" in arrays
        else None
        for at in range(int(arrays["senders"]))
    ]
    return {"state": state, "inbox": inbox}
