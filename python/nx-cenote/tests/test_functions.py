"""Every function against NetworkX itself, and what is left to it."""

import inspect
import random
from collections.abc import Iterator

import networkx as nx
import nx_cenote
import pytest
from nx_cenote import _backend
from nx_cenote._functions import BY_NAME
from nx_cenote._info import FUNCTIONS

import cenote

UNWEIGHTED = sorted(FUNCTIONS)


def named(plain, kind):
    """The graph with nodes of a kind, in a random order."""
    names = {
        "integers": lambda v: 5 * v + 2,
        "strings": lambda v: f"node {v}",
        "tuples": lambda v: (v % 3, str(v)),
    }[kind]
    order = list(plain)
    random.Random(3).shuffle(order)
    graph = type(plain)()
    graph.add_nodes_from(names(v) for v in order)
    graph.add_edges_from((names(u), names(v)) for u, v in plain.edges)
    return graph


def graphs():
    """Graphs of all kinds, by name."""
    for directed in (False, True):
        way = "directed" if directed else "undirected"
        make = nx.DiGraph if directed else nx.Graph
        for seed, kind in enumerate(["integers", "strings", "tuples"]):
            plain = nx.gnm_random_graph(70, 110, seed=seed, directed=directed)
            plain.add_nodes_from([100, 101])
            yield f"{way}-sparse-{kind}", named(plain, kind)
        dense = nx.gnm_random_graph(30, 250, seed=7, directed=directed)
        yield f"{way}-dense", named(dense, "integers")
        loops = nx.gnm_random_graph(40, 90, seed=9, directed=directed)
        loops.add_edges_from([(0, 0), (3, 3), (50, 50)])
        yield f"{way}-loops", named(loops, "tuples")
        yield f"{way}-cycle", nx.cycle_graph(9, create_using=make)
        yield f"{way}-edgeless", nx.empty_graph(4, create_using=make)
        yield f"{way}-two", nx.path_graph(2, create_using=make)
        yield f"{way}-one", nx.empty_graph(1, create_using=make)
        yield f"{way}-none", make()
        double = nx.MultiDiGraph if directed else nx.MultiGraph
        yield f"{way}-multiple", double([(0, 1), (0, 1), (1, 2), (2, 2), (4, 5)])


GRAPHS = dict(graphs())


@pytest.fixture(scope="module")
def converted():
    """The graphs, converted once."""
    return {name: _backend.convert_from_nx(graph) for name, graph in GRAPHS.items()}


def calls(name, graph):
    """Arguments for a function beside the graph: its usual ones, options, and wrong ones."""
    nodes = [*list(graph)[:3], list(graph)[-1]] if len(graph) else []
    missing = ["no such node"]
    parameters = list(inspect.signature(BY_NAME[name]).parameters)[1:2]
    if name in ("shortest_path_length", "has_path"):
        pairs = [(u, v) for u in nodes + missing for v in nodes + missing]
        yield from ({"source": u, "target": v} for u, v in pairs)
        if name == "shortest_path_length":
            yield from ({end: v} for end in ("source", "target") for v in nodes + missing)
    elif name == "pagerank":
        yield from [{}, {"alpha": 0.5, "tol": 1e-10}, {"max_iter": 1, "tol": 1e-12}]
        yield from [{"alpha": 0.0}, {"personalization": {"no such node": 1}}]
        yield {"personalization": dict.fromkeys([*nodes[:2], *missing], 3.0), "tol": 1e-10}
    elif name == "betweenness_centrality":
        yield from [{}, {"normalized": False}, {"k": len(graph)}]
    elif name in ("triangles", "clustering"):
        yield from [{}, {"nodes": nodes + missing}, {"nodes": 7.5}, {"nodes": [[1]]}]
        yield from ({"nodes": v} for v in nodes)
    elif name == "average_clustering":
        yield from [{}, {"nodes": nodes}, {"nodes": []}, {"count_zeros": False}]
    elif name == "bfs_layers":
        yield from ({"sources": v} for v in [nodes, [], *nodes, ["no such node"]])
    elif name == "descendants_at_distance":
        yield from ({"source": v, "distance": d} for v in nodes + missing for d in (0, 1, 2, -1))
    elif parameters:
        yield from ({parameters[0]: v} for v in nodes + missing)
        if "cutoff" in inspect.signature(BY_NAME[name]).parameters:
            yield from (
                {parameters[0]: v, "cutoff": c} for v in nodes for c in (-1, 0, 1, 1.5, 2, 99)
            )
    else:
        yield {}


def outcome(function, *args, **kwargs):
    """What a call returns, or the kind and the text of what it raises."""
    try:
        found = function(*args, **kwargs)
        return list(found) if isinstance(found, Iterator) else found
    except Exception as error:
        return type(error), str(error)


def same(name, ours, theirs):
    """Whether two outcomes are the same, to the rounding of floats, in any order of sets."""
    if name.endswith("_components") and isinstance(theirs, list):
        return sorted(map(repr, map(sorted, ours))) == sorted(map(repr, map(sorted, theirs)))
    if name == "bfs_layers" and isinstance(theirs, list):
        return list(map(set, ours)) == list(map(set, theirs))
    if isinstance(theirs, dict):
        # A personalised search starts elsewhere, so it ends elsewhere, within the tolerance.
        near = {"rel": 1e-5, "abs": 5e-8} if name == "pagerank" else {"rel": 1e-9, "abs": 1e-12}
        return ours == pytest.approx(theirs, **near)
    return ours == pytest.approx(theirs) if isinstance(theirs, float) else ours == theirs


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_results_and_exceptions_are_those_of_networkx(name, converted):
    ran, refused = 0, 0
    for kind, graph in GRAPHS.items():
        for given in calls(name, graph):
            theirs = outcome(getattr(nx, name), graph, **given, backend="networkx")
            assert _backend.can_run(name, (converted[kind],), given) == _backend.can_run(
                name, (graph,), given
            )
            if _backend.can_run(name, (graph,), given) is not True:
                refused += 1
                continue
            ours = outcome(getattr(nx, name), converted[kind], **given)
            assert same(name, ours, theirs), (kind, given, ours, theirs)
            ran += 1
    assert ran > 5 and ran > refused / 2


def test_the_order_of_keys_and_the_types_are_those_of_networkx(converted):
    graph, stored = GRAPHS["undirected-sparse-tuples"], converted["undirected-sparse-tuples"]
    for name in ("pagerank", "clustering", "core_number", "degree_centrality"):
        ours, theirs = getattr(nx, name)(stored), getattr(nx, name)(graph)
        assert list(ours) == list(theirs)
        assert {type(v) for v in ours.values()} <= {type(v) for v in theirs.values()} | {float}
    source = next(iter(graph))
    for name in ("single_source_shortest_path_length", "single_source_dijkstra_path_length"):
        ours, theirs = getattr(nx, name)(stored, source), getattr(nx, name)(graph, source)
        assert list(ours.values()) == list(theirs.values())
        assert {type(v) for v in ours.values()} == {int}


WEIGHTS = {
    "integers": lambda r: r.randrange(0, 9),
    "floats": lambda r: r.random() * 4,
    "both": lambda r: r.choice([1, 0.5, 3]),
    "large": lambda r: r.randrange(2**50),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("make", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_distances_over_weights_are_those_of_networkx(kind, make):
    rng = random.Random(11)
    graph = make(nx.gnm_random_graph(60, 150, seed=4, directed=True))
    graph.add_edges_from([(0, 1), (0, 1), (5, 5)])
    for _, _, data in graph.edges(data=True):
        if rng.random() < 0.9:
            data["km"] = WEIGHTS[kind](rng)
    for weight in ("km", "none has it"):
        for source in (0, 17):
            for cutoff in (None, 2, 2.5, -1):
                given = {"cutoff": cutoff, "weight": weight}
                call = nx.single_source_dijkstra_path_length
                ours = call(graph, source, **given, backend="cenote")
                theirs = call(graph, source, **given, backend="networkx")
                assert ours == theirs and list(ours.values()) == list(theirs.values())
            for target in (3, 44):
                call = nx.shortest_path_length
                given = {"source": source, "target": target, "weight": weight}
                ours = outcome(call, graph, **given, backend="cenote")
                assert ours == outcome(call, graph, **given, backend="networkx")


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        *[(-1, "negative"), (float("nan"), "finite"), (float("inf"), "finite")],
        *[(value, "an integer") for value in ("3", None, True, [])],
        (2**62, "2\\*\\*62"),
    ],
)
def test_weights_that_no_type_holds_are_left_to_networkx(weight, reason):
    graph = nx.Graph([(0, 1)])
    graph.add_edge(1, 2, weight=weight)
    for name, args in [("single_source_dijkstra_path_length", (0,)), ("pagerank", ())]:
        said = _backend.can_run(name, (graph, *args), {})
        assert (isinstance(said, str) and "1, 2" in said) or "2**62" in said or "other than" in said
    with pytest.raises(NotImplementedError, match=reason):
        _backend.convert_from_nx(graph, edge_attrs={"weight": 1})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pagerank", {"nstart": {0: 1}}),
        ("pagerank", {"dangling": {0: 1}}),
        ("pagerank", {"personalization": {0: 1, 1: 2}}),
        ("pagerank", {"tol": 0}),
        ("pagerank", {"max_iter": 0}),
        ("betweenness_centrality", {"k": 2}),
        ("betweenness_centrality", {"endpoints": True}),
        ("betweenness_centrality", {"weight": "weight"}),
        ("clustering", {"weight": "weight"}),
        ("shortest_path_length", {}),
        ("shortest_path_length", {"source": 0, "weight": "weight", "method": "bellman-ford"}),
        ("single_source_dijkstra_path_length", {"source": 0, "weight": lambda u, v, d: 1}),
        ("bfs_layers", {"sources": iter([0])}),
        ("has_path", {"source": None, "target": 0}),
    ],
)
def test_what_would_not_be_the_same_is_refused_with_a_reason(name, given, converted):
    graph = nx.cycle_graph(9)
    for argument in (graph, converted["undirected-cycle"]):
        assert isinstance(_backend.can_run(name, (argument,), given), str)
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(argument, **given, backend="cenote")


def test_every_function_is_one_of_networkx_with_its_parameters():
    for name in FUNCTIONS:
        ours = inspect.signature(BY_NAME[name]).parameters
        theirs = inspect.signature(getattr(nx, name).orig_func).parameters
        assert list(ours) == list(theirs), name
        assert [p.default for p in ours.values()] == [p.default for p in theirs.values()], name


def test_a_stored_graph_runs_without_a_conversion(tmp_path):
    for directed in (False, True):
        plain = GRAPHS[f"{'directed' if directed else 'undirected'}-sparse-strings"]
        path = tmp_path / f"{directed}.cenote"
        cenote.import_graph(plain, path, in_edges=directed)
        with nx_cenote.open(path) as stored:
            assert "cenote" in stored.__networkx_backend__ and len(stored) == len(plain)
            assert 3 not in stored and None not in stored and [] not in stored
            for name in UNWEIGHTED:
                for given in calls(name, plain):
                    if _backend.can_run(name, (stored,), given) is True:
                        ours = outcome(getattr(nx, name), stored, **given)
                        theirs = outcome(getattr(nx, name), plain, **given)
                        assert same(name, ours, theirs), (name, given, ours, theirs)
            copy = _backend.convert_to_nx(stored)
            assert set(copy.nodes) == set(plain.nodes)
            assert {frozenset(e) if not directed else e for e in copy.edges} == {
                frozenset(e) if not directed else e for e in plain.edges
            }


def test_a_cached_conversion_with_weights_serves_functions_without():
    graph = nx.gnm_random_graph(40, 90, seed=3)
    for at, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = at % 7 / 4
    nx.single_source_dijkstra_path_length(graph, 0, backend="cenote")
    given = {"pagerank": {"weight": None}, "shortest_path_length": {"source": 0}}
    for name in ("betweenness_centrality", "clustering", "core_number", *given):
        arguments = given.get(name, {})
        ours = getattr(nx, name)(graph, **arguments, backend="cenote")
        theirs = getattr(nx, name)(graph, **arguments, backend="networkx")
        assert same(name, ours, theirs), name
    assert len(graph.__networkx_cache__["backends"]["cenote"]) == 1
