"""The examples of the docstrings of a package, and the public names that have none.

Each public function, class and method has an example of its own, which runs. A property, a field or
an attribute has one of its own, or that of its class reads it as `.name`; that of a class which
users derive from defines its methods and attributes, and that of a `TypedDict` gives each key. What
a public base hands down has its example there. A constant is used in any example.
"""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import textwrap
from functools import cached_property
from typing import is_typeddict


def examples(package, without=()):
    """Every docstring of a package with an example that runs, by its name."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [package] + [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if module.name not in without
    ]
    found = [test for module in modules for test in finder.find(module)]
    return {test.name: test for test in found if source_of(test)}


def source_of(test):
    """The lines of an example that run."""
    lines = test.examples if test is not None else []
    return "".join(line.source for line in lines if not line.options.get(doctest.SKIP))


def name_of(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


def public_names(package, found):
    """Each public name of a package, and whether an example shows it as the rule above says."""
    everything = "".join(source_of(test) for test in found.values())
    for name in package.__all__:
        thing = getattr(package, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        full = f"{package.__name__}.{name}"
        if not callable(thing):
            yield full, bool(re.search(rf"{re.escape(full)}\b", everything))
            continue
        yield full, name_of(thing) in found
        for base in inspect.getmro(thing) if inspect.isclass(thing) else []:
            own = base.__module__.partition(".")[0] == package.__name__.partition(".")[0]
            if not own or (base is not thing and base in vars(package).values()):
                continue
            source = source_of(found.get(name_of(thing)))
            for member, pattern in members(base).items():
                is_shown = pattern is not None and re.search(pattern, source)
                yield f"{full}.{member}", bool(is_shown or f"{name_of(base)}.{member}" in found)


def members(thing):
    """The public members of a class, each with what shows it in the example of the class."""
    is_derived = inspect.isabstract(thing)
    found = {}
    for name in [*inspect.get_annotations(thing), *set_by_init(thing), *vars(thing)]:
        value = inspect.getattr_static(thing, name, None)
        if name.startswith("_"):
            continue
        is_code = callable(value) or isinstance(value, classmethod | staticmethod)
        if is_typeddict(thing):
            found[name] = rf'"{name}":'
        elif is_derived and getattr(value, "__isabstractmethod__", False):
            found[name] = rf"def {name}\("
        elif is_derived and not isinstance(value, property | cached_property):
            found[name] = rf"\b{name} = "
        else:
            found[name] = None if is_code else rf"\.{name}\b(?!\()"
    return found


def set_by_init(thing):
    """The attributes that `__init__` sets."""
    code = vars(thing).get("__init__")
    if code is None or not inspect.getsource(thing).count("def __init__"):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    return [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
