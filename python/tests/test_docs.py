"""The Python of the documents runs as written, in order, in one folder per document."""

import re
import shutil
import warnings

import pytest
from conftest import PACKAGES, ROOT

DOCUMENTS = ["docs/python.md", "README.md", "python/README.md"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_run_as_written(name, folder, capsys):
    text = (ROOT / name).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    (folder / "data").mkdir()
    shutil.copy(PACKAGES, folder / "data")
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(compile(block, name, "exec"), names)
    assert capsys.readouterr().out
