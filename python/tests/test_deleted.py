"""Graphs with a deleted vertex, which keeps its number and its place in arrays."""

import sys

import numpy as np
import pytest
from conftest import ROOT

import cenote

sys.path.insert(0, str(ROOT / "python" / "examples"))

import khop
import label_propagation
import neighbor_loader


@pytest.fixture
def graph():
    """a - b - c - d - b, without a."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    cenote.import_graph(edges, "g.cenote", memory="64MiB")
    with cenote.open("g.cenote") as whole:
        whole.write_features("before.features", np.arange(4))
    with cenote.update("g.cenote") as update:
        update.delete_vertex("a")
    with cenote.open("g.cenote") as graph:
        yield graph


def test_numbers_and_vertices_are_counted_apart(graph):
    assert (graph.vertex_count, graph.array_length, graph.deleted().tolist()) == (3, 4, [0])
    for array in (graph.ids(), graph.degree(), graph.wcc().labels, graph.pagerank().ranks):
        assert len(array) == graph.array_length
    assert graph.vertex_of("d") == graph.array_length - 1
    assert "a" not in graph and graph.wcc().deleted().tolist() == graph.deleted().tolist()


def test_visits_and_masks_have_a_place_for_it(graph):
    degrees = np.zeros(graph.array_length, np.int64)
    for batch in graph.visit(memory="16MiB"):
        np.add.at(degrees, batch.vertices, np.diff(batch.offsets))
    assert degrees.tolist() == graph.degree().tolist() == [0, 2, 2, 2]
    last = graph.vertex_of("d")
    mask = graph.bfs("d").levels == 0
    for frontier in ([last], mask):
        (batch,) = graph.visit(frontier, memory="16MiB")
        assert batch.vertices.tolist() == [last]
    with pytest.raises(cenote.InvalidInput, match="4 vertices, deleted ones included"):
        graph.visit(mask[1:])
    with pytest.raises(cenote.InvalidInput, match="vertex 4: there are 4"):
        graph.visit([4])


def test_features_have_a_row_for_it(graph):
    graph.write_features("x.features", np.arange(len(graph.ids())))
    for path in ("x.features", "before.features"):
        x = graph.features(path)
        assert (len(x), x[[3, 0]].ravel().tolist()) == (4, [3, 0])
    sample = graph.sample_neighbors("d", fanouts=[9])
    assert x[sample.vertices].ravel().tolist() == sample.vertices.tolist()
    with pytest.raises(cenote.InvalidInput, match=r"fewer rows.*deleted ones included"):
        graph.write_features("x.features", np.zeros(graph.vertex_count))


def test_the_examples_run(graph, capsys):
    assert khop.neighbourhood(graph, ["d"], 2).tolist() == [-1, 1, 1, 0]
    assert len(set(label_propagation.communities(graph, 3, "16MiB")[1:])) == 1
    neighbor_loader.main(graph.path, "before.features")
    assert "3 vertices" in capsys.readouterr().out
