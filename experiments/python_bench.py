"""The figures of the Python package. Raw rows go to experiments/runs/DATE-python.jsonl.

    python_bench.py [--edges 10000000] [--networkx-edges 10000000] [--scale 24] [--repeats 3]
                    [--dir DIR] [--rows FILE] [--rivals scipy,duckdb] [--iops N]
                    [--only names,overhead,arrow,sample]

Every measurement is a process of its own (`python_workers.py`), by `--python`, which may be that of
a fresh venv; the page cache is cold (needs root to drop it). Seconds are those of the whole
process with the interpreter and its imports, where nothing else is said; memory is `VmHWM`.
Packages that are not installed are left out, and named.

- names: from a Parquet file of edges with string ids to a table of components in Polars, beside
  other packages, each over arrays of numbers where it takes them. NetworkX needs a few hundred
  bytes an edge: `--networkx-edges` gives it a smaller file, on which Cenote is measured too.
- overhead: the same runs by the command and by Python.
- arrow: an import from an Arrow table in memory beside one from a binary file.
- sample: mini-batches of sampled neighbourhoods with a tenth of the lists in memory, beside what
  the drive's random reads allow for the pages on which the sampled entries lie, and beside a
  sampler in NumPy over lists in memory (in place of PyG's, whose native part is not on PyPI).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import CENOTE, MIB, ROOT, Bench, drop_caches, figure

PARTS = ["names", "overhead", "arrow", "sample"]
RIVALS = ["scipy", "igraph", "networkit", "duckdb", "networkx"]
FANOUTS = [15, 10]
BATCH = 1024


class Missing(Exception):
    """A package is not installed."""


def work(bench, part, name, record=None, **arguments):
    """The result of a worker and the seconds of its process, recorded."""
    drop_caches()
    command = [bench.options.python, ROOT / "experiments/python_workers.py", name]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, json.dumps(arguments)], capture_output=True, text=True, env=bench.environment
    )
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        bench.record(part, worker=name, error=last, **(record or {}))
        if last.startswith("ModuleNotFoundError"):
            raise Missing(last.split(": ", 1)[1])
        sys.exit(f"{name} {arguments}: {last}")
    found = {"seconds": seconds} | json.loads(done.stdout.splitlines()[-1])
    bench.record(part, worker=name, **(record or {}), **found)
    return found


def pairs_of(bench, scale, edges):
    """A binary file of at least so many edges."""
    pairs = bench.path(f"python-kron{scale}.u32")
    if not Path(pairs).exists():
        factor = max(16, -(-edges >> scale))
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--edge-factor", factor,
                     "--seed", 1, "--out", pairs)
    return pairs


# From names to components -------------------------------------------------------------------------


def parquet_of(bench, rows):
    path = bench.path(f"names-{rows}.parquet")
    if not Path(path).exists():
        pairs = pairs_of(bench, max(8, (rows // 16).bit_length()), rows)
        work(bench, "names", "names", pairs=pairs, parquet=path, rows=rows)
    return path


def part_names(bench):
    print(f"\nnames: {bench.options.edges:,} edges with string ids, to a table of components")
    print(f"  {'':12} {'edges':>12} {'seconds':>9} {'MB':>8} {'x seconds':>10} {'x memory':>9}")
    rivals = bench.options.rivals.split(",")
    for rows in sorted({bench.options.edges, bench.options.networkx_edges}):
        is_small = rows == bench.options.networkx_edges
        is_large = rows == bench.options.edges
        compare(bench, rows, [r for r in rivals if (is_small if r == "networkx" else is_large)])


def compare(bench, rows, rivals):
    """Cenote and others on one file, in turn."""
    path, found, answers = parquet_of(bench, rows), {}, {}
    limits = {"folder": str(bench.folder), "memory": bench.options.memory}
    own = {"cenote": limits, "duckdb": limits | {"memory": "8GiB"}}
    names = ["cenote", *rivals]
    for _ in range(bench.options.repeats):
        for name in list(names):
            try:
                result = work(bench, "names", name, {"edges": rows}, parquet=path,
                              **own.get(name, {}))
            except Missing as error:
                print(f"  {name:12} {error}")
                names.remove(name)
                continue
            found.setdefault(name, []).append(result)
            answers[name] = [result[key] for key in ("vertices", "components", "largest")]
    assert all(answer == answers["cenote"] for answer in answers.values()), answers
    medians = {
        name: [statistics.median(row[key] for row in results) for key in ("seconds", "peak_bytes")]
        for name, results in found.items()
    }
    for name, (seconds, peak) in medians.items():
        ratios = seconds / medians["cenote"][0], peak / medians["cenote"][1]
        print(f"  {name:12} {rows:12,} {seconds:9.2f} {peak / 1e6:8.0f} {ratios[0]:10.1f}"
              f" {ratios[1]:9.1f}")


# Beside the command -------------------------------------------------------------------------------


def graph_of(bench):
    scale = bench.options.scale
    graph = bench.path(f"python-kron{scale}.cenote")
    pairs = pairs_of(bench, scale, 16 << scale)
    if not Path(graph).exists():
        bench.cenote("prepare", "import", pairs, "--undirected", "--out", graph)
    return pairs, graph


def command_seconds(bench, part, *arguments):
    drop_caches()
    start = time.perf_counter()
    done = subprocess.run([CENOTE, *map(str, arguments), "--json"], capture_output=True, text=True,
                          env=bench.environment)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    bench.record(part, worker="command", command=" ".join(map(str, arguments)), process=seconds,
                 **json.loads(done.stdout))
    return seconds


def part_overhead(bench):
    print("\noverhead: seconds of Python over those of the command; goal: at most 1.03 over 2 s")
    _, graph = graph_of(bench)
    runs = {"wcc": {}, "pagerank": {"iterations": 10}, "bfs": {"parents": True}}
    for algorithm, options in runs.items():
        flags = {"pagerank": ["--iterations", 10], "bfs": ["--parents"]}.get(algorithm, [])
        calls, processes = [], []
        for _ in range(bench.options.repeats):
            command = command_seconds(bench, "overhead", "run", algorithm, graph, *flags,
                                      "--memory", bench.options.memory)
            found = work(bench, "overhead", "run", {"algorithm": algorithm}, graph=graph,
                         algorithm=algorithm, options=options, memory=bench.options.memory)
            calls.append(found["call_seconds"] / command)
            processes.append(found["seconds"] / command)
        figure(f"{algorithm}: opening and run / command of {command:.2f} s", calls, "x")
        figure(f"{algorithm}: whole process / command", processes, "x")


def part_arrow(bench):
    print("\narrow: an import from memory beside one from a binary file; goal: at least 0.8")
    pairs, _ = graph_of(bench)
    out, ratios, rates = bench.path("arrow.cenote"), [], []
    for _ in range(bench.options.repeats):
        Path(out).unlink(missing_ok=True)
        command = command_seconds(bench, "arrow", "import", pairs, "--undirected", "--out", out,
                                  "--memory", bench.options.memory)
        found = work(bench, "arrow", "arrow", pairs=pairs, graph=out, memory=bench.options.memory)
        ratios.append(command / found["call_seconds"])
        rates.append(found["rows"] / found["call_seconds"] / 1e6)
    Path(out).unlink()
    figure("Arrow from memory", rates, "M edges/s")
    figure("Arrow from memory / binary import", ratios, "x", "at least 0.8")


# Samples of neighbourhoods ------------------------------------------------------------------------


def read_iops(bench):
    """Random reads of 4 KiB that the drive does a second."""
    if bench.options.iops is not None:
        return bench.options.iops
    found = json.loads(subprocess.run(
        [CENOTE, "profile", bench.folder, "--quick", "--json"], capture_output=True, text=True,
        check=True, env=bench.environment,
    ).stdout)
    row = next(row for row in found["sizes"] if row["bytes"] == 4096)
    bench.record("sample", profile=found["device"], read_iops_max=row["read_iops_max"])
    return row["read_iops_max"]


def part_sample(bench):
    print(f"\nsample: fanouts {FANOUTS}, batches of {BATCH}, a tenth of the lists in memory")
    pairs, graph = graph_of(bench)
    iops = read_iops(bench)
    shares, beside, rates = [], [], []
    for _ in range(bench.options.repeats):
        common = {"fanouts": FANOUTS, "batches": bench.options.batches, "batch": BATCH}
        found = work(bench, "sample", "sample", graph=graph, share=0.1, **common)
        memory = work(bench, "sample", "numpy_sample", pairs=pairs, **common)
        # The first batch fills what is in memory.
        seconds = sum(found["batch_seconds"][1:])
        shares.append(sum(found["pages"][1:]) / seconds / iops)
        rates.append(sum(found["edges"][1:]) / seconds / 1e6)
        beside.append(seconds / sum(memory["batch_seconds"][1:]))
    print(f"  {iops:,.0f} random reads of 4 KiB a second; a batch has"
          f" {statistics.mean(found['edges'][1:]):,.0f} edges on"
          f" {statistics.mean(found['pages'][1:]):,.0f} pages, and read"
          f" {statistics.mean(found['read_pages'][1:]):,.0f};"
          f" {statistics.median(found['batch_cpu_seconds'][1:]):.3f} s of processor time;"
          f" {found['memory_bytes'] / MIB:.0f} MiB for lists, peak of the process"
          f" {found['peak_bytes'] / MIB:.0f} MiB")
    figure("sampled edges", rates, "M edges/s")
    figure("needed pages a second / the drive's random reads", shares, "x", "at least 0.6")
    figure("seconds a batch / NumPy's over lists in memory", beside, "x", "at most 3")


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--edges", type=int, default=10_000_000, help="of the Parquet file")
    parser.add_argument("--networkx-edges", type=int, default=10_000_000)
    parser.add_argument("--scale", type=int, default=24, help="of the Kronecker graph")
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", default="256MiB")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the workers")
    parser.add_argument("--dir", default="target/bench")
    parser.add_argument("--rows", help="file of raw rows")
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--iops", type=float, help="random reads of 4 KiB a second [measured]")
    parser.add_argument("--only", default=",".join(PARTS))
    found = parser.parse_args()
    for kind, given, known in [("part", found.only, PARTS), ("rival", found.rivals, RIVALS)]:
        if unknown := set(given.split(",")) - set(known):
            parser.error(f"no such {kind}: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return found


def main():
    given = options()
    bench = Bench(given, "-python")
    with tempfile.TemporaryDirectory() as state:
        # Profiles that are measured here must not plan the reads of others, nor theirs ours.
        bench.environment = os.environ | {"XDG_STATE_HOME": state}
        for part in given.only.split(","):
            globals()[f"part_{part}"](bench)


if __name__ == "__main__":
    main()
