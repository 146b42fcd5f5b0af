"""Two builds of the command, in turn, on the same graphs: `compare_builds.py OLD NEW`.

    compare_builds.py OLD NEW [--graphs kron20,grid] [--only import,bfs] [--repeats 5]
                      [--dir DIR] [--rows FILE]

A graph is `kronN`, `grid` (2000 x 2000), or the path of a file to import; `PATH:f32` has weights.

Each build imports its own file from the same input and runs every algorithm on it with a cold page
cache (as root), OLD NEW OLD NEW. Quoted are medians and the ratio NEW / OLD of the time (the
command's own), the processor time, the peak of resident memory, the bytes read and the requests.
Raw rows go to experiments/runs.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEMORY = {"kron20": "40MiB", "kron22": "128MiB", "kron24": "512MiB", "grid": "64MiB"}
RUNS = {
    "bfs": [],
    "bfs --parents": ["--parents"],
    "wcc": [],
    "scc": [],
    "pagerank": [],
    "kcore": [],
    "cdlp": [],
    "mis": [],
    "sssp": [],
    "sssp --parents": ["--parents"],
    "walk": ["--walkers", "500000", "--starts", "random", "--steps", "10"],
    "dfs": [],
    "dfs --strategy vertex": ["--strategy", "vertex"],
    "betweenness": ["--samples", "4"],
    "triangles": [],
    "lcc": [],
}
FIGURES = ["seconds", "cpu_seconds", "peak_bytes", "bytes_read", "requests"]


def generate(cenote, name, folder):
    """The input file of a graph: made by the command, or a file that was given by its path."""
    if "/" in name:
        return Path(name.split(":")[0])
    model = name.rstrip("0123456789")
    path = folder / f"{name}.u32"
    if not path.exists():
        scale = name[len(model) :]
        options = ["--scale", scale] if model == "kron" else ["--rows", "2000", "--cols", "2000"]
        subprocess.run([cenote, "generate", model, *options, "--out", path], check=True)
    return path


def measure(command):
    """One run with cold caches: its JSON, its times and its peak."""
    if os.geteuid() == 0 and "CENOTE_WARM" not in os.environ:
        subprocess.run(["sync"], check=True)
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    start = time.monotonic()
    child = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out = child.stdout.read()
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    if status:
        return {"error": errors.decode(errors="replace").strip().splitlines()[-1]}
    report = json.loads(out)
    return {
        "seconds": report.get("seconds", wall),
        "wall_seconds": wall,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
        "bytes_read": report.get("bytes_read"),
        "requests": report.get("read_requests"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--graphs", default="kron20,grid")
    parser.add_argument("--only", default="", help="the runs, by comma")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dir", default="/var/tmp/cenote-builds")
    parser.add_argument("--rows")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("the page cache stays warm: only root can drop it", file=sys.stderr)
    folder = Path(options.dir)
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    rows = open(options.rows or ROOT / f"experiments/runs/{date}-builds.jsonl", "a")
    builds = {"old": options.old, "new": options.new}
    only = [name for name in options.only.split(",") if name]

    def compare(graph, run, command):
        seen = {build: [] for build in builds}
        for turn in range(options.repeats):
            # A machine that grows slower or faster must not favour one of them.
            order = list(builds.items())
            for build, cenote in order if turn % 2 == 0 else reversed(order):
                row = measure(command(build, cenote))
                rows.write(json.dumps({"graph": graph, "run": run, "build": build} | row) + "\n")
                rows.flush()
                if "error" in row:
                    print(f"{graph:8} {run:22} {build}: {row['error']}", flush=True)
                    return
                seen[build].append(row)
        line = f"{graph:8} {run:22}"
        for figure in FIGURES:
            old, new = (
                [row[figure] for row in seen[build] if row[figure] is not None] for build in builds
            )
            if not old or not new:
                line += "  -"
                continue
            a, b = statistics.median(old), statistics.median(new)
            shown = f"{a:.3f}" if "seconds" in figure else f"{a:.0f}"
            line += f"  {figure} {shown} x {b / a if a else float(b == a):.3f}"
        print(line, flush=True)

    for name in options.graphs.split(","):
        source = generate(options.new, name, folder)
        graph = source.name.split(".")[0]
        weights = ["--weights", name.split(":")[1]] if ":" in name else []
        memory = ["--memory", MEMORY.get(name, "64MiB")]
        files = {build: folder / f"{graph}-{build}.cenote" for build in builds}
        if not only or "import" in only:
            compare(
                graph,
                "import",
                lambda build, cenote: [
                    cenote, "import", source, "--undirected", "--out", files[build],
                    *weights, "--overwrite", "--json",
                ],
            )
            sizes = {build: os.stat(path).st_size for build, path in files.items()}
            print(f"{graph:8} file: {sizes['old']} and {sizes['new']} bytes", flush=True)
        for run, extra in RUNS.items():
            if (only and run not in only) or (run.startswith("sssp") and not weights):
                continue
            compare(
                graph,
                run,
                lambda build, cenote: [
                    cenote, "run", run.split()[0], files[build], *extra, *memory, "--json",
                ],
            )


if __name__ == "__main__":
    sys.exit(main())
