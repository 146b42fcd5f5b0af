"""Reports to look at, of what is no run: merges, replays, profiles."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import cenote


def data_of(page):
    text = Path(page).read_text()
    assert text.startswith("<!") and "<script src" not in text
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def command(args):
    """Runs the command, with a report."""
    args = [os.environ["CENOTE"], *args.split(), "--report", "command.html"]
    subprocess.run(args, capture_output=True, check=True)


def sections(page):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", Path(page).read_text())


def test_the_report_of_a_merge_has_its_counts():
    cenote.import_graph([(v, v + 1) for v in range(5000)], "g.cenote")
    with cenote.update("g.cenote") as update:
        update.add_all((v, v + 9) for v in range(0, 5000, 7))
    with cenote.open("g.cenote") as graph:
        found = graph.merge(report="merge.html", memory="64MiB")
    data = data_of("merge.html")
    assert found["merged"] + found["merged_entries"] > 700
    for name in ("merged", "merged_entries", "pages_read", "pages_written", "bytes_written"):
        assert data["result"][name] == found[name]
    assert data["result"]["memory_budget_bytes"] == 64 << 20
    with cenote.update("g.cenote") as update:
        for wrong in ("merge.txt", "g.cenote"):
            with pytest.raises(cenote.InvalidInput, match=wrong):
                update.merge(report=wrong)
        update.merge(report="again.html")
    assert data_of("again.html")["result"]["merged"] == 0
    command("merge g.cenote")
    assert sections("command.html") == sections("merge.html")


def test_the_report_of_a_replay_is_that_of_the_command(folder):
    found = cenote.pool_replay(
        "ms", device="sim:p4510", policies=["lru", "sieve"], pages=500, ops=900, report="pool.html"
    )
    command("pool replay --workload ms --device sim:p4510 --policy lru,sieve --pages 500 --ops 900")
    assert data_of("pool.html")["replay"] == found
    assert data_of("command.html")["replay"] == found
    assert sections("pool.html") == sections("command.html")
    rows = re.findall(r"<tr>.*?</tr>", Path("pool.html").read_text(), re.S)
    assert rows and rows == re.findall(r"<tr>.*?</tr>", Path("command.html").read_text(), re.S)

    tiers = {"pages": 500, "ops": 900, "cpu_ops": 0}
    found = cenote.tier_replay("zipf", policies=["tlru", "temp"], report="tiers.html", **tiers)
    assert data_of("tiers.html")["replay"] == found
    command("tier replay --workload zipf --policy tlru,temp --pages 500 --ops 900 --cpu-ops 0")
    assert sections("tiers.html") == sections("command.html")


def test_reports_replace_no_input(folder):
    Path("trace.html").write_text("R 1\nW 2\n")
    small = {"pages": 500, "ops": 900}
    for call in [
        lambda page: cenote.pool_replay(
            traces="trace.html", format="text", device="sim:p4510", report=page
        ),
        lambda page: cenote.tier_replay(traces="trace.html", format="text", report=page),
    ]:
        with pytest.raises(cenote.InvalidInput, match=r"trace\.html"):
            call("trace.html")
    for wrong in ("pool.pdf", str(folder)):
        with pytest.raises(cenote.InvalidInput, match=re.escape(wrong)):
            cenote.pool_replay("ms", device="sim:p4510", report=wrong, **small)
        with pytest.raises(cenote.InvalidInput, match=re.escape(wrong)):
            cenote.tier_replay("zipf", report=wrong, **small)
    with pytest.raises(OSError, match=r"absent/pool\.html"):
        cenote.pool_replay("ms", device="sim:p4510", report="absent/pool.html", **small)
    assert Path("trace.html").read_text() == "R 1\nW 2\n"
    assert os.listdir() == ["trace.html"]
