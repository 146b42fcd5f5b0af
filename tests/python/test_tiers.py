"""`cenote tier replay` against a replay in Python that is too simple to be wrong."""

import json

import pytest


def fields(cenote, *args):
    return cenote.json("tier", "replay", *args)["rows"]


def test_rows_keep_their_names(cenote):
    rows = fields(cenote, "--workload", "5hf90,uniform", "--policy", "all", "--pages", 500,
                  "--ops", 5_000, "--capacity", "3%,8%", "--capacity", "10%,20%")
    assert len(rows) == 2 * 2 * 10
    contract = {"workload", "policy", "runtime_s", "response_us_mean", "response_us_p99",
                "migrations", "cpu_us_per_access", "bytes_per_page"}
    for row in rows:
        assert contract <= set(row)
        assert row["ops"] == sum(t["reads"] + t["writes"] for t in row["tiers"]) == 5_000
        pairs = row["migration_pairs"]
        assert row["migrations"] == sum(p["pages"] for p in pairs if p["to"] < p["from"])
        assert row["demotions"] == sum(p["pages"] for p in pairs if p["to"] > p["from"])
        assert row["policy"] not in ("static", "ideal") or not pairs


def test_the_same_seed_gives_the_same_rows(cenote):
    args = ["--workload", "D,zipf", "--policy", "all", "--pages", 400, "--ops", 4_000,
            "--cpu-ops", 0]
    assert fields(cenote, *args) == fields(cenote, *args)
    assert fields(cenote, *args) != fields(cenote, *args, "--seed", 2)


def served(trace, tiers, place):
    """Runtime of one client without moves: each request waits for the one before."""
    return sum(tiers[place[page]][write] for page, write in trace)


def test_one_client_on_two_tiers_takes_the_sum_of_its_requests(cenote):
    trace = [(i * i % 7, i % 3 == 0) for i in range(300)]
    lines = "".join(f"{'W' if write else 'R'} {page}\n" for page, write in trace)
    (cenote.folder / "t.txt").write_text(lines)
    # Pages are numbered by first access; ideal puts the most frequent two on the fast tier, of
    # equally frequent ones the one that came first.
    order = list(dict.fromkeys(page for page, _ in trace))
    count = {page: sum(p == page for p, _ in trace) for page in order}
    hottest = sorted(order, key=lambda page: -count[page])[:2]
    place = {page: 0 if page in hottest else 1 for page in order}
    (row,) = fields(cenote, "t.txt", "--policy", "ideal", "--clients", 1, "--capacity", 2,
                    "--tiers", "10us:2:1,100us:4:1")
    expected = served(trace, [(10, 20), (100, 400)], place)
    assert row["runtime_s"] == pytest.approx(expected / 1e6)
    assert row["response_us_mean"] == pytest.approx(expected / 300)


def test_traces_of_all_shapes_are_replayed(cenote):
    (cenote.folder / "text.txt").write_text("R 12\nW 7\nR 12\n")
    (cenote.folder / "msr.csv").write_text(
        "128166372003061629,hm,1,Read,8192,4096,151\n128166372016382155,hm,1,Write,0,8192,99\n"
    )
    record = b"".join(
        (i).to_bytes(4, "little") + (i % 3).to_bytes(8, "little") + (4096).to_bytes(4, "little")
        + (0).to_bytes(8, "little") for i in range(5)
    )
    (cenote.folder / "o.oracleGeneral").write_bytes(record)
    rows = fields(cenote, "text.txt", "msr.csv", "o.oracleGeneral", "--policy", "tlru",
                  "--capacity", "1,1")
    assert [(row["ops"], row["pages"]) for row in rows] == [(3, 2), (3, 3), (5, 3)]


@pytest.mark.parametrize("text", ["", "R\n", "R -1\n", "X 3\n", "R 1\nR 99999999999999999999\n"])
def test_a_broken_trace_is_one_line(cenote, text):
    (cenote.folder / "t.txt").write_text(text)
    assert "t.txt" in cenote.error("tier", "replay", "t.txt", "--policy", "all")


@pytest.mark.parametrize("args, words", [
    (["--workload", "E"], "5hf90"),
    (["--workload", "A", "--policy", "mru"], "tlru"),
    (["--workload", "A", "--policy", "lrfu:half-life=-1"], "half-life"),
    (["--workload", "A", "--policy", "lrfu:life=1"], "life"),
    (["--workload", "A", "--capacity", "3%"], "capacities"),
    (["--workload", "A", "--capacity", "3%,x"], "percent"),
    (["--workload", "A", "--tiers", "30us:1.5:8"], "tiers"),
    (["--workload", "A", "--tiers", "30us:1.5:8,nanus:1:1", "--capacity", "3%"], "latency"),
    (["--workload", "A", "--pages", "0"], "pages"),
    (["--workload", "A", "--pages", "5000000000"], "pages"),
    (["--workload", "A", "--clients", "0"], "clients"),
    (["--workload", "A", "--open", "nan"], "--open"),
    (["--workload", "A", "--read-share", "2"], "share"),
    (["--workload", "zipf", "--drift", "nan"], "drift"),
    (["--workload", "A", "--plot", "x.png"], "svg"),
    (["missing.txt"], "missing.txt"),
])
def test_what_cannot_be_is_refused_in_one_line(cenote, args, words):
    policy = [] if "--policy" in args else ["--policy", "tlru"]
    assert words in cenote.error("tier", "replay", *args, *policy)


def test_the_plot_is_svg_with_every_policy(cenote):
    cenote("tier", "replay", "--workload", "A", "--pages", 300, "--ops", 2_000, "--policy",
           "tlru,payback", "--plot", "p.svg")
    text = (cenote.folder / "p.svg").read_text()
    assert "tlru" in text and "payback" in text and "A 3%,8%" in text


def test_json_is_one_line(cenote):
    text = cenote("tier", "replay", "--workload", "A", "--pages", 300, "--ops", 2_000, "--policy",
                  "tlru", "--json")
    assert text.count("\n") == 1 and json.loads(text)["seed"] == 1
