"""Every algorithm, against NetworkX."""

import inspect
import itertools
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import cenote
from cenote import Graph

MEMORY = "32MiB"


def by_id(result, values):
    return dict(zip(result.ids().tolist(), values.tolist(), strict=True))


def groups(labels):
    found = {}
    for vertex, label in labels.items():
        found.setdefault(label, set()).add(vertex)
    return sorted(map(sorted, found.values()))


@pytest.fixture(scope="module")
def plain(random_graph):
    return random_graph.to_undirected()


def test_levels_and_parents_are_those_of_networkx(directed, random_graph):
    search = directed.bfs(3, parents=True, memory=MEMORY)
    levels = nx.single_source_shortest_path_length(random_graph, 3)
    found = by_id(search, search.levels)
    assert {v: level for v, level in found.items() if level != cenote.UNREACHED} == levels
    assert found[5000] == cenote.UNREACHED
    assert (search.reached, search.depth) == (len(levels), max(levels.values()))
    ids = search.ids()
    for vertex, parent in enumerate(search.parents.tolist()):
        if parent != cenote.UNREACHED and search.levels[vertex] > 0:
            assert random_graph.has_edge(ids[parent], ids[vertex])
            assert levels[ids[parent]] + 1 == levels[ids[vertex]]


def test_sources_and_targets_may_be_several(directed, random_graph):
    search = directed.bfs([3, np.int64(10)], target=[17], parents=True)
    expected = min(nx.shortest_path_length(random_graph, source, 17) for source in (3, 10))
    (target,) = search.summary["targets"]
    assert target["level"] == expected and len(target["path"]) == expected + 1
    assert search.summary["sources"] == 2


@pytest.mark.parametrize("strategy", ["auto", "block", "vertex"])
def test_components_are_those_of_networkx(directed, random_graph, strategy):
    weak = directed.wcc(strategy=strategy, threads=2, memory=MEMORY)
    assert groups(by_id(weak, weak.labels)) == sorted(
        map(sorted, nx.weakly_connected_components(random_graph))
    )
    assert weak.components == nx.number_weakly_connected_components(random_graph)
    strong = directed.scc(memory=MEMORY)
    assert groups(by_id(strong, strong.labels)) == sorted(
        map(sorted, nx.strongly_connected_components(random_graph))
    )
    # A label is the smallest id.
    assert all(strong.labels <= np.arange(len(strong)))


def test_ranks_are_those_of_networkx(directed, random_graph):
    result = directed.pagerank(tolerance=1e-12, damping=0.8, memory=MEMORY)
    expected = nx.pagerank(random_graph, alpha=0.8, tol=1e-14, max_iter=1000, weight=None)
    found = by_id(result, result.ranks)
    assert found == pytest.approx(expected, abs=1e-9)
    personal = directed.pagerank(tolerance=1e-12, personalize=[3, 10])
    expected = nx.pagerank(
        random_graph, tol=1e-14, max_iter=1000, weight=None, personalization={3: 1, 10: 1}
    )
    assert by_id(personal, personal.ranks) == pytest.approx(expected, abs=1e-9)


def test_the_surfer_returns_to_vertices_by_their_weights(directed, random_graph):
    weights = {3: 1.0, 10: 5.0, 17: 0.0, 24: 0.25}
    result = directed.pagerank(tolerance=1e-12, personalize=weights, memory=MEMORY, verify=True)
    expected = nx.pagerank(
        random_graph, tol=1e-14, max_iter=1000, weight=None, personalization=weights
    )
    assert by_id(result, result.ranks) == pytest.approx(expected, abs=1e-9)
    equal = directed.pagerank(personalize=dict.fromkeys([3, 10], 7))
    assert (equal.ranks == directed.pagerank(personalize=[10, 3]).ranks).all()
    for wrong in [{3: -1.0}, {3: float("nan")}, {3: 0.0}, {3: float("inf")}, {3: 1e308, 10: 1e308}]:
        with pytest.raises(cenote.InvalidInput, match="personalize"):
            directed.pagerank(personalize=wrong)


def test_weighted_ranks_are_those_of_networkx(directed, undirected, random_graph, plain, packages):
    for graph, oracle in [(directed, random_graph), (undirected, plain)]:
        for starts in (None, [3, 10]):
            result = graph.pagerank(weighted=True, tolerance=1e-12, personalize=starts)
            expected = nx.pagerank(
                oracle,
                tol=1e-14,
                max_iter=1000,
                personalization=starts and dict.fromkeys(starts, 1),
            )
            assert by_id(result, result.ranks) == pytest.approx(expected, abs=1e-9)
        assert graph.estimate("pagerank", weighted=True)["memory_bytes"] > 0
    with cenote.open(packages) as graph, pytest.raises(cenote.Unsupported, match="with weights"):
        graph.pagerank(weighted=True)


def test_distances_are_those_of_networkx(directed, undirected, random_graph, plain):
    for graph, oracle, missing in [(directed, random_graph, 2**64 - 1), (undirected, plain, None)]:
        result = graph.sssp(3, parents=True, memory=MEMORY)
        expected = nx.single_source_dijkstra_path_length(oracle, 3)
        found = by_id(result, result.distances)
        none = {v for v, d in found.items() if d == missing or math.isnan(d)}
        assert none == set(oracle) - set(expected)
        assert {v: d for v, d in found.items() if v not in none} == expected
        assert result.parents.dtype == np.uint32


def test_centrality_is_that_of_networkx(directed, random_graph):
    every = list(random_graph)
    result = directed.betweenness(every, scale="normalized", memory=MEMORY)
    expected = nx.betweenness_centrality(random_graph)
    assert by_id(result, result.betweenness) == pytest.approx(expected, abs=1e-12)
    sampled = directed.betweenness(samples=7, seed=3)
    assert sampled.summary["sources"] == 7


@pytest.mark.parametrize("outgoing", [False, True])
def test_distance_centralities_are_near_to_those_of_networkx(directed, random_graph, outgoing):
    found = directed.hyperball(registers=4096, outgoing=outgoing, verify=True, memory=MEMORY)
    # NetworkX takes distances towards a vertex.
    towards = random_graph.reverse() if outgoing else random_graph
    error = found.summary["error"]
    assert error == pytest.approx(1.106 / 64)
    assert found.summary["converged"]
    for values, expected in [
        (found.harmonic, nx.harmonic_centrality(towards)),
        (found.closeness, nx.closeness_centrality(towards)),
        (found.reachable, {v: len(nx.ancestors(towards, v)) + 1 for v in towards}),
    ]:
        assert by_id(found, values) == pytest.approx(expected, rel=5 * error, abs=1e-6)
    distances = [
        distance
        for _, of_one in nx.all_pairs_shortest_path_length(random_graph)
        for distance in of_one.values()
    ]
    pairs = np.cumsum(np.bincount(distances))
    assert found.neighborhood.tolist() == pytest.approx(pairs.tolist(), rel=3 * error)
    assert found.average_distance == pytest.approx(
        sum(distances) / np.count_nonzero(distances), rel=0.03
    )


def test_similarities_are_those_of_networkx(undirected, plain):
    pairs = list(itertools.islice(itertools.combinations(plain, 2), 0, None, 7))
    for measure, oracle in [
        ("jaccard", nx.jaccard_coefficient),
        ("adamic_adar", nx.adamic_adar_index),
    ]:
        expected = [score for _, _, score in oracle(plain, pairs)]
        found = undirected.similar(pairs=np.array(pairs), measure=measure, memory=MEMORY)
        assert found.scores.tolist() == pytest.approx(expected, rel=1e-7)
    common = undirected.similar(pairs=pairs, measure="common").scores.tolist()
    assert common == [len(set(nx.common_neighbors(plain, u, v))) for u, v in pairs]
    with open("pairs.txt", "w") as file:
        file.writelines(f"{u}\t{v}\n" for u, v in pairs)
    overlap = undirected.similar(pairs_file="pairs.txt", measure="overlap").scores.tolist()
    least = [max(min(plain.degree(u), plain.degree(v)), 1) for u, v in pairs]
    assert overlap == [count / of for count, of in zip(common, least, strict=True)]
    with pytest.raises(cenote.InvalidInput, match="no pair"):
        undirected.similar(pairs=[])
    with pytest.raises(cenote.InvalidInput, match="expected two"):
        undirected.similar(pairs=[(1, 2, 3)])


def test_the_most_similar_vertices_are_those_of_networkx(undirected, plain):
    top = undirected.similar([3, 10], top=5, verify=True, memory=MEMORY)
    table = top.to_arrow()
    rows = list(zip(*(table[name].to_pylist() for name in top.columns), strict=True))
    expected = []
    for source in [3, 10]:
        scores = nx.jaccard_coefficient(plain, [(source, v) for v in plain if v != source])
        best = sorted((-score, v) for _, v, score in scores if score > 0)
        expected += [(source, v, -score) for score, v in best[:5]]
    assert rows == [(source, v, pytest.approx(score)) for source, v, score in expected]


def test_cores_and_triangles_are_those_of_networkx(undirected, plain):
    cores = undirected.kcore(memory=MEMORY)
    assert by_id(cores, cores.cores) == nx.core_number(plain)
    members = undirected.kcore(k=5)
    assert by_id(members, members.members) == {
        v: int(core >= 5) for v, core in nx.core_number(plain).items()
    }
    triangles = undirected.triangles(per_vertex=True, memory=MEMORY)
    assert by_id(triangles, triangles.counts) == nx.triangles(plain)
    assert triangles.triangles == sum(nx.triangles(plain).values()) // 3
    clustering = undirected.lcc(memory=MEMORY)
    assert by_id(clustering, clustering.coefficients) == pytest.approx(nx.clustering(plain))


def test_searches_reach_what_networkx_reaches(directed, random_graph):
    reached = nx.descendants(random_graph, 10) | {10}
    pseudo = directed.dfs(10, memory=MEMORY)
    assert {v for v, is_in in by_id(pseudo, pseudo.reached).items() if is_in} == reached
    ordered = directed.lexicographic_dfs(10, memory=MEMORY)
    sorted_graph = nx.DiGraph()
    sorted_graph.add_nodes_from(sorted(random_graph))
    sorted_graph.add_edges_from(sorted(random_graph.edges))
    expected = list(nx.dfs_preorder_nodes(sorted_graph, 10))
    orders = by_id(ordered, ordered.orders)
    assert sorted((v for v in orders if orders[v] != cenote.UNREACHED), key=orders.get) == expected
    assert bool(directed.reach(10, sorted(reached))) is True
    assert bool(directed.reach(10, [10, 5000])) is False


def test_a_set_is_independent_and_maximal(undirected, plain):
    chosen = undirected.mis(seed=9, memory=MEMORY)
    members = {v for v, is_in in by_id(chosen, chosen.members).items() if is_in}
    assert len(members) == chosen.size > 10
    assert not any(plain.has_edge(u, v) for u in members for v in members if u != v)
    assert all(v in members or members & set(plain[v]) for v in plain)


def test_communities_follow_their_definition(undirected, plain):
    result = undirected.cdlp(iterations=1, memory=MEMORY)
    ids = result.ids()
    found = {v: ids[label] for v, label in by_id(result, result.labels).items()}
    # After one iteration: the smallest neighbour, since all labels are different.
    assert found == {v: min(plain[v], default=v) for v in plain}
    assert result.communities == len(set(found.values()))


def test_walks_go_along_edges(directed, random_graph):
    result = directed.walk(source=3, walkers=50, steps=6, seed=4, out="walks.npy", memory=MEMORY)
    walks = np.load("walks.npy")
    assert walks.shape == (50, 7) and (walks[:, 0] == 3).all()
    steps = [(u, v) for walk in walks for u, v in itertools.pairwise(walk) if v != -1]
    assert len(steps) == result.summary["steps"] > 100
    assert all(random_graph.has_edge(u, v) for u, v in steps)
    again = directed.walk(source=3, walkers=50, steps=6, seed=4, threads=1)
    assert again.summary["fingerprint"] == result.summary["fingerprint"]


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("betweenness", {"source": [3, 10], "samples": 2}),
        ("betweenness", {"sources_file": "ids.txt", "samples": 2}),
        ("similar", {"sources": [3], "pairs": [(3, 10)]}),
        ("similar", {"sources_file": "ids.txt", "pairs_file": "pairs.txt"}),
        ("similar", {"pairs": [(3, 10)], "top": 5}),
        ("walk", {"source": 3, "starts": "random"}),
        ("walk", {"starts": "all", "starts_file": "ids.txt"}),
        ("walk", {"walkers": 5, "per_vertex": 2}),
    ],
)
def test_options_that_exclude_each_other_are_refused(directed, algorithm, options):
    Path("ids.txt").write_text("3\n")
    Path("pairs.txt").write_text("3 10\n")
    for call in (
        getattr(directed, algorithm),
        lambda **given: directed.estimate(algorithm, **given),
    ):
        with pytest.raises(cenote.InvalidInput, match=f"{algorithm}: .*give one of them") as raised:
            call(**options)
        assert all(name in str(raised.value) for name in options)


def test_the_steps_of_a_run_are_explained(directed):
    steps = directed.explain("bfs", source=3, memory=MEMORY)
    assert sum(step["pages_read"] for step in steps) > 0
    assert steps[0]["label"].startswith("level 1")
    for wrong in ("bfsx", "_run", "estimate", "explain"):
        with pytest.raises(cenote.InvalidInput, match="no algorithm"):
            directed.explain(wrong)


def test_a_run_without_steps_is_explained_by_none(undirected):
    assert undirected.explain("degrees") == []
    assert undirected.explain("reach", source=3, target=3) == []


def test_options_of_every_run_reach_the_library(directed):
    result = directed.pagerank(
        memory="4MiB",
        cache=1 << 16,
        threads=1,
        strategy="block",
        depth=3,
        explain=True,
        verify=True,
    )
    stats = result.stats
    assert stats["memory_budget_bytes"] == 4 << 20
    assert (stats["threads"], stats["strategy"], stats["depth"]) == (1, "block", 3)
    assert stats["verified"] is True and len(stats["steps"]) > 0


OPTIONS_OF_IDS = [
    ("betweenness", "source"),
    ("bfs", "source"),
    ("bfs", "target"),
    ("dfs", "source"),
    ("dfs", "target"),
    ("lexicographic_dfs", "source"),
    ("lexicographic_dfs", "target"),
    ("pagerank", "personalize"),
    ("ppr", "seeds"),
    ("reach", "source"),
    ("reach", "target"),
    ("similar", "sources"),
    ("sssp", "source"),
    ("sssp", "target"),
    ("subgraph", "vertices"),
]
ONE_SOURCE = ["dfs", "lexicographic_dfs", "reach"]
LOOK_UPS = ["neighbors", "weighted_neighbors", "degree", "sample_neighbors"]


@pytest.mark.parametrize(
    "empty", [[], np.array([], np.uint64), iter(())], ids=["list", "array", "iterator"]
)
@pytest.mark.parametrize(("algorithm", "option"), OPTIONS_OF_IDS)
def test_no_vertex_is_not_taken_for_the_vertex_of_largest_degree(
    directed, algorithm, option, empty
):
    more = {"out": "part.cenote"} if algorithm == "subgraph" else {}
    with pytest.raises(cenote.InvalidInput, match=f"{option} has no id"):
        getattr(directed, algorithm)(**{option: empty}, **more)
    if not more:
        with pytest.raises(cenote.InvalidInput, match=f"{option} has no id"):
            directed.estimate(algorithm, **{option: empty})
    assert not Path("part.cenote").exists()


def test_every_option_of_ids_is_tried_without_one():
    given = {
        (name, option)
        for name, method in inspect.getmembers(Graph, inspect.isfunction)
        for option, kind in method.__annotations__.items()
        if "VertexIds" in str(kind) and name not in LOOK_UPS
    }
    assert given == set(OPTIONS_OF_IDS) - {(name, "source") for name in ONE_SOURCE}


def test_look_ups_of_no_vertex_find_nothing(directed):
    """They are loops over the given vertices, so without one there is nothing to do."""
    assert directed.neighbors([]) == []
    assert directed.degree([]).tolist() == []
    assert directed.weighted_neighbors([]) == []
    assert list(directed.visit([])) == []
    sample = directed.sample_neighbors([], fanouts=[3, 2])
    assert (len(sample.ids), len(sample.vertices), sample.seeds) == (0, 0, 0)
    assert [len(sources) for sources, _ in sample.layers] == [0, 0]
    with pytest.raises(cenote.InvalidInput, match="no pair"):
        directed.similar(pairs=[])


def test_components_go_on_from_an_earlier_answer():
    cenote.import_graph([(1, 2), (3, 4), (5, 6)], "pairs.cenote")
    with cenote.open("pairs.cenote") as graph:
        before = graph.wcc()
    with cenote.update("pairs.cenote") as update:
        update.add(2, 3)
    with cenote.open("pairs.cenote") as graph:
        after = graph.wcc(since=before)
        assert after.components == 2 and after.summary["since"]["added"] == 1
        with pytest.raises(cenote.InvalidInput, match="not of wcc"):
            graph.wcc(since=graph.scc())
    assert before.components == 3


def test_every_run_has_an_estimate(directed, undirected):
    names = [
        name
        for name, method in inspect.getmembers(Graph, inspect.isfunction)
        if "options" in inspect.signature(method).parameters and name not in ("estimate", "explain")
    ]
    names = [name for name in names if not name.startswith("_")]
    assert len(names) == 22
    assert directed.estimate("betweenness", samples=5)["memory_bytes"] > 0
    for name in names:
        options = {"target": [10]} if name == "reach" else {}
        graph = undirected if name in {"leiden", "louvain", "msf"} else directed
        estimate = graph.estimate(name, memory="16MiB", **options)
        assert estimate["memory_budget_bytes"] == 16 << 20
        assert estimate["memory_bytes"] > 0


def test_answers_do_not_depend_on_threads(undirected):
    one = undirected.pagerank(threads=1).ranks
    assert (one == undirected.pagerank(threads=2).ranks).all()


def test_state_that_does_not_fit_the_memory_lies_in_a_file_and_answers_are_the_same():
    edges = np.random.default_rng(3).integers(0, 200_000, (400_000, 2))
    cenote.import_graph(edges, "wide.cenote", vertices=range(200_000))
    Path("state").mkdir()
    with cenote.open("wide.cenote") as graph:
        for run, memory in [(graph.pagerank, "2500KiB"), (graph.wcc, "1300KiB")]:
            inside = run(memory="64MiB")
            banded = run(memory=memory, state_dir="state")
            assert "bands" not in inside.stats
            assert banded.stats["bands"]["count"] > 1
            for column in banded.to_arrow().column_names:
                assert banded.to_arrow()[column].equals(inside.to_arrow()[column])
        with pytest.raises(cenote.CenoteError, match="nowhere"):
            graph.pagerank(memory="2500KiB", state_dir="nowhere")
    assert list(Path("state").iterdir()) == []
