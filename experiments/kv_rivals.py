"""Updates of a graph beside two key-value stores that hold its edges: `kv_rivals.py PROGRAM`.

    kv_rivals.py PROGRAM [--scale 20] [--batches 1000000,100000] [--edges N] [--repeats 3]
                         [--memory MIB] [--engines cenote,redb,fjall] [--dir DIR] [--rows FILE]
                         [--tiny]
    kv_rivals.py PROGRAM --mixed CENOTE [--log 1] [--rate N] ...

PROGRAM is what `cargo build --release` makes in experiments/kv-rivals. Each engine stores a
Kronecker graph in random order, in durable batches, then makes durable commits of one edge each
with one thread and with eight, of which the first is not counted; the engines take turns. Cenote
makes them twice: with its graph on the drive, and (warm) in its memory, as the others find theirs
in the kernel's page cache. That has half of --memory for pages; a graph that is larger takes
minutes to pass through it. Quoted are medians, and Cenote's ratio to the faster of the others. Raw
rows, each with the machine's load, go to experiments/runs.

With --mixed a graph changes while CENOTE runs PageRank on a snapshot of it: first the second half
of its edges is inserted, then edges come and go, --log times as many changes as the graph has
edges. Quoted are changes a second alone and beside PageRank, and PageRank's time beside them as a
multiple of its time alone. With --rate so many changes arrive each second, and no more.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = [
    "edges_per_second",
    "edges_per_second_last_tenth",
    "edges_per_cpu_second",
    "cpu_seconds",
    "written_per_edge",
    "written_per_edge_settled",
    "file_bytes",
    "peak_bytes",
    "batch_seconds_max",
    "commits_per_second",
    "written_per_commit",
    "synced_writes_per_second",
    "buffered_synced_writes_per_second",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--batches", default="1000000,100000", help="edges of a batch, by comma")
    parser.add_argument("--edges", type=int, help="only the first edges of the graph")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, default=512, help="MiB for each engine")
    parser.add_argument("--engines", default="cenote,redb,fjall", help="by comma")
    parser.add_argument("--commits", type=int, default=1000, help="of each thread")
    parser.add_argument("--dir", default="/var/tmp/cenote-kv")
    parser.add_argument("--rows")
    parser.add_argument("--mixed", metavar="CENOTE", help="the command that runs PageRank")
    parser.add_argument("--log", type=float, default=1, help="changes for each edge; GFE takes 10")
    parser.add_argument("--rate", type=float, help="changes a second that arrive")
    parser.add_argument("--tiny", action="store_true", help="scale 10, once: does it still run?")
    options = parser.parse_args()
    if options.tiny:
        options.scale, options.repeats, options.batches, options.commits = 10, 1, "5000", 10
    folder = Path(options.dir)
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    rows = open(options.rows or ROOT / f"experiments/runs/{date}-kv.jsonl", "a")
    seen = {}
    engines = options.engines.split(",")

    def run(what, engine, *arguments):
        command = [options.program, *map(str, arguments)]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        row = json.loads(out)
        row |= {"load": os.getloadavg()[0], "at": datetime.datetime.now().isoformat("T", "seconds")}
        rows.write(json.dumps(row) + "\n")
        rows.flush()
        for figure in FIGURES:
            if figure in row:
                seen.setdefault((what, figure), {}).setdefault(engine, []).append(row[figure])
        return row

    if options.mixed:
        return mixed(options, folder, run)
    common = ["--scale", options.scale, "--memory", options.memory]
    edges = ["--edges", options.edges] if options.edges else []
    for batch in options.batches.split(","):
        for _ in range(options.repeats):
            for engine in engines:
                place = folder / engine
                shutil.rmtree(place, ignore_errors=True)
                run(f"batches of {batch}", engine, "ingest", engine, place, "--batch", batch,
                    *common, *edges)
    for turn in range(options.repeats):
        run("synced 4 KiB", "drive", "drive", folder, "--count", options.commits)
        for engine in engines:
            for warm in (False, True) if engine == "cenote" else (False,):
                for threads in (1, 8):
                    what = f"{threads} threads{' warm' * warm}"
                    run(what, engine, "commits", engine, folder / engine,
                        "--threads", threads, "--count", options.commits,
                        "--seed", 2 + 4 * turn + 2 * warm + threads // 8, *common,
                        *["--warm"] * warm)
    shutil.rmtree(folder)
    for (what, figure), by_engine in seen.items():
        medians = {engine: statistics.median(values) for engine, values in by_engine.items()}
        shown = "  ".join(
            f"{engine} {medians[engine]:,.4g} ({min(values):,.4g} to {max(values):,.4g})"
            for engine, values in by_engine.items()
        )
        if figure.endswith("_second") and "cenote" in medians and len(medians) > 1:
            others = max(medians[engine] for engine in medians if engine != "cenote")
            shown += f"  x {medians['cenote'] / others:.2f}"
        print(f"{what:20} {figure:34} {shown}", flush=True)


def mixed(options, folder, run):
    """Updates beside PageRank: medians over the turns."""
    figures = {}
    rate = ["--rate", options.rate] if options.rate else []
    for batch in options.batches.split(","):
        for _ in range(options.repeats):
            row = run("mixed", "cenote", "mixed", options.mixed, folder, "--scale", options.scale,
                      "--batch", batch, "--log", options.log, "--memory", options.memory, *rate)
            alone = statistics.median(row["pagerank_seconds_alone"])
            for part in ("insertions", "log"):
                seconds = row[part]["beside"]["pagerank_seconds"]
                figure = figures.setdefault((batch, part), [])
                figure.append((
                    row[part]["alone"]["changes_per_second"],
                    row[part]["beside"]["changes_per_second"],
                    statistics.median(seconds) / alone if seconds else None,
                ))
    shutil.rmtree(folder)
    for (batch, part), found in figures.items():
        alone, beside, slower = (
            [value for value in values if value is not None] for values in zip(*found)
        )
        slower = f"{statistics.median(slower):.2f} times as long" if slower else "not measured"
        print(
            f"batches of {batch}, {part}: {statistics.median(alone):,.0f} changes/s alone, "
            f"{statistics.median(beside):,.0f} beside PageRank, which takes {slower}"
        )


if __name__ == "__main__":
    sys.exit(main())
