"""Look-ups, edges, states and changes of graphs."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cenote


@pytest.fixture
def friends():
    """A small graph file with string ids."""
    cenote.import_graph([("ada", "bob"), ("bob", "cem")], "friends.cenote", memory="64MiB")
    return "friends.cenote"


def rows(graph):
    return {tuple(edge.values()) for edge in graph.edges().to_arrow().to_pylist()}


def test_neighbours_and_degrees_are_those_of_networkx(directed, random_graph):
    everyone = list(random_graph)
    lists = directed.neighbors(everyone)
    assert all(found.dtype == np.uint64 for found in lists)
    assert [found.tolist() for found in lists] == [sorted(random_graph[v]) for v in everyone]
    inward = directed.neighbors(np.array(everyone), direction="in", threads=1, memory=8 << 20)
    assert [found.tolist() for found in inward] == [
        sorted(random_graph.predecessors(v)) for v in everyone
    ]
    assert directed.neighbors(3).tolist() == sorted(random_graph[3])
    assert directed.neighbors([]) == []
    assert directed.degree(3) == random_graph.out_degree(3)
    assert directed.degree([10, 5000, 10], direction="in").tolist() == [
        random_graph.in_degree(v) for v in (10, 5000, 10)
    ]
    ids = directed.ids().tolist()
    assert directed.degree().tolist() == [random_graph.out_degree(v) for v in ids]
    assert directed.degree(direction="in").tolist() == [random_graph.in_degree(v) for v in ids]


def test_neighbours_have_weights(directed, undirected, random_graph, packages):
    found = directed.weighted_neighbors([3, 10])
    for vertex, (ids, weights) in zip([3, 10], found, strict=True):
        expected = {v: random_graph[vertex][v]["weight"] for v in random_graph[vertex]}
        assert dict(zip(ids.tolist(), weights.tolist(), strict=True)) == expected
    with cenote.open(packages) as graph, pytest.raises(cenote.Unsupported, match="no weights"):
        graph.weighted_neighbors("bash")
    assert undirected.degree(3, direction="in") == undirected.degree(3)
    ids, weights = directed.weighted_neighbors(3)
    assert (ids.tolist(), weights.tolist()) == tuple(part.tolist() for part in found[0])


def test_lists_that_are_looked_up_together_read_their_pages_of_ids_once(folder):
    """The read bytes of the process are those of the drive: files are read past the page cache."""
    edges = np.random.default_rng(4).integers(0, 40_000, (200_000, 2)) * 3
    for order in ("natural", "random"):
        cenote.import_graph(edges, "g.cenote", order=order, memory="64MiB", overwrite=True)
        with cenote.open("g.cenote") as graph:
            expected = graph.neighbors(graph.ids()[:5].tolist())
            before = bytes_read()
            lists = graph.neighbors(graph.ids()[:2000])
            pages = (bytes_read() - before) / 4096
        assert pages < 2 * Path("g.cenote").stat().st_size / 4096
        assert [found.tolist() for found in lists[:5]] == [found.tolist() for found in expected]


def bytes_read():
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).split()[1])


def test_a_direction_that_is_not_stored_is_refused():
    cenote.import_graph([(1, 2)], "g.cenote", directed=True)
    with cenote.open("g.cenote") as graph:
        for call in (graph.neighbors, graph.degree):
            with pytest.raises(cenote.Unsupported, match="in_edges"):
                call([1], direction="in")
        with pytest.raises(cenote.Unsupported, match="in_edges"):
            graph.degree(direction="in")


def test_edges_are_streamed_once_each(directed, undirected, random_graph, packages):
    expected = {(u, v, w) for u, v, w in random_graph.edges(data="weight")}
    assert rows(directed) == expected
    found = nx.Graph()
    found.add_weighted_edges_from(rows(undirected))
    plain = random_graph.to_undirected()
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in plain.edges}
    with cenote.open(packages) as graph:
        batches = list(graph.edges())
        assert sum(batch.num_rows for batch in batches) == graph.edge_count
        assert {batch.num_rows for batch in batches[:-1]} == {65536}
        frame = pl.DataFrame(graph.edges())
        graph.export("edges.parquet")
        # A reader that stops in the middle lets the thread of the edges end.
        next(iter(graph.edges()))
    assert frame.equals(pl.read_parquet("edges.parquet").select(frame.columns))


def test_an_export_is_imported_to_the_same_graph(packages):
    with cenote.open(packages) as graph:
        report = graph.export("edges.parquet")
        with pytest.raises(cenote.InvalidInput, match=r"edges\.parquet exists.*overwrite=True"):
            graph.export("edges.parquet")
        assert graph.export("edges.parquet", overwrite=True) == report
        assert report["edges"] == graph.edge_count
        assert report["file_bytes"] == Path("edges.parquet").stat().st_size
        with pytest.raises(cenote.InvalidInput, match="ending"):
            graph.export("edges.docx")
    assert pq.read_metadata("edges.parquet").num_rows == report["edges"]
    cenote.import_graph("edges.parquet", "again.cenote")
    with cenote.open("again.cenote") as again, cenote.open(packages) as graph:
        assert again.edges().to_arrow().equals(graph.edges().to_arrow())


def test_an_update_commits_at_its_end_and_not_after_an_exception(friends):
    with cenote.update(friends) as update:
        update.add("cem", "dil")
        update.delete("ada", "bob")
        update.add_vertex("eve")
        assert len(update) == 3
    assert (update.report["added"], update.report["deleted"]) == (1, 1)
    with cenote.open(friends) as graph:
        assert rows(graph) == {("bob", "cem"), ("cem", "dil")}
        assert set(graph.ids().to_pylist()) == {"ada", "bob", "cem", "dil", "eve"}
    with pytest.raises(RuntimeError, match="no"), cenote.update(friends) as update:  # noqa: PT012
        update.add("x", "y")
        raise RuntimeError("no")
    with cenote.update(friends):
        pass
    with cenote.open(friends) as graph:
        assert rows(graph) == {("bob", "cem"), ("cem", "dil")}
    with pytest.raises(cenote.InvalidInput, match="begin another"):
        update.add("x", "y")


def test_there_is_one_update_at_a_time(friends):
    with cenote.open(friends) as graph, graph.update() as update:
        update.add("cem", "dil")
        with pytest.raises(cenote.GraphLocked, match="another writer"):
            cenote.update(friends)
        # The open graph is as it was.
        update.commit()
        assert graph.vertex_count == 3
    assert cenote.check(friends)


def test_many_edges_are_added_and_deleted_from_tables_arrays_graphs_and_files(friends):
    sources = [
        [("ada", "dil"), ("dil", "eve")],
        pa.table({"by": ["eve"], "to": ["fay"], "more": [1]}),
        nx.Graph([("fay", "gil")]),
        "more.csv",
        iter([]),
    ]
    Path("more.csv").write_text("source,target\ngil,hal\nhal,ada\n")
    with cenote.update(friends) as update:
        read = [update.add_all(edges, source=1, target=2) for edges in sources[:2]]
        read += [update.add_all(edges) for edges in sources[2:]]
        assert read == [2, 1, 1, 2, 0]
        assert len(update) == 6
    assert (update.report["added"], update.report["new_vertices"]) == (6, 5)
    with cenote.open(friends) as graph:
        assert {("dil", "eve"), ("eve", "fay"), ("fay", "gil"), ("gil", "hal")} <= rows(graph)
    with cenote.update(friends) as update:
        assert update.delete_all([("dil", "eve", 7), ("eve", "fay", 1)]) == 2
        for edges, words in [
            ([("x", "y"), ("x", "")], "row 2: expected an id of 1 to 65535 bytes"),
            ("none.csv", "none.csv"),
            (np.zeros((2, 4)), "shape"),
        ]:
            with pytest.raises(cenote.CenoteError, match=words):
                update.add_all(edges)
        assert len(update) == 2, "nothing of an input with a fault is left"
    assert update.report["deleted"] == 2
    lonely = nx.Graph([("ada", "zoe")])
    lonely.add_node("yan")
    nameless = nx.Graph([("ada", "zoe")])
    nameless.add_node("")
    with cenote.update(friends) as update:
        with pytest.raises(cenote.InvalidInput, match="1 to 65535 bytes"):
            update.add_all(nameless)
        assert len(update) == 0, "nor is an edge beside a vertex with a fault"
        assert update.add_all(lonely) == 1
    with cenote.open(friends) as graph:
        assert {"yan", "zoe"} <= set(graph.ids().to_pylist())


def test_many_edges_of_numbers_and_weights_and_more_than_the_memory_holds():
    cenote.import_graph(np.array([[0, 1]]), "n.cenote")
    pairs = np.random.default_rng(1).integers(0, 100_000, (200_000, 2)).astype(np.uint32)
    with cenote.update("n.cenote") as update:
        assert update.add_all(pairs) == 200_000
    plain = {(min(u, v), max(u, v)) for u, v in pairs.tolist() if u != v}
    with cenote.open("n.cenote") as graph:
        assert graph.edge_count == len(plain | {(0, 1)})
    cenote.import_graph([(1, 2, 0.5)], "w.cenote", weights="f64")
    with cenote.update("w.cenote") as update:
        update.add_all((np.array([2, 3]), np.array([3, 4]), np.array([1.5, 2.5])))
        with pytest.raises(cenote.InvalidInput, match="third column"):
            update.add_all(np.array([[7, 8]]))
    with cenote.open("w.cenote") as graph:
        assert rows(graph) == {(1, 2, 0.5), (2, 3, 1.5), (3, 4, 2.5)}
    with cenote.update("n.cenote", memory="48MiB") as update:
        with pytest.raises(cenote.MemoryBudget, match="give at least"):
            update.add_all(np.vstack([pairs + 1_000_000] * 3))
        assert len(update) == 0
        update.add_all(pairs[:20_000] + 1_000_000)
        commits = 0
        while len(update) > 0:
            update.commit_what_fits()
            commits += 1
        assert commits > 0


def test_updates_of_weights_and_values():
    cenote.import_graph([(1, 2, 0.5), (2, 3, 4)], "w.cenote", weights="f64")
    with cenote.update("w.cenote") as update:
        update.add(3, 4, np.float64(2.25))
        update.add_all([(4, 5, 1), (5, 6, 1.5)])
        update.set_weight(1, 2, 9)
        update.delete(2, 3)
        update.set_value(1, 7)
        update.set_value(2, 8)
        update.remove_value(2)
        update.delete_vertex(6)
    assert update.report["reweighted"] == 1
    assert update.report["values_set"] == 2
    with cenote.open("w.cenote") as graph:
        assert rows(graph) == {(1, 2, 9.0), (3, 4, 2.25), (4, 5, 1.0)}
        assert graph.info()["values"] == {"type": "u64", "count": 1}
    twice = [(1, 2, 3), (2, 1, 5), (1, 3, 5)]
    cenote.import_graph(twice, "r.cenote", weights="u32", keep_duplicates=True)
    with cenote.update("r.cenote") as update:
        update.add(1, 2, 4)
        update.delete(1, 2)
        update.delete(1, 2, 5)
        update.delete(1, 2, 5)
        update.set_value(3, 1)
    assert (update.report["deleted"], update.report["absent"]) == (2, 1)
    with cenote.open("r.cenote") as graph:
        assert rows(graph) == {(1, 2, 4.0), (1, 3, 5.0)}
    with cenote.update("w.cenote") as update:
        for call, words in [
            (lambda: update.add(1, 2), "weight"),
            (lambda: update.add(1, 2, "much"), "the weight `much`"),
            (lambda: update.add("a", 2, 1), "the ids of this graph are integers"),
            (lambda: update.set_value(1, "x"), "the value `x`"),
        ]:
            with pytest.raises(cenote.InvalidInput, match=words):
                call()
        assert len(update) == 0
    with pytest.raises(cenote.MemoryBudget):
        cenote.update("w.cenote", memory=1000)


def test_snapshots_are_states_that_stay(friends):
    with cenote.open(friends) as graph:
        first = graph.snapshot("two friends")
        assert (first.name, first.vertices, first.edges) == ("two friends", 3, 2)
    with cenote.update(friends) as update:
        update.add("cem", "dil")
        update.delete("ada", "bob")
    with cenote.open(friends) as now, cenote.open(friends, at="two friends") as before:
        assert rows(before) == {("ada", "bob"), ("bob", "cem")}
        assert [snapshot.name for snapshot in now.snapshots()] == ["two friends"]
        changes = now.diff(before, out="changes.txt")
        assert (changes["added"], changes["deleted"], changes["new_vertices"]) == (1, 1, 1)
        assert now.diff(before) == changes
        assert set(Path("changes.txt").read_text().splitlines()) == {"+ cem dil", "- ada bob"}
        with pytest.raises(cenote.InvalidInput):
            before.diff(now)
    assert cenote.check(friends, at="two friends")
    with cenote.open(friends) as graph:
        with pytest.raises(cenote.InvalidInput, match="two friends"):
            graph.snapshot("two friends")
        assert graph.remove_snapshot("two friends").epoch == first.epoch
    with cenote.open(friends) as graph:
        assert graph.snapshots() == []


def test_large_commits_leave_no_runs_behind_at_the_end():
    ring = np.arange(160_000, dtype=np.uint64)
    cenote.import_graph((ring, (ring + 1) % 160_000), "ring.cenote", memory="64MiB")
    more = [(v * 7, v * 7 + 3) for v in range(20_000)]
    update = cenote.update("ring.cenote")
    update.add_all(more)
    update.commit()
    update.close()
    with cenote.open("ring.cenote") as graph:
        assert graph.info()["delta_changes"] == 40_000
        assert graph.edge_count == 180_000
    with cenote.update("ring.cenote"):
        pass
    with cenote.open("ring.cenote") as graph:
        assert graph.info()["delta_changes"] == 0
        assert graph.edge_count == 180_000


def test_merging_and_compacting_keep_the_edges(friends):
    with cenote.update(friends) as update:
        update.add("cem", "dil")
    with cenote.open(friends) as graph:
        assert graph.info()["logged_changes"] == 1
        assert graph.info()["dirty_pages"] == 1
        expected = rows(graph)
        assert graph.merge()["merged"] == 1
    report = cenote.compact(friends, memory="64MiB", threads=1)
    assert report["bytes_after"] < report["bytes_before"]
    cenote.compact(friends, out="copy.cenote", order="degree")
    for path, order in [(friends, "natural"), ("copy.cenote", "degree")]:
        with cenote.open(path) as graph:
            assert rows(graph) == expected
            assert graph.info()["order"] == order
            assert graph.info()["logged_changes"] == graph.info()["dirty_pages"] == 0
    with pytest.raises(cenote.InvalidInput, match="exists"):
        cenote.compact(friends, out="copy.cenote")


def test_a_check_finds_a_flipped_byte(friends):
    report = cenote.check(friends)
    assert report.pages > 2
    assert (report.faults, bool(report)) == ([], True)
    data = bytearray(Path(friends).read_bytes())
    data[-2000] ^= 1
    Path("bad.cenote").write_bytes(data)
    report = cenote.check("bad.cenote")
    assert not report
    assert len(report.faults) == report.faults_total >= 1
    assert "bad.cenote" in report.faults[0]
    with pytest.raises(FileNotFoundError):
        cenote.check("absent.cenote")


def test_an_open_graph_checks_and_compacts_its_file(friends):
    with cenote.update(friends) as update:
        update.delete_vertex("ada")
    with cenote.open(friends) as graph:
        assert graph.check() and graph.check().pages == cenote.check(friends).pages
        assert graph.compact(out="small.cenote", memory="64MiB")["deleted_vertices"] == 1
        assert graph.compact(memory="64MiB")["vertices"] == 2
        assert (graph.vertex_count, graph.array_length) == (2, 3), "it stays as it is"
        assert graph.neighbors("bob") == ["cem"]
    with cenote.open(friends) as graph, cenote.open("small.cenote") as small:
        assert (graph.vertex_count, graph.array_length) == (2, 2)
        assert rows(graph) == rows(small) == {("bob", "cem")}


def test_a_graph_is_a_container_of_ids(directed, packages):
    assert len(directed) == directed.vertex_count
    assert 3 in directed and np.uint64(3) in directed
    assert 4 not in directed and (3,) not in directed and None not in directed
    with cenote.open(packages) as graph:
        assert "bash" in graph and "no such" not in graph
        assert f"{graph.edge_count:,}" in graph._repr_html_()
    assert "closed" in graph._repr_html_()


def test_edges_are_tables_and_files(undirected, directed):
    edges = directed.edges()
    assert f"{directed.edge_count} directed" in repr(edges) and "directed.cenote" in repr(edges)
    frame = edges.to_pandas()
    assert frame.columns.tolist() == ["source", "target", "weight"]
    assert {tuple(row) for row in edges.to_polars().rows()} == rows(directed)
    assert edges.to_parquet("edges.parquet") == Path("edges.parquet").stat().st_size
    assert pq.read_metadata("edges.parquet").num_rows == len(frame) == directed.edge_count
    with pytest.raises(cenote.InvalidInput, match="exists"):
        edges.to_parquet("edges.parquet")
    with pytest.raises(cenote.InvalidInput, match="parquet"):
        edges.to_parquet("edges.csv")


def test_a_graph_describes_itself(directed, random_graph):
    info = directed.info()
    assert (info["vertices"], info["edges"]) == (len(random_graph), random_graph.size())
    assert (directed.vertex_count, directed.edge_count) == (info["vertices"], info["edges"])
    assert info["weights"]["type"] == "u32"
    assert directed.id_of(directed.vertex_of(17)) == 17
    with pytest.raises(cenote.CenoteError):
        directed.id_of(10**6)
    assert os.fspath(directed.path).endswith("directed.cenote")


def test_samples_are_neighbours_without_repeats(directed, random_graph):
    sample = directed.sample_neighbors([3, 10, 3, 5000], fanouts=[4, 3, 2], seed=5)
    assert sample.ids[: sample.seeds].tolist() == [3, 10, 5000]
    assert len(set(sample.ids.tolist())) == len(sample.ids)
    known, frontier = 3, {0, 1, 2}
    for (sources, targets), fanout in zip(sample.layers, [4, 3, 2], strict=True):
        edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
        assert len(set(edges)) == len(edges)
        assert set(targets.tolist()) <= frontier
        for target in frontier:
            found = [sample.ids[source] for source, to in edges if to == target]
            neighbours = set(random_graph[sample.ids[target]])
            assert set(found) <= neighbours
            assert len(found) == min(fanout, len(neighbours))
            assert found == sorted(found)
        # The new vertices are numbered in the order in which they are found.
        new = list(dict.fromkeys(s for s in sources.tolist() if s >= known))
        assert new == list(range(known, known + len(new)))
        frontier, known = set(new), known + len(new)
    assert known == len(sample.ids)


def test_samples_depend_on_the_seed_and_the_ids_alone(directed, random_graph, tmp_path):
    everyone = sorted(random_graph)
    cenote.import_graph(random_graph, "other.cenote", order="random", in_edges=True)

    def sampled(graph, **options):
        sample = graph.sample_neighbors(everyone, fanouts=[2, 2], **options)
        return [(s.tolist(), d.tolist()) for s, d in sample.layers], sample.ids.tolist()

    first = sampled(directed, seed=1)
    assert sampled(directed, seed=1, threads=1, memory=8 << 20) == first
    with cenote.open("other.cenote") as other:
        assert sampled(other, seed=1) == first
    assert sampled(directed, seed=2) != first
    inward = directed.sample_neighbors(10, fanouts=[1000], direction="in")
    assert inward.ids.tolist()[1:] == sorted(random_graph.predecessors(10))
    for wrong in [[], [3, 0]]:
        with pytest.raises(cenote.InvalidInput, match="fanouts"):
            directed.sample_neighbors(3, fanouts=wrong)
    with pytest.raises(cenote.UnknownVertex):
        directed.sample_neighbors([3, 4], fanouts=[2])


def test_a_graph_over_tiers_is_one_graph():
    edges = [(v, v * 7 % 1009) for v in range(1009)]
    for folder in ("fast", "slow"):
        Path(folder).mkdir()
    tiers = ["fast=fast:8MiB", "slow=slow:64MiB"]
    cenote.import_graph(edges, "tiered.cenote", tiers=tiers, tier_block="16KiB", memory="64MiB")
    cenote.import_graph(edges, "plain.cenote", memory="64MiB")
    with cenote.open("tiered.cenote") as graph, cenote.open("plain.cenote") as plain:
        assert [tier["name"] for tier in graph.info()["tiers"]] == ["fast", "slow"]
        assert (graph.wcc().labels == plain.wcc().labels).all()
        # Its pages move while it is open.
        with pytest.raises(cenote.GraphLocked):
            cenote.open("tiered.cenote")
    assert cenote.check("tiered.cenote")


def test_ids_that_no_graph_has_are_errors_of_python(packages):
    with cenote.open(packages) as graph:
        with pytest.raises(ValueError, match="surrogates"):
            graph.bfs("a\udcff")
        for text in ["", "no such", "bash\0", "b" * 100_000]:
            with pytest.raises(cenote.UnknownVertex):
                graph.neighbors(text)
        with pytest.raises(cenote.UnknownVertex):
            graph.neighbors([*["bash"] * 3, 7])


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_subgraphs_are_those_of_networkx(directed, undirected, random_graph, hops):
    for graph, whole in [(directed, random_graph), (undirected, random_graph.to_undirected())]:
        chosen = [3] if hops else list(whole)[::3]
        expected = nx.ego_graph(whole, 3, radius=hops) if hops else whole.subgraph(chosen)
        order = list if whole.is_directed() else sorted
        edges = {(*order((u, v)), w) for u, v, w in expected.edges(data="weight")}
        counts = graph.subgraph(chosen, hops=hops, out="part.cenote", memory="64MiB")
        assert (counts["vertices"], counts["edges"]) == (len(expected), len(edges))
        assert cenote.check("part.cenote")
        with cenote.open("part.cenote") as part:
            assert set(part.ids().tolist()) == set(expected)
            assert {(*order((u, v)), w) for u, v, w in rows(part)} == edges
        with pytest.raises(cenote.InvalidInput, match="exists"):
            graph.subgraph(chosen, out="part.cenote")
        os.remove("part.cenote")
        counts = graph.subgraph(chosen, hops=hops, out="part.parquet", overwrite=True)
        assert counts["isolated"] == len(list(nx.isolates(expected)))
        found = {tuple(edge.values()) for edge in pq.read_table("part.parquet").to_pylist()}
        assert {(*order((u, v)), w) for u, v, w in found} == edges
