"""Triangles, clustering and betweenness of `cenote run`, held against NetworkX and igraph."""

import itertools

import igraph
import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

from conftest import data_file

#: name, command line of `cenote generate`
GENERATED = {
    "kron": ["kron", "--scale", 10],
    "uniform": ["uniform", "--vertices", 1000, "--edges", 6000],
    "ba": ["ba", "--vertices", 1000, "--edges-per-vertex", 4],
    "grid": ["grid", "--rows", 30, "--cols", 20],
    "smallworld": ["smallworld", "--vertices", 1000, "--neighbors", 6, "--probability", 0.1],
}


class Both:
    """A graph in a Cenote file and in NetworkX, by the user's ids."""

    def __init__(self, cenote, pairs, directed, *flags):
        self.cenote, self.directed = cenote, directed
        pairs = np.asarray(pairs, dtype=np.int64)
        pairs.astype("<u4").tofile(cenote.folder / "edges.u32")
        kind = ["--directed", "--in-edges"] if directed else ["--undirected"]
        cenote("import", "edges.u32", *kind, *flags, "--out", "graph.cenote")
        self.graph = nx.DiGraph() if directed else nx.Graph()
        self.graph.add_nodes_from(np.unique(pairs).tolist())
        self.graph.add_edges_from((a, b) for a, b in pairs.tolist() if a != b)

    def run(self, algorithm, *flags):
        """The summary, and the column of answers by id."""
        summary = self.cenote.json("run", algorithm, "graph.cenote", "--out", "out.parquet", *flags)
        table = pq.read_table(self.cenote.folder / "out.parquet").to_pandas()
        return summary, dict(zip(table["vertex"].tolist(), table.iloc[:, 1].tolist()))


@pytest.fixture(params=list(itertools.product(GENERATED, [False, True])), ids=str)
def both(request, cenote):
    """Every kind of graph, undirected and directed."""
    kind, directed = request.param
    cenote("generate", *GENERATED[kind], "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    return Both(cenote, pairs, directed)


def graphalytics_lcc(graph):
    """The definition of the LDBC Graphalytics specification."""
    directed = graph.to_directed()
    coefficients = {}
    for v in directed:
        beside = (set(directed.successors(v)) | set(directed.predecessors(v))) - {v}
        edges = sum(len(beside & set(directed.successors(w))) for w in beside)
        pairs = len(beside) * (len(beside) - 1)
        coefficients[v] = edges / pairs if pairs else 0.0
    return coefficients


def test_triangles_equal_networkx_and_igraph(both):
    summary, found = both.run("triangles", "--verify")
    plain = both.graph.to_undirected()
    assert found == nx.triangles(plain)
    assert summary["result"]["triangles"] == sum(found.values()) // 3
    other = igraph.Graph.from_networkx(plain)
    assert len(other.list_triangles()) == summary["result"]["triangles"]
    assert summary["result"]["transitivity"] == pytest.approx(nx.transitivity(plain), abs=1e-12)


def test_clustering_equals_the_definition_and_networkx(both):
    summary, found = both.run("lcc", "--verify")
    assert found == graphalytics_lcc(both.graph)
    if not both.directed:
        assert found == pytest.approx(nx.clustering(both.graph), abs=1e-12)
    assert summary["result"]["mean"] == pytest.approx(sum(found.values()) / len(found))


@pytest.mark.parametrize("directed", [False, True])
def test_one_answer_for_all_strategies_threads_and_pages(cenote, directed):
    cenote("generate", "kron", "--scale", 11, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    answers = {}
    for page_size in ["4KiB", "64KiB"]:
        made = Both(cenote, pairs, directed, "--page-size", page_size, "--overwrite")
        for strategy, threads in itertools.product(["auto", "block", "vertex"], [1, 3]):
            for algorithm in [["triangles"], ["lcc"], ["betweenness", "--samples", 9]]:
                flags = ["--strategy", strategy, "--threads", threads, "--memory", "32MiB"]
                summary, found = made.run(*algorithm, *flags)
                answer = (summary["result"], found)
                answer[0].pop("chunks", None)
                answer[0].pop("batch", None)
                assert answers.setdefault(algorithm[0], answer) == answer


def networkx_sum(graph, sources):
    """The sum over the sources: NetworkX halves it on an undirected graph."""
    targets = list(graph)
    found = nx.betweenness_centrality_subset(graph, list(sources), targets, normalized=False)
    return {v: value * (1 if graph.is_directed() else 2) for v, value in found.items()}


def test_betweenness_from_sources_equals_networkx(both):
    ids = sorted(both.graph)
    sources = ids[:: len(ids) // 9]
    (both.cenote.folder / "sources.txt").write_text("\n".join(map(str, sources)))
    summary, found = both.run("betweenness", "--sources", "sources.txt", "--verify")
    assert summary["result"]["sources"] == len(set(sources))
    assert found == pytest.approx(networkx_sum(both.graph, sources), rel=1e-9, abs=1e-9)
    best = max(found.items(), key=lambda item: item[1])
    assert summary["result"]["top"][0]["betweenness"] == best[1]


@pytest.mark.parametrize("directed", [False, True])
def test_betweenness_from_all_equals_networkx_and_igraph_at_every_scale(cenote, directed):
    cenote("generate", "ba", "--vertices", 120, "--edges-per-vertex", 2, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    made = Both(cenote, pairs, directed)
    ids = sorted(made.graph)
    (cenote.folder / "sources.txt").write_text("\n".join(map(str, ids)))
    scales = {}
    for scale in ["sum", "full", "normalized"]:
        _, scales[scale] = made.run("betweenness", "--sources", "sources.txt", "--scale", scale)
    close = {"rel": 1e-9, "abs": 1e-9}
    for scale, normalized in [("full", False), ("normalized", True)]:
        expected = nx.betweenness_centrality(made.graph, normalized=normalized)
        assert scales[scale] == pytest.approx(expected, **close)
    other = igraph.Graph.from_networkx(made.graph)
    expected = dict(zip(other.vs["_nx_name"], other.betweenness()))
    assert scales["full"] == pytest.approx(expected, **close)
    assert scales["sum"] == pytest.approx(networkx_sum(made.graph, ids), **close)


def test_samples_are_scaled_as_networkx_scales_its_own(cenote):
    cenote("generate", "ba", "--vertices", 150, "--edges-per-vertex", 2, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    made = Both(cenote, pairs, False)
    n, k = len(made.graph), 11
    flags = ["--samples", k, "--seed", 5]
    _, sums = made.run("betweenness", *flags)
    _, normalized = made.run("betweenness", *flags, "--scale", "normalized")
    shares = {v: sums[v] / normalized[v] for v in sums if sums[v] > 0}
    assert set(np.round(list(shares.values()), 6)) <= {k * (n - 2), (k - 1) * (n - 2)}
    _, again = made.run("betweenness", *flags, "--threads", 1)
    assert again == sums
    assert "--samples" in cenote.error("run", "betweenness", "graph.cenote", "--samples", n + 1)


def test_bytes_per_source_fall_with_the_batch(cenote, kron):
    kron(16)
    runs = {}
    for lanes, budget in [(1, 2500 << 10), (8, 32 << 20)]:
        flags = ["graph.cenote", "--samples", 8, "--memory", budget, "--cache", 1]
        runs[lanes] = cenote.json("run", "betweenness", *flags)
        assert runs[lanes]["peak_rss_bytes"] <= budget + (32 << 20)
    assert runs[1]["result"]["top"] == runs[8]["result"]["top"]
    assert runs[1]["result"]["batch"] < runs[8]["result"]["batch"]
    assert runs[8]["bytes_read"] < runs[1]["bytes_read"] / 2


def test_a_directed_graph_without_in_edges_is_refused(cenote):
    (cenote.folder / "edges.txt").write_text("1 2\n2 3\n3 1\n")
    cenote("import", "edges.txt", "--directed", "--out", "graph.cenote")
    for algorithm in ["triangles", "lcc", "betweenness"]:
        assert "--in-edges" in cenote.error("run", algorithm, "graph.cenote")


def test_a_graph_without_edges_has_no_triangle(cenote):
    (cenote.folder / "edges.txt").write_text("1 1\n2 2\n")
    cenote("import", "edges.txt", "--undirected", "--out", "graph.cenote")
    assert cenote.json("run", "triangles", "graph.cenote", "--verify")["result"]["triangles"] == 0
    assert cenote.json("run", "lcc", "graph.cenote", "--verify")["result"]["mean"] == 0


def test_counts_keep_to_their_budget_and_the_estimate_tells_it(cenote):
    cenote("generate", "kron", "--scale", 17, "--out", "made.u32")
    cenote("import", "made.u32", "--out", "graph.cenote")
    info = cenote.json("info", "graph.cenote")
    least = max(info["page_bytes"] // 10, 24 * info["vertices"] + (32 << 20))
    budgets = [info["page_bytes"], least]
    for algorithm, budget in itertools.product(["triangles", "lcc"], budgets):
        flags = ["graph.cenote", "--memory", budget]
        run = cenote.json("run", algorithm, *flags)
        assert run["peak_rss_bytes"] <= budget + (32 << 20), (algorithm, budget)
        estimate = cenote.json("estimate", algorithm, *flags)
        assert estimate["memory_bytes"] <= budget + (32 << 20)
        assert abs(estimate["bytes_read"] / run["bytes_read"] - 1) < 0.2, (algorithm, budget)


def test_triangles_of_a_real_graph_are_those_of_its_description(cenote):
    path = data_file("social/facebook-links.txt.gz")
    cenote("import", path, "--undirected", "--out", "graph.cenote")
    for algorithm in ["triangles", "lcc"]:
        assert cenote.json("run", algorithm, "graph.cenote", "--verify")["verified"]
