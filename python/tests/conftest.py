"""Graphs that the tests of the Python package share."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import networkx as nx
import pytest

# The user's profiles of drives must not plan the tests' reads.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="cenote-state-")

import cenote

atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "data" / "debian-depends.tsv.zst"


def pytest_configure(config):
    # Each graph that is opened warns that its drive has no profile.
    config.addinivalue_line("filterwarnings", "ignore::cenote.CenoteWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Ctrl-C raises, also where the tests were started in the background of a script: there a shell
    has interrupts ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The graph file of the packages, undirected, with string ids."""
    path = tmp_path_factory.mktemp("packages") / "packages.cenote"
    cenote.import_graph(PACKAGES, path, memory="64MiB")
    return path


@pytest.fixture(scope="session")
def random_graph():
    """A connected-ish directed graph of NetworkX with weights, its ids not 0 to n - 1."""
    plain = nx.gnm_random_graph(200, 900, seed=5, directed=True)
    graph = nx.DiGraph()
    graph.add_nodes_from(7 * v + 3 for v in plain)
    for at, (u, v) in enumerate(plain.edges):
        graph.add_edge(7 * u + 3, 7 * v + 3, weight=1 + at * 37 % 11)
    graph.add_node(5000)
    return graph


@pytest.fixture(scope="session")
def directed(tmp_path_factory, random_graph):
    """Its graph file, with in-edges and weights."""
    path = tmp_path_factory.mktemp("directed") / "directed.cenote"
    cenote.import_graph(random_graph, path, in_edges=True, weights="u32", memory="64MiB")
    with cenote.open(path) as graph:
        yield graph


@pytest.fixture(scope="session")
def undirected(tmp_path_factory, random_graph):
    """The same without directions."""
    path = tmp_path_factory.mktemp("undirected") / "undirected.cenote"
    plain = random_graph.to_undirected()
    cenote.import_graph(plain, path, weights="f64", memory="64MiB")
    with cenote.open(path) as graph:
        yield graph
