"""Processes that die, runs that are interrupted, and what is refused: no wrong answer, no hang."""

import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import ray

import cenote
import cenote.ray
from cenote.ray import _cluster, _graph, demo

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

# More of them take longer than `make test` has time for.
KILLS = 20 if "CENOTE_RAY_LONG" in os.environ else 3
SOURCE = 7 * 1020


def pid_of(graph, shard):
    return ray.get(graph._cluster.actors[shard].ping.remote())


class Killer:
    """Progress that kills the process of a random shard in a random superstep."""

    def __init__(self, graph, seed, most):
        draw = random.Random(seed)
        self.graph, self.shard = graph, draw.randrange(graph.shard_count)
        self.superstep, self.delay = draw.randrange(most), draw.random() * 0.03
        self.way = draw.choice(["at once", "soon"])
        self.kills = 0

    def __call__(self, progress):
        if progress.done != self.superstep or self.kills:
            return
        self.kills += 1
        actor = self.graph._cluster.actors[self.shard]
        if self.way == "at once":
            ray.kill(actor)
        else:
            threading.Timer(self.delay, ray.kill, [actor]).start()


def runs(graph):
    """Runs with how many supersteps each has at least."""
    return [
        (lambda **o: graph.pagerank(iterations=20, checkpoint_every=3, **o), 20),
        (lambda **o: graph.wcc(checkpoint_every=1, **o), 2),
        (lambda **o: graph.bfs(SOURCE, parents=True, checkpoint_every=2, **o), 5),
        (lambda **o: graph.sssp(SOURCE, **o), 4),
        (lambda **o: graph.kcore(checkpoint_every=2, **o), 4),
        (lambda **o: graph.cdlp(iterations=8, checkpoint_every=3, **o), 5),
    ]


def test_a_process_that_dies_at_any_superstep_changes_no_answer(graphs):
    with cenote.ray.open(graphs("undirected", 3), memory="32MiB", cpus=0.5) as graph:
        expected = [run() for run, _ in runs(graph)]
        for seed in range(KILLS):
            at = seed % len(expected)
            run, supersteps = runs(graph)[at]
            killer = Killer(graph, seed, supersteps)
            found = run(progress=killer)
            where = (seed, at, killer.shard, killer.superstep, killer.way)
            assert killer.kills == 1, where
            assert killer.way == "soon" or found.stats.restarts == 1, where
            assert found.summary == expected[at].summary, where
            for column in found.columns:
                values = expected[at][column]
                is_float = values.dtype.kind == "f"
                assert np.array_equal(found[column], values, equal_nan=is_float), where
            # Which boundary vertices a component is joined with depends on the order of threads.
            if found.columns != ["component"]:
                steps = [step["bytes"] for step in found.stats.supersteps]
                assert steps == [step["bytes"] for step in expected[at].stats.supersteps], where
            # One that was killed late is replaced before the next run.
            graph._cluster.retry(lambda at=killer.shard: pid_of(graph, at))
        graph._cluster.revive()
        ray.kill(graph._cluster.actors[1])
        assert graph.wcc().to_arrow().num_rows == graph.vertex_count


def test_an_interrupted_run_goes_on_from_the_files_of_its_checkpoints(graphs, folder):
    class Stopped(Exception):
        pass

    def stop(progress):
        if progress.done == 7:
            raise Stopped

    with cenote.ray.open(graphs("directed", 3), memory="32MiB", cpus=0.5) as graph:
        options = {"checkpoints": "kept", "checkpoint_every": 3}
        expected = graph.pagerank(iterations=12)
        with pytest.raises(Stopped):
            graph.pagerank(iterations=12, progress=stop, **options)
        assert sorted(path.name for path in (folder / "kept").iterdir()) == ["checkpoint.json"] + [
            f"superstep-00000006-shard-{shard:05}.npz" for shard in range(3)
        ]
        with pytest.raises(cenote.InvalidInput, match="another graph, algorithm or parameters"):
            graph.pagerank(iterations=13, **options)
        # A process dies and reads its file again.
        killer = Killer(graph, 1, 1)
        killer.superstep, killer.way = 10, "at once"
        found = graph.pagerank(iterations=12, progress=killer, **options)
        assert (found.stats.resumed_at, found.stats.restarts) == (6, 1)
        assert len(found.stats.supersteps) == 7
        assert np.array_equal(found["rank"], expected["rank"])
        assert list((folder / "kept").iterdir()) == []


class Suicide(cenote.ray.VertexProgram):
    def start(self, vertices):
        return np.zeros(len(vertices))

    def send(self, edges, values):
        os._exit(1)

    def update(self, vertices, values, received, superstep):
        return values, np.zeros(len(vertices), bool)


class Wrong(Suicide):
    def __init__(self, fault):
        self.fault = fault

    def send(self, edges, values):
        if self.fault == "raises":
            raise ZeroDivisionError("in a program")
        return values[edges.sources]

    def update(self, vertices, values, received, superstep):
        return values[1:], values > 0


def test_what_cannot_work_ends_with_one_clear_error(graphs, folder):
    two = graphs("undirected", 2)
    with cenote.ray.open(two, memory="32MiB", cpus=0.5, restarts=2) as graph:
        with pytest.raises(cenote.DeviceError, match="died 3 times without a new superstep"):
            graph.run(Suicide())
        graph._cluster.progressed()
        graph._cluster.revive()
        with pytest.raises(ZeroDivisionError, match="in a program"):
            graph.run(Wrong("raises"))
        with pytest.raises(cenote.InvalidInput, match="update gave the shape"):
            graph.run(Wrong("shape"))
        for wrong in (5, "bash", -1, 2**64):
            with pytest.raises(cenote.UnknownVertex):
                graph.bfs(wrong)
        for call, message in [
            (lambda: graph.pagerank(damping=2), "damping is 2"),
            (lambda: graph.pagerank(tolerance=0), "tolerance is 0"),
            (lambda: graph.pagerank(checkpoint_every=0), "checkpoint_every is 0"),
            (lambda: graph.cdlp(iterations=-1), "iterations is -1"),
            (lambda: graph.bfs([]), "source has no vertex"),
        ]:
            with pytest.raises(cenote.InvalidInput, match=message):
                call()
        assert graph.wcc().summary["components"] > 2
    with pytest.raises(cenote.InvalidInput, match="closed"):
        graph.wcc()
    with pytest.raises(cenote.DeviceError, match="has 8 CPUs: give fewer as `cpus`"):
        cenote.ray.open(two, cpus=7, start_seconds=2)
    with (
        cenote.ray.open(two, memory="16KiB", cpus=0.5) as graph,
        pytest.raises(cenote.MemoryBudget, match=r"too small for shard .: .*give at least"),
    ):
        graph.pagerank()
    with pytest.raises(cenote.InvalidInput, match="memory is '3 apples'"):
        cenote.ray.open(two, memory="3 apples")
    with pytest.raises(cenote.InvalidInput, match="is no sharded graph"):
        cenote.ray.open(folder)


@pytest.mark.long
def test_files_are_copied_once_to_the_drive_of_a_node_and_verified(graphs, folder):
    source = graphs("undirected", 2)
    options = {"memory": "32MiB", "cpus": 0.5, "copy_to": "drive"}
    with cenote.ray.open(source, **options) as graph:
        expected = graph.wcc()["component"].tolist()
    names = sorted(path.name for path in (folder / "drive").iterdir())
    assert len(names) == 4 and all("-shard-0000" in name for name in names)
    times = [(folder / "drive" / name).stat().st_mtime_ns for name in names]
    with cenote.ray.open(source, **options) as graph:
        assert graph.wcc()["component"].tolist() == expected
    assert times == [(folder / "drive" / name).stat().st_mtime_ns for name in names]
    # Another set of files in place of the one that the manifest describes.
    path = folder / "damaged"
    path.mkdir()
    for file in source.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    shard = path / "shard-00001.cenote"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\xff")
    with pytest.raises(cenote.CorruptGraph, match="not the file that the manifest describes"):
        cenote.ray.open(path, **(options | {"copy_to": "elsewhere"}))
    manifest = path / "shards.json"
    manifest.write_text(manifest.read_text().replace('"edges"', '"edgez"'))
    with pytest.raises(cenote.CorruptGraph, match="checksum"):
        cenote.ray.open(path)


def test_shards_run_where_their_files_are():
    every = [True] * 4
    assert sorted(_cluster.placed({"a": every, "b": every}, 4)) == ["a", "a", "b", "b"]
    own = {"a": [True, True, False], "b": [True, False, True]}
    assert _cluster.placed(own, 3)[1:] == ["a", "b"]
    with pytest.raises(cenote.FileMissing, match="shard 1"):
        _cluster.placed({"a": [True, False]}, 2)
    sizes = ["64MiB", "1GiB", "2.5KB", 77, "77"]
    assert [_graph.bytes_of(size) for size in sizes] == [1 << 26, 1 << 30, 2500, 77, 77]


@pytest.mark.long
def test_the_demonstration_compares_and_says_yes(capsys):
    assert demo.main(["--scale", "10", "--shards", "2", "--memory", "48MiB"]) == 0
    printed = capsys.readouterr().out
    assert " NO " not in printed and printed.count(" yes ") == 6
    with pytest.raises(SystemExit):
        demo.main(["--shards", "1"])


def test_without_ray_the_package_says_what_to_install():
    script = "import sys, cenote; assert 'ray' not in sys.modules; sys.modules['ray'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", script + "import cenote.ray"], capture_output=True, text=True
    )
    assert done.returncode == 1
    expected = (
        "ImportError: cenote.ray needs Ray, which is not installed: pip install 'cenote[ray]'"
    )
    assert done.stderr.rstrip().endswith(expected)


@pytest.mark.skipif("CENOTE_RAY_LONG" not in os.environ, reason="`make ray-soak` runs it")
def test_a_node_that_is_lost_changes_no_answer(graphs):
    script = os.path.join(os.path.dirname(__file__), "two_nodes.py")
    done = subprocess.run(
        [sys.executable, script, graphs("undirected", 3)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "equal, " in done.stdout, done.stdout + done.stderr
