"""Sets, cores, communities and components of `cenote run`, held against NetworkX, igraph, SciPy."""

import itertools

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse.csgraph as csgraph

from conftest import data_file, in_turn
from test_algorithms import GENERATED, Imported

#: algorithm and the flags that the tests run it with
ALGORITHMS = {
    "cdlp": ["--iterations", 6],
    "kcore": [],
    "mis": ["--seed", 3],
    "scc": [],
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


def both_ways(imported):
    """The matrix whose rows are neighbours in both directions, each once for each edge."""
    if not imported.directed:
        return imported.matrix
    return (imported.matrix + imported.matrix.T).tocsr()


def test_core_numbers_equal_networkx_and_igraph(imported):
    summary, table = imported.run("kcore", "--verify")
    kind = nx.DiGraph if imported.directed else nx.Graph
    graph = nx.from_scipy_sparse_array(imported.matrix, create_using=kind)
    cores = nx.core_number(graph)
    np.testing.assert_array_equal(table["core"], [cores[v] for v in range(len(table))])
    rows, columns = imported.matrix.nonzero()
    edges = np.column_stack([rows, columns])
    if not imported.directed:
        edges = edges[edges[:, 0] < edges[:, 1]]
    other = igraph.Graph(n=len(table), edges=edges.tolist(), directed=imported.directed)
    np.testing.assert_array_equal(table["core"], other.coreness(mode="all"))
    result = summary["result"]
    assert result["degeneracy"] == table["core"].max()
    assert result["innermost"] == (table["core"] == table["core"].max()).sum()
    shells = table["core"].value_counts().sort_index().items()
    assert [(shell["core"], shell["vertices"]) for shell in result["shells"]] == list(shells)
    k = max(result["degeneracy"] - 1, 1)
    summary, members = imported.run("kcore", "--k", k, "--verify")
    np.testing.assert_array_equal(members["member"], (table["core"] >= k).astype(int))
    assert summary["result"]["members"] == members["member"].sum()


def test_degrees_equal_networkx(imported):
    summary, table = imported.run("degrees", "--verify")
    kind = nx.DiGraph if imported.directed else nx.Graph
    graph = nx.from_scipy_sparse_array(imported.matrix, create_using=kind)
    ways = {"out_degree": graph.out_degree, "in_degree": graph.in_degree} if imported.directed \
        else {"degree": graph.degree}
    assert list(table.columns) == ["vertex", *ways]
    for column, degree in ways.items():
        np.testing.assert_array_equal(table[column], [degree[v] for v in range(len(table))])
    result = summary["result"]
    assert result["isolated"] == sum(1 for _ in nx.isolates(graph))
    assert result["mean"] == pytest.approx(2 * graph.number_of_edges() / len(graph))
    highest = max(degree for _, degree in graph.degree)
    assert result["top"][0]["degree"] == highest


@pytest.mark.parametrize("kind", ["u32", "i64", "f64"])
def test_a_minimum_spanning_forest_equals_networkx_and_scipy(cenote, kind):
    made = nx.gnm_random_graph(600, 1500, seed=4)
    for number, (source, target) in enumerate(made.edges()):
        weight = (number * 7919) % 101
        weights = {"u32": weight, "i64": weight - 50, "f64": weight / 8}
        made[source][target]["weight"] = weights[kind]
    rows = ["source,target,weight", *(f"{u},{v},{w}" for u, v, w in made.edges(data="weight"))]
    (cenote.folder / "edges.csv").write_text("\n".join(rows) + "\n")
    cenote("import", "edges.csv", "--weights", kind, "--out", "graph.cenote")
    expected = nx.minimum_spanning_tree(made)
    for out in ["forest.csv", "forest.parquet", "forest.npy"]:
        found = cenote.json("run", "msf", "graph.cenote", "--out", out, "--verify")["result"]
        path = cenote.folder / out
        read = {"csv": pd.read_csv, "parquet": pd.read_parquet}
        table = pd.DataFrame(np.load(path)) if out.endswith("npy") else read[path.suffix[1:]](path)
        assert list(table.columns) == ["source", "target", "weight"]
        assert found["edges"] == len(table) == expected.number_of_edges()
        assert found["weight"] == pytest.approx(expected.size("weight"))
        assert table["weight"].sum() == pytest.approx(expected.size("weight"))
        assert (table["source"] < table["target"]).all()
        assert table[["source", "target"]].apply(tuple, axis=1).is_monotonic_increasing
        for source, target, weight in table.itertuples(index=False):
            assert made[source][target]["weight"] == weight
        ids = sorted(v for v in made if made.degree[v])
        forest = nx.Graph(list(zip(table["source"], table["target"], strict=True)))
        assert nx.is_forest(forest)
        assert found["components"] == nx.number_connected_components(made.subgraph(ids))


def test_an_empty_core_is_an_answer_of_no(cenote):
    cenote("generate", "grid", "--rows", 5, "--cols", 5, "--out", "made.txt")
    cenote("import", "made.txt", "--out", "graph.cenote")
    cenote("run", "kcore", "graph.cenote", "--k", 2)
    cenote("run", "kcore", "graph.cenote", "--k", 3, status=1)


def test_labels_are_those_of_the_graphalytics_definition(imported):
    matrix = both_ways(imported)
    labels = np.arange(matrix.shape[0])
    for _ in range(4):
        next_labels = labels.copy()
        for v in range(matrix.shape[0]):
            row = slice(matrix.indptr[v], matrix.indptr[v + 1])
            if row.start < row.stop:
                counts = np.bincount(labels[matrix.indices[row]], weights=matrix.data[row])
                next_labels[v] = counts.argmax()
        labels = next_labels
    summary, table = imported.run("cdlp", "--iterations", 4, "--verify")
    np.testing.assert_array_equal(table["label"], imported.ids[labels])
    assert summary["result"]["communities"] == len(np.unique(labels))
    assert summary["result"]["largest"] == np.bincount(labels).max()


def test_strong_components_equal_scipy(imported):
    summary, table = imported.run("scc", "--verify")
    count, labels = csgraph.connected_components(imported.matrix, connection="strong")
    assert summary["result"]["components"] == count
    assert summary["result"]["largest"] == np.bincount(labels).max()
    assert summary["result"]["single"] == (np.bincount(labels) == 1).sum()
    smallest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(smallest, labels, imported.ids)
    np.testing.assert_array_equal(table["component"], smallest[labels])


def test_strong_components_of_a_web_graph_are_those_of_its_reference(cenote):
    expected = np.frombuffer(data_file("web/cnr-2000.scc").read_bytes(), ">i4")
    cenote("import", data_file("web/cnr-2000.adj.zst"), "--directed", "--out", "graph.cenote")
    for memory in ["64MiB", "16MiB"]:
        run = cenote.json(
            "run", "scc", "graph.cenote", "--memory", memory, "--out", "scc.npy", "--verify"
        )
        assert run["result"]["components"] == len(np.unique(expected))
        found = np.load(cenote.folder / "scc.npy")
        pairs = np.column_stack([found["component"], expected[found["vertex"]]])
        assert len(np.unique(pairs, axis=0)) == run["result"]["components"]


def test_neighbours_in_both_directions_need_in_edges(cenote):
    cenote("generate", "ba", "--vertices", 100, "--edges-per-vertex", 2, "--out", "made.txt")
    cenote("import", "made.txt", "--directed", "--out", "graph.cenote")
    for algorithm in ["cdlp", "kcore"]:
        assert "--in-edges" in cenote.error("run", algorithm, "graph.cenote")
        assert "--in-edges" in cenote.error("estimate", algorithm, "graph.cenote")
    for algorithm in ["mis", "scc"]:
        cenote("run", algorithm, "graph.cenote")


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


@pytest.mark.parametrize(
    "algorithm, strategy", in_turn(ALGORITHMS, ["auto", "block", "vertex"])
)
def test_a_run_keeps_to_its_budget_and_its_estimate(cenote, kron, algorithm, strategy):
    kron(18)
    info = cenote.json("info", "graph.cenote")
    budget = max(info["page_bytes"] // 10, 24 * info["vertices"] + (32 << 20))
    # Iterations take time alone.
    algorithms = ALGORITHMS | {"cdlp": ["--iterations", 2]}
    flags = ["graph.cenote", *algorithms[algorithm], "--memory", budget, "--strategy", strategy]
    run = cenote.json("run", algorithm, *flags)
    assert run["peak_rss_bytes"] <= budget + (32 << 20)
    assert sum(run["memory_plan"].values()) <= budget
    estimate = cenote.json("estimate", algorithm, *flags)
    assert estimate["memory"] == run["memory_plan"]


def test_graphs_without_edges_have_answers_too(cenote):
    (cenote.folder / "empty.v").write_text("7\n9\n")
    (cenote.folder / "empty.e").write_text("")
    cenote("import", "empty.v", "empty.e", "--undirected", "--out", "graph.cenote")
    for algorithm, field, value in [
        ("mis", "size", 2), ("kcore", "degeneracy", 0), ("cdlp", "communities", 2),
        ("scc", "components", 2),
    ]:
        run = cenote.json("run", algorithm, "graph.cenote", "--verify")
        assert run["result"][field] == value, algorithm
