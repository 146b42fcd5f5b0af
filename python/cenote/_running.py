"""Runs of any algorithm by its name: as they are, estimated, or with a record of their steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from . import _cenote, _options
from ._options import RunOptions, given, split
from .errors import InvalidInput

ALTERNATIVES: dict[str, Sequence[tuple[str, ...]]] = {
    "betweenness": [("source", "samples"), ("sources_file", "samples")],
    "similar": [
        (sources, pairs)
        for sources in ("sources", "sources_file")
        for pairs in ("pairs", "pairs_file")
    ]
    + [("pairs", "top"), ("pairs_file", "top")],
    "walk": [("starts", "starts_file", "source"), ("walkers", "per_vertex")],
}
"""Options of which a run has one at most."""


class Running:
    """Runs of any algorithm, and what they will need."""

    def __init__(self, native: _cenote.Graph) -> None:
        self._native = native

    def _run(self, algorithm: str, options: RunOptions, **own: Any) -> _cenote.Answer:
        common, progress = split(options)
        own = given(**own)
        _check(algorithm, own)
        chosen = _options.quoted(algorithm, own | common)
        return self._native.run(algorithm, chosen, None, progress)

    def estimate(self, algorithm: str, **options: Any) -> dict[str, Any]:
        """Memory, bytes and seconds that a run will need, without running it.

        Args:
            algorithm: the name of the method, such as `"pagerank"`.
            options: those of the method.

        Raises:
            InvalidInput: there is no such algorithm.
            TypeError: it has no such option.

        Example:
            >>> g.estimate("pagerank", memory="64MiB")["memory_budget_bytes"]
            67108864
        """
        own, _ = split(options)
        _check(algorithm, own)
        if algorithm == "betweenness":
            own = _options.sampled(own)
        estimate: dict[str, Any] = json.loads(self._native.estimate(algorithm, own))
        return estimate

    def explain(self, algorithm: str, **options: Any) -> list[dict[str, Any]]:
        """Runs an algorithm, and returns the record of its steps: what each has read, and how.

        It is `stats["steps"]` of the run with `explain=True`; `estimate` runs nothing.

        Args:
            algorithm: the name of the method, such as `"bfs"`.
            options: those of the method.

        Raises:
            InvalidInput: there is no such algorithm.

        Example:
            >>> steps = g.explain("bfs", source="bash", memory="64MiB")
            >>> steps[0]["label"], sum(step["pages_read"] for step in steps) > 0
            ('level 1 top-down', True)
        """
        from ._runs import Runs
        from ._searches import Searches

        if algorithm.startswith("_") or algorithm not in vars(Runs) | vars(Searches):
            raise InvalidInput(f"there is no algorithm {algorithm!r}")
        answer = getattr(self, algorithm)(**options | {"explain": True})
        # A run that reads no lists has no step, such as that of degrees which are stored.
        steps: list[dict[str, Any]] = answer.stats.get("steps", [])
        return steps


def _check(algorithm: str, options: dict[str, Any]) -> None:
    """An error if options exclude each other."""
    for names in ALTERNATIVES.get(algorithm, []):
        for pair in combinations(names, 2):
            if all(name in options for name in pair):
                first, second = pair
                reason = f"{first} and {second} exclude each other: give one of them"
                raise InvalidInput(f"{algorithm}: {reason}")
