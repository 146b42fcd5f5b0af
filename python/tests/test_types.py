"""Types, style, and the examples of the docstrings."""

import doctest
import importlib
import pkgutil
import shutil
import subprocess
import sys
import warnings

import pytest
from conftest import PACKAGES, ROOT

import cenote

PYTHON = ROOT / "python"


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "cenote"],
        ["mypy.stubtest", "--mypy-config-file", "pyproject.toml", "cenote._cenote"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ],
    ids=["types", "stubs", "style", "format"],
)
def test_the_package_is_typed_and_tidy(command, tmp_path):
    module, *arguments = command
    cached = ["--cache-dir", str(tmp_path)] if module == "mypy" else []
    done = subprocess.run(
        [sys.executable, "-m", module, *cached, *arguments], cwd=PYTHON, capture_output=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_a_caller_is_checked_against_the_types(tmp_path):
    caller = tmp_path / "caller.py"
    caller.write_text(
        "import cenote\n"
        "with cenote.open('g.cenote') as g:\n"
        "    reveal_type(g.wcc(memory='1GiB').labels)\n"
        "    g.bfs('a', memry=3)\n"
        "    g.pagerank(damping='x')\n"
    )
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(caller)]
    done = subprocess.run(command, cwd=PYTHON, capture_output=True)
    text = done.stdout.decode()
    assert (
        done.returncode == 1 and 'caller.py:4: error: Unexpected keyword argument "memry"' in text
    )
    assert "caller.py:5: error" in text and "unsignedinteger" in text


def examples():
    """Every docstring with an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [cenote] + [
        importlib.import_module(f"cenote.{module.name}")
        for module in pkgutil.iter_modules(cenote.__path__)
        if module.name != "_cenote"
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
    calls |= {"pool_replay", "tier_replay"}
    assert runs | calls <= methods
