"""Types, style, and the examples of the docstrings."""

import doctest
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import warnings

import pytest
from conftest import PACKAGES, ROOT

import cenote

PYTHON = ROOT / "python"


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["style", "format"])
def test_the_package_is_tidy(command):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "."], cwd=PYTHON, capture_output=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_the_native_part_is_as_its_stubs_say(tmp_path):
    # Without the other files of the package: they bring NumPy's types, which take long to read.
    (tmp_path / "cenote").mkdir()
    (tmp_path / "cenote/__init__.py").touch()
    for native in ["_cenote.pyi", "_cenote.abi3.so"]:
        (tmp_path / "cenote" / native).symlink_to(PYTHON / "cenote" / native)
    command = [sys.executable, "-m", "mypy.stubtest", "cenote._cenote"]
    command += ["--mypy-config-file", str(PYTHON / "pyproject.toml")]
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_the_package_is_typed_and_a_caller_is_checked_against_its_types(tmp_path):
    caller = tmp_path / "caller.py"
    caller.write_text(
        "import cenote\n"
        "with cenote.open('g.cenote') as g:\n"
        "    reveal_type(g.wcc(memory='1GiB').labels)\n"
        "    g.bfs('a', memry=3)\n"
        "    g.pagerank(damping='x')\n"
    )
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "cenote", str(caller)]
    done = subprocess.run(command, cwd=PYTHON, capture_output=True)
    text = done.stdout.decode()
    assert done.returncode == 1, text + done.stderr.decode()
    assert 'caller.py:4: error: Unexpected keyword argument "memry"' in text
    assert "caller.py:5: error" in text and "unsignedinteger" in text
    # None but these: the package has no error.
    assert "Found 2 errors in 1 file" in text


def examples():
    """Every docstring with an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [cenote] + [
        importlib.import_module(f"cenote.{module.name}")
        for module in pkgutil.iter_modules(cenote.__path__)
        # Those of `ray` are in python/ray-tests.
        if module.name not in ("_cenote", "ray")
    ]
    found = [test for module in modules for test in finder.find(module) if test.examples]
    return {test.name: test for test in found}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_run(name, folder, packages):
    (folder / "data").mkdir()
    shutil.copy(PACKAGES, folder / "data")
    shutil.copy(packages, "packages.cenote")
    if "import_graph" not in name:
        cenote.import_graph([("ada", "bob"), ("bob", "cem")], "friends.cenote")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cenote.open("packages.cenote") as graph:
            test = EXAMPLES[name]
            test.globs |= {"cenote": cenote, "g": graph}
            report: list[str] = []
            result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_every_algorithm_and_call_has_an_example():
    methods = {name.rsplit(".", 1)[-1] for name in EXAMPLES}
    runs = {"betweenness", "bfs", "cdlp", "degrees", "dfs", "lexicographic_dfs", "kcore", "lcc"}
    runs |= {"hyperball", "leiden", "louvain", "mis", "msf", "similar"}
    runs |= {"pagerank", "ppr", "reach", "scc", "sssp", "triangles", "walk", "wcc"}
    calls = {"import_graph", "open", "Update", "check", "neighbors", "edges", "visit", "values"}
    calls |= {"sample_neighbors", "subgraph", "write_features", "features"}
    calls |= {"pool_replay", "tier_replay", "shard"}
    assert runs | calls <= methods
