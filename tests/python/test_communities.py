"""Leiden and Louvain of `cenote run`, held against NetworkX and igraph."""

import itertools
import random
import re
import statistics
import subprocess

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest

from conftest import ROOT, data_file, every_other

METHODS = ["leiden", "louvain"]
#: Modularity must be at least this share of igraph's.
SHARE = 0.995


def communities(cenote, method, *flags):
    """What a run reports, and its communities as sets of ids."""
    found = cenote.json("run", method, "graph.cenote", *flags, "--out", "out.csv", "--verify")
    table = pd.read_csv(cenote.folder / "out.csv")
    sets = [set(group) for group in table.groupby("label")["vertex"].agg(list)]
    assert (table.groupby("label")["vertex"].min() == sorted(table["label"].unique())).all()
    assert found["result"]["communities"] == len(sets)
    assert found["result"]["largest"] == max(map(len, sets))
    return found["result"], sets


def imported(cenote, graph, *flags):
    """A NetworkX graph with numbers for ids, weighted if its edges are."""
    edges = graph.edges(data="weight", default=1)
    rows = ["source,target,weight", *(f"{u},{v},{w}" for u, v, w in edges)]
    (cenote.folder / "edges.csv").write_text("\n".join(rows) + "\n")
    cenote("import", "edges.csv", "--undirected", *flags, "--overwrite", "--out", "graph.cenote")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [None, "u32", "f32", "f64"])
@pytest.mark.parametrize("resolution", [1, 0.3, 4])
def test_modularity_equals_networkx(cenote, method, kind, resolution):
    made = nx.relaxed_caveman_graph(20, 8, 0.2, seed=3)
    made.add_edges_from([(0, 0), (7, 7)])
    for number, (source, target) in enumerate(made.edges()):
        weight = (number * 7919) % 13
        made[source][target]["weight"] = weight if kind == "u32" else weight / 8
    weights = [] if kind is None else ["--weights", kind]
    imported(cenote, made, "--keep-self-loops", *weights)
    found, sets = communities(cenote, method, "--resolution", resolution)
    expected = nx.community.modularity(made, sets, weight=kind and "weight", resolution=resolution)
    assert found["modularity"] == pytest.approx(expected, abs=1e-7)
    if method == "leiden":
        heavy = made.edge_subgraph(
            (u, v) for u, v, w in made.edges(data="weight") if kind is None or w > 0
        ).copy()
        for members in sets:
            assert len(members) == 1 or nx.is_connected(heavy.subgraph(members))


def test_cliques_in_a_ring_are_communities(cenote):
    imported(cenote, nx.ring_of_cliques(30, 6))
    for method in METHODS:
        found, sets = communities(cenote, method)
        assert sorted(map(min, sets)) == list(range(0, 180, 6))
        assert all(members == set(range(min(members), min(members) + 6)) for members in sets)
        assert found["converged"]


def share_of_igraph(cenote, method):
    """The modularity of a run by the median of three of igraph's, which differ by up to 2%."""
    cenote("export", "graph.cenote", "--out", "edges.tsv")
    edges = pd.read_csv(cenote.folder / "edges.tsv", sep="\t", comment="#", header=None, dtype=str)
    edges, numbers = pd.factorize(edges.iloc[:, :2].to_numpy().ravel())
    graph = igraph.Graph(n=len(numbers), edges=edges.reshape(-1, 2))
    # igraph draws from this generator.
    random.seed(1)
    leiden = {"objective_function": "modularity", "n_iterations": 2}
    find = {"leiden": lambda: graph.community_leiden(**leiden),
            "louvain": graph.community_multilevel}[method]
    theirs = statistics.median(graph.modularity(find()) for _ in range(3))
    return cenote.json("run", method, "graph.cenote")["result"]["modularity"] / theirs


@pytest.mark.parametrize("method", [pytest.param("louvain", marks=pytest.mark.long), "leiden"])
def test_modularity_of_packages_is_that_of_igraph(cenote, method):
    packages = ROOT / "data/debian-depends.tsv.zst"
    cenote("import", packages, "--undirected", "--out", "graph.cenote")
    assert share_of_igraph(cenote, method) >= SHARE


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name",
    [
        "tiny/power.graph.zst",
        pytest.param("social/email-Enron.txt.gz", marks=pytest.mark.long),
        pytest.param("social/facebook-links.txt.gz", marks=pytest.mark.long),
    ],
)
def test_modularity_of_real_graphs_is_that_of_igraph(cenote, name, method):
    cenote("import", data_file(name), "--undirected", "--out", "graph.cenote")
    assert share_of_igraph(cenote, method) >= SHARE
    assert cenote.json("run", method, "graph.cenote", "--verify")["verified"]


def test_one_answer_for_all_strategies_threads_pages_and_orders(cenote):
    cenote("generate", "kron", "--scale", 11, "--out", "made.u32")
    first = {}
    orders = ["natural", "degree", "random"]
    for page_size, order, strategy, threads in every_other(
        ["4KiB", "64KiB"], orders, ["auto", "block", "vertex"], [1, 3]
    ):
        graph = f"{page_size}-{order}.cenote"
        if not (cenote.folder / graph).exists():
            cenote("import", "made.u32", "--undirected", "--page-size", page_size, "--order", order,
                   "--out", graph)
        for method in METHODS:
            cenote("run", method, graph, "--out", "out.csv", "--strategy", strategy,
                   "--threads", threads)
            table = pd.read_csv(cenote.folder / "out.csv").sort_values("vertex")
            answer = table.to_csv(index=False)
            assert answer == first.setdefault(method, answer), (page_size, order, strategy)


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_too_small_for_what_is_between_communities_names_one_that_suffices(cenote, method):
    cenote("generate", "uniform", "--vertices", 5_000, "--edges", 150_000, "--out", "made.u32")
    cenote("import", "made.u32", "--undirected", "--out", "graph.cenote")
    plenty = cenote.json("run", method, "graph.cenote", "--memory", "1GiB")["result"]
    named = set()
    for verb, memory in [("estimate", "300KiB"), ("run", "1MiB"), ("run", "2MiB"), ("run", "3MiB")]:
        done = subprocess.run(
            [cenote.path, verb, method, "graph.cenote", "--memory", memory],
            cwd=cenote.folder, capture_output=True, text=True,
        )
        # Louvain's communities are few, and have few others next to them.
        assert done.returncode == 2 or (verb, method) == ("run", "louvain"), done.stderr
        if done.returncode == 2:
            named.add(re.search(r"give at least --memory (\S+)", done.stderr)[1])
    assert len(named) == 1
    memory = named.pop()
    cenote("estimate", method, "graph.cenote", "--memory", memory)
    assert cenote.json("run", method, "graph.cenote", "--memory", memory)["result"] == plenty


def test_directed_graphs_and_numbers_out_of_range_are_refused(cenote):
    cenote("generate", "grid", "--rows", 3, "--cols", 3, "--out", "made.txt")
    cenote("import", "made.txt", "--directed", "--out", "directed.cenote")
    cenote("import", "made.txt", "--undirected", "--out", "graph.cenote")
    (cenote.folder / "negative.csv").write_text("source,target,weight\n1,2,-3\n")
    cenote("import", "negative.csv", "--weights", "i64", "--out", "negative.cenote")
    for verb, method in itertools.product(["run", "estimate"], METHODS):
        assert "--undirected" in cenote.error(verb, method, "directed.cenote")
        assert "--resolution" in cenote.error(verb, method, "graph.cenote", "--resolution", "0")
        assert "--iterations" in cenote.error(verb, method, "graph.cenote", "--iterations", "0")
        assert "-3" in cenote.error(verb, method, "negative.cenote")


def test_a_graph_without_edges_has_communities_of_one_vertex(cenote):
    (cenote.folder / "empty.v").write_text("7\n9\n")
    (cenote.folder / "empty.e").write_text("")
    cenote("import", "empty.v", "empty.e", "--undirected", "--out", "graph.cenote")
    for method in METHODS:
        found, sets = communities(cenote, method)
        assert sets == [{7}, {9}] and found["modularity"] == 0
