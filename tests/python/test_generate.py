"""What `cenote generate` writes, read by others' readers and judged by others' graphs."""

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

KINDS = {
    "kron": ["--scale", 10],
    "uniform": ["--vertices", 1000, "--edges", 5000],
    "ba": ["--vertices", 1000, "--edges-per-vertex", 4],
    "grid": ["--rows", 30, "--cols", 20],
    "smallworld": ["--vertices", 1000, "--neighbors", 6, "--probability", 0.2],
}


def pairs(cenote, kind, *more):
    """The edges of a small graph of this kind."""
    cenote("generate", kind, *KINDS[kind], *more, "--out", "edges.u32")
    return np.fromfile(cenote.folder / "edges.u32", "<u4").reshape(-1, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_all_formats_hold_the_same_edges(cenote, kind):
    expected = pairs(cenote, kind)
    for ending in ["txt", "tsv", "u64", "parquet"]:
        summary = cenote.json("generate", kind, *KINDS[kind], "--out", f"edges.{ending}")
        path = cenote.folder / f"edges.{ending}"
        assert summary["edges"] == len(expected)
        assert summary["file_bytes"] == path.stat().st_size
        if ending == "parquet":
            table = pq.read_table(path)
            assert table.column_names == ["source", "target"]
            found = np.column_stack([table["source"], table["target"]])
        elif ending == "u64":
            found = np.fromfile(path, "<u8").reshape(-1, 2)
        else:
            found = np.loadtxt(path, dtype=np.int64)
        np.testing.assert_array_equal(found, expected, err_msg=ending)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing_and_seeds_do(cenote, kind):
    one = pairs(cenote, kind, "--threads", 1)
    np.testing.assert_array_equal(one, pairs(cenote, kind, "--threads", 5))
    if kind != "grid":
        assert not np.array_equal(one, pairs(cenote, kind, "--seed", 2))


def test_grid_is_networkx_grid(cenote):
    ours = nx.Graph(pairs(cenote, "grid").tolist())
    theirs = nx.grid_2d_graph(30, 20)
    renamed = {(row, column): row * 20 + column for row, column in theirs}
    assert nx.utils.graphs_equal(ours, nx.relabel_nodes(theirs, renamed))


def test_unwired_smallworld_is_networkx_ring(cenote):
    cenote("generate", "smallworld", "--vertices", 100, "--neighbors", 6, "--probability", 0,
           "--out", "ring.txt")
    ours = nx.read_edgelist(cenote.folder / "ring.txt", nodetype=int)
    assert nx.utils.graphs_equal(ours, nx.watts_strogatz_graph(100, 6, 0))


def test_uniform_edges_are_distinct_and_loop_free(cenote):
    edges = pairs(cenote, "uniform")
    distinct = {tuple(sorted(edge)) for edge in edges.tolist()}
    assert len(distinct) == len(edges) == 5000
    assert all(low < high for low, high in distinct)


def test_ba_clusters_as_little_as_networkx(cenote):
    ours = nx.Graph(pairs(cenote, "ba").tolist())
    theirs = nx.barabasi_albert_graph(1000, 4, seed=1)
    assert nx.is_connected(ours)
    assert abs(nx.transitivity(ours) - nx.transitivity(theirs)) < 0.02
