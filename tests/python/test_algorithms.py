"""Answers of `cenote run`, held against SciPy, NetworkX and igraph."""

import itertools

import igraph
import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph

from conftest import ROOT, data_file, every_other, in_turn

#: name, command line of `cenote generate`
GENERATED = {
    "kron": ["kron", "--scale", 11],
    "uniform": ["uniform", "--vertices", 3000, "--edges", 6000],
    "ba": ["ba", "--vertices", 2000, "--edges-per-vertex", 3],
    "grid": ["grid", "--rows", 40, "--cols", 30],
    "smallworld": ["smallworld", "--vertices", 2000, "--neighbors", 4, "--probability", 0.1],
}


class Imported:
    """A graph in a Cenote file and as a SciPy matrix with the same vertex order."""

    def __init__(self, cenote, pairs, directed, *flags):
        self.cenote, self.directed = cenote, directed
        pairs = np.asarray(pairs, dtype=np.int64)
        pairs.astype("<u4").tofile(cenote.folder / "edges.u32")
        direction = "--directed" if directed else "--undirected"
        cenote("import", "edges.u32", direction, "--out", "graph.cenote", *flags)
        self.ids, dense = np.unique(pairs, return_inverse=True)
        dense = dense.reshape(-1, 2)
        dense = dense[dense[:, 0] != dense[:, 1]]
        n = len(self.ids)
        matrix = sp.coo_array((np.ones(len(dense)), (dense[:, 0], dense[:, 1])), shape=(n, n))
        matrix = sp.csr_array(matrix)
        if not directed:
            matrix = matrix + matrix.T
        matrix.data[:] = 1.0
        self.matrix = matrix

    def run(self, algorithm, *flags):
        """The summary, and the table of answers."""
        summary = self.cenote.json("run", algorithm, "graph.cenote", "--out", "out.parquet", *flags)
        table = pq.read_table(self.cenote.folder / "out.parquet").to_pandas()
        np.testing.assert_array_equal(table["vertex"], self.ids)
        return summary, table


@pytest.fixture(params=list(itertools.product(GENERATED, [False, True])), ids=str)
def imported(request, cenote):
    """Every kind of graph, undirected and directed."""
    kind, directed = request.param
    cenote("generate", *GENERATED[kind], "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    return Imported(cenote, pairs, directed)


def scipy_levels(matrix, source):
    """Levels by SciPy; infinite where unreached."""
    return csgraph.shortest_path(matrix, unweighted=True, indices=source)


def numpy_pagerank(matrix, iterations, damping=0.85):
    """PageRank straight from its definition."""
    n = matrix.shape[0]
    degree = matrix.sum(axis=1)
    ranks = np.full(n, 1 / n)
    for _ in range(iterations):
        share = np.divide(ranks, degree, out=np.zeros(n), where=degree > 0)
        dangling = ranks[degree == 0].sum()
        ranks = (1 - damping + damping * dangling) / n + damping * (matrix.T @ share)
    return ranks


def test_bfs_levels_equal_scipy_and_parents_are_smallest(imported):
    summary, table = imported.run("bfs", "--parents", "--verify")
    source = np.searchsorted(imported.ids, summary["result"]["source"])
    degrees = np.diff(imported.matrix.indptr)
    assert degrees[source] == degrees.max(), "the default source has the largest degree"
    expected = scipy_levels(imported.matrix, source)
    np.testing.assert_array_equal(table["level"].to_numpy(float, na_value=np.inf), expected)
    assert summary["result"]["reached"] == np.isfinite(expected).sum()
    assert summary["result"]["depth"] == expected[np.isfinite(expected)].max()
    backward = imported.matrix.T.tocsr()
    backward.sort_indices()
    for v in np.flatnonzero(np.isfinite(expected)):
        sources = backward.indices[backward.indptr[v] : backward.indptr[v + 1]]
        before = sources[expected[sources] == expected[v] - 1]
        parent = v if v == source else before.min()
        assert table["parent"][v] == imported.ids[parent]


def test_components_equal_scipy(imported):
    summary, table = imported.run("wcc", "--verify")
    count, labels = csgraph.connected_components(imported.matrix, connection="weak")
    assert summary["result"]["components"] == count
    assert summary["result"]["largest"] == np.bincount(labels).max()
    smallest = np.array([imported.ids[labels == label].min() for label in range(count)])
    np.testing.assert_array_equal(table["component"], smallest[labels])


def test_ranks_equal_the_definition_networkx_and_igraph(imported):
    _, table = imported.run("pagerank", "--iterations", 12, "--verify")
    np.testing.assert_allclose(table["rank"], numpy_pagerank(imported.matrix, 12), rtol=1e-9)
    assert abs(table["rank"].sum() - 1) < 1e-12
    summary, table = imported.run("pagerank", "--tolerance", "1e-12")
    assert summary["result"]["converged"]
    kind = nx.DiGraph if imported.directed else nx.Graph
    graph = nx.from_scipy_sparse_array(imported.matrix, create_using=kind)
    expected = nx.pagerank(graph, tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(table["rank"], [expected[v] for v in range(len(table))], rtol=1e-7)
    rows, columns = imported.matrix.nonzero()
    edges = np.column_stack([rows, columns])
    if not imported.directed:
        edges = edges[edges[:, 0] < edges[:, 1]]
    other = igraph.Graph(n=len(table), edges=edges.tolist(), directed=imported.directed)
    np.testing.assert_allclose(table["rank"], other.pagerank(), rtol=1e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_one_answer_for_all_strategies_threads_backends_and_pages(cenote, directed, monkeypatch):
    cenote("generate", "kron", "--scale", 12, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    files, imported = {}, None
    for page_size, in_edges, strategy, threads, backend in every_other(
        ["4KiB", "64KiB"], [False, True] if directed else [False],
        ["auto", "block", "vertex"], [1, 2, 3], ["on", "off"],
    ):
        if imported != (page_size, in_edges):
            imported = (page_size, in_edges)
            flags = ["--page-size", page_size, "--overwrite"] + ["--in-edges"] * in_edges
            Imported(cenote, pairs, directed, *flags)
        monkeypatch.setenv("CENOTE_IO_URING", backend)
        for algorithm in [["bfs", "--parents"], ["wcc"], ["pagerank"]]:
            if algorithm == ["wcc"] and strategy != "auto" and directed and not in_edges:
                continue
            name = f"{algorithm[0]}.csv"
            cenote(
                "run", *algorithm[:1], "graph.cenote", *algorithm[1:], "--out", name,
                "--strategy", strategy, "--threads", threads, "--memory", "8MiB",
            )
            # Pull and push add up in different orders: one answer for each.
            pull = in_edges if algorithm == ["pagerank"] else None
            page = page_size if algorithm == ["pagerank"] else None
            answer = (cenote.folder / name).read_bytes()
            first = files.setdefault((algorithm[0], pull, page), answer)
            assert answer == first, (algorithm, strategy, threads, backend, page_size)


def test_result_files_agree_whatever_the_format(cenote):
    cenote("generate", "uniform", "--vertices", 500, "--edges", 400, "--out", "made.u32")
    cenote("import", "made.u32", "--out", "graph.cenote")
    for ending in ["csv", "npy", "parquet"]:
        cenote("run", "bfs", "graph.cenote", "--parents", "--out", f"out.{ending}")
    array = np.load(cenote.folder / "out.npy")
    table = pq.read_table(cenote.folder / "out.parquet").to_pandas()
    lines = (cenote.folder / "out.csv").read_text().splitlines()
    assert lines[0] == "vertex,level,parent"
    assert len(array) == len(table) == len(lines) - 1
    for row, (vertex, level, parent), line in zip(table.itertuples(), array, lines[1:]):
        assert row.vertex == vertex
        if level == -1:
            assert np.isnan(row.level) and parent == -1 and line == f"{vertex},,"
        else:
            assert (row.level, row.parent) == (level, parent)
            assert line == f"{vertex},{level},{parent}"


def test_debian_is_ranked_as_people_expect(cenote):
    cenote("import", ROOT / "data/debian-depends.tsv.zst", "--directed", "--out", "d.cenote")
    info = cenote.json("info", "d.cenote")
    assert (info["vertices"], info["edges"]) == (64_245, 283_161)
    summary = cenote.json("run", "pagerank", "d.cenote", "--tolerance", "1e-9", "--verify")
    assert summary["result"]["top"][0]["vertex"] == "libc6"
    summary = cenote.json("run", "bfs", "d.cenote", "--source", "bash", "--verify")
    assert summary["result"]["source"] == "bash"
    summary = cenote.json("run", "wcc", "d.cenote", "--out", "wcc.csv", "--verify")
    names = [line.split(",")[0] for line in (cenote.folder / "wcc.csv").read_text().splitlines()]
    assert names[1:] == sorted(names[1:], key=str.encode)


@pytest.mark.parametrize(
    "name, flags",
    [
        ("social/gowalla.txt.gz", ["--undirected"]),
        ("social/wiki-Vote.txt.zst", ["--directed"]),
        ("social/facebook-links.txt.gz", ["--undirected"]),
    ],
)
def test_real_graphs_verify(cenote, name, flags):
    path = data_file(name)
    cenote("import", path, *flags, "--out", "graph.cenote")
    for algorithm in ["bfs", "wcc", "pagerank"]:
        assert cenote.json("run", algorithm, "graph.cenote", "--verify")["verified"]


@pytest.mark.parametrize(
    "algorithm, strategy", in_turn(["bfs", "wcc", "pagerank"], ["auto", "block", "vertex"])
)
def test_a_run_keeps_to_its_budget(cenote, kron, algorithm, strategy):
    kron(18)
    info = cenote.json("info", "graph.cenote")
    budget = max(info["page_bytes"] // 10, 24 * info["vertices"] + (32 << 20))
    flags = ["graph.cenote", "--memory", budget, "--strategy", strategy]
    run = cenote.json("run", algorithm, *flags)
    assert run["memory_budget_bytes"] == budget
    assert run["peak_rss_bytes"] <= budget + (32 << 20)
    plan = run["memory_plan"]
    assert sum(plan.values()) <= budget
    assert cenote.json("estimate", algorithm, *flags)["memory"] == plan


def test_a_budget_too_small_says_what_would_do(cenote, kron):
    kron(14)
    for algorithm in ["bfs", "wcc", "pagerank"]:
        error = cenote.error("run", algorithm, "graph.cenote", "--memory", "64KiB")
        assert "too small" in error and "--memory" in error
        enough = error.rsplit("--memory ", 1)[1].strip()
        cenote("run", algorithm, "graph.cenote", "--memory", enough)


def test_unknown_vertices_and_senseless_parameters_are_one_line_errors(cenote):
    cenote("generate", "grid", "--rows", 5, "--cols", 5, "--out", "made.txt")
    cenote("import", "made.txt", "--out", "graph.cenote")
    for flags, words in [
        (["bfs", "graph.cenote", "--source", "99"], "99"),
        (["bfs", "graph.cenote", "--source", "bash"], "bash"),
        (["pagerank", "graph.cenote", "--damping", "1.5"], "--damping"),
        (["pagerank", "graph.cenote", "--damping", "nan"], "--damping"),
        (["pagerank", "graph.cenote", "--tolerance", "-1"], "--tolerance"),
        (["wcc", "missing.cenote"], "missing.cenote"),
        (["wcc", "graph.cenote", "--out", "x.png"], "x.png"),
        (["wcc", "graph.cenote", "--strategy", "magic"], "magic"),
    ]:
        assert words in cenote.error("run", *flags)
    assert not list(cenote.folder.glob("*.png"))


def test_wcc_of_a_directed_graph_by_the_papers_search_needs_in_edges(cenote):
    cenote("generate", "ba", "--vertices", 100, "--edges-per-vertex", 2, "--out", "made.txt")
    cenote("import", "made.txt", "--directed", "--out", "graph.cenote")
    assert "--in-edges" in cenote.error("run", "wcc", "graph.cenote", "--strategy", "block")


def test_an_empty_graph_has_answers_too(cenote):
    (cenote.folder / "empty.v").write_text("7\n9\n")
    (cenote.folder / "empty.e").write_text("")
    cenote("import", "empty.v", "empty.e", "--undirected", "--out", "graph.cenote")
    assert cenote.json("run", "wcc", "graph.cenote", "--verify")["result"]["components"] == 2
    assert cenote.json("run", "bfs", "graph.cenote", "--verify")["result"]["reached"] == 1
    top = cenote.json("run", "pagerank", "graph.cenote", "--verify")["result"]["top"]
    assert [(entry["vertex"], entry["rank"]) for entry in top] == [(7, 0.5), (9, 0.5)]
