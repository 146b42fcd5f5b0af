"""The examples of docstrings and of the page on shards run as written."""

import doctest
import importlib.util
import re
import shutil

import pytest
from conftest import PACKAGES, ROOT

import cenote
import cenote.ray


def program(name, path):
    """A Python file that is in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


docstrings = program("docstrings", "python/tests/docstrings.py")
EXAMPLES = docstrings.examples(cenote.ray)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_run(name, folder, packages, sharded):
    (folder / "packages.shards").symlink_to(packages[1])
    with cenote.open(packages[0]) as graph:
        test = EXAMPLES[name]
        test.globs |= {"cenote": cenote, "g": graph, "sharded": sharded}
        report: list[str] = []
        result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_every_public_name_has_an_example():
    names = dict(docstrings.public_names(cenote.ray, EXAMPLES))
    assert [name for name, is_shown in names.items() if not is_shown] == []
    assert len(names) > 80


def test_the_reference_has_every_public_name_with_its_text():
    tool = program("python_reference", "docs/python_reference.py")
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
