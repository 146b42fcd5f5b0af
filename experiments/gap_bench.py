"""Kernels x graphs beside programs in memory: `make gap-bench`.

    gap_bench.py [--graphs kron-20,uniform-20,grid,path] [--kernels bfs,wcc,...]
                 [--memory 3,10,25,100] [--scale 20] [--vertices 1000000] [--repeats 3]
                 [--rivals gap,networkit,igraph,scipy] [--limit 20] [--dir DIR] [--rows FILE]
                 [--order auto]

Graphs: `kron` and `uniform` (2^scale vertices, 16 edges each; `kron-22` is of scale 22 whatever
--scale says), `grid` and `grid-shuffled` (square), `road` (a square grid of which each edge is kept
with probability 0.7, a mean degree of 2.8, the largest component), `path`, `path-shuffled`, `star`,
`cliques` (a chain of cliques of ten), and the real graphs of algo_bench.py where CENOTE_DATA has
them. All are undirected, without repeated edges and loops; weights are whole numbers from 1 to 255.

Cenote's graphs are imported with `--order auto`, or another. It runs cold, with a share of the
graph's pages as memory plus its vertex state, and its reads are counted; as much memory is touched
and freed before, since a virtual machine may have given it back to its host. The rivals have the
graph in memory, and their loading is not counted: NetworKit, igraph and SciPy where Python has
them, and the GAP benchmark suite where the environment variable GAPBS names the folder of its built
programs.
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
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from algo_bench import MORE, real_graphs
from bench import CENOTE, MIB, ROOT, Bench, drop_caches

KERNELS = ["bfs", "wcc", "pagerank", "sssp", "betweenness", "triangles", "kcore"]
LIBRARIES = ["networkit", "igraph", "scipy"]
RIVALS = ["gap", *LIBRARIES]
GRAPHS = ["kron", "uniform", "grid", "path"]
DEEP = ["grid", "grid-shuffled", "road", "path", "path-shuffled", "star", "cliques"]
# The GAP suite's program and options of each kernel. It has none for core numbers.
GAP = {
    "bfs": ["bfs"],
    "wcc": ["cc"],
    "pagerank": ["pr", "-i", "10", "-t", "0"],
    "sssp": ["sssp"],
    "betweenness": ["bc", "-i", "1"],
    "triangles": ["tc"],
}
# Where its programs print what all contenders must agree on.
GAP_ANSWERS = {
    "bfs": r"BFS Tree has (\d+) nodes",
    "wcc": r"There are (\d+) components",
    "triangles": r"(\d+) triangles",
}
# Edges that are prepared at a time.
PART = 1 << 24
# Widths of a bucket of its shortest paths, of which the fastest in a first call counts.
DELTAS = {True: ["128", "1024", "8192"], False: ["2", "16", "64"]}


def edges_of(bench, name):
    """The ends of all edges of a graph, in any order, maybe repeated."""
    options = bench.options
    kind, _, scale = name.partition("-") if name not in DEEP else (name, "", "")
    n, side = options.vertices, math.isqrt(options.vertices)
    if kind in ["kron", "uniform"]:
        scale = int(scale or options.scale)
        size = ["--scale", scale] if kind == "kron" else [
            "--vertices", 2**scale, "--edges", 2**scale * 16]
        pairs = bench.path(f"{kind}-{scale}.u32")
        command = ["generate", kind, *size, "--seed", 1, "--out", pairs]
        subprocess.run([CENOTE, *map(str, command)], check=True, capture_output=True)
        ends = np.fromfile(pairs, "<u4").reshape(-1, 2)
        os.remove(pairs)
        return ends[:, 0], ends[:, 1]
    if kind == "star":
        return np.zeros(n - 1, np.uint32), np.arange(1, n, dtype=np.uint32)
    if kind == "cliques":
        first = np.arange(0, n // 10 * 10, 10, dtype=np.uint32)
        within = [(a, b) for a in range(10) for b in range(a + 1, 10)]
        low = [first + a for a, _ in within] + [first[:-1] + 9]
        high = [first + b for _, b in within] + [first[1:]]
        return np.concatenate(low), np.concatenate(high)
    if kind in MORE:
        for _, graph in real_graphs(bench, {kind: MORE[kind]}):
            return exported(bench, graph)
        sys.exit(f"no graph {name}: set CENOTE_DATA to the collection of real graphs")
    order = np.arange(n, dtype=np.uint32)
    if kind.endswith("shuffled"):
        np.random.default_rng(1).shuffle(order)
    if kind.startswith("path"):
        return order[:-1], order[1:]
    if kind not in DEEP:
        sys.exit(f"no graph {name}: {', '.join(['kron', 'uniform', *DEEP, *MORE])}")
    at = order[: side * side].reshape(side, side)
    low = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    high = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    if kind != "road":
        return low, high
    kept = np.random.default_rng(1).random(len(low)) < 0.7
    return largest_component(low[kept], high[kept], side * side)


def largest_component(low, high, n):
    from scipy import sparse

    graph = sparse.coo_array((np.ones(len(low), np.int8), (low, high)), shape=(n, n))
    _, labels = sparse.csgraph.connected_components(graph, directed=False)
    inside = labels[low] == np.bincount(labels).argmax()
    return low[inside], high[inside]


def exported(bench, graph):
    """The edges of a graph file, by its ids, as numbers from 0."""
    import pyarrow.parquet

    file = bench.path("exported.parquet")
    subprocess.run([CENOTE, "export", graph, "--out", file], check=True, capture_output=True)
    table = pyarrow.parquet.read_table(file)
    os.remove(file)
    ends = np.stack([table.column(at).to_numpy() for at in range(2)])
    _, numbers = np.unique(ends, return_inverse=True)
    low, high = numbers.reshape(2, -1).astype(np.uint32)
    return low, high


def keys_of(source, target):
    return source.astype(np.uint64) << np.uint64(32) | target


def halves(keys):
    """The sources and targets of keys."""
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


def weights_of(low, high):
    """A weight from 1 to 255 for each edge: of its ends alone."""
    weights = np.empty(len(low), np.int32)
    for part in parts(len(low)):
        keys = keys_of(low[part], high[part])
        mixed = (keys ^ keys >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
        weights[part] = mixed % np.uint64(255) + np.uint64(1)
    return weights


def parts(count):
    """Slices of an array that may be large, so that what is computed of one takes little memory."""
    return [slice(at, at + PART) for at in range(0, count, PART)]


def prepared(bench, name):
    """The folder of a graph in all forms, made once: its vertices are numbered from 0."""
    if name in ["kron", "uniform"]:
        name = f"{name}-{bench.options.scale}"
    elif name in DEEP:
        name = f"{name}-{bench.options.vertices}"
    is_usual = bench.options.order == "auto"
    folder = bench.folder / (name if is_usual else f"{name}-{bench.options.order}")
    if (folder / "complete").exists():
        return name, folder
    folder.mkdir(exist_ok=True)
    kind = name.rpartition("-")[0] if name.rpartition("-")[0] in DEEP else name
    a, b = edges_of(bench, kind)
    there = np.zeros(int(max(a.max(), b.max())) + 1, bool)
    proper = a != b
    there[a[proper]] = there[b[proper]] = True
    numbers = np.cumsum(there, dtype=np.uint32) - 1
    keys = np.empty(len(a), np.uint64)
    for part in parts(len(a)):
        ends = numbers[a[part]], numbers[b[part]]
        keys[part] = keys_of(np.minimum(*ends), np.maximum(*ends))
    keys = keys[proper]
    del a, b, proper
    keys.sort()
    low, high = halves(keys[np.append(True, keys[1:] != keys[:-1])])
    del keys
    write(folder, low, high, int(there.sum()))
    imported(folder, low, high, bench.options.order)
    (folder / "complete").touch()
    return name, folder


def write(folder, low, high, n):
    """The graph for the rivals: edges, compressed rows, and the GAP suite's own files."""
    weights = weights_of(low, high)
    both = np.concatenate([keys_of(low, high), keys_of(high, low)])
    both.sort()
    source, target = halves(both)
    del both
    each = weights_of(np.minimum(source, target), np.maximum(source, target))
    target = target.view(np.int32)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=offsets[1:])
    arrays = {
        "low": low, "high": high, "weights": weights, "vertices": np.int64(n),
        "offsets": offsets, "neighbours": target, "neighbour-weights": each,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    head = b"\0" + np.array([len(target), n], "<i8").tobytes()
    for file, columns in [("graph.sg", [target]), ("graph.wsg", [target, each])]:
        with open(folder / file, "wb") as out:
            out.write(head)
            offsets.tofile(out)
            for part in parts(len(target)):
                np.stack([column[part] for column in columns], 1).tofile(out)


def imported(folder, low, high, order):
    """The graph for Cenote, without weights and with them."""
    import pyarrow
    import pyarrow.parquet

    with open(folder / "pairs.u32", "wb") as out:
        for part in parts(len(low)):
            np.stack([low[part], high[part]], 1).tofile(out)
    names = ["source", "target", "weight"]
    schema = pyarrow.schema([(name, pyarrow.int64()) for name in names])
    with pyarrow.parquet.ParquetWriter(folder / "weighted.parquet", schema) as out:
        for part in parts(len(low)):
            ends = [low[part], high[part]]
            columns = [column.astype(np.int64) for column in [*ends, weights_of(*ends)]]
            out.write_table(pyarrow.table(columns, schema=schema))
    weights = ["--weights", "u32", "--weight-column", "weight"]
    for source, out, options in [
        ("pairs.u32", "graph.cenote", []), ("weighted.parquet", "weighted.cenote", weights)
    ]:
        command = [CENOTE, "import", folder / source, "--undirected", *options,
                   "--order", order, "--out", folder / out, "--overwrite"]
        subprocess.run(command, check=True, capture_output=True)
        os.remove(folder / source)


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
        """The share of the pages, and the state of the vertices beside it. For all pages, also
        buffers for their reads, so that they stay in memory."""
        info = output([CENOTE, "info", self.command(kernel)[1], "--json"])
        pages = int(info["page_bytes"] * self.share / 100)
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
                  "triangles": "triangles", "sssp": "distance_max"}
        answer = found["result"][fields[kernel]] if kernel in fields else None
        return {key: found[key] for key in kept} | {"answer": answer}

    def close(self):
        pass


class Library:
    """A Python library with the graph in the memory of its own process."""

    def __init__(self, bench, folder, source, name):
        self.name, self.limit = name, bench.options.limit
        self.start = [sys.executable, ROOT / "experiments/gap_rivals.py", name, folder, str(source)]
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
        self.deltas = DELTAS[any(folder.name.startswith(deep) for deep in DEEP)]

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
        if name == "gap":
            folder = os.environ.get("GAPBS")
            missing = [p[0] for p in GAP.values() if not (Path(folder or "") / p[0]).is_file()]
            if folder and not missing:
                yield name
            else:
                said = f"{folder} has no {', '.join(missing)}" if folder else "GAPBS is not set"
                print(f"the GAP benchmark suite is left out: {said}")
        elif importlib.util.find_spec(name):
            yield name
        else:
            print(f"{name} is left out: it is not installed for {sys.executable}")


def measure(bench, name, rivals):
    options = bench.options
    started = time.monotonic()
    name, folder = prepared(bench, name)
    degrees = np.diff(np.load(folder / "offsets.npy"))
    size = {"graph": name, "vertices": len(degrees), "edges": int(degrees.sum()) // 2,
            "order": output([CENOTE, "info", folder / "graph.cenote", "--json"])["order"]}
    source = int(degrees.argmax())
    print(f"\n== {name}: {size['vertices']:,} vertices, {size['edges']:,} edges, made in "
          f"{time.monotonic() - started:.0f} s")
    contenders = [Cenote(bench, folder, source, share) for share in options.shares]
    contenders += [(Gap if rival == "gap" else Library)(bench, folder, source, rival)
                   for rival in rivals]
    for kernel in options.kernels.split(","):
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
