"""What free space in pages saves when changes are merged: time, and bytes written.

    free_space.py [--vertices 1038000] [--free-space 0,1,5,10] [--page-size 4KiB,16KiB]
                  [--updates 10] [--batches 20] [--repeats 3] [--dir DIR] [--rows FILE]

A Barabási–Albert graph of the shape of YouTube's, of which the last 3.7% of the vertices and 11%
of the edges come as ten updates (12% and 3.8% of what was there before, as in section 6.5 of the
GraphSSD paper). The graph before them is imported with each share of free space. Then changes are
merged in three ways, with all shares in turn, again and again: `each` merges every update by
itself, `once` merges all in one batch, `few` merges batches of a hundred edges of the first update,
so that most pages stay.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench import CENOTE, Bench

EDGES_PER_VERTEX = 5
NEW_VERTICES = 0.0366
NEW_EDGES = 0.107
FEW_EDGES = 100


def run(bench, part, *args, **row):
    """The JSON of a command, recorded. It reads around the page cache, which stays as it is."""
    command = [CENOTE, *map(str, args), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    found = json.loads(done.stdout)
    bench.record(part, command=" ".join(command[1:]), **row, **found)
    return found


def inputs(bench):
    """The file of the graph before, and the edges of each update."""
    vertices, count = bench.options.vertices, bench.options.updates
    out = Path(bench.path("ba.u32"))
    out.unlink(missing_ok=True)
    run(bench, "generate", "generate", "ba", "--vertices", vertices,
                 "--edges-per-vertex", EDGES_PER_VERTEX, "--out", out)
    pairs = np.fromfile(out, "<u4").reshape(-1, 2)
    random = np.random.default_rng(7)
    old = int(vertices * (1 - NEW_VERTICES))
    is_new = pairs.max(axis=1) >= old
    known = np.flatnonzero(~is_new)
    more = int(len(pairs) * NEW_EDGES) - int(is_new.sum())
    is_new[random.choice(known, max(more, 0), replace=False)] = True
    before, updates = pairs[~is_new], pairs[is_new]
    # New vertices come in the order of their numbers, with edges among the others.
    newest = updates.max(axis=1)
    when = np.where(newest >= old, (newest - old) * count // (vertices - old),
                    random.integers(0, count, len(updates)))
    before.tofile(out)
    return out, [updates[when == number] for number in range(count)]


def batches(way, updates, few):
    """The edges that are merged together."""
    if way == "each":
        return updates
    if way == "once":
        return [np.concatenate(updates)]
    spread = np.random.default_rng(8).permutation(updates[0])
    return np.array_split(spread[: few * FEW_EDGES], few)


def merge_all(bench, source, way, updates, row):
    """Merges the batches into a copy of a graph; sums of what that took."""
    graph, edges = bench.path("changed.cenote"), Path(bench.path("update.u32"))
    shutil.copyfile(source, graph)
    total = {"seconds": 0.0, "update_seconds": 0.0, "bytes_written": 0, "pages_written": 0}
    for number, batch in enumerate(batches(way, updates, bench.options.batches)):
        batch.tofile(edges)
        made = run(bench, "free space update", "update", graph, "--add", edges,
                            **row, way=way, batch=number)
        merged = run(bench, "free space merge", "merge", graph, **row, way=way, batch=number)
        # A batch that is a large share of the graph is merged by the update itself.
        total["update_seconds"] += made["seconds"]
        total["seconds"] += made["seconds"] + merged["seconds"]
        for key in ["bytes_written", "pages_written"]:
            total[key] += made[key] + merged[key]
    info = run(bench, "free space info", "info", graph, **row, way=way)
    return total | {"pages": info["pages"]}


def measure(bench, before, updates, page_size):
    shares = [int(share) for share in bench.options.free_space.split(",")]
    graphs = {share: bench.path(f"free-{share}.cenote") for share in shares}
    pages = {}
    for share, graph in graphs.items():
        run(bench, "free space import", "import", before, "--out", graph, "--overwrite",
                     "--page-size", page_size, "--free-space", share, share=share)
        pages[share] = run(bench, "free space info", "info", graph, share=share)["pages"]
    print(f"pages of {page_size}\n  {'way':5} {'free %':>6} {'pages':>8} {'after':>8} "
          f"{'pages written':>14} {'MiB written':>12} {'seconds':>8}  of that merging")
    for way in ["each", "once", "few"]:
        found = {share: [] for share in shares}
        for repeat in range(bench.options.repeats):
            for share, graph in graphs.items():
                row = {"share": share, "pages_of": page_size, "repeat": repeat}
                found[share].append(merge_all(bench, graph, way, updates, row))
        for share, runs in found.items():
            median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            print(f"  {way:5} {share:6} {pages[share]:8} {median['pages']:8.0f} "
                  f"{median['pages_written']:14.0f} {median['bytes_written'] / (1 << 20):12.1f} "
                  f"{median['seconds']:8.2f}  {median['seconds'] - median['update_seconds']:.2f}",
                  flush=True)
            bench.record("free space", way=way, pages_of=page_size, share=share,
                         pages_before=pages[share], **median)
    for graph in [*graphs.values(), bench.path("changed.cenote"), bench.path("update.u32")]:
        Path(graph).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vertices", type=int, default=1_038_000)
    parser.add_argument("--free-space", default="0,1,5,10", help="percent, by comma")
    parser.add_argument("--page-size", default="4KiB,16KiB")
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--batches", type=int, default=20, help="small ones, of `few`")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir", default="free-space")
    parser.add_argument("--rows", help="where the raw rows go [default: experiments/runs]")
    options = parser.parse_args()
    options.scale = options.vertices
    bench = Bench(options, "-free-space")
    before, updates = inputs(bench)
    for page_size in options.page_size.split(","):
        measure(bench, before, updates, page_size)
    before.unlink()


if __name__ == "__main__":
    main()
