"""Values of vertices at import."""

import os

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote

PATH = [("ada", "bob"), ("bob", "cem"), ("cem", "dil")]
AGES = {"ada": 36.5, "dil": 41.0}


def stored(path="g.cenote"):
    """The values of a graph by ids, and their type."""
    with cenote.open(path) as graph:
        vertices, values = graph.values()
        found = {graph.id_of(int(v)): value for v, value in zip(vertices, values, strict=True)}
        count = graph.info()["values"]
    assert cenote.check(path)
    return found, values.dtype, count


@pytest.mark.parametrize(
    "values",
    [
        AGES,
        (list(AGES), list(AGES.values())),
        (np.array(list(AGES)), np.array(list(AGES.values()), np.float32)),
        (np.array(list(AGES), object), pd.Series(AGES.values())),
        pl.DataFrame({"who": AGES.keys(), "age": AGES.values()}),
        pl.DataFrame({"who": [*AGES, "bob"], "age": [*AGES.values(), None]}),
        pa.table({"who": list(AGES), "age": list(AGES.values())}),
        pa.table({"who": pa.array(list(AGES)).dictionary_encode(), "age": list(AGES.values())}),
        pa.RecordBatch.from_pydict({"who": list(AGES), "age": list(AGES.values())}),
        pd.DataFrame({"who": AGES.keys(), "age": AGES.values()}),
        pl.DataFrame({"who": ["ada", "dil", "ada"], "age": [1.0, 41.0, 36.5]}),
    ],
    ids=lambda values: type(values).__name__,
)
def test_values_of_every_form_are_stored(values):
    cenote.import_graph(PATH, "g.cenote", values=values, memory="64MiB")
    assert stored()[:2] == (AGES, np.float64)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ({1: 5, 3: 2**64 - 1}, np.uint64),
        ({1: 5, 3: -7}, np.int64),
        ({1: 5, 3: -7.5}, np.float64),
        ({1: np.int8(5), 3: np.uint64(7)}, np.uint64),
        ((np.array([1, 3], np.int16), np.array([5, 7], np.int8)), np.int64),
        ((np.array([1, 3], np.uint64), np.array([5, 7], np.uint16)), np.uint64),
        ((np.array([1, 3]), np.array([5, 7], np.float16)), np.float64),
        (pa.table({"v": pa.array([1, 3], pa.uint32()), "x": pa.array([5, 7])}), np.int64),
    ],
)
def test_values_have_the_type_of_their_numbers(values, dtype):
    cenote.import_graph([(1, 2), (2, 3)], "g.cenote", values=values)
    found, kind, _ = stored()
    expected = values if isinstance(values, dict) else {1: 5, 3: 7}
    assert (found, kind) == (expected, dtype)


def test_ids_of_values_are_those_of_the_graph_whatever_their_form():
    """Strings of digits are integers where the ids of the edges are, as these are asked for."""
    cenote.import_graph([("7", "8")], "g.cenote", values={"7": 1, "8": 2}, ids="integer")
    assert stored()[0] == {7: 1, 8: 2}
    cenote.import_graph([("7", "x")], "h.cenote", values={7: 1})
    assert stored("h.cenote")[0] == {"7": 1}


def test_many_values_are_those_of_an_update():
    rng = np.random.default_rng(3)
    ids = rng.permutation(80_000).astype(np.uint64)
    values = rng.normal(size=len(ids))
    edges = (ids, np.roll(ids, 1))
    for order, budget in [("natural", "64MiB"), ("random", "256MiB")]:
        cenote.import_graph(
            edges, "g.cenote", values=(ids, values), order=order, memory=budget, overwrite=True
        )
        found, _, count = stored()
        assert found == dict(zip(ids.tolist(), values.tolist(), strict=True))
        assert count == {"type": "f64", "count": len(ids)}
    cenote.import_graph(edges, "u.cenote")
    with cenote.update("u.cenote") as update:
        for at in range(0, len(ids), 4):
            update.set_value(int(ids[at]), float(values[at]))
    cenote.import_graph(edges, "v.cenote", values=(ids[::4], values[::4]))
    assert stored("u.cenote")[0] == stored("v.cenote")[0]
    cenote.compact("u.cenote", out="c.cenote")
    cenote.compact("v.cenote", out="d.cenote")
    assert stored("c.cenote")[0] == stored("d.cenote")[0]


def test_values_come_beside_those_of_a_file_and_of_vertices_without_edges(folder):
    (folder / "v.txt").write_text("eve\t7\nada\t1\nfay\n")
    more = {"ada": 2.5, "fay": 3}
    cenote.import_graph(PATH, "g.cenote", vertices="v.txt", values=more)
    assert stored()[:2] == ({"eve": 7, "ada": 2.5, "fay": 3}, np.float64)
    cenote.import_graph(PATH, "h.cenote", vertices=["eve"], values={"eve": 9})
    assert stored("h.cenote")[0] == {"eve": 9}
    cenote.import_graph(PATH, "i.cenote", values={})
    assert stored("i.cenote")[2] is None
    weighted = nx.path_graph(3)
    cenote.import_graph(weighted, "j.cenote", values=dict(weighted.degree), in_edges=False)
    assert stored("j.cenote")[0] == {0: 1, 1: 2, 2: 1}


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"eve": 1}, cenote.UnknownVertex, "`eve`.*give it an edge"),
        ({7: 1}, cenote.UnknownVertex, "`7`"),
        ({"ada": "old"}, cenote.InvalidInput, "'old' of 'ada': expected a number"),
        ({"ada": True}, cenote.InvalidInput, "True of 'ada': expected a number"),
        ({"ada": 1.5, "bob": "2"}, cenote.InvalidInput, "'2' of 'bob'"),
        ({"ada": float("nan")}, cenote.InvalidInput, "row 1: expected"),
        ({"ada": 1, "bob": float("inf")}, cenote.InvalidInput, "row 2: expected"),
        ({"ada": -1, "bob": 2**63}, cenote.InvalidInput, "int64 holds not all"),
        ({"ada": 2**64}, cenote.InvalidInput, "uint64 holds not all"),
        ({"ada": 0.5, "bob": 2**53 + 1}, cenote.InvalidInput, "float64 holds not all"),
        ({"ada": 0.5, "bob": -(2**53) - 1}, cenote.InvalidInput, "float64 holds not all"),
        ({"ada": 1, 7: 1}, cenote.InvalidInput, "the id 7: expected a string"),
        ({7: 1, "ada": 1}, cenote.InvalidInput, "the id 'ada': expected an integer"),
        ({-7: 1}, cenote.InvalidInput, "the id -7"),
        ((["ada"], [1, 2]), cenote.InvalidInput, "two arrays of one length"),
        ((["ada"], ["x"]), cenote.InvalidInput, "expected integers or floats"),
        ((np.array([-1]), np.array([1])), cenote.InvalidInput, "row 1: .*-1"),
        (([1.5], [1]), cenote.InvalidInput, "the id 1.5"),
        (pl.DataFrame({"a": ["ada"]}), cenote.InvalidInput, "1 columns: expected two"),
        (pl.DataFrame({"a": ["ada"], "b": ["x"]}), cenote.InvalidInput, "`b` has no numbers"),
        (pl.DataFrame({"a": [0.5], "b": [1]}), cenote.InvalidInput, "`a` has no ids"),
        (pl.DataFrame({"a": ["bob", None], "b": [1, 1]}), cenote.InvalidInput, "row 2"),
        (7, TypeError, "values: a int: expected a mapping"),
        (["ada"], TypeError, "expected a mapping"),
        ("u8", cenote.InvalidInput, "values is u8"),
    ],
    ids=lambda item: type(item).__name__,
)
def test_wrong_values_leave_nothing(values, error, words):
    with pytest.raises(error, match=words) as raised:
        cenote.import_graph(PATH, "g.cenote", values=values)
    assert "\n" not in str(raised.value)
    assert os.listdir() == []


def test_whole_floats_are_integers_where_the_graph_has_integers():
    cenote.import_graph([(1, 2, 3), (2, 3, 4)], "g.cenote", weights="u32", values={1: 5})
    with cenote.update("g.cenote") as update:
        update.add(1, 3, weight=2.0)
        update.set_weight(1, 2, np.float32(7))
        update.set_value(2, 4.0)
    for wrong in (2.5, float("nan"), -1.0):
        with cenote.update("g.cenote") as update:
            with pytest.raises(cenote.InvalidInput, match=r"the weight .*expected an integer"):
                update.add(1, 3, weight=wrong)
            with pytest.raises(cenote.InvalidInput, match=r"the value .*expected an integer"):
                update.set_value(2, wrong)
    assert stored()[:2] == ({1: 5, 2: 4}, np.uint64)
    with cenote.open("g.cenote") as graph:
        edges = graph.edges().to_pandas()
    assert sorted(map(tuple, edges.to_numpy().tolist())) == [(1, 2, 7), (1, 3, 2), (2, 3, 4)]


def test_a_type_that_files_of_vertices_have_not_is_refused(folder):
    (folder / "v.txt").write_text("ada\t0.5\n")
    with pytest.raises(cenote.InvalidInput, match=r"v\.txt"):
        cenote.import_graph(PATH, "g.cenote", vertices="v.txt", values={"bob": 1})
    assert os.listdir() == ["v.txt"]
