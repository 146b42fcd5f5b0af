"""One large graph from its edges to the answers, under a hard limit of memory (as root).

    large_graph.py [--scale 26] [--limit 2000000000] [--memory 1700MiB] [--repeats 1]
                   [--dir DIR] [--rows FILE]

Makes a Kronecker graph (not timed), imports it, finds its components, and runs 15 iterations of
PageRank, each a process of its own in a memory control group with the limit, with cold caches.
Prints the seconds of each and of all together. The makers of graphframes-rs publish 30 minutes in
5 GB for this PageRank on two cores, and 41 in 10 GB for components of 1.96 billion edges.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import CENOTE, Bench, control_group, drop_caches


def timed(group, command):
    """The seconds of a command in a control group, and what it printed as JSON."""
    drop_caches()
    begin = time.perf_counter()
    done = subprocess.run(
        [str(part) for part in command],
        preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        capture_output=True, text=True,
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return seconds, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=26)
    parser.add_argument("--limit", type=int, default=2_000_000_000)
    parser.add_argument("--memory", default="1700MiB")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path("target/large-graph"))
    parser.add_argument("--rows", type=Path)
    args = parser.parse_args()
    group = control_group(args.limit)
    if group is None:
        sys.exit("no memory control group can be made here: run as root")
    edges, graph = args.dir / f"kron{args.scale}.u32", args.dir / f"kron{args.scale}.cenote"
    bench = Bench(args, "-large-graph")
    if not edges.exists():
        subprocess.run(
            [CENOTE, "generate", "kron", "--scale", str(args.scale), "--out", edges, "-q"],
            check=True, stdout=subprocess.DEVNULL,
        )
    memory = ["--memory", args.memory, "--json", "-q"]
    steps = {
        "import": ["import", edges, "--undirected", "--out", graph, "--overwrite"],
        "wcc": ["run", "wcc", graph],
        "pagerank": ["run", "pagerank", graph, "--iterations", "15"],
    }
    try:
        totals = []
        for repeat in range(args.repeats):
            total = 0
            for name, step in steps.items():
                seconds, row = timed(group, [CENOTE, *step, *memory])
                total += seconds
                bench.record("large", step=name, repeat=repeat, limit=args.limit,
                             wall_seconds=seconds, **row)
                peak = row.get("peak_rss_bytes", 0) / 1e6
                print(f"{name}: {seconds:.1f} s, peak {peak:.0f} MB", flush=True)
            totals.append(total)
        print(f"all: {statistics.median(totals):.1f} s, median of {len(totals)}, "
              f"under {args.limit / 1e9:.1f} GB")
    finally:
        group.rmdir()


if __name__ == "__main__":
    main()
