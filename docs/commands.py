"""The reference of the command, from the help of every verb of a built `cenote`.

`python docs/commands.py COMMAND FOLDER` writes the pages to a folder, to read them as they are.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Item:
    """A flag or an argument: how it is written, and what its help says, a paragraph each."""

    usage: str
    text: tuple[str, ...]

    @property
    def name(self) -> str:
        """The long flag, or the argument, without its value."""
        found = re.search(r"--[\w-]+", self.usage)
        return found.group() if found else self.usage


@dataclass
class Verb:
    """A verb, or a part of one such as `run bfs`."""

    words: tuple[str, ...]
    summary: str
    usage: str = ""
    about: list[str] = field(default_factory=list)
    arguments: list[Item] = field(default_factory=list)
    options: list[Item] = field(default_factory=list)
    groups: dict[str, list[Item]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parts: list[Verb] = field(default_factory=list)

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def items(self) -> list[Item]:
        """Arguments and flags, those under headings of their own too."""
        grouped = [item for group in self.groups.values() for item in group]
        return self.arguments + self.options + grouped

    def all(self) -> Iterator[Verb]:
        """The verb and its parts."""
        yield self
        for part in self.parts:
            yield from part.all()


def verbs(command: str | Path, words: tuple[str, ...] = (), summary: str = "") -> Verb:
    """Everything that `command help` says, of all verbs."""
    done = subprocess.run([command, "help", *words], capture_output=True, text=True, check=True)
    verb, names = parsed(done.stdout, words, summary)
    verb.parts = [verbs(command, (*words, name), text) for name, text in names if name != "help"]
    return verb


def parsed(text: str, words: tuple[str, ...], summary: str) -> tuple[Verb, list[tuple[str, str]]]:
    """A verb from its help, and the names and summaries of its parts."""
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        heading = re.fullmatch(r"(Usage|Command|Argument|Option|Example)s?:\s*(.*)", line)
        own = re.fullmatch(r"([A-Z][^:]*):", line) if title else None
        if own and not heading:
            title = own.group(1)
            sections[title] = []
        elif heading:
            title = heading.group(1)
            sections[title] = [heading.group(2)] if heading.group(2) else []
        elif title == "Example" and line and not line.startswith(" "):
            title = "Note"
            sections.setdefault(title, []).extend([line])
        else:
            sections.setdefault(title, []).append(line)
    verb = Verb(words, summary)
    about = paragraphs(sections[""])
    verb.summary = summary or about[0]
    verb.about = about[1:]
    verb.usage = "\n".join(line.strip() for line in sections["Usage"] if line.strip())
    verb.arguments = items(sections.get("Argument", []))
    verb.options = items(sections.get("Option", []))
    known = {"", "Usage", "Command", "Argument", "Option", "Example", "Note"}
    verb.groups = {name: items(part) for name, part in sections.items() if name not in known}
    verb.examples = [line.strip() for line in sections.get("Example", []) if line.strip()]
    verb.notes = paragraphs(sections.get("Note", []))
    commands = items(sections.get("Command", []))
    return verb, [(item.usage, " ".join(item.text)) for item in commands]


def paragraphs(lines: list[str]) -> list[str]:
    """Lines that were wrapped for a terminal, joined; an empty line ends a paragraph."""
    joined = "\n".join(line.strip() for line in lines)
    # A value of a flag with a text of its own.
    joined = re.sub(r"^- (?=[\w-]+: )", "\n\n- ", joined, flags=re.MULTILINE)
    return [" ".join(part.split()) for part in joined.split("\n\n") if part.strip()]


def items(lines: list[str]) -> list[Item]:
    """Flags, arguments or verbs: the text is on the same line, or indented on those below."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        starts = indent <= 2 or (indent <= 6 and line.lstrip().startswith("--"))
        if line.strip() and starts:
            usage, _, text = line.strip().partition("  ")
            found.append((usage, [text]))
        elif found:
            found[-1][1].append(line)
    return [Item(usage, tuple(paragraphs(text))) for usage, text in found]


def pages(top: Verb) -> dict[str, str]:
    """Markdown by the name of the file: an index, and a page for each verb."""
    made = {"index.md": index(top)}
    for verb in top.parts:
        made[f"{verb.words[-1]}.md"] = page(verb)
    return made


def index(top: Verb) -> str:
    lines = ["# The command", "", prose(top.summary) + ".", "", "| verb | does |", "|---|---|"]
    for verb in top.parts:
        lines.append(f"| [`{verb.name}`]({verb.words[-1]}.md) | {prose(verb.summary)} |")
    lines += ["", *(prose(note) + "\n" for note in top.notes)]
    lines += ["```text", *top.examples, "```", ""]
    lines += ["These pages are made from `cenote help`, of the version that the site is of."]
    return "\n".join(lines) + "\n"


def page(verb: Verb) -> str:
    """A verb with its parts; options that all parts have come once, before them."""
    lines = [f"# `cenote {verb.name}`", ""]
    shared: list[Item] = []
    if len(verb.parts) > 1:
        first = verb.parts[0].options
        shared = [item for item in first if all(item in part.options for part in verb.parts[1:])]
        shared = [item for item in shared if item.name != "--help"]
    lines += described(verb, [])
    if verb.parts:
        lines += ["| | |", "|---|---|"]
        for part in verb.parts:
            lines.append(f"| [`{part.name}`](#{anchor(part)}) | {prose(part.summary)} |")
        lines.append("")
    if shared:
        lines += [f"## Flags of every `{verb.name}` {{ #flags }}", "", *listed(shared)]
    for part in verb.parts:
        lines += [f"## `{part.name}` {{ #{anchor(part)} }}", "", *described(part, shared)]
    return "\n".join(lines).rstrip() + "\n"


def anchor(verb: Verb) -> str:
    return verb.words[-1]


def described(verb: Verb, shared: list[Item]) -> list[str]:
    lines = [prose(verb.summary) + ".", ""]
    if verb.words[0] == "run" and len(verb.words) == 2:
        lines[0] += f" [What it computes](../../algorithms.md#{verb.words[1]})."
    for about in verb.about:
        lines += [prose(about), ""]
    lines += ["```text", verb.usage, "```", ""]
    own = [item for item in verb.options if item not in shared and item.name != "--help"]
    lines += listed(verb.arguments + own)
    for title, group in verb.groups.items():
        lines += [f"**{title}**", "", *listed(group)]
    if shared:
        lines += ["And the [flags of every one](#flags).", ""]
    if verb.examples:
        lines += ["```text", *verb.examples, "```", ""]
    for note in verb.notes:
        lines += [prose(note), ""]
    return lines


def listed(items: list[Item]) -> list[str]:
    """A definition list: defaults and possible values in lines of their own."""
    lines: list[str] = []
    for item in items:
        lines += [f"`{item.usage}`", ""]
        for at, text in enumerate(definition(item)):
            lines += [(":   " if at == 0 else "    ") + text, ""]
    return lines


def definition(item: Item) -> list[str]:
    text = list(item.text)
    marks: list[str] = []
    for at, part in enumerate(text):
        for mark in re.findall(r"\[(?:default|possible values|aliases): [^\]]*\]", part):
            name, _, value = mark[1:-1].partition(": ")
            marks.append(f"*{name}*: {prose(value)}")
            part = part.replace(mark, "")
        text[at] = part.strip()
    texts = [prose(part) for part in text if part]
    return texts + ["; ".join(marks)] * bool(marks)


def prose(text: str) -> str:
    """Text of the help as Markdown: what stands between backticks stays code, flags become code."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        part = html.escape(parts[at], quote=False)
        part = re.sub(r"([*_|\[\]])", r"\\\1", part)
        parts[at] = re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", part)
    for at in range(1, len(parts), 2):
        parts[at] = parts[at].replace("|", "\\|") if "|" in parts[at] else parts[at]
    return "`".join(parts)


def main() -> None:
    command, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(verbs(command)).items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
