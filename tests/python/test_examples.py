"""The examples of the crates, run as a user would run them."""

import re
import subprocess

import networkx as nx

from conftest import ROOT, Cenote, command_path


def example(name, *args) -> str:
    """Standard output of an example: as `cargo test` built it beside the command, or built now."""
    built = command_path().parent / "examples" / name
    cargo = ["cargo", "run", "--quiet", "--locked", "-p", "cenote", "--example", name, "--"]
    command = [built] if built.is_file() else cargo
    done = subprocess.run([*command, *map(str, args)], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def random_graph(folder):
    """A graph as NetworkX has it and as Cenote has it."""
    graph = nx.gnm_random_graph(500, 1500, seed=5)
    (folder / "edges.txt").write_text("".join(f"{u} {v}\n" for u, v in graph.edges))
    Cenote(folder)("import", "edges.txt", "--out", "graph.cenote")
    vertices = sorted({v for edge in graph.edges for v in edge})
    return graph.subgraph(vertices), vertices, folder / "graph.cenote"


def test_hops_counts_what_networkx_counts(tmp_path):
    graph, vertices, path = random_graph(tmp_path)
    text = example("hops", path, vertices[0], 3)
    found = [int(count) for count in re.findall(r"^hop \d: (\d+)", text, re.MULTILINE)]
    distances = list(nx.single_source_shortest_path_length(graph, vertices[0], cutoff=3).values())
    assert found == [distances.count(hop) for hop in range(4)]


def test_mixing_is_networkx_degree_assortativity(tmp_path):
    graph, _, path = random_graph(tmp_path)
    found = float(re.search(r": (\S+)$", example("mixing", path)).group(1))
    assert abs(found - nx.degree_assortativity_coefficient(graph)) < 1e-5


def test_five_best_are_those_of_networkx(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    lines = example("five_best").splitlines()
    edges = ((page, page * page // 7 % 1000) for page in range(100_000))
    ranks = nx.pagerank(nx.DiGraph(edge for edge in edges if edge[0] != edge[1]), tol=1e-12)
    best = sorted(ranks.values(), reverse=True)[:5]
    assert len(lines) == 5
    for line, rank in zip(lines, best):
        found, vertex = line.split()
        assert abs(float(found) - rank) < 1e-4 and abs(ranks[int(vertex)] - rank) < 1e-4
