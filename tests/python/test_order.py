"""Graphs in every order of vertices give the answers of the natural order."""

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

from conftest import ROOT

ORDERS = [["degree"], ["bfs"], ["random", "--seed", 7]]
DEBIAN = ROOT / "data/debian-depends.tsv.zst"


def make(cenote, kind):
    """The input of a graph, and the flags of its import."""
    if kind == "debian":
        return DEBIAN, ["--directed", "--in-edges"]
    if kind == "islands":
        # Components of equal size, of which the first by id is the largest's label.
        edges = [(10 * i + a, 10 * i + b) for i in range(50) for a, b in [(9, 1), (1, 5), (5, 7)]]
        (cenote.folder / "islands.txt").write_text("".join(f"{s} {t}\n" for s, t in edges))
        return "islands.txt", []
    flags = {
        "kron": ["kron", "--scale", 12],
        "grid": ["grid", "--rows", 60, "--cols", 50],
    }[kind]
    cenote("generate", *flags, "--out", "made.u32")
    return "made.u32", []


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
@pytest.mark.parametrize(
    "kind", [pytest.param("debian", marks=pytest.mark.long), "islands", "kron", "grid"]
)
def test_answers_do_not_depend_on_the_order(cenote, kind, order):
    edges, flags = make(cenote, kind)
    cenote("import", edges, *flags, "--out", "natural.cenote")
    codec = ["--codec", "packed"] if kind in ["kron", "debian"] else []
    cenote("import", edges, *flags, *codec, "--order", *order, "--out", "ordered.cenote")
    cenote("check", "ordered.cenote")
    infos = [cenote.json("info", f"{name}.cenote") for name in ["natural", "ordered"]]
    assert (infos[0]["order"], infos[1]["order"]) == ("natural", order[0])
    for field in ["vertices", "edges", "stored_edges", "duplicates", "self_loops", "degree_max"]:
        assert infos[0][field] == infos[1][field], field

    source = infos[0]["degree_max_vertex"]
    found = []
    for name in ["natural", "ordered"]:
        def run(algorithm, *more):
            summary = cenote.json(
                "run", algorithm, f"{name}.cenote", "--out", "out.parquet", "--verify", *more)
            return summary["result"], pq.read_table(cenote.folder / "out.parquet").to_pandas()

        bfs, levels = run("bfs", "--source", source)
        wcc, components = run("wcc")
        scc, strong = run("scc") if "--in-edges" in flags else (None, components)
        _, ranks = run("pagerank", "--iterations", 10)
        found.append((bfs, levels, wcc, components, ranks, scc, strong))
    (bfs, levels, wcc, components, ranks, scc, strong), ordered = found
    assert bfs == ordered[0]
    assert wcc == ordered[2]
    assert levels.equals(ordered[1])
    assert components.equals(ordered[3])
    assert scc == ordered[5] and strong.equals(ordered[6])
    assert (ranks["vertex"] == ordered[4]["vertex"]).all()
    np.testing.assert_allclose(ranks["rank"], ordered[4]["rank"], rtol=1e-9)

    vertices = levels["vertex"][:: max(1, len(levels) // 20)]
    for more in [[], ["--in"]] if kind == "debian" else [[]]:
        lists = [cenote("neighbors", f"{name}.cenote", *vertices, *more)
                 for name in ["natural", "ordered"]]
        assert lists[0] == lists[1] != ""
    exports = [sorted(cenote("export", f"{name}.cenote").splitlines())
               for name in ["natural", "ordered"]]
    assert exports[0] == exports[1]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
def test_parents_are_right_in_every_order(cenote, order):
    cenote("generate", "kron", "--scale", 10, "--out", "made.u32")
    cenote("import", "made.u32", "--order", *order, "--out", "graph.cenote")
    cenote.json("run", "bfs", "graph.cenote", "--parents", "--verify", "--out", "out.parquet")
    table = pq.read_table(cenote.folder / "out.parquet").to_pandas().set_index("vertex")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    graph = nx.Graph(pairs.tolist())
    for vertex, row in table[table["parent"].notna() & (table["level"] > 0)].iterrows():
        parent = int(row["parent"])
        assert graph.has_edge(vertex, parent)
        assert table.loc[parent, "level"] == row["level"] - 1


def test_an_order_that_does_not_fit_says_what_would(cenote):
    (cenote.folder / "path.u32").write_bytes(
        np.stack([np.arange(2_000_000), np.arange(1, 2_000_001)], 1).astype("<u4").tobytes())
    message = cenote.error("import", "path.u32", "--order", "bfs", "--memory", "20MiB",
                           "--out", "path.cenote")
    assert "the order of the vertices" in message
    assert [path.name for path in cenote.folder.iterdir()] == ["path.u32"], "nothing is left"
