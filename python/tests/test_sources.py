"""What is columns, rows and parts of a table, and the kinds of their ids."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import cenote

PATH = ["x", "y", "z"], ["y", "z", "w"]
FRAME = pd.DataFrame({"a": PATH[0], "b": PATH[1]})


def ids_of(edges, **options):
    ids = cenote.components(edges, memory="64MiB", **options).ids()
    return ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist()


@pytest.mark.parametrize(
    "column",
    [
        np.array,
        pd.Series,
        lambda ids: pd.Series(ids, dtype="category"),
        pl.Series,
        pa.array,
        lambda ids: pa.array(ids).dictionary_encode(),
        lambda ids: pa.chunked_array([ids[:1], ids[1:]]),
    ],
    ids=["numpy", "pandas", "categories", "polars", "arrow", "dictionary", "chunked"],
)
def test_a_tuple_of_columns_of_any_kind_is_columns(column):
    a, b = PATH
    for edges in [(column(a), column(b)), (column(a), b), (a, column(b))]:
        assert ids_of(edges) == ["w", "x", "y", "z"]
    cenote.import_graph((column(a), column(b)), "g.cenote")
    with cenote.open("g.cenote") as graph:
        assert graph.edge_count == 3
    with cenote.update("g.cenote") as update:
        assert update.add_all((column(["w"]), column(["v"]))) == 1
        with pytest.raises(cenote.InvalidInput, match="ids are integers or strings"):
            update.add_all(pd.DataFrame({"a": [1.5], "b": [2.5]}))
    weighted = (column(a), column(b), [0.5, 1.5, 2.5])
    cenote.import_graph(weighted, "w.cenote", weights="f64")
    with cenote.open("w.cenote") as graph:
        assert graph.edges().to_arrow()["weight"].to_pylist() == [2.5, 0.5, 1.5]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (PATH, "a tuple of 2 lists may be columns or rows: for columns give a tuple of arrays"),
        (list(map(np.array, PATH)), "a list of 2 ndarrays may be columns or rows"),
        (list(PATH), "row 1: the weight 'z': expected a number"),
        ((np.array([1, 2]), 3), "a int is none"),
        ([(1, 2), (1, 2, 3.0)], "row 2: (1, 2, 3.0): 3 items, not 2 as before"),
        ([(1, 2, 3.0)] * 70_000 + [(1, 2)], "row 70001: (1, 2): 2 items, not 3"),
        ([(1, 2, 3, 4)], "columns are a tuple of arrays"),
        (FRAME["a"], "a Series is one column of ids"),
        (pa.chunked_array([[1]]), "a ChunkedArray is one column of ids"),
        ([(True, 2)], "row 1: the id True"),
        ([(1, 2), (3, False)], "row 2: the id False"),
        (np.array([[True, False]]), "the type bool"),
        ((pd.to_datetime(pd.Series(["2020-01-01"])), pd.Series([1])), "the type datetime64"),
        ((pa.array([1, None]), pa.array([1, 2])), 'drop the nulls, then `astype("Int64")`'),
        (pd.DataFrame({"a": [1, None], "b": [1, 2]}), 'drop the nulls, then `astype("Int64")`'),
        (pd.DataFrame({"a": [1, "x"], "b": [1, 2]}), "Could not convert 'x'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Duplicate column names"),
        (pl.DataFrame({"a": [1], "b": [2]}, schema=dict.fromkeys("ab", pl.Int128)), "to Int64"),
        ([FRAME, FRAME.rename(columns={"a": "c"})], "table 2 has the columns c, b"),
        ([FRAME, pd.DataFrame({"a": [1], "b": [2]})], "row 4: expected strings"),
    ],
)
def test_what_is_not_clearly_edges_is_refused_in_one_line(edges, words):
    for call in [cenote.components, lambda edges: cenote.import_graph(edges, "h.cenote")]:
        with pytest.raises(cenote.InvalidInput) as raised:
            call(edges)
        message = str(raised.value)
        assert words in message and "\n" not in message and len(message) < 400, message
    assert os.listdir() == []


def test_an_id_is_no_truth_value(directed):
    for call in [directed.neighbors, directed.vertex_of, directed.bfs]:
        with pytest.raises(TypeError, match="True"):
            call(True)
    with pytest.raises(cenote.InvalidInput, match="vertices: expected integers"):
        cenote.import_graph([(1, 2)], "h.cenote", vertices=[True])


def parts():
    pq.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), "rows.parquet")
    FRAME.to_csv("rows.csv", index=False)
    yield pd.read_csv("rows.csv", chunksize=2)
    yield pq.ParquetFile("rows.parquet")
    yield pq.ParquetFile("rows.parquet").iter_batches(batch_size=2)
    yield pa.dataset.dataset("rows.parquet")
    yield pa.dataset.dataset("rows.parquet").scanner()
    yield pq.read_table("rows.parquet").to_batches(2)
    yield [FRAME, FRAME]
    yield FRAME, FRAME
    yield (pl.DataFrame(FRAME[at : at + 1]) for at in range(3))


def test_parts_of_a_table_are_read_one_after_the_other():
    for edges in parts():
        assert ids_of(edges, source="a", target="b") == ["w", "x", "y", "z"]
    for edges in parts():
        cenote.import_graph(edges, "g.cenote", overwrite=True, source="b", target="a")
        with cenote.open("g.cenote") as graph:
            assert graph.edge_count == 3
    with pytest.raises(TypeError, match=r"item 2 is \(1, 2\): expected a table"):
        cenote.components([FRAME, (1, 2)])

    def broken():
        yield FRAME
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cenote.import_graph(broken(), "h.cenote")


def test_strings_of_digits_stay_strings():
    padded = pl.DataFrame({"a": ["007", "7"], "b": ["1", "2"]})
    padded.write_parquet("padded.parquet")
    typed = [padded, padded.to_pandas(), padded.rows(), (padded["a"], padded["b"])]
    for edges in [*typed, "padded.parquet"]:
        assert ids_of(edges) == ["007", "1", "2", "7"]
        assert ids_of(edges, ids="integer") == [1, 2, 7]
        cenote.import_graph(edges, "g.cenote", overwrite=True)
        with cenote.open("g.cenote") as graph:
            assert graph.neighbors("7") == ["2"]
    assert ids_of([("1", "2")], vertices=["01"]) == ["01", "1", "2"]
    Path("padded.txt").write_text("007 1\n7 2\n")
    assert ids_of("padded.txt") == [1, 2, 7]


def test_no_edges_have_no_components_and_make_no_graph():
    strings = pl.DataFrame(schema={"a": pl.String, "b": pl.String})
    empty = [
        [],
        np.empty((0, 2)),
        pd.DataFrame({"a": [], "b": []}),
        pl.DataFrame({"a": [], "b": []}),
    ]
    for edges in [*empty, strings, pa.table({"a": pa.array([], pa.int32()), "b": []}), iter(())]:
        found = cenote.components(edges)
        assert (len(found), found.components, found.largest) == (0, 0, 0)
        assert found.to_arrow().num_rows == 0
    assert pa.types.is_large_string(cenote.components(strings).to_arrow()["vertex"].type)
    assert len(cenote.degrees([], keep_duplicates=True)) == 0
    for edges in [*empty, strings]:
        with pytest.raises(cenote.InvalidInput, match="a graph has one vertex at least"):
            cenote.import_graph(edges, "h.cenote")
    pl.DataFrame(schema={"a": pl.Int64, "b": pl.Int64}).write_parquet("none.parquet")
    Path("header.csv").write_text("a,b\n")
    for name in ["empty.txt", "empty.csv", "header.csv", "none.parquet"]:
        Path(name).touch()
        found = cenote.components(name)
        assert (len(found), found.components, found.largest) == (0, 0, 0)
        assert len(cenote.degrees(name, keep_duplicates=True)) == 0
        with pytest.raises(cenote.InvalidInput, match="no edges and no vertices found"):
            cenote.import_graph(name, "h.cenote")
    assert not Path("h.cenote").exists()


def test_edges_of_networkx_without_the_attribute_have_weight_1():
    graph = nx.Graph([(1, 2)])
    graph.add_edge(2, 3, km=4.0)
    cenote.import_graph(graph, "g.cenote", weight="km")
    with cenote.open("g.cenote") as found:
        assert found.edges().to_arrow()["weight"].to_pylist() == [1.0, 4.0]
    with pytest.raises(cenote.InvalidInput, match="no edge of the graph has this attribute"):
        cenote.import_graph(graph, "h.cenote", weight="miles")


def test_pairs_may_be_a_table(undirected):
    pairs = [(3, 10), (10, 17)]
    expected = undirected.similar(pairs=pairs, measure="common").scores.tolist()
    frame = pd.DataFrame(pairs, columns=["a", "b"])
    tables = [frame, pl.DataFrame(frame), pa.Table.from_pandas(frame), frame.astype(str)]
    for table in [*tables, frame.astype("uint16")]:
        assert undirected.similar(pairs=table, measure="common").scores.tolist() == expected
    for wrong, words in [
        (frame.assign(c=1), "3 columns"),
        (frame * 0.5, "Float64"),
        (pa.table({"a": [3, None], "b": [3, 3]}), "null"),
        (frame[:0], "no pair"),
    ]:
        with pytest.raises(cenote.InvalidInput, match=words):
            undirected.similar(pairs=wrong)
