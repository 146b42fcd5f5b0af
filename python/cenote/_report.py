"""Reports of runs in notebooks."""

from __future__ import annotations

import html

HEIGHT_PIXELS = 800
"""Of the frame that a notebook shows."""


class Report(str):
    """The page of a report as text. A notebook shows it in a frame.

    Example:
        >>> page = g.pagerank(memory="64MiB", record=True).report()
        >>> page[:15], len(page) > 10_000
        ('<!doctype html>', True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {HEIGHT_PIXELS}px; border: 0"
        return f'<iframe srcdoc="{html.escape(self)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"Report({len(self):,} characters of HTML)"
