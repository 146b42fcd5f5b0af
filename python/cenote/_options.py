"""Options that several calls share."""

from __future__ import annotations

import os
import reprlib
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

from .errors import CenoteWarning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PathLike: TypeAlias = "str | os.PathLike[str]"
VertexId: TypeAlias = "int | str | np.integer[Any]"
"""The id of a vertex as the user knows it."""
VertexIds: TypeAlias = "VertexId | Iterable[VertexId]"
VertexPairs: TypeAlias = "Iterable[Iterable[VertexId]] | Table"
Memory: TypeAlias = "int | str"
"""Bytes, or text such as `"256MiB"` or `"10%"`."""
Ids: TypeAlias = "NDArray[np.uint64] | list[str]"


class Table(Protocol):
    """A table of pandas, Polars, pyarrow or any other package with Arrow's stream interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


@dataclass(frozen=True)
class Progress:
    """How far a call is.

    Attributes:
        phase: what is done now.
        done: bytes, or pages, done of the phase.
        total: all of them, as far as known.
        seconds: since the start of the call.
        per_second: what is done of the phase, per second of it.
        seconds_left: until the end of the phase at that rate, if it is known.

    Example:
        >>> seen = []
        >>> ok = cenote.check("packages.cenote", progress=seen.append)
        >>> last = seen[-1]
        >>> last.phase, last.done, last.total, last.seconds_left
        ('checking pages', 371, 371, 0.0)
        >>> last.seconds > 0, last.per_second > 0
        (True, True)
    """

    phase: str
    done: int
    total: int | None
    seconds: float
    per_second: float
    seconds_left: float | None


OnProgress: TypeAlias = "bool | Callable[[Progress], object]"
"""A callable that is called up to 20 times a second, or True for a line on stderr."""


class RunOptions(TypedDict, total=False):
    """Options of every run.

    Attributes:
        memory: the budget in bytes, or text such as `"256MiB"`, or `"10%"` of the pages of the
            graph [half of the machine's].
        cache: the most memory for cached pages, within the budget [what the budget leaves].
        threads: 1 to 512 [one per core].
        strategy: how pages are read [`"auto"`]; the others are the CAVE paper's.
        depth: requests in flight, 1 to 4,096 [from the profile of the drive].
        state_dir: folder for a file without a name with the state of vertices, where that does not
            fit the memory [that of the graph].
        explain: keep a record of each step in `stats["steps"]`.
        record: keep what `Result.report` shows beside the statistics: samples over time, steps, the
            time of reads.
        verify: check the result with a serial algorithm.
        progress: True for a line on stderr, or a callable that gets `cenote.Progress` up to 20
            times a second; an exception of it ends the run.

    Example:
        >>> options: cenote.RunOptions = {"memory": "64MiB", "cache": "8MiB", "threads": 2}
        >>> options |= {"strategy": "auto", "depth": 32, "state_dir": ".", "progress": False}
        >>> options |= {"explain": True, "record": True, "verify": True}
        >>> found = g.wcc(**options)
        >>> found.components, found.stats["verified"], len(found.stats["steps"]) > 0
        (201, True, True)
    """

    memory: Memory
    cache: Memory
    threads: int
    strategy: Literal["auto", "block", "vertex"]
    depth: int
    state_dir: PathLike
    explain: bool
    record: bool
    verify: bool
    progress: OnProgress


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def warn(texts: Iterable[str]) -> None:
    """Warnings of the library as those of the caller of this package, with its names."""
    for text in texts:
        text = text.replace("`cenote profile --quick DIR`", "`cenote.profile(DIR, quick=True)`")
        warnings.warn(text, CenoteWarning, stacklevel=3)


Listener: TypeAlias = "Callable[[str, int, int | None, float], None]"


def split(options: Mapping[str, Any]) -> tuple[dict[str, Any], Listener | None]:
    """The options without `progress`, and what the native part calls for that."""
    own = given(**options)
    return own, listener(own.pop("progress", False))


def listener(progress: OnProgress) -> Listener | None:
    """What the native part calls with phase, done, total and seconds."""
    if progress is False:
        return None
    return Reports(Line() if progress is True else progress)


class Reports:
    """Passes reports on, with the rate of each phase, of one call or of several in turn."""

    def __init__(self, report: Callable[[Progress], object]) -> None:
        self._report = report
        self._phase: str | None = None
        # The phase began after the report before its first one.
        self._began = self._last = 0.0

    def __call__(self, phase: str, done: int, total: int | None, seconds: float) -> None:
        if seconds < self._last:
            # Another call has begun.
            self._phase, self._last = None, 0.0
        if phase != self._phase:
            self._phase, self._began = phase, self._last
        self._last = seconds
        rate = done / max(seconds - self._began, 1e-3)
        left = max(total - done, 0) / rate if total is not None and done > 0 else None
        self._report(Progress(phase, done, total, seconds, rate, left))


class Line:
    """Writes progress to stderr: one line that is replaced, if it is a terminal."""

    PERIOD_SECONDS = 0.5

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last < self.PERIOD_SECONDS:
            return
        self._last = now
        share = f" {min(progress.done / progress.total, 1):.0%}" if progress.total else ""
        end = "\r" if sys.stderr.isatty() else "\n"
        rate = f"{progress.done:,} ({progress.per_second:,.0f}/s)"
        left = progress.seconds_left
        time_of = f"{progress.seconds:.1f} s" if left is None else f"{left:.0f} s left"
        text = f"cenote: {progress.phase}{share}, {rate}, {time_of}"
        print(f"{text:<78}", end=end, file=sys.stderr, flush=True)


def quoted(algorithm: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the call as the report of a recorded run quotes it, long values cut."""
    if not options.get("record"):
        return options
    words = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in options.items())
    return options | {"command": f"{algorithm}({words})"}


def sampled(options: dict[str, Any]) -> dict[str, Any]:
    """The options of betweenness, with samples and their seed as one."""
    seed = options.pop("seed", 1)
    if "samples" in options:
        options["samples"] = (options["samples"], seed)
    return options
