"""Searches through the command line, against NetworkX and plain Python."""

import itertools

import networkx as nx
import numpy as np
import pytest

from conftest import in_turn

#: name, command line of `cenote generate`
GENERATED = {
    "kron": ["kron", "--scale", 10],
    "uniform": ["uniform", "--vertices", 1500, "--edges", 2000],
    "grid": ["grid", "--rows", 25, "--cols", 20],
}


class Searched:
    """A graph in a Cenote file and in NetworkX."""

    def __init__(self, cenote, pairs, directed, *flags):
        self.cenote, self.directed = cenote, directed
        np.asarray(pairs, dtype="<u4").tofile(cenote.folder / "edges.u32")
        direction = "--directed" if directed else "--undirected"
        cenote("import", "edges.u32", direction, "--out", "graph.cenote", *flags)
        self.graph = nx.DiGraph() if directed else nx.Graph()
        self.graph.add_edges_from((int(a), int(b)) for a, b in pairs if a != b)

    def answer(self, algorithm, *flags, status=0):
        """`result` of a run."""
        return self.cenote.json("run", algorithm, "graph.cenote", *flags, status=status)["result"]


@pytest.fixture(params=itertools.product(GENERATED, [[], ["--directed"], ["--in-edges"]]), ids=str)
def searched(request, cenote):
    """Every kind of graph, undirected, directed, and directed with in-edges."""
    kind, flags = request.param
    cenote("generate", *GENERATED[kind], "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    in_edges = [flag for flag in flags if flag == "--in-edges"]
    return Searched(cenote, pairs, bool(flags), *in_edges)


def test_bfs_finds_targets_on_shortest_paths(searched):
    source, *targets = [int(v) for v in np.random.default_rng(5).choice(searched.graph.nodes, 5)]
    lengths = nx.single_source_shortest_path_length(searched.graph, source)
    status = 0 if all(target in lengths for target in targets) else 1
    flags = ["--source", source, "--target", *targets, "--parents", "--verify"]
    result = searched.answer("bfs", *flags, status=status)
    assert result["ended_early"] == (status == 0)
    assert result["source"] == source
    for target, found in zip(targets, result["targets"]):
        assert found["target"] == target
        assert found["reachable"] == (target in lengths)
        assert found.get("level") == lengths.get(target)
        if target in lengths:
            assert (found["path"][0], found["path"][-1]) == (source, target)
            assert len(found["path"]) == lengths[target] + 1
            assert nx.is_path(searched.graph, found["path"])


def test_bfs_from_a_file_of_sources(searched):
    sources = [int(v) for v in np.random.default_rng(6).choice(searched.graph.nodes, 3)]
    (searched.cenote.folder / "sources.txt").write_text("".join(f"{v}\n" for v in sources))
    result = searched.answer("bfs", "--sources", "sources.txt", "--verify", "--out", "levels.csv")
    levels = {}
    for source in sources:
        for v, level in nx.single_source_shortest_path_length(searched.graph, source).items():
            levels[v] = min(level, levels.get(v, level))
    assert (result["sources"], result["reached"]) == (len(set(sources)), len(levels))
    for line in (searched.cenote.folder / "levels.csv").read_text().splitlines()[1:]:
        vertex, level = line.split(",")
        assert level == str(levels.get(int(vertex), ""))


def test_unknown_targets_are_one_line_errors(cenote):
    cenote("generate", "grid", "--rows", 3, "--cols", 3, "--out", "made.txt")
    cenote("import", "made.txt", "--out", "graph.cenote")
    (cenote.folder / "ids.txt").write_text("1\n\n77\n")
    assert "99" in cenote.error("run", "bfs", "graph.cenote", "--target", "99")
    assert "line 3" in cenote.error("run", "bfs", "graph.cenote", "--targets", "ids.txt")
    assert "none.txt" in cenote.error("run", "bfs", "graph.cenote", "--sources", "none.txt")


def test_dfs_reaches_what_networkx_reaches(searched):
    source, *targets = [int(v) for v in np.random.default_rng(7).choice(searched.graph.nodes, 4)]
    reachable = {source} | nx.descendants(searched.graph, source)
    for strategy, stacks in itertools.product(["auto", "block", "vertex"], [1, 5]):
        flags = ["--source", source, "--strategy", strategy, "--stacks", stacks, "--threshold", 3]
        result = searched.answer("dfs", *flags, "--verify", "--out", "reached.csv")
        assert (result["reached"], result["ended_early"]) == (len(reachable), False)
        lines = (searched.cenote.folder / "reached.csv").read_text().splitlines()
        assert lines[0] == "vertex,reached"
        assert {int(line[:-2]) for line in lines[1:] if line.endswith(",1")} == reachable
        status = 0 if reachable.issuperset(targets) else 1
        result = searched.answer("dfs", *flags, "--target", *targets, "--verify", status=status)
        assert [found["reachable"] for found in result["targets"]] == [
            target in reachable for target in targets
        ]
        assert result["reached"] == (None if status == 0 else len(reachable))


def test_lexicographic_order_equals_networkx(searched):
    source = int(np.random.default_rng(8).choice(searched.graph.nodes))
    flags = ["--source", source, "--order", "lexicographic"]
    result = searched.answer("dfs", *flags, "--verify", "--out", "order.csv")
    kind = type(searched.graph)()
    for v in sorted(searched.graph.nodes):
        kind.add_node(v)
    kind.add_edges_from(sorted(searched.graph.edges))
    if not searched.directed:
        kind = kind.to_directed()
    order = list(nx.dfs_preorder_nodes(kind, source, sort_neighbors=sorted))
    finish = list(nx.dfs_postorder_nodes(kind, source, sort_neighbors=sorted))
    parents = {v: u for u, v in nx.dfs_edges(kind, source, sort_neighbors=sorted)}
    parents[source] = source
    assert result["reached"] == len(order)
    numbers = {v: i for i, v in enumerate(order)}, {v: i for i, v in enumerate(finish)}
    lines = (searched.cenote.folder / "order.csv").read_text().splitlines()
    assert lines[0] == "vertex,order,parent,finish"
    for line in lines[1:]:
        v, *answer = line.split(",")
        v = int(v)
        expected = [numbers[0].get(v, ""), parents.get(v, ""), numbers[1].get(v, "")]
        assert answer == [str(value) for value in expected], v


def test_reach_answers_by_its_exit_status(searched):
    source, *targets = [int(v) for v in np.random.default_rng(9).choice(searched.graph.nodes, 6)]
    reachable = {source} | nx.descendants(searched.graph, source)
    for target in targets:
        status = 0 if target in reachable else 1
        flags = ["--source", source, "--target", target, "--verify"]
        assert searched.answer("reach", *flags, status=status)["reachable"] == (status == 0)
    (searched.cenote.folder / "targets.txt").write_text("".join(f"{v}\n" for v in targets))
    status = 0 if reachable.issuperset(targets) else 1
    flags = ["--source", source, "--targets", "targets.txt"]
    result = searched.answer("reach", *flags, status=status)
    for target, found in zip(targets, result["targets"]):
        assert (found["target"], found["reachable"]) == (target, target in reachable)


SEARCHES = ["dfs", "dfs --order lexicographic", "reach --target 1"]


@pytest.mark.parametrize("search, strategy", in_turn(SEARCHES, ["auto", "block", "vertex"]))
def test_searches_keep_to_their_budgets(cenote, kron, search, strategy):
    kron(16)
    info = cenote.json("info", "graph.cenote")
    budget = max(info["page_bytes"] // 10, 24 * info["vertices"] + (2 << 20))
    algorithm, *flags = search.split()
    flags = ["graph.cenote", *flags, "--memory", budget, "--strategy", strategy]
    run = cenote.json("run", algorithm, *flags)
    assert run["peak_rss_bytes"] <= budget + (32 << 20)
    assert sum(run["memory_plan"].values()) <= budget
    estimate = cenote.json("estimate", algorithm, *flags)
    assert estimate["memory"] == run["memory_plan"]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_budget_too_small_for_a_search_is_an_error(cenote, kron, search):
    kron(16)
    algorithm, *flags = search.split()
    error = cenote.error("run", algorithm, "graph.cenote", *flags, "--memory", "9KiB")
    assert "too small" in error


def test_senseless_questions_are_one_line_errors(cenote):
    cenote("generate", "grid", "--rows", 3, "--cols", 3, "--out", "made.txt")
    cenote("import", "made.txt", "--out", "graph.cenote")
    for flags, words in [
        (["dfs", "graph.cenote", "--stacks", "0"], "--stacks"),
        (["dfs", "graph.cenote", "--threshold", "0"], "--threshold"),
        (["dfs", "graph.cenote", "--order", "random"], "--order"),
        (["dfs", "graph.cenote", "--target", "3", "--out", "x.csv"], "lexicographic"),
        (["dfs", "graph.cenote", "--source", "99"], "99"),
        (["reach", "graph.cenote"], "--target"),
        (["reach", "graph.cenote", "--target", "bash"], "bash"),
    ]:
        assert words in cenote.error("run", *flags)
    assert not (cenote.folder / "x.csv").exists()


def test_searches_on_a_graph_without_edges(cenote):
    (cenote.folder / "empty.v").write_text("7\n9\n")
    (cenote.folder / "empty.e").write_text("")
    cenote("import", "empty.v", "empty.e", "--undirected", "--out", "graph.cenote")
    for flags in ([], ["--order", "lexicographic"]):
        run = cenote.json("run", "dfs", "graph.cenote", "--source", 7, "--verify", *flags)
        assert run["result"]["reached"] == 1
    cenote("run", "reach", "graph.cenote", "--source", 7, "--target", 7)
    cenote("run", "reach", "graph.cenote", "--source", 7, "--target", 9, status=1)
