"""Peak memory over the budget, and what `estimate` had said: every algorithm, many graphs.

Used by `algo_bench.py --only memory`. A run that is refused is tried again with the budget that its
error names, which must do.
"""

import csv
import os
import re
import statistics

from bench import MIB, Bench

OVER = 32 * MIB
MEMORY_WITHIN = 0.10
BYTES_WITHIN = 0.20

# Name, algorithm, options, and the kinds of graphs that it is for; "any" has those without weights.
ANY = {"undirected", "both", "out"}
CASES = [
    ("bfs", "bfs", [], ANY),
    ("bfs --parents", "bfs", ["--parents"], ANY),
    ("dfs", "dfs", [], ANY),
    ("dfs, block", "dfs", ["--strategy", "block"], ANY),
    ("dfs, vertex", "dfs", ["--strategy", "vertex"], ANY),
    ("dfs, lexicographic", "dfs", ["--order", "lexicographic"], ANY),
    ("reach", "reach", ["--target", "{far}"], ANY),
    ("wcc", "wcc", [], ANY),
    ("pagerank", "pagerank", [], ANY),
    ("scc", "scc", [], {"both", "out"}),
    ("walk", "walk", ["--walkers", 1_000_000], ANY),
    ("walk, node2vec", "walk", ["--walkers", 300_000, "--p", 0.5, "--q", 2], {"undirected"}),
    ("walk, restart", "walk", ["--walkers", 1_000_000, "--restart", 0.15], ANY),
    ("sssp", "sssp", [], {"undirected", "weighted"}),
    ("mis", "mis", [], {"undirected", "both"}),
    ("cdlp", "cdlp", [], {"undirected", "both"}),
    ("lcc", "lcc", [], {"undirected", "both"}),
    ("triangles", "triangles", [], {"undirected", "both"}),
    ("kcore", "kcore", [], {"undirected", "both"}),
    ("betweenness", "betweenness", ["--samples", 4, "--seed", 1], {"undirected", "both"}),
]


def attempt(bench, *args, **row):
    """The JSON of a command that may be refused (then `None`) and what it said on stderr."""
    try:
        return bench.cenote("memory", *args, **row), ""
    except SystemExit as refused:
        return None, str(refused)


def enough(bench, case, graph, memory):
    """The budget itself, or the one that the error of a budget too small names."""
    algorithm, options = case
    told, error = attempt(bench, "estimate", algorithm, graph, "--memory", memory, *options)
    if told:
        return told, memory, 0
    for refusals in range(1, 4):
        named = re.search(r"--memory (\d+)MiB", error)
        if not named:
            return None, memory, refusals
        memory = int(named[1]) * MIB
        told, error = attempt(bench, "estimate", algorithm, graph, "--memory", memory, *options)
        if told:
            return told, memory, refusals
    return None, memory, refusals


def within(told, truth, share):
    return abs(told - truth) <= share * max(truth, 1)


def measure(bench, name, case, graph, memory, label):
    """One row: what was told, what was true, and what of it is outside the goals."""
    algorithm, options = case
    told, memory, refusals = enough(bench, case, graph, memory)
    if told is None:
        return {"case": name, "graph": label, "outside": ["refused again and again"]}
    ran, error = attempt(
        bench, "run", algorithm, graph, "--memory", memory, *options, case=name, graph=label
    )
    if ran is None:
        return {"case": name, "graph": label, "outside": [error]}
    peak, read = ran["peak_rss_bytes"], ran["bytes_read"]
    row = {
        "case": name, "graph": label, "budget": memory, "refusals": refusals, "peak": peak,
        "memory": told["memory_bytes"] / peak, "bytes": told["bytes_read"] / max(read, 1),
        "share": peak / (memory + OVER), "ranged": [], "outside": [],
    }
    if peak > memory + OVER:
        row["outside"].append("peak")
    if refusals > 1:
        row["outside"].append("refused twice")
    for what, truth, share in [
        ("memory_bytes", peak, MEMORY_WITHIN), ("bytes_read", read, BYTES_WITHIN),
    ]:
        least, most = told[f"{what}_at_least"], told[f"{what}_at_most"]
        if not least - share * truth <= truth <= most + share * truth:
            row["outside"].append(what)
        elif not within(told[what], truth, share):
            row["ranged"].append(what)
    bench.record("memory", **row)
    print(
        f"{name:18} {label:16} {memory / MIB:7.1f} MiB{'*' if refusals else ' '} peak "
        f"{peak / MIB:7.1f}, {row['share']:4.2f} of what may be; told / true: memory "
        f"{row['memory']:4.2f}, bytes {row['bytes']:5.2f}  {ran['seconds']:6.2f} s  "
        f"{' '.join(row['outside'])} {' '.join(f'({what})' for what in row['ranged'])}"
    )
    return row


def far(bench, graph):
    """The id of a vertex as far from the default source as there is one."""
    levels = bench.path("levels.csv")
    bench.cenote("prepare", "run", "bfs", graph, "--out", levels)
    with open(levels) as lines:
        rows = [row for row in csv.DictReader(lines) if row["level"]]
    os.unlink(levels)
    return max(rows, key=lambda row: int(row["level"]))["vertex"]


def budgets(info, shares):
    """Shares of the pages, each at least what the largest vertex state takes; each once."""
    least = 24 * info["vertices"] + 32 * MIB
    return sorted({max(int(info["page_bytes"] * share), least) for share in shares})


def check(bench: Bench, graphs, shares):
    """Every case on every graph, given as (label, file, kind); a summary."""
    rows = []
    only = bench.options
    for label, graph, kind in graphs:
        if not re.search(only.graphs, label):
            continue
        info = bench.cenote("info", "info", graph)
        target = far(bench, graph)
        for memory in budgets(info, shares):
            for name, algorithm, options, kinds in CASES:
                if kind in kinds and re.search(only.cases, name):
                    case = (algorithm, [str(o).format(far=target) for o in options])
                    rows.append(measure(bench, name, case, graph, memory, label))
    summarize(rows)


def summarize(rows):
    outside = [row for row in rows if row["outside"]]
    for ratio in ["share", "memory", "bytes"]:
        found = [row[ratio] for row in rows if ratio in row]
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print(f"{ratio}: median {statistics.median(found):.2f} ({spread}), {len(found)} rows")
    for what in ["memory_bytes", "bytes_read"]:
        ranged = sum(what in row.get("ranged", []) for row in rows)
        print(f"{what}: {ranged} rows of {len(rows)} within the range that was told, no nearer")
    print(f"{len(outside)} of {len(rows)} rows outside the goals:")
    for row in outside:
        print(f"    {row['case']}, {row['graph']}: {', '.join(row['outside'])}")
