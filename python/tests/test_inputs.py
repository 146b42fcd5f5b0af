"""Every source of edges makes the graph that a file of the same edges makes."""

import json
import os
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import cenote

EDGES = [(u * 7 % 401, u * 13 % 409) for u in range(3000)]
NAMED = [(f"u{u}", f"v-{v}") for u, v in EDGES]
WEIGHTS = [at % 17 + 0.5 for at in range(len(EDGES))]


def file_of(edges):
    """The bytes of the graph file of edges that are imported from text."""
    Path("edges.txt").write_text("".join(f"{' '.join(map(str, edge))}\n" for edge in edges))
    weights = "f64" if len(edges[0]) == 3 else None
    cenote.import_graph("edges.txt", "expected.cenote", weights=weights, overwrite=True)
    return Path("expected.cenote").read_bytes()


def imported(source, /, **options):
    """The bytes of the graph file of a source."""
    report = cenote.import_graph(source, "found.cenote", overwrite=True, **options)
    assert report["output_bytes"] == Path("found.cenote").stat().st_size
    return Path("found.cenote").read_bytes()


class OnlyStream:
    """What any other Arrow library hands out."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def test_nested_columns_count_as_one_in_files_and_tables():
    table = pa.table(
        {
            "tags": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "list": [[10, 11], [12]],
            "a": [1, 2],
            "place": [{"x": 20, "y": 21}, {"x": 22, "y": 23}],
            "b": [2, 3],
            "c": [4, 5],
        }
    )
    pq.write_table(table, "nested.parquet")

    def ids(edges, **options):
        return cenote.components(edges, **options).to_arrow()["vertex"].to_pylist()

    for edges in ["nested.parquet", table, pl.from_arrow(table.drop(["tags"]))]:
        shift = 0 if isinstance(edges, str | pa.Table) else 1
        assert ids(edges) == [1, 2, 3]
        assert ids(edges, source=5 - shift, target=6 - shift) == [2, 3, 4, 5]
        assert ids(edges, source="c", target=3 - shift) == [1, 2, 4, 5]
        for nested in ["list", 2 - shift, "place", 4 - shift]:
            with pytest.raises(cenote.InvalidInput, match="holds nested values") as raised:
                ids(edges, source=nested, target="b")
            assert "`source`" in str(raised.value)
            with pytest.raises(cenote.InvalidInput, match="holds nested values"):
                cenote.import_graph(edges, "h.cenote", source=nested, target="b")


def columns(edges):
    return [list(column) for column in zip(*edges, strict=True)]


def sources(edges):
    """The edges in every form without weights."""
    table = pa.table(dict(zip(["source", "target"], columns(edges), strict=True)))
    yield "list", edges
    yield "generator", (edge for edge in edges)
    yield "lists", [list(edge) for edge in edges]
    yield "pandas", table.to_pandas()
    yield "polars", pl.DataFrame(table)
    yield "table", table
    yield "batches", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(700))
    yield "stream", OnlyStream(table)
    yield "array", OnlyArray(table.to_batches()[0])
    yield "columns", tuple(np.array(column) for column in columns(edges))


@pytest.mark.parametrize("edges", [EDGES, NAMED], ids=["integers", "names"])
def test_edges_of_every_form_make_the_graph_of_the_file(edges):
    expected = file_of(edges)
    for form, source in sources(edges):
        assert imported(source) == expected, form


def test_arrays_of_every_type_make_the_graph_of_the_file():
    expected = file_of(EDGES)
    for kind in [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i4"]:
        assert imported(np.array(EDGES, dtype=kind)) == expected, kind
    assert imported(np.array(EDGES, order="F")) == expected
    assert imported(np.array(EDGES)[::-1]) == expected
    everyone = np.array(EDGES * 50)
    assert imported(everyone, memory="16MiB") == file_of([*EDGES] * 50)


def test_weights_of_every_form_make_the_graph_of_the_file():
    weighted = [(*edge, weight) for edge, weight in zip(EDGES, WEIGHTS, strict=True)]
    expected = file_of(weighted)
    u, v, w = (np.array(column) for column in columns(weighted))
    table = pa.table({"note": w * 0, "w": w, "to": v, "from": u})
    for source, options in [
        (weighted, {"weights": "f64"}),
        (iter(weighted), {"weights": "f64"}),
        ((u, v, w), {"weights": "f64"}),
        (np.array(weighted[:0] or weighted), None),
        (table, {"weight": "w", "source": "from", "target": "to"}),
        (table.to_pandas(), {"weight": "w", "source": 4, "target": 3}),
    ]:
        if options is None:
            # An array of floats has no column of ids.
            with pytest.raises(cenote.InvalidInput, match="expected integers"):
                imported(source, weights="f64")
            continue
        assert imported(source, **options) == expected
    # Without `weights` the third column is left out.
    assert imported(weighted) == imported((u, v, w)) == file_of(EDGES)
    whole = [(u, v, at % 5) for at, (u, v) in enumerate(EDGES)]
    assert imported(np.array(whole), weights="f64") == file_of(whole)


def test_matrices_of_scipy_are_graphs_of_their_entries():
    matrix = sp.random_array((300, 300), density=0.03, rng=4, format="csr")
    entries = matrix.tocoo()
    weighted = list(zip(*entries.coords, entries.data, strict=True))
    for form in ["csr", "csc", "coo", "lil"]:
        cenote.import_graph(
            matrix.asformat(form), "g.cenote", directed=True, weights="f64", overwrite=True
        )
        with cenote.open("g.cenote") as graph:
            assert graph.vertex_count == 300, "vertices without an entry are vertices"
            found = graph.edges().to_arrow().to_pylist()
        found = [(e["source"], e["target"], e["weight"]) for e in found]
        expected = [(u, v, w) for u, v, w in weighted if u != v]
        assert sorted(found) == sorted(expected), form
    components, _ = sp.csgraph.connected_components(matrix, directed=False)
    with cenote.open("g.cenote") as graph:
        assert graph.wcc().components == components
    large = sp.random_array((5000, 5000), density=0.004, rng=1, format="csr")
    cenote.import_graph(large, "g.cenote", directed=True, overwrite=True, keep_self_loops=True)
    with cenote.open("g.cenote") as graph:
        assert graph.edge_count == large.nnz > 1 << 16
    with pytest.raises(cenote.InvalidInput, match="square"):
        cenote.import_graph(sp.csr_array((3, 4)), "h.cenote")


def test_graphs_of_networkx_keep_vertices_directions_and_weights():
    plain = nx.Graph([("a", "b"), ("b", "c")])
    plain.add_node("alone")
    nx.set_edge_attributes(plain, {("a", "b"): 2.5, ("b", "c"): 4.0}, "km")
    cenote.import_graph(plain, "g.cenote", weight="km")
    with cenote.open("g.cenote") as graph:
        assert graph.ids().to_pylist() == ["a", "alone", "b", "c"]
        assert not graph.directed
        edges = graph.edges().to_arrow().to_pylist()
        assert [tuple(edge.values()) for edge in edges] == [("a", "b", 2.5), ("b", "c", 4.0)]
    cenote.import_graph(nx.MultiDiGraph([(1, 2), (1, 2), (2, 1)]), "d.cenote")
    with cenote.open("d.cenote") as graph:
        assert graph.directed
        assert graph.edge_count == 2
    unknown = nx.Graph()
    unknown.add_edge(1, 2, weight=None)
    with pytest.raises(cenote.InvalidInput, match="row 1: the weight None"):
        cenote.import_graph(unknown, "h.cenote", weights="f32")


def test_files_are_one_path_several_or_a_pattern():
    expected = file_of(EDGES)
    os.mkdir("parts")
    for at in range(3):
        part = pa.table(dict(zip("ab", columns(EDGES[at * 1000 :][:1000]), strict=True)))
        pq.write_table(part, f"parts/{at}.parquet")
    everything = [Path(f"parts/{at}.parquet") for at in range(3)]
    assert imported(everything) == imported("parts/*.parquet") == expected
    assert imported(["parts/[01].parquet", "parts/2.parquet"]) == expected
    assert imported("parts/1.parquet", source="b", target="a") == imported(
        [edge[::-1] for edge in EDGES[1000:2000]]
    )
    with pytest.raises(cenote.InvalidInput, match="no file matches"):
        imported("nothing/*.parquet")
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
        imported("nothing.txt")


def test_vertices_may_have_no_edge():
    cenote.import_graph([(1, 2)], "g.cenote", vertices=[7, np.int32(9)])
    with cenote.open("g.cenote") as graph:
        assert graph.ids().tolist() == [1, 2, 7, 9]
    Path("people.txt").write_text("ada\nbob\n")
    cenote.import_graph([], "h.cenote", vertices="people.txt")
    with cenote.open("h.cenote") as graph:
        assert graph.ids().to_pylist() == ["ada", "bob"]
    for wrong in [[1, "a"], [-1], [1.5]]:
        with pytest.raises(cenote.InvalidInput, match="vertices: expected"):
            cenote.import_graph([(1, 2)], "i.cenote", vertices=wrong)


def test_the_report_of_an_import_has_its_figures_and_replaces_no_input():
    Path("edges.txt").write_text("1 2\n2 3\n")
    found = cenote.import_graph("edges.txt", "g.cenote", report="import.html")
    page = Path("import.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert data["result"] | found == data["result"]
    for wrong in ["import.txt", "edges.txt", "g.cenote"]:
        with pytest.raises(cenote.InvalidInput, match=wrong):
            cenote.import_graph("edges.txt", "h.cenote", report=wrong)
    assert not Path("h.cenote").exists()


def test_options_of_an_import_reach_the_library():
    report = cenote.import_graph(
        EDGES * 2, "g.cenote", directed=True, in_edges=True, order="random", seed=7,
        page_bytes=8192,
        codec="packed", hub_neighbours=True, keep_duplicates=True, keep_self_loops=True,
        ids="string", threads=2, temp_dir=".", memory=32 << 20,
    )  # fmt: skip
    with cenote.open("g.cenote") as graph:
        info = graph.info()
    assert (report["threads"], report["duplicates"] > 0) == (2, True)
    assert (info["order"], info["order_seed"], info["page_size"]) == ("random", 7, 8192)
    assert (info["codec"], info["hub_neighbours"], info["ids"]) == ("packed", True, "string")
    assert info["directed"] and info["in_edges"] and info["duplicates_kept"]
    assert info["self_loops_kept"]
    for options in [{}, {"order": "auto"}]:
        report = cenote.import_graph(EDGES, "h.cenote", overwrite=True, **options)
        assert report["order"] == "natural" and "saves little" in report["order_reason"]
    report = cenote.import_graph(EDGES, "h.cenote", overwrite=True, order="cluster")
    assert report["order"] == "cluster" and report["order_reason"] is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "no edges and no vertices"),
        ([(1, 2), (3,)], "row 2: (3,): expected (source, target)"),
        ([(1, 2), 7], "row 2: 7: expected (source, target)"),
        (["ab"] * 2 + [1], "row 1: 'ab': expected"),
        ([(1, 2, 3, 4)], "row 1: (1, 2, 3, 4): expected"),
        ([(1, "a")], "integers, the other strings"),
        ([("a", 1)], "integers, the other strings"),
        ([(1, 2), (-1, 2)], "row 2: the id -1: expected an integer from 0 to 2^64 - 1"),
        ([(2**64, 1)], "row 1: the id 18446744073709551616"),
        ([(1.0, 2.0)], "row 1: the id 1.0"),
        ([(None, 2)], "row 1: the id None"),
        ([("", "b")], "row 1"),
        ([("a\udcff", "b")], "not UTF-8"),
        ([(1, 2)] * 70_000 + [("a", "b")], "row 70001: the id 'a'"),
        ([(1, 2)] * 65_536 + [("a", "b")], "some ids are integers and others strings"),
        (np.zeros((3, 4), dtype=int), "shape (n, 2) or (n, 3), not (3, 4)"),
        (np.array([[1, -2]]), "row 1"),
        ((np.array([1, 2]), np.array([1])), "different lengths: [1, 2]"),
        (pa.table({"source": [1, None], "target": [1, 2]}), "row 2"),
        (pa.table({"source": [1]}), "two columns"),
        (pd.DataFrame({"a": [1.5], "b": [2]}), "choose others with `source` and `target`"),
        (OnlyArray(pa.array([1, 2])), "struct of columns"),
    ],
)
def test_bad_edges_are_refused_in_one_line(source, words):
    with pytest.raises(cenote.InvalidInput) as raised:
        cenote.import_graph(source, "h.cenote")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert os.listdir() == []


def test_columns_of_a_parquet_file_that_do_not_fit_are_named(folder):
    rows = pl.DataFrame({"ts": [1, 2], "user": ["a", "b"], "item": ["x", "y"]})
    rows.write_parquet("rows.parquet")
    for source in ("rows.parquet", rows):
        with pytest.raises(cenote.InvalidInput, match=r"ts and user.*`source` and `target`"):
            cenote.import_graph(source, "h.cenote")
        with pytest.raises(cenote.InvalidInput, match="usr: no such column; there are: ts, user"):
            cenote.import_graph(source, "h.cenote", source="usr", target="item")
        cenote.import_graph(source, "g.cenote", source="user", target="item", overwrite=True)
        with cenote.open("g.cenote") as graph:
            assert graph.ids().to_pylist() == ["a", "b", "x", "y"]
    with pytest.raises(TypeError, match=r"a LazyFrame is no source.*collect"):
        cenote.import_graph(pl.scan_parquet("rows.parquet"), "h.cenote")


def test_bad_calls_are_refused():
    calls = [
        (TypeError, "a int is no source", {"edges": 7}),
        (TypeError, "NoneType", {"edges": None}),
        (cenote.InvalidInput, "weights is f16", {"weights": "f16"}),
        (cenote.InvalidInput, "order is x", {"order": "x"}),
        (cenote.InvalidInput, "format is x", {"format": "x"}),
        (cenote.InvalidInput, "memory is 'much': expected a size", {"memory": "much"}),
        (cenote.MemoryBudget, "`memory` of 65536", {"memory": 65536}),
        (cenote.InvalidInput, "row 1", {"weights": "f32"}),
        (cenote.InvalidInput, "`threads`", {"threads": 1000}),
        (TypeError, "", {"threads": "two"}),
    ]
    for kind, words, options in calls:
        edges = options.pop("edges", [(1, 2)])
        with pytest.raises(kind) as raised:
            cenote.import_graph(edges, "h.cenote", **options)
        assert words in str(raised.value), raised.value
    assert os.listdir() == []
    cenote.import_graph([(1, 2)], "h.cenote")
    with pytest.raises(cenote.InvalidInput, match="`overwrite`"):
        cenote.import_graph([(1, 2)], "h.cenote")


def test_memory_does_not_grow_with_an_iterable():
    resource = pytest.importorskip("resource")
    cenote.import_graph(((v, v + 1) for v in range(1000)), "warm.cenote", memory="16MiB")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    edges = ((v % 50_000, v * 7 % 50_021) for v in range(1_000_000))
    cenote.import_graph(edges, "g.cenote", memory="16MiB")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # A million rows of Python objects would be some 100 MiB.
    assert grown < 48 << 10, f"{grown} KiB"


def test_a_broken_stream_is_an_error():
    def batches():
        yield pa.record_batch({"source": [1], "target": [2]})
        raise ValueError("the disk is on fire")

    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(cenote.CenoteError, match="the disk is on fire"):
        cenote.import_graph(reader, "h.cenote")
    assert os.listdir() == []


@pytest.mark.parametrize("edges", [EDGES, NAMED], ids=["integers", "names"])
def test_components_of_every_form_are_those_of_the_graph(edges):
    file_of(edges)
    with cenote.open("expected.cenote") as graph:
        expected = graph.wcc()
        summary, labels, table = expected.summary, expected.labels.copy(), expected.to_arrow()
    for form, source in [*sources(edges), ("path", "edges.txt"), ("pattern", "edge*.txt")]:
        found = cenote.components(source, memory="64MiB")
        assert isinstance(found, cenote.Components), form
        assert found.summary == summary and (found.labels == labels).all(), form
        assert found.to_arrow().equals(table), form
    assert found.stats["input_edges"] == len(edges) and found.stats["algorithm"] == "wcc"
    assert len(found) == len(found.ids()) == len(labels) and not len(found.deleted())
    cenote.components(edges, out="found.csv", vertices=["alone"] if edges is NAMED else [10**18])
    expected.write("expected.csv")
    rows = [Path(name).read_text().splitlines() for name in ("found.csv", "expected.csv")]
    assert len(set(rows[0]) - set(rows[1])) == 1


def test_components_refuse_what_an_import_refuses():
    with pytest.raises(cenote.MemoryBudget, match="vertices"):
        cenote.components(np.arange(2_000_000).reshape(-1, 2), memory="8MiB", threads=1)
    with pytest.raises(cenote.InvalidInput, match="row 2"):
        cenote.components([(1, 2), (3, -4)])
    with pytest.raises(cenote.FileMissing):
        cenote.components("missing.txt")
    with pytest.raises(cenote.InvalidInput, match="npy"):
        cenote.components(NAMED, out="found.npy")
    with pytest.raises(ZeroDivisionError):
        cenote.components((u // (5 - u), u) for u in range(9))
