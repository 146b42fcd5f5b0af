"""Writes the metadata by which NetworkX finds the backend in this folder, without an installation.

With this folder in `PYTHONPATH`, `importlib.metadata` reads the entry points from
`nx_cenote.egg-info`; they are those of `pyproject.toml`.
"""

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
    (info / "PKG-INFO").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
