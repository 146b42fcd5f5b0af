"""Errors, signals and threads."""

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest

import cenote
from cenote._options import Reports

PACKAGE = Path(cenote.__file__).resolve().parents[1]


def test_errors_are_also_those_of_python():
    for error, kind in [
        (cenote.MemoryBudget, MemoryError),
        (cenote.InvalidInput, ValueError),
        (cenote.UnknownVertex, KeyError),
        (cenote.FileError, OSError),
        (cenote.FileMissing, FileNotFoundError),
        (cenote.DeviceError, OSError),
    ]:
        assert issubclass(error, kind) and issubclass(error, cenote.CenoteError)
    assert not issubclass(cenote.CorruptGraph, OSError)


def test_each_fault_has_its_exception_and_one_line(directed):
    Path("noise.cenote").write_bytes(bytes(range(256)) * 64)
    faults = [
        (cenote.UnknownVertex, "no vertex `4`", lambda: directed.bfs(4)),
        (cenote.UnknownVertex, "no vertex `nobody`", lambda: directed.neighbors("nobody")),
        (cenote.MemoryBudget, "`memory`", lambda: directed.pagerank(memory=1000)),
        (cenote.InvalidInput, "expected a size", lambda: directed.pagerank(memory="much")),
        (cenote.InvalidInput, "damping", lambda: directed.pagerank(damping=2)),
        (cenote.InvalidInput, "strategy is x", lambda: directed.wcc(strategy="x")),
        (cenote.InvalidInput, "scale is x", lambda: directed.betweenness(scale="x")),
        (cenote.InvalidInput, "threads is 0", lambda: directed.wcc(threads=0)),
        (cenote.InvalidInput, "threads", lambda: directed.wcc(threads=1000)),
        (cenote.InvalidInput, "no algorithm", lambda: directed.estimate("sort")),
        (cenote.InvalidInput, "direction", lambda: directed.degree(3, direction="up")),
        (cenote.CorruptGraph, "noise.cenote", lambda: cenote.open("noise.cenote")),
        (cenote.FileMissing, "absent.cenote", lambda: cenote.open("absent.cenote")),
        (cenote.InvalidInput, "snapshot", lambda: cenote.open(directed.path, at="never")),
    ]
    for kind, words, call in faults:
        with pytest.raises(kind) as raised:
            call()
        message = str(raised.value)
        assert words in message and "\n" not in message, message
        assert type(raised.value) is kind
    with pytest.raises(TypeError, match="no option `depht`"):
        directed.wcc(depht=3)
    for wrong in [3.5, None, b"bash", [1.5]]:
        with pytest.raises(TypeError):
            directed.vertex_of(wrong)
    with pytest.raises(TypeError, match="expected an integer or a string"):
        directed.bfs([3, None])


TRACE = "absent.trace"


def test_an_error_of_the_system_has_its_number_and_path():
    with pytest.raises(FileNotFoundError) as raised:
        cenote.open("absent.cenote")
    assert (raised.value.errno, raised.value.filename) == (2, "absent.cenote")
    for call, name in [
        (lambda: cenote.import_graph("absent.csv", "g.cenote"), "absent.csv"),
        (lambda: cenote.components("absent.parquet"), "absent.parquet"),
        (lambda: cenote.update("absent.cenote"), "absent.cenote"),
        (lambda: cenote.pool_replay(traces="absent.trace", device="sim:optane-p4800x"), TRACE),
    ]:
        with pytest.raises(FileNotFoundError) as raised:
            call()
        assert (raised.value.errno, raised.value.filename) == (2, name), str(raised.value)
    Path("folder").mkdir()
    with pytest.raises(OSError, match="is a folder, not a file") as raised:
        cenote.import_graph("folder", "g.cenote")
    assert raised.value.filename == "folder"


def test_a_closed_graph_says_so(packages):
    graph = cenote.open(packages)
    graph.close()
    graph.close()
    assert graph.closed and "closed" in repr(graph)
    with pytest.raises(cenote.InvalidInput, match="open it again"):
        graph.wcc()


def test_warnings_of_the_library_are_those_of_python(packages):
    with pytest.warns(cenote.CenoteWarning, match=r"`cenote\.profile\(DIR, quick=True\)`") as heard:
        cenote.open(packages).close()
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cenote.CenoteWarning):
            cenote.open(packages)


def endless(started=None):
    at = 0
    while True:
        at += 1
        if started is not None and at == 100_000:
            started.set()
        yield at % 1000, at % 1009


def test_a_handler_of_signals_decides():
    class Alarm(Exception):
        pass

    def raise_alarm(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, raise_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Alarm):
            cenote.import_graph(endless(), "h.cenote")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert os.listdir() == []


def test_an_exception_of_the_source_is_raised_as_it_is():
    def broken():
        yield 1, 2
        yield from ((v, v + 1) for v in range(100_000))
        raise RuntimeError("the source is broken")

    with pytest.raises(RuntimeError, match="the source is broken"):
        cenote.import_graph(broken(), "h.cenote")
    assert os.listdir() == []


def test_progress_is_reported_and_may_end_a_call(directed):
    heard = []
    cenote.import_graph(((v, v + 1) for v in range(200_000)), "g.cenote", progress=heard.append)
    assert heard and all(isinstance(progress, cenote.Progress) for progress in heard)
    assert {"reading", "writing"} & {progress.phase for progress in heard}
    for progress in heard:
        assert (progress.per_second > 0) == (progress.done > 0)
        assert (progress.seconds_left is None) == (progress.total is None or progress.done == 0)

    def stop(progress):
        raise RuntimeError(f"enough after {progress.seconds:.1f} s")

    with pytest.raises(RuntimeError, match="enough"):
        directed.pagerank(iterations=10**9, progress=stop)


def test_progress_can_be_a_line(directed, capsys):
    cenote.import_graph(((v, v + 1) for v in range(100_000)), "g.cenote", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(line.startswith("cenote: ") for line in lines)


def test_progress_tells_the_rate_of_each_phase():
    heard = []
    report = Reports(heard.append)
    report("reading", 100, None, 2.0)
    report("writing", 30, 90, 5.0)
    report("writing", 90, 90, 8.0)
    assert [(p.per_second, p.seconds_left) for p in heard] == [(50, None), (10, 6), (15, 0)]
    # An update reports several commits, whose seconds begin anew.
    report("writing", 20, 100, 0.5)
    assert (heard[-1].per_second, heard[-1].seconds_left) == (40, 2)


def test_threads_run_on_one_graph_side_by_side(packages):
    graph = cenote.open(packages)
    expected = graph.wcc().components
    is_over, began = threading.Event(), threading.Event()

    class Over(Exception):
        pass

    def hear(_):
        began.set()
        if is_over.is_set():
            raise Over

    def run_on():
        with pytest.raises(Over):
            graph.pagerank(iterations=10**9, progress=hear, memory="32MiB")

    thread = threading.Thread(target=run_on)
    thread.start()
    assert began.wait(20)
    # The other thread goes on without the interpreter's lock, and so does this one.
    assert graph.wcc(memory="32MiB").components == expected
    with pytest.raises(cenote.GraphLocked, match="another thread"):
        graph.close()
    is_over.set()
    started = time.monotonic()
    thread.join(20)
    assert not thread.is_alive() and time.monotonic() - started < 5
    graph.close()
