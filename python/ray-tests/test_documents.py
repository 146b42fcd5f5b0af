"""The examples of docstrings and of the page on shards run as written."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shutil

import pytest
from conftest import PACKAGES, ROOT

import cenote
import cenote.ray


def examples():
    """Every docstring with an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [cenote.ray] + [
        importlib.import_module(f"cenote.ray.{module.name}")
        for module in pkgutil.iter_modules(cenote.ray.__path__)
    ]
    found = [test for module in modules for test in finder.find(module) if test.examples]
    return {test.name: test for test in found}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_run(name, folder, packages, sharded):
    (folder / "packages.shards").symlink_to(packages[1])
    with cenote.open(packages[0]) as graph:
        test = EXAMPLES[name]
        test.globs |= {"cenote": cenote, "g": graph, "sharded": sharded}
        report: list[str] = []
        result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_every_call_has_an_example():
    methods = {name.rsplit(".", 1)[-1] for name in EXAMPLES}
    calls = {"open", "degrees", "pagerank", "wcc", "bfs", "sssp", "cdlp", "kcore", "numbers_of"}
    calls |= {"sample_neighbors", "VertexProgram", "write", "dataset", "to_arrow", "import_graph"}
    assert calls <= methods


def test_the_reference_has_every_public_name_with_its_text():
    path = ROOT / "docs" / "python_reference.py"
    spec = importlib.util.spec_from_file_location("python_reference", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    pages = "\n".join(tool.Reference("cenote.ray").pages().values())
    names = [f"{name}" for name in cenote.ray.__all__]
    names += [f"ShardedGraph.{name}" for name in ("pagerank", "wcc", "run", "close")]
    for name in names:
        section = pages.split(f"{{ #cenote.ray.{name} }}\n")[1].split("\n#")[0]
        assert re.sub("```python.*?```", "", section, flags=re.DOTALL).strip(), name


def test_the_page_on_shards_runs_as_written(folder, capsys):
    text = (ROOT / "docs/shards.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    (folder / "data").mkdir()
    shutil.copy(PACKAGES, folder / "data")
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/shards.md", "exec"), names)
    assert capsys.readouterr().out
