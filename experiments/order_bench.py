"""What the order of the vertices changes: pages, bytes read, processor time.

    order_bench.py [--graphs kron-20,grid-1000] [--repeats 3] [--dir DIR] [--rows FILE]

Every graph is imported in each order; then every algorithm runs on all of them in turn, again and
again, with a cache of a tenth of the pages of lists and a cold page cache (where it may be
dropped). Graphs of `$CENOTE_DATA` that are not there are left out. A graph `uniform-N` has N
vertices and 8 times as many edges.
"""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
from pathlib import Path

from bench import CENOTE, Bench, drop_caches

ORDERS = ["natural", "degree", "bfs", "cluster", "random"]
ALGORITHMS = {"bfs": [], "wcc": [], "pagerank": ["--iterations", 10]}
REAL = {
    "github": (["social/map-of-github-v2.el.zst"], []),
    "gowalla": (["social/gowalla.txt.gz"], []),
    "cnr-2000": (["web/cnr-2000.adj.zst"], ["--directed", "--in-edges"]),
    "roads": ([f"road/{city}-roads.gr.bin.zst"
               for city in ["amsterdam", "delhi", "moscow", "rome", "seattle"]], []),
}


def input_of(bench, name):
    """Files and flags of a graph's import; `None` where the data is not there."""
    if name in REAL:
        files, flags = REAL[name]
        data = Path(os.environ.get("CENOTE_DATA", ""))
        files = [data / file for file in files]
        if not all(file.is_file() for file in files):
            return None
        return (union(bench, files), flags) if name == "roads" else (files, flags)
    kind, size = name.split("-")
    out = bench.path(f"{name}.u32")
    Path(out).unlink(missing_ok=True)
    flags = {"kron": ["--scale", size], "grid": ["--rows", size, "--cols", size],
             "uniform": ["--vertices", size, "--edges", str(8 * int(size))]}[kind]
    subprocess.run([CENOTE, "generate", kind, *flags, "--out", out], check=True,
                   capture_output=True)
    return [out], []


def union(bench, files):
    """One file of pairs whose ids do not meet: those of each city behind those of the last."""
    out, base = Path(bench.path("roads.u32")), 0
    with out.open("wb") as pairs:
        for file in files:
            read = subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout
            ids = struct.unpack(f"<{len(read) // 4}i", read[: len(read) // 4 * 4])
            pairs.write(struct.pack(f"<{len(ids)}I", *(base + v for v in ids)))
            base += max(ids) + 1
    return [out]


def user_seconds(command):
    """The JSON of a command, and the user time that it took."""
    drop_caches()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told, error = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: {error}")
    return json.loads(told), usage.ru_utime


def measure(bench, name):
    found = input_of(bench, name)
    if found is None:
        print(f"{name}: no data")
        return
    files, flags = found
    orders = bench.options.orders.split(",")
    algorithms = {name: ALGORITHMS[name] for name in bench.options.algorithms.split(",")}
    graphs = {order: bench.path(f"{name}-{order}.cenote") for order in orders}
    print(f"{name}\n  {'order':8} {'pages':>8} {'import s':>9}", end="")
    print("".join(f" {algorithm + ' passes':>15} {'user s':>7}" for algorithm in algorithms))
    lines = {}
    for order, graph in graphs.items():
        told, seconds = user_seconds(
            [CENOTE, "import", *files, *flags, *bench.options.flags.split(), "--order", order,
             "--out", graph, "--overwrite", "--json"])
        info, _ = user_seconds([CENOTE, "info", graph, "--json"])
        bench.record("order import", graph=name, order=order, user_seconds=seconds,
                     pages=info["pages"], page_bytes=info["page_bytes"],
                     stored_edges=info["stored_edges"], codec=info["codec"],
                     seconds=told["seconds"], peak_rss_bytes=told["peak_rss_bytes"])
        lines[order] = f"  {order:8} {info['pages']:8} {seconds:9.2f}"
    for algorithm, more in algorithms.items():
        rows = {order: [] for order in orders}
        for _ in range(bench.options.repeats):
            for order, graph in graphs.items():
                told, seconds = user_seconds(
                    [CENOTE, "run", algorithm, graph, "--cache", "10%", *map(str, more), "--json"])
                rows[order].append((told["passes"], seconds))
                bench.record("order run", graph=name, order=order, user_seconds=seconds,
                             **{key: told[key] for key in [
                                 "algorithm", "seconds", "cpu_seconds", "bytes_read", "passes",
                                 "read_requests", "iterations"]})
        for order, found in rows.items():
            passes, seconds = (statistics.median(column) for column in zip(*found))
            lines[order] += f" {passes:15.3f} {seconds:7.2f}"
    print("\n".join(lines.values()), flush=True)
    for path in [*graphs.values(), bench.path(f"{name}.u32")]:
        Path(path).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", default=f"kron-20,grid-1000,{','.join(REAL)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--dir", default="order-bench")
    parser.add_argument("--rows", help="where the raw rows go [default: experiments/runs]")
    parser.add_argument("--flags", default="", help="further flags of every import")
    options = parser.parse_args()
    options.scale = options.graphs
    bench = Bench(options, "-order")
    for name in options.graphs.split(","):
        measure(bench, name)


if __name__ == "__main__":
    main()
