"""Sets, cores, communities and components of `cenote run`, held against NetworkX, igraph, SciPy."""

import itertools

import numpy as np
import pytest

from conftest import data_file
from test_algorithms import GENERATED, Imported

#: algorithm and the flags that the tests run it with
ALGORITHMS = {
    "mis": ["--seed", 3],
}


@pytest.fixture(params=list(itertools.product(GENERATED, [False, True])), ids=str)
def imported(request, cenote):
    """Every kind of graph, undirected and directed, with in-edges."""
    kind, directed = request.param
    cenote("generate", *GENERATED[kind], "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    return Imported(cenote, pairs, directed, *["--in-edges"] * directed)


def neighbours(imported):
    """The symmetric matrix of the undirected view: 1 where there is an edge either way."""
    both = (imported.matrix + imported.matrix.T).tocsr()
    both.data[:] = 1.0
    return both


def test_no_two_members_are_neighbours_and_every_other_vertex_has_one(imported):
    summary, table = imported.run("mis", "--seed", 3, "--verify")
    member = table["member"].to_numpy()
    beside = neighbours(imported) @ member
    np.testing.assert_array_equal(beside == 0, member == 1)
    assert summary["result"]["size"] == member.sum()


@pytest.mark.parametrize("directed", [False, True])
def test_one_answer_for_all_strategies_threads_and_pages(cenote, directed):
    cenote("generate", "kron", "--scale", 12, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    first = {}
    for page_size in ["4KiB", "64KiB"]:
        flags = ["--page-size", page_size, "--overwrite"] + ["--in-edges"] * directed
        Imported(cenote, pairs, directed, *flags)
        for strategy, threads in itertools.product(["auto", "block", "vertex"], [1, 3]):
            for algorithm, flags in ALGORITHMS.items():
                cenote(
                    "run", algorithm, "graph.cenote", *flags, "--out", "out.csv",
                    "--strategy", strategy, "--threads", threads, "--memory", "12MiB",
                )
                answer = (cenote.folder / "out.csv").read_bytes()
                same = first.setdefault(algorithm, answer)
                assert answer == same, (algorithm, strategy, threads, page_size)


@pytest.mark.parametrize(
    "name, flags",
    [
        ("social/gowalla.txt.gz", ["--undirected"]),
        ("social/wiki-Vote.txt.zst", ["--directed", "--in-edges"]),
    ],
)
def test_real_graphs_verify(cenote, name, flags):
    cenote("import", data_file(name), *flags, "--out", "graph.cenote")
    for algorithm, flags in ALGORITHMS.items():
        assert cenote.json("run", algorithm, "graph.cenote", "--verify", *flags)["verified"]


def test_a_run_keeps_to_its_budget_and_its_estimate(cenote):
    cenote("generate", "kron", "--scale", 18, "--out", "made.u32")
    cenote("import", "made.u32", "--out", "graph.cenote")
    info = cenote.json("info", "graph.cenote")
    budget = max(info["page_bytes"] // 10, 24 * info["vertices"] + (32 << 20))
    for algorithm, strategy in itertools.product(ALGORITHMS, ["auto", "block", "vertex"]):
        flags = ["graph.cenote", *ALGORITHMS[algorithm], "--memory", budget, "--strategy", strategy]
        run = cenote.json("run", algorithm, *flags)
        assert run["peak_rss_bytes"] <= budget + (32 << 20), (algorithm, strategy)
        assert sum(run["memory_plan"].values()) <= budget
        estimate = cenote.json("estimate", algorithm, *flags)
        assert estimate["memory"] == run["memory_plan"]


def test_graphs_without_edges_have_answers_too(cenote):
    (cenote.folder / "empty.v").write_text("7\n9\n")
    (cenote.folder / "empty.e").write_text("")
    cenote("import", "empty.v", "empty.e", "--undirected", "--out", "graph.cenote")
    assert cenote.json("run", "mis", "graph.cenote", "--verify")["result"]["size"] == 2
