"""Calls that are ended by Ctrl-C or by their progress, and what they leave."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cenote

PACKAGE = Path(__file__).resolve().parents[1]
RING = 1_600_000
# Changes whose commit takes longer than it takes to hear of an interrupt.
LARGE = 1_500_000
# States of a graph of that many vertices, to check which takes seconds.
SNAPSHOTS = 30

INTERRUPTED = """
import json, os, signal, threading, time
import cenote
def interrupt():
    time.sleep(0.6)
    interrupt.at = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    {action}
except KeyboardInterrupt:
    print(json.dumps([time.monotonic() - interrupt.at, sorted(os.listdir())]))
"""


@pytest.mark.parametrize(
    "action",
    [
        "cenote.open('g.cenote').pagerank(iterations=10**9)",
        "cenote.import_graph(((i % 997, i % 1009) for i in iter(int, 1)), 'h.cenote')",
        "cenote.components((i % 997, i % 1009) for i in iter(int, 1))",
        "cenote.open('g.cenote').walk(walkers=10**6, steps=10**4, memory='64MiB', out='w.txt')",
        "cenote.open('g.cenote').sample_neighbors(range(1009), fanouts=[1 << 20], replace=True, "
        "memory='2TiB')",
        "cenote.pool_replay('ms', device='sim:p4510', ops=10**9)",
        "cenote.tier_replay('zipf', ops=10**9)",
        "cenote.profile('.', quick=True, scratch=16 << 20)",
    ],
    ids=["run", "import", "components", "walks", "sample", "pool_replay", "tier_replay", "profile"],
)
def test_ctrl_c_ends_a_call_within_a_second(action, folder, tmp_path_factory):
    cenote.import_graph([(v, v * v % 1009) for v in range(1009)], "g.cenote")
    state = tmp_path_factory.mktemp("state")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(INTERRUPTED).format(action=action)],
        capture_output=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(PACKAGE), "XDG_STATE_HOME": str(state)},
    )
    assert done.returncode == 0, done.stderr.decode()
    seconds, files = json.loads(done.stdout)
    assert seconds < 1 and files == ["g.cenote"]
    assert cenote.check("g.cenote")
    assert not list(state.rglob("*.json")), "the profile of a drive that was not measured"


class Interrupting:
    """Progress that is interrupted as by Ctrl-C when it first hears of a phase."""

    def __init__(self, phase):
        self.phase = phase
        self.at = None

    def __call__(self, progress):
        if self.at is None and self.phase in progress.phase:
            self.at = time.monotonic()
            signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def imported_ring(tmp_path_factory):
    """A graph that takes a fraction of a second to rewrite, and its edges."""
    vertices = np.arange(RING, dtype=np.uint64)
    pairs = np.concatenate([np.stack([vertices, (vertices + k) % RING], 1) for k in (1, 7, 31)])
    path = tmp_path_factory.mktemp("ring") / "ring.cenote"
    cenote.import_graph(pairs, path)
    return path, pairs


@pytest.fixture
def ring(folder, imported_ring):
    """A copy of it."""
    path, pairs = imported_ring
    shutil.copy(path, folder)
    return folder / path.name, pairs


def edges_of(path):
    with cenote.open(path) as graph:
        table = graph.edges().to_arrow()
    return sorted_edges(np.stack([table["source"].to_numpy(), table["target"].to_numpy()], 1))


def sorted_edges(pairs):
    """Each undirected edge once, ascending, as one number: the larger end in the lower half."""
    low, high = pairs.min(axis=1).astype(np.uint64), pairs.max(axis=1).astype(np.uint64)
    edges = np.sort(low << np.uint64(32) | high)
    # `np.unique` takes fifty times as long.
    return edges[np.diff(edges, prepend=edges[-1]) != 0]


def random_pairs(count, seed):
    pairs = np.random.default_rng(seed).integers(0, RING, (count, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def test_an_interrupted_merge_keeps_what_was_acknowledged(ring):
    path, pairs = ring
    more = random_pairs(60_000, seed=1)
    update = cenote.update(path)
    update.add_all(more.tolist())
    assert update.commit()["added"] > 50_000
    update.close()
    expected = sorted_edges(np.concatenate([pairs, more]))
    with cenote.open(path) as graph:
        changes = graph.info()["delta_changes"]
        for call in (graph.merge, graph.snapshot):
            heard = Interrupting("merging")
            with pytest.raises(KeyboardInterrupt):
                call(progress=heard)
            assert time.monotonic() - heard.at < 1
    with cenote.open(path) as graph:
        assert graph.info()["delta_changes"] == changes > 0, "it was not ended"
        assert graph.snapshots() == []
    assert cenote.check(path)
    assert np.array_equal(edges_of(path), expected)
    with cenote.open(path) as graph:
        assert graph.merge()["pages_written"] > 0
    assert cenote.check(path)
    assert np.array_equal(edges_of(path), expected)


@pytest.mark.parametrize(
    "milliseconds", [1, 60, *(pytest.param(ms, marks=pytest.mark.long) for ms in [30, 120, 200])]
)
def test_an_interrupted_commit_is_made_or_not(ring, milliseconds):
    path, pairs = ring
    more = random_pairs(60_000, seed=milliseconds)
    update = cenote.update(path)
    update.add_all(more.tolist())
    count = len(update)
    timer = threading.Timer(milliseconds / 1000, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        update.commit()
        timer.join()
    assert time.monotonic() - began < 1 + milliseconds / 1000
    waiting = len(update)
    assert waiting in (0, count)
    update.close()
    expected = pairs if waiting else np.concatenate([pairs, more])
    assert cenote.check(path)
    assert np.array_equal(edges_of(path), sorted_edges(expected))


def test_the_changes_of_an_interrupted_commit_can_be_committed_again(ring):
    path, pairs = ring
    more = random_pairs(LARGE, seed=3)
    heard = Interrupting("committing")
    with cenote.update(path, progress=heard) as update:
        update.add_all((more[:, 0].copy(), more[:, 1].copy()))
        with pytest.raises(KeyboardInterrupt):
            update.commit()
        assert len(update) == len(more), "it was not ended"
        assert update.commit()["added"] > LARGE * 0.9
    assert np.array_equal(edges_of(path), sorted_edges(np.concatenate([pairs, more])))


def test_an_interrupt_at_the_end_of_a_with_statement_drops_the_changes(ring):
    path, pairs = ring
    more = random_pairs(LARGE, seed=4)
    with (
        pytest.raises(KeyboardInterrupt),
        cenote.update(path, progress=Interrupting("committing")) as update,
    ):
        update.add_all((more[:, 0].copy(), more[:, 1].copy()))
    assert update.report == {}
    assert np.array_equal(edges_of(path), sorted_edges(pairs))
    with cenote.update(path):
        pass


@pytest.mark.parametrize("phase", ["finding", "reading", "writing"])
def test_an_interrupted_subgraph_leaves_no_file(ring, phase):
    path, _ = ring
    near = list(range(0, RING, 500))
    before = os.listdir()
    with cenote.open(path) as graph:
        for out in ("part.cenote", "part.tsv"):
            heard = Interrupting(phase)
            with pytest.raises(KeyboardInterrupt):
                graph.subgraph(near, hops=6, out=out, progress=heard)
            assert time.monotonic() - heard.at < 1
            # The last phase may be at its end when it is heard of: then the file is whole.
            if phase == "writing" and Path(out).exists():
                assert not out.endswith(".cenote") or cenote.check(out)
                Path(out).unlink()
    assert os.listdir() == before


def test_an_interrupted_check_ends(ring):
    path, _ = ring
    with cenote.open(path) as graph:
        # Each is checked as a whole: seconds in all.
        for name in range(SNAPSHOTS):
            graph.snapshot(str(name))
    heard = Interrupting("checking")
    with pytest.raises(KeyboardInterrupt):
        cenote.check(path, progress=heard)
    assert time.monotonic() - heard.at < 1


def test_an_interrupted_compaction_leaves_the_graph(ring):
    path, _ = ring
    with cenote.update(path) as update:
        update.add_all([(v, v + 2) for v in range(0, 3000, 3)])
    before, files = path.read_bytes(), os.listdir()
    for phase in ("reading", "writing"):
        heard = Interrupting(phase)
        with pytest.raises(KeyboardInterrupt):
            cenote.compact(path, progress=heard)
        assert time.monotonic() - heard.at < 1
        assert os.listdir() == files and cenote.check(path)
        # The last phase may be at its end when it is heard of: then the new file is there.
        assert phase == "writing" or path.read_bytes() == before


def test_differences_report_their_progress(ring):
    path, _ = ring
    with cenote.open(path) as graph:
        graph.snapshot("before")
    with cenote.update(path) as update:
        update.add_all(random_pairs(60_000, seed=5).tolist())
    heard = []
    with cenote.open(path) as now, cenote.open(path, at="before") as before:
        now.diff(before, progress=heard.append)
    assert heard and {progress.phase for progress in heard} == {"comparing pages"}


def test_a_measurement_of_a_drive_that_is_stopped_leaves_nothing(folder, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))

    def stop(progress):
        raise RuntimeError(f"enough of {progress.phase}")

    with pytest.raises(RuntimeError, match="enough of measuring"):
        cenote.profile(folder, quick=True, scratch=16 << 20, progress=stop)
    assert not list((folder / "state").rglob("*.json"))
    assert os.listdir() == ["state"]
    with pytest.raises(FileNotFoundError):
        cenote.profile("absent", quick=True)
