"""A sharded graph that is open on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
import ray

from .._options import Memory, OnProgress, PathLike, VertexId, VertexIds, listener
from ..errors import InvalidInput, UnknownVertex, Unsupported
from . import _manifest
from ._cluster import Cluster, Options, get
from ._driver import Run
from ._fanout import layers_of
from ._pagerank import PageRankProgram
from ._program import Program
from ._results import ShardedResult
from ._sample import ShardedSample, sample
from ._searches import BfsProgram, DegreesProgram, SsspProgram
from ._structure import CdlpProgram, KcoreProgram
from ._vertex_program import UserProgram, VertexProgram
from ._wcc import WccProgram

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class ShardOptions(TypedDict, total=False):
    """Options of every run on shards.

    Attributes:
        progress: True for a line on stderr, or a callable that gets `cenote.Progress` at the start
            of each superstep; an exception of it ends the run.
        checkpoint_every: supersteps from one checkpoint to the next [8]. After the death of a
            process at most as many are repeated.
        checkpoints: a folder that all nodes share, for checkpoints as files. Then a run that was
            interrupted goes on where it was, if it is started again. Without it checkpoints are in
            Ray's object store, as long as the run goes on.

    Example:
        >>> seen = []
        >>> options: cenote.ray.ShardOptions = {"checkpoint_every": 4, "checkpoints": "kept"}
        >>> options |= {"progress": seen.append}
        >>> found = sharded.wcc(**options)
        >>> seen[0].phase, seen[0].done, len(seen) == len(found.stats.supersteps)
        ('wcc, superstep', 0, True)
    """

    progress: OnProgress
    checkpoint_every: int
    checkpoints: PathLike


UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "B": 1}
UNITS |= {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def bytes_of(memory: Memory) -> int:
    """The bytes of a size such as `"256MiB"`."""
    if isinstance(memory, bool):
        raise TypeError('memory: expected bytes, or text such as "64MiB", not a bool')
    text = str(memory)
    number = text.rstrip("KMGTiB")
    unit = text[len(number) :]
    try:
        found = int(float(number) * UNITS[unit]) if unit in UNITS else 0
    except ValueError:
        found = 0
    if found <= 0:
        raise InvalidInput(f"memory is {memory!r}: expected bytes, or text such as '256MiB'")
    return found


def open(
    folder: PathLike,
    *,
    memory: Memory = "512MiB",
    threads: int | None = None,
    cpus: float = 1.0,
    copy_to: PathLike | None = None,
    restarts: int = 10,
    start_seconds: float = 120.0,
) -> ShardedGraph:
    """Opens a sharded graph: starts a process for each shard on the Ray cluster.

    A shard is opened on a node that has its file; those of a folder that all nodes share are spread
    evenly.
    If this process is not connected to Ray yet, `ray.init()` connects it or starts Ray here.

    Args:
        folder: the folder that `cenote.shard` has written, by the path that nodes know.
        memory: the budget of each process for its shard: numbers of vertices, values, messages,
            pages, and batches of lists. Python and Ray take some 150 MiB beside it.
        threads: reading threads of each process [one per core].
        cpus: CPUs that Ray counts for each process; fractions are possible.
        copy_to: a folder of the node's own drive, into which files are copied once.
        restarts: how many deaths of processes without a new superstep end a run.
        start_seconds: how long processes may take to start.

    Raises:
        InvalidInput: it is no sharded graph.
        CorruptGraph: a file is not that of the manifest.
        DeviceError: Ray cannot start the processes.

    Example:
        >>> with cenote.ray.open("packages.shards", memory="64MiB", cpus=0.5) as graph:
        ...     graph.wcc().summary["components"]
        201
    """
    manifest = _manifest.read(folder)
    own = None if copy_to is None else os.path.abspath(os.fspath(copy_to))
    options = Options(bytes_of(memory), threads, cpus, own, restarts, start_seconds)
    if not ray.is_initialized():
        ray.init()
    return ShardedGraph(manifest, Cluster(manifest, options))


class ShardedGraph:
    """A sharded graph with a process for each shard. Close it, or use it in a `with` statement.

    Answers are those of `cenote.Graph` for the same graph, to the last bit, for any number of
    shards, also if processes die meanwhile.

    Example:
        >>> sharded.vertex_count, sharded.edge_count, sharded.directed, sharded.shard_count
        (64245, 283093, False, 3)
        >>> sharded.manifest.ids, sharded.pagerank(iterations=5).columns
        ('string', ['rank'])
    """

    def __init__(self, manifest: _manifest.Manifest, cluster: Cluster) -> None:
        self.manifest, self._cluster = manifest, cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes.

        Example:
            >>> graph = cenote.ray.open("packages.shards", memory="64MiB", cpus=0.5)
            >>> graph.close()
            >>> try:
            ...     graph.wcc()
            ... except cenote.InvalidInput as error:
            ...     print(str(error).partition(": ")[2])
            the graph is closed: open it again
        """
        self._cluster.close()

    def _open_cluster(self) -> Cluster:
        if not self._cluster.actors:
            raise InvalidInput(f"{self.manifest.folder}: the graph is closed: open it again")
        return self._cluster

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return self.manifest.vertices

    @property
    def edge_count(self) -> int:
        """Number of edges, each undirected one once."""
        return self.manifest.edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.manifest.directed

    @property
    def shard_count(self) -> int:
        """Number of shards."""
        return len(self.manifest)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        edges = f"{self.edge_count:,} {kind} edges"
        counts = f"{self.vertex_count:,} vertices, {edges}, {self.shard_count} shards"
        return f"ShardedGraph({self.manifest.folder!r}, {counts})"

    def numbers_of(self, ids: VertexIds) -> list[int]:
        """The numbers of vertices: their places among all ids, and in arrays of answers.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> sharded.numbers_of(["bash", "vim"])
            [1156, 62586]
        """
        is_several = isinstance(ids, Iterable) and not isinstance(ids, str | bytes | bytearray)
        several: Iterable[object] = ids if is_several else [ids]  # type: ignore[assignment]
        given = [id.as_py() if hasattr(id, "as_py") else id for id in several]
        wanted = [int(id) if isinstance(id, np.integer) else id for id in given]
        expected = str if self.manifest.ids == "string" else int
        for id in wanted:
            if isinstance(id, bytes | bytearray):
                reason = "expected an integer or a string, not bytes: decode() them"
                raise TypeError(f"the id {id!r}: {reason}")
            if not isinstance(id, expected) or isinstance(id, bool):
                raise UnknownVertex(f"no vertex {id!r}: ids are of the type {expected.__name__}")
            if isinstance(id, int) and not 0 <= id < 2**64:
                raise UnknownVertex(f"no vertex {id}: ids are from 0 to 2**64 - 1")
        actors = self._open_cluster()
        parts = actors.retry(lambda: get([a.find.remote(wanted) for a in actors.actors]))
        found: list[int] = []
        for id, *numbers in zip(wanted, *parts, strict=True):
            number = next((n for n in numbers if n is not None), None)
            if number is None:
                raise UnknownVertex(f"{self.manifest.folder}: no vertex {id!r}")
            found.append(number)
        return found

    def _run(self, program: Program, options: ShardOptions) -> ShardedResult:
        run = Run(
            self._open_cluster(),
            program,
            listener=listener(options.get("progress", False)),
            checkpoint_every=options.get("checkpoint_every", 8),
            checkpoints=options.get("checkpoints"),
        )
        parts, summary = run.run()
        return ShardedResult(self, program, parts, summary, run.stats)

    # Algorithms ---------------------------------------------------------------------------------

    def degrees(self, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Degrees: `degree`, or of a directed graph `out_degree` and `in_degree`.

        Example:
            >>> int(sharded.degrees()["degree"].sum()) == 2 * sharded.edge_count
            True
        """
        counts = self.directed and not self.manifest.in_edges
        return self._run(DegreesProgram(counts=counts), options)

    def pagerank(
        self,
        *,
        damping: float = 0.85,
        iterations: int = 10,
        tolerance: float | None = None,
        **options: Unpack[ShardOptions],
    ) -> ShardedResult:
        """PageRank: `rank`, equal to the last bit to that of `Graph.pagerank`.

        Args:
            damping: the probability to follow an edge.
            iterations: how many; with a tolerance the most.
            tolerance: stop when the ranks' change, summed over all vertices, is below this.
            options: see `ShardOptions`.

        Example:
            >>> ranks = sharded.pagerank(tolerance=1e-6, iterations=100)["rank"]
            >>> bool((ranks == g.pagerank(tolerance=1e-6, iterations=100).ranks).all())
            True
        """
        return self._run(PageRankProgram(damping, iterations, tolerance), options)

    def wcc(self, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Weakly connected components: `component`, the vertex with the smallest id in each.

        Example:
            >>> sharded.wcc().summary["components"]
            201
        """
        return self._run(WccProgram(self._open_cluster().hub), options)

    def bfs(
        self, source: VertexIds, *, parents: bool = False, **options: Unpack[ShardOptions]
    ) -> ShardedResult:
        """Breadth-first search: `level` and, with `parents`, `parent`.

        Args:
            source: an id, or ids.
            parents: whether to find parents: of the level before, the smallest id.
            options: see `ShardOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> sharded.bfs("bash").summary
            {'reached': 63554, 'depth': 13}
        """
        pulls = not self.directed or self.manifest.in_edges
        program = BfsProgram(self._sources(source), parents=parents, pulls=pulls)
        return self._run(program, options)

    def sssp(self, source: VertexIds, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Shortest paths: `distance`, of integer weights `uint64`, else `float64`.

        Without weights edges have length 1.

        Raises:
            UnknownVertex: there is no vertex of an id.
            InvalidInput: an edge has a negative weight.

        Example:
            >>> distances = sharded.sssp("bash")["distance"]
            >>> bool((distances == g.sssp("bash").distances).all())
            True
        """
        return self._run(SsspProgram(self._sources(source), self.manifest.weights), options)

    def cdlp(self, *, iterations: int = 10, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Communities by label propagation: `label`, a vertex whose id names the community.

        Args:
            iterations: the most; fewer if nothing changes any more.
            options: see `ShardOptions`.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> labels = sharded.cdlp(iterations=3)["label"]
            >>> bool((labels == g.cdlp(iterations=3).labels).all())
            True
        """
        self._demand_in_edges("cdlp")
        return self._run(CdlpProgram(iterations), options)

    def kcore(self, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Core numbers: `core`.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> sharded.kcore().summary == {"degeneracy": g.kcore().summary["degeneracy"]}
            True
        """
        self._demand_in_edges("kcore")
        return self._run(KcoreProgram(), options)

    def run(self, program: VertexProgram, **options: Unpack[ShardOptions]) -> ShardedResult:
        """Runs a vertex program of your own: `value`; see `VertexProgram`.

        Raises:
            InvalidInput: `combine` or `dtype` cannot be used, a method gives another shape, or the
                program wants weights that the graph has not.

        Example:
            >>> class Levels(cenote.ray.VertexProgram):
            ...     def start(self, vertices):
            ...         return np.where(vertices.numbers == 0, 0.0, np.inf)
            ...
            ...     def send(self, edges, values):
            ...         return values[edges.sources] + 1
            ...
            ...     def update(self, vertices, values, received, superstep):
            ...         return np.minimum(values, received), received < values
            >>> found = sharded.run(Levels())
            >>> float(found["value"][1]), found.summary
            (1.0, {'supersteps': 14})
        """
        return self._run(UserProgram(program, self.manifest.weights), options)

    def sample_neighbors(
        self,
        seeds: VertexIds,
        *,
        fanouts: Sequence[int],
        replace: bool = False,
        weights: bool = False,
        seed: int = 1,
        direction: Literal["out", "in"] = "out",
    ) -> ShardedSample:
        """Samples neighbours, layer by layer: a mini-batch for training.

        Of each of `seeds` at most `fanouts[0]` neighbours are sampled, of each vertex that is new
        then at most `fanouts[1]`, and so on. The sample depends on `seed`, the graph and the other
        arguments alone, not on how many shards there are. It is another one than that of
        `Graph.sample_neighbors`, which draws by ids and not by numbers.

        Args:
            seeds: an id, or ids; one that is given twice counts once.
            fanouts: how many neighbours to sample of each vertex of a layer.
            replace: whether a neighbour may be sampled more than once.
            weights: sample with probabilities proportional to the weights of the edges.
            seed: of the random numbers.
            direction: `"in"` for a directed graph that was imported with `in_edges`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            InvalidInput: no fanout, or one that is 0.
            Unsupported: `weights` of a graph that has none, or `"in"` without in-edges.

        Example:
            >>> sample = sharded.sample_neighbors(["bash", "vim"], fanouts=[15, 10], seed=7)
            >>> sample.seeds, len(sample.layers[0][0]), sample.ids[:2]
            (2, 30, ['bash', 'vim'])
        """
        if direction == "in" and self.directed:
            self._demand_in_edges("direction='in'")
        layers = layers_of(
            fanouts,
            seed=seed,
            replace=replace,
            weights=weights,
            direction="out" if not self.directed else direction,
        )
        given = self._sources(seeds)
        return self._open_cluster().retry(lambda: sample(self, given, layers))

    def _sources(self, source: VertexIds) -> list[int]:
        found = self.numbers_of(source)
        if not found:
            raise InvalidInput("source has no vertex: name one at least")
        return found

    def _demand_in_edges(self, algorithm: str) -> None:
        if self.directed and not self.manifest.in_edges:
            reason = f"{algorithm} needs the in-edges of a directed graph"
            raise Unsupported(f"{self.manifest.folder}: {reason}: import it with `in_edges`")


__all__ = ["ShardOptions", "ShardedGraph", "VertexId", "open"]
