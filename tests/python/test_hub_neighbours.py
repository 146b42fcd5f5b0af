"""Heads, the neighbours of largest degree stored apart: the same answers with them and without."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_heads_change_no_answer(cenote, directed):
    made = nx.gnm_random_graph(2_000, 30_000, seed=8, directed=directed)
    made.add_edges_from((0, v) for v in range(1, 1_500))
    np.array(made.edges, dtype="<u4").tofile(cenote.folder / "g.u32")
    flags = ["--directed", "--in-edges"] if directed else []
    found = {}
    for heads in ["yes", "no"]:
        cenote("import", "g.u32", *flags, "--hub-neighbours", heads, "--out", f"{heads}.cenote")
        assert cenote.json("info", f"{heads}.cenote")["hub_neighbours"] == (heads == "yes")
        assert cenote("check", f"{heads}.cenote")
        cenote("run", "bfs", f"{heads}.cenote", "--source", 0, "--out", "levels.csv")
        levels = pd.read_csv(cenote.folder / "levels.csv")
        cenote("run", "wcc", f"{heads}.cenote", "--out", "wcc.csv")
        found[heads] = levels, pd.read_csv(cenote.folder / "wcc.csv")
    for with_heads, without in zip(found["yes"], found["no"]):
        pd.testing.assert_frame_equal(with_heads, without)
    levels = found["yes"][0].dropna()
    expected = nx.single_source_shortest_path_length(made, 0)
    assert {int(v): int(level) for v, level in zip(levels["vertex"], levels["level"])} == expected


def test_heads_of_a_directed_graph_need_its_in_edges(cenote):
    (cenote.folder / "g.txt").write_text("1 2\n2 3\n")
    flags = ["--directed", "--hub-neighbours", "yes", "--out", "g.cenote"]
    message = cenote.error("import", "g.txt", *flags)
    assert "--in-edges" in message
