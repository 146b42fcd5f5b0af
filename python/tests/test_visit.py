"""Passes over lists in batches, and the examples that are made of them."""

import gc
import signal
import sys
import threading
import time
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from conftest import ROOT
from scipy.sparse import csr_array

import cenote

sys.path.insert(0, str(ROOT / "python" / "examples"))

import khop
import label_propagation


def matrix(visit, vertices):
    """The sparse matrix of all batches, in order; entries of the same edge are added."""
    batches = list(visit)
    counts = np.zeros(vertices, np.int64)
    for batch in batches:
        assert len(batch) == len(batch.vertices) == len(batch.offsets) - 1
        assert (np.diff(batch.vertices.astype(np.int64)) > 0).all()
        assert (np.diff(batch.offsets) > 0).all() and batch.offsets[-1] == len(batch.targets)
        assert (batch.sources() == np.repeat(batch.vertices, np.diff(batch.offsets))).all()
        counts[batch.vertices] += np.diff(batch.offsets)
    targets = np.concatenate([np.empty(0, np.uint32)] + [batch.targets for batch in batches])
    weights = [batch.weights for batch in batches if batch.weights is not None]
    data = np.concatenate(weights) if weights else np.ones(len(targets))
    starts = np.concatenate(([0], np.cumsum(counts)))
    return csr_array((data, targets, starts), (vertices, vertices)).toarray()


@pytest.mark.parametrize("direction", ["out", "in"])
def test_batches_are_the_rows_of_the_matrix(directed, random_graph, direction):
    plain = random_graph if direction == "out" else random_graph.reverse()
    nodes, n = directed.ids().tolist(), directed.vertex_count
    expected = nx.to_numpy_array(plain, nodes, weight=None)
    visit = directed.visit(direction=direction, memory="16MiB")
    assert (matrix(visit, n) == expected).all()
    assert (matrix(visit, n) == expected).all(), "an iteration is a pass"
    weighted = directed.visit(direction=direction, weights=True, memory="16MiB", threads=1)
    assert (matrix(weighted, n) == nx.to_numpy_array(plain, nodes)).all()
    mask = np.arange(n) % 3 == 1
    for frontier in (mask, np.flatnonzero(mask)[::-1].astype(np.int16), np.flatnonzero(mask)):
        assert (
            matrix(weighted.of(frontier), n) == nx.to_numpy_array(plain, nodes) * mask[:, None]
        ).all()
    assert list(visit.of([])) == [] and list(visit.of(np.zeros(n, bool))) == []
    assert visit.of([7, 7]).stats["bytes_read"] > 0


def test_a_frontier_is_any_collection_of_numbers(directed):
    visit = directed.visit(memory="16MiB")
    for frontier in ({5, 7}, (at for at in (7, 5, 7)), range(5, 9, 2), np.array([5, 7]), (7, 5)):
        assert np.concatenate([b.vertices for b in visit.of(frontier)]).tolist() == [5, 7]
    assert "2 lists" in repr(visit.of({5, 7})) and "all lists" in repr(visit)


def test_long_lists_come_in_pieces(folder):
    edges = [(0, v) for v in range(1, 20_000)] + [(v, v + 1) for v in range(1, 19_000)]
    cenote.import_graph(edges, "hub.cenote", directed=True, memory="64MiB", codec="raw")
    with cenote.open("hub.cenote") as graph:
        visit = graph.visit(memory="16MiB", batch_edges=3_000)
        batches = list(visit)
        assert max(len(batch.targets) for batch in batches) <= visit.batch_edges < 20_000
        assert np.concatenate([b.targets for b in batches if b.vertices[0] == 0])[
            :19_999
        ].tolist() == [*range(1, 20_000)]
        assert sum(0 in batch.vertices for batch in batches) > 5
        # The whole graph in one batch of the default, whose views keep it in memory.
        (batch,) = graph.visit(memory="64MiB")
        targets, offsets = batch.targets, batch.offsets
        assert not targets.flags.owndata and not targets.flags.writeable
    del batch
    gc.collect()
    assert targets[offsets[1] :].tolist() == list(range(2, 19_001))


def test_a_pass_is_ended_by_its_iterator_and_by_an_error(packages):
    graph = cenote.open(packages)
    visit = graph.visit(memory="16MiB", batch_edges=1)
    batches = iter(visit)
    next(batches)
    with pytest.raises(cenote.InvalidInput, match="end it first"):
        next(iter(visit.of([1])))
    assert len(next(iter(graph.visit([5], memory="16MiB")))) == 1
    del batches
    assert sum(len(batch.targets) for batch in visit) == 2 * graph.edge_count
    for frontier, message in [
        ([graph.vertex_count], f"vertex {graph.vertex_count}: there are"),
        ([-1], "vertex -1"),
        (np.ones(3, bool), "a boolean for each of"),
        ([0.5], "numbers of vertices"),
        ([[1]], "shape"),
        ("bash", "type"),
    ]:
        with pytest.raises(cenote.InvalidInput, match=message):
            visit.of(frontier)
    with pytest.raises(cenote.MemoryBudget, match="visit"):
        graph.visit(memory=1000)
    with pytest.raises(cenote.Unsupported, match="no weights"):
        graph.visit(weights=True)
    graph.close()
    with pytest.raises(cenote.InvalidInput, match="closed"):
        list(visit)


def pass_for_ever(graph):
    while True:
        for _ in graph.visit(memory="16MiB"):
            time.sleep(0)


def test_ctrl_c_ends_a_pass_that_waits(packages):
    with cenote.open(packages) as graph:
        before = threading.active_count()
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            pass_for_ever(graph)
        timer.join()
        assert threading.active_count() == before
        assert sum(len(batch) for batch in graph.visit(memory="16MiB")) > 0


def test_hops_are_those_of_networkx(undirected, random_graph, capsys):
    plain, ids = random_graph.to_undirected(), undirected.ids().tolist()
    for sources, hops in [([3], 2), ([3, 5000, 10], 3), ([5000], 1)]:
        found = khop.neighbourhood(undirected, sources, hops, memory="16MiB")
        expected = nx.multi_source_dijkstra_path_length(plain, set(sources), hops, weight=None)
        assert found.tolist() == [expected.get(id, -1) for id in ids]
    khop.main(undirected.path, "1", 5000)
    assert capsys.readouterr().out == "0 hops: 1 vertices\n"


def test_label_propagation_is_that_of_plain_python(undirected, random_graph, capsys):
    plain, ids = random_graph.to_undirected(), undirected.ids().tolist()
    labels = {id: at for at, id in enumerate(ids)}
    for _ in range(4):
        counts = {id: Counter(labels[v] for v in plain[id]) for id in ids}
        labels = {
            id: min(counts[id], key=lambda label, c=counts[id]: (-c[label], label))
            if counts[id]
            else labels[id]
            for id in ids
        }
    expected = [labels[id] for id in ids]
    assert label_propagation.communities(undirected, 4, "16MiB").tolist() == expected
    assert undirected.cdlp(iterations=4, memory="16MiB").labels.tolist() == expected
    # With lists in pieces.
    visit, found = undirected.visit(memory="16MiB", batch_edges=1), np.arange(len(ids))
    found = label_propagation.propagate(visit, found.astype(np.uint64))
    assert found.tolist() == undirected.cdlp(iterations=1, memory="16MiB").labels.tolist()
    label_propagation.main(undirected.path, 4)
    assert capsys.readouterr().out.startswith(f"{len(set(expected))} communities")
