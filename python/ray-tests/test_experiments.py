"""The benchmark of shards runs, and the model of their scaling expects what manifests have."""

import json
import sys

import pytest
import ray
from conftest import ROOT

import cenote
from cenote.ray import demo

sys.path.insert(0, str(ROOT / "experiments"))
import shard_model
import shards_bench

# The processes of shards cannot import that file.
ray.cloudpickle.register_pickle_by_value(shards_bench)


@pytest.mark.long
def test_the_benchmark_prints_its_figures_and_keeps_its_rows(folder, capsys, monkeypatch):
    monkeypatch.setenv("CENOTE_WARM", "1")
    demo.skewed_edges(9, 16 << 9, seed=1).astype("u4").tofile("kron9.u32")
    arguments = ["--scale", "9", "--repeats", "1", "--shards", "2", "--cuts", "2,4"]
    shards_bench.main([*arguments, "--dir", str(folder), "--rows", "rows", "--bytes", "1000"])
    printed = capsys.readouterr().out
    for algorithm in shards_bench.ALGORITHMS:
        assert f"{algorithm}, 2 shards, memory 100%: shards" in printed
    rows = [json.loads(line) for line in (folder / "rows").read_text().splitlines()]
    assert [row["part"] for row in rows] == ["overhead"] * 14 + ["boundary"] * 2 + ["terms"]
    shard_model.validate("rows", shard_model.Terms(), 1e9)
    assert "| pagerank | 9 | 2 |" in capsys.readouterr().out


def test_the_model_expects_the_boundaries_that_shards_have(folder, capsys):
    edges = demo.skewed_edges(13, 16 << 13, seed=1)
    # The bits of an id say how many neighbours it has: ranges of shuffled ids are alike.
    shuffled = edges * 5003 % (1 << 13)
    counts = cenote.import_graph(shuffled, "kron.cenote", memory="64MiB")
    for shards in (2, 7):
        cut = cenote.shard("kron.cenote", f"kron{shards}", shards=shards, memory="64MiB")
        found = sum(sum(part["boundary"]) for part in cut["shards"])
        expected = shard_model.boundary(13, 16, shards)
        assert found == pytest.approx(expected, rel=0.1), shards
    assert counts["vertices"] == pytest.approx(shard_model.vertices(13, 16), rel=0.05)
    terms = shard_model.Terms()
    cluster = shard_model.Cluster(1, 16, 3e9, 1e9, 64e9)
    one = shard_model.predict(1e11, 0, 2e9, terms, cluster)
    many = shard_model.Cluster(8, 16, 3e9, 1e9, 64e9)
    eight = shard_model.predict(1e11, 8e9, 2e9, terms, many)
    assert one["pagerank"] > eight["pagerank"] > one["pagerank"] / 16
