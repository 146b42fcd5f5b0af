"""Vertex state in memory and in a file, in bands: the figures of docs/bands.md.

    bands_bench.py [--repeats 3] [--only pagerank,wcc] [--scale N --budgets KIB,KIB]
                   [--dir DIR] [--rows FILE]

Each algorithm runs on a Kronecker graph (edge factor 16) with a cold page cache, with memory for
all of its state and with about a quarter of it, in turn. Prints medians of seconds and of processor
seconds, bytes read and written, and what `estimate` said of them. `--scale` takes other graphs,
with other budgets in KiB.
"""

import argparse
import os
import statistics
import subprocess

from bench import CENOTE, MIB, Bench

RUNS = {
    # Scale of the graph, options (a source is the vertex of most neighbours), MiB for all of the
    # state and for a quarter of it.
    "pagerank": (24, ["--iterations", "10"], 160, 34),
    "wcc": (24, [], 80, 17),
    "degrees": (22, [], 22, 6),
    "bfs": (22, ["--source"], 16, 4),
    "sssp": (22, ["--source"], 26, 8),
    "cdlp": (20, [], 16, 6),
    "kcore": (20, [], 16, 3),
}
FIELDS = ["seconds", "cpu_seconds", "bytes_read", "bytes_written", "read_requests"]


def imported(bench, scale):
    """The graph file of a scale, made once."""
    graph, pairs = bench.path(f"kron{scale}.cenote"), bench.path(f"kron{scale}.u32")
    if not os.path.exists(graph):
        for command in (["generate", "kron", "--scale", str(scale), "--out", pairs],
                        ["import", pairs, "--out", graph, "--undirected"]):
            subprocess.run([CENOTE, *command], check=True, capture_output=True)
        os.remove(pairs)
    return graph


def measure(bench, algorithm):
    scale, options, *budgets = RUNS[algorithm]
    budgets = [budget * MIB for budget in budgets]
    if bench.options.scale:
        scale = bench.options.scale
        budgets = [int(budget) << 10 for budget in bench.options.budgets.split(",")]
    graph = imported(bench, scale)
    if options == ["--source"]:
        degrees = bench.cenote("degrees", "run", "degrees", graph)
        options = ["--source", str(degrees["result"]["top"][0]["vertex"])]
    taken = {memory: [] for memory in budgets}
    commands = {memory: [algorithm, graph, *options, "--memory", memory] for memory in budgets}
    said = {memory: bench.cenote("estimate", "estimate", *commands[memory]) for memory in budgets}
    for _ in range(bench.options.repeats):
        for memory in budgets:
            taken[memory].append(bench.cenote("bands", "run", *commands[memory]))
    seconds = []
    for memory, found in taken.items():
        median = {field: statistics.median(row.get(field, 0) for row in found)
                  for field in FIELDS}
        seconds.append(median["seconds"])
        estimated = said[memory]
        print(f"{algorithm:9} {scale} {memory / MIB:6.1f} MiB "
              f"{found[0].get('bands', {}).get('count', '-'):>3} bands "
              f"{median['seconds']:7.3f} s {median['cpu_seconds']:7.3f} s CPU "
              f"{median['bytes_read'] / 1e6:9.1f} MB read "
              f"{median['bytes_written'] / 1e6:8.1f} MB written "
              f"{median['read_requests']:8.0f} requests; estimated "
              f"{estimated['bytes_read'] / 1e6:9.1f} and "
              f"{estimated['bytes_written'] / 1e6:8.1f} MB")
    print(f"{algorithm:9} {scale} {seconds[1] / seconds[0]:.2f} x the time", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=",".join(RUNS))
    parser.add_argument("--scale", type=int, help="of every graph, with --budgets")
    parser.add_argument("--budgets", help="KiB for all of the state and for less")
    parser.add_argument("--dir", default="/tmp/cenote-bands")
    parser.add_argument("--rows")
    bench = Bench(parser.parse_args(), "-bands")
    for algorithm in bench.options.only.split(","):
        measure(bench, algorithm)


if __name__ == "__main__":
    main()
