"""The figures of the whole engine: `make algo-bench`. Rows go to experiments/runs/DATE-algo.jsonl.

    algo_bench.py [--scale 24] [--small 20] [--repeats 5] [--dir DIR] [--only strategies,...]
                  [--algorithms kcore,sssp]

Comparisons are made in one run, in turn (A B A B), with a cold page cache, and quoted as medians
and ratios. The budget of a run is a share of the graph's raw pages, at least 24 bytes a vertex +
32 MiB.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import memory_figures
from bench import CENOTE, MIB, ROOT, Bench, drop_caches, figure

PARTS = [
    "strategies", "grid", "walks", "packed", "networkit", "igraph", "depth", "simulated", "scales",
    "memory", "shared", "throttled",
]
SHARES = [0.03, 0.10, 0.25]
GOALS = {"bfs": 8, "wcc": 15, "pagerank": 4}
DATA = Path(os.environ.get("CENOTE_DATA", ROOT / "../shared/data"))
REAL = {
    "gowalla": ("social/gowalla.txt.gz", ["--undirected"]),
    "github": ("social/map-of-github-v2.el.zst", ["--undirected"]),
    "facebook": ("social/facebook-links.txt.gz", ["--undirected"]),
    "web": ("web/cnr-2000.adj.zst", ["--directed", "--in-edges"]),
}
MORE = REAL | {
    "symfony": ("git/symfony.adj.zst", ["--directed", "--in-edges"]),
    "debian": ("debian/debian-depends.tsv.zst", ["--directed"]),
    "highways": ("road/world_highways.e.zst", ["--undirected"]),
    "highways, km": (
        "road/world_highways.e.zst",
        ["--undirected", "--weights", "f32", "--weight-column", 3],
    ),
}
# Every algorithm with what a run on a large graph is asked for.
ALGORITHMS = {
    "bfs": [],
    "dfs": [],
    "wcc": [],
    "pagerank": [],
    "mis": [],
    "cdlp": [],
    "kcore": [],
    "triangles": [],
    "lcc": [],
    "betweenness": ["--samples", 4, "--seed", 1],
    "walk": ["--walkers", 1_000_000, "--steps", 10, "--seed", 1],
    "sssp": [],
    "scc": [],
    "reach": [],
}


def budget(info, share=0.10):
    """A share of the pages, or what the largest vertex state takes."""
    return max(int(info["page_bytes"] * share), 24 * info["vertices"] + 32 * MIB)


def kron(bench, scale, *options, name=""):
    """A Kronecker graph, made once and kept: its pairs and its graph."""
    pairs = bench.path(f"kron{scale}.u32")
    graph = bench.path(f"kron{scale}{name}.cenote")
    if not Path(pairs).exists():
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", pairs)
    if not Path(graph).exists():
        bench.cenote("prepare", "import", pairs, "--undirected", "--out", graph, *options)
    return pairs, graph


def grid(bench):
    """A grid of a million vertices."""
    pairs, graph = bench.path("grid1000.u32"), bench.path("grid1000.cenote")
    if not Path(graph).exists():
        bench.cenote("generate", "generate", "grid", "--rows", 1000, "--cols", 1000, "--out", pairs)
        bench.cenote("prepare", "import", pairs, "--undirected", "--out", graph)
    return graph


def scales(bench):
    """The large one and the small one, if they differ."""
    return dict.fromkeys([bench.options.scale, bench.options.small])


def real_graphs(bench, graphs=REAL):
    """The real graphs that are at hand."""
    for name, (file, options) in graphs.items():
        if not (DATA / file).is_file():
            print(f"{DATA / file} is missing: set CENOTE_DATA to the collection of real graphs")
            continue
        graph = bench.path(f"{name}.cenote")
        if not Path(graph).exists():
            bench.cenote("prepare", "import", DATA / file, *options, "--out", graph)
        yield name, graph


def run(bench, part, algorithm, graph, memory, *options, **row):
    """One cold run."""
    return bench.cenote(
        part, "run", algorithm, graph, "--memory", memory, *options, **row
    )


def compare(bench, part, name, graph, algorithms, shares, blocks):
    """`auto` against `block` at equal budgets; `block` as often as `blocks` says."""
    info = bench.cenote("info", "info", graph)
    told = set()
    for share in shares:
        memory = budget(info, share)
        if memory in told:
            continue
        told.add(memory)
        for algorithm, options in algorithms.items():
            seconds, ratios = [], []
            for i in range(bench.options.repeats):
                ours = run(bench, part, algorithm, graph, memory, *options, share=share, repeat=i)
                seconds.append(ours["seconds"])
                if i < blocks:
                    block = run(
                        bench, part, algorithm, graph, memory, *options, "--strategy", "block",
                        share=share, repeat=i,
                    )
                    ratios.append(block["seconds"] / ours["seconds"])
            label = f"{name} {algorithm} at {memory // MIB} MiB"
            figure(f"{label}: time", seconds, "s")
            figure(f"{label}: passes", [ours["passes"]], "x")
            if ratios:
                goal = GOALS.get(algorithm) if name.startswith("kron") else None
                figure(f"{label}: block / auto", ratios, "x", f"{goal}" if goal else "")


def part_strategies(bench):
    """Figure 1: `auto` against the paper's blocks at the same budget, three budgets."""
    algorithms = {name: ALGORITHMS[name] for name in GOALS}
    for scale in scales(bench):
        graph = kron(bench, scale)[1]
        compare(bench, "strategies", f"kron {scale}", graph, algorithms, SHARES, 2)
    for name, graph in real_graphs(bench):
        compare(bench, "strategies", name, graph, algorithms, SHARES[:1], bench.options.repeats)


def part_grid(bench):
    """Figure 1: breadth-first search over 1,998 levels."""
    graph = grid(bench)
    compare(bench, "grid", "grid", graph, {"bfs": []}, SHARES[1:2], 1)
    print("    goal: 0.2 s at most")


def part_walks(bench):
    """Figure 1: walks against the paper's blocks; pseudo-DFS against one read in flight."""
    graph = kron(bench, bench.options.scale)[1]
    walk = {"walk": ["--walkers", bench.options.walkers, *ALGORITHMS["walk"][2:]]}
    compare(bench, "walks", "kron", graph, walk, SHARES[1:2], 1)
    memory = budget(bench.cenote("info", "info", graph))
    ways = {"auto": [], "one read in flight": ["--depth", 1, "--threads", 1]}
    ways["vertex"] = ["--strategy", "vertex"]
    seconds = {}
    for i in range(min(bench.options.repeats, 2)):
        for way, options in ways.items():
            ran = run(bench, "walks", "dfs", graph, memory, *options, repeat=i)
            seconds.setdefault(way, []).append(ran["seconds"])
    for way, times in seconds.items():
        figure(f"dfs, {way}", times, "s")
    for way, goal in [("one read in flight", "2"), ("vertex", "3")]:
        ratios = [slow / fast for slow, fast in zip(seconds[way], seconds["auto"])]
        figure(f"dfs: {way} / auto", ratios, "x", goal)


def part_packed(bench):
    """Figure 2: packed pages against raw ones: bytes, import, and what runs gain."""
    pairs = kron(bench, bench.options.small)[0]
    sources = {f"kron {bench.options.small}": (pairs, ["--undirected"])}
    for name, (file, options) in REAL.items():
        if (DATA / file).is_file():
            sources[name] = (DATA / file, options)
    out = bench.path("codec.cenote")
    for name, (source, options) in sources.items():
        bytes_of, seconds = {}, {"raw": [], "packed": []}
        for i in range(bench.options.repeats):
            for codec in seconds:
                made = bench.cenote(
                    "packed", "import", source, *options, "--codec", codec, "--out", out,
                    "--overwrite", repeat=i,
                )
                seconds[codec].append(made["seconds"])
                bytes_of[codec] = bench.cenote("info", "info", out)["page_bytes"]
        figure(f"{name}: packed / raw pages", [bytes_of["packed"] / bytes_of["raw"]], "x")
        ratios = [packed / raw for packed, raw in zip(seconds["packed"], seconds["raw"])]
        figure(f"{name}: import, packed / raw", ratios, "x", "1.5 at most")
    os.unlink(out)


RIVAL = """
import json, sys, time
import numpy as np
rival, path, repeats, source = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
wanted = sys.argv[5].split(",")
pairs = np.fromfile(path, "<u4").reshape(-1, 2)
low, high = pairs.min(axis=1), pairs.max(axis=1)
low, high = low[low != high], high[low != high]
there = np.zeros(int(pairs.max()) + 1, bool)
there[low] = there[high] = True
dense = np.cumsum(there, dtype=np.uint32) - 1
n, source = int(there.sum()), int(dense[source])
keys = dense[low].astype(np.uint64) << np.uint64(32) | dense[high]
del pairs, low, high
keys = np.unique(keys)
low, high = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
del keys
if rival == "networkit":
    import networkit as nk
    nk.setNumberOfThreads(2)
    graph = nk.GraphFromCoo((np.ones(len(low)), (low, high)), n=n, weighted=False, directed=False)
    def ranks():
        made = nk.centrality.PageRank(graph, damp=0.85, tol=1e-300)
        made.maxIterations = 10
        return made.run()
    programs = {
        "bfs": lambda: nk.distance.BFS(graph, source, storePaths=False).run(),
        "wcc": lambda: nk.components.ParallelConnectedComponents(graph, False).run(),
        "pagerank": ranks,
        "kcore": lambda: nk.centrality.CoreDecomposition(graph).run(),
        "lcc": lambda: nk.centrality.LocalClusteringCoefficient(graph, True).run(),
        "triangles": lambda: nk.centrality.LocalClusteringCoefficient(graph, True).run(),
        "betweenness": lambda: nk.centrality.EstimateBetweenness(
            graph, 4, normalized=False, parallel=True).run(),
        "sssp": lambda: nk.distance.Dijkstra(graph, source, storePaths=False).run(),
    }
else:
    import igraph
    edges = np.stack([low, high], axis=1).astype(np.int64)
    graph = igraph.Graph(n=n, edges=edges)
    programs = {
        "bfs": lambda: graph.distances(source),
        "wcc": lambda: graph.connected_components(mode="weak"),
        "kcore": lambda: graph.coreness(),
        "lcc": lambda: graph.transitivity_local_undirected(mode="zero"),
        "triangles": lambda: graph.list_triangles() if n < 10**5 else
            graph.transitivity_undirected(),
        "betweenness": lambda: graph.betweenness(sources=[0, 1, 2, 3]),
        "pagerank": lambda: graph.pagerank(damping=0.85),
        "mis": None,
    }
for name in wanted:
    program = programs.get(name)
    if program is None:
        continue
    for _ in range(repeats):
        started = time.perf_counter()
        program()
        print(json.dumps({"algorithm": name, "seconds": time.perf_counter() - started}), flush=True)
"""


def against(bench, rival, scale, algorithms):
    """A rival in memory, load time not counted, and then ours, cold, at a tenth of the pages."""
    pairs, graph = kron(bench, scale)
    memory = budget(bench.cenote("info", "info", graph))
    source = run(bench, rival, "bfs", graph, memory)["result"]["source"]
    repeats = min(bench.options.repeats, 3)
    asked = bench.options.algorithms
    algorithms = [name for name in algorithms if not asked or name in asked.split(",")]
    if not algorithms:
        return
    other = subprocess.run(
        [sys.executable, "-c", RIVAL, rival, pairs, str(repeats), str(source),
         ",".join(algorithms)],
        stdout=subprocess.PIPE, text=True,
    )
    if other.returncode != 0:
        print(f"{rival} failed at scale {scale}: what it did before counts")
    theirs = {}
    for line in other.stdout.splitlines():
        row = json.loads(line)
        bench.record(rival, rival=rival, rival_scale=scale, **row)
        theirs.setdefault(row["algorithm"], []).append(row["seconds"])
    for algorithm, rival_seconds in theirs.items():
        ours = [
            run(bench, rival, algorithm, graph, memory, *ALGORITHMS[algorithm], repeat=i)["seconds"]
            for i in range(bench.options.repeats)
        ]
        goal = "1 at most" if algorithm in ["wcc", "pagerank"] else "1.5 at most"
        label = f"kron {scale} {algorithm}"
        figure(f"{label}: {rival}, in memory", rival_seconds, "s")
        figure(f"{label}: Cenote", ours, "s")
        best = statistics.median(rival_seconds)
        figure(f"{label}: Cenote / {rival}", [seconds / best for seconds in ours], "x", goal)


def part_networkit(bench):
    """Figure 3: against NetworKit, in memory."""
    all_of_them = ["bfs", "wcc", "pagerank", "kcore", "triangles", "lcc", "betweenness", "sssp"]
    for scale in scales(bench):
        names = all_of_them if scale == bench.options.small else all_of_them[:3]
        against(bench, "networkit", scale, names)


def part_igraph(bench):
    """Figure 3: against igraph, in memory."""
    names = ["bfs", "wcc", "kcore", "lcc", "triangles", "betweenness"]
    against(bench, "igraph", bench.options.small, names)


def plot(bench, name, title, x_label, y_label, curves, log_y=False):
    """An SVG under experiments/plots."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cenote"
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(7, 4.5))
    for label, points in curves.items():
        axes.plot(*zip(*points), marker="o", label=label)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    if x_label.startswith("requests"):
        axes.set_xscale("log", base=2)
    if log_y:
        axes.set_yscale("log")
    axes.set_ylim(bottom=None if log_y else 0)
    axes.grid(alpha=0.3)
    axes.legend()
    folder = Path(bench.options.plots)
    folder.mkdir(parents=True, exist_ok=True)
    drawing.savefig(folder / name, metadata={"Date": None})
    pyplot.close(drawing)
    print(f"    drawn: {name}")


def part_depth(bench):
    """Figure 4: the depth of requests on this drive."""
    graph = kron(bench, bench.options.scale)[1]
    memory = budget(bench.cenote("info", "info", graph))
    curves = {}
    for algorithm, strategy in [("bfs", "block"), ("wcc", "block"), ("mis", "auto")]:
        points = []
        for depth in [1, 2, 4, 8, 16, 32, 64, 128]:
            # Each worker has a request in flight: one alone means one worker.
            options = ["--depth", depth, "--strategy", strategy, *(["--threads", 1] * (depth == 1))]
            ran = run(bench, "depth", algorithm, graph, memory, *options)
            points.append((depth, ran["seconds"]))
            print(f"{algorithm} {strategy} at depth {depth:3}: {ran['seconds']:.2f} s")
        curves[f"{algorithm}, {strategy}"] = points
    title = f"kron {bench.options.scale}: time by depth"
    plot(bench, "depth-drive.svg", title, "requests in flight", "seconds", curves, log_y=True)


def part_simulated(bench):
    """Figure 4: the depth of requests on the papers' devices, in virtual time."""
    graph = kron(bench, min(bench.options.small, 18))[1]
    done = subprocess.run(
        ["cargo", "run", "--release", "--quiet", "--locked", "-p", "cenote-sim", "--example",
         "depth", "--", graph],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )
    curves = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        bench.record("simulated", **row)
        label = f"{row['device']} (k_r {row['k_r']})"
        curves.setdefault(label, []).append((row["depth"], row["seconds"]))
    title = "BFS by blocks of 4 KiB, simulated devices"
    plot(bench, "depth-simulated.svg", title, "requests in flight", "virtual seconds", curves, True)


def part_scales(bench):
    """Figure 5: time per edge as the graph grows, 256 MiB."""
    curves = {"bfs": [], "wcc": []}
    first, last = max(bench.options.scale - 6, 8), bench.options.scale + 1
    for scale in range(first, last + 1):
        graph = kron(bench, scale)[1]
        edges = bench.cenote("info", "info", graph)["edges"]
        for algorithm, points in curves.items():
            runs = bench.repeat(
                lambda i: run(bench, "scales", algorithm, graph, 256 * MIB, repeat=i)
            )
            ns = [1e9 * ran["seconds"] / edges for ran in runs]
            points.append((scale, figure(f"kron {scale} {algorithm}: time per edge", ns, "ns")))
        if scale == last:
            for file in [graph, bench.path(f"kron{scale}.u32")]:
                os.unlink(file)
    for algorithm, points in curves.items():
        times = [ns for _, ns in points]
        growth = max(ns / min(times[: i + 1]) for i, ns in enumerate(times))
        print(f"    {algorithm}: time per edge grows at most {growth:.2f} times (goal: 1.5)")
    plot(bench, "scales.svg", "256 MiB, Kronecker graphs", "scale", "ns per edge", curves)


def weighted(bench, pairs, graph):
    """A weighted copy of a graph of pairs: pseudo-random weights of 1 to 100."""
    import numpy as np
    import pyarrow
    import pyarrow.parquet

    if not Path(graph).exists():
        ends = np.fromfile(pairs, "<u4").reshape(-1, 2)
        low, high = ends.min(axis=1).astype(np.uint64), ends.max(axis=1).astype(np.uint64)
        mixed = (low << np.uint64(32) | high) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)
        columns = {"source": ends[:, 0], "target": ends[:, 1], "weight": mixed % np.uint64(100) + 1}
        table = pyarrow.table({k: column.astype(np.int64) for k, column in columns.items()})
        file = bench.path("weighted.parquet")
        pyarrow.parquet.write_table(table, file)
        weights = ["--weights", "u32", "--weight-column", "weight"]
        bench.cenote("prepare", "import", file, "--undirected", *weights, "--out", graph)
        os.unlink(file)
    return graph


def memory_graphs(bench):
    """Label, file and kind of the graphs whose memory is measured."""
    for scale in [max(bench.options.small - 2, 8), bench.options.small]:
        pairs, graph = kron(bench, scale)
        yield f"kron {scale}", graph, "undirected"
        for kind, options in {"both": ["--directed", "--in-edges"], "out": ["--directed"]}.items():
            directed = bench.path(f"kron{scale}-{kind}.cenote")
            if not Path(directed).exists():
                bench.cenote("prepare", "import", pairs, *options, "--out", directed)
            yield f"kron {scale}, {kind}", directed, kind
        copy = weighted(bench, pairs, bench.path(f"kron{scale}-weighted.cenote"))
        yield f"kron {scale}, weighted", copy, "weighted"
    if bench.options.small < 16:
        return
    yield "grid", grid(bench), "undirected"
    kinds = {"--weights": "weighted", "--in-edges": "both", "--directed": "out"}
    for name, graph in real_graphs(bench, MORE):
        found = [kind for option, kind in kinds.items() if option in MORE[name][1]]
        yield name, graph, (found or ["undirected"])[0]


def part_memory(bench):
    """Figure 6: peak memory over the budget, and what `estimate` had said."""
    memory_figures.check(bench, memory_graphs(bench), SHARES)


def best_fixed(bench, part, algorithm, graph, memory, group=None):
    """The run's own depth against fixed ones, in turn."""
    depths = [None, 2, 4, 8, 16, 32, 64]
    seconds = {depth: [] for depth in depths}
    enter = group and (lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
    for i in range(min(bench.options.repeats, 3)):
        for depth in depths:
            options = [] if depth is None else ["--depth", str(depth)]
            drop_caches()
            done = subprocess.run(
                [CENOTE, "run", algorithm, graph, "--memory", str(memory), *options, "--json"],
                preexec_fn=enter, capture_output=True, text=True, check=True,
            )
            ran = json.loads(done.stdout)
            bench.record(part, fixed_depth=depth, repeat=i, **ran)
            seconds[depth].append(ran["seconds"])
    medians = {depth: statistics.median(times) for depth, times in seconds.items()}
    for depth, median in medians.items():
        print(f"{algorithm}, depth {depth or 'its own':>8}: {median:.2f} s")
    own = medians.pop(None)
    share = 100 * min(medians.values()) / own
    print(f"{algorithm}: its own depth reaches {share:.0f}% of the best fixed one (goal: 90)")


def part_shared(bench):
    """Figure 7: another process loads the same drive."""
    if not shutil.which("fio"):
        print("fio is not installed: left out")
        return
    graph = kron(bench, bench.options.scale)[1]
    memory = budget(bench.cenote("info", "info", graph))
    other = subprocess.Popen(
        ["fio", "--name=load", f"--filename={graph}", "--readonly", "--rw=randread", "--bs=64k",
         "--iodepth=8", "--ioengine=io_uring", "--direct=1", "--time_based", "--runtime=3600"],
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(1)
        best_fixed(bench, "shared", "mis", graph, memory)
    finally:
        other.terminate()
        other.wait()


def part_throttled(bench):
    """Figure 7: a drive that gives 300 MB/s and 2,000 requests a second."""
    graph = kron(bench, bench.options.small)[1]
    group = Path(f"/sys/fs/cgroup/blkio/cenote-bench-{os.getpid()}")
    device = os.stat(graph).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        group.mkdir()
        (group / "blkio.throttle.read_bps_device").write_text(f"{number} {300 * 10**6}")
        (group / "blkio.throttle.read_iops_device").write_text(f"{number} 2000")
    except OSError as error:
        print(f"the drive cannot be throttled here ({error}): left out")
        if group.is_dir():
            group.rmdir()
        return
    try:
        memory = budget(bench.cenote("info", "info", graph))
        best_fixed(bench, "throttled", "mis", graph, memory, group)
    finally:
        group.rmdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--small", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--walkers", type=int, default=1_000_000, help="of the part `walks`")
    parser.add_argument("--dir", default="/var/tmp/cenote-bench")
    parser.add_argument("--rows", help="file of raw rows [default: runs/DATE-algo.jsonl]")
    parser.add_argument("--plots", default=str(ROOT / "experiments/plots"))
    parser.add_argument("--algorithms", help="beside libraries, only these [all]")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--cases", default="", help="cases of `memory`, a regular expression")
    parser.add_argument("--graphs", default="", help="graphs of `memory`, a regular expression")
    options = parser.parse_args()
    parts = options.only.split(",")
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {sorted(unknown)}: {', '.join(PARTS)}")
    bench = Bench(options, "-algo")
    for part in parts:
        print(f"\n== {part}: {globals()['part_' + part].__doc__}")
        globals()["part_" + part](bench)


if __name__ == "__main__":
    main()
