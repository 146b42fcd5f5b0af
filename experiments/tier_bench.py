"""The figures of the tiers: `tier_bench.py`. Raw rows: experiments/runs/DATE-tier.jsonl.

    tier_bench.py [--seeds 10] [--first-seed 101] [--only figures,claims,shares,scale,cpu]
    tier_bench.py --policies payback ...           rows of some policies, and no figures
    tier_bench.py --kept ROWS [--only figures]     the figures of rows that were kept

All but `cpu` are simulations in virtual time and always give the same numbers. `figures` compares
policies on every load, with clients that wait for their answers; `claims`, `shares` and `scale`
repeat the figures of the ReStore dissertation in the open loop of its emulator. A row holds one
policy on one load and one choice of capacities, with a number for each seed.
"""

import argparse
import json
import statistics
import subprocess
import sys

from bench import CENOTE, ROOT, Bench

PARTS = ["figures", "claims", "shares", "scale", "cpu"]
STATIC = ["5hf90", "10hf90", "10hf80"]
DYNAMIC = ["A", "B", "C", "D", "hot-shift"]
LOADS = STATIC + DYNAMIC + ["uniform", "zipf"]
RULES = ["tlru", "tlfu", "lrfu", "exd", "temp"]
OURS = ["cost-benefit", "payback"]
# The text's nine pairs (6.6.1).
PAIRS = ["1/4", "1/8", "1/16", "3/4", "3/8", "3/16", "6/8", "6/16", "12/16"]
CAPACITIES = [f"{pair.replace('/', '%,')}%" for pair in PAIRS]
VARIANTS = [
    "restore:code", "restore:tier-reward", "restore:model-reward", "restore:additive",
    "restore:s1-weighted", "restore:code-diff", "restore:guard", "restore:rate=0.0001",
]
KEPT = ["runtime_s", "response_us_mean", "response_us_p99", "migrations", "cpu_us_per_access",
        "bytes_per_page", "migration_io_share"]


def replay(bench, part, loads, policies, capacities, *arguments, seeds=None):
    """The rows of a replay with every seed, as {(load, capacity, policy): {field: [by seed]}}."""
    if bench.kept:
        return kept_rows(bench, part, loads, " ".join(map(str, arguments)))
    found, pairs = {}, {}
    policies = [policy for policy in policies if bench.runs(policy)]
    if not policies:
        return found
    first = bench.options.first_seed
    for seed in range(first, first + (seeds or bench.options.seeds)):
        command = [CENOTE, "tier", "replay", "--workload", ",".join(loads), "--json",
                   "--policy", ",".join(policies), "--seed", str(seed), *map(str, arguments)]
        command += [word for capacity in capacities for word in ["--capacity", capacity]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        for row in json.loads(done.stdout)["rows"]:
            key = row["workload"], row["capacity"], row["policy"]
            kept = found.setdefault(key, {field: [] for field in KEPT})
            for field in KEPT:
                kept[field].append(round(row[field], 4))
            by_tier = {f"{p['from']}->{p['to']}": p["pages"] for p in row["migration_pairs"]}
            pairs.setdefault(key, []).append(by_tier)
    for (workload, capacity, policy), kept in found.items():
        bench.record(part, workload=workload, capacity=capacity, policy=policy, first_seed=first,
                     arguments=" ".join(map(str, arguments)),
                     pairs=pairs[workload, capacity, policy], **kept)
    return found


def kept_rows(bench, part, loads, arguments):
    """The same of rows kept earlier, the seeds of several runs put together in their order."""
    seeds = {}
    for row in bench.kept:
        if (row["part"], row["arguments"]) == (part, arguments) and row["workload"] in loads:
            by_seed = seeds.setdefault((row["workload"], row["capacity"], row["policy"]), {})
            for number in range(len(row["runtime_s"])):
                values = {field: row[field][number] for field in KEPT}
                by_seed[row["first_seed"] + number] = values
    return {
        key: {field: [by_seed[seed][field] for seed in sorted(by_seed)] for field in KEPT}
        for key, by_seed in seeds.items()
    }


def median(rows, load, capacity, policy, field="runtime_s"):
    return statistics.median(rows[load, capacity, policy][field])


def over(rows, load, policy, field="runtime_s", capacities=CAPACITIES):
    """The geometric mean over capacities of the medians over seeds."""
    values = [median(rows, load, capacity, policy, field) for capacity in capacities]
    return statistics.geometric_mean([max(value, 1e-9) for value in values])


def spread(ratios):
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def by_seed(rows, load, policy, other, capacities):
    """Ratios of runtimes to another policy's, each seed and each choice of capacities."""
    return [
        a / b
        for capacity in capacities
        for a, b in zip(rows[load, capacity, policy]["runtime_s"],
                        rows[load, capacity, other]["runtime_s"])
    ]


def part_figures(bench):
    """Figures 2 and 4: our policies against ideal and against all rules, on every load."""
    policies = ["static", "ideal", *RULES, "lrfu:code", "exd:code", "restore", *OURS]
    loads, capacities = bench.loads(LOADS), bench.capacities
    rows = {}
    for load in loads:
        rows |= replay(bench, "figures", [load], policies, capacities, *bench.small,
                       "--cpu-ops", 0)
    if bench.options.policies:
        return
    rivals = [*RULES, "lrfu:code", "exd:code"]
    print("runtime by load, geometric mean over capacities of the medians over seeds, in seconds:")
    print(f"  {'':10}" + "".join(f"{policy:>13}" for policy in policies))
    for load in loads:
        values = [over(rows, load, policy, capacities=capacities) for policy in policies]
        print(f"  {load:10}" + "".join(f"{value:13.2f}" for value in values))
    for ours in OURS + ["restore"]:
        print(f"{ours}:")
        for load in loads:
            times = {rival: over(rows, load, rival, capacities=capacities) for rival in rivals}
            best = min(times, key=times.get)
            worst = max(
                (median(rows, load, capacity, ours) / median(rows, load, capacity, rival),
                 rival, capacity)
                for capacity in capacities for rival in rivals
            )
            ratio = over(rows, load, ours, capacities=capacities) / times[best]
            line = f"  {load:10} / best ({best}) {ratio:.3f}"
            line += f", at worst {worst[0]:.3f} ({worst[1]}, {worst[2]})"
            if load in STATIC:
                line += f"; / ideal {spread(by_seed(rows, load, ours, 'ideal', capacities))}"
                moved = sum(median(rows, load, c, ours, "migrations") for c in capacities)
                temp = sum(median(rows, load, c, "temp", "migrations") for c in capacities)
                line += f"; migrations / TEMP's {moved / max(temp, 1):.3f}"
            if load == "uniform":
                most = max(max(rows[load, c, ours]["migrations"]) for c in capacities)
                line += f"; at most {most} accesses migrate"
            print(line)


def part_claims(bench):
    """Figure 1: what Figures 6.8 to 6.10 of the text say, in its emulator's open loop."""
    policies = ["ideal", *RULES, "lrfu:code", "exd:code", "restore", *VARIANTS, *OURS]
    loads, capacities = bench.loads(STATIC + DYNAMIC[:4]), bench.claims
    rows = replay(bench, "claims", loads, policies, capacities, *bench.small, "--open", 4,
                  "--cpu-ops", 0)
    if bench.options.policies:
        return
    for load in loads:
        for capacity in capacities:
            print(f"{load} {capacity}: runtime in seconds, (times ideal), pages moved up")
            ideal = median(rows, load, capacity, "ideal")
            for policy in policies:
                time = median(rows, load, capacity, policy)
                moved = median(rows, load, capacity, policy, "migrations")
                print(f"  {policy:22} {time:8.1f} ({time / ideal:6.2f}) {moved:10.0f}")


def part_shares(bench):
    """Figure 6.11: shares of reads, with asymmetry and without."""
    policies = ["ideal", *RULES, "restore", "payback"]
    for name, tiers in [("alpha 1.5, 2, 4", "30us:1.5:8,200us:2:4,500us:4:2"),
                        ("alpha 1", "30us:1:8,200us:1:4,500us:1:2")]:
        print(f"5hf90 3%,8%, {name}: runtime by share of reads")
        lines = {policy: [] for policy in policies}
        for share in [1, 25, 50, 75, 99]:
            rows = replay(bench, "shares", ["5hf90"], policies, ["3%,8%"], *bench.small,
                          "--open", 4, "--cpu-ops", 0, "--tiers", tiers,
                          "--read-share", f"{share}%", seeds=min(bench.options.seeds, 3))
            for policy in filter(bench.runs, policies):
                lines[policy].append(median(rows, "5hf90", "3%,8%", policy))
        for policy, line in lines.items():
            print(f"  {policy:12}" + "".join(f"{value:9.1f}" for value in line))


def part_scale(bench):
    """Figure 6.12: more pages and more accesses."""
    policies = ["ideal", *RULES, "restore", *OURS]
    print("5hf90 3%,8%: runtime / ideal by pages and accesses")
    lines = {policy: [] for policy in policies}
    for pages, ops in bench.scales:
        rows = replay(bench, "scale", ["5hf90"], policies, ["3%,8%"], "--pages", pages,
                      "--ops", ops, "--open", 4, "--cpu-ops", 0, seeds=1)
        if bench.options.policies:
            continue
        ideal = median(rows, "5hf90", "3%,8%", "ideal")
        for policy in policies:
            lines[policy].append(median(rows, "5hf90", "3%,8%", policy) / ideal)
    for policy, line in lines.items():
        print(f"  {policy:12}" + "".join(f"{value:8.2f}" for value in line))


def part_cpu(bench):
    """Figure 3: processor time and memory of each decision."""
    pages, ops = (1_000, 5_000) if bench.small else (10_000_000, 20_000_000)
    policies = ["static", "ideal", *RULES, "restore", *OURS]
    rows = replay(bench, "cpu", ["5hf90"], policies, ["3%,8%"], "--pages", pages, "--ops", ops,
                  "--cpu-ops", ops, seeds=1)
    print(f"{pages} pages: processor time of one access, us, and bytes of a page")
    for policy in filter(bench.runs, policies):
        us = median(rows, "5hf90", "3%,8%", policy, "cpu_us_per_access")
        print(f"  {policy:12} {us:7.3f}"
              f" {median(rows, '5hf90', '3%,8%', policy, 'bytes_per_page'):7.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=101)
    parser.add_argument("--dir", default=str(ROOT / "target/bench"))
    parser.add_argument("--rows")
    parser.add_argument("--kept", help="rows to print the figures of, instead of running anything")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--loads", help="some of the loads")
    parser.add_argument("--policies", help="some of the policies: rows only, nothing is compared")
    parser.add_argument("--tiny", action="store_true", help="a test of the script, not of tiers")
    parser.set_defaults(scale=None)
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only knows {', '.join(PARTS)}; not {', '.join(sorted(unknown))}")
    kept = []
    if options.kept:
        with open(options.kept) as lines:
            kept = [json.loads(line) for line in lines]
    bench = Bench(options, suffix="-tier")
    bench.kept = kept
    bench.small = ["--pages", 500, "--ops", 3_000] if options.tiny else []
    bench.capacities = CAPACITIES[:2] if options.tiny else CAPACITIES
    bench.claims = ["3%,8%"] if options.tiny else ["1%,4%", "3%,8%"]
    bench.scales = [(500, 3_000)] if options.tiny else [
        (10_000, 1_000_000), (100_000, 3_000_000), (1_000_000, 10_000_000)
    ]
    wanted = options.loads.split(",") if options.loads else None
    bench.loads = lambda all_loads: [load for load in all_loads if not wanted or load in wanted]
    some = options.policies.split(",") if options.policies else None
    bench.runs = lambda policy: not some or policy in some
    for part in options.only.split(","):
        globals()[f"part_{part}"](bench)


if __name__ == "__main__":
    main()
