"""GraphX in local mode beside Cenote. Raw rows go to experiments/runs/DATE-spark.jsonl.

    spark_bench.py --spark SPARK_HOME [--scale 18] [--memory 4GiB] [--repeats 3] [--dir DIR]
                   [--rows FILE]

SPARK_HOME is the folder of a Spark: after `pip install pyspark` that of the package `pyspark`.
PySpark itself has no access to GraphX: it is measured by `graphx.scala`, with two threads. The heap
of the Java machine is `--memory`, which is the budget of Cenote too. Seconds are those of the
algorithm; those of reading the edges and of whole processes are in the rows. Cenote opens a graph
file, GraphX has the graph in its memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import CENOTE, ROOT, Bench, drop_caches, figure

WORKER = """
import json, sys, time, warnings
import cenote
warnings.simplefilter("ignore", cenote.CenoteWarning)
path, memory, iterations = sys.argv[1:]
with cenote.open(path) as graph:
    for name, run in [
        ("pagerank", lambda: graph.pagerank(iterations=int(iterations), memory=memory, threads=2)),
        ("wcc", lambda: graph.wcc(memory=memory, threads=2)),
    ]:
        start = time.perf_counter()
        answer = run()
        seconds = time.perf_counter() - start
        print("MEASURED", json.dumps({"name": name, "seconds": seconds}))
"""


def measured(bench, contender, repeat, command, environment):
    """The seconds that a process prints by name, recorded."""
    drop_caches()
    start = time.perf_counter()
    done = subprocess.run(
        [*map(str, command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    seconds = time.perf_counter() - start
    lines = [line for line in done.stdout.splitlines() if "MEASURED {" in line]
    found = [json.loads(line[line.index("{") :]) for line in lines]
    if done.returncode != 0 or len(found) < 2:
        failed = [line for line in done.stderr.splitlines() if "Error" in line]
        last = failed[0] if failed else ""
        bench.record("spark", contender=contender, repeat=repeat, error=last, seconds=seconds)
        return {}
    named = {row["name"]: row["seconds"] for row in found}
    memory = bench.options.memory
    bench.record(
        "spark", contender=contender, repeat=repeat, memory=memory, process_seconds=seconds, **named
    )
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spark", required=True)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir", default=tempfile.gettempdir() + "/cenote-spark")
    parser.add_argument("--rows")
    options = parser.parse_args()
    bench = Bench(options, "-spark")
    name = f"kron{options.scale}"
    pairs, graph = bench.path(f"{name}.u32"), bench.path(f"{name}.cenote")
    text = bench.path(f"{name}.edges.txt")
    scale = options.scale
    if not Path(pairs).exists():
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", pairs)
    if not Path(graph).exists():
        bench.cenote("prepare", "import", pairs, "--out", graph)
    if not Path(text).exists():
        # Without repeated edges and loops, which the import has left out.
        subprocess.run([CENOTE, "export", graph, "--out", text, "--quiet"], check=True)
    heap = options.memory.replace("GiB", "g").replace("MiB", "m")
    spark = [Path(options.spark) / "bin/spark-shell", "--master", "local[2]"]
    spark += ["--driver-memory", heap]
    spark += ["--conf", "spark.ui.enabled=false", "-i", ROOT / "experiments/graphx.scala"]
    settings = {"SPARK_HOME": options.spark, "EDGES": text, "PARTS": "4"}
    settings |= {"ITERATIONS": str(options.iterations)}
    cenote = [sys.executable, "-c", WORKER, graph, options.memory, options.iterations]
    seconds = {}
    for repeat in range(options.repeats):
        for contender, command, more in [("cenote", cenote, {}), ("graphx", spark, settings)]:
            for part, took in measured(bench, contender, repeat, command, more).items():
                seconds.setdefault((part, contender), []).append(took)
    for (part, contender), took in seconds.items():
        figure(f"{part}, {name}, {options.memory}: {contender}", took, "s")
    for part in ("pagerank", "wcc"):
        both = [seconds.get((part, contender)) for contender in ("graphx", "cenote")]
        if None in both:
            print(f"{part}: GraphX did not end: the rows have its error")
        else:
            ratio = statistics.median(both[0]) / statistics.median(both[1])
            print(f"{part}: Cenote is {ratio:.1f} x as fast as GraphX")


if __name__ == "__main__":
    main()
