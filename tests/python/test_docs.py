"""Every command in README and docs runs, in order, in one folder per document."""

import os
import re
import shutil
import subprocess

import pyarrow as pa
import pytest

from conftest import ROOT, command_path

README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(document, language):
    """The blocks of code of a language."""
    fence = rf"^```{language}\n(.*?)^```"
    return re.findall(fence, document.read_text(), re.MULTILINE | re.DOTALL)


def commands(document):
    """The lines of the document's `sh` blocks."""
    lines = "".join(blocks(document, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def shorter(line):
    """A line with less work for the same command: smaller graphs and fewer operations."""
    line = re.sub(r"(--scale 1)[3-9]\b", r"\g<1>2", line)
    return re.sub(r"(--(?:ops|vertices|edges|walkers) \d+)0(000)\b", r"\1\2", line)


@pytest.fixture(scope="module")
def less_data(tmp_path_factory):
    """The data with every eighth edge of the packages, and those that the documents name."""
    folder = tmp_path_factory.mktemp("less") / "data"
    shutil.copytree(ROOT / "data", folder)
    path = folder / "debian-depends.tsv.zst"
    lines = pa.input_stream(path, compression="zstd").read().splitlines(keepends=True)
    named = (b"apt\t", b"bash\t", b"nano\t", b"vim\t")
    left = [line for at, line in enumerate(lines) if at % 8 == 0 or line.startswith(named)]
    with pa.output_stream(path, compression="zstd") as file:
        file.write(b"".join(left))
    return folder


def run_commands(document, tmp_path, data, change=str):
    """Runs the document's commands beside `data`, each as `change` makes it."""
    lines = commands(document)
    if document.name == "README.md":
        assert any("cenote run" in line for line in lines)
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copytree(data, folder / "data")
    environment = os.environ | {
        "PATH": f"{command_path().parent}:{os.environ['PATH']}",
        # The profile that the documents measure must not replace the user's own.
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for line in lines:
        if document != README and line.startswith("cenote profile") and "--saved" not in line:
            # It takes up to 20 seconds: once is enough.
            assert line in commands(README)
            continue
        if document != README and " replay --workload" in line and line in commands(README):
            # It needs no file, so it does the same there.
            continue
        if line.startswith("make "):
            # `make demo` runs `cenote demo`, which has a test; `make test` is what runs this.
            known = subprocess.run(["make", "-n", line.split()[1]], cwd=ROOT, capture_output=True)
            assert known.returncode == 0, known.stderr.decode()
            continue
        done = subprocess.run(
            ["bash", "-c", f"set -euo pipefail; {change(line)}"],
            cwd=folder,
            env=environment,
            capture_output=True,
        )
        assert done.returncode == 0, f"{line}: {done.stderr.decode()}"


every_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix()
)


@every_document
def test_commands_run_on_smaller_graphs(document, tmp_path, less_data):
    run_commands(document, tmp_path, less_data, shorter)


@pytest.mark.long
@every_document
def test_commands_run_as_written(document, tmp_path):
    run_commands(document, tmp_path, ROOT / "data")


def test_no_code_escapes_the_tests():
    for document in DOCUMENTS:
        # A block that is indented would be neither found nor run.
        assert not re.findall(r"^ +```(?:sh|python|rust)", document.read_text(), re.MULTILINE)


def test_rust_of_the_documents_is_of_an_example_that_is_tested():
    programs = [path.read_text() for path in ROOT.glob("crates/*/examples/*.rs")]
    shown = {document.name: blocks(document, "rust") for document in DOCUMENTS}
    assert shown["README.md"] and shown["algorithm.md"]
    for name, found in shown.items():
        for block in found:
            assert any(block in program for program in programs), f"{name}: {block}"


def test_the_demo_shows_what_it_did(tmp_path):
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [command_path(), "demo", "--scale", "12", "--dir", "demo"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    for words in ["libc6", "bfs", "wcc", "pagerank", "achieved / possible", "peak / budget"]:
        assert words in text
    assert not (tmp_path / "demo").exists(), "the demo removes what it made"
