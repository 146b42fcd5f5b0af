"""Personalised ranks and the CAVE paper's variant, held against NetworkX and the definition."""

import networkx as nx
import numpy as np
import pytest

from test_algorithms import Imported, imported  # noqa: F401

#: Where the surfer goes back to, as places in the list of ids.
PLACES = [3, 17, 256]


def networkx_graph(imported):  # noqa: F811
    kind = nx.DiGraph if imported.directed else nx.Graph
    return nx.from_scipy_sparse_array(imported.matrix, create_using=kind)


def test_personalised_ranks_equal_networkx(imported):  # noqa: F811
    chosen = [str(imported.ids[place]) for place in PLACES]
    flags = ["--tolerance", "1e-13", "--verify", "--personalize", *chosen]
    summary, table = imported.run("pagerank", *flags)
    assert summary["result"]["converged"]
    personalization = {place: 1 for place in PLACES}
    # From the same start, what cannot be reached has 0 at once, not only in the limit.
    expected = nx.pagerank(
        networkx_graph(imported),
        personalization=personalization,
        nstart=personalization,
        tol=1e-15,
        max_iter=1000,
    )
    expected = [expected[v] for v in range(len(table))]
    np.testing.assert_allclose(table["rank"], expected, rtol=1e-6, atol=1e-13)
    assert abs(table["rank"].sum() - 1) < 1e-12
    (imported.cenote.folder / "ids.txt").write_text("\n".join(chosen + chosen[:1]) + "\n")
    flags = ["--tolerance", "1e-13", "--personalize-file", "ids.txt"]
    _, again = imported.run("pagerank", *flags)
    np.testing.assert_array_equal(table["rank"], again["rank"])


@pytest.mark.parametrize("direction", ["--undirected", "--directed", "--directed --in-edges"])
@pytest.mark.parametrize("kind", ["u32", "f32", "f64"])
def test_weighted_ranks_equal_networkx(cenote, direction, kind):
    cenote("generate", "kron", "--scale", 9, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)[:6000]
    random = np.random.default_rng(4)
    weights = random.integers(0, 6, len(pairs)) if kind == "u32" else random.random(len(pairs)) ** 9
    weights = weights.astype(np.float32) if kind == "f32" else weights
    graph = nx.Graph() if direction == "--undirected" else nx.DiGraph()
    rows = zip(pairs.tolist(), weights.tolist(), strict=True)
    graph.add_weighted_edges_from((u, v, w) for (u, v), w in rows if u != v)
    lines = [f"{u} {v} {w}" for u, v, w in graph.edges(data="weight")]
    (cenote.folder / "edges.txt").write_text("\n".join(lines))
    cenote("import", "edges.txt", *direction.split(), "--weights", kind, "--out", "graph.cenote")
    run = ["run", "pagerank", "graph.cenote", "--weighted", "--tolerance", "1e-13", "--out"]
    cenote(*run, "ranks.csv", "--verify")
    ranks = dict(np.loadtxt(cenote.folder / "ranks.csv", delimiter=",", skiprows=1).tolist())
    expected = nx.pagerank(graph, tol=1e-15, max_iter=1000)
    assert ranks == pytest.approx(expected, rel=1e-6)
    cenote(*run, "again.csv", "--strategy", "block", "--threads", 3, "--memory", "8MiB")
    again = (cenote.folder / "again.csv").read_bytes()
    assert again == (cenote.folder / "ranks.csv").read_bytes()


def test_weights_that_give_no_ranks_are_one_clear_line(cenote):
    run = ["run", "pagerank", "graph.cenote", "--weighted"]
    Imported(cenote, [[0, 1], [1, 2]], False)
    assert "--weighted needs a graph with weights" in cenote.error(*run)
    (cenote.folder / "edges.txt").write_text("0 1 2\n1 2 -3\n")
    cenote("import", "edges.txt", "--weights", "i64", "--out", "graph.cenote", "--overwrite")
    assert "smallest weight of the graph is -3" in cenote.error(*run)
    (cenote.folder / "edges.txt").write_text("0 1 2e300\n1 2 3\n")
    cenote("import", "edges.txt", "--weights", "f64", "--out", "graph.cenote", "--overwrite")
    assert "2e300" in cenote.error(*run)
    assert "--variant" in cenote.error(*run, "--variant", "cave")


def test_the_papers_variant_follows_its_formula(imported):  # noqa: F811
    matrix = imported.matrix
    degree = matrix.sum(axis=1)
    some = degree > 0
    # Algorithm 4: 1 / deg at first, then (1 - d + d * sum) / deg, the last one times deg.
    share = np.divide(1.0, degree, out=np.zeros(len(degree)), where=some)
    for _ in range(8):
        rank = 0.15 + 0.85 * (matrix.T @ share)
        share = np.divide(rank, degree, out=np.zeros(len(degree)), where=some)
    flags = ["--variant", "cave", "--iterations", 8, "--verify"]
    summary, table = imported.run("pagerank", *flags)
    np.testing.assert_allclose(table["rank"], rank, rtol=1e-9)
    assert summary["result"]["top"][0]["rank"] == pytest.approx(rank.max(), rel=1e-9)


def test_ids_that_make_no_sense_are_one_clear_line(cenote):
    Imported(cenote, [[0, 1], [1, 2]], False)
    run = ["run", "pagerank", "graph.cenote"]
    assert "no vertex `9`" in cenote.error(*run, "--personalize", "1", "9")
    (cenote.folder / "empty.txt").write_text("\n")
    assert "no id" in cenote.error(*run, "--personalize-file", "empty.txt")
    assert "missing.txt" in cenote.error(*run, "--personalize-file", "missing.txt")
    assert "--variant" in cenote.error(*run, "--personalize", "1", "--variant", "cave")
