"""Searches through the command line, against NetworkX and plain Python."""

import itertools

import networkx as nx
import numpy as np
import pytest

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
