"""The same graph in every format, written by others' writers, read by `cenote import`."""

import gzip
import json

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp


def graph(directed):
    """A small graph with gaps between its ids, which occur only in edges."""
    made = nx.gnm_random_graph(200, 900, seed=7, directed=directed)
    made.remove_nodes_from([v for v, degree in made.degree() if degree == 0])
    return nx.relabel_nodes(made, {vertex: 3 * vertex + 1 for vertex in made})


def write_text(folder, made):
    nx.write_edgelist(made, folder / "edges.txt", data=False)
    return ["edges.txt"]


def write_gzip(folder, made):
    nx.write_edgelist(made, folder / "edges.txt.gz", data=False)
    assert gzip.open(folder / "edges.txt.gz").read(1)
    return ["edges.txt.gz"]


def write_csv(folder, made):
    frame = pd.DataFrame(made.edges(), columns=["from", "to"])
    frame.insert(0, "weight", 1.5)
    frame.to_csv(folder / "edges.csv", index=False)
    return ["edges.csv", "--source-column", "from", "--target-column", "to"]


def write_adjacency(folder, made):
    nx.write_adjlist(made, folder / "edges.adjlist")
    return ["edges.adjlist"]


def write_parquet(folder, made):
    edges = np.array(made.edges())
    table = pa.table({"source": edges[:, 0], "target": edges[:, 1]})
    pq.write_table(table, folder / "edges.parquet", compression="zstd")
    return ["edges.parquet"]


def write_pairs(folder, made):
    np.array(made.edges(), "<u4").tofile(folder / "edges.u32")
    return ["edges.u32"]


def write_wide_pairs(folder, made):
    np.array(made.edges(), "<u8").tofile(folder / "edges.u64")
    return ["edges.u64"]


def write_matrix(folder, made):
    # Matrix Market counts from 1 and knows vertices by their number.
    edges = np.array(made.edges())
    size = edges.max()
    ones = np.ones(len(edges))
    matrix = sp.coo_matrix((ones, (edges[:, 0] - 1, edges[:, 1] - 1)), shape=(size, size))
    scipy.io.mmwrite(folder / "edges.mtx", matrix, field="pattern", symmetry="general")
    return ["edges.mtx"]


def write_graphalytics(folder, made):
    (folder / "edges.v").write_text("".join(f"{vertex}\n" for vertex in sorted(made)))
    nx.write_edgelist(made, folder / "edges.e", data=False)
    return ["edges.v", "edges.e"]


def exported(cenote, directed):
    """The graph that `cenote export` writes, as NetworkX reads it."""
    cenote("export", "graph.cenote", "--out", "again.tsv")
    kind = nx.DiGraph if directed else nx.Graph
    return nx.read_edgelist(cenote.folder / "again.tsv", nodetype=int, create_using=kind)


WRITERS = [
    write_text,
    write_gzip,
    write_csv,
    write_adjacency,
    write_parquet,
    write_pairs,
    write_wide_pairs,
    write_matrix,
    write_graphalytics,
]


@pytest.mark.parametrize("codec", ["raw", "packed"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_format_brings_the_same_graph(cenote, write, directed, codec):
    made = graph(directed)
    inputs = write(cenote.folder, made)
    flags = ["--directed", "--in-edges"] if directed else []
    told = cenote.json("import", *inputs, *flags, "--codec", codec, "--out", "graph.cenote")
    assert cenote.json("info", "graph.cenote")["codec"] == codec
    assert told["edges"] == made.number_of_edges()
    assert nx.utils.graphs_equal(exported(cenote, directed), made)
    assert cenote("check", "graph.cenote")
    vertices = list(made)[:20]
    ways = [(made.adj, [])] + ([(made.pred, ["--in"])] if directed else [])
    for neighbours, flag in ways:
        told = cenote("neighbors", "graph.cenote", *vertices, *flag, "--json").splitlines()
        found = [json.loads(line)["neighbors"] for line in told]
        assert found == [sorted(neighbours[vertex]) for vertex in vertices]


def test_names_survive_the_way_through(cenote):
    made = nx.les_miserables_graph()
    frame = pd.DataFrame(made.edges(), columns=["source", "target"])
    frame.to_csv(cenote.folder / "miserables.csv", index=False)
    cenote("import", "miserables.csv", "--out", "graph.cenote")
    cenote("export", "graph.cenote", "--out", "again.parquet")
    again = pq.read_table(cenote.folder / "again.parquet").to_pandas()
    found = nx.from_pandas_edgelist(again)
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in made.edges}
    neighbors = cenote.json("neighbors", "graph.cenote", "Valjean")["neighbors"]
    assert neighbors == sorted(made.adj["Valjean"])


def weighted_text(folder, made):
    nx.write_weighted_edgelist(made, folder / "edges.txt")
    return ["edges.txt"]


def weighted_data(folder, made):
    nx.write_edgelist(made, folder / "edges.edgelist", data=True)
    return ["edges.edgelist"]


def weighted_gzip(folder, made):
    table = nx.to_pandas_edgelist(made)[["weight", "target", "source"]]
    table.to_csv(folder / "edges.csv.gz", index=False)
    return ["edges.csv.gz"]


def weighted_tsv(folder, made):
    table = nx.to_pandas_edgelist(made).rename(columns={"weight": "km"})
    table.to_csv(folder / "edges.tsv", index=False, sep="\t")
    return ["edges.tsv", "--weight-column", "km"]


def weighted_parquet(folder, made):
    table = pa.Table.from_pandas(nx.to_pandas_edgelist(made), preserve_index=False)
    pq.write_table(table, folder / "edges.parquet")
    return ["edges.parquet"]


def weighted_matrix(folder, made):
    # Matrix Market knows vertices by their number, from 1.
    edges = np.array([(a, b) for a, b in made.edges])
    values = [made.edges[edge]["weight"] for edge in made.edges]
    size = edges.max()
    matrix = sp.coo_matrix((values, (edges[:, 0] - 1, edges[:, 1] - 1)), shape=(size, size))
    scipy.io.mmwrite(folder / "edges.mtx", matrix, symmetry="general")
    return ["edges.mtx"]


def weighted_graphalytics(folder, made):
    (folder / "edges.v").write_text("".join(f"{vertex}\n" for vertex in sorted(made)))
    nx.write_weighted_edgelist(made, folder / "edges.e")
    return ["edges.v", "edges.e"]


def weighted_metis(folder, made):
    # METIS is undirected, knows vertices by their number, and has integers for weights.
    size = max(made)
    lines = [f"{size} {made.number_of_edges()} 1"]
    for v in range(1, size + 1):
        targets = made.adj[v].items() if v in made else []
        lines.append(" ".join(f"{t} {data['weight']}" for t, data in targets))
    (folder / "edges.graph").write_text("\n".join(lines) + "\n")
    return ["edges.graph"]


@pytest.mark.parametrize("kind", ["f64", "u32"])
@pytest.mark.parametrize(
    "write",
    [
        weighted_text,
        weighted_data,
        weighted_gzip,
        weighted_tsv,
        weighted_parquet,
        weighted_matrix,
        weighted_graphalytics,
        weighted_metis,
    ],
    ids=lambda write: write.__name__,
)
def test_every_format_with_weights_brings_them(cenote, write, kind):
    directed = write is not weighted_metis
    made = graph(directed)
    rng = np.random.default_rng(9)
    is_float = kind in ["f32", "f64"] and write is not weighted_metis
    for edge in made.edges:
        number = int(rng.integers(1000))
        made.edges[edge]["weight"] = number / 4 if is_float else number
    inputs = write(cenote.folder, made)
    flags = ["--directed"] if directed else []
    cenote("import", *inputs, *flags, "--weights", kind, "--out", "graph.cenote")
    assert cenote("check", "graph.cenote")
    source = max(made, key=made.degree)
    cenote("run", "sssp", "graph.cenote", "--source", source, "--out", "out.csv")
    found = pd.read_csv(cenote.folder / "out.csv").dropna(subset="distance")
    found = dict(zip(found["vertex"].astype(int), found["distance"]))
    expected = nx.single_source_dijkstra_path_length(made, source)
    assert found == expected


@pytest.mark.parametrize("name", ["edges.adjlist", "edges.u32", "edges.u64"])
def test_formats_without_a_place_for_weights_say_so(cenote, name):
    (cenote.folder / name).write_bytes(b"1\n" * 32)
    error = cenote.error("import", name, "--weights", "f32", "--out", "graph.cenote")
    assert name in error and "weights" in error
    assert not (cenote.folder / "graph.cenote").exists()


@pytest.mark.parametrize(
    "kind, values", [("u64", [2**64 - 1, 0]), ("i64", [-(2**63), 5]), ("f64", [-0.25, 1e300])]
)
@pytest.mark.parametrize("prefix", ["", "v"])
def test_vertices_are_parquet_with_a_column_of_values(cenote, kind, values, prefix):
    names = [f"{prefix}{i}" for i in range(1, 6)]
    (cenote.folder / "edges.txt").write_text("".join(f"{names[0]} {name}\n" for name in names))
    cenote("import", "edges.txt", "--out", "graph.cenote")
    expected = dict.fromkeys(names) | dict(zip(names[1:], values, strict=False))
    lines = "".join(f"= {name} {value}\n" for name, value in expected.items() if value is not None)
    cenote("update", "graph.cenote", "--stdin", "--values", kind, stdin=lines.encode())
    cenote("export", "graph.cenote", "--vertices", "vertices.parquet")
    table = pq.read_table(cenote.folder / "vertices.parquet")
    types = {"u64": pa.uint64(), "i64": pa.int64(), "f64": pa.float64()}
    assert table.schema.field("value").type == types[kind]
    assert table.schema.field("vertex").type == (pa.string() if prefix else pa.uint64())
    found = dict(zip(table["vertex"].to_pylist(), table["value"].to_pylist(), strict=True))
    assert {str(name): value for name, value in found.items()} == expected
