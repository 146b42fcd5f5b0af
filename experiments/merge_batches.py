"""Merging changes with many writes in flight, against one page at a time, beside what the drive's
curves predict.

    merge_batches.py [--scale 20] [--share 5] [--commits 6] [--repeats 3] [--dir DIR] [--rows FILE]

The graph of delta_runs.py, with a share of its edges (percent) in delta runs. Copies of it are
merged by the example `merge_bench` of crates/store, in turn, with cold page cache (as root): one
write of one page at a time, and 16 writes of up to 64 KiB in flight. The pages that are read, and
how, are the same. The drive is profiled before. Predicted is that each page written saves the
difference between the profile's times of a write of 4 KiB alone and with 16 in flight. Needs the
package with its native part (`make python`).
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from bench import CENOTE, ROOT, Bench, drop_caches
from delta_runs import graphs

WAYS = {"one page at a time": ("1", "4096"), "many": ("16", "65536")}


def curve(folder):
    """Seconds of a random write of 4 KiB by the number in flight."""
    with tempfile.TemporaryDirectory() as state:
        environment = os.environ | {"XDG_STATE_HOME": state}
        subprocess.run([CENOTE, "profile", "--quick", folder], check=True, capture_output=True,
                       env=environment)
        profile = json.loads(next(Path(state).rglob("*.json")).read_text())
    wanted = {"op": "write", "pattern": "random", "bytes": 4096}
    points = next(each["points"] for each in profile["curves"]
                  if all(each[key] == value for key, value in wanted.items()))
    return {point["depth"]: 1 / point["iops"] for point in points}


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def merged(bench, graph, way):
    """One merge of a copy, recorded: its row."""
    copy = bench.path("copy.cenote")
    shutil.copyfile(graph, copy)
    os.sync()
    drop_caches()
    program = ROOT / "target/release/examples/merge_bench"
    before = processor_seconds()
    done = subprocess.run([program, copy, *WAYS[way]], check=True, capture_output=True, text=True)
    seconds, written, read = re.findall(r"[\d.]+", done.stdout)
    os.remove(copy)
    row = {"way": way, "seconds": float(seconds), "cpu_seconds": processor_seconds() - before,
           "pages_written": int(written), "pages_read": int(read)}
    bench.record("merge batches", **row)
    return row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--share", type=int, default=5)
    parser.add_argument("--commits", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir", default="/var/tmp/cenote-merge-batches")
    parser.add_argument("--rows", help="file of raw rows [default: runs/DATE-merge.jsonl]")
    options = parser.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "cenote-store",
                    "--example", "merge_bench"], cwd=ROOT, check=True)
    bench = Bench(options, "-merge")
    graph, _ = graphs(bench, options.share, options.commits)
    seconds = curve(options.dir)
    bench.record("merge batches", way="write of 4 KiB", seconds_by_depth=seconds)
    rows = {way: [] for way in WAYS}
    for _ in range(options.repeats):
        for way in WAYS:
            rows[way].append(merged(bench, graph, way))
    single, many = (statistics.median(row["seconds"] for row in rows[way]) for way in WAYS)
    written = rows["many"][0]["pages_written"]
    predicted = single - written * (seconds[1] - seconds[16])
    print(f"{written:,} pages written, {rows['many'][0]['pages_read']:,} read")
    print(f"one at a time {single:.3f} s, many {many:.3f} s: {single / many:.2f} times as fast")
    print(f"predicted {predicted:.3f} s, {single / predicted:.2f} times: "
          f"{predicted / many:.2f} of what is predicted (goal: 0.85)")


if __name__ == "__main__":
    main()
