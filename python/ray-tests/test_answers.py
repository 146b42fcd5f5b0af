"""Answers of shards are those of one machine, for any number of shards."""

import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
from conftest import KINDS

import cenote
import cenote.ray
from cenote.ray import _actor

VALUE_BYTES = {"degrees": 4, "pagerank": 8, "wcc": 4, "bfs": 1, "parents": 4, "sssp": 8}
VALUE_BYTES |= {"kcore": 4, "cdlp": 4}
LIMIT = 1.2

# The processes of shards cannot import this file.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


class OneShard(list):
    """The manifest of a shard that is not opened."""

    shards = (None,)


class Idle:
    """A program that does nothing."""

    def step(self, shard, superstep, shared, received):
        return [], {}


class Numbered:
    """A graph file whose answers are by number, as those of shards are."""

    def __init__(self, graph):
        self.graph = graph
        self.order = np.argsort(graph.ids(), kind="stable")
        self.number = np.empty(len(self.order), np.uint64)
        self.number[self.order] = np.arange(len(self.order))

    def values(self, values):
        return values[self.order]

    def vertices(self, vertices):
        found = vertices[self.order]
        none = np.uint64(2**64 - 1)
        known = self.number[np.minimum(found, len(self.number) - 1)]
        return np.where(found == cenote.UNREACHED, none, known)


def answers(graph, source):
    """For each run the columns of one machine, by number."""
    by, memory = Numbered(graph), {"memory": "64MiB"}
    degrees = graph.degrees(**memory)
    bfs = graph.bfs(source, parents=True, **memory)
    found = {
        "degrees": [by.values(degrees[column]) for column in degrees.columns],
        "pagerank": [by.values(graph.pagerank(**memory).ranks)],
        "wcc": [by.vertices(graph.wcc(**memory).labels)],
        "bfs": [by.values(bfs.levels)],
        "parents": [by.values(bfs.levels), by.vertices(bfs.parents)],
        "sssp": [by.values(graph.sssp(source, **memory).distances)],
    }
    if not graph.directed or graph.info()["in_edges"]:
        found["kcore"] = [by.values(graph.kcore(**memory).cores)]
        found["cdlp"] = [by.vertices(graph.cdlp(iterations=6, **memory).labels)]
    return found


def runs(sharded, source):
    return {
        "degrees": sharded.degrees,
        "pagerank": sharded.pagerank,
        "wcc": sharded.wcc,
        "bfs": lambda **options: sharded.bfs(source, **options),
        "parents": lambda **options: sharded.bfs(source, parents=True, **options),
        "sssp": lambda **options: sharded.sssp(source, **options),
        "kcore": sharded.kcore,
        "cdlp": lambda **options: sharded.cdlp(iterations=6, **options),
    }


# More of them take longer than `make test` has time for; all take longer than `make soak` has.
CASES = [
    ("undirected", 1),
    ("directed", 3),
    pytest.param("undirected", 7, marks=pytest.mark.long),
    pytest.param("in_edges", 2, marks=pytest.mark.long),
    pytest.param("repeated", 2, marks=pytest.mark.long),
]
if "CENOTE_RAY_LONG" in os.environ:
    CASES = [(kind, shards) for kind in KINDS for shards in (1, 2, 3, 4, 7)]


@pytest.mark.parametrize(("kind", "shards"), CASES)
def test_answers_are_those_of_one_machine_and_little_is_exchanged(kind, shards, graphs):
    folder, source = graphs(kind, shards), 7 * 1020
    with cenote.open(graphs(kind)) as graph:
        expected = answers(graph, source)
        tolerance = {"tolerance": 1e-4, "iterations": 60}
        until = graph.pagerank(memory="64MiB", **tolerance)
    with cenote.ray.open(folder, memory="32MiB", cpus=0.5) as sharded:
        boundary = sharded.manifest.boundary_vertices
        calls = runs(sharded, source)
        for name, columns in expected.items():
            result = calls[name]()
            for column, values in zip(result.columns, columns, strict=True):
                equal = np.array_equal(result[column], values, equal_nan=values.dtype.kind == "f")
                assert equal, (name, column)
            for step in result.stats.supersteps:
                assert step["bytes"] <= LIMIT * boundary * VALUE_BYTES[name], name
            assert result.stats.restarts == 0
            assert result.stats.memory_bytes_max <= 32 << 20
        found = sharded.pagerank(**tolerance)
        assert found.summary == {
            name: until.summary[name] for name in ("iterations", "change", "converged")
        }
        if kind == "directed":
            with pytest.raises(cenote.Unsupported, match="in_edges"):
                sharded.kcore()


def test_the_most_memory_of_a_process_does_not_fall(monkeypatch):
    # The peak without what is mapped now, which grows; then what tables need is loaded.
    found = [(10, 10), (40, 90), (40, 60), (20, 90), (50, 90), (40, 90), (80, 120)]
    monkeypatch.setattr(_actor, "memory_bytes", lambda: found.pop(0))
    actor = _actor.ShardActor(OneShard(), 0)
    actor._program, actor._shard = Idle(), None
    most = [actor.step(superstep, {})[0]["memory_bytes"] for superstep in range(2)]
    actor._load_arrow()
    most += [actor.step(superstep, {})[0]["memory_bytes"] for superstep in range(2)]
    assert (most, found) == ([80, 80, 80, 80], [])


def test_tables_name_vertices_by_the_users_ids(packages, sharded, folder):
    with cenote.open(packages[0]) as graph:
        search = graph.bfs("bash", parents=True, memory="64MiB").to_arrow()
        components = graph.wcc(memory="64MiB").to_arrow()
    found = sharded.bfs("bash", parents=True).to_arrow()
    assert found.column_names == ["id", "level", "parent"] and _same(found, search)
    paths = sharded.wcc().write("parts")
    table = pq.read_table("parts")
    assert len(paths) == 3 and table.column_names == ["id", "component"]
    assert _same(table, components)
    assert sharded.wcc().dataset().count() == sharded.vertex_count
    with pytest.raises(cenote.InvalidInput, match="no empty folder"):
        sharded.degrees().write("parts")


def test_ids_are_arrays_of_any_kind_and_no_bytes(sharded):
    expected = sharded.numbers_of(["bash", "vim"])
    column = pa.array(["bash", "vim"])
    for ids in [column, pa.chunked_array([column]), list(column), np.array(column), iter(column)]:
        assert sharded.numbers_of(ids) == expected
    assert sharded.numbers_of(column[1]) == expected[1:]
    for wrong in [b"bash", bytearray(b"bash"), [b"bash"]]:
        with pytest.raises(TypeError, match=r"expected an integer or a string.*decode\(\)"):
            sharded.numbers_of(wrong)
    with pytest.raises(TypeError, match=r"memory: expected bytes.*not a bool"):
        cenote.ray.open(sharded.manifest.folder, memory=True)


def _same(one, other):
    columns = zip(one.columns, other.columns, strict=True)
    return all(a.to_pylist() == b.to_pylist() for a, b in columns)


@pytest.mark.long
def test_tables_of_graphframes_become_shards_and_answers(folder):
    edges = pa.table({"src": ["a", "b", "x"], "dst": ["b", "c", "y"], "weight": [2.0, 0.5, 1.0]})
    pq.write_table(edges.slice(0, 2), "edges-1.parquet")
    pq.write_table(edges.slice(2), "edges-2.parquet")
    vertices = pa.table({"id": ["a", "b", "c", "lonely", "x", "y"], "age": [1, 2, 3, 4, 5, 6]})
    pq.write_table(vertices, "vertices.parquet")
    options = {"shards": 2, "vertices": "vertices.parquet", "memory": "64MiB", "weights": "f64"}
    cenote.ray.import_graph("edges-*.parquet", "g", **options)
    assert bool(cenote.check("g"))
    dataset = ray.data.from_arrow(pa.table({"src": [1, 2], "dst": [2, 3], "kind": ["x", "y"]}))
    cenote.ray.import_graph(dataset, "d", shards=2, memory="64MiB", directed=False)
    with cenote.ray.open("g", memory="32MiB", cpus=0.5) as graph:
        found = graph.sssp("a").to_arrow().to_pydict()
        assert found == {
            "id": ["a", "b", "c", "lonely", "x", "y"],
            "distance": [0.0, 2.0, 2.5, None, None, None],
        }
    with cenote.ray.open("d", memory="32MiB", cpus=0.5) as graph:
        found = graph.wcc().to_arrow().to_pydict()
        assert found == {"id": [1, 2, 3], "component": [1, 1, 1]}
    with pytest.raises(cenote.InvalidInput, match="no column 'from'"):
        cenote.ray.import_graph("edges-*.parquet", "h", shards=2, src="from")
    with pytest.raises(cenote.InvalidInput, match="no empty folder"):
        cenote.ray.import_graph("edges-*.parquet", "g", shards=2)
    with pytest.raises(TypeError, match="a list is no table"):
        cenote.ray.import_graph([(1, 2)], "h", shards=2)
    assert sorted(path.name for path in folder.iterdir()) == [
        "d",
        "edges-1.parquet",
        "edges-2.parquet",
        "g",
        "vertices.parquet",
    ]


@pytest.mark.long
def test_a_sample_does_not_depend_on_the_shards(graphs):
    with cenote.open(graphs("in_edges")) as graph:
        samples = []
        for shards in (1, 3):
            with cenote.ray.open(graphs("in_edges", shards), memory="32MiB", cpus=0.5) as sharded:
                for direction in ("out", "in"):
                    found = sharded.sample_neighbors(
                        [35, 7 * 1020, 35], fanouts=[4, 3], seed=9, direction=direction
                    )
                    samples.append(found)
                with pytest.raises(cenote.InvalidInput, match="fanouts"):
                    sharded.sample_neighbors(35, fanouts=[])
        for one, other in zip(samples[:2], samples[2:], strict=True):
            assert one.ids.tolist() == other.ids.tolist() and one.seeds == other.seeds == 2
            for left, right in zip(one.layers, other.layers, strict=True):
                assert [part.tolist() for part in left] == [part.tolist() for part in right]
        for direction, found in zip(("out", "in"), samples, strict=False):
            for most, (sources, targets) in zip([4, 3], found.layers, strict=True):
                for place in np.unique(targets):
                    neighbours = graph.neighbors(int(found.ids[place]), direction=direction)
                    own = found.ids[sources[targets == place]]
                    assert set(own.tolist()) <= set(neighbours.tolist())
                    assert len(own) == len(set(own.tolist())) == min(most, len(neighbours))


class Shortest(cenote.ray.VertexProgram):
    """Distances by the user's own program."""

    combine = "min"
    weights = True

    def __init__(self, source):
        self.source = source

    def start(self, vertices):
        return np.where(vertices.numbers == self.source, 0.0, np.inf)

    def send(self, edges, values):
        return values[edges.sources] + edges.weights

    def update(self, vertices, values, received, superstep):
        return np.minimum(values, received), received < values


class Walkers(cenote.ray.VertexProgram):
    """How many walks of a length end at each vertex."""

    combine = "sum"
    dtype = np.int64
    supersteps = 3

    def start(self, vertices):
        assert vertices.count >= len(vertices) == len(vertices.degrees)
        return np.ones(len(vertices), np.int64)

    def send(self, edges, values):
        return values[edges.sources]

    def update(self, vertices, values, received, superstep):
        return received, np.ones(len(vertices), bool)


def test_a_program_of_the_users_own_runs_on_all_shards(graphs):
    with cenote.open(graphs("undirected")) as graph:
        by, source = Numbered(graph), 7 * 1020
        distances = by.values(graph.sssp(source, memory="64MiB").distances)
        walks = np.ones(graph.vertex_count, np.int64)
        for _ in range(3):
            after = np.zeros_like(walks)
            for batch in graph.visit(memory="64MiB"):
                np.add.at(after, batch.targets, walks[batch.sources()])
            walks = after
    with cenote.ray.open(graphs("undirected", 3), memory="32MiB", cpus=0.5) as sharded:
        steps = []
        program = Shortest(sharded.numbers_of(source)[0])
        found = sharded.run(program, progress=lambda progress: steps.append(progress.done))
        assert np.array_equal(
            np.where(np.isinf(found["value"]), np.nan, found["value"]), distances, equal_nan=True
        )
        assert steps == list(range(len(found.stats.supersteps)))
        assert sharded.run(Walkers())["value"].tolist() == by.values(walks).tolist()
        assert len(sharded.run(Walkers()).stats.supersteps) == 4
