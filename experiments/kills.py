"""Kills `cenote update`, `merge` and `compact` at random moments, and checks what is left.

    kills.py [--kills 500] [--seed 1] [--edges 200000] [--dir DIR]

A graph is changed, merged and compacted over and over; each command is killed after a random time,
up to a little more than it takes. After each kill `cenote check` must find nothing, and the edges
must be those before the command or those after it: of a series of batches, those after any of its
batches. Prints how many kills hit which command, and which edges they left (merging and compacting
leave the same); exits with an error at the first graph that is neither. A compaction at the end
must leave no file but the graph.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CENOTE = os.environ.get(
    "CENOTE", str(Path(__file__).resolve().parents[1] / "target/release/cenote")
)
OPERATIONS = ["add few", "add many", "delete", "lines", "merge", "compact"]
VERTICES = 50_000


class States:
    """The edges before a command and after it, and after each of its lines if it makes batches."""

    def __init__(self, before, new=None, gone=None, by_line=False):
        self.before, self.by_line = before, by_line
        self.new = np.array([], dtype=np.uint64) if new is None else new
        self.gone = np.array([], dtype=np.uint64) if gone is None else gone

    def __len__(self):
        return len(self.new) + 1 if self.by_line else 2

    def size(self, number):
        new = number if self.by_line else number * len(self.new)
        return len(self.before) + new - number * len(self.gone)

    def edges(self, number):
        if number == 0:
            return np.sort(self.before)
        new = self.new[:number] if self.by_line else self.new
        return np.sort(np.concatenate([np.setdiff1d(self.before, self.gone), new]))

    def differ(self):
        return len(self.new) + len(self.gone) > 0


class Graph:
    def __init__(self, folder, edges, numbers):
        self.folder, self.numbers = Path(folder), numbers
        self.path = str(self.folder / "g.cenote")
        self.changes = self.folder / "changes.txt"
        self.edges = self.new_edges(edges, np.array([], dtype=np.uint64))
        self.write(self.edges)
        self.run("import", str(self.changes), "--out", self.path)

    def new_edges(self, count, present):
        """So many random edges that are not there, each as one number, in random order."""
        pairs = self.numbers.integers(0, VERTICES, size=(3 * count, 2), dtype=np.uint64)
        pairs.sort(axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        keys = np.setdiff1d(
            np.unique(pairs[:, 0] << np.uint64(32) | pairs[:, 1]), present
        )
        return self.numbers.permutation(keys)[:count]

    def write(self, keys, prefix=""):
        lines = (f"{prefix}{key >> 32} {key & 0xFFFFFFFF}\n" for key in keys.tolist())
        self.changes.write_text("".join(lines))

    def run(self, *arguments):
        command = [CENOTE, *arguments, "--quiet"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(
                f"`cenote {' '.join(arguments)}` ended with {done.returncode}: {done.stderr}"
            )
        return done.stdout

    def found(self):
        ids = np.fromstring(
            self.run("export", self.path), dtype=np.uint64, sep=" "
        ).reshape(-1, 2)
        ids.sort(axis=1)
        return np.sort(ids[:, 0] << np.uint64(32) | ids[:, 1])

    def begin(self, operation):
        """The command, what it reads, and the states that it may leave, one after the other."""
        change = ["update", self.path, "--memory", "64MiB"]
        if operation in ("merge", "compact"):
            return [operation, self.path], None, States(self.edges)
        if operation == "delete":
            gone = self.numbers.permutation(self.edges)[
                : self.numbers.integers(1, 60_000)
            ]
            self.write(gone)
            states = States(self.edges, gone=gone)
            return [*change, "--delete", str(self.changes)], None, states
        many = (
            self.numbers.integers(17_000, 40_000) if operation == "add many" else 4_000
        )
        new = self.new_edges(many, self.edges)
        if operation == "lines":
            self.write(new, "+ ")
            durability = random.choice(["sync", "group", "none"])
            change += ["--stdin", "--durability", durability]
            return change, self.changes, States(self.edges, new, by_line=True)
        self.write(new)
        return [*change, "--add", str(self.changes)], None, States(self.edges, new)

    def settle(self, states):
        """Takes the graph as it is found: in which of these states."""
        self.run("check", self.path)
        found = self.found()
        for number in range(len(states)):
            if states.size(number) == len(found) and np.array_equal(
                states.edges(number), found
            ):
                self.edges = found
                return number
        sys.exit(
            f"{len(found)} edges are none of the {len(states)} states: {self.path} is kept"
        )

    def start(self, arguments, lines):
        with open(lines or os.devnull) as source:
            command = [CENOTE, *arguments, "--quiet"]
            quiet = subprocess.DEVNULL
            return subprocess.Popen(command, stdin=source, stdout=quiet, stderr=quiet)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--dir")
    options = parser.parse_args()
    random.seed(options.seed)
    # A folder of our own stays where something was wrong.
    folder = options.dir or tempfile.mkdtemp(prefix="cenote-kills-")
    Path(folder).mkdir(parents=True, exist_ok=True)
    graph = Graph(folder, options.edges, np.random.default_rng(options.seed))
    seconds = dict.fromkeys(OPERATIONS, 0.2)
    killed, outcomes = 0, collections.Counter()
    while killed < options.kills:
        # Large enough again after deletions, and not ever larger.
        operation = random.choice(OPERATIONS)
        if operation.startswith("add") and len(graph.edges) > 2 * options.edges:
            operation = "delete"
        arguments, lines, states = graph.begin(operation)
        started = time.monotonic()
        child = graph.start(arguments, lines)
        try:
            code = child.wait(
                seconds[operation]
                * random.uniform(*random.choice([(0, 1.2), (0.7, 1.1)]))
            )
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        if code == 0:
            seconds[operation] = (seconds[operation] + time.monotonic() - started) / 2
        elif code > 0:
            sys.exit(f"`cenote {' '.join(arguments)}` ended with {code}")
        number = graph.settle(states)
        last = len(states) - 1
        if code == 0:
            if states.differ() and number != last:
                sys.exit(f"`cenote {' '.join(arguments)}` has not made its changes")
            continue
        killed += 1
        side = {0: "before", last: "after"}.get(number, "within")
        outcomes[operation, side if states.differ() else "same"] += 1
        if killed % 50 == 0:
            print(f"{killed} kills, {len(graph.edges)} edges", flush=True)
    for (operation, side), count in sorted(outcomes.items()):
        print(f"{operation:9} {side:7} {count:4}")
    graph.run("compact", graph.path)
    left = sorted(set(os.listdir(folder)) - {"g.cenote", "changes.txt"})
    if left:
        sys.exit(f"left behind: {left}")
    if not options.dir:
        shutil.rmtree(folder)
    print(f"{killed} kills passed")


main()
