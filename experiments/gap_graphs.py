"""The graphs of `gap_bench.py`: made once, for Cenote and in the forms that its rivals read.

A folder per graph: `graph.cenote` and `weighted.cenote`; NumPy arrays with each edge once (`low`,
`high`, `weights`; of a directed graph its source, target and weight) and with compressed rows
(`offsets`, `neighbours`, `neighbour-weights`; of a directed graph those of out-edges); `graph.sg`
and `graph.wsg` of the GAP benchmark suite; and `directed.npy`.
"""

import math
import os
import subprocess
import sys

import numpy as np

from algo_bench import MORE, real_graphs
from bench import CENOTE

REAL = MORE | {"git": ("git/git-all.adj.zst", ["--directed", "--in-edges"])}
DEEP = ["grid", "grid-shuffled", "road", "path", "path-shuffled", "star", "cliques"]
# Edges that are prepared at a time.
PART = 1 << 24


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
    if kind in REAL:
        for _, graph in real_graphs(bench, {kind: REAL[kind]}):
            return exported(bench, graph)
        sys.exit(f"no graph {name}: set CENOTE_DATA to the collection of real graphs")
    order = np.arange(n, dtype=np.uint32)
    if kind.endswith("shuffled"):
        np.random.default_rng(1).shuffle(order)
    if kind.startswith("path"):
        return order[:-1], order[1:]
    if kind not in DEEP:
        sys.exit(f"no graph {name}: {', '.join(['kron', 'uniform', *DEEP, *REAL])}")
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


def weights_of(source, target):
    """A weight from 1 to 255 for each edge: of its ends alone, whichever comes first."""
    weights = np.empty(len(source), np.int32)
    for part in parts(len(source)):
        ends = source[part], target[part]
        keys = keys_of(np.minimum(*ends), np.maximum(*ends))
        mixed = (keys ^ keys >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
        weights[part] = mixed % np.uint64(255) + np.uint64(1)
    return weights


def parts(count):
    """Slices of an array that may be large, so that what is computed of one takes little memory."""
    return [slice(at, at + PART) for at in range(0, count, PART)]


def direction(name):
    """The name without what it says of its direction, and whether the graph is directed."""
    for suffix, is_directed in [("-directed", True), ("-undirected", False)]:
        if name.endswith(suffix):
            return name.removesuffix(suffix), is_directed
    return name, name in REAL and "--directed" in REAL[name][1]


def prepared(bench, name):
    """The folder of a graph in all forms, made once: its vertices are numbered from 0."""
    kind, is_directed = direction(name)
    if kind in ["kron", "uniform"]:
        name = name.replace(kind, f"{kind}-{bench.options.scale}")
    elif kind in DEEP:
        name = name.replace(kind, f"{kind}-{bench.options.vertices}")
    is_usual = bench.options.order == "auto"
    folder = bench.folder / (name if is_usual else f"{name}-{bench.options.order}")
    if (folder / "complete").exists():
        return name, folder
    folder.mkdir(exist_ok=True)
    a, b = edges_of(bench, kind)
    there = np.zeros(int(max(a.max(), b.max())) + 1, bool)
    proper = a != b
    there[a[proper]] = there[b[proper]] = True
    numbers = np.cumsum(there, dtype=np.uint32) - 1
    keys = np.empty(len(a), np.uint64)
    for part in parts(len(a)):
        ends = numbers[a[part]], numbers[b[part]]
        if not is_directed:
            ends = np.minimum(*ends), np.maximum(*ends)
        keys[part] = keys_of(*ends)
    keys = keys[proper]
    del a, b, proper
    keys.sort()
    low, high = halves(keys[np.append(True, keys[1:] != keys[:-1])])
    del keys
    write(folder, low, high, int(there.sum()), is_directed)
    imported(folder, low, high, is_directed, bench.options.order)
    (folder / "complete").touch()
    return name, folder


def write(folder, low, high, n, is_directed):
    """The graph for the rivals: edges, compressed rows, and the GAP suite's own files."""
    ways = [keys_of(low, high), keys_of(high, low)]
    rows = [compressed(ways.pop(0), n) for _ in range(2)] if is_directed else [
        compressed(np.concatenate(ways), n)]
    del ways
    offsets, target, each = rows[0]
    arrays = {
        "low": low, "high": high, "weights": weights_of(low, high),
        "vertices": np.int64(n), "directed": np.bool_(is_directed),
        "offsets": offsets, "neighbours": target, "neighbour-weights": each,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    head = bytes([is_directed]) + np.array([len(target), n], "<i8").tobytes()
    for file, has_weights in [("graph.sg", False), ("graph.wsg", True)]:
        with open(folder / file, "wb") as out:
            out.write(head)
            for offsets, *columns in rows:
                offsets.tofile(out)
                for part in parts(len(target)):
                    kept = columns if has_weights else columns[:1]
                    np.stack([column[part] for column in kept], 1).tofile(out)


def compressed(keys, n):
    """Where the list of each vertex begins, its neighbours, and the weights of their edges, from
    the edges by the end that has the list."""
    keys.sort()
    source, target = halves(keys)
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=offsets[1:])
    return offsets, target.view(np.int32), weights_of(source, target)


def imported(folder, low, high, is_directed, order):
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
    kind = ["--directed", "--in-edges"] if is_directed else ["--undirected"]
    weights = ["--weights", "u32", "--weight-column", "weight"]
    for source, out, options in [
        ("pairs.u32", "graph.cenote", []), ("weighted.parquet", "weighted.cenote", weights)
    ]:
        command = [CENOTE, "import", folder / source, *kind, *options,
                   "--order", order, "--out", folder / out, "--overwrite"]
        subprocess.run(command, check=True, capture_output=True)
        os.remove(folder / source)

