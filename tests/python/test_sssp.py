"""Weights and shortest paths through the command line, against NetworkX."""

import csv
import random

import networkx
import pytest


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sssp")
    rng = random.Random(5)
    graph = networkx.gnm_random_graph(300, 900, seed=5)
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = rng.choice([0, 1, 2, 5, 40])
    return folder, graph


@pytest.mark.parametrize("kind", ["u32", "i64", "f32", "f64"])
@pytest.mark.parametrize("strategy", ["auto", "block", "vertex"])
def test_distances_are_those_of_networkx(cenote, weighted, kind, strategy):
    folder, graph = weighted
    edges, out = folder / "graph.edgelist", folder / f"{kind}-{strategy}.csv"
    networkx.write_edgelist(graph, edges)
    stored = folder / f"{kind}-{strategy}.cenote"
    cenote("import", edges, "--weights", kind, "--out", stored)
    told = cenote.json("run", "sssp", stored, "--source", "0", "--strategy", strategy,
                       "--out", out, "--verify")
    expected = networkx.single_source_dijkstra_path_length(graph, 0)
    with open(out) as file:
        found = {int(row["vertex"]): float(row["distance"]) for row in csv.DictReader(file)
                 if row["distance"]}
    assert found == expected
    assert told["result"]["reached"] == len(expected)
