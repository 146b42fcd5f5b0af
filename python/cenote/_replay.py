"""Replays of page loads, to compare policies of buffer pools and of storage tiers."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from . import _cenote
from ._options import Memory, OnProgress, PathLike, given, listener

Names: TypeAlias = "str | Sequence[str]"
"""A name, or several; `"all"` where it says so."""


def pool_replay(
    workloads: Names = (),
    *,
    device: PathLike,
    traces: PathLike | Sequence[PathLike] = (),
    policies: Names | None = None,
    writers: Names = "all",
    prefetch: Names = "none",
    pages: int | None = None,
    ops: int | None = None,
    warm_up: int = 0,
    read_share: float | None = None,
    skew: float = 0.99,
    warehouses: int | None = None,
    seed: int = 1,
    page_bytes: Memory = 4096,
    format: str | None = None,
    keep_numbers: bool = False,
    frames: int | None = None,
    pool: Memory | None = None,
    n_w: int | None = None,
    n_e: int | None = None,
    cleaner_batch: int = 64,
    threads: int = 1,
    alpha: float | None = None,
    k_r: int | None = None,
    k_w: int | None = None,
    sweep: tuple[Literal["n_w", "alpha", "read_share", "pool"], Sequence[Any]] | None = None,
    repeats: int = 1,
    overwrite: bool = False,
    create: Memory | None = None,
    report: PathLike | None = None,
    progress: OnProgress = False,
) -> dict[str, Any]:
    """Replays page accesses through the buffer pool, with each policy, writer and prefetcher.

    A simulated device only keeps time: seconds are virtual, and computation takes no time. The
    bytes of a file are replaced, so a load with writes needs `overwrite` or `create`.

    Args:
        workloads: generated loads: `"ms"`, `"wis"`, `"ris"`, `"mu"`, `"zipf"`, `"tpcc"` or
            `"tpcc-TRANSACTION"`.
        device: `"sim:PRESET"` such as `"sim:optane-p4800x"`, `"sim:PRESET-ideal"`, `"sim:ideal"`,
            a file or a block device.
        traces: files of page accesses: `R|W page` lines, CSV, ARC or LIRS lists, oracleGeneral.
        policies: of replacement, or `"all"` [the paper's four].
        writers: `"classical"`, which is always run, `"cleaner"`, `"ace"`, `"ace-bg"`, or `"all"`.
        prefetch: `"none"`, `"tap"`, `"history"`, `"both"`, or `"all"`.
        pages: of generated loads [344,066 simulated, as the paper; else those of the file].
        ops: accesses, at most those of a trace [2,000,000 simulated, 200,000 on a file].
        warm_up: accesses before measurements begin.
        read_share: share of reads, 0 to 1, of generated loads [their own].
        skew: exponent of `"zipf"`.
        warehouses: of `"tpcc"` [as many as `pages` hold].
        seed: of the loads.
        page_bytes: bytes of a page.
        format: of the traces [by their names].
        keep_numbers: keep the page numbers of traces, instead of numbering by first access.
        frames, pool: size of the pool, in pages, or in bytes or as text; percent are of the pages
            of the load [6%, or the paper's 20,000 pages of 344,066].
        n_w, n_e: pages that ACE writes, and evicts for prefetched ones, at once [k_w].
        cleaner_batch: pages that the background cleaner writes at once.
        threads: that replay, on a file.
        alpha, k_r, k_w: of an ideal device: cost of a write in reads, concurrency.
        sweep: a parameter to vary, with its values.
        repeats: runs of each combination; the median is reported.
        overwrite: allow the bytes of the file to be replaced.
        create: create the file with this size first.
        report: a file that ends with `.html`: all combinations side by side, as one page.
        progress: see `cenote.Progress`.

    Returns:
        What `cenote pool replay --json` prints: `device`, `loads` and `rows`, each with `workload`,
        `policy`, `writer`, `prefetch`, `seconds`, `hits`, `misses`, `speedup` and others.

    Raises:
        InvalidInput: an option is wrong; the message names it.
        FileError: a file or a trace cannot be used.

    Example:
        >>> found = cenote.pool_replay(
        ...     "ms", device="sim:optane-p4800x", policies="lru", pages=2_000, ops=5_000
        ... )
        >>> speedups = {row["writer"]: row["speedup"] for row in found["rows"]}
        >>> speedups["ace"] > 1
        True
    """
    options = given(
        workloads=_list(workloads),
        traces=_list(traces),
        policies=None if policies is None else _list(policies),
        writers=_list(writers),
        prefetch=_list(prefetch),
        pages=pages,
        ops=ops,
        warm_up=warm_up,
        read_share=read_share,
        skew=skew,
        warehouses=warehouses,
        seed=seed,
        page_bytes=page_bytes,
        format=format,
        keep_numbers=keep_numbers,
        frames=frames,
        pool=pool,
        n_w=n_w,
        n_e=n_e,
        cleaner_batch=cleaner_batch,
        threads=threads,
        alpha=alpha,
        k_r=k_r,
        k_w=k_w,
        sweep=None if sweep is None else (sweep[0], list(sweep[1])),
        repeats=repeats,
        overwrite=overwrite,
        create=create,
        report=report,
    )
    found: dict[str, Any] = json.loads(
        _cenote.pool_replay(os.fspath(device), options, listener(progress))
    )
    return found


def tier_replay(
    workloads: Names = (),
    *,
    traces: PathLike | Sequence[PathLike] = (),
    tiers: Names | None = None,
    capacities: Names | None = None,
    policies: Names = "all",
    pages: int = 10_000,
    ops: int | None = None,
    read_share: float = 0.5,
    skew: float = 0.99,
    drift: float = 0.1,
    seed: int = 1,
    page_bytes: Memory = 4096,
    format: str | None = None,
    clients: int | None = None,
    interval_us: float | None = None,
    cpu_ops: int = 200_000,
    report: PathLike | None = None,
    progress: OnProgress = False,
) -> dict[str, Any]:
    """Replays page accesses through several tiers in virtual time, once for each policy.

    Each tier is a device of the Parametric I/O Model. Pages start in random order with the fastest
    tier full; a page that moves is read and written like any other.

    Args:
        workloads: generated loads: `"5hf90"` or any `"XhfY"`, `"A"` to `"D"`, `"hot-shift"`,
            `"uniform"`, `"zipf"`.
        traces: files of page accesses, as for `pool_replay`.
        tiers: from the fastest, each `"READ:ALPHA:K[/K_W]"`, such as `"80us:1:32/8"` [the
            dissertation's three].
        capacities: of the tiers above the slowest, in pages or percent of all: `"3%,8%"`; several
            are replayed one after the other [3% and 8%].
        policies: of migration, with their options, or `"all"`.
        pages: of generated loads.
        ops: accesses, at most those of a trace [1,000,000].
        read_share: share of reads of generated loads, 0 to 1.
        skew: exponent of `"zipf"`.
        drift: how often its ranks rotate through all pages during the load.
        seed: of the loads and of the initial placement.
        page_bytes: bytes of a page.
        format: of the traces [by their names].
        clients: each with one request at a time [32].
        interval_us: microseconds between requests, answered or not, instead of clients.
        cpu_ops: accesses for the measurement of processor time; the first half warms up.
        report: a file that ends with `.html`: all combinations side by side, as one page.
        progress: see `cenote.Progress`.

    Returns:
        What `cenote tier replay --json` prints: `tiers` and `rows`, each with `workload`,
        `policy`, `capacity`, `runtime_s`, `response_us_mean`, `migrations` and others.

    Raises:
        InvalidInput: an option is wrong; the message names it.
        FileError: a trace cannot be read.

    Example:
        >>> found = cenote.tier_replay("5hf90", policies=["tlru", "temp"], ops=20_000, cpu_ops=0)
        >>> [row["policy"] for row in found["rows"]]
        ['tlru', 'temp']
    """
    options = given(
        workloads=_list(workloads),
        traces=_list(traces),
        tiers=None if tiers is None else _list(tiers),
        capacities=None if capacities is None else _list(capacities),
        policies=_list(policies),
        pages=pages,
        ops=ops,
        read_share=read_share,
        skew=skew,
        drift=drift,
        seed=seed,
        page_bytes=page_bytes,
        format=format,
        clients=clients,
        interval_us=interval_us,
        cpu_ops=cpu_ops,
        report=report,
    )
    found: dict[str, Any] = json.loads(_cenote.tier_replay(options, listener(progress)))
    return found


def _list(value: PathLike | Sequence[PathLike]) -> list[PathLike]:
    """A value, or several, as a list."""
    return [value] if isinstance(value, str | os.PathLike) else list(value)
