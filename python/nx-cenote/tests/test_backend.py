"""How NetworkX finds and uses the backend: entry points, configuration, files, its own tests."""

import ast
import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import nx_cenote
import pytest
import tomllib
from conftest import FOLDER
from nx_cenote import _backend, _info
from nx_cenote._checks import ORDERED

import cenote

ROOT = FOLDER.parents[1]


def python(code, **environment):
    """The output of a program, run beside the package alone."""
    paths = f"{FOLDER}:{FOLDER.parent}"
    environment = {**os.environ, "PYTHONPATH": paths, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.fixture
def settings():
    """The configuration of the backend, restored at the end."""
    config = nx.config.backends.cenote
    before = {name: config[name] for name in _info.DEFAULT_CONFIG}
    yield config
    for name, value in before.items():
        config[name] = value


def test_networkx_finds_the_backend_and_imports_nothing_heavy_for_it():
    code = "import sys, networkx as nx; print('cenote' in nx.config.backends, "
    code += "[m for m in ('numpy', 'cenote', 'nx_cenote._graph') if m in sys.modules])"
    assert python(code) == "True []"


def test_a_variable_makes_it_the_first_backend_unless_another_is_named():
    code = "import networkx as nx; print(nx.config.backend_priority.algos)"
    for given, expected in [
        ({"NX_CENOTE_AUTOCONFIG": "True"}, "['cenote']"),
        ({"NX_CENOTE_AUTOCONFIG": "1"}, "['cenote']"),
        ({"NX_CENOTE_AUTOCONFIG": "False"}, "[]"),
        ({}, "[]"),
        ({"NX_CENOTE_AUTOCONFIG": "True", "NETWORKX_BACKEND_PRIORITY": ""}, "[]"),
    ]:
        assert python(code, **given) == expected, given
    code = "import networkx as nx; nx.config.backends.cenote.min_edges = 1; G = nx.path_graph(9);"
    code += "nx.is_connected(G); print('cenote' in G.__networkx_cache__['backends'])"
    assert python(code, NX_CENOTE_AUTOCONFIG="True") == "True"


def test_the_metadata_is_that_of_the_project():
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {
        "networkx.backends": {"cenote": "nx_cenote._backend"},
        "networkx.backend_info": {"cenote": "nx_cenote._info:get_info"},
    }
    assert nx.utils.backends.backend_info["cenote"] == _info.get_info()
    assert "cenote" in nx.pagerank.backends and "cenote" not in nx.wiener_index.backends


def test_the_metadata_is_whole_while_another_process_writes_it_again():
    command = [sys.executable, "-c", "import develop\nfor _ in range(200): develop.main()"]
    writer = subprocess.Popen(command, cwd=FOLDER)
    while writer.poll() is None:
        entries = (FOLDER / "nx_cenote.egg-info" / "entry_points.txt").read_text()
        assert "networkx.backends" in entries and entries.endswith("\n")
    assert writer.returncode == 0


def test_small_graphs_are_converted_only_on_request(settings):
    graph = nx.path_graph(9)
    assert "min_edges" in _backend.should_run("is_connected", (graph,), {})
    settings.min_edges = 8
    assert _backend.should_run("is_connected", (graph,), {}) is True
    code = "import networkx as nx; G = nx.path_graph(9); nx.config.backends.cenote.min_edges = %d;"
    code += "nx.is_connected(G); print('cenote' in G.__networkx_cache__.get('backends', {}))"
    for least, is_converted in [(9, "False"), (8, "True")]:
        assert python(code % least, NETWORKX_BACKEND_PRIORITY="cenote") == is_converted


def test_what_networkx_counts_in_a_pass_is_not_worth_a_conversion(settings):
    settings.min_edges = 1
    assert "less time" in _backend.should_run("degree_centrality", (nx.path_graph(9),), {})


def test_the_temporary_file_lies_in_the_directory_and_goes_with_its_graph(settings, tmp_path):
    settings.directory = tmp_path
    converted = _backend.convert_from_nx(nx.path_graph(9))
    assert len(list(tmp_path.rglob("graph.cenote"))) == 1
    components = nx.connected_components(converted)
    assert next(components) == set(range(9))
    del converted, components
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    settings.directory = tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match="missing"):
        _backend.convert_from_nx(nx.path_graph(9))


def test_a_conversion_that_fails_leaves_nothing(settings, tmp_path):
    settings.directory, settings.memory = tmp_path, 1
    with pytest.raises(cenote.MemoryBudget):
        nx.is_connected(nx.path_graph(9), backend="cenote")
    assert list(tmp_path.iterdir()) == []


def test_the_temporary_file_goes_when_the_interpreter_ends(tmp_path):
    code = "import networkx as nx, pathlib; p = pathlib.Path(%r); G = nx.path_graph(9)\n"
    code += "nx.config.backends.cenote.directory = p; nx.is_connected(G, backend='cenote')\n"
    code += "print(len(list(p.iterdir())))"
    assert python(code % str(tmp_path)) == "1"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_profile_of_the_drive_is_warned_of_once():
    code = "import networkx as nx, warnings; warnings.simplefilter('always')\n"
    code += "with warnings.catch_warnings(record=True) as found:\n"
    code += "  for n in (3, 4, 5): nx.is_connected(nx.path_graph(n), backend='cenote')\n"
    code += "print(len(found), 'profile' in str(found[0].message))"
    assert python(code) == "1 True"


def test_runs_keep_to_the_memory_of_the_configuration(settings):
    converted = _backend.convert_from_nx(nx.path_graph(9))
    settings.memory = 1
    for name in ("is_connected", "pagerank", "transitivity"):
        with pytest.raises(cenote.MemoryBudget):
            getattr(nx, name)(converted)


def test_a_changed_graph_is_converted_again():
    graph = nx.path_graph(4)
    assert nx.is_connected(graph, backend="cenote")
    graph.add_node("alone")
    assert not nx.is_connected(graph, backend="cenote")


def test_a_stored_graph_falls_back_only_where_that_is_wished(tmp_path):
    path = tmp_path / "g.cenote"
    edges = [(7, 9, 2.5), (9, 12, 1.0), (12, 7, 0.25), (12, 30, 4.0)]
    cenote.import_graph(edges, path, weights="f64", directed=True)
    with nx_cenote.open(path) as stored:
        with pytest.raises(NotImplementedError):
            nx.wiener_index(stored)
        with pytest.raises(NotImplementedError, match="pagerank"):
            nx.pagerank(stored, weight="km")
        with pytest.raises(NotImplementedError):
            nx.ancestors(stored, 30)
        copy = _backend.convert_to_nx(stored)
        assert list(copy.edges(data="weight")) == edges
        for weight in (None, "weight"):
            ours, theirs = nx.pagerank(stored, weight=weight), nx.pagerank(copy, weight=weight)
            assert ours == pytest.approx(theirs)
        found = nx.single_source_dijkstra_path_length(stored, 7)
        assert found == nx.single_source_dijkstra_path_length(copy, 7)
        nx.config.fallback_to_nx = True
        try:
            assert nx.ancestors(stored, 30) == {7, 9, 12}
        finally:
            nx.config.fallback_to_nx = False


def test_loops_parallel_edges_and_deleted_vertices_of_stored_graphs(tmp_path):
    path = tmp_path / "g.cenote"
    edges = [(0, 1), (0, 1), (1, 1), (1, 2)]
    cenote.import_graph(edges, path, keep_self_loops=True, keep_duplicates=True)
    with nx_cenote.open(path) as stored:
        assert stored.is_multigraph() and nx.is_connected(stored)
        assert sorted(_backend.convert_to_nx(stored).edges()) == edges
        for name in ("pagerank", "triangles", "degree_centrality"):
            with pytest.raises(NotImplementedError):
                getattr(nx, name)(stored)
        with pytest.raises(nx.NetworkXNotImplemented):
            nx.core_number(stored)
    cenote.import_graph(edges, path, keep_self_loops=True, overwrite=True)
    with nx_cenote.open(path) as stored:
        for name in ("core_number", "degree_centrality"):
            with pytest.raises(NotImplementedError):
                getattr(nx, name)(stored)
        assert nx.triangles(stored) == {0: 0, 1: 0, 2: 0}
    with cenote.update(path) as update:
        update.delete_vertex(2)
    with pytest.raises(cenote.InvalidInput, match=r"1 deleted vertices.*cenote\.compact"):
        nx_cenote.open(path)
    cenote.compact(path)
    with nx_cenote.open(path) as stored:
        assert set(stored) == {0, 1} and 2 not in stored


def test_the_ids_of_a_file_are_nodes_of_their_type_only(tmp_path):
    cenote.import_graph([(1, 2)], tmp_path / "integers.cenote")
    cenote.import_graph([("1", "b")], tmp_path / "strings.cenote")
    with nx_cenote.open(tmp_path / "integers.cenote") as stored:
        assert 1 in stored and "1" not in stored and 2.5 not in stored
    with nx_cenote.open(tmp_path / "strings.cenote") as stored:
        assert "1" in stored and 1 not in stored
        with pytest.raises(nx.NodeNotFound):
            nx.has_path(stored, 1, "b")


MODULES = [
    "centrality/tests/test_betweenness_centrality.py",
    "centrality/tests/test_degree_centrality.py",
    "centrality/tests/test_harmonic_centrality.py",
    "components/tests/test_connected.py",
    "components/tests/test_strongly_connected.py",
    "components/tests/test_weakly_connected.py",
    "link_analysis/tests/test_pagerank.py",
    "shortest_paths/tests/test_generic.py",
    "shortest_paths/tests/test_unweighted.py",
    "shortest_paths/tests/test_weighted.py",
    "tests/test_cluster.py",
    "tests/test_core.py",
    "tests/test_dag.py",
    "tests/test_isolate.py",
    "tests/test_link_prediction.py",
    "tests/test_mis.py",
    "tests/test_regular.py",
    "traversal/tests/test_bfs.py",
    "tree/tests/test_recognition.py",
    "../generators/tests/test_ego.py",
]

EXPECTED_FAILURES = {
    "test_random_seed": "`maximal_independent_set` finds another set than NetworkX's of a seed",
    "TestStronglyConnected::test_condensation_mapping_and_members": "`condensation` numbers the "
    "components in the order in which they come, which NetworkX does not define",
}
"""Tests of NetworkX that fail, and why."""


FALLBACK = "NETWORKX_FALLBACK_TO_NX"
"""Where it is not set, NetworkX does not run what the backend declines."""

GIVEN = " with the given arguments"

COUNTER = """
from nx_cenote import _backend, _info
from nx_cenote._checks import ORDERED
calls = dict.fromkeys(_info.FUNCTIONS, 0)
def counted(name):
    call = getattr(_backend, name)
    def count(*args, **kwargs):
        calls[name] += 1
        return call(*args, **kwargs)
    return count
for name in calls:
    setattr(_backend, name, counted(name))
def pytest_terminal_summary(terminalreporter):
    never = [name for name, times in calls.items() if times == 0]
    terminalreporter.write_line(f"calls {sum(calls.values())} never {never}")
"""


def own_tests(tmp_path, **environment):
    """Runs NetworkX's own tests with the backend: its output, and the tests that failed."""
    folder = Path(nx.__file__).parent
    (tmp_path / "counter.py").write_text(COUNTER)
    environment = {
        **{name: value for name, value in os.environ.items() if name != FALLBACK},
        "PYTHONPATH": f"{FOLDER}:{FOLDER.parent}:{tmp_path}",
        "NETWORKX_TEST_BACKEND": "cenote",
        # Graphs of a few vertices, of which a thousand are made: io_uring's rings take longer.
        "CENOTE_IO_URING": "off",
        **environment,
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rfEx"]
    # The conftest of NetworkX, which selects the backend, is above the modules.
    command += ["--tb=short", "-p", "counter", f"--rootdir={folder}", f"--confcutdir={folder}"]
    paths = [str(folder / "algorithms" / name) for name in MODULES]
    # In two halves at once: much of the time they wait for the drive.
    halves = [
        subprocess.Popen(
            [*command, *half], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )
        for half in (paths[::2], paths[1::2])
    ]
    texts = [half.communicate()[0] for half in halves]
    failed = {
        line.split("::", 1)[1].split(" - ")[0]
        for text in texts
        for line in text.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    }
    for text in texts:
        assert " passed" in text, text[-5000:]
    return texts, failed


@pytest.mark.long
def test_networkx_passes_its_own_tests_with_the_backend(tmp_path):
    texts, failed = own_tests(tmp_path, **{FALLBACK: "True"})
    calls, never = 0, set(_info.FUNCTIONS)
    for text in texts:
        found = re.search(r"calls (\d+) never (.*)", text)
        assert found, text[-5000:]
        calls += int(found[1])
        never &= set(ast.literal_eval(found[2]))
    assert failed == set(EXPECTED_FAILURES), "\n".join(text[-5000:] for text in texts)
    assert calls > 500
    # NetworkX's tests have no stored graphs, for which alone some are; some modules take long.
    elsewhere = {"closeness_centrality", "eccentricity", "is_empty", "is_eulerian"}
    elsewhere |= {"center", "diameter", "periphery", "radius"}
    assert never <= ORDERED | elsewhere, never


@pytest.mark.long
def test_networkx_passes_its_own_tests_of_what_the_backend_has_without_fallback(tmp_path):
    texts, failed = own_tests(tmp_path)
    # `condensation` is none of its functions.
    assert failed == {"test_random_seed"}, "\n".join(text[-5000:] for text in texts)
    # NetworkX ends a test, as failing by expectation, where it calls what a backend has not.
    lines = [line for text in texts for line in text.splitlines() if line.startswith("XFAIL")]
    assert lines
    for line in lines:
        ended = re.fullmatch(rf".* - '(\w+)' not implemented by cenote({GIVEN})?", line)
        assert ended and (ended[1] in _info.FUNCTIONS) == bool(ended[2]), line
    passed = sum(int(re.findall(r"(\d+) passed", text)[-1]) for text in texts)
    assert passed > 150, passed


def test_the_tables_of_the_document_are_those_of_the_code():
    document = (ROOT / "docs/python.md").read_text()
    assert _info.table() in document
    rows = [f"| `{name.split('::')[-1]}` | {why} |" for name, why in EXPECTED_FAILURES.items()]
    assert "\n".join(rows) in document, rows


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert code and python(code[1]).splitlines() == ["{'ada': 0, 'bob': 1, 'cem': 2}", "True"]
