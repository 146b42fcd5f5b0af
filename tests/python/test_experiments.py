"""The benchmarks in a tiny mode, so that none rots."""

import json
import os
import random
import subprocess
import sys

import pytest

from conftest import ROOT, command_path

pytestmark = pytest.mark.long

# Caches stay as they are: to drop them takes seconds, and more from the tests beside these.
WARM = {"CENOTE_WARM": "1"}


def test_the_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/bench.py", "--scale", "12", "--repeats", "1",
         "--dir", tmp_path / "graphs", "--rows", rows, "--only", "import,runs,papers,grid"],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["M edges/s", "pagerank: block / auto", "grid bfs: passes", "allowed passes"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {"generate", "prepare", "import", "runs", "papers"} <= {row["part"] for row in found}
    assert all("commit" in row and "host" in row for row in found)
    assert str(tmp_path) not in rows.read_text()


def test_the_benchmark_of_the_python_package_prints_its_figures_and_keeps_its_rows(tmp_path):
    if not (ROOT / "python/cenote/_cenote.abi3.so").exists():
        pytest.skip("the Python package is not built: `make python` builds it")
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/python_bench.py", "--edges", "20000", "--scale", "10",
         "--networkx-edges", "5000", "--repeats", "1", "--batches", "2", "--iops", "1000",
         "--rivals", "scipy,duckdb,networkx", "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path()), "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["networkx            5,000", "whole process / command", "Arrow from memory",
                  "needed pages a second"]:
        assert words in done.stdout, done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {"names", "overhead", "arrow", "sample"} <= {row["part"] for row in found}
    samples = [row for row in found if row.get("worker") in ("sample", "numpy_sample")]
    ours, theirs = (sum(row["edges"]) for row in samples)
    assert abs(ours - theirs) < theirs / 20
    assert 0 < samples[0]["pages"][0] <= samples[0]["page_bytes"] / samples[0]["page_size"]
    assert str(tmp_path) not in rows.read_text()


def test_two_builds_are_compared_in_turn(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/compare_builds.py", command_path(), command_path(),
         "--graphs", "kron10", "--only", "import,bfs --parents", "--repeats", "2",
         "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "bytes_read" in done.stdout and "error" not in rows.read_text()
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["build"] for row in found] == ["old", "new", "new", "old"] * 2
    assert found[4]["bytes_read"] == found[5]["bytes_read"] > 0


def test_the_order_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/order_bench.py", "--graphs", "kron-10,grid-20",
         "--repeats", "1", "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["grid-20", "natural", "degree", "random", "pagerank passes"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(found) == 2 * 5 * 4
    assert str(tmp_path) not in rows.read_text()


def test_the_deep_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    for asked in [
        ["--algorithms", "kcore"],
        ["--algorithms", "sssp,reach", "--graphs", "directed,grid-shuffled",
         "--old", command_path()],
    ]:
        done = subprocess.run(
            [sys.executable, ROOT / "experiments/deep_bench.py", "--vertices", "400", *asked,
             "--repeats", "1", "--dir", tmp_path / "graphs", "--rows", rows],
            env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "grid-shuffled" in done.stdout and "more than" not in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(found) == 8 * 3 + 2 * 2 * 3 * 2
    assert all(row["passes"] > 0 for row in found if row["algorithm"] == "kcore")
    assert str(tmp_path) not in rows.read_text()


def test_the_benchmark_of_a_large_graph_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/large_graph.py", "--scale", "12", "--memory", "32MiB",
         "--repeats", "2", "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    if "no memory control group" in done.stderr:
        pytest.skip("no memory control group can be made here")
    assert done.returncode == 0, done.stderr
    assert "import: " in done.stdout and "median of 2, under 2.0 GB" in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["step"] for row in found] == ["import", "wcc", "pagerank"] * 2
    assert str(tmp_path) not in rows.read_text()


def test_the_benchmark_of_bands_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/bands_bench.py", "--scale", "16",
         "--only", "pagerank,bfs", "--budgets", "2048,560", "--repeats", "1",
         "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    runs = [row for row in found if row["part"] == "bands"]
    assert ["bands" not in row for row in runs] == [True, False] * 2
    assert done.stdout.count("x the time") == 2
    assert str(tmp_path) not in rows.read_text()


def test_killed_commands_leave_the_graph_before_or_after_them(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/kills.py", "--kills", "8", "--edges", "2000",
         "--dir", tmp_path],
        env=os.environ | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("8 kills passed\n")


def test_graphs_with_delta_runs_are_compared_with_merged_ones(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/delta_runs.py", "--scale", "18", "--shares", "10",
         "--commits", "1", "--repeats", "1", "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    found = [row for row in found if row["part"] == "delta runs"]
    assert len(found) == 3 * 2 and all(row["runs"] == 1 for row in found)
    assert done.stdout.count("merged") == 3
    assert str(tmp_path) not in rows.read_text()


def test_the_gap_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    environment = {name: value for name, value in os.environ.items() if name != "GAPBS"}
    output = ""
    # NetworKit takes seconds to start, for each graph.
    for asked in [
        ["--graphs", "kron", "--memory", "10,100"],
        ["--graphs", "road,path-shuffled,cliques", "--memory", "10", "--rivals", "scipy"],
    ]:
        done = subprocess.run(
            [sys.executable, ROOT / "experiments/gap_bench.py", "--scale", "8",
             "--vertices", "100", *asked, "--repeats", "1", "--dir", tmp_path / "graphs",
             "--rows", rows],
            env=environment | WARM | {"CENOTE": str(command_path())}, capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        output += done.stdout
    for words in ["GAPBS is not set", "== kron-8", "== path-shuffled-100", "x the best rival"]:
        assert words in output, output
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    kernels = {"bfs", "wcc", "pagerank", "sssp", "betweenness", "triangles", "kcore"}
    for contender, known, graphs in [
        ("cenote 10%", kernels, 4), ("cenote 100%", kernels, 1), ("networkit", kernels, 1),
        ("igraph", kernels - {"pagerank"}, 1), ("scipy", {"bfs", "wcc", "pagerank", "sssp"}, 4),
    ]:
        own = [row for row in found if row["contender"] == contender]
        assert {row["kernel"] for row in own} == known, contender
        assert len({row["graph"] for row in own}) == graphs
        assert len(own) == len(known) * graphs
        assert all(row["seconds"] > 0 for row in own)
    # The answers of all contenders are compared: here a path of 100 vertices.
    answers = {"bfs": 100, "wcc": 1, "triangles": 0, "kcore": 1}
    for row in found:
        if row["graph"] == "path-shuffled-100" and row.get("answer") is not None:
            assert row["answer"] == answers.get(row["kernel"], row["answer"]), row
    assert str(tmp_path) not in rows.read_text()


def test_the_free_space_experiment_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/free_space.py", "--vertices", "3000",
         "--free-space", "0,10", "--page-size", "4KiB", "--updates", "1", "--batches", "1",
         "--repeats", "1", "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["pages written", "each", "once", "few"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    sums = [row for row in found if row["part"] == "free space"]
    assert [(row["way"], row["share"]) for row in sums] == [
        (way, share) for way in ["each", "once", "few"] for share in [0, 10]
    ]
    # The same edges, whatever space there is.
    infos = [row for row in found if row["part"] == "free space info" and "way" in row]
    assert {row["edges"] for row in infos if row["way"] != "few"} == {infos[0]["edges"]}
    assert str(tmp_path) not in rows.read_text()


def test_the_pool_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/pool_bench.py", "--tiny", "--repeats", "1",
         "--dir", tmp_path / "files", "--rows", rows, "--only", "ideal,extra,real,vertex",
         "--old", command_path()],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["alpha = k = 8: cost", "WIS  sieve", "lru: speedup / what", "vertex: new"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {"ideal", "extra", "real", "vertex"} <= {row["part"] for row in found}
    assert {row["writer"] for row in found if row["part"] == "real"} == {
        "classical", "cleaner", "ace", "ace-bg"
    }
    assert str(tmp_path) not in rows.read_text()


def test_the_algorithms_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows, plots = tmp_path / "rows.jsonl", tmp_path / "plots"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/algo_bench.py", "--scale", "11", "--small", "11",
         "--repeats", "1", "--walkers", "10000", "--dir", tmp_path / "graphs", "--rows", rows,
         "--plots", plots,
         "--only", "strategies,walks,packed,networkit,depth,scales,memory",
         "--graphs", "kron 11", "--cases", "bfs|kcore|reach|scc|sssp"],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["bfs at", "dfs: vertex / auto", "packed / raw", "kcore: Cenote / networkit",
                  "told / true: memory"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    parts = {"strategies", "walks", "packed", "networkit", "depth", "scales", "memory"}
    assert parts <= {row["part"] for row in found}
    assert {path.name for path in plots.iterdir()} == {"depth-drive.svg", "scales.svg"}
    assert str(tmp_path) not in rows.read_text()


def test_the_tiers_benchmark_prints_its_figures_and_keeps_its_rows(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/tier_bench.py", "--tiny", "--seeds", "2",
         "--dir", tmp_path / "files", "--rows", rows, "--loads", "5hf90,D,uniform"],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in [
        "payback:", "/ ideal", "accesses migrate", "by share of reads", "bytes of a page",
    ]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {row["part"] for row in found} == {"figures", "claims", "shares", "scale", "cpu"}
    assert all(len(row["runtime_s"]) == 2 for row in found if row["part"] == "figures")
    again = subprocess.run(
        [sys.executable, ROOT / "experiments/tier_bench.py", "--tiny", "--kept", rows,
         "--dir", tmp_path / "files", "--rows", tmp_path / "none.jsonl",
         "--loads", "5hf90,D,uniform"],
        env=os.environ | WARM | {"CENOTE": "none"}, capture_output=True, text=True,
    )
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
    assert str(tmp_path) not in rows.read_text()


def test_what_the_law_says_of_two_drives():
    """Hotter blocks up, the rest by chance: counted anew by the simplest means."""
    sys.path.insert(0, str(ROOT / "experiments"))
    import drive_bench

    vertices, share = 3200, 0.1
    of_pages = drive_bench.by_the_law(vertices, 1, share, 1)
    weights = [rank**-0.99 for rank in range(1, vertices + 1)]
    random.Random(7).shuffle(weights)
    pages = sorted((sum(weights[at:at + 32]) for at in range(0, vertices, 32)), reverse=True)
    assert of_pages == pytest.approx((sum(pages[10:]) / sum(pages)) / 0.9)
    # Memory takes the hottest pages away, and cold ones share blocks with hot ones.
    assert of_pages < drive_bench.by_the_law(vertices, 0.7, share, 1) < 1
    assert of_pages < drive_bench.by_the_law(vertices, 1, share, 4) < 1


def test_components_of_pairs_are_compared_with_others(tmp_path):
    rows = tmp_path / "rows.jsonl"
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/straight_components.py", "--graphs", "8:4",
         "--repeats", "1", "--dir", tmp_path / "pairs", "--rows", rows,
         "--only", "cenote,decode,scan,scipy,networkx"],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(found) == 7 and not any("error" in row for row in found), found
    assert len({row["components"] for row in found if row["run"] in ("scipy", "networkx")}) == 1


def test_the_communities_benchmark_prints_its_figures_and_keeps_its_rows(cenote, tmp_path):
    rows = tmp_path / "rows.jsonl"
    # In place of the packages, of which igraph takes seconds.
    (tmp_path / "graphs").mkdir()
    edges = "".join(f"package-{at}\tpackage-{at * at % 97}\n" for at in range(200))
    cenote("import", "-", "--format", "tsv", "--undirected", "--out", "graphs/debian.cenote",
           stdin=edges.encode())
    done = subprocess.run(
        [sys.executable, ROOT / "experiments/communities_bench.py", "--tiny",
         "--dir", tmp_path / "graphs", "--rows", rows],
        env=os.environ | WARM | {"CENOTE": str(command_path())}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    for words in ["debian", "kron8", "multilevel", "until stable", "ours / theirs"]:
        assert words in done.stdout
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    runs = [row for row in found if row["part"] == "communities"]
    assert {row["by"] for row in runs} == {
        "cenote", "igraph, multilevel", "igraph, 2 iterations", "igraph, until stable"
    }
    assert str(tmp_path) not in rows.read_text()
