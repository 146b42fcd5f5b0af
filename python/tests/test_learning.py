"""Samples, features and mini-batches for graph neural networks; values and replays."""

import sys

import numpy as np
import pytest
from conftest import ROOT
from scipy import stats

import cenote

sys.path.insert(0, str(ROOT / "python" / "examples"))

import neighbor_loader


def test_samples_name_edges_of_the_graph(directed, random_graph):
    starts = np.cumsum(directed.degree()) - directed.degree()
    for replace in (False, True):
        for weights in (False, True):
            options = {"fanouts": [4, 3], "replace": replace, "weights": weights, "seed": 5}
            sample = directed.sample_neighbors([3, 10, 5000, 3], **options)
            again = directed.sample_neighbors([3, 10, 5000], threads=1, memory=8 << 20, **options)
            assert sample.ids.tolist() == again.ids.tolist() and sample.seeds == 3
            assert [directed.vertex_of(id) for id in sample.ids] == sample.vertices.tolist()
            numbers, frontier = [], sample.ids[:3]
            for fanout, (sources, targets), positions in zip(
                [4, 3], sample.layers, sample.positions, strict=True
            ):
                for source, target, at in zip(sources, targets, positions, strict=True):
                    neighbours = directed.neighbors(sample.ids[target])
                    assert neighbours[at] == sample.ids[source]
                for vertex in frontier:
                    degree = random_graph.out_degree(int(vertex))
                    wanted = fanout * (degree > 0) if replace else min(degree, fanout)
                    assert (sample.ids[targets] == vertex).sum() == wanted
                edges = starts[sample.vertices[targets]] + positions.astype(np.uint64)
                numbers.append(edges)
                known = set(sample.ids[: sample.seeds]) | set(frontier)
                frontier = [
                    v for v in dict.fromkeys(sample.ids[sources].tolist()) if v not in known
                ]
            if not replace:
                first = numbers[0]
                assert len(set(first.tolist())) == len(first)


def test_weighted_samples_have_the_distribution_of_numpy(directed):
    """The number of times that each neighbour is the only one, against its share of the weights."""
    (ids, weights), trials = directed.weighted_neighbors([3])[0], 400
    for replace in (False, True):
        options = {"fanouts": [1], "weights": True, "replace": replace}
        picks = [
            directed.sample_neighbors(3, seed=seed, threads=1, **options).positions[0][0]
            for seed in range(trials)
        ]
        counts = np.bincount(picks, minlength=len(ids))
        expected = weights / weights.sum() * trials
        assert stats.chisquare(counts, expected).pvalue > 1e-3
    with pytest.raises(cenote.InvalidInput, match="fanouts"):
        directed.sample_neighbors(3, fanouts=[], weights=True)


def test_each_neighbour_of_a_hub_is_as_likely_as_every_other(folder):
    """Over many seeds, in parts of a list that spans some 60 pages; of changed graphs, too."""
    edges = np.stack([np.zeros(60_000, dtype=np.uint64), np.arange(1, 60_001, dtype=np.uint64)])
    for order, codec in [("natural", "raw"), ("natural", "packed"), ("random", "packed")]:
        cenote.import_graph(
            edges.T, "h.cenote", order=order, codec=codec, memory="64MiB", overwrite=True
        )
        for is_changed in (False, True):
            if is_changed:
                with cenote.update("h.cenote") as update:
                    for v in range(1, 2_000):
                        update.delete(0, v)
            with cenote.open("h.cenote", memory=1 << 20) as graph:
                found = [
                    graph.sample_neighbors(0, fanouts=[50], seed=seed, threads=1)
                    for seed in range(60)
                ]
                degree = graph.degree(0)
            assert all(len(set(sample.ids[1:].tolist())) == 50 for sample in found)
            places = np.concatenate([sample.positions[0] for sample in found])
            assert degree == 60_000 - 1_999 * is_changed and places.max() < degree
            counts = np.bincount(places * 30 // degree, minlength=30)
            assert stats.chisquare(counts).pvalue > 1e-3


def test_weights_that_cannot_be_sampled_by_are_refused(packages):
    cenote.import_graph([(0, 1, -1.0), (0, 2, 1.0)], "n.cenote", weights="f64", directed=True)
    with cenote.open("n.cenote") as graph:
        with pytest.raises(cenote.InvalidInput, match="weight -1 of an edge is negative"):
            graph.sample_neighbors(0, fanouts=[1], weights=True)
        assert len(graph.sample_neighbors(0, fanouts=[1]).layers[0][0]) == 1
    with cenote.open(packages) as graph, pytest.raises(cenote.Unsupported, match="no weights"):
        graph.sample_neighbors("bash", fanouts=[1], weights=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", ">f8"])
def test_features_come_back_as_they_were(directed, dtype):
    n = directed.vertex_count
    rows = (np.arange(n * 13).reshape(n, 13) * 31 % 251).astype(dtype)
    parts = (rows[start : start + 60] for start in range(0, n, 60))
    for given in (rows, parts, np.asfortranarray(rows)):
        size = directed.write_features("x.features", given)
        x = directed.features("x.features")
        assert (x.shape, len(x), x.dtype) == ((n, 13), n, np.dtype(dtype).newbyteorder("="))
    assert size == (1 + -(-rows.nbytes // 4088)) * 4096
    vertices = np.random.default_rng(1).integers(n, size=90)
    assert (x[vertices] == rows[vertices]).all() and (x.fetch(range(n)) == rows).all()
    assert x[[]].shape == (0, 13)
    mask = np.arange(n) % 7 == 2
    assert (x[mask] == rows[mask]).all() and (x[3:9:2] == rows[3:9:2]).all()
    assert (x[5] == rows[5]).all() and x[np.int32(5)].shape == (13,)
    assert (x[{5}] == rows[[5]]).all() and (x[:] == rows).all()
    assert (np.stack(list(x)) == rows).all()
    with pytest.raises(cenote.InvalidInput, match="a boolean for each of"):
        x[mask[:-1]]


def test_features_that_do_not_fit_are_refused(directed, folder):
    n = directed.vertex_count
    for rows, options, message in [
        (np.zeros(n - 1), {}, "fewer rows than vertices"),
        (np.zeros(n + 1), {}, "more rows than vertices"),
        ([], {}, "no array"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], {}, "expected .vertices, 2."),
        (np.zeros((n, 0)), {}, "shape"),
        (np.array(["a"] * n), {}, "dtype is"),
        (np.zeros(n), {"dtype": "int8"}, "float64: int8 does not hold"),
        (np.full(n, 300), {"dtype": "uint8"}, "does not hold"),
    ]:
        with pytest.raises(cenote.InvalidInput, match=message):
            directed.write_features("x.features", rows, **options)
    assert list(folder.iterdir()) == []
    directed.write_features("x.features", np.zeros(n), dtype="float32")
    x = directed.features("x.features")
    with pytest.raises(cenote.InvalidInput, match=f"vertex {n}: there are {n}"):
        x[[0, n]]
    cenote.import_graph([(1, 2)], "other.cenote", memory="64MiB")
    with cenote.open("other.cenote") as other, pytest.raises(cenote.InvalidInput, match="another"):
        other.features("x.features")
    with pytest.raises(cenote.FileMissing):
        directed.features("y.features")
    damaged = bytearray((folder / "x.features").read_bytes())
    damaged[5000] ^= 4
    (folder / "x.features").write_bytes(damaged)
    with pytest.raises(cenote.CorruptGraph, match="page 1: the checksum"):
        directed.features("x.features").fetch([0])


def test_a_loader_yields_mini_batches_without_torch(directed, random_graph, monkeypatch):
    monkeypatch.setattr(neighbor_loader, "torch", None)
    n = directed.vertex_count
    directed.write_features("x.features", np.arange(2 * n, dtype=np.float32).reshape(n, 2))
    x, ids = directed.features("x.features"), directed.ids()
    options = {"batch_size": 16, "features": x, "shuffle": True, "direction": "in"}
    inputs = list(random_graph)[:50]
    loader = neighbor_loader.NeighborLoader(directed, [5, 2], inputs, **options)
    assert len(loader) == 4
    seen = []
    for data in loader:
        assert (ids[data.n_id[: data.batch_size]] == np.array(inputs)[data.input_id]).all()
        assert data.x[:, 0].tolist() == (2 * data.n_id).tolist()
        for source, target in ids[data.n_id[data.edge_index]].T:
            assert random_graph.has_edge(int(source), int(target))
        seen += data.input_id.tolist()
    assert sorted(seen) == list(range(50)) and seen != sorted(seen)
    assert [data.input_id.tolist() for data in loader] != seen, "another order in the next epoch"
    ahead = [
        [data.n_id.tolist() for data in neighbor_loader.NeighborLoader(
            directed, [5, 2], inputs, batch_size=16, prefetch=prefetch
        )]
        for prefetch in (0, 1, 9)
    ]  # fmt: skip
    assert len(ahead[0]) == 4 and ahead[0] == ahead[1] == ahead[2]
    first = next(iter(loader))
    assert first.batch_size == 16, "a loop may end early"
    with pytest.raises(cenote.UnknownVertex):
        list(neighbor_loader.NeighborLoader(directed, [2], ["none"]))
    neighbor_loader.main(directed.path, "x.features")


def test_replays_are_those_of_the_command():
    found = cenote.pool_replay(
        ["ms", "mu"], device="sim:p4510", policies="all", writers=["ace"], pages=500, ops=900,
        frames=50, sweep=("n_w", [1, 4]), seed=3,
    )  # fmt: skip
    assert len(found["rows"]) == 2 * 6 * 2 * 2, "loads, policies, writers, values"
    assert {row["writer"] for row in found["rows"]} == {"classical", "ace"}
    tiers = {"tiers": ["80us:1:32/8", "7000us:1:1"], "capacities": "10%", "cpu_ops": 0}
    found = cenote.tier_replay("uniform", policies="tlfu", pages=500, ops=900, **tiers)
    (row,) = found["rows"]
    assert (row["policy"], row["pages"], row["ops"]) == ("tlfu", 500, 900)
    for call, message in [
        (lambda: cenote.pool_replay("mx", device="sim:p4510"), "workloads: no workload"),
        (lambda: cenote.pool_replay("ms", device="sim:none"), "none"),
        (lambda: cenote.pool_replay("ms", device="sim:p4510", policies="mru"), "policies: .*mru"),
        (lambda: cenote.pool_replay("ms", device="sim:p4510", n_w=0), "n_w"),
        (lambda: cenote.pool_replay("ms", device="sim:p4510", frames=9, pool="2%"), "frames"),
        (lambda: cenote.pool_replay("ms", device="sim:p4510", sweep=("k", [1])), "sweep of k"),
        (lambda: cenote.pool_replay("ms", device="sim:p4510", read_share=50), "read_share is 50"),
        (lambda: cenote.pool_replay(device="sim:p4510"), "load"),
        (lambda: cenote.tier_replay("5hf90", policies="none"), "policies"),
        (lambda: cenote.tier_replay("5hf90", tiers="fast"), "tiers"),
        (lambda: cenote.tier_replay("5hf90", clients=1, interval_us=3), "clients"),
    ]:
        with pytest.raises(cenote.InvalidInput, match=message):
            call()
    with pytest.raises(cenote.FileMissing):
        cenote.pool_replay(traces="trace.txt", device="sim:p4510")


def test_components_go_on_from_a_file(folder):
    cenote.import_graph([(1, 2), (3, 4)], "g.cenote")
    with cenote.open("g.cenote") as graph:
        earlier = graph.wcc()
        earlier.to_parquet("c.parquet")
        graph.snapshot("before")
        with pytest.raises(cenote.InvalidInput, match="give one of them"):
            graph.wcc(since=earlier, since_file="c.parquet")
        with graph.update() as update:
            update.add(2, 3)
    with cenote.open("g.cenote") as graph:
        found = graph.wcc(since_file="c.parquet")
    assert (found.components, found.summary["since"]["added"]) == (1, 1)


def test_values_of_imported_vertices_have_the_type_that_is_given(folder):
    (folder / "v.txt").write_text("1\t5\n2\t6\n9\n")
    for values, expected in [(None, np.uint64), ("f64", np.float64), ("i64", np.int64)]:
        cenote.import_graph(
            [(1, 2)], "g.cenote", vertices="v.txt", values=values, overwrite=True, memory="64MiB"
        )
        with cenote.open("g.cenote") as graph:
            vertices, found = graph.values()
            assert (vertices.tolist(), found.tolist(), found.dtype) == ([0, 1], [5, 6], expected)
            assert (graph.value(2), graph.value(9), graph.vertex_count) == (6, None, 3)
    with pytest.raises(cenote.InvalidInput, match="values"):
        cenote.import_graph([(1, 2)], "h.cenote", vertices="v.txt", values="u8")


def test_samples_of_names_are_those_of_their_lists(folder):
    edges = [(f"a{v}", f"a{v * 7 % 40}") for v in range(40)] + [(f"a{v}", "a3") for v in range(40)]
    cenote.import_graph(edges, "g.cenote", order="random", memory="64MiB")
    with cenote.update("g.cenote") as update:
        for v in range(12):
            update.add("a3", f"{v}new")
        update.delete_vertex("a5")
    with cenote.open("g.cenote") as graph:
        found = graph.sample_neighbors("a3", fanouts=[300, 2], replace=True)
        (sources, targets), positions = found.layers[0], found.positions[0]
        neighbours = graph.neighbors("a3")
        assert len(sources) == 300 and set(targets) == {0}
        assert [found.ids[at] for at in sources] == [neighbours[at] for at in positions]
        assert {found.ids[at] for at in sources} == set(neighbours), "each at least once of 300"
        assert [graph.vertex_of(id) for id in found.ids] == found.vertices.tolist()
