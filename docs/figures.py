"""The figures of the documentation, and the tables of its page on performance, from measured rows.

`python docs/figures.py` makes them again from `experiments/runs`; a test fails if they change.
Colours are variables, so that a figure follows the colours of its page.
"""

from __future__ import annotations

import io
import json
import re
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot
from matplotlib.patches import FancyBboxPatch

DOCS = Path(__file__).resolve().parent
RUNS = DOCS.parent / "experiments/runs"

# Stand-ins for the colours of the page, in what matplotlib writes.
INK, GRID, PAPER = "#010101", "#020202", "#030303"
SERIES = ["#040404", "#050505", "#060606", "#070707"]
KINDS = ["ink", "grid", "paper", "s0", "s1", "s2", "s3"]
ON_WHITE = ["#20303c", "#d5dde2", "#e8f3f5", "#00788c", "#d9730d", "#6b4fa0", "#7a8a94"]
ON_BLACK = ["#d4dde2", "#3d4a54", "#1d3a42", "#35b8cc", "#f2a154", "#b39ddb", "#93a3ad"]
NAMES = dict(zip([INK, GRID, PAPER, *SERIES], KINDS, strict=True))

STYLE = {
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.color": GRID,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "svg.fonttype": "none",
    "svg.hashsalt": "cenote",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def rows(name: str, **wanted: object) -> list[dict]:
    """The rows of a file that have these values."""
    found = [json.loads(line) for line in (RUNS / name).read_text().splitlines()]
    return [row for row in found if all(row.get(key) == value for key, value in wanted.items())]


def median(found: list[dict], key: str) -> float:
    assert found, f"no rows have {key}"
    return statistics.median(row[key] for row in found)


def drawing(height: float = 3.4):
    return pyplot.subplots(figsize=(7, height))


def finished(figure) -> str:
    """The SVG, with variables for colours and the fonts of the page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    pyplot.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for stand_in, name in NAMES.items():
        svg = svg.replace(stand_in, f"var(--plot-{name})")
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", svg)

    def variables(colours: list[str]) -> str:
        pairs = zip(KINDS, colours, strict=True)
        return "svg{" + "".join(f"--plot-{kind}:{colour};" for kind, colour in pairs) + "}"

    style = f"<style>{variables(ON_WHITE)}"
    style += f"@media (prefers-color-scheme:dark){{{variables(ON_BLACK)}}}</style>"
    head, rest = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[\d.]+pt"', "", head)
    return "\n".join(line.rstrip() for line in f"{head}>{style}{rest}".splitlines()) + "\n"


def bars(axes, groups: list[str], series: dict[str, list[float]], form: str) -> None:
    """A group of bars for each name, a bar of each series in it, with its value."""
    width = 0.8 / len(series)
    for at, (label, values) in enumerate(series.items()):
        places = [group + (at - (len(series) - 1) / 2) * width for group in range(len(groups))]
        made = axes.bar(places, values, width * 0.92, label=label, color=SERIES[at])
        axes.bar_label(made, fmt=form, padding=2, fontsize=8)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.12)
    if len(series) > 1:
        axes.legend(ncols=len(series), loc="upper left", bbox_to_anchor=(0, 1.16))


def drive_sizes() -> str:
    """Random reads of one drive by the size of a request: one at a time, and as many as help."""
    profile = rows("2026-11-22-pool.jsonl", part="real-profile")[0]["sizes"]
    figure, axes = drawing()
    groups = [f"{size['bytes'] // 1024} KiB" for size in profile]
    bars(
        axes,
        groups,
        {
            "one at a time": [size["bytes"] / size["read_us_qd1"] for size in profile],
            "many in flight": [size["bytes"] * size["read_iops_max"] / 1e6 for size in profile],
        },
        "{:,.0f}",
    )
    axes.set_xlabel("bytes of a request")
    axes.set_ylabel("MB/s, random reads")
    return finished(figure)


def depth() -> str:
    """Seconds by requests in flight: the CAVE paper's blocks, and a planned pass."""
    figure, axes = drawing()
    names = {"bfs": "BFS, block", "wcc": "components, block", "mis": "one pass, auto"}
    for at, (algorithm, label) in enumerate(names.items()):
        found = rows("2026-11-22-algo.jsonl", part="depth", algorithm=algorithm)
        points = [(row["depth"], row["seconds"]) for row in found]
        axes.plot(*zip(*points, strict=True), marker="o", label=label, color=SERIES[at])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([2**k for k in range(8)], [str(2**k) for k in range(8)])
    axes.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_xlabel("requests in flight")
    axes.set_ylabel("seconds")
    axes.legend(ncols=3, loc="upper left", bbox_to_anchor=(0, 1.16))
    return finished(figure)


def passes() -> str:
    """How often the pages of the graph are read: by the paper's blocks, and by auto."""
    figure, axes = drawing()
    found = rows("2026-11-22-algo.jsonl", part="strategies")
    found += rows("2026-11-22-algo.jsonl", part="walks")
    names = {"bfs": "BFS", "wcc": "components", "walk": "walks", "pagerank": "PageRank, 10"}

    def read(strategy: str) -> list[float]:
        of = [[r for r in found if (r["algorithm"], r["strategy"]) == (n, strategy)] for n in names]
        return [median(part, "passes") for part in of]

    bars(axes, list(names.values()), {"block": read("block"), "auto": read("auto")}, "%.2f")
    axes.set_ylabel("pages read / pages of the graph")
    return finished(figure)


def ace() -> str:
    """Speed-up of ACE over a writer that writes a victim alone, by pages written at once."""
    figure, axes = drawing()
    found = rows("2026-11-22-pool.jsonl", part="fig4.13-n-w-ideal", writer="ace")
    labels = {"lru": "LRU", "cflru": "CFLRU", "s3-fifo": "S3-FIFO"}
    known = {row["policy"] for row in found}
    for at, (policy, label) in enumerate((p, n) for p, n in labels.items() if p in known):
        points = sorted((r["sweep"]["value"], r["speedup"]) for r in found if r["policy"] == policy)
        axes.plot(*zip(*points, strict=True), marker="o", label=label, color=SERIES[at])
    axes.axvline(8, color=SERIES[3], linestyle="--", linewidth=1)
    axes.annotate("k_w = 8", (8.2, 1.05), fontsize=9)
    axes.set_xlabel("n_w: dirty pages written at once")
    axes.set_ylabel("speed-up")
    axes.legend(ncols=3, loc="upper left", bbox_to_anchor=(0, 1.16))
    return finished(figure)


def delta_runs() -> str:
    """Time of runs on a graph with changes in delta runs, over that of the merged graph."""
    figure, axes = drawing()
    names = {"pagerank": "PageRank", "wcc": "components", "bfs": "BFS"}
    graphs = {(1, 1): "1%, one run", (5, 1): "5%, one run", (10, 1): "10%, one run",
              (10, 7): "10%, seven runs", (10, 14): "10%, 14 runs"}
    found = rows("2026-11-30-delta-runs-asked.jsonl", part="delta runs", build="after")
    series = {}
    for algorithm, label in names.items():

        def time(graph: str, share: int, runs: int, algorithm: str = algorithm) -> float:
            of = {"algorithm": algorithm, "graph": graph, "share": share, "runs": runs}
            return median([row for row in found if of.items() <= row.items()], "seconds")

        series[label] = [time("runs", *of) / time("merged", *of) for of in graphs]
    bars(axes, list(graphs.values()), series, "%.2f")
    axes.axhline(1, color=SERIES[3], linestyle="--", linewidth=1)
    axes.set_xlabel("edges of the graph that are in delta runs")
    axes.set_ylabel("time / time when merged")
    return finished(figure)


def tiers() -> str:
    """Time of two loads over three tiers, by policy, relative to `payback`."""
    figure, axes = drawing()
    policies = ["tlru", "tlfu", "temp", "restore", "payback"]
    loads = {"5hf90": "hot pages stay (5hf90)", "D": "hot pages change (D)"}
    series = {}
    for load, label in loads.items():
        found = rows("2026-11-22-tier.jsonl", part="figures", workload=load, capacity="3%,8%")

        def time(policy: str, found: list[dict] = found) -> float:
            of = [row for row in found if row["policy"] == policy and not is_variant(row)]
            return statistics.median(second for row in of for second in row["runtime_s"])

        series[label] = [time(policy) / time("payback") for policy in policies]
    bars(axes, policies, series, "%.2f")
    axes.axhline(1, color=SERIES[3], linestyle="--", linewidth=1)
    axes.set_ylabel("time / time of payback")
    return finished(figure)


def is_variant(row: dict) -> bool:
    """Whether a row is of other settings than the usual ones."""
    return row["arguments"] != "--cpu-ops 0"


def chain() -> str:
    """The parts of the system between a drive and an answer."""
    figure, axes = drawing(2.1)
    axes.set_axis_off()
    axes.set_xlim(0, 7)
    axes.set_ylim(0, 2)
    upper = ["drive", "profile", "plan", "fetcher", "algorithm", "answer"]
    lower = ["tiers", "store", "pool"]
    for at, name in enumerate(upper):
        box(axes, 0.6 + at * 1.16, 1.5, name)
        if at:
            arrow(axes, (0.6 + at * 1.16 - 0.67, 1.5), (0.6 + at * 1.16 - 0.49, 1.5))
    for name, x in zip(lower, [1.18, 2.34, 3.5], strict=True):
        box(axes, x, 0.45, name)
    arrow(axes, (0.75, 1.27), (1.1, 0.68))
    arrow(axes, (1.67, 0.45), (1.85, 0.45))
    arrow(axes, (2.83, 0.45), (3.01, 0.45))
    arrow(axes, (3.62, 0.68), (3.98, 1.27))
    return finished(figure)


def box(axes, x: float, y: float, name: str) -> None:
    shape = FancyBboxPatch(
        (x - 0.44, y - 0.19), 0.88, 0.38, boxstyle="round,pad=0.04", facecolor=PAPER,
        edgecolor=SERIES[0], linewidth=1,
    )  # fmt: skip
    axes.add_patch(shape)
    axes.text(x, y, name, ha="center", va="center", fontsize=10)


def arrow(axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": INK, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def strategies_table() -> str:
    """Kron 24 within 235 MiB: what is quoted first."""
    found = rows("2026-11-22-algo.jsonl", part="strategies")
    found += rows("2026-11-22-algo.jsonl", part="walks")
    found = [row for row in found if "--depth" not in row["command"]]
    names = {
        "bfs": ("BFS", "block"),
        "wcc": ("components", "block"),
        "pagerank": ("PageRank, 10 iterations", "block"),
        "walk": ("a million walks of 10 steps", "block"),
        "dfs": ("pseudo-DFS", "vertex"),
    }
    lines = [
        "| | time | read | requests | peak memory | CAVE's strategy | times as long |",
        "|---|---:|---:|---:|---:|---|---:|",
    ]
    for algorithm, (label, rival) in names.items():
        own = [r for r in found if (r["algorithm"], r["strategy"]) == (algorithm, "auto")]
        theirs = [r for r in found if (r["algorithm"], r["strategy"]) == (algorithm, rival)]
        ratio = median(theirs, "seconds") / median(own, "seconds")
        lines.append(
            f"| {label} | {median(own, 'seconds'):.2f} s | {median(own, 'passes'):.2f} x "
            f"| {median(own, 'read_requests'):,.0f} "
            f"| {median(own, 'peak_rss_bytes') / 2**20:.0f} MiB "
            f"| `{rival}` {median(theirs, 'seconds'):.1f} s | {ratio:.1f} |"
        )
    return "\n".join(lines)


def memory_table() -> str:
    """Kron 20 within 47 MiB, against libraries that have the graph in memory."""
    names = {
        "bfs": "BFS",
        "wcc": "components",
        "pagerank": "PageRank",
        "sssp": "shortest paths, without weights",
        "kcore": "core numbers",
        "lcc": "clustering coefficients",
        "betweenness": "betweenness, 4 sources",
    }
    lines = ["| | Cenote | NetworKit | igraph |", "|---|---:|---:|---:|"]
    for algorithm, label in names.items():
        own, cells = [], []
        for rival in ("networkit", "igraph"):
            files = ["2026-11-23-cores.jsonl", "2026-11-22-algo.jsonl"]
            of_files = [rows(file, part=rival) for file in files]
            # What has changed since was measured again, ours and theirs.
            of_files = [[row for row in of if row["algorithm"] == algorithm] for of in of_files]
            is_newer = any("rival" in row for row in of_files[0])
            part = of_files[0 if is_newer else 1]
            theirs = [row for row in part if "rival" in row]
            own += [row for row in part if "rival" not in row]
            cells.append(f"{median(theirs, 'seconds'):.2f} s" if theirs else "")
        lines.append(f"| {label} | {median(own, 'seconds'):.2f} s | {' | '.join(cells)} |")
    return "\n".join(lines)


def stores_table() -> str:
    """Insertions beside two key-value stores: the newest rows of each size of batch."""
    engines = ["cenote", "fjall", "redb"]
    newest, earlier = "2026-11-29-kv-stores.jsonl", "2026-11-23-kv-runs.jsonl"
    part_of_it = "2026-11-26-kv-ingest-3.jsonl"
    cases = [(newest, 4_000_000), (newest, 2_400_000), (part_of_it, 2_000_000), (earlier, 100_000)]
    lines = ["| | Cenote | fjall | redb |", "|---|---:|---:|---:|"]
    for file, batch in cases:
        part = rows(file, bench="ingest", batch=batch)
        of = {name: [row for row in part if row["engine"] == name] for name in engines}

        def cells(key: str, form: str, of: dict[str, list[dict]] = of) -> str:
            found = [of[name] for name in engines]
            return " | ".join(format(median(its, key), form) if its else "" for its in found)

        edges, scale = part[0]["edges"] / 1e6, part[0]["scale"]
        label = f"kron {scale}, {edges:.3g} million edges by {batch:,}"
        lines.append(f"| {label}: edges a second | {cells('edges_per_second', ',.0f')} |")
        written = cells("written_per_edge_settled", ".1f")
        lines.append(f"| the same: bytes written for an edge | {written} |")
    return "\n".join(lines)


GAP_KERNELS = {
    "bfs": "BFS",
    "wcc": "components",
    "pagerank": "PageRank, 10 iterations",
    "sssp": "shortest paths",
    "betweenness": "betweenness, 1 source",
    "triangles": "triangles",
    "kcore": "core numbers",
    "scc": "strong components",
}
GAP_RIVALS = {
    "gap": "GAP suite",
    "acgraph": "ACGraph",
    "graph": "crate graph",
    "networkit": "NetworKit",
    "igraph": "igraph",
    "rustworkx": "rustworkx",
    "scipy": "SciPy",
}


def gap_cases() -> dict[tuple[str, str], dict[str, list[dict]]]:
    """Rows of `gap_bench.py`: by graph and kernel, those of each contender.

    Those of a case come from the newest file that has it, so its contenders ran side by side.
    """
    files = [rows(file.name, part="gap") for file in sorted(RUNS.glob("*-gap.jsonl"))]
    newest = {(row["graph"], row["kernel"]): at for at, found in enumerate(files) for row in found}
    cases: dict[tuple[str, str], dict[str, list[dict]]] = {}
    for at, found in enumerate(files):
        for row in found:
            case = row["graph"], row["kernel"]
            if newest[case] == at:
                cases.setdefault(case, {}).setdefault(row["contender"], []).append(row)
    kernels = list(GAP_KERNELS)
    graphs = list(dict.fromkeys(graph for graph, _ in cases))
    order = sorted(cases, key=lambda case: (graphs.index(case[0]), kernels.index(case[1])))
    return {case: cases[case] for case in order}


def gap_seconds(found: list[dict]) -> float:
    """The median; infinite where a call was ended at the limit."""
    return statistics.median(row.get("seconds", float("inf")) for row in found)


def gap_best(of: dict[str, list[dict]]) -> tuple[float, str]:
    """The fastest rival of a case; infinite seconds where none did it."""
    rivals = [(gap_seconds(of[name]), label) for name, label in GAP_RIVALS.items() if name in of]
    return min(rivals, default=(float("inf"), ""))


GAP_NONE = "Not measured yet: `make gap-bench` writes the rows."


def gap_table() -> str:
    """Kernels and graphs by memory, beside what has the graph in memory."""
    cases = gap_cases()
    if not cases:
        return GAP_NONE
    names = dict.fromkeys(name for of in cases.values() for name in of)
    shares = [name for name in names if name.startswith("cenote")]
    shares.sort(key=lambda name: float(name.removeprefix("cenote ").removesuffix("%")))
    rivals = [name for name in GAP_RIVALS if name in names]
    head = [name.replace("cenote ", "Cenote ") for name in shares]
    head += [GAP_RIVALS[name] for name in rivals] + ["10% / fastest rival"]
    lines = [f"| graph | | {' | '.join(head)} |", "|---|---|" + "---:|" * len(head)]
    for (graph, kernel), of in cases.items():
        cells = [gap_cell(of.get(name, [])) for name in shares + rivals]
        own, best = gap_seconds(of.get("cenote 10%", [{}])), gap_best(of)[0]
        is_known = max(own, best) < float("inf")
        cells.append(f"{own / best:.2f}" if is_known else "")
        lines.append(f"| {graph} | {GAP_KERNELS[kernel]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gap_cell(found: list[dict]) -> str:
    """Seconds, and for ours passes over the graph."""
    if not found:
        return ""
    seconds = gap_seconds(found)
    if seconds == float("inf"):
        return f"over {max(row.get('ended', 0) for row in found):.0f} s"
    shown = f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.2f} s"
    return shown + (f", {median(found, 'passes'):.1f} x" if "passes" in found[-1] else "")


def gap_losses_table() -> str:
    """Where a rival is faster than we are with a tenth of the pages, the worst first."""
    cases = gap_cases()
    if not cases:
        return GAP_NONE
    lost = []
    for (graph, kernel), of in cases.items():
        own, (best, rival) = gap_seconds(of.get("cenote 10%", [{}])), gap_best(of)
        if own > best:
            lost.append((own / best, graph, kernel, rival, of.get("cenote 100%", [{}])))
    lines = ["| graph | | fastest | times as long at 10% | at 100% |", "|---|---|---|---:|---:|"]
    for ratio, graph, kernel, rival, all_memory in sorted(lost, key=lambda row: -row[0]):
        best = gap_best(cases[graph, kernel])[0]
        cells = [f"{ratio:.2f}" if ratio < float("inf") else "not done"]
        cells.append(f"{gap_seconds(all_memory) / best:.2f}".replace("inf", "not done"))
        lines.append(f"| {graph} | {GAP_KERNELS[kernel]} | {rival} | {' | '.join(cells)} |")
    return "\n".join(lines) if lost else "None of the kernels and graphs that were measured."


FIGURES = {
    "chain": chain,
    "drive-sizes": drive_sizes,
    "depth": depth,
    "passes": passes,
    "ace": ace,
    "delta-runs": delta_runs,
    "tiers": tiers,
}
TABLES = {
    "strategies": strategies_table,
    "memory": memory_table,
    "stores": stores_table,
    "gap": gap_table,
    "gap-losses": gap_losses_table,
}


def named_clips(name: str, svg: str) -> str:
    """The SVG with names of its clips that are its own on a page, and the same on any machine:
    Matplotlib's are hashes of coordinates, whose last digits depend on the processor."""
    clips = dict.fromkeys(re.findall(r'<clipPath id="(\w+)"', svg))
    for number, clip in enumerate(clips):
        svg = svg.replace(clip, f"{name}-clip-{number}")
    return svg


def made() -> dict[Path, str]:
    """Every file that comes from rows, with its text."""
    with matplotlib.rc_context(STYLE):
        figures = {name: named_clips(name, draw()) for name, draw in FIGURES.items()}
    files = {DOCS / "figures" / f"{name}.svg": svg for name, svg in figures.items()}
    page = DOCS / "performance.md"
    text = page.read_text()
    for name, table in TABLES.items():
        marks = rf"(?<=<!-- rows: {name} -->\n)[^<]*(?=<!-- end -->)"
        # A unit stays with its number when a cell is narrow.
        shown = re.sub(r"(?<=\d) (?=s\b|MiB|x\b)", "\u00a0", table())
        text, times = re.subn(marks, shown + "\n", text)
        assert times == 1, f"{page}: no place for the table {name}"
    files[page] = text
    return files


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text)
