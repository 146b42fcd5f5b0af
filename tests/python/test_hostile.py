"""Damage, interruption and hard limits: an error that names the place, or the right answer."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import Cenote, in_turn

ALGORITHMS = ["bfs", "wcc", "pagerank"]


@pytest.fixture
def graph(cenote):
    """A small graph with ids of its own, so that the file has sections of every kind."""
    pairs = np.random.default_rng(3).integers(0, 700, (4000, 2)) * 5 + 2
    pairs.astype("<u4").tofile(cenote.folder / "edges.u32")
    cenote("import", "edges.u32", "--directed", "--in-edges", "--out", "graph.cenote")
    return cenote.folder / "graph.cenote"


def sections(cenote):
    return cenote.json("info", "graph.cenote")["sections"]


def test_a_flipped_bit_in_any_page_is_an_error_that_names_it(cenote, graph):
    whole = graph.read_bytes()
    pages = len(whole) // 4096
    rng = np.random.default_rng(11)
    for page in range(pages):
        for at in [0, 8, 40, int(rng.integers(48, 4096)), 4095]:
            damaged = bytearray(whole)
            damaged[page * 4096 + at] ^= 1 << int(rng.integers(8))
            graph.write_bytes(damaged)
            checked = subprocess.run(
                [cenote.path, "check", graph], capture_output=True, text=True
            )
            assert checked.returncode in (1, 2), (page, at)
            # A superblock that is no superblock any more is not a page of anything.
            assert f"page {page}" in checked.stdout + checked.stderr or page == 0
    graph.write_bytes(whole)
    cenote("check", "graph.cenote")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("strategy", ["auto", "block", "vertex"])
def test_a_run_over_a_damaged_page_fails_and_leaves_no_result(cenote, graph, algorithm, strategy):
    adjacency = [s for s in sections(cenote) if "adjacency" in s["name"] or "list" in s["name"]]
    assert adjacency, sections(cenote)
    damaged = bytearray(graph.read_bytes())
    for section in adjacency:
        for page in range(section["first_page"], section["first_page"] + section["pages"]):
            damaged[page * 4096 + 100] ^= 4
    graph.write_bytes(damaged)
    error = cenote.error(
        "run", algorithm, "graph.cenote", "--strategy", strategy, "--out", "out.csv"
    )
    assert "page" in error and "graph.cenote" in error
    assert not (cenote.folder / "out.csv").exists()


@pytest.fixture
def weighted(cenote):
    """A small graph whose weights lie on several pages, and one hub's run over two."""
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 700, (4000, 2))
    pairs[:1500] = np.stack([np.full(1500, 7), np.arange(1500)], axis=1)
    with open(cenote.folder / "edges.csv", "w") as file:
        file.write("source,target,weight\n")
        for (a, b), weight in zip(pairs, rng.integers(1, 1000, len(pairs))):
            file.write(f"{a},{b},{weight / 8}\n")
    cenote("import", "edges.csv", "--weights", "f32", "--out", "graph.cenote")
    return cenote.folder / "graph.cenote"


WEIGHTED_RUNS = [
    ["sssp", "--source", "7"],
    ["walk", "--weighted", "--per-vertex", "3"],
    ["walk", "--weighted", "--p", "0.5", "--q", "2", "--starts", "random", "--walkers", "900"],
]


def weight_pages(cenote):
    """Numbers of the pages of weights."""
    found = [s for s in sections(cenote) if "weight" in s["name"]]
    assert found, sections(cenote)
    pages = [s["first_page"] + i for s in found for i in range(s["pages"])]
    assert len(pages) > 5
    return pages


@pytest.mark.parametrize("strategy", ["auto", "block", "vertex"])
@pytest.mark.parametrize("run", WEIGHTED_RUNS, ids=lambda run: " ".join(run[:2]))
def test_a_run_over_damaged_weights_fails_and_leaves_no_result(cenote, weighted, run, strategy):
    whole = weighted.read_bytes()
    rng = np.random.default_rng(13)
    ask = ["run", run[0], "graph.cenote", *run[1:], "--strategy", strategy, "--out", "out.txt"]
    if run[0] == "sssp":
        ask[-1] = "out.csv"
    cenote(*ask)
    right = (cenote.folder / ask[-1]).read_bytes()
    (cenote.folder / ask[-1]).unlink()
    for page in weight_pages(cenote):
        damaged = bytearray(whole)
        at = [0, 8, 24, int(rng.integers(48, 3000))][page % 4]
        damaged[page * 4096 + at] ^= 1 << int(rng.integers(8))
        weighted.write_bytes(damaged)
        error = cenote.error(*ask)
        assert f"page {page}" in error and "graph.cenote" in error, error
        assert not (cenote.folder / ask[-1]).exists()
        checked = subprocess.run([cenote.path, "check", weighted], capture_output=True, text=True)
        assert checked.returncode in (1, 2)
        assert f"page {page}" in checked.stdout + checked.stderr
    # Who needs no weights reads none of them.
    cenote("run", "wcc", "graph.cenote")
    weighted.write_bytes(whole)
    cenote(*ask)
    assert (cenote.folder / ask[-1]).read_bytes() == right


def test_weights_that_are_swapped_cut_off_or_missing_are_told(cenote, weighted):
    whole = weighted.read_bytes()
    pages = weight_pages(cenote)
    first, second = (slice(page * 4096, (page + 1) * 4096) for page in pages[:2])
    swapped = bytearray(whole)
    swapped[first], swapped[second] = whole[second], whole[first]
    zeroed = bytearray(whole)
    zeroed[first] = bytes(4096)
    cut = whole[: pages[2] * 4096]
    for damaged, words in [(swapped, "page"), (zeroed, "page"), (cut, "truncated")]:
        weighted.write_bytes(damaged)
        for run in WEIGHTED_RUNS:
            error = cenote.error("run", run[0], "graph.cenote", *run[1:], "--out", "out.txt"
                                 if run[0] == "walk" else "out.csv")
            assert words in error, error
        checked = subprocess.run([cenote.path, "check", weighted], capture_output=True, text=True)
        assert checked.returncode in (1, 2)


def test_truncated_newer_and_foreign_files_are_told_apart(cenote, graph):
    whole = graph.read_bytes()
    for name, contents, words in [
        ("empty", b"", "empty"),
        ("short", whole[:-4096], "truncated"),
        ("odd", whole[:-1], "truncated"),
        ("text", b"hello\n" * 2000, "not a"),
        ("elf", Path("/bin/true").read_bytes(), "not a"),
    ]:
        (cenote.folder / name).write_bytes(contents)
        for verb in [["info"], ["run", "wcc"]]:
            assert words in cenote.error(*verb, name).lower(), name


@pytest.mark.parametrize("after", [0.02, 0.1, pytest.param(0.3, marks=pytest.mark.long), 0.6])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_interrupted_runs_end_within_a_second_and_leave_nothing(cenote, kron, algorithm, after):
    kron(20)  # Large enough that most runs are not at their end when the signal comes.
    before = sorted(path.name for path in cenote.folder.iterdir())
    flags = ["--iterations", "500"] if algorithm == "pagerank" else []
    process = subprocess.Popen(
        [cenote.path, "run", algorithm, "graph.cenote", "--memory", "48MiB", "--strategy", "block",
         "--out", "out.csv", *flags],
        cwd=cenote.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    _, stderr = process.communicate(timeout=10)
    if process.returncode == 0:
        assert algorithm != "pagerank", "500 iterations are not done in a moment"
        return
    # Before the handler is set, the signal itself ends the process.
    assert process.returncode in (130, -signal.SIGINT), stderr
    assert time.monotonic() - started < 1.5
    assert sorted(path.name for path in cenote.folder.iterdir()) == before


def control_group(limit):
    """A memory control group with a hard limit; the test is skipped where none can be made."""
    for root, knob in [
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ]:
        group = Path(root) / f"cenote-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / knob).write_text(str(limit))
            return group
        except OSError:
            if group.is_dir():
                group.rmdir()
    pytest.skip("no memory control group can be made here")


@pytest.mark.parametrize("algorithm, strategy", in_turn(ALGORITHMS, ["auto", "block", "vertex"]))
def test_runs_pass_under_a_hard_limit(cenote, kron, algorithm, strategy):
    kron(18)
    info = cenote.json("info", "graph.cenote")
    budget = max(info["page_bytes"] // 10, 24 * info["vertices"] + (32 << 20))
    group = control_group(budget + (64 << 20))
    try:
        done = subprocess.run(
            [cenote.path, "run", algorithm, "graph.cenote", "--memory", str(budget),
             "--strategy", strategy, "--json"],
            cwd=cenote.folder, capture_output=True,
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["peak_rss_bytes"] <= budget + (32 << 20)
    finally:
        group.rmdir()


def test_where_io_uring_is_refused_threads_do_it_and_say_so(cenote, graph, monkeypatch):
    monkeypatch.setenv("CENOTE_IO_URING", "off")
    done = subprocess.run(
        [cenote.path, "run", "wcc", "graph.cenote", "--json"], cwd=cenote.folder,
        capture_output=True, text=True,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["backend"] == "threads"
    assert "io_uring" in done.stderr and "warning" in done.stderr
