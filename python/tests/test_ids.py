"""Ids of vertices: what may be one, and what holds many."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote

NAMED = [("a", "b"), ("b", "c"), ("c", "d")]
NUMBERED = [(1, 2), (2, 3), (3, 4)]


def opened(edges):
    cenote.import_graph(edges, "g.cenote", overwrite=True)
    return cenote.open("g.cenote")


@pytest.fixture(params=[NAMED, NUMBERED], ids=["strings", "integers"])
def graph(request):
    with opened(request.param) as graph:
        yield graph


def kinds_of(ids):
    """The same ids as every kind of array."""
    yield from [ids, tuple(ids), iter(ids), np.array(ids), np.array(ids, object)]
    yield from [pd.Series(ids), pd.Series(ids).convert_dtypes(), pd.Index(ids), pl.Series(ids)]
    yield pd.Series(ids, dtype="category")
    yield pd.Series(pa.array(ids), dtype=pd.ArrowDtype(pa.array(ids).type))
    column = pa.array(ids)
    yield from [column, pa.chunked_array([column[:1], column[1:]]), column.dictionary_encode()]
    yield list(column)


def test_every_kind_of_array_holds_ids(graph):
    ids = [graph.id_of(1), graph.id_of(3)]
    for given in kinds_of(ids):
        assert [len(list(found)) for found in graph.neighbors(given)] == [2, 1], type(given)
    calls = {
        "degree": lambda ids: graph.degree(ids).tolist(),
        "sample_neighbors": lambda ids: graph.sample_neighbors(ids, fanouts=[1]).seeds,
        "bfs": lambda ids: graph.bfs(ids).levels.tolist(),
        "target": lambda ids: graph.bfs(graph.id_of(0), target=ids).summary["targets"],
        "ppr": lambda ids: len(graph.ppr(ids).to_arrow()),
        "pagerank": lambda ids: graph.pagerank(personalize=ids).ranks.tolist(),
        "similar": lambda ids: len(graph.similar(ids).to_arrow()),
        "betweenness": lambda ids: graph.betweenness(ids).summary["sources"],
        "subgraph": lambda ids: graph.subgraph(ids, out="s.cenote", overwrite=True)["vertices"],
        "pairs": lambda ids: len(graph.similar(pairs=[ids]).to_arrow()),
    }
    for name, call in calls.items():
        expected = call(ids)
        for given in kinds_of(ids):
            assert call(given) == expected, (name, type(given))
    one = pa.array(ids)[0]
    assert graph.degree(one) == 2
    assert len(list(graph.neighbors(one))) == 2
    for given in kinds_of([graph.id_of(1), graph.id_of(1)]):
        assert len(cenote.components([], vertices=given)) == 1, type(given)
    with pytest.raises(TypeError, match="the id None: expected an integer or a string"):
        graph.neighbors(pa.array([ids[0], None]))


def test_bytes_are_no_ids(graph):
    calls = [
        graph.neighbors,
        graph.degree,
        graph.bfs,
        graph.vertex_of,
        lambda id: graph.pagerank(personalize=id),
        lambda id: graph.reach(source=id, target=id),
        lambda id: graph.sample_neighbors(id, fanouts=[2]),
        lambda id: graph.subgraph(id, out="s.cenote"),
        lambda id: graph.walk(source=id),
        lambda id: graph.similar(pairs=[id]),
        lambda id: graph.degree([id]),
    ]
    for call in calls:
        for wrong in [b"\x01\x02", bytearray(b"a")]:
            with pytest.raises(TypeError, match=r"expected an integer or a string.*decode\(\)"):
                call(wrong)
    with pytest.raises(TypeError, match=r"vertices: b'ab' is bytes: decode\(\)"):
        cenote.components([], vertices=b"ab")
    with pytest.raises(cenote.InvalidInput, match="edges: row 1: b'ab': expected"):
        cenote.components([b"ab"])
    with pytest.raises(cenote.InvalidInput, match=r"the id b'a': .*decode\(\) bytes"):
        cenote.components([(b"a", b"b")])


def test_an_integer_is_no_new_id_of_a_graph_of_strings():
    with opened([("1", "x"), ("x", "y")]) as graph:
        assert graph.neighbors(1) == ["x"], "a look-up finds the vertex of its digits"
    with cenote.update("g.cenote", values="i64") as update:
        for change in [
            lambda: update.add(5, "x"),
            lambda: update.add("x", np.int64(5)),
            lambda: update.delete("x", 5),
            lambda: update.add_vertex(5),
            lambda: update.delete_vertex(5),
            lambda: update.set_value(5, 1),
            lambda: update.remove_value(5),
        ]:
            with pytest.raises(TypeError, match=r'the id 5: the ids of .* are strings: give "5"'):
                change()
        for edges in [[(5, 6)], np.array([[5, 6]]), pa.table({"a": [5], "b": [6]})]:
            words = "row 1: expected strings as ids, as those of the graph, not the integer 5"
            with pytest.raises(cenote.InvalidInput, match=words):
                update.add_all(edges)
            with pytest.raises(cenote.InvalidInput, match=words):
                update.delete_all(edges)
        assert update.add_all(pa.table({"a": pa.nulls(0), "b": pa.nulls(0)})) == 0
        assert len(update) == 0
        update.add("5", "x")
        # Text has no types, and pairs of integers in a file none but theirs, as in an import.
        Path("more.txt").write_text("7 x\n")
        np.array([[8, 9]], "<u8").tofile("more.u64")
        assert [update.add_all(name) for name in ["more.txt", "more.u64"]] == [1, 1]
    with cenote.open("g.cenote") as graph:
        assert {"5", "7", "8", "9"} <= set(graph.ids())
    with opened(NUMBERED), cenote.update("g.cenote") as update:
        update.add("1", 4)
        assert len(update) == 1
