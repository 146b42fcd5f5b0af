"""Types, style, and the examples of the docstrings."""

import doctest
import os
import shutil
import subprocess
import sys
import warnings

import pytest
from conftest import PACKAGES, ROOT
from docstrings import examples, public_names

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


def test_the_packages_are_typed_and_a_caller_is_checked_against_their_types(tmp_path):
    caller = tmp_path / "caller.py"
    caller.write_text(
        "import cenote\n"
        "with cenote.open('g.cenote') as g:\n"
        "    reveal_type(g.wcc(memory='1GiB').labels)\n"
        "    g.bfs('a', memry=3)\n"
        "    g.pagerank(damping='x')\n"
    )
    # The backend of NetworkX too: reading NumPy's types takes most of the time.
    backend = PYTHON / "nx-cenote"
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull]
    command += ["cenote", str(backend / "nx_cenote"), str(caller)]
    environment = os.environ | {"MYPYPATH": f"{backend}:{PYTHON}"}
    done = subprocess.run(command, cwd=PYTHON, env=environment, capture_output=True)
    text = done.stdout.decode()
    assert done.returncode == 1, text + done.stderr.decode()
    assert 'caller.py:4: error: Unexpected keyword argument "memry"' in text
    assert "caller.py:5: error" in text and "unsignedinteger" in text
    # None but these: the packages have no error.
    assert "Found 2 errors in 1 file" in text


# Those of `ray` are in python/ray-tests.
EXAMPLES = examples(cenote, without=("_cenote", "ray"))


@pytest.fixture(scope="module")
def friends(tmp_path_factory):
    """A small graph file, which each example gets a copy of."""
    path = tmp_path_factory.mktemp("friends") / "friends.cenote"
    cenote.import_graph([("ada", "bob"), ("bob", "cem")], path)
    return path


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_run(name, folder, packages, friends):
    (folder / "data").mkdir()
    shutil.copy(PACKAGES, folder / "data")
    shutil.copy(packages, "packages.cenote")
    if "import_graph" not in name:
        shutil.copy(friends, "friends.cenote")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cenote.open("packages.cenote") as graph:
            test = EXAMPLES[name]
            test.globs |= {"cenote": cenote, "g": graph}
            report: list[str] = []
            result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_every_public_name_has_an_example():
    names = dict(public_names(cenote, EXAMPLES))
    assert [name for name, is_shown in names.items() if not is_shown] == []
    assert len(names) > 200


@pytest.mark.parametrize(
    ("example", "missing"),
    [
        ("_searches.Searches.bfs", ["Graph.bfs", "UNREACHED"]),
        ("_results.Bfs", ["Bfs", "Bfs.depth", "Bfs.levels", "Bfs.parents", "Bfs.reached"]),
        ("_update.Update.add", ["Update.add", "update.add"]),
        ("_features.Features", [f"Features{of}" for of in ["", ".dtype", ".path", ".shape"]]),
        ("_replay.pool_replay", ["pool_replay"]),
    ],
)
def test_a_name_whose_example_is_gone_is_found(example, missing):
    left = {name: test for name, test in EXAMPLES.items() if name != f"cenote.{example}"}
    found = [name for name, is_shown in public_names(cenote, left) if not is_shown]
    assert sorted(found) == sorted(f"cenote.{name}" for name in missing)
