"""Writes the metadata by which NetworkX finds the backend in this folder, without an installation.

With this folder in `PYTHONPATH`, `importlib.metadata` reads the entry points from
`nx_cenote.egg-info`; they are those of `pyproject.toml`. Each file is replaced as a whole, since
another process (a worker of the tests) may read it at the same time.
"""

import os
import tempfile
from pathlib import Path

import tomllib

FOLDER = Path(__file__).resolve().parent


def main() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    lines = []
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {target}" for name, target in entries.items()]
    info = FOLDER / "nx_cenote.egg-info"
    info.mkdir(exist_ok=True)
    replace(
        info / "PKG-INFO",
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
    )
    replace(info / "entry_points.txt", "\n".join(lines) + "\n")


def replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.replace(file.name, path)


if __name__ == "__main__":
    main()
