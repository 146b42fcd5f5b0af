"""One Ray on this machine for all tests, and graphs in shards.

These tests are beside the others because they share Ray, which takes seconds to start: they run in
one process.
"""

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

# The user's profiles of drives must not plan the tests' reads.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="cenote-state-")
# Ray gives its processes the least priority, so beside other tests these would wait for their end.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
try:
    import ray
except ImportError:
    ray = None
    collect_ignore_glob = ["test_*.py"]

import cenote

atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "data" / "debian-depends.tsv.zst"
KINDS = {
    "undirected": {"weights": "f64"},
    "directed": {"directed": True, "weights": "f32"},
    "in_edges": {"directed": True, "in_edges": True, "weights": "u32", "order": "degree"},
    "repeated": {"directed": True, "in_edges": True, "keep_duplicates": True}
    | {"keep_self_loops": True},
}


def pytest_report_header():
    if ray is None:
        return "skipped: Ray is not installed: pip install 'cenote[ray]'"
    return None


def pytest_sessionfinish(session, exitstatus):
    if ray is None and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_configure(config):
    config.addinivalue_line("markers", "long: `make soak` runs it, `make test` does not")
    # Each graph that is opened warns that its drive has no profile.
    config.addinivalue_line("filterwarnings", "ignore::cenote.CenoteWarning")
    # Ray says in which version it will change something.
    config.addinivalue_line("filterwarnings", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def cluster():
    """Ray on this machine, which counts more CPUs than there are."""
    try:
        ray.init(
            num_cpus=8,
            include_dashboard=False,
            object_store_memory=128 << 20,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # of Ray or of the system: it has no class of its own
        pytest.skip(f"Ray does not start on this machine: {error}")
    yield
    ray.shutdown()


def edges_of(kind):
    """Edges with a hub, a long path and vertices in components of their own."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 900, (2500, 2)) ** 2 // 900
    path = np.column_stack((np.arange(1000, 1040), np.arange(1001, 1041)))
    hub = np.column_stack((np.full(300, 5), np.arange(0, 900, 3)))
    edges = np.concatenate((edges, path, hub, [[1040, 7], [2000, 2001]])) * 7
    return edges if kind == "repeated" else np.column_stack((edges, 1 + np.arange(len(edges)) % 9))


@pytest.fixture(scope="session")
def graphs(tmp_path_factory):
    """A function that gives the graph file of a kind, and that gives the folder of its shards."""
    folder = tmp_path_factory.mktemp("graphs")

    def make(kind, shards=None):
        path = folder / f"{kind}.cenote"
        if not path.exists():
            options = {"vertices": [3, 9001], "memory": "64MiB"} | KINDS[kind]
            cenote.import_graph(edges_of(kind), path, **options)
        if shards is None:
            return path
        out = folder / f"{kind}-{shards}"
        if not out.exists():
            cenote.shard(path, out, shards=shards, memory="64MiB")
        return out

    return make


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The graph file of the packages, with string ids, and the folder of three shards of it."""
    folder = tmp_path_factory.mktemp("packages")
    cenote.import_graph(PACKAGES, folder / "packages.cenote", memory="64MiB")
    cenote.shard(folder / "packages.cenote", folder / "shards", shards=3, memory="64MiB")
    return folder / "packages.cenote", folder / "shards"


@pytest.fixture(scope="session")
def sharded(packages, cluster):
    """The packages, open on three processes."""
    with cenote.ray.open(packages[1], memory="64MiB", cpus=0.5) as graph:
        yield graph
