"""The pages that are made from the command, from rows and from Cargo say what is there."""

import importlib.util
import re
import subprocess
import tomllib

from conftest import ROOT, command_path


def tool(name):
    """A program of `docs/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    importlib.sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def flags_by_verb(*words):
    """The flags that `--help` of a verb and its parts lists, without the reference's parser."""
    shown = subprocess.run([command_path(), *words, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    found = {words: set(re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", shown.stdout, re.MULTILINE))}
    if "\nCommands:\n" in shown.stdout:
        block = shown.stdout.split("\nCommands:\n")[1].split("\n\n")[0]
        for part in re.findall(r"^  (\w+)", block, re.MULTILINE):
            found |= flags_by_verb(*words, part) if part != "help" else {}
    return found


def test_the_reference_has_every_verb_and_flag_with_its_help():
    commands = tool("commands")
    top = commands.verbs(command_path())
    known = {verb.words: verb for verb in top.all()}
    expected = flags_by_verb()
    assert len(expected) > 40 and {words: set() for words in known}.keys() == expected.keys()
    pages = commands.pages(top)
    for words, flags in expected.items():
        verb = known[words]
        assert verb.summary, words
        found = {item.name for item in verb.items if item.name.startswith("--")}
        assert found - {"--version"} == flags - {"--version"}, words
        page = pages[f"{words[0]}.md"] if words else pages["index.md"]
        for item in verb.items if words else []:
            assert item.text, f"{words}: {item.usage} has no help"
            assert item.name == "--help" or f"`{item.usage}`\n\n:   " in page, (words, item.usage)
    assert "*possible values*: packed, raw" in pages["import.md"]
    assert "    *default*: packed; " in pages["import.md"]


def test_figures_and_tables_are_those_of_the_rows():
    for path, text in tool("figures").made().items():
        assert path.read_text() == text, f"{path.name}: `python docs/figures.py` makes it anew"


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    made = ("reference/", "project/")
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in listed if not page.startswith(made)} == pages, "see nav in mkdocs.yml"


def headings(path):
    """The anchors of a document's headings, as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    words = [re.sub(r"[^\w\s-]", "", title.lower()) for title in titles]
    return {re.sub(r"\s", "-", title.strip()) for title in words}


def test_links_to_headings_lead_to_one():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    seen = 0
    for document in documents:
        for target, anchor in re.findall(r"\]\(([^)\s#:]*)#([^)\s]+)\)", document.read_text()):
            path = (document.parent / target).resolve() if target else document
            assert anchor in headings(path), f"{document.name}: {target}#{anchor}"
            seen += 1
    assert seen > 20


def manifest(path):
    return tomllib.loads((ROOT / path).read_text())


def test_there_is_one_version():
    workspace = manifest("Cargo.toml")["workspace"]
    version = workspace["package"]["version"]
    own = {name: it for name, it in workspace["dependencies"].items() if name.startswith("cenote")}
    assert {it["version"] for it in own.values()} == {version}
    for member in workspace["members"]:
        assert manifest(f"{member}/Cargo.toml")["package"]["version"] == {"workspace": True}, member
    # The package takes its version from its crate.
    assert "version" in manifest("python/pyproject.toml")["project"]["dynamic"]
    assert manifest("python/nx-cenote/pyproject.toml")["project"]["version"] == version


def test_crates_are_published_after_those_that_they_need():
    text = (ROOT / "docs/releasing.md").read_text()
    order = re.findall(r"^\d+\. `([\w-]+)`$", text, re.MULTILINE)
    needs = {}
    for path in ROOT.glob("crates/*/Cargo.toml"):
        crate = manifest(path.relative_to(ROOT))
        named = crate.get("dependencies", {}) | crate.get("build-dependencies", {})
        needs[crate["package"]["name"]] = {name for name in named if name.startswith("cenote")}
    del needs["cenote-sim"]
    assert sorted(order) == sorted(needs)
    for at, name in enumerate(order):
        assert needs[name] <= set(order[:at]), name
