"""Options out of their range, in the same words everywhere."""

from pathlib import Path

import numpy as np
import pytest

import cenote


@pytest.fixture
def graph():
    cenote.import_graph([(1, 2), (2, 3)], "g.cenote")
    with cenote.open("g.cenote", memory="64MiB", threads=1) as graph:
        yield graph


def test_an_integer_out_of_its_range_is_named_with_the_range(graph):
    for name, call in {
        "threads": lambda: graph.wcc(threads=-1),
        "depth": lambda: graph.wcc(depth=-1),
        "iterations": lambda: graph.pagerank(iterations=-1),
        "k": lambda: graph.kcore(k=-1),
        "samples": lambda: graph.betweenness(samples=-1),
        "top_k": lambda: graph.ppr(1, top_k=-1),
        "steps": lambda: graph.walk(steps=2**40),
        "hops": lambda: graph.subgraph([1], out="h.cenote", hops=-1),
        "fanouts": lambda: graph.sample_neighbors([1], fanouts=[5, -1]),
        "seed": lambda: graph.sample_neighbors([1], fanouts=[5], seed=-1),
        "vertex": lambda: graph.id_of(-1),
        "page_bytes": lambda: cenote.import_graph([(1, 2)], "h.cenote", page_bytes=-1),
        "free_space": lambda: cenote.compact("g.cenote", free_space=-1),
        "shards": lambda: cenote.shard("g.cenote", "parts", shards=-1),
    }.items():
        with pytest.raises(
            cenote.InvalidInput, match=rf"{name} is -?\d+: expected an integer"
        ) as e:
            call()
        assert "from 0 to" in str(e.value)
    with pytest.raises(TypeError, match="k: expected an integer, not a str"):
        graph.kcore(k="two")


def calls_of_memory_and_threads(graph):
    """Calls with `memory` or `threads`."""
    return [
        graph.wcc,
        lambda **options: graph.neighbors(1, **options),
        lambda **options: graph.sample_neighbors(1, fanouts=[2], **options),
        lambda **options: graph.subgraph([1], out="h.cenote", **options),
        graph.visit,
        lambda **options: cenote.open("g.cenote", **options),
        lambda **options: cenote.import_graph([(1, 2)], "h.cenote", **options),
        lambda **options: cenote.components([(1, 2)], **options),
        lambda **options: cenote.compact("g.cenote", **options),
        lambda **options: cenote.shard("g.cenote", "parts", shards=1, **options),
    ]


def test_sizes_and_threads_are_refused_alike_everywhere(graph):
    for call in calls_of_memory_and_threads(graph):
        for wrong, words in [
            (-1, "memory is -1: expected bytes"),
            ("x", "memory is 'x': expected"),
        ]:
            with pytest.raises(cenote.InvalidInput, match=words):
                call(memory=wrong)
        with pytest.raises(TypeError, match=r"memory: expected bytes.*not a float"):
            call(memory=1.5)
        with pytest.raises(TypeError, match=r"memory: expected bytes.*not a bool"):
            call(memory=True)
        with pytest.raises(TypeError, match="threads: expected an integer, not a bool"):
            call(threads=True)
        with pytest.raises(cenote.InvalidInput, match="threads is 0: at least 1 is needed"):
            call(threads=0)
    with pytest.raises(cenote.InvalidInput, match="memory is 'x': expected a size"):
        cenote.update("g.cenote", memory="x")


def test_an_option_of_another_type_is_named(graph):
    for words, call in [
        ("personalize: the weight of 2: expected", lambda: graph.pagerank(personalize={2: "x"})),
        ("record: expected True or False, not a str", lambda: graph.wcc(record="x")),
        ("explain: expected True or False, not a str", lambda: graph.wcc(explain="x")),
        ("verify: expected True or False, not a str", lambda: graph.wcc(verify="x")),
        ("parents: expected True or False, not a str", lambda: graph.bfs(1, parents="x")),
        ("weighted: expected True or False, not a int", lambda: graph.pagerank(weighted=2)),
        ("tolerance: expected a number, not a str", lambda: graph.pagerank(tolerance="x")),
        ("damping: expected a number, not a str", lambda: graph.ppr(1, damping="x")),
        ("resolution: expected a number, not a str", lambda: graph.leiden(resolution="x")),
        ("strategy: expected text, not a int", lambda: graph.wcc(strategy=1)),
        ("scale: expected text, not a int", lambda: graph.betweenness(scale=1)),
        ("state_dir: expected a path, not a int", lambda: graph.wcc(state_dir=1)),
        ("sources_file: expected a path, not a int", lambda: graph.bfs(sources_file=1)),
        ("temp_dir: expected a path, not a int", lambda: cenote.components([], temp_dir=1)),
        ("codec: expected text, not a int", lambda: cenote.import_graph([], "h", codec=1)),
    ]:
        with pytest.raises(TypeError) as raised:
            call()
        assert words in str(raised.value)


def test_components_of_undirected_graphs_are_named_as_such(graph):
    for call in [graph.scc, graph.wcc]:
        for options in [{}, {"strategy": "block"}]:
            with pytest.raises(cenote.MemoryBudget) as raised:
                call(memory=1, **options)
            assert "components" in str(raised.value) and "wcc" not in str(raised.value)


def test_look_ups_take_sizes_as_text_and_refuse_too_small_ones(graph):
    assert graph.neighbors(2, memory="64MiB").tolist() == [1, 3]
    assert graph.sample_neighbors(2, fanouts=[2], memory="1MiB").seeds == 1
    cenote.open("g.cenote", memory="1%").close()
    for call in [
        lambda: graph.neighbors(2, memory=1),
        lambda: graph.sample_neighbors(2, fanouts=[2], memory="64KiB"),
        lambda: cenote.open("g.cenote", memory=64),
    ]:
        with pytest.raises(cenote.MemoryBudget, match="at least 1MiB"):
            call()


def test_a_sample_is_refused_before_it_takes_more_than_its_memory(graph):
    with pytest.raises(cenote.InvalidInput, match="with `replace` each is at most 1048576"):
        graph.sample_neighbors([1], fanouts=[300_000_000], replace=True, memory=64 << 20)
    with pytest.raises(
        cenote.MemoryBudget, match=r"a sample of neighbours needs .* at least 192MiB"
    ):
        graph.sample_neighbors([1, 2, 3], fanouts=[1 << 20], replace=True, memory=64 << 20)
    enough = graph.sample_neighbors([1, 2, 3], fanouts=[1 << 20], replace=True, memory="192MiB")
    assert [len(sources) for sources, _ in enough.layers] == [3 << 20]
    # A list has no more than its neighbours.
    whole = graph.sample_neighbors([1, 2, 3], fanouts=[10**12], memory="1MiB")
    assert [len(sources) for sources, _ in whole.layers] == [4]


def test_errors_name_the_options_of_python(graph):
    cenote.import_graph([(1, 2)], "d.cenote", directed=True)
    Path("noise.cenote").write_bytes(b"noise" * 4096)
    with cenote.open("d.cenote") as directed:
        for words, call in [
            ("import it with `weights`", lambda: graph.pagerank(weighted=True)),
            ("leave `weighted` out", lambda: graph.walk(weighted=True)),
            ("top_k is 0", lambda: graph.ppr(1, top_k=0)),
            ("import it with `directed=False`", directed.msf),
            ("import with `in_edges`", directed.kcore),
            ("use `cenote.import_graph`", lambda: cenote.open("noise.cenote")),
            ("edges: row 1", lambda: cenote.import_graph(np.array([[1, -1]]), "h.cenote")),
        ]:
            with pytest.raises(cenote.CenoteError) as raised:
                call()
            message = str(raised.value)
            assert words in message and "--" not in message, message
