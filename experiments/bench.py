"""The figures of the README: `make bench`. Raw rows go to experiments/runs/DATE.jsonl.

    bench.py [--scale 24] [--repeats 5] [--dir DIR] [--only import,runs,papers,networkit,fio,...]

Every comparison is made in one run, in turn (A B A B), with a cold page cache (needs root to drop
it; Cenote itself reads around it), and quoted as medians and ratios.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CENOTE = os.environ.get("CENOTE", str(ROOT / "target/release/cenote"))
ALGORITHMS = ["bfs", "wcc", "pagerank"]
PARTS = ["import", "runs", "fio", "papers", "networkit", "grid", "memory", "idle"]
MIB = 1 << 20


class Bench:
    """Runs commands, keeps raw rows, prints figures."""

    def __init__(self, options, suffix=""):
        self.options = options
        self.folder = Path(options.dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout.strip()
        self.common = {
            "commit": commit,
            "host": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
            "scale": options.scale,
        }
        date = datetime.date.today().isoformat()
        self.rows = open(options.rows or ROOT / f"experiments/runs/{date}{suffix}.jsonl", "a")

    def path(self, name):
        return str(self.folder / name)

    def record(self, part, **row):
        now = datetime.datetime.now().isoformat(timespec="seconds")
        line = json.dumps({"part": part, "time": now} | self.common | row)
        # Where the files lay says nothing to others.
        self.rows.write(line.replace(f"{self.folder}/", "") + "\n")
        self.rows.flush()

    def cenote(self, part, *args, **row):
        """The JSON of one cold run, recorded."""
        drop_caches()
        command = [CENOTE, *map(str, args), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        found = json.loads(done.stdout)
        self.record(part, command=" ".join(command[1:]), **row, **found)
        return found

    def repeat(self, measure):
        return [measure(i) for i in range(self.options.repeats)]


def drop_caches():
    """Not where CENOTE_WARM is set: the tests measure nothing, and others run beside them."""
    if "CENOTE_WARM" in os.environ:
        return
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        if not drop_caches.told:
            print("note: not root, the page cache stays warm for what reads through it")
            drop_caches.told = True


drop_caches.told = False


def figure(name, values, unit, target=""):
    """Prints a figure: median and spread."""
    median = statistics.median(values)
    spread = f"{min(values):.3g} to {max(values):.3g}"
    print(f"{name:58} {median:9.3g} {unit:12} ({spread}){'  goal: ' + target if target else ''}")
    return median


def budget(info):
    """A tenth of the pages, or what the largest vertex state takes."""
    return max(info["page_bytes"] // 10, 24 * info["vertices"] + 32 * MIB)


def prepare(bench):
    """The graphs, made once and kept."""
    scale = bench.options.scale
    pairs, graph = bench.path(f"kron{scale}.u32"), bench.path(f"kron{scale}.cenote")
    if not Path(pairs).exists():
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", pairs)
    if not Path(graph).exists():
        bench.cenote("prepare", "import", pairs, "--undirected", "--out", graph)
    side = 1000 if scale >= 20 else 100
    grid_pairs, grid = bench.path(f"grid{side}.u32"), bench.path(f"grid{side}.cenote")
    if not Path(grid).exists():
        bench.cenote(
            "generate", "generate", "grid", "--rows", side, "--cols", side, "--out", grid_pairs
        )
        bench.cenote("prepare", "import", grid_pairs, "--undirected", "--out", grid)
    return pairs, graph, grid


def part_import(bench, pairs):
    """Figure 1: binary pairs and text."""
    text = bench.path(f"kron{max(bench.options.scale - 2, 8)}.txt")
    if not Path(text).exists():
        scale = max(bench.options.scale - 2, 8)
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", text)
    out = bench.path("imported.cenote")
    rates, text_rates, peaks = [], [], []
    for i in range(bench.options.repeats):
        for source, into in [(pairs, rates), (text, text_rates)]:
            run = bench.cenote(
                "import", "import", source, "--out", out, "--overwrite", "--memory", "1GiB",
                repeat=i,
            )
            size = Path(source).stat().st_size
            into.append((size / 8e6 if source == pairs else size / 1e6) / run["seconds"])
            peaks.append(run["peak_rss_bytes"] / MIB)
    os.unlink(out)
    figure("import of binary pairs, 1 GiB budget", rates, "M edges/s", "10")
    figure("import of text, 1 GiB budget", text_rates, "MB/s", "150")
    figure("peak memory of import", peaks, "MiB", "1024 + 32")


def show_run(name, runs):
    """Time, bytes, rate, CPU and memory of one algorithm's runs."""
    figure(f"{name}: time", [r["seconds"] for r in runs], "s")
    figure(f"{name}: passes over the pages", [r["passes"] for r in runs], "x")
    figure(f"{name}: rate", [r["bytes_per_second"] / 1e9 for r in runs], "GB/s")
    busy = [100 * r["cpu_seconds"] / (r["seconds"] * r["threads"]) for r in runs]
    figure(f"{name}: processor", busy, "% of cores")
    over = [(r["peak_rss_bytes"] - r["memory_budget_bytes"]) / MIB for r in runs]
    figure(f"{name}: peak memory over the budget", over, "MiB", "32 at most")


def part_runs(bench, graph, name="kron"):
    """Figures 2 and 6: bytes and memory of `auto`."""
    info = bench.cenote("info", "info", graph)
    memory = budget(info)
    for algorithm in ALGORITHMS:
        runs = bench.repeat(
            lambda i: bench.cenote(
                "runs", "run", algorithm, graph, "--memory", memory, repeat=i, graph=name
            )
        )
        show_run(f"{name} {algorithm}", runs)
        if algorithm == "pagerank":
            fraction = statistics.median(r["cached_fraction"] for r in runs)
            allowed = (10 - 9 * fraction) * 1.02
            print(f"    allowed passes: (10 - 9 x {fraction:.4f}) x 1.02 = {allowed:.2f}")


def part_grid(bench, grid):
    part_runs(bench, grid, "grid")


def strategies(algorithm, i):
    """`vertex` only once, and not for components: it takes minutes and no goal hangs on it."""
    return ["auto", "block"] + ["vertex"] * (i == 0 and algorithm != "wcc")


def part_papers(bench, graph):
    """Figure 4: `auto` against the paper's block and vertex strategies, in turn."""
    memory = budget(bench.cenote("info", "info", graph))
    times = {}
    for i in range(bench.options.repeats):
        for algorithm in ALGORITHMS:
            for strategy in strategies(algorithm, i):
                run = bench.cenote(
                    "papers", "run", algorithm, graph, "--memory", memory,
                    "--strategy", strategy, repeat=i,
                )
                times.setdefault((algorithm, strategy), []).append(run["seconds"])
    goals = {"bfs": 4, "wcc": 10, "pagerank": 3}
    for (algorithm, strategy), seconds in times.items():
        figure(f"{algorithm}, {strategy}", seconds, "s")
    for algorithm, goal in goals.items():
        pairs = zip(times[algorithm, "block"], times[algorithm, "auto"])
        figure(f"{algorithm}: block / auto", [b / a for b, a in pairs], "x", f"{goal}")


NETWORKIT = """
import json, sys, time
import networkit as nk, numpy as np, scipy.sparse as sp
nk.setNumberOfThreads(2)
pairs = np.fromfile(sys.argv[1], "<u4").reshape(-1, 2)
low, high = pairs.min(axis=1), pairs.max(axis=1)
low, high = low[low != high], high[low != high]
there = np.zeros(int(pairs.max()) + 1, bool)
there[low] = there[high] = True
dense = np.cumsum(there, dtype=np.uint32) - 1
n, source = int(there.sum()), int(dense[int(sys.argv[2])])
keys = dense[low].astype(np.uint64) << np.uint64(32) | dense[high]
del pairs, low, high
keys.sort()
keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
low, high = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
del keys
graph = nk.GraphFromCoo((np.ones(len(low)), (low, high)), n=n, weighted=False, directed=False)
out = {}
def timed(name, make):
    started = time.perf_counter()
    made = make()
    made.run()
    out[name] = time.perf_counter() - started
for _ in range(int(sys.argv[3])):
    timed("bfs", lambda: nk.distance.BFS(graph, source, storePaths=False))
    timed("wcc", lambda: nk.components.ConnectedComponents(graph))
    timed("wcc_parallel", lambda: nk.components.ParallelConnectedComponents(graph, False))
    def ranks():
        made = nk.centrality.PageRank(graph, damp=0.85, tol=1e-300)
        made.maxIterations = 10
        return made
    timed("pagerank", ranks)
    print(json.dumps(out), flush=True)
"""


def part_networkit(bench, pairs, graph):
    """Figure 5: against NetworKit, in memory, load time not counted."""
    memory = budget(bench.cenote("info", "info", graph))
    source = bench.cenote("run", "run", "bfs", graph, "--memory", memory)["result"]["source"]
    repeats = bench.options.repeats
    other = subprocess.Popen(
        [sys.executable, "-c", NETWORKIT, pairs, str(source), str(repeats)],
        stdout=subprocess.PIPE, text=True,
    )
    theirs, ours = [], []
    for line in other.stdout:
        row = json.loads(line)
        bench.record("networkit", rival="networkit", **row)
        theirs.append(row)
    if other.wait() != 0:
        sys.exit("NetworKit failed")
    for i in range(repeats):
        ours.append({
            algorithm: bench.cenote(
                "networkit", "run", algorithm, graph, "--memory", memory, repeat=i
            )["seconds"]
            for algorithm in ALGORITHMS
        })
    for algorithm, goal in [("bfs", "2 at most"), ("wcc", "1 at most"), ("pagerank", "1 at most")]:
        rival = [min(row[k] for k in row if k.startswith(algorithm)) for row in theirs]
        figure(f"{algorithm}: NetworKit, in memory", rival, "s")
        figure(f"{algorithm}: Cenote", [row[algorithm] for row in ours], "s")
        figure(
            f"{algorithm}: Cenote / NetworKit",
            [o[algorithm] / r for o, r in zip(ours, rival)], "x", goal,
        )


def fio(path, size, depth, seconds=3):
    """Bytes per second that fio reads from the file, two jobs as we have two workers."""
    command = [
        "fio", "--name=r", f"--filename={path}", "--readonly", "--rw=read", f"--bs={size}",
        f"--iodepth={max(depth // 2, 1)}", "--numjobs=2", "--offset_increment=50%",
        "--ioengine=io_uring", "--direct=1", "--time_based", f"--runtime={seconds}",
        "--group_reporting", "--fixedbufs=1", "--registerfiles=1", "--output-format=json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"]


def part_fio(bench, graph):
    """Figure 3: achieved rate, fio's rate and processor use, in turn."""
    if not shutil.which("fio"):
        print("fio is not installed: `apt-get install fio`; its comparison is left out")
        return
    memory = budget(bench.cenote("info", "info", graph))
    for algorithm in ["wcc", "bfs"]:
        ratios, rates, theirs, busy = [], [], [], []
        for i in range(bench.options.repeats):
            run = bench.cenote(
                "fio", "run", algorithm, graph, "--memory", memory, "--explain", repeat=i
            )
            step = max(run["steps"], key=lambda step: step["bytes"])
            rates.append(step["bytes"] / step["seconds"] / 1e9)
            theirs.append(fio(graph, run["request_bytes"], run["depth"]) / 1e9)
            bench.record("fio", rival="fio", bytes_per_second=theirs[-1] * 1e9)
            ratios.append(rates[-1] / theirs[-1])
            busy.append(100 * run["cpu_seconds"] / (run["seconds"] * run["threads"]))
        figure(f"{algorithm}: rate of its largest step", rates, "GB/s")
        figure(f"{algorithm}: fio, same file, size and depth", theirs, "GB/s")
        figure(f"{algorithm}: ours / fio", ratios, "x", "0.8 while not bound by the processor")
        figure(f"{algorithm}: processor", busy, "% of cores")


def control_group(limit):
    """A memory control group with a hard limit, or None where we may not make one."""
    for root, knob in [
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ]:
        group = Path(root) / f"cenote-bench-{os.getpid()}"
        try:
            group.mkdir()
            (group / knob).write_text(str(limit))
            return group
        except OSError:
            if group.is_dir():
                group.rmdir()
    return None


def part_memory(bench, graph):
    """Figure 6: every run under a hard limit of budget + 64 MiB."""
    memory = budget(bench.cenote("info", "info", graph))
    group = control_group(memory + 64 * MIB)
    if group is None:
        print("no memory control group can be made here (root?): the hard limit is left out")
        return
    try:
        for algorithm in ALGORITHMS:
            for strategy in ["auto", "block", "vertex"]:
                if algorithm == "wcc" and strategy == "vertex":
                    continue
                done = subprocess.run(
                    [CENOTE, "run", algorithm, graph, "--memory", str(memory),
                     "--strategy", strategy, "--json"],
                    preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
                    capture_output=True, text=True,
                )
                if done.returncode != 0:
                    sys.exit(f"{algorithm} {strategy} under the limit: {done.stderr}")
                run = json.loads(done.stdout)
                bench.record("memory", limit=memory + 64 * MIB, **run)
                over = (run["peak_rss_bytes"] - memory) / MIB
                print(f"{algorithm}, {strategy}: passes the limit; peak is budget {over:+.1f} MiB")
    finally:
        group.rmdir()


def part_idle(bench, graph):
    """Figure 7: processor time of a run that waits for a drive throttled to 50 MB/s."""
    group = Path(f"/sys/fs/cgroup/blkio/cenote-bench-{os.getpid()}")
    device = os.stat(graph).st_dev
    try:
        group.mkdir()
        limit = f"{os.major(device)}:{os.minor(device)} {50 * 10**6}"
        (group / "blkio.throttle.read_bps_device").write_text(limit)
    except OSError as error:
        print(f"the drive cannot be throttled here ({error}): left out")
        if group.is_dir():
            group.rmdir()
        return
    try:
        memory = budget(bench.cenote("info", "info", graph))
        done = subprocess.run(
            [CENOTE, "run", "wcc", graph, "--memory", str(memory), "--json"],
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
            capture_output=True, text=True, check=True,
        )
        run = json.loads(done.stdout)
        bench.record("idle", **run)
        busy = 100 * run["cpu_seconds"] / run["seconds"]
        figure("wcc at 50 MB/s: time", [run["seconds"]], "s")
        figure("wcc at 50 MB/s: processor, its work included", [busy], "% of a core", "5 at most")
    finally:
        group.rmdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dir", default="/var/tmp/cenote-bench")
    parser.add_argument("--rows", help="file of raw rows [default: experiments/runs/DATE.jsonl]")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    parts = options.only.split(",")
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {sorted(unknown)}: {', '.join(PARTS)}")
    bench = Bench(options)
    pairs, graph, grid = prepare(bench)
    inputs = {
        "import": [pairs], "runs": [graph], "fio": [graph], "papers": [graph],
        "networkit": [pairs, graph], "grid": [grid], "memory": [graph], "idle": [graph],
    }
    for part in parts:
        print(f"\n== {part}: {globals()['part_' + part].__doc__ or 'the grid, as above'}")
        globals()["part_" + part](bench, *inputs[part])


if __name__ == "__main__":
    main()
