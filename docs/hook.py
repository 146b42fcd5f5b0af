"""What MkDocs does not do by itself for this site; `mkdocs.yml` names it.

- The reference pages come from the command (`$CENOTE`) and the sources of the Python package.
- Documents outside `docs/` are pages too, and links to other files of the tree lead to copies, so
  that links hold on the site as they do in the tree.
- Figures are put into the page, so that they follow its colours.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

import commands
import python_reference

# Documents outside `docs/`, and folders, with the pages that show them.
PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
    "crates/store/FORMAT.md": "project/file-format.md",
    "experiments": "performance.md",
    "experiments/runs": "project/raw-rows.md",
    "python/nx-cenote": "reference/python/nx_cenote/index.md",
    "python/nx-cenote/README.md": "reference/python/nx_cenote/index.md",
    "crates/cenote/README.md": "reference/rust.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FIGURE = re.compile(r'<p><img alt="([^"]*)" src="(?:[./]*)figures/([\w-]+)\.svg" ?/?></p>')

generated: dict[str, str] = {}
copies: dict[str, str] = {}


def on_config(config):
    """Makes the reference, and puts it into the navigation."""
    generated.clear()
    command = Path(os.environ.get("CENOTE", ROOT / "target/release/cenote"))
    if not command.is_file():
        raise PluginError(f"{command} does not exist: `make docs` builds it, $CENOTE names another")
    made = {"reference/command": commands.pages(commands.verbs(command))}
    for package in ("cenote", "cenote.ray", "nx_cenote"):
        made[f"reference/python/{package}"] = python_reference.Reference(package).pages()
    for folder, pages in made.items():
        generated.update({f"{folder}/{name}": text for name, text in pages.items()})
    generated["reference/rust.md"] = rust()
    generated["project/raw-rows.md"] = raw_rows()
    config.nav = [expanded(entry) for entry in config.nav]
    return config


def expanded(entry):
    """An entry of the navigation; a folder becomes its pages, the index first."""
    if isinstance(entry, dict):
        return {title: expanded(inner) for title, inner in entry.items()}
    if isinstance(entry, list):
        parts = [expanded(inner) for inner in entry]
        return [it for part in parts for it in (part if isinstance(part, list) else [part])]
    if entry.endswith("/"):
        return [page for page in generated if page.startswith(entry)]
    return entry


def on_files(files, config):
    """Adds pages from outside `docs/`, and copies of the files that pages link to."""
    for uri, text in generated.items():
        files.append(File.generated(config, uri, content=text))
    for path, uri in PAGES.items():
        if path.endswith(".md") and not files.get_file_from_path(uri):
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    for file in list(files.documentation_pages()):
        if file.src_uri in generated:
            continue
        for target in LINK.findall(prose(file.content_string)):
            path = tree_path(file.src_uri, target)
            is_page = path in PAGES or (path or "").startswith("docs/")
            if path and (not is_page or path.endswith((".py", ".txt"))):
                copy(path, files, config)
    for path in sorted((ROOT / "experiments/runs").rglob("*.*")):
        copy(path.relative_to(ROOT).as_posix(), files, config)
    return files


def copy(path, files, config):
    """A file of the tree, under `source/`; sources get an ending that browsers show."""
    if path in copies and files.get_file_from_path(copies[path]):
        return
    if not (ROOT / path).is_file():
        raise PluginError(
            f"a page links to {path}, which is no file: docs/hook.py has no page for it"
        )
    is_shown = path.endswith((".svg", ".txt"))
    copies[path] = f"source/{path}" + ("" if is_shown else ".txt")
    files.append(File.generated(config, copies[path], abs_src_path=str(ROOT / path)))


def on_page_markdown(markdown, page, config, files):
    """Leads links out of `docs/` to the pages and copies."""
    uri = page.file.src_uri
    if uri == "index.md":
        # It is alone in its part of the navigation.
        page.meta["hide"] = ["navigation"]
    if uri in generated:
        return markdown
    known = PAGES | copies

    def rewritten(found):
        target, _, anchor = found.group().partition("#")
        path = tree_path(uri, target)
        place = known.get(path) or (path or "").removeprefix("docs/")
        if not path or not place:
            return found.group()
        place = posixpath.relpath(place, posixpath.dirname(uri) or ".")
        return place + (f"#{anchor}" if anchor else "")

    lines, in_code = [], False
    for line in markdown.split("\n"):
        in_code ^= line.lstrip().startswith("```")
        lines.append(line if in_code else LINK.sub(rewritten, line))
    return "\n".join(lines)


def on_page_content(html, page, config, files):
    """Puts figures into the page, with their text below."""

    def inline(found):
        text, name = found.groups()
        svg = (ROOT / "docs/figures" / f"{name}.svg").read_text()
        svg = svg[svg.index("<svg") :]
        # Two figures of a page may use the same names inside.
        svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{text}"', 1)
        return f'<figure class="plot">{svg}<figcaption>{text}</figcaption></figure>'

    return FIGURE.sub(inline, html)


def prose(markdown):
    """The text without code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.MULTILINE | re.DOTALL)


def tree_path(uri, target):
    """Where a link of a page leads in the tree; None if it leads elsewhere or stays on the page."""
    target = target.partition("#")[0]
    if not target or "://" in target or target.startswith("mailto:"):
        return None
    origin = {page: path for path, page in PAGES.items() if path.endswith(".md")}
    source = f"docs/{uri}" if (ROOT / "docs" / uri).exists() else origin.get(uri, f"docs/{uri}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def rust() -> str:
    """Links to the documentation of the crates, which `make docs` puts beside the pages."""
    crates = sorted((ROOT / "crates").glob("*/src/lib.rs"))
    # The simulator is for the tests, and `make docs` leaves it out.
    crates = [path for path in crates if path.parts[-3] != "sim"]
    crates.sort(key=lambda path: path.parts[-3] != "cenote")
    lines = [
        "# The Rust crates",
        "",
        "Programs use `cenote`; the others are its parts, in the terms of the",
        "[architecture](../project/architecture.md).",
        "",
        "| crate | |",
        "|---|---|",
    ]
    for path in crates:
        room = path.parts[-3]
        name = "cenote" if room == "cenote" else f"cenote-{room}"
        paragraph = path.read_text().split("\n//!\n")[0].split("\n#!")[0]
        first = " ".join(line.removeprefix("//!").strip() for line in paragraph.split("\n"))
        link = f"../rust/{name.replace('-', '_')}/index.html"
        lines.append(f'| <a href="{link}"><code>{name}</code></a> | {first} |')
    return "\n".join(lines) + "\n"


def raw_rows() -> str:
    """The list of what was measured."""
    lines = [
        "# Raw rows",
        "",
        "Every figure of these pages comes from rows that a program wrote while it measured: JSON",
        "Lines, one measurement a line, with commit, host and command where it knows them.",
        "",
        "| file | rows |",
        "|---|---:|",
    ]
    for path in sorted((ROOT / "experiments/runs").rglob("*.*")):
        name = path.relative_to(ROOT).as_posix()
        ending = "" if name.endswith(".txt") else ".txt"
        rows = len(path.read_text().splitlines())
        lines.append(f"| [{path.name}](../source/{name}{ending}) | {rows:,} |")
    return "\n".join(lines) + "\n"
