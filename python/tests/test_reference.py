"""The reference of the Python packages has every public name, with its docstring."""

import importlib.util
import inspect
import re

import nx_cenote
import pytest
from conftest import ROOT

import cenote


def public_names(package):
    """What a user can reach: exports, and the members of classes, by what Python says they are."""
    for name in package.__all__:
        thing = getattr(package, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        yield f"{package.__name__}.{name}"
        if not inspect.isclass(thing) or name == "update":
            continue
        for base in inspect.getmro(thing):
            own = base.__module__.partition(".")[0] in ("cenote", "nx_cenote")
            # What a base hands down has its place with that base, where it is public itself.
            if not own or (base is not thing and base in vars(package).values()):
                continue
            fields = getattr(thing, "__dataclass_fields__", {})
            for member, value in vars(base).items():
                is_code = callable(value) or inspect.isdatadescriptor(value)
                is_code = is_code or hasattr(value, "func")
                if is_code and not member.startswith("_") and member not in fields:
                    yield f"{package.__name__}.{name}.{member}"


@pytest.mark.parametrize("package", [cenote, nx_cenote], ids=lambda package: package.__name__)
def test_the_reference_has_every_public_name_with_its_text(package):
    path = ROOT / "docs" / "python_reference.py"
    spec = importlib.util.spec_from_file_location("python_reference", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    pages = "\n".join(tool.Reference(package.__name__).pages().values())
    names = list(public_names(package))
    assert len(names) > (100 if package is cenote else 5)
    for name in names:
        assert f"{{ #{name} }}\n" in pages, f"{name} has no place in the reference"
        section = pages.split(f"{{ #{name} }}\n")[1].split("\n#")[0]
        said = re.sub("```python.*?```", "", section, flags=re.DOTALL)
        assert said.strip(), f"{name} has no docstring"
    # What a text says of a parameter is there, with links to what it names.
    if package is cenote:
        assert ":   see [`cenote.Progress`](types-and-constants.md#cenote.Progress)." in pages
