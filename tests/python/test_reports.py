"""Reports in a browser: nothing is asked of a network, nothing fails, nothing sticks out, and every
text can be read, narrow and wide, light and dark."""

import itertools
import json
import os
import re
from pathlib import Path

import pytest

import browser

WIDTHS = [380, 1400]
SCHEMES = ["light", "dark"]

# The texts of a page whose contrast with what lies behind them is under WCAG's AA, by their own
# colours: 4.5, or 3 for large ones.
CONTRAST = """
(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = c => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
    return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
      if (colour[3] > 0) throw new Error('a background is half transparent');
    }
    return [255, 255, 255];
  };
  const faults = [];
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || element.closest('script, style')) continue;
    if (style.visibility === 'hidden' || !element.getClientRects().length) continue;
    texts += 1;
    const [a, b] = [light(parse(style.color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05), size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 ? 3 : 4.5)) faults.push([walker.currentNode.data, ratio]);
  }
  return {texts, faults};
})()
"""

# Where a text of an axis lies over another one of the same chart.
OVERLAPS = """
[...document.querySelectorAll('.plot')].flatMap(plot => ['x', 'y'].flatMap(axis => {
  const all = [...plot.querySelectorAll('.tick.' + axis)].map(e => [e, e.getBoundingClientRect()]);
  const seen = all.filter(([e, r]) => r.width > 0 && getComputedStyle(e).visibility !== 'hidden');
  const over = (p, q) => p.left < q.right - 1 && q.left < p.right - 1
    && p.top < q.bottom - 1 && q.top < p.bottom - 1;
  return seen.flatMap(([e, r], i) => seen.slice(i + 1).filter(([, q]) => over(r, q))
    .map(([f]) => e.textContent + ' | ' + f.textContent));
}))
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if not browser.chromium():
        pytest.skip("no chromium: `make browser` installs it as root")
    shown = browser.Page(tmp_path_factory.mktemp("browser"))
    yield shown
    shown.close()


def data(path):
    """The data in a report."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    return json.loads(found[1])


def look(page, path, views=((380, "dark"), (1400, "light"))):
    """Looks at a report in windows of some widths and schemes."""
    for width, scheme in views:
        page.show(path, width, scheme)
        where = f"{path.name} at {width} in {scheme}"
        faults = [
            event["params"]
            for event in page.events
            if event.get("method")
            in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        ]
        assert not faults, f"{where}: {faults}"
        asked = [
            event["params"]["request"]["url"]
            for event in page.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        outside = [url for url in asked if not url.startswith(("file:", "data:"))]
        assert len(asked) >= 1 and not outside, f"{where}: {asked}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width == page.evaluate("window.innerWidth"), f"{where}: {wide}"
        contrast = page.evaluate(CONTRAST)
        assert contrast["texts"] > 20 and not contrast["faults"], f"{where}: {contrast}"
        assert page.evaluate(OVERLAPS) == [], where
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        is_dark = int(re.findall(r"\d+", background)[0]) < 128
        assert is_dark == (scheme == "dark"), f"{where}: {background}"
        if folder := os.environ.get("CENOTE_SCREENSHOTS"):
            page.screenshot(Path(folder) / f"{path.stem}-{width}-{scheme}.png")


def test_a_run_is_seen_in_every_width_and_scheme(cenote, page):
    cenote("generate", "kron", "--scale", "14", "--seed", "3", "--out", "k.u32")
    cenote("import", "k.u32", "--undirected", "--out", "k.cenote")
    printed = cenote.json("run", "pagerank", "k.cenote", "--memory", "2MiB", "--report", "p.html")
    path = cenote.folder / "p.html"
    found = data(path)
    assert found["stats"]["bytes_read"] == printed["bytes_read"] > 0
    assert found["result"] == printed["result"] and "steps" not in printed
    recording, bounds = found["recording"], found["bounds"]
    samples = recording["samples"]
    # The samples and the time of reads are counted apart from the engine's own counters.
    assert samples[0]["seconds"] == 0 and samples[-1]["bytes_read"] >= printed["bytes_read"]
    assert sum(step["bytes"] for step in recording["steps"]) == printed["bytes_read"]
    reads = sum(reads["reads"] for reads in recording["latencies"])
    assert printed["read_requests"] <= reads <= samples[-1]["requests"]
    starts = [step["start_seconds"] for step in recording["steps"]]
    assert starts == sorted(starts) and 0 <= starts[-1] <= samples[-1]["seconds"]
    assert 0 <= bounds["drive_share"] <= 1 and 0 <= bounds["processor_share"] <= 1
    assert found["run"]["command"] == (
        "cenote run pagerank k.cenote --memory 2MiB --report p.html --json"
    )
    look(page, path, itertools.product(WIDTHS, SCHEMES))
    text = page.evaluate("document.body.innerText")
    for words in ["Bounded by", "What would help", "Timeline", "Estimate against actual", "Steps"]:
        assert words in text
    assert page.evaluate("document.querySelectorAll('.stack .low svg').length") == 4
    # Drawn, not only there: every line has a length, and lies in its picture.
    lengths = page.evaluate(
        "[...document.querySelectorAll('path.line')].map(path => path.getTotalLength())"
    )
    assert len(lengths) >= 6 and all(length > 900 for length in lengths)


@pytest.mark.parametrize("algorithm", ["bfs", "wcc", "mis", "lcc", "walk"])
def test_every_kind_of_answer_has_its_picture(cenote, page, algorithm):
    # A path, a star, a triangle, and pairs: levels, components of 1,000, 101, 3 and 2.
    edges = [(v, v + 1) for v in range(999)] + [(1000, 1000 + v) for v in range(1, 101)]
    edges += [(2000, 2001), (2001, 2002), (2000, 2002), (3000, 3001), (3002, 3003)]
    (cenote.folder / "edges.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    cenote("import", "edges.txt", "--undirected", "--out", "<script>alert(1)<b>.cenote")
    source = ["--source", 0] if algorithm == "bfs" else []
    run = ["run", algorithm, "<script>alert(1)<b>.cenote", *source, "--memory", "16MiB"]
    cenote(*run, "--report", f"{algorithm}.html")
    look(page, cenote.folder / f"{algorithm}.html")
    assert "<script>alert(1)<b>.cenote" in page.evaluate("document.querySelector('h1').innerText")
    titles = page.evaluate("[...document.querySelectorAll('.chart .name')].map(e => e.innerText)")
    expected = {
        "bfs": "Vertices by level; 108 have none",
        "wcc": "Components by size: 5",
        "mis": "Members",
        "lcc": "Vertices by clustering coefficient",
        "walk": "Steps of the walks",
    }
    assert expected[algorithm] in titles, titles


def test_a_report_is_refused_before_the_run_and_never_half(cenote):
    (cenote.folder / "edges.txt").write_text("")
    (cenote.folder / "7.txt").write_text("7\n")
    cenote("import", "edges.txt", "--vertices", "7.txt", "--out", "empty.cenote")
    cenote("run", "wcc", "empty.cenote", "--report", "empty.html")
    assert data(cenote.folder / "empty.html")["result"]["components"] == 1
    run = ["run", "wcc", "empty.cenote", "--out", "a.csv", "--report"]
    for path, words in [
        ("report.txt", ".html"),
        ("missing/report.html", "missing"),
        ("empty.cenote", "input"),
    ]:
        assert words in cenote.error(*run, path), path
    os.mkdir(cenote.folder / "folder.html")
    assert "folder.html" in cenote.error(*run, "folder.html")
    assert not (cenote.folder / "a.csv").exists(), "the path is refused before the run"
    (cenote.folder / "empty.html").write_text("old")
    cenote("run", "wcc", "empty.cenote", "--report", "empty.html")
    assert "<!doctype html>" in (cenote.folder / "empty.html").read_text()
    cenote("run", "wcc", "empty.cenote", "--report", "/dev/null")
    left = {path.name for path in cenote.folder.iterdir()}
    assert left == {"7.txt", "edges.txt", "empty.cenote", "empty.html", "folder.html"}


def test_work_and_replays_are_seen_too(cenote, page):
    cenote("generate", "kron", "--scale", "12", "--seed", "3", "--out", "k.u32")
    work = ["import", "k.u32", "--undirected", "--out", "k.cenote", "--memory", "64MiB"]
    imported = cenote.json(*work, "--report", "import.html")
    assert data(cenote.folder / "import.html")["result"] == imported
    cenote("update", "k.cenote", "--stdin", stdin=b"+ 1 2\n+ 3 999999\n- 1 2\n+ 5 6\n")
    merged = cenote.json("merge", "k.cenote", "--report", "merge.html")
    assert data(cenote.folder / "merge.html")["result"] == merged
    replay = ["--ops", "3000", "--json", "--report"]
    pool = ["pool", "replay", "--workload", "ms,mu", "--device", "sim:p4510", *replay]
    tier = ["tier", "replay", "--workload", "zipf,A", "--policy", "tlru,temp", "--cpu-ops", "1000"]
    for name, words in [("pool", pool), ("tier", [*tier, *replay])]:
        printed = json.loads(cenote(*words, f"{name}.html"))
        assert data(cenote.folder / f"{name}.html")["replay"] == printed
    profile = cenote.json("profile", ".", "--saved", "--report", "profile.html")
    assert data(cenote.folder / "profile.html")["profile"] == profile
    for name in ["import", "merge", "pool", "tier", "profile"]:
        look(page, cenote.folder / f"{name}.html")
    assert cenote.error("merge", "k.cenote", "--report", "k.cenote").count("k.cenote")
    cenote("check", "k.cenote")
