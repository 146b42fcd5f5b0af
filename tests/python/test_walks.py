"""Random walks through the command line, against walks taken one by one in NumPy."""

import itertools
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

#: Second word of the generator's key.
WALKS = int.from_bytes(b"walks\0\0\0", "little")


class OneByOne:
    """Walks straight from the definition, on a dictionary of sorted lists.

    Where `weights` are given, a list of integers for each list, proposals are in proportion.
    """

    def __init__(self, lists, seed=1, restart=0.0, p=1.0, q=1.0, weights=None):
        self.lists, self.seed, self.restart = lists, seed, restart
        self.weights = weights or {v: [1] * len(targets) for v, targets in lists.items()}
        self.back, self.away = 1 / p, 1 / q
        self.largest = max(self.back, 1.0, self.away)

    def words(self, walk, step, trial):
        # NumPy counts on before it draws.
        counter = (walk + (step << 64) + (trial << 128) - 1) % (1 << 256)
        parts = [(counter >> (64 * i)) & (2**64 - 1) for i in range(4)]
        key = np.array([self.seed, WALKS], dtype=np.uint64)
        philox = np.random.Philox(counter=np.array(parts, dtype=np.uint64), key=key)
        return [int(word) for word in philox.random_raw(4)]

    def weight(self, candidate, before):
        if candidate == before:
            return self.back
        return 1.0 if candidate in self.lists[before] else self.away

    def step(self, walk, step, at, before):
        trial = 0
        while True:
            _, position, accept, _ = self.words(walk, step, trial)
            drawn = position * sum(self.weights[at]) >> 64
            sums = itertools.accumulate(self.weights[at])
            candidate = self.lists[at][next(i for i, total in enumerate(sums) if total > drawn)]
            free = before is None or len(self.lists[at]) == 1
            if free or (accept >> 11) * 2.0**-53 < self.weight(candidate, before) / self.largest:
                return candidate
            trial += 1

    def walk(self, walk, start, steps):
        row, before = [start], None
        for step in range(1, steps + 1):
            at = row[-1]
            if (self.words(walk, step, 0)[0] >> 11) * 2.0**-53 < self.restart:
                before = None
                row.append(start)
            elif not any(self.weights[at]):
                break
            else:
                row.append(self.step(walk, step, at, before))
                before = at
        return row


def lists_of(pairs, directed):
    """Neighbours by vertex, without loops."""
    lists = {int(v): set() for v in np.unique(pairs)}
    for a, b in pairs:
        if a != b:
            lists[int(a)].add(int(b))
            if not directed:
                lists[int(b)].add(int(a))
    return {v: sorted(targets) for v, targets in lists.items()}


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request, cenote):
    """A graph whose ids are sparse numbers, and its lists."""
    cenote("generate", "kron", "--scale", 9, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2) * 7 + 100
    pairs.astype("<u4").tofile(cenote.folder / "edges.u32")
    direction = "--directed" if request.param else "--undirected"
    cenote("import", "edges.u32", direction, "--out", "graph.cenote")
    return lists_of(pairs, request.param)


@pytest.mark.parametrize("bias", [{}, {"restart": 0.2}, {"p": 0.5, "q": 4.0}], ids=str)
def test_walks_in_every_format_equal_those_taken_one_by_one(cenote, graph, bias):
    flags = [word for name, value in bias.items() for word in (f"--{name}", value)]
    walker = OneByOne(graph, seed=5, **bias)
    expected = [walker.walk(i, start, 6) for i, start in enumerate(sorted(graph))]
    for file in ["out.txt", "out.txt.zst", "out.parquet", "out.npy"]:
        summary = cenote.json(
            *["run", "walk", "graph.cenote", "--steps", 6, "--seed", 5],
            *["--verify", "--out", file, *flags],
        )
        path = cenote.folder / file
        match file.split(".", 1)[1]:
            case "txt":
                rows = [[int(v) for v in line.split(" ")] for line in path.read_text().splitlines()]
            case "txt.zst":
                text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
                rows = [[int(v) for v in line.split()] for line in text.decode().splitlines()]
            case "parquet":
                rows = pq.read_table(path)["walk"].to_pylist()
            case _:
                table = np.load(path)
                assert table.shape == (len(graph), 7)
                rows = [[int(v) for v in row if v >= 0] for row in table]
        assert rows == expected
        assert summary["result"]["corpus_bytes"] == path.stat().st_size
        assert summary["verified"]


def test_strategies_threads_and_budgets_take_the_same_walks(cenote, graph):
    fingerprints = {
        cenote.json(
            *["run", "walk", "graph.cenote", "--walkers", 40000],
            *["--starts", "random", "--p", 2, *flags],
        )["result"]["fingerprint"]
        for flags in [
            [],
            ["--threads", 1],
            ["--memory", "3MiB"],
            ["--strategy", "block"],
            ["--strategy", "vertex", "--threads", 3],
        ]
    }
    assert len(fingerprints) == 1


def test_starts_are_taken_from_a_file_in_turn(cenote, graph):
    ids = sorted(graph)
    (cenote.folder / "starts.txt").write_text(f"{ids[3]}\n\n{ids[1]}\n")
    cenote(
        *["run", "walk", "graph.cenote", "--starts", "starts.txt", "--per-vertex", 2],
        *["--steps", 0, "--out", "out.txt"],
    )
    assert (cenote.folder / "out.txt").read_text() == f"{ids[3]}\n{ids[1]}\n" * 2


def test_names_are_written_and_npy_refuses_them(cenote):
    (cenote.folder / "edges.txt").write_text("a b\nb c\n")
    cenote("import", "edges.txt", "--directed", "--out", "graph.cenote")
    walk = ["run", "walk", "graph.cenote", "--steps", 3, "--out"]
    cenote(*walk, "out.txt")
    assert (cenote.folder / "out.txt").read_text() == "a b c\nb c\nc\n"
    cenote(*walk, "out.parquet")
    rows = pq.read_table(cenote.folder / "out.parquet")["walk"].to_pylist()
    assert rows == [["a", "b", "c"], ["b", "c"], ["c"]]
    assert "npy has no place for names" in cenote.error(*walk, "out.npy")
    assert "expected .txt" in cenote.error(*walk, "out.csv")


def test_an_estimate_tells_the_memory_of_the_run(cenote, kron):
    kron(16)
    flags = ["walk", "graph.cenote", "--walkers", 100000, "--starts", "random", "--memory", "8MiB"]
    told = cenote.json("estimate", *flags)
    run = cenote.json("run", *flags)
    assert told["memory"] == run["memory_plan"]
    assert told["bytes_read"] == pytest.approx(run["bytes_read"], rel=0.2)
    assert run["peak_rss_bytes"] <= (8 + 32) << 20


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def weighted(request, cenote):
    """Graphs of the four types with the same weights, of quarters where they are no integers."""
    cenote("generate", "kron", "--scale", 9, "--out", "made.u32")
    pairs = np.unique(np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    rng = np.random.default_rng(7)
    # A vertex in eight has edges of weight 0 alone.
    numbers = rng.choice([0, 1, 2, 5, 4000, 1 << 20], len(pairs))
    numbers[(pairs % 8 == 3).any(axis=1)] = 0
    found = {int(v): {} for v in np.unique(pairs)}
    for (a, b), number in zip(pairs.tolist(), numbers.tolist()):
        found[a][b] = number
        if not request.param:
            found[b][a] = number
    direction = "--directed" if request.param else "--undirected"
    for kind in ["f32", "f64", "u32", "i64"]:
        unit = 0.25 if kind.startswith("f") else 1
        with open(cenote.folder / "edges.csv", "w") as file:
            file.write("source,target,weight\n")
            for (a, b), number in zip(pairs, numbers):
                file.write(f"{a},{b},{number * unit}\n")
        codec = "packed" if kind == "f64" else "raw"
        cenote(
            *["import", "edges.csv", direction, "--weights", kind, "--codec", codec],
            *["--out", f"{kind}.cenote"],
        )
    lists = {v: sorted(targets) for v, targets in found.items()}
    return lists, {v: [found[v][target] for target in lists[v]] for v in lists}


@pytest.mark.parametrize("bias", [{}, {"restart": 0.2}, {"p": 0.5, "q": 4.0}], ids=str)
def test_walks_by_weight_equal_those_taken_one_by_one(cenote, weighted, bias):
    lists, weights = weighted
    flags = [word for name, value in bias.items() for word in (f"--{name}", value)]
    walker = OneByOne(lists, seed=5, weights=weights, **bias)
    expected = [walker.walk(i, start, 6) for i, start in enumerate(sorted(lists))]
    assert any(len(row) < 7 for row in expected), "no walk met a dead end"
    for kind in ["f32", "f64", "u32", "i64"]:
        for strategy in ["auto", "block", "vertex"]:
            summary = cenote.json(
                *["run", "walk", f"{kind}.cenote", "--weighted", "--steps", 6, "--seed", 5],
                *["--strategy", strategy, "--verify", "--out", "out.txt", *flags],
            )
            text = (cenote.folder / "out.txt").read_text()
            rows = [[int(v) for v in line.split(" ")] for line in text.splitlines()]
            assert rows == expected, (kind, strategy)
            assert summary["verified"]


@pytest.mark.parametrize("scale", [15, pytest.param(16, marks=pytest.mark.long)])
def test_an_estimate_tells_what_walks_by_weight_take(cenote, scale):
    cenote("generate", "kron", "--scale", scale, "--out", "made.u32")
    pairs = np.fromfile(cenote.folder / "made.u32", "<u4").reshape(-1, 2)
    weights = np.random.default_rng(3).random(len(pairs), dtype=np.float32)
    columns = {"source": pairs[:, 0], "target": pairs[:, 1], "weight": weights}
    pq.write_table(pa.table(columns), cenote.folder / "made.parquet")
    cenote("import", "made.parquet", "--weights", "f32", "--out", "graph.cenote")
    flags = [
        *["walk", "graph.cenote", "--weighted", "--walkers", 100000, "--starts", "random"],
        *["--memory", "16MiB"],
    ]
    told = cenote.json("estimate", *flags)
    run = cenote.json("run", *flags)
    assert told["memory"] == run["memory_plan"]
    assert told["bytes_read"] == pytest.approx(run["bytes_read"], rel=0.2)
    assert run["peak_rss_bytes"] <= (16 + 32) << 20


def test_graphs_by_whose_weights_no_walk_can_go_are_refused(cenote):
    (cenote.folder / "edges.txt").write_text("1 2 0.5\n2 3 -0.25\n")
    cenote("import", "edges.txt", "--out", "plain.cenote")
    cenote("import", "edges.txt", "--weights", "f32", "--out", "negative.cenote")
    walk = ["--weighted", "--out", "walks.txt"]
    told = cenote.error("run", "walk", "plain.cenote", *walk)
    assert "--weighted needs a graph with weights; import it with --weights" in told
    told = cenote.error("run", "walk", "negative.cenote", *walk)
    assert "smallest weight of the graph is -0.25" in told and "not negative" in told
    assert "smallest weight" in cenote.error("estimate", "walk", "negative.cenote", "--weighted")
    assert not (cenote.folder / "walks.txt").exists()
    (cenote.folder / "nan.txt").write_text("1 2 0.5\n2 3 nan\n")
    told = cenote.error("import", "nan.txt", "--weights", "f32", "--out", "nan.cenote")
    assert "finite" in told
