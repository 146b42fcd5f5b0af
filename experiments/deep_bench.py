"""Deep graphs and hubs: every algorithm of many small steps, from the least memory to plenty.

    deep_bench.py [--vertices 1000000] [--graphs path,grid] [--algorithms kcore,sssp]
                  [--budgets least,32MiB,1GiB] [--repeats 3] [--limit 60] [--old PROGRAM]
                  [--dir DIR] [--rows FILE]

The graphs: a path, in order and shuffled, undirected and directed; a star; cliques of ten in a row;
a weighted square grid, in order and shuffled. Each algorithm runs with the least memory that it
accepts, with 32 MiB and with as much as it can use, or with other budgets. With `--old` a second
build takes turns. Prints medians of seconds and of processor seconds, and passes and requests; a
run beyond `--limit` seconds is ended and printed as such, and so is what an algorithm or a budget
refuses.
"""

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import time
from array import array

from bench import CENOTE, Bench, drop_caches

GRAPHS = {
    "path": ["--undirected"],
    "shuffled": ["--undirected"],
    "directed": ["--directed", "--in-edges"],
    "directed-shuffled": ["--directed", "--in-edges"],
    "star": ["--undirected"],
    "cliques": ["--undirected"],
    "grid": ["--undirected", "--weights", "f32"],
    "grid-shuffled": ["--undirected", "--weights", "f32"],
}
ALGORITHMS = ["kcore", "sssp", "bfs", "scc", "reach", "dfs", "betweenness"]
# Options of algorithms that are not run as they come.
OPTIONS = {
    "sssp": ["--source", "0"],
    "bfs": ["--source", "0"],
    "dfs": ["--source", "0"],
    "lexicographic": ["--source", "0", "--order", "lexicographic"],
    "betweenness": ["--source", "0"],
    "ppr": ["--seed", "0"],
    "similar": ["--source", "0"],
}


def edges_of(name, n, order):
    """The edges of a graph; `order` gives each vertex its number."""
    if name == "star":
        return ((0, leaf) for leaf in range(1, n))
    if name == "cliques":
        inside = ((a, b) for a in range(n) for b in range(a + 1, min(n, a // 10 * 10 + 10)))
        return (edge for a, b in inside for edge in [(a, b)] + [(b, b + 1)] * (
            b % 10 == 9 and b == a + 1 and b + 1 < n))
    if name.startswith("grid"):
        side = math.isqrt(n)
        right = ((v, v + 1) for v in range(side * side) if (v + 1) % side)
        down = ((v, v + side) for v in range(side * (side - 1)))
        return ((order[a], order[b]) for edges in (right, down) for a, b in edges)
    return ((order[v], order[v + 1]) for v in range(n - 1))


def imported(bench, name, n):
    """The graph file of a name, made once."""
    graph = bench.path(f"{name}-{n}.cenote")
    if os.path.exists(graph):
        return graph
    shuffle, draw = random.Random(1), random.Random(2)
    order = array("I", range(n))
    if "shuffled" in name:
        shuffle.shuffle(order)
    weighted = name.startswith("grid")
    source = bench.path(f"{name}-{n}" + (".txt" if weighted else ".u32"))
    if weighted:
        with open(source, "w") as file:
            file.writelines(f"{a} {b} {draw.random():.6f}\n" for a, b in edges_of(name, n, order))
    else:
        with open(source, "wb") as file:
            array("I", (v for edge in edges_of(name, n, order) for v in edge)).tofile(file)
    # By itself import would put shuffled graphs in clusters.
    subprocess.run([CENOTE, "import", source, *GRAPHS[name], "--order", "natural", "--out", graph],
                   check=True, capture_output=True)
    os.remove(source)
    return graph


def command_of(algorithm, graph, n):
    """The arguments of a run; `lexicographic` is `dfs` in that order."""
    verb = "dfs" if algorithm == "lexicographic" else algorithm
    options = OPTIONS.get(algorithm, [])
    if algorithm == "reach":
        options = ["--source", "0", "--target", str(n - 1)]
    return ["run", verb, graph, *options]


def least(program, command):
    """The least memory that a command accepts, as its own message says; `None` if it refuses the
    graph."""
    command = [program, *command, "--memory", "1KiB"]
    refused = subprocess.run(command, capture_output=True, text=True)
    least = re.search(r"--memory (\S+)", refused.stderr)
    return least and least[1]


def in_bytes(size):
    number, prefix = re.fullmatch(r"([0-9.]+)([KMG]?)(?:iB|B)?", size).groups()
    return float(number) * 1024 ** " KMG".index(prefix or " ")


def run(program, command, limit):
    """What a run reports, with its processor seconds; `None` if it takes longer than `limit`, an
    empty report if it ends with an error."""
    drop_caches()
    started = time.monotonic()
    process = subprocess.Popen([program, *command, "--json"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    # `reach` exits with 1 where a target cannot be reached.
    if process.returncode not in (0, 1) or not output:
        return {}
    return json.loads(output) | {"wall_seconds": time.monotonic() - started}


def measure(bench, programs, name, algorithm):
    options = bench.options
    graph = imported(bench, name, options.vertices)
    command = command_of(algorithm, graph, options.vertices)
    smallest = {build: least(program, command) for build, program in programs.items()}
    if None in smallest.values():
        print(f"{name:18} {algorithm:13} does not take this graph")
        return
    for budget in options.budgets.split(","):
        taken = {build: [] for build in programs}
        line_of = {build: f"{name:18} {algorithm:13} {budget:>6} {build:>4}" for build in programs}
        for _ in range(options.repeats):
            for build, program in programs.items():
                # A build that was ended once is not tried again.
                if None in taken[build]:
                    continue
                memory = smallest[build] if budget == "least" else budget
                if in_bytes(memory) < in_bytes(smallest[build]):
                    print(f"{line_of[build]}  needs {smallest[build]}")
                    continue
                found = run(program, [*command, "--memory", memory], options.limit)
                if found == {}:
                    print(f"{line_of[build]}  ended with an error")
                    continue
                taken[build].append(found)
                fields = ["seconds", "cpu_seconds", "passes", "read_requests", "peak_rss_bytes"]
                row = {field: found.get(field) for field in fields} if found else {}
                bench.record("deep", graph=name, vertices=options.vertices, algorithm=algorithm,
                             budget=budget, memory=memory, build=build,
                             ended=found is None, **row)
        for build, found in taken.items():
            line = line_of[build]
            if not found:
                continue
            if None in found:
                print(f"{line}  more than {options.limit:g} s")
                continue
            median = {field: statistics.median(row[field] for row in found)
                      for field in ["seconds", "cpu_seconds", "passes", "read_requests"]}
            print(f"{line} {median['seconds']:8.2f} s {median['cpu_seconds']:8.2f} s CPU "
                  f"{median['passes']:8.2f} passes {median['read_requests']:9.0f} requests")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--budgets", default="least,32MiB,1GiB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--old", help="another build, which takes turns")
    parser.add_argument("--dir", default="/tmp/cenote-deep")
    parser.add_argument("--rows")
    options = parser.parse_args()
    options.scale = None
    bench = Bench(options, "-deep")
    programs = ({"old": options.old} if options.old else {}) | {"new": CENOTE}
    for name in options.graphs.split(","):
        for algorithm in options.algorithms.split(","):
            measure(bench, programs, name, algorithm)


if __name__ == "__main__":
    main()
