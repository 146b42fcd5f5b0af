"""Nodes, edges, degrees and neighbours of stored graphs, against a copy in memory."""

import networkx as nx
import nx_cenote
import pytest
from nx_cenote import _backend

import cenote


@pytest.fixture(params=["undirected", "directed", "names"])
def graphs(request, tmp_path):
    """A stored graph with weights, and a graph of NetworkX of the same edges."""
    directed = request.param == "directed"
    plain = nx.gnm_random_graph(60, 200, seed=3, directed=directed)
    kind = str if request.param == "names" else int
    edges = [(kind(3 * u), kind(3 * v), 1 + at % 5) for at, (u, v) in enumerate(plain.edges)]
    path = tmp_path / "g.cenote"
    options = {"directed": directed, "in_edges": directed, "weights": "u32"}
    cenote.import_graph(edges, path, order="random", **options)
    with nx_cenote.open(path, memory=1 << 20) as stored:
        yield stored, _backend.convert_to_nx(stored)


def pairs(graph, edges):
    return {edge[:2] if graph.is_directed() else frozenset(edge[:2]) for edge in edges}


def test_views_are_those_of_a_copy(graphs):
    stored, copy = graphs
    assert list(nx.nodes(stored)) == list(stored.nodes) == list(copy)
    assert list(stored.nodes(data=True)) == [(node, {}) for node in copy]
    assert len(stored.nodes) == len(copy) and next(iter(copy)) in stored.nodes
    assert pairs(stored, nx.edges(stored)) == pairs(copy, copy.edges)
    assert len(stored.edges) == len(list(stored.edges)) == copy.number_of_edges()
    weights = {(u, v): weight for u, v, weight in stored.edges(data="weight")}
    assert all(copy[u][v]["weight"] == weight for (u, v), weight in weights.items())
    u, v, data = next(iter(stored.edges(data=True)))
    assert data == copy[u][v] and (u, v) in stored.edges and (u, u) not in stored.edges
    assert dict(nx.degree(stored)) == dict(stored.degree()) == dict(copy.degree)
    assert nx.degree_histogram(stored) == nx.degree_histogram(copy)
    assert nx.density(stored) == nx.density(copy)
    some = list(copy)[:7]
    assert dict(stored.degree(some)) == dict(copy.degree(some))
    assert pairs(copy, stored.edges(some)) == pairs(copy, copy.edges(some))
    for node in some:
        assert sorted(nx.neighbors(stored, node)) == sorted(copy[node])
        assert stored.degree[node] == stored.degree(node) == copy.degree[node]
        assert [stored.has_edge(node, other) for other in copy] == [
            copy.has_edge(node, other) for other in copy
        ]
    part = stored.subgraph([*some, "absent"])
    assert pairs(copy, part.edges) == pairs(copy, copy.subgraph(some).edges)
    assert list(part) == [node for node in copy if node in set(some)]


def test_what_is_not_in_the_graph_is_an_error_of_networkx(graphs):
    stored, _ = graphs
    assert not stored.has_edge(-1, -2) and not stored.has_node(-1)
    with pytest.raises(nx.NetworkXError, match="not in the graph"):
        stored.neighbors(-1)
    with pytest.raises(nx.NetworkXError, match="not in the graph"):
        stored.degree(-1)
    with pytest.raises(KeyError):
        stored.degree[-1]
    with pytest.raises(nx.NetworkXNotImplemented, match="weights"):
        stored.degree(weight="weight")


def test_degrees_that_would_not_be_those_of_networkx_are_refused(tmp_path):
    path = tmp_path / "g.cenote"
    cenote.import_graph([(1, 2), (2, 3)], path, directed=True)
    with nx_cenote.open(path) as stored:
        with pytest.raises(nx.NetworkXNotImplemented, match="in_edges=True"):
            stored.degree(1)
        assert list(stored.neighbors(2)) == [3]
    cenote.import_graph([(1, 2), (2, 2)], path, keep_self_loops=True, overwrite=True)
    with nx_cenote.open(path) as stored, pytest.raises(nx.NetworkXNotImplemented, match="loops"):
        dict(stored.degree)
    multiple = nx.MultiGraph([(0, 1), (0, 1)])
    with pytest.raises(nx.NetworkXNotImplemented, match="parallel"):
        _backend.convert_from_nx(multiple).degree(0)
