"""The reference of the Python packages, from their sources: nothing is imported or built.

`python docs/python_reference.py FOLDER` writes the pages to a folder, to read them as they are.
"""

from __future__ import annotations

import html
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import griffe

PYTHON = Path(__file__).resolve().parents[1] / "python"
WIDTH = 88
INTRODUCTION = """\
# {title}

{about}

These pages are made from the sources of the package. The [guide](../../../python.md) shows how its
parts go together.
"""


def loaded(package: str, folder: Path = PYTHON) -> griffe.Module:
    """A package as its sources have it."""
    # It warns of `source, target: ...` among the arguments, two names with one text.
    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    griffe.logger.setLevel(logging.CRITICAL)
    paths = [str(folder), str(folder / "nx-cenote")]
    module = griffe.load(
        package, search_paths=paths, docstring_parser="google", resolve_aliases=True
    )
    assert isinstance(module, griffe.Module)
    return module


def resolved(thing: griffe.Object | griffe.Alias) -> griffe.Object:
    """What a name stands for: imports and `update = Update` are followed."""
    found = thing.final_target if isinstance(thing, griffe.Alias) else thing
    value = getattr(found, "value", None)
    if found.is_attribute and isinstance(value, griffe.ExprName) and found.parent.is_module:
        return resolved(found.parent[value.name])
    return found


def is_public(name: str) -> bool:
    return not name.startswith("_")


def members(thing: griffe.Object) -> dict[str, griffe.Object]:
    """The public members of a class: its own, then those of its bases in the package."""
    found = {name: resolved(member) for name, member in thing.all_members.items()}
    operators = {"__len__", "__getitem__", "__iter__", "__bool__"}
    return {
        name: member
        for name, member in found.items()
        if is_public(name) or (name in operators and member.docstring)
    }


class Reference:
    """The pages of a package."""

    def __init__(self, package: str) -> None:
        module = loaded(package)
        self.package = package
        self.module = module
        self.own = {name for it in module.modules.values() for name in it.classes}
        exports = [str(name) for name in module.exports or []]
        self.things = {name: resolved(module[name]) for name in exports if is_public(name)}
        self.things = {name: it for name, it in self.things.items() if not it.is_module}
        self.groups = {title: list(names) for title, names in self._grouped() if names}

    def _grouped(self) -> Iterator[tuple[str, list[str]]]:
        """Names by page: what a name is says where it goes, so a new one needs no list."""
        left = dict(self.things)

        def take(test) -> list[str]:
            taken = [name for name, thing in left.items() if test(name, thing)]
            for name in taken:
                del left[name]
            return taken

        def is_a(thing: griffe.Object, base: str) -> bool:
            bases = getattr(thing, "mro", list)() if thing.is_class else []
            return thing.name == base or any(it.name == base for it in bases)

        errors = take(lambda _, it: is_a(it, "CenoteError") or is_a(it, "CenoteWarning"))
        answers = take(lambda _, it: is_a(it, "Result"))
        # `update` is a class: calling it is what a user does with it.
        functions = take(lambda name, it: it.is_function or (it.is_class and name[0].islower()))
        graphs = take(lambda name, _: name in ("Graph", "Update"))
        yield "Functions", functions
        yield "Graphs and updates", graphs
        yield "Answers", sorted(answers, key=lambda name: (name != "Result", name))
        yield "Types and constants", list(left)
        yield "Exceptions", errors

    def pages(self) -> dict[str, str]:
        """Markdown by the name of the file."""
        made = {"index.md": self._index()}
        for title, names in self.groups.items():
            lines = [f"# {self.package}: {title.lower()}", ""]
            for name in names:
                lines += self.described(name)
            made[file_of(title)] = "\n".join(lines).rstrip() + "\n"
        return made

    def _index(self) -> str:
        about = "\n".join(self.sections(self.module)).rstrip()
        lines = [INTRODUCTION.format(title=f"`{self.package}`", about=about)]
        for title, names in self.groups.items():
            lines += [f"## [{title}]({file_of(title)})", "", "| | |", "|---|---|"]
            for name in names:
                target = f"{file_of(title)}#{self.package}.{name}"
                lines.append(f"| [`{name}`]({target}) | {summary(self.things[name])} |")
            lines.append("")
        return "\n".join(lines)

    def described(self, name: str) -> list[str]:
        """A function, a constant, or a class with its members."""
        thing = self.things[name]
        lines = [f"## `{name}` {{ #{self.package}.{name} }}", ""]
        if thing.is_attribute:
            return lines + [*code([f"{name} = {thing.value}"]), *self.sections(thing)]
        if thing.is_function or name[0].islower():
            lines += signature(
                thing if thing.is_function else thing["__init__"], name, self.package
            )
        elif bases := [str(it) for it in thing.bases if self.is_known(str(it))]:
            lines += code([f"class {name}({', '.join(bases)})"])
        lines += self.sections(thing)
        if thing.is_class and name[0].islower():
            return [*lines, self.linked(f"Its methods: `{thing.name}`.", ""), ""]
        if thing.is_class:
            lines += self.fields(thing)
            for key, member in members(thing).items():
                if member.is_attribute and "property" not in member.labels:
                    continue
                if member.parent is not thing and self.is_shown(member.parent, thing):
                    continue
                # Underscores at the ends of an anchor would be read as emphasis.
                anchor = f"{self.package}.{name}.{key.strip('_')}"
                lines += [f"### `{name}.{key}` {{ #{anchor} }}", ""]
                if member.is_function:
                    lines += signature(member, key, "")
                elif member.annotation is not None:
                    lines += code([f"{key}: {member.annotation}"])
                lines += self.sections(member)
        return lines

    def is_known(self, base: str) -> bool:
        """Whether a base of a class means something to a user: public, or not of the package."""
        return base in self.things or base not in self.own

    def is_shown(self, owner: griffe.Object, thing: griffe.Object) -> bool:
        """Whether a base has its own section, with what it hands down."""
        return owner is not thing and any(it is owner for it in self.things.values())

    def fields(self, thing: griffe.Object) -> list[str]:
        """Fields that the docstring does not describe, such as those of a `TypedDict`."""
        text = thing.docstring.value if thing.docstring else ""
        if "Attributes:" in text or "TypedDict" not in " ".join(map(str, thing.bases)):
            return []
        found = [it for it in thing.members.values() if it.is_attribute]
        return code([f"{it.name}: {it.annotation}" for it in found])

    def sections(self, thing: griffe.Object) -> list[str]:
        """The docstring."""
        lines: list[str] = []
        for section in thing.docstring.parsed if thing.docstring else []:
            kind = section.kind.value
            if kind == "text":
                lines += self.text(section.value, thing.name)
            elif kind in ("parameters", "attributes"):
                for part in section.value:
                    names = ", ".join(f"`{name.strip()}`" for name in part.name.split(","))
                    lines += [names, "", f":   {self.linked(part.description, '')}", ""]
            elif kind == "raises":
                for part in section.value:
                    said = self.linked(part.description, "")
                    lines += [f"*Raises* {self.linked(f'`{part.annotation}`', '')}", ""]
                    lines += [f":   {said}", ""]
            elif kind in ("returns", "yields"):
                said = " ".join(returned(section.value))
                lines += [f"*{kind.capitalize()}*", "", f":   {self.linked(said, '')}", ""]
            elif kind == "admonition":
                lines += code(section.value.description.splitlines(), "pycon")
            elif kind == "examples":
                lines += code([str(text) for _, text in section.value], "pycon")
            else:
                raise ValueError(f"{thing.path}: a docstring section of kind {kind}")
        return lines

    def text(self, value: str, own: str) -> list[str]:
        """Paragraphs; one that is an example becomes code."""
        lines: list[str] = []
        for paragraph in value.split("\n\n"):
            is_example = paragraph.startswith(">>> ")
            lines += code(paragraph.splitlines(), "pycon") if is_example else []
            lines += [] if is_example else [self.linked(paragraph, own), ""]
        return lines

    def linked(self, text: str, own: str) -> str:
        """A paragraph as Markdown, with links from names in backticks that have a place."""

        def link(found: re.Match[str]) -> str:
            name = found.group(1).removeprefix(f"{self.package}.")
            head, _, tail = name.partition(".")
            if head not in self.things or head == own:
                return found.group()
            if tail and tail not in members(self.things[head]):
                return found.group()
            title = next(title for title, names in self.groups.items() if head in names)
            return f"[{found.group()}]({file_of(title)}#{self.package}.{name})"

        parts = re.split(r"(`[^`]*`)", " ".join(text.split("\n")))
        for at in range(0, len(parts), 2):
            parts[at] = re.sub(r"([*_\[\]])", r"\\\1", html.escape(parts[at], quote=False))
        return "".join(re.sub(r"^`([\w.]+)`$", link, part) for part in parts)


def returned(value: object) -> Iterable[str]:
    # Without a type before it, a text that begins with a name in backticks is taken for one.
    for part in value:
        annotation = str(part.annotation) if part.name == "" and part.annotation else ""
        yield f"{annotation}: {part.description}" if "`" in annotation else part.description


def signature(function: griffe.Object, name: str, package: str) -> list[str]:
    """The call, on one line if it fits, else with a line for each parameter."""
    full = f"{package}.{name}" if package else name
    parts = parameters(function)
    returns = getattr(function, "returns", None)
    after = f" -> {plain(returns)}" if returns is not None and name == function.name else ""
    line = f"{full}({', '.join(parts)}){after}"
    if len(line) <= WIDTH:
        return code([line])
    return code([f"{full}(", *(f"    {part}," for part in parts), f"){after}"])


def parameters(function: griffe.Object) -> list[str]:
    parts: list[str] = []
    kinds = griffe.ParameterKind
    was_star = False
    for at, parameter in enumerate(function.parameters):
        if at == 0 and parameter.name == "self":
            continue
        if parameter.kind is kinds.keyword_only and not was_star:
            parts.append("*")
            was_star = True
        stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(parameter.kind, "")
        was_star = was_star or stars == "*"
        annotation = "" if parameter.annotation is None else f": {plain(parameter.annotation)}"
        has_default = parameter.default is not None and not stars
        default = f" = {parameter.default}" if has_default else ""
        parts.append(f"{stars}{parameter.name}{annotation}{default}")
    return parts


def plain(annotation: object) -> str:
    """A type as a user writes it, without the private modules of the package."""
    return re.sub(r"\b_(?:results|cenote)\.", "", str(annotation))


def code(lines: list[str], language: str = "python") -> list[str]:
    return [f"```{language}", *lines, "```", ""]


def summary(thing: griffe.Object) -> str:
    """The first sentence of the docstring."""
    if not thing.docstring:
        return ""
    first = thing.docstring.value.split("\n\n")[0].replace("\n", " ")
    return first.split(". ")[0].rstrip(".").replace("|", "\\|")


def file_of(title: str) -> str:
    return title.lower().replace(" ", "-") + ".md"


def main() -> None:
    for package in ("cenote", "cenote.ray", "nx_cenote"):
        folder = Path(sys.argv[1]) / package
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in Reference(package).pages().items():
            (folder / name).write_text(text)


if __name__ == "__main__":
    main()
