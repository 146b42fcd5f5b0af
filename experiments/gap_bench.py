"""Kernels x graphs beside programs in memory: `make gap-bench`.

    gap_bench.py [--graphs kron-20,uniform-20,grid,path] [--kernels bfs,wcc,...]
                 [--memory 3,10,25,100] [--scale 20] [--vertices 1000000] [--repeats 3]
                 [--rivals gap,acgraph,graph,networkit,igraph,rustworkx,scipy] [--limit 20]
                 [--dir DIR] [--rows FILE] [--order auto]

Graphs: `kron` and `uniform` (2^scale vertices, 16 edges each; `kron-22` is of scale 22 whatever
--scale says), `grid` and `grid-shuffled` (square), `road` (a square grid of which each edge is kept
with probability 0.7, a mean degree of 2.8, the largest component), `path`, `path-shuffled`, `star`,
`cliques` (a chain of cliques of ten), and real graphs where CENOTE_DATA has them: `highways`,
`gowalla`, `github`, `facebook`, and, directed, `web`, `symfony`, `git`, `debian`. A name that ends
with `-directed` or `-undirected` says otherwise. Repeated edges and loops are left out; weights are
whole numbers from 1 to 255. Directed graphs have in-edges and `scc`, others triangles and core
numbers.

Cenote's graphs are imported with `--order auto`, or another. It runs cold, with a share of what the
lists take at four bytes an entry as memory, whatever they take in the file, plus its vertex state,
and its reads are counted; as much memory is touched and freed before, since a virtual machine may
have given it back to its host. The rivals have the
graph in memory, and their loading is not counted: NetworKit, igraph, rustworkx and SciPy where
Python has them, the crate `graph` where `graph-rival` has been built, and the GAP benchmark suite
where the environment variable GAPBS names the folder of its built programs. ACGraph, where ACGRAPH
names that of its programs, reads from the drive, with a tenth of the lists as memory for blocks.
Contenders take turns; figures are medians. After a call of more than a third of --limit seconds a
contender does not repeat that kernel, and one of more than --limit is ended and recorded as such.
Contenders must agree on the answers. Rows go to experiments/runs/DATE-gap.jsonl, from which
docs/figures.py makes the tables of docs/performance.md.
"""

import argparse
import importlib.util
import json
import math
import os
import re
import select
import shutil
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench import CENOTE, MIB, ROOT, Bench, drop_caches
from gap_graphs import DEEP, REAL, prepared

KERNELS = ["bfs", "wcc", "pagerank", "sssp", "betweenness", "triangles", "kcore", "scc"]
# Of graphs without directions, or with them.
UNDIRECTED, DIRECTED = ["triangles", "kcore"], ["scc"]
LIBRARIES = ["networkit", "igraph", "rustworkx", "scipy"]
RIVALS = ["gap", "acgraph", "graph", *LIBRARIES]
# The program that holds graphs by the crate `graph`.
CRATE = ROOT / "experiments/graph-rival/target/release/graph-rival"
GRAPHS = ["kron", "uniform", "grid", "path"]
# The GAP suite's program and options of each kernel. It has none for core numbers.
GAP = {
    "bfs": ["bfs"],
    "wcc": ["cc"],
    "pagerank": ["pr", "-i", "10", "-t", "0"],
    "sssp": ["sssp"],
    "betweenness": ["bc", "-i", "1"],
    "triangles": ["tc"],
}
# The variable that names the folder of a rival's programs, and these.
PROGRAMS = {
    "gap": ("GAPBS", [program for program, *_ in GAP.values()]),
    "acgraph": ("ACGRAPH", ["formatter", "bfs", "wcc_lp"]),
}
# Where the GAP suite's programs print what all contenders must agree on.
GAP_ANSWERS = {
    "bfs": r"BFS Tree has (\d+) nodes",
    "wcc": r"There are (\d+) components",
    "triangles": r"(\d+) triangles",
}
# Widths of a bucket of its shortest paths, of which the fastest in a first call counts: all of
# them on real graphs, else the wide ones on deep graphs, and the narrow ones on others.
NARROW, WIDE = ["2", "16", "64"], ["128", "1024", "8192"]


def list_bytes(info):
    """What the lists of a graph take at four bytes an entry, as programs in memory have them."""
    return 4 * info["stored_edges"]


class Cenote:
    """Ours, within a share of the pages."""

    def __init__(self, bench, folder, source, share):
        self.folder, self.source, self.share = folder, source, share
        self.name, self.limit = f"cenote {share:g}%", bench.options.limit
        self.budgets = {}

    def command(self, kernel):
        graph = self.folder / ("weighted.cenote" if kernel == "sssp" else "graph.cenote")
        given = ["--source", self.source] if kernel in ["bfs", "sssp", "betweenness"] else []
        return [kernel, graph, *map(str, given)]

    def memory(self, kernel):
        """The share of the lists, and the state of the vertices beside it. For all lists, also
        buffers for their reads, so that they stay in memory."""
        info = output([CENOTE, "info", self.command(kernel)[1], "--json"])
        pages = int(list_bytes(info) * self.share / 100)
        pages = pages * 6 // 5 + 8 * MIB if self.share >= 100 else pages
        refused = subprocess.run(
            [CENOTE, "run", *self.command(kernel), "--memory", "1"], capture_output=True, text=True)
        least = int(re.search(r"needs (\d+) bytes", refused.stderr)[1])
        usual = max(least + 2 * MIB, pages + 24 * info["vertices"] + 8 * MIB)
        words = [CENOTE, "estimate", *self.command(kernel), "--memory", str(usual), "--json"]
        state = output(words)["memory"]
        return max(pages + state["state_bytes"] + state["index_bytes"], least)

    def run(self, kernel):
        if kernel not in self.budgets:
            self.budgets[kernel] = self.memory(kernel)
        memory = self.budgets[kernel]
        words = [CENOTE, "run", *self.command(kernel), "--memory", str(memory), "--json", "-q"]
        drop_caches()
        touch_memory(memory + 64 * MIB)
        try:
            found = output(words, self.limit)
        except subprocess.TimeoutExpired:
            return {"ended": self.limit, "memory_budget_bytes": memory}
        kept = ["seconds", "cpu_seconds", "bytes_read", "read_requests", "passes",
                "peak_rss_bytes", "memory_budget_bytes"]
        fields = {"bfs": "reached", "wcc": "components", "kcore": "degeneracy",
                  "triangles": "triangles", "sssp": "distance_max", "scc": "components"}
        answer = found["result"][fields[kernel]] if kernel in fields else None
        return {key: found[key] for key in kept} | {"answer": answer}

    def close(self):
        pass


class Library:
    """A library with the graph in the memory of its own process."""

    def __init__(self, bench, folder, source, name):
        self.name, self.limit = name, bench.options.limit
        python = [sys.executable, ROOT / "experiments/gap_rivals.py", name]
        self.start = [*([CRATE] if name == "graph" else python), folder, str(source)]
        self.process = None

    def answer(self, limit):
        if not select.select([self.process.stdout], [], [], limit)[0]:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": True}

    def run(self, kernel):
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(self.start, **pipes, text=True, bufsize=1)
            if "ready" not in self.answer(None):
                sys.exit(f"{self.name} cannot load the graph")
        self.process.stdin.write(f"{kernel}\n")
        found = self.answer(self.limit)
        if found is None or "failed" in found:
            self.close()
            return {"ended": self.limit}
        return None if "missing" in found else found

    def close(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None


class Gap:
    """The GAP benchmark suite: a process for each call, whose trial alone is counted."""

    def __init__(self, bench, folder, source, name):
        self.folder, self.source, self.name = folder, source, name
        self.limit, self.delta = bench.options.limit, None
        is_deep = any(folder.name.startswith(deep) for deep in DEEP)
        is_real = any(folder.name.startswith(real) for real in REAL)
        self.deltas = NARROW + WIDE if is_real else WIDE if is_deep else NARROW

    def run(self, kernel):
        if kernel not in GAP:
            return None
        if kernel == "sssp" and self.delta is None:
            first = {delta: self.trial(kernel, delta) for delta in self.deltas}
            self.delta = min(first, key=lambda delta: first[delta].get("seconds", math.inf))
        return self.trial(kernel, self.delta)

    def trial(self, kernel, delta):
        program, *options = GAP[kernel]
        graph = self.folder / ("graph.wsg" if kernel == "sssp" else "graph.sg")
        command = [Path(os.environ["GAPBS"]) / program, "-f", graph, "-n", "1", "-a", *options]
        if kernel in ["bfs", "sssp", "betweenness"]:
            command += ["-r", str(self.source)]
        if kernel == "sssp":
            command += ["-d", delta]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            # Loading takes part of it.
            text, _ = process.communicate(timeout=self.limit + 30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return {"ended": self.limit}
        found = re.search(r"Trial Time:\s*([\d.]+)", text)
        if process.returncode != 0 or not found:
            return {"ended": self.limit}
        # Printed with five decimals.
        row = {"seconds": max(float(found[1]), 5e-6)}
        says = GAP_ANSWERS.get(kernel) and re.search(GAP_ANSWERS[kernel], text)
        answer = int(says[1]) if says else None
        return row | ({"delta": int(delta)} if kernel == "sssp" else {}) | {"answer": answer}

    def close(self):
        pass


class AcGraph:
    """ACGraph, which reads its graph from the drive too. A tenth of the lists is its memory for
    blocks, beside its vertex state. It has no weights."""

    def __init__(self, bench, folder, source, name):
        self.folder, self.name, self.limit = folder, name, bench.options.limit
        self.programs, self.graph = Path(os.environ["ACGRAPH"]), folder / "graph.acg"
        if not self.graph.exists():
            self.convert(np.diff(np.load(folder / "offsets.npy")).max())
        # Its vertices have other numbers.
        inside = np.fromfile(self.graph / "v2id", "<u4")[source]
        lists = list_bytes(output([CENOTE, "info", folder / "graph.cenote", "--json"]))
        self.pool = ["-tn", "2", "-cmb", str(max(lists // 10 // MIB, 1))]
        self.kernels = {"bfs": ["bfs", "-src", str(inside)]}
        if not np.load(folder / "directed.npy"):
            self.kernels["wcc"] = ["wcc_lp"]

    def convert(self, degree_max):
        """Its own program makes its form from compressed rows."""
        rows = self.folder / "rows"
        rows.mkdir(exist_ok=True)
        offsets = np.load(self.folder / "offsets.npy")
        targets = np.load(self.folder / "neighbours.npy", mmap_mode="r")
        (rows / "meta").write_bytes(struct.pack("<BBBIQ", 4, 8, 0, len(offsets) - 1, len(targets)))
        offsets.astype("<u8").tofile(rows / "offset")
        targets.astype("<u4").tofile(rows / "data")
        # Lists of two at most stay in memory. It does not work if all lists do.
        shortest = ["--tdeg", str(min(degree_max - 1, 2))]
        command = [self.programs / "formatter", rows, self.graph, *shortest]
        subprocess.run(command, check=True, capture_output=True)
        shutil.rmtree(rows)

    def run(self, kernel):
        if kernel not in self.kernels:
            return None
        program, *options = self.kernels[kernel]
        command = [self.programs / program, self.graph, *self.pool, *options]
        drop_caches()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.limit + 30)
        except subprocess.TimeoutExpired:
            return {"ended": self.limit}
        found = [re.search(text, done.stdout) for text in [
            r"calc: ([\d.]+)ms", r"IO_read: (\d+)B", r"ans: \(?(\d+)"]]
        if done.returncode != 0 or not all(found):
            return {"ended": self.limit}
        seconds, read, answer = (float(each[1]) for each in found)
        return {"seconds": seconds / 1000, "bytes_read": int(read), "answer": int(answer)}

    def close(self):
        pass


def output(words, limit=None):
    """The JSON that a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def touch_memory(size):
    """Has so much memory at hand. A virtual machine may give free memory back to its host, from
    which it returns at a GiB in two seconds; the rivals wait for theirs while they load."""
    memory = np.empty(size, np.uint8)
    memory[::4096] = 1


def available(names):
    """The rivals that are at hand."""
    for name in names:
        if name in PROGRAMS:
            variable, programs = PROGRAMS[name]
            folder = os.environ.get(variable)
            missing = [p for p in programs if not (Path(folder or "") / p).is_file()]
            if folder and not missing:
                yield name
            else:
                lacks = f"{folder} has no {', '.join(missing)}"
                print(f"{name} is left out: {lacks if folder else f'{variable} is not set'}")
        elif name == "graph":
            if CRATE.is_file():
                yield name
            else:
                print(f"the crate graph is left out: cargo build --release in {CRATE.parents[2]}")
        elif importlib.util.find_spec(name):
            yield name
        else:
            print(f"{name} is left out: it is not installed for {sys.executable}")


def source_of(folder, degrees):
    """Where searches begin: at the vertex of largest degree. In a directed graph that may reach
    little; there it is the one of eight vertices by chance that reaches most."""
    if not np.load(folder / "directed.npy"):
        return int(degrees.argmax())
    from scipy.sparse import csgraph, csr_array

    offsets, neighbours = np.load(folder / "offsets.npy"), np.load(folder / "neighbours.npy")
    shape = (len(degrees), len(degrees))
    graph = csr_array((np.ones(len(neighbours), np.int8), neighbours, offsets), shape=shape)
    some = np.random.default_rng(1).choice(np.flatnonzero(degrees), 8)
    reached = [len(csgraph.breadth_first_order(graph, v, return_predecessors=False)) for v in some]
    return int(some[np.argmax(reached)])


def measure(bench, name, rivals):
    options = bench.options
    started = time.monotonic()
    name, folder = prepared(bench, name)
    degrees = np.diff(np.load(folder / "offsets.npy"))
    edges = len(np.load(folder / "low.npy", mmap_mode="r"))
    size = {"graph": name, "vertices": len(degrees), "edges": edges,
            "order": output([CENOTE, "info", folder / "graph.cenote", "--json"])["order"]}
    missing = UNDIRECTED if np.load(folder / "directed.npy") else DIRECTED
    source = source_of(folder, degrees)
    print(f"\n== {name}: {size['vertices']:,} vertices, {size['edges']:,} edges, made in "
          f"{time.monotonic() - started:.0f} s")
    contenders = [Cenote(bench, folder, source, share) for share in options.shares]
    kinds = {"gap": Gap, "acgraph": AcGraph}
    contenders += [kinds.get(rival, Library)(bench, folder, source, rival) for rival in rivals]
    for kernel in options.kernels.split(","):
        if kernel not in missing:
            taken = turns(bench, kernel, contenders, size)
            show(kernel, taken)
    for contender in contenders:
        contender.close()


def turns(bench, kernel, contenders, size):
    """The rows of every contender that has the kernel, measured in turn."""
    taken, limit = {}, bench.options.limit
    for repeat in range(bench.options.repeats):
        for contender in contenders:
            rows = taken.setdefault(contender.name, [])
            # A long call, one that was ended, and a kernel that it does not have are not repeated.
            if repeat and (not rows or rows[-1].get("seconds", limit) > limit / 3):
                continue
            row = contender.run(kernel)
            if row is None:
                continue
            rows.append(row)
            bench.record("gap", kernel=kernel, contender=contender.name, repeat=repeat,
                         **size, **row)
    answers = {name: row["answer"] for name, rows in taken.items() for row in rows
               if row.get("answer") is not None}
    if len(set(answers.values())) > 1:
        sys.exit(f"{size['graph']} {kernel}: the answers differ: {answers}")
    return {name: rows for name, rows in taken.items() if rows}


def show(kernel, taken):
    medians = {name: statistics.median(row.get("seconds", math.inf) for row in rows)
               for name, rows in taken.items()}
    others = [seconds for name, seconds in medians.items() if not name.startswith("cenote")]
    best = min(others, default=math.inf)
    for name, seconds in medians.items():
        line = f"{kernel:12} {name:12}"
        if seconds == math.inf:
            print(f"{line} not done within the limit")
            continue
        line += f" {seconds:9.3f} s"
        rows = [row for row in taken[name] if "passes" in row]
        if rows:
            passes = statistics.median(row["passes"] for row in rows)
            requests = statistics.median(row["read_requests"] for row in rows)
            peak = max(row["peak_rss_bytes"] for row in rows) / MIB
            line += f" {passes:8.2f} passes {requests:9,.0f} requests {peak:6.0f} MiB at most"
            line += f" {seconds / best:6.2f} x the best rival" if best < math.inf else ""
        print(line)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--memory", default="3,10,25,100", help="percentages of the graph's pages")
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--order", default="auto", help="of the vertices of Cenote's graphs")
    parser.add_argument("--limit", type=float, default=20)
    parser.add_argument("--dir", default="/var/tmp/cenote-gap")
    parser.add_argument("--rows", help="file of raw rows [default: runs/DATE-gap.jsonl]")
    options = parser.parse_args()
    for given, known in [(options.kernels, KERNELS), (options.rivals or "gap", RIVALS)]:
        unknown = sorted(set(given.split(",")) - set(known))
        if unknown:
            parser.error(f"no {', '.join(unknown)}: {', '.join(known)}")
    options.shares = [float(share) for share in options.memory.split(",")]
    bench = Bench(options, "-gap")
    rivals = list(available(options.rivals.split(",") if options.rivals else []))
    for name in options.graphs.split(","):
        measure(bench, name, rivals)


if __name__ == "__main__":
    main()
