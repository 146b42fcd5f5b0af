"""Updates of graphs over tiers, held against NetworkX after each of them."""

import random

import networkx as nx
import pytest

TIERS = ["--tier", "fast=fast:144KiB", "--tier", "slow=slow", "--tier-block", "4KiB"]


def lines(graph):
    """Edges as text, one way each."""
    return sorted(f"{u}\t{v}" for u, v in graph.edges)


def exported(cenote, *flags):
    """The same of the stored graph."""
    return sorted(cenote("export", "g.cenote", *flags).splitlines())


def changed(graph, choose):
    """Changes `graph` at random; the lines that tell it to `cenote update`."""
    told = []
    for _ in range(choose.choice([1, 40, 900])):
        if choose.random() < 0.4 and graph.number_of_edges() > 0:
            u, v = choose.choice(list(graph.edges))
            graph.remove_edge(u, v)
            told.append(f"- {u} {v}")
        else:
            u, v = choose.sample(range(1500), 2)
            graph.add_edge(u, v)
            told.append(f"+ {u} {v}")
    return "\n".join(told).encode() + b"\n"


@pytest.mark.parametrize(
    ("directed", "policy"),
    [
        (False, "tlru"),
        (True, "static"),
        pytest.param(True, "tlru", marks=pytest.mark.long),
        pytest.param(False, "static", marks=pytest.mark.long),
    ],
)
def test_a_graph_over_tiers_follows_its_changes(cenote, directed, policy):
    choose = random.Random(f"{directed} {policy}")
    kind = nx.DiGraph if directed else nx.Graph
    graph = nx.gnm_random_graph(900, 6_000, seed=5, directed=directed)
    graph = kind((u, v) for u, v in graph.edges)
    for folder in ["fast", "slow"]:
        (cenote.folder / folder).mkdir()
    (cenote.folder / "edges.txt").write_text("\n".join(lines(graph)))
    flags = ["--directed", "--in-edges"] if directed else []
    cenote("import", "edges.txt", "--out", "g.cenote", *TIERS, "--tier-policy", policy, *flags)
    kept = None
    for turn in range(6):
        cenote("update", "g.cenote", "--stdin", stdin=changed(graph, choose))
        if turn == 2:
            cenote("snapshot", "g.cenote", "--name", "kept")
            kept = exported(cenote)
        if turn % 3 == 1:
            cenote("merge", "g.cenote")
        # Blocks move between the updates.
        source = next(iter(graph.nodes))
        found = cenote.json("run", "bfs", "g.cenote", "--source", source, "--strategy", "vertex",
                            "--memory", "16MiB")
        reached = nx.single_source_shortest_path_length(graph, source)
        assert found["result"]["reached"] == len(reached)
        if turn == 5 and policy == "tlru":
            cenote("tier", "rebalance", "g.cenote", "--by", "order")
        if directed:
            assert exported(cenote) == lines(graph)
        else:
            pairs = {frozenset(line.split("\t")) for line in exported(cenote)}
            assert pairs == {frozenset(map(str, edge)) for edge in graph.edges}
        components = nx.number_weakly_connected_components if directed else (
            nx.number_connected_components)
        found = cenote.json("run", "wcc", "g.cenote", "--memory", "64MiB")
        assert found["result"]["components"] == components(graph)
    cenote("check", "g.cenote")
    assert exported(cenote, "--at", "kept") == kept
    status = cenote.json("tier", "status", "g.cenote")
    assert all(tier["blocks"] > 0 for tier in status["tiers"])
    assert policy == "static" or status["moved"] > 0
