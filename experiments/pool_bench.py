"""The figures of the buffer pool: `make pool-bench`. Raw rows: experiments/runs/DATE-pool.jsonl.

    pool_bench.py [--repeats 3] [--dir DIR] [--only ideal,extra,sweeps,real,misses,hits,vertex]

`ideal`, `extra` and `sweeps` are simulations in virtual time at the paper's full scale and always
give the same numbers. `real` measures the drive under DIR: its profile first, in the same run, then
every writer in turn. `hits` compares with other caches and builds them (experiments/rivals).
`vertex` compares with an earlier build of the command (--old PATH).
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from bench import CENOTE, ROOT, Bench, budget, figure

PARTS = ["ideal", "extra", "sweeps", "real", "misses", "hits", "vertex"]
WORKLOADS = ["ms", "wis", "ris", "mu"]
POLICIES = ["clock", "lru", "cflru", "lru-wsr", "s3-fifo", "sieve"]
PAPER_POLICIES = POLICIES[:4]
PUBLISHED_COST = {2: 0.720, 4: 0.463, 8: 0.274}
PLOTS = ROOT / "experiments/plots"


def replay(bench, part, *arguments, **row):
    """The rows of one replay."""
    command = [CENOTE, "pool", "replay", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    rows = json.loads(done.stdout)["rows"]
    for found in rows:
        bench.record(part, command=" ".join(command[1:]), **(row | found))
    return rows


def part_ideal(bench):
    """Figure 1: the cost of ACE-LRU on ideal devices of alpha = k (ACE article, Fig. 8h)."""
    for k, published in PUBLISHED_COST.items():
        rows = replay(
            bench, "ideal", "--workload", "ms", "--policy", "lru", "--writer", "classical,ace",
            "--device", "sim:ideal", "--alpha", k, "--k", k, *bench.small,
        )
        classical, ace = (next(r for r in rows if r["writer"] == w) for w in ["classical", "ace"])
        ratio = ace["seconds"] / classical["seconds"]
        off = 100 * (ratio / published - 1)
        print(f"ACE-LRU, alpha = k = {k}: cost {ratio:.4f}, published {published} ({off:+.1f}%), "
              f"misses {'the same' if ace['misses'] == classical['misses'] else 'DIFFER'}")


def part_extra(bench):
    """Figure 1: misses and extra writes of every policy and workload."""
    rows = replay(
        bench, "extra", "--workload", ",".join(WORKLOADS), "--policy", "all",
        "--writer", "classical,ace", "--device", "sim:p4510-ideal", *bench.small,
    )
    base = {(r["workload"], r["policy"]): r for r in rows if r["writer"] == "classical"}
    print("extra writes and misses of ACE, k_w = 8:")
    for row in rows:
        if row["writer"] == "ace":
            classical = base[row["workload"], row["policy"]]
            misses = 100 * (row["misses"] / classical["misses"] - 1)
            extra, speedup, pio = (row[k] for k in ["extra_writes", "speedup", "pio_speedup"])
            print(f"  {row['workload']:4} {row['policy']:8} writes {100 * extra:+.3f}%"
                  f"  misses {misses:+.4f}%  speedup {speedup:.2f} (PIO {pio:.2f})")


SWEEPS = [
    # Name of the plot (dissertation, chapter 4), and what is varied.
    ("fig4.10-virtual", ["--workload", "ms,wis,ris,mu", "--device", "sim:aws-io-60k"]),
    ("fig4.10-sata", ["--workload", "ms,wis,ris,mu", "--device", "sim:sata-s4610"]),
    ("fig4.11-read-share", ["--workload", "ms", "--device", "sim:p4510",
                            "--sweep", "read-share=0,10,20,30,40,50,60,70,80,90,100"]),
    ("fig4.12-pool", ["--workload", "ms", "--device", "sim:p4510",
                      "--sweep", "pool=2%,4%,6%,8%,10%,12%"]),
    ("fig4.13-n-w-curve", ["--workload", "ms", "--sweep", "n-w=1,2,4,6,8,10,12,16,24,32",
                           "--device", "sim:p4510"]),
    ("fig4.13-n-w-ideal", ["--workload", "ms", "--sweep", "n-w=1,2,4,6,8,9,10,12,14,16,20,24",
                           "--device", "sim:p4510-ideal"]),
    ("fig4.14b-optane", ["--workload", "ms", "--sweep", "read-share=0,25,50,75,100",
                         "--device", "sim:optane-p4800x"]),
    ("fig4.14b-p4510", ["--workload", "ms", "--sweep", "read-share=0,25,50,75,100",
                        "--device", "sim:p4510"]),
]


def part_sweeps(bench):
    """Figure 2: the trends of Figures 4.10 to 4.14, as plots and rows."""
    PLOTS.mkdir(exist_ok=True)
    ops = bench.small or ["--ops", 1_000_000]
    for name, arguments in SWEEPS:
        plot = [] if bench.small else ["--plot", PLOTS / f"{name}.svg"]
        rows = replay(bench, name, *arguments, "--writer", "classical,ace", *ops, *plot)
        show_sweep(name, [r for r in rows if r["writer"] == "ace"])
    # The continuum of Figure 4.14A: alpha and n_w on a device of k_w = 8.
    print("fig4.14a: speedup of ACE-LRU, k_w = 8; columns n_w = 1 2 4 6 8 9 12 16")
    for alpha in [1, 2, 4, 8]:
        line = []
        rows = replay(
            bench, "fig4.14a", "--workload", "ms", "--policy", "lru", "--writer", "classical,ace",
            "--device", "sim:ideal", "--alpha", alpha, "--k", 8,
            "--sweep", "n-w=1,2,4,6,8,9,12,16", *ops,
        )
        line = [f"{r['speedup']:.2f}" for r in rows if r["writer"] == "ace"]
        print(f"  alpha {alpha}: {'  '.join(line)}")


def show_sweep(name, rows):
    print(f"{name}: speedup of ACE")
    for key in dict.fromkeys((r["workload"], r["policy"]) for r in rows):
        line = [
            f"{r['sweep']['value'] if r['sweep'] else 'all'}: {r['speedup']:.2f}"
            for r in rows if (r["workload"], r["policy"]) == key
        ]
        print(f"  {key[0]:4} {key[1]:8} {'  '.join(line)}")


def part_real(bench):
    """Figure 3: this drive, direct I/O, a pool of 6% of the file."""
    file = big_file(bench)
    shares, against_cleaner, against_background = {}, [], []
    for i in range(bench.options.repeats):
        if not bench.small:
            profile = [CENOTE, "profile", bench.options.dir, "--quick", "--json"]
            done = subprocess.run(profile, capture_output=True, text=True, check=True)
            bench.record("real-profile", repeat=i, sizes=json.loads(done.stdout)["sizes"])
        for workload in WORKLOADS:
            rows = replay(
                bench, "real", "--workload", workload, "--policy", ",".join(PAPER_POLICIES),
                "--writer", "all", "--device", file, "--overwrite",
                *(["--ops", 200] if bench.small else ["--warm-up", 150_000, "--ops", 260_000]),
                repeat=i,
            )
            for policy in PAPER_POLICIES:
                by = {r["writer"]: r for r in rows if r["policy"] == policy}
                ace = by["ace"]
                share = ace["speedup"] / ace["curve_speedup"]
                shares.setdefault((workload, policy), []).append(share)
                against_cleaner.append(by["cleaner"]["seconds"] / ace["seconds"])
                against_background.append(by["cleaner"]["seconds"] / by["ace-bg"]["seconds"])
                print(f"  {workload:4} {policy:8} seconds " + "  ".join(
                    f"{w} {r['seconds']:.2f}" for w, r in by.items()
                ) + f"  speedup {ace['speedup']:.2f}, curves {ace['curve_speedup']:.2f}, "
                    f"PIO {ace['pio_speedup']:.2f}; background {by['ace-bg']['speedup']:.2f}, "
                    f"cleaner {by['cleaner']['speedup']:.2f}")
    for (workload, policy), found in shares.items():
        figure(f"{workload} {policy}: speedup / what the curves predict", found, "x", "0.85")
    figure("fixed-batch cleaner / ACE, seconds", against_cleaner, "x", "1")
    figure("fixed-batch cleaner / ACE in the background, seconds", against_background, "x", "1")


def big_file(bench):
    """A file of 4 GiB, really allocated."""
    file = Path(bench.path("pool.data"))
    size = (64 << 20) if bench.small else (4 << 30)
    if not file.exists() or file.stat().st_size < size:
        with open(file, "wb") as out:
            block = bytes(range(256)) * 4096
            for _ in range(size // len(block)):
                out.write(block)
            out.flush()
    return file


def part_misses(bench):
    """Figure 4: the miss path against fio at the same depth."""
    if not shutil.which("fio"):
        print("fio is not installed: `apt-get install fio`; its comparison is left out")
        return
    file, depth = big_file(bench), 32
    seconds = 0.2 if bench.small else 3
    example = ["cargo", "run", "--release", "--quiet", "-p", "cenote-pool",
               "--example", "miss_path", "--"]
    ours, theirs = {1: [], 2: []}, {1: [], 2: []}
    for i in range(bench.options.repeats):
        for threads in [1, 2]:
            command = [*example, str(file), str(depth), str(threads), str(seconds)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout)
            bench.record("misses", repeat=i, **row)
            ours[threads].append(row["iops"] / 1e3)
            rival = fio_iops(file, depth, threads, seconds)
            bench.record("misses", rival="fio", repeat=i, threads=threads, iops=rival)
            theirs[threads].append(rival / 1e3)
    for threads in [1, 2]:
        figure(f"misses, {threads} threads, depth {depth}", ours[threads], "thousand/s")
        figure(f"fio, {threads} jobs, depth {depth} together", theirs[threads], "thousand/s")
        ratios = [a / b for a, b in zip(ours[threads], theirs[threads])]
        figure(f"ours / fio, {threads} threads", ratios, "x", "0.9")


def fio_iops(file, depth, jobs, seconds):
    command = [
        "fio", "--name=r", f"--filename={file}", "--readonly", "--rw=randread", "--bs=4k",
        f"--iodepth={depth // jobs}", f"--numjobs={jobs}", "--ioengine=io_uring", "--direct=1",
        "--time_based", f"--runtime={max(seconds, 1)}", "--group_reporting", "--fixedbufs=1",
        "--registerfiles=1", "--norandommap", "--output-format=json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["jobs"][0]["read"]["iops"]


def part_hits(bench):
    """Figure 4: the hit path against other caches, in turn."""
    rounds = str(max(bench.options.repeats, 5))
    command = ["cargo", "run", "--release", "--quiet", "--", "--rounds", rounds]
    done = subprocess.run(command, cwd=ROOT / "experiments/rivals", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    rates = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        bench.record("hits", **row)
        rates.setdefault(row["what"], []).append(row["gets_per_second"] / 1e6)
    for what, found in rates.items():
        figure(f"hits, 2 threads: {what}", found, "million/s")
    ours = statistics.median(rates["cenote clock"])
    for rival, goal in [("quick_cache page", "1"), ("quick_cache u64", "1"), ("foyer page", "5")]:
        print(f"    clock / {rival}: {ours / statistics.median(rates[rival]):.2f} (goal: {goal})")


VERTEX_RUNS = [("bfs", "vertex"), ("bfs", "block"), ("wcc", "block"), ("bfs", "auto")]


def part_vertex(bench):
    """Figure 5: the strategies of single pages against an earlier build, in turn."""
    if not bench.options.old:
        print("no --old build to compare with: the comparison of `vertex` is left out")
        return
    pairs, graph = bench.path("vertex.u32"), bench.path("vertex.cenote")
    if not Path(graph).exists():
        scale = 12 if bench.small else 22
        bench.cenote("generate", "generate", "kron", "--scale", scale, "--seed", 1, "--out", pairs)
        bench.cenote("prepare", "import", pairs, "--undirected", "--out", graph)
    memory = budget(bench.cenote("info", "info", graph))
    times = {}
    for i in range(bench.options.repeats):
        for algorithm, strategy in VERTEX_RUNS:
            for build, binary in [("old", bench.options.old), ("new", CENOTE)]:
                command = [binary, "run", algorithm, graph, "--memory", str(memory),
                           "--strategy", strategy, "--json"]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                row = json.loads(done.stdout)
                bench.record("vertex", build=build, repeat=i, **row)
                times.setdefault((algorithm, strategy, build), []).append(row["seconds"])
    for (algorithm, strategy, build), seconds in times.items():
        figure(f"{algorithm}, {strategy}, {build} build", seconds, "s")
        if build == "new":
            old = times[algorithm, strategy, "old"]
            ratios = [n / o for n, o in zip(seconds, old)]
            figure(f"{algorithm}, {strategy}: new / old", ratios, "x", "1")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dir", default=str(ROOT / "target/bench"))
    parser.add_argument("--rows")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--old", help="an earlier build of the command")
    parser.add_argument("--tiny", action="store_true", help="a test of the script, not of the pool")
    parser.set_defaults(scale=None)
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only knows {', '.join(PARTS)}; not {', '.join(sorted(unknown))}")
    bench = Bench(options, suffix="-pool")
    bench.small = ["--ops", 2_000] if options.tiny else []
    for part in options.only.split(","):
        globals()[f"part_{part}"](bench)


if __name__ == "__main__":
    main()
