"""Every function against NetworkX itself, and what is left to it."""

import inspect
import itertools
import random
from collections.abc import Iterator

import networkx as nx
import nx_cenote
import pytest
from nx_cenote import _backend
from nx_cenote._checks import ORDERED
from nx_cenote._functions import BY_NAME
from nx_cenote._info import FUNCTIONS

import cenote

UNWEIGHTED = sorted(set(FUNCTIONS) - ORDERED)


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


OWN_CALLS = {
    "pagerank": lambda nodes, size: [
        *[{}, {"alpha": 0.5, "tol": 1e-10}, {"max_iter": 1, "tol": 1e-12}],
        *[{"alpha": 0.0}, {"personalization": {"no such node": 1}}],
        {"personalization": dict.fromkeys([*nodes[:2], *MISSING], 3.0), "tol": 1e-10},
        {"personalization": dict(zip(nodes, [1, 0, 7, 0.5], strict=False)), "tol": 1e-10},
    ],
    "betweenness_centrality": lambda nodes, size: [
        *[{}, {"normalized": False}, {"k": size}],
        *({"k": k, "normalized": n, "seed": k} for k in (1, 2, 5) for n in (False, True)),
    ],
    "triangles": lambda nodes, size: CHOSEN(nodes),
    "clustering": lambda nodes, size: CHOSEN(nodes),
    "average_clustering": lambda nodes, size: [
        *[{}, {"nodes": nodes}, {"nodes": []}, {"count_zeros": False}]
    ],
    "bfs_layers": lambda nodes, size: [
        {"sources": v} for v in [nodes, [], *nodes, ["no such node"]]
    ],
    "descendants_at_distance": lambda nodes, size: [
        {"source": v, "distance": d} for v in nodes + MISSING for d in (0, 1, 2, -1)
    ],
    "closeness_centrality": lambda nodes, size: [
        *([{}, {"wf_improved": False}] if size < 50 else []),
        *({"u": v} for v in nodes + MISSING),
    ],
    "harmonic_centrality": lambda nodes, size: [
        *([{}, {"nbunch": nodes[:2] + MISSING}] if size < 50 else []),
        *[{"sources": nodes[:1]}, {"nbunch": nodes[1:], "sources": nodes}],
    ],
    "eccentricity": lambda nodes, size: [{}, {"v": nodes[:2]}, *({"v": v} for v in nodes)],
    "average_shortest_path_length": lambda nodes, size: [{}, {"method": "unweighted"}],
    "ego_graph": lambda nodes, size: [
        *({"n": v, "radius": r} for v in nodes + MISSING for r in (0, 1, 1.5, 2, 99)),
        *({"n": v, "center": False} for v in nodes),
    ],
    **dict.fromkeys(
        ("center", "diameter", "periphery", "radius"),
        lambda nodes, size: [{}, {"usebounds": True}],
    ),
    "jaccard_coefficient": lambda nodes, size: [
        *({"ebunch": [(u, v) for u in nodes for v in nodes]}, {"ebunch": []}),
        *({"ebunch": {(nodes + MISSING)[0]: 1}}, {"ebunch": [[v, *MISSING] for v in nodes]}),
        *({"ebunch": [(v, nodes[0])]} for v in nodes),
    ],
    "is_k_regular": lambda nodes, size: [{"k": k} for k in (0, 2, 2.0, "two")],
    "maximal_independent_set": lambda nodes, size: [{}, {"seed": 3}],
    "k_corona": lambda nodes, size: [{"k": k} for k in (0, 1, 2, 3, 99, None)],
    **dict.fromkeys(
        ("k_core", "k_crust", "k_shell"),
        lambda nodes, size: [{}, *({"k": k} for k in (0, 1, 2, 2.5, 99))],
    ),
    **dict.fromkeys(
        ("multi_source_dijkstra_path", "multi_source_dijkstra_path_length"),
        lambda nodes, size: [
            *({"sources": s} for s in (nodes, set(nodes[:1]), [], nodes[:1] + MISSING)),
            {"sources": nodes[:2], "cutoff": 1},
        ],
    ),
    "multi_source_dijkstra": lambda nodes, size: [
        *({"sources": s} for s in (nodes, [], nodes[:1] + MISSING)),
        *({"sources": nodes[:2], "target": v, "cutoff": 2} for v in nodes + MISSING),
    ],
}
"""Arguments beside the graph, by some of its nodes and their number."""

PAIRS = {
    "bellman_ford_path_length",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "dijkstra_path",
    "dijkstra_path_length",
    "has_path",
    "shortest_path",
    "shortest_path_length",
}
MISSING = ["no such node"]


def CHOSEN(nodes):
    return [{}, {"nodes": nodes + MISSING}, *({"nodes": v} for v in [*nodes, 7.5, [[1]]])]


def calls(name, graph, firsts=3):
    """Arguments for a function beside the graph: its usual ones, options, and wrong ones, for the
    first nodes and the last."""
    nodes = [*list(graph)[:firsts], list(graph)[-1]] if len(graph) else []
    parameters = list(inspect.signature(BY_NAME[name]).parameters)[1:]
    is_all = name in ("shortest_path", "shortest_path_length") or name.startswith("all_pairs")
    if is_all and len(graph) < 10:
        yield {}
        if "cutoff" in parameters:
            yield {"cutoff": 1}
    if name in OWN_CALLS:
        yield from OWN_CALLS[name](nodes, len(graph))
    elif name in PAIRS:
        yield from ({"source": u, "target": v} for u in nodes[:firsts] + MISSING for v in nodes)
        yield {"source": (nodes + MISSING)[0], "target": "no such node"}
        if is_all:
            yield from ({end: v} for end in ("source", "target") for v in nodes + MISSING)
    elif parameters and not name.startswith("all_pairs"):
        yield from ({parameters[0]: v} for v in nodes + MISSING)
        if "cutoff" in parameters:
            cutoffs = (-1, 0, 1, 1.5, 2, 99)
            yield from ({parameters[0]: v, "cutoff": c} for v in nodes[:1] for c in cutoffs)
        if name.startswith("bfs"):
            yield from ({"source": v, "depth_limit": d} for v in nodes for d in (0, 1, 2, 0.5))
        if "reverse" in parameters:
            yield from ({"source": v, "reverse": True} for v in nodes + MISSING)
    elif not is_all:
        yield {}


def outcome(function, *args, **kwargs):
    """What a call returns, or the kind and the text of what it raises."""
    try:
        found = function(*args, **kwargs)
        return list(found) if isinstance(found, Iterator) else found
    except Exception as error:
        return type(error), str(error)


def measured(graph, found, weight=None, is_single=True):
    """An outcome with the ends and the length of each path in its place; floats rounded."""
    if isinstance(found, list) and found and all(node in graph for node in found):
        edges = [graph.get_edge_data(*edge) for edge in itertools.pairwise(found)]
        assert None not in edges, found
        if graph.is_multigraph():
            edges = [min(data.values(), key=lambda d: d.get(weight, 1)) for data in edges]
        # Of several sources, two may be as near.
        return (
            "path",
            found[:1] if is_single else [],
            found[-1],
            round(sum(data.get(weight, 1) for data in edges), 9),
        )
    if isinstance(found, dict):
        return {key: measured(graph, value, weight, is_single) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [measured(graph, value, weight, is_single) for value in found]
    return round(found, 9) if isinstance(found, float) else found


def is_independent(graph, nodes):
    """Whether no two nodes are neighbours, and each other node has one among them."""
    near = {w for v in nodes for w in graph[v] if w != v}
    return (
        len(set(nodes)) == len(nodes) and near | set(nodes) == set(graph) and not near & set(nodes)
    )


def same(name, graph, ours, theirs):
    """Whether two outcomes are the same, to the rounding of floats, in any order of sets."""
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        return ours == theirs
    if name == "maximal_independent_set":
        return is_independent(graph, ours) and is_independent(graph, theirs)
    if "path" in name or "dijkstra" in name:
        is_single = not name.startswith("multi")
        ours, theirs = (measured(graph, found, is_single=is_single) for found in (ours, theirs))
        return ours == theirs
    if name.endswith("_components") and isinstance(theirs, list):
        return sorted(map(repr, map(sorted, ours))) == sorted(map(repr, map(sorted, theirs)))
    if name in ("center", "periphery"):
        # NetworkX has an order of its own for trees and with bounds.
        return len(ours) == len(theirs) and set(ours) == set(theirs)
    if name == "bfs_layers":
        return list(map(set, ours)) == list(map(set, theirs))
    if isinstance(theirs, nx.Graph):
        is_same = name not in ORDERED or list(ours.edges) == list(theirs.edges)
        return is_same and nx.utils.graphs_equal(ours, theirs)
    if isinstance(theirs, dict) and name in ORDERED:
        return list(ours.items()) == list(theirs.items())
    if isinstance(theirs, dict):
        # A personalised search starts elsewhere, so it ends elsewhere, within the tolerance.
        near = {"rel": 1e-5, "abs": 5e-8} if name == "pagerank" else {"rel": 1e-9, "abs": 1e-12}
        return ours == pytest.approx(theirs, nan_ok=True, **near)
    return ours == pytest.approx(theirs) if isinstance(theirs, float) else ours == theirs


def compare_with_networkx(name, kinds, converted, firsts):
    """Every call of a function on the graphs of some kinds, run by NetworkX and by the backend."""
    ran, refused = 0, 0
    for kind in kinds:
        graph = GRAPHS[kind]
        for given in calls(name, graph, firsts):
            theirs = outcome(getattr(nx, name), graph, **given, backend="networkx")
            assert _backend.can_run(name, (converted[kind],), given) == _backend.can_run(
                name, (graph,), given
            )
            if _backend.can_run(name, (graph,), given) is not True:
                refused += 1
                continue
            ours = outcome(getattr(nx, name), converted[kind], **given)
            assert same(name, graph, ours, theirs), (kind, given, ours, theirs)
            ran += 1
    assert ran > 5 and ran > refused / 2


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_results_and_exceptions_are_those_of_networkx(name, converted):
    # The six sparse graphs differ in their ids: a function gets two of them, the next ones others.
    sparse = [kind for kind in GRAPHS if "sparse" in kind]
    at = UNWEIGHTED.index(name) % 3
    chosen = {sparse[at], sparse[3 + (at + 1) % 3]}
    kinds = [kind for kind in GRAPHS if kind not in sparse or kind in chosen]
    compare_with_networkx(name, kinds, converted, firsts=2)


@pytest.mark.long
@pytest.mark.parametrize("name", UNWEIGHTED)
def test_results_are_those_of_networkx_for_ids_of_every_kind(name, converted):
    compare_with_networkx(name, GRAPHS, converted, firsts=3)


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
            for target in (3, 44, None):
                for name in ("shortest_path_length", "shortest_path", "single_source_dijkstra"):
                    given = {"source": source, "target": target, "weight": weight}
                    ours, theirs = (
                        measured(
                            graph, outcome(getattr(nx, name), graph, **given, backend=b), weight
                        )
                        for b in ("cenote", "networkx")
                    )
                    assert ours == theirs, (name, given)
            for name, given in [
                ("multi_source_dijkstra", {"sources": [source, 5], "cutoff": 3}),
                ("single_source_bellman_ford_path_length", {"source": source}),
                ("bidirectional_dijkstra", {"source": source, "target": 3}),
            ]:
                given["weight"] = weight
                ours, theirs = (
                    measured(
                        graph, outcome(getattr(nx, name), graph, **given, backend=b), weight, False
                    )
                    for b in ("cenote", "networkx")
                )
                assert ours == theirs, (name, given)


@pytest.mark.parametrize("kind", [*WEIGHTS, "zeros"])
@pytest.mark.parametrize("make", [nx.Graph, nx.DiGraph])
def test_ranks_by_weight_are_those_of_networkx(kind, make):
    rng = random.Random(12)
    graph = make(nx.gnm_random_graph(60, 150, seed=5, directed=True))
    graph.add_edges_from([(5, 5), (60, 61)])
    for _, _, data in graph.edges(data=True):
        if kind == "zeros":
            data["km"] = rng.choice([0, 0, 2.5])
        elif rng.random() < 0.9:
            data["km"] = WEIGHTS[kind](rng)
    for given in [{}, {"alpha": 0.5}, {"personalization": {3: 2, 17: 2}}]:
        given = {"weight": "km", "tol": 1e-10, "max_iter": 500, **given}
        ours = nx.pagerank(graph, **given, backend="cenote")
        theirs = nx.pagerank(graph, **given, backend="networkx")
        assert list(ours) == list(theirs) and same("pagerank", graph, ours, theirs), given


def test_ranks_by_weights_that_are_too_large_are_left_to_networkx():
    graph = nx.DiGraph()
    graph.add_edge(0, 1, weight=1e300)
    with pytest.raises(NotImplementedError, match="pagerank"):
        nx.pagerank(_backend.convert_from_nx(graph, edge_attrs={"weight": 1}))


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
        assert isinstance(said, str) and ("1, 2" in said or "2**62" in said)
    with pytest.raises(NotImplementedError, match=reason):
        _backend.convert_from_nx(graph, edge_attrs={"weight": 1})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("pagerank", {"nstart": {0: 1}}),
        ("pagerank", {"dangling": {0: 1}}),
        ("pagerank", {"personalization": {0: 1, 1: -2}}),
        ("pagerank", {"tol": 0}),
        ("pagerank", {"max_iter": 0}),
        ("betweenness_centrality", {"k": 0}),
        ("closeness_centrality", {"distance": "weight"}),
        ("eccentricity", {"sp": {}}),
        ("ego_graph", {"n": 0, "distance": "weight"}),
        ("k_core", {"core_number": {0: 1}}),
        ("maximal_independent_set", {"nodes": [0]}),
        ("multi_source_dijkstra", {"sources": iter([0])}),
        ("average_shortest_path_length", {"method": "floyd-warshall"}),
        ("is_isolate", {"n": "no such node"}),
        ("shortest_path", {"source": 0, "weight": "weight", "method": "bellman-ford"}),
        *((name, {"source": 0}) for name in sorted(ORDERED)),
        ("betweenness_centrality", {"endpoints": True}),
        ("betweenness_centrality", {"weight": "weight"}),
        ("clustering", {"weight": "weight"}),
        ("shortest_path_length", {"weight": "weight", "method": "bellman-ford"}),
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
    ran = set()
    for directed, order in [(False, "natural"), (True, "natural"), (False, "degree")]:
        plain = GRAPHS[f"{'directed' if directed else 'undirected'}-sparse-strings"]
        path = tmp_path / f"{directed}-{order}.cenote"
        cenote.import_graph(plain, path, in_edges=directed, order=order)
        with nx_cenote.open(path) as stored:
            assert "cenote" in stored.__networkx_backend__ and len(stored) == len(plain)
            assert 3 not in stored and None not in stored and [] not in stored
            copy = _backend.convert_to_nx(stored)
            for name in sorted(FUNCTIONS if order == "natural" else ORDERED | {"k_core"}):
                for given in itertools.islice(calls(name, plain), 9):
                    if _backend.can_run(name, (stored,), given) is True:
                        ours = outcome(getattr(nx, name), stored, **given)
                        theirs = outcome(getattr(nx, name), copy, **given)
                        assert same(name, copy, ours, theirs), (name, given, ours, theirs)
                        ran.add(name)
            assert set(copy.nodes) == set(plain.nodes)
            assert {frozenset(e) if not directed else e for e in copy.edges} == {
                frozenset(e) if not directed else e for e in plain.edges
            }
    assert {name for name in FUNCTIONS if not name.startswith("all_pairs")} <= ran


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
        assert same(name, graph, ours, theirs), name
    assert len(graph.__networkx_cache__["backends"]["cenote"]) == 1
