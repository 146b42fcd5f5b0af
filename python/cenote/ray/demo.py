"""Shards a graph, runs algorithms on Ray, kills a process, and compares with one machine.

    python -m cenote.ray.demo
    python -m cenote.ray.demo --shards 4 --scale 18 --memory 128MiB

Ray starts on this machine, with a process for each shard. Each has a memory budget and is measured
against it. The exit status is 1 if an answer is another than that of `cenote.Graph`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import ray

import cenote

from .._import import import_graph
from .._shards import shard
from ._graph import ShardedGraph, bytes_of
from ._graph import open as open_shards
from ._results import ShardedResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._options import Progress

VALUE_BYTES = {"degrees": 4, "pagerank": 8, "wcc": 4, "bfs": 1, "kcore": 4, "cdlp": 4}


def skewed_edges(scale: int, edges: int, seed: int) -> NDArray[np.int64]:
    """Edges as of an R-MAT graph of 2**scale vertices: `int64`, shape (edges, 2)."""
    rng = np.random.default_rng(seed)
    found = np.zeros((edges, 2), np.int64)
    for _ in range(scale):
        # The quadrants of the matrix have the probabilities 0.57, 0.19, 0.19 and 0.05.
        drawn = rng.random(edges)
        found[:, 0] = 2 * found[:, 0] + (drawn >= 0.76)
        found[:, 1] = 2 * found[:, 1] + ((drawn >= 0.57) & (drawn < 0.76) | (drawn >= 0.95))
    return found


class Killer:
    """Progress that kills the process of a shard in a superstep, once."""

    def __init__(self, graph: ShardedGraph, shard: int, superstep: int) -> None:
        self.graph, self.shard, self.superstep = graph, shard, superstep
        self.has_killed = False

    def __call__(self, progress: Progress) -> None:
        """Kills it while the superstep goes on."""
        if progress.done == self.superstep and not self.has_killed:
            self.has_killed = True
            ray.kill(self.graph._cluster.actors[self.shard])


def expected(path: Path, memory: str, source: int) -> dict[str, NDArray[Any]]:
    """The answers of one machine."""
    with cenote.open(path) as graph:
        vertex = graph.vertex_of(source)
        return {
            "degrees": graph.degrees(memory=memory).degrees,
            "pagerank": graph.pagerank(memory=memory).ranks,
            "wcc": graph.wcc(memory=memory).labels,
            "bfs": graph.bfs(graph.id_of(vertex), memory=memory).levels,
            "kcore": graph.kcore(memory=memory).cores,
            "cdlp": graph.cdlp(iterations=5, memory=memory).labels,
        }


def compare(graph: ShardedGraph, answers: dict[str, NDArray[Any]], source: int) -> bool:
    """Runs each algorithm, with a killed process in every second, and prints a line for each."""
    runs: dict[str, Callable[..., ShardedResult]] = {
        "degrees": graph.degrees,
        "pagerank": graph.pagerank,
        "wcc": graph.wcc,
        "bfs": lambda **options: graph.bfs(source, **options),
        "kcore": graph.kcore,
        "cdlp": lambda **options: graph.cdlp(iterations=5, **options),
    }
    boundary, all_equal = graph.manifest.boundary_vertices, True
    print("run       equal  supersteps  restarts  seconds  bytes exchanged  most / boundary")
    for at, (name, run) in enumerate(runs.items()):
        killer = Killer(graph, at % graph.shard_count, 1)
        result = run(progress=killer) if at % 2 else run()
        found = result[result.columns[0]]
        is_equal = bool(np.array_equal(found, answers[name]))
        all_equal &= is_equal
        stats = result.stats
        most = max(step["bytes"] for step in stats.supersteps)
        share = most / max(boundary * VALUE_BYTES[name], 1)
        print(
            f"{name:9} {'yes' if is_equal else 'NO':5}  {len(stats.supersteps):10}  "
            f"{stats.restarts:8}  {stats.seconds:7.2f}  {stats.bytes_exchanged:15,}  {share:15.2f}"
        )
    return all_equal


def main(arguments: list[str] | None = None) -> int:
    """Runs the demonstration. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m cenote.ray.demo", description=__doc__)
    parser.add_argument("--shards", type=int, default=3, help="processes, 2 or more [3]")
    parser.add_argument("--scale", type=int, default=14, help="2**SCALE vertices [14]")
    parser.add_argument("--memory", default="64MiB", help="the budget of each process [64MiB]")
    options = parser.parse_args(arguments)
    if options.shards < 2 or not 4 <= options.scale <= 26:
        parser.error("expected 2 or more shards, and a scale from 4 to 26")
    bytes_of(options.memory)
    starts_ray = not ray.is_initialized()
    if starts_ray:
        ray.init(
            num_cpus=options.shards,
            include_dashboard=False,
            object_store_memory=256 << 20,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", cenote.CenoteWarning)
            return run_in(Path(folder), options)
    finally:
        if starts_ray:
            ray.shutdown()


def run_in(folder: Path, options: argparse.Namespace) -> int:
    """Makes the graph in a folder, and compares."""
    path, shards = folder / "graph.cenote", folder / "graph.shards"
    edges = skewed_edges(options.scale, 8 << options.scale, seed=1)
    made = import_graph(edges, path, memory="256MiB")
    cut = shard(path, shards, shards=options.shards, memory="256MiB")
    boundary = sum(sum(part["boundary"]) for part in cut["shards"])
    print(
        f"{made['vertices']:,} vertices, {made['edges']:,} edges in {options.shards} shards, "
        f"{boundary:,} vertices in boundaries"
    )
    source = int(edges[0, 0])
    answers = expected(path, "256MiB", source)
    started = time.perf_counter()
    with open_shards(shards, memory=options.memory) as graph:
        print(f"processes started in {time.perf_counter() - started:.2f} s")
        all_equal = compare(graph, answers, source)
        most = graph.pagerank().stats.memory_bytes_max
    budget = bytes_of(options.memory)
    print(f"memory of a process for its shard: {most >> 20} MiB of {budget >> 20} MiB")
    return 0 if all_equal and most <= budget else 1


if __name__ == "__main__":
    sys.exit(main())
