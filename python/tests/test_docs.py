"""The Python of the documents runs as written, in order, in one folder per document."""

import os
import re
import shutil
import subprocess
import sys
import warnings

import pytest
from conftest import PACKAGES, ROOT

GUIDES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/guides/*.md"))
WITHOUT_PYTHON = {"docs/guides/profile.md"}
DOCUMENTS = ["docs/python.md", "docs/index.md", "README.md", "python/README.md"]
DOCUMENTS += [name for name in GUIDES if name not in WITHOUT_PYTHON]


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


WHEEL = os.environ.get("CENOTE_WHEEL") and os.path.abspath(os.environ["CENOTE_WHEEL"])


@pytest.mark.skipif(WHEEL is None, reason="CENOTE_WHEEL names no wheel: `make wheel` makes one")
def test_the_wheel_and_the_backend_run_their_examples_in_a_fresh_environment(folder):
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    # pip builds in the folder of the source.
    shutil.copytree(ROOT / "python/nx-cenote", folder / "nx-cenote")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, f"cenote[pandas] @ file://{WHEEL}"], check=True)
    subprocess.run([*install, folder / "nx-cenote"], check=True)
    (folder / "data").mkdir()
    shutil.copy(PACKAGES, folder / "data")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for name in ["README.md", "python/README.md", "python/nx-cenote/README.md"]:
        blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.M | re.S)
        command = [python, "-W", "ignore", "-c", "\n".join(blocks)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout, (name, done.stderr)
