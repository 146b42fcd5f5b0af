"""The figures of shards on Ray. Raw rows go to experiments/runs/DATE-shards.jsonl.

    shards_bench.py [--scale 22] [--repeats 3] [--shards 1,2,4] [--algorithms pagerank,wcc,...]
                    [--memory 100,25] [--only overhead,boundary,terms] [--dir DIR] [--rows FILE]

- overhead: runs in an open set of shards beside `cenote.Graph`, in turn. The first run of an
  algorithm in a set reads its pages, later ones find those that fit in memory; `Graph` reads them
  in each run. The memory of all shards together is that of the one process: percents of the
  graph's pages, and what the state of its vertices takes. The one process has two threads, each
  shard one.
- boundary: the vertices of boundaries of a Kronecker graph in 2 to 64 shards, from manifests.
- terms: what `shard_model.py` is given: seconds of a call of a process, bytes per second through
  Ray's object store, seconds of an edge.

Needs the package with its native part (`make wheel`) and `pip install 'cenote[ray]'`.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import ray

import cenote
import cenote.ray
from bench import Bench, figure

ALGORITHMS = ["degrees", "pagerank", "wcc", "bfs", "sssp", "cdlp", "kcore"]
PARTS = ["overhead", "boundary", "terms"]
STATE_BYTES = 64
"""Bytes of a vertex in a budget: what the state of the largest algorithm takes."""


def graph_of(bench, scale, weighted=False):
    """A Kronecker graph, made once and kept."""
    name = f"kron{scale}" + ("-weighted" if weighted else "")
    path, pairs = bench.path(f"{name}.cenote"), bench.path(f"kron{scale}.u32")
    if not Path(pairs).exists():
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", pairs)
    if not Path(path).exists():
        if weighted:
            edges = np.fromfile(pairs, np.uint32).reshape(-1, 2)
            lengths = np.random.default_rng(1).integers(1, 256, len(edges), np.uint32)
            columns = (edges[:, 0], edges[:, 1], lengths)
            cenote.import_graph(columns, path, weights="u32")
        else:
            cenote.import_graph(pairs, path)
    return path


def shards_of(bench, path, count):
    """The folder of a graph in shards, and the manifest."""
    folder = path.removesuffix(".cenote") + f".shards{count}"
    if not Path(folder, "shards.json").exists():
        cenote.shard(path, folder, shards=count)
    return folder, json.loads(Path(folder, "shards.json").read_text())


def runs(graph, source, **options):
    """The runs of a graph, sharded or not."""
    return {
        "degrees": lambda: graph.degrees(**options),
        "pagerank": lambda: graph.pagerank(iterations=10, **options),
        "wcc": lambda: graph.wcc(**options),
        "bfs": lambda: graph.bfs(source, **options),
        "sssp": lambda: graph.sssp(source, **options),
        "cdlp": lambda: graph.cdlp(iterations=10, **options),
        "kcore": lambda: graph.kcore(**options),
    }


def part_overhead(bench, path, weighted):
    options = bench.options
    with cenote.open(path) as graph:
        info = graph.info()
        source = int(graph.id_of(int(np.argmax(graph.degree()))))
        for percent in options.memory:
            memory = info["page_bytes"] * percent // 100 + STATE_BYTES * info["vertices"]
            memory += 64 << 20
            for count in options.shards:
                folder, _ = shards_of(bench, path, count)
                with cenote.ray.open(
                    folder, memory=memory // count, threads=1, cpus=0.25
                ) as sharded:
                    names = [name for name in options.algorithms if (name == "sssp") == weighted]
                    for name in names:
                        compare(bench, name, percent, memory, count, graph, sharded, source)


def cpu_seconds(pids):
    """Processor time of processes so far, all threads."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def compare(bench, name, percent, memory, count, graph, sharded, source):
    """Runs an algorithm on one process and on shards, in turn."""
    one = runs(graph, source, memory=memory, threads=2)[name]
    many = runs(sharded, source)[name]
    seconds, cpu = {"one": [], "shards": []}, {"one": [], "shards": []}
    pids = [os.getpid(), *ray.get([actor.ping.remote() for actor in sharded._cluster.actors])]
    for repeat in range(bench.options.repeats):
        for contender, run in [("one", one), ("shards", many)]:
            start, before = time.perf_counter(), cpu_seconds(pids)
            result = run()
            took = time.perf_counter() - start
            seconds[contender].append(took)
            cpu[contender].append(cpu_seconds(pids) - before)
            row = {}
            if contender == "shards":
                stats = result.stats
                row = {
                    "supersteps": len(stats.supersteps),
                    "bytes_exchanged": stats.bytes_exchanged,
                    "boundary_vertices": stats.boundary_vertices,
                    "superstep_bytes_max": max(step["bytes"] for step in stats.supersteps),
                    "superstep_seconds": [round(step["seconds"], 5) for step in stats.supersteps],
                    "memory_bytes_max": stats.memory_bytes_max,
                }
            bench.record(
                "overhead", algorithm=name, contender=contender, shards=count, repeat=repeat,
                memory_percent=percent, memory_bytes=memory, vertices=graph.vertex_count,
                edges=graph.edge_count, seconds=took, cpu_seconds=cpu[contender][-1],
                load_average=os.getloadavg()[0], **row,
            )
    ratio = statistics.median(seconds["shards"]) / statistics.median(seconds["one"])
    label = f"{name}, {count} shards, memory {percent}%"
    figure(f"{label}: one process", seconds["one"], "s")
    figure(f"{label}: shards", seconds["shards"], "s")
    # Where others use the machine, seconds say little.
    times = [statistics.median(cpu[contender]) for contender in ("shards", "one")]
    more = f"{times[0] / max(times[1], 0.01):.2f} x its processor time"
    print(f"{label}: {ratio:.2f} x one process, {more}", flush=True)


def part_boundary(bench, path):
    for count in bench.options.cuts:
        folder, manifest = shards_of(bench, path, count)
        boundary = sum(sum(shard["boundary"]) for shard in manifest["shards"])
        share = boundary / manifest["vertices"]
        bench.record(
            "boundary", shards=count, vertices=manifest["vertices"], edges=manifest["edges"],
            boundary_vertices=boundary, boundary_per_vertex=share,
        )
        print(f"{count:3} shards: {boundary:12,} boundary vertices, {share:.3f} a vertex")


class Idle:
    """A process that does nothing."""

    def call(self, *_):
        return None

    def send(self, count):
        return None, np.zeros(count, np.uint8)


def part_terms(bench, count):
    actors = [ray.remote(Idle).options(num_cpus=0.25).remote() for _ in range(2)]
    ray.get([actor.call.remote() for actor in actors])
    calls = []
    for _ in range(200):
        start = time.perf_counter()
        ray.get([actor.call.remote() for actor in actors])
        calls.append(time.perf_counter() - start)
    figure("a call of two processes", [1e3 * took for took in calls], "ms")
    rates = []
    for _ in range(5):
        start = time.perf_counter()
        sent = [actor.send.options(num_returns=2).remote(count) for actor in actors]
        ray.get([actors[1 - at].call.remote(part[1]) for at, part in enumerate(sent)])
        rates.append(2 * count / (time.perf_counter() - start))
    figure("through the object store", [rate / 1e9 for rate in rates], "GB/s")
    bench.record("terms", call_seconds=statistics.median(calls), store_bytes_per_second=rates)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shards", default="2")
    parser.add_argument("--cuts", default="2,4,8,16,32,64")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--memory", default="100")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--dir", default=tempfile.gettempdir() + "/cenote-shards")
    parser.add_argument("--bytes", type=int, default=64 << 20, help="of a message of `terms`")
    parser.add_argument("--rows")
    options = parser.parse_args(arguments)
    for name in ("shards", "cuts", "memory"):
        setattr(options, name, [int(part) for part in getattr(options, name).split(",")])
    for name, known in [("algorithms", ALGORITHMS), ("only", PARTS)]:
        given = getattr(options, name).split(",")
        if not set(given) <= set(known):
            sys.exit(f"--{name} is {','.join(given)}: expected some of {','.join(known)}")
        setattr(options, name, given)
    bench = Bench(options, "-shards")
    warnings.simplefilter("ignore", cenote.CenoteWarning)
    starts_ray = not ray.is_initialized()
    if starts_ray:
        ray.init(
            num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False,
            logging_level=logging.ERROR, object_store_memory=2 << 30,
        )
    if "overhead" in options.only:
        if set(options.algorithms) - {"sssp"}:
            part_overhead(bench, graph_of(bench, options.scale), weighted=False)
        if "sssp" in options.algorithms:
            part_overhead(bench, graph_of(bench, options.scale, weighted=True), weighted=True)
    if "boundary" in options.only:
        part_boundary(bench, graph_of(bench, options.scale))
    if "terms" in options.only:
        part_terms(bench, options.bytes)
    if starts_ray:
        ray.shutdown()


if __name__ == "__main__":
    main()
