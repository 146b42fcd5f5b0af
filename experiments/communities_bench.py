"""Leiden and Louvain beside igraph: modularity and time on all real graphs.

    communities_bench.py [--tiny] [--graphs gowalla,web] [--methods leiden,louvain] [--scale 20]
                         [--iterations 10] [--repeats 3] [--memory 1GiB] [--threads 2] [--dir DIR]
                         [--rows FILE]

Every graph is imported as undirected without repeated edges and self-loops, and exported for
igraph, so that both see the same edges. Leiden stands beside `community_leiden` with two iterations
and until it is stable, Louvain beside `community_multilevel`. igraph has all memory, and reading
its input is not counted; Cenote reads the file from the drive, within --memory. Runs take turns;
figures are medians. `--tiny` runs the Debian packages of this repository and a small Kronecker
graph.
"""

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path

from bench import CENOTE, ROOT, Bench

DATA = Path(os.environ.get("CENOTE_DATA", ROOT / "../shared/data"))
REAL = {
    "debian": "debian/debian-depends.tsv.zst",
    "cnr-2000": "web/cnr-2000.adj.zst",
    "gowalla": "social/gowalla.txt.gz",
    "facebook": "social/facebook-links.txt.gz",
    "deezer": "social/deezer.txt.gz",
    "enron": "social/email-Enron.txt.gz",
    "movielens": "social/movielens_1m.txt.gz",
    "wiki-vote": "social/wiki-Vote.txt.zst",
    "github-v1": "social/map-of-github-v1.el.zst",
    "github-v2": "social/map-of-github-v2.el.zst",
    "mathoverflow": "temporal/sx-mathoverflow.txt.gz",
    "collegemsg": "temporal/CollegeMsg.txt.gz",
    "highways": "road/world_highways.e.zst",
    "amsterdam": "road/amsterdam-roads.gr.bin.zst",
    "moscow": "road/moscow-roads.gr.bin.zst",
    "seattle": "road/seattle-roads.gr.bin.zst",
    "karate": "tiny/karate.graph.zst",
    "lesmis": "tiny/lesmis.graph.zst",
    "jazz": "tiny/jazz.graph.zst",
    "polblogs": "tiny/polblogs.graph.zst",
    "power": "tiny/power.graph.zst",
    "airfoil": "tiny/airfoil1.graph.zst",
    "celegans": "tiny/celegans_metabolic.graph.zst",
    "hep-th": "tiny/hep-th.graph.zst",
    "astro-ph": "tiny/astro-ph.graph.zst",
    "pgp": "tiny/PGPgiantcompo.graph.zst",
    "4elt": "tiny/4elt.graph.zst",
    "wing": "tiny/wing.graph.zst",
    "symfony": "git/symfony.adj.zst",
}
DEBIAN = ROOT / "data/debian-depends.tsv.zst"
MODULARITY_SHARE = 0.995


def imported(bench, name):
    """The graph of a name, made once; `None` if its file is missing."""
    graph = bench.path(f"{name}.cenote")
    if os.path.exists(graph):
        return graph
    if name.startswith("kron"):
        source = bench.path(f"{name}.u32")
        bench.cenote("generate", "generate", "kron", "--scale", name[4:], "--seed", 1,
                     "--out", source)
    else:
        source = DEBIAN if name == "debian" else DATA / REAL[name]
        if not source.is_file():
            print(f"{REAL[name]} is missing: set CENOTE_DATA to the collection of real graphs")
            return None
        if ".gr.bin" in source.name:
            unpacked = bench.path(f"{name}.u32")
            with open(unpacked, "wb") as file:
                subprocess.run(["zstd", "-dc", source], stdout=file, check=True)
            source = unpacked
    bench.cenote("prepare", "import", source, "--undirected", "--out", graph)
    return graph


def edges_of(bench, name, graph):
    """The edges for igraph, of numbers from 0 on."""
    import numpy as np

    pairs = bench.path(f"{name}-edges.tsv")
    if not os.path.exists(pairs):
        subprocess.run([CENOTE, "export", graph, "--out", pairs], check=True, capture_output=True)
    edges = np.loadtxt(pairs, delimiter="\t", comments="#", dtype=str, usecols=(0, 1))
    if edges.size and all(edge.isdigit() for edge in edges[:100].ravel()):
        edges = edges.astype(np.int64)
    numbers, edges = np.unique(edges, return_inverse=True)
    return len(numbers), edges.reshape(-1, 2)


def ours(bench, name, graph, method):
    options = bench.options
    iterations = ["--iterations", options.iterations] if options.iterations else []
    found = bench.cenote("communities", "run", method, graph, "--memory", options.memory,
                         "--threads", options.threads, *iterations, graph=name, by="cenote",
                         method=method)
    return {"modularity": found["result"]["modularity"], "seconds": found["seconds"],
            "cpu_seconds": found["cpu_seconds"], "passes": found["passes"]}


def rivals(method):
    """igraph's calls, by name."""
    if method == "louvain":
        return {"multilevel": lambda graph: graph.community_multilevel()}

    def leiden(iterations):
        return lambda graph: graph.community_leiden(objective_function="modularity",
                                                    n_iterations=iterations)

    return {"2 iterations": leiden(2), "until stable": leiden(-1)}


def theirs(bench, name, graph, method, rival, call):
    started, cpu = time.monotonic(), time.process_time()
    found = call(graph)
    row = {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - cpu}
    row["modularity"] = graph.modularity(found)
    bench.record("communities", graph=name, by=f"igraph, {rival}", method=method, **row)
    return row


def measure(bench, name):
    import igraph

    graph = imported(bench, name)
    if graph is None:
        return
    vertices, edges = edges_of(bench, name, graph)
    in_memory = igraph.Graph(n=vertices, edges=edges)
    for method in bench.options.methods.split(","):
        taken = {"cenote": []} | {rival: [] for rival in rivals(method)}
        for _ in range(bench.options.repeats):
            taken["cenote"].append(ours(bench, name, graph, method))
            for rival, call in rivals(method).items():
                taken[rival].append(theirs(bench, name, in_memory, method, rival, call))
        show(name, method, taken)


def show(name, method, taken):
    """Medians of ours and of each rival."""
    median = {by: {field: statistics.median(row[field] for row in rows) for field in rows[0]}
              for by, rows in taken.items()}
    mine = median.pop("cenote")
    print(f"{name:14} {method:8} cenote        {mine['modularity']:.5f} {mine['seconds']:8.2f} s "
          f"{mine['cpu_seconds']:8.2f} s CPU {mine['passes']:6.2f} passes")
    for rival, row in median.items():
        share = mine["modularity"] / row["modularity"] if row["modularity"] else 1.0
        enough = "" if share >= MODULARITY_SHARE else "  LESS"
        print(f"{name:14} {method:8} {rival:13} {row['modularity']:.5f} {row['seconds']:8.2f} s "
              f"{row['cpu_seconds']:8.2f} s CPU  ours / theirs: modularity {share:.4f}, time "
              f"{mine['seconds'] / max(row['seconds'], 1e-9):.2f}{enough}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--graphs")
    parser.add_argument("--methods", default="leiden,louvain")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--iterations", type=int, help="of ours, instead of the default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--dir", default="/tmp/cenote-communities")
    parser.add_argument("--rows")
    options = parser.parse_args()
    if options.tiny:
        options.scale, options.repeats = 8, 1
    bench = Bench(options, "-communities")
    everything = ["debian"] if options.tiny else list(REAL)
    everything.append(f"kron{options.scale}")
    for name in options.graphs.split(",") if options.graphs else everything:
        measure(bench, name)


if __name__ == "__main__":
    main()
