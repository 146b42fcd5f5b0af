"""Reading a graph whose changes lie in delta runs, beside the same graph after they are merged.

    delta_runs.py [--scale 22] [--shares 1,5,10] [--commits 1,7,63] [--memory 10] [--repeats 3]
                  [--algorithms pagerank,bfs,wcc] [--dir DIR] [--rows FILE]

A Kronecker graph without a share of its edges (percent) is imported; these are added in so many
commits by a writer that ends without merging. While it works it merges runs of one level when there
are eight, and all of them when they pass its bounds, so the rows say how many were left. Each
algorithm runs cold on the graph with runs and on a merged copy, in turn, with `--memory` percent of
the pages, 24 bytes a vertex and 16 MiB. Prints medians, and their ratio. Needs the package with its
native part (`make python`).
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench import CENOTE, Bench

STATE_BYTES = 24
"""Bytes of a vertex in a budget: what the state of PageRank takes."""

CHANGES_BYTES = 16 << 20
"""What an index of changes may take."""

WRITER = """
import os, sys
import numpy as np
import cenote
graph, edges, commits = sys.argv[1], np.load(sys.argv[2]), int(sys.argv[3])
update = cenote.update(graph, memory="3GiB")
for part in np.array_split(edges, commits):
    update.add_all((part[:, 0].copy(), part[:, 1].copy()))
    update.commit()
os._exit(0)
"""


def graphs(bench, share, commits):
    """A graph with delta runs and its merged copy, made once."""
    scale = bench.options.scale
    pairs = Path(bench.path(f"kron{scale}.u32"))
    if not pairs.exists():
        subprocess.run([CENOTE, "generate", "kron", "--scale", str(scale), "--out", pairs],
                       check=True, capture_output=True)
    changed = bench.path(f"kron{scale}-{share}-{commits}.cenote")
    merged = bench.path(f"kron{scale}-{share}-{commits}-merged.cenote")
    if not Path(merged).exists():
        edges = np.fromfile(pairs, np.uint32).reshape(-1, 2)
        later = np.random.default_rng(share).random(len(edges)) < share / 100
        before, added = bench.path("before.u32"), bench.path("added.npy")
        edges[~later].tofile(before)
        np.save(added, edges[later])
        subprocess.run([CENOTE, "import", before, "--undirected", "--overwrite", "--out", changed],
                       check=True, capture_output=True)
        subprocess.run([sys.executable, "-c", WRITER, changed, added, str(commits)], check=True)
        shutil.copyfile(changed, merged)
        subprocess.run([CENOTE, "merge", merged], check=True, capture_output=True)
        for file in [before, added]:
            os.remove(file)
    return changed, merged


def compare(bench, what, runs, command):
    """Runs a command on both graphs in turn; `command` gives it for a graph."""
    found = {name: [] for name in runs["graphs"]}
    for _ in range(bench.options.repeats):
        for name, graph in runs["graphs"].items():
            row = bench.cenote("delta runs", *command(graph), what=what, graph=name,
                               share=runs["share"], runs=runs["count"])
            found[name].append(row)
    median = {(name, field): statistics.median(row[field] for row in rows)
              for name, rows in found.items() for field in ["seconds", "cpu_seconds", "bytes_read"]}
    ratio = median["runs", "seconds"] / median["merged", "seconds"]
    print(f"{what:9} {runs['share']:3}% in {runs['count']:3} runs "
          f"{median['runs', 'seconds']:8.3f} s, merged {median['merged', 'seconds']:8.3f} s: "
          f"{ratio:.2f} x; {median['runs', 'bytes_read'] / 1e6:.0f} MB "
          f"and {median['merged', 'bytes_read'] / 1e6:.0f} MB read", flush=True)


def measure(bench, share, commits):
    options = bench.options
    changed, merged = graphs(bench, share, commits)
    info = [json.loads(subprocess.run([CENOTE, "info", graph, "--json"], check=True,
                                      capture_output=True).stdout) for graph in (changed, merged)]
    runs = {"graphs": {"runs": changed, "merged": merged}, "share": share,
            "count": info[0]["delta_runs"]}
    memory = info[1]["page_bytes"] * options.memory // 100
    memory += STATE_BYTES * info[1]["vertices"] + CHANGES_BYTES
    source = bench.cenote("degrees", "run", "degrees", merged)["result"]["top"][0]["vertex"]
    for algorithm in options.algorithms.split(","):
        more = {"bfs": ["--source", source], "pagerank": ["--iterations", 10]}.get(algorithm, [])

        def command(graph, algorithm=algorithm, more=more):
            return ["run", algorithm, graph, *more, "--memory", memory]

        compare(bench, algorithm, runs, command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--shares", default="1,5,10")
    parser.add_argument("--commits", default="1,7,63")
    parser.add_argument("--memory", type=int, default=10)
    parser.add_argument("--algorithms", default="pagerank,bfs,wcc")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir", default="/tmp/cenote-delta-runs")
    parser.add_argument("--rows")
    bench = Bench(parser.parse_args(), "-delta-runs")
    for share in bench.options.shares.split(","):
        for commits in bench.options.commits.split(","):
            measure(bench, int(share), int(commits))


if __name__ == "__main__":
    main()
