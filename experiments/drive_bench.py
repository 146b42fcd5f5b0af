"""A graph over two drives of which one is slow: `drive_bench.py`, as root.

    drive_bench.py [--scale 22] [--lookups 120000] [--iops 1000] [--rate 150] [--share 0.1]
                   [--memory 0.05%] [--block 4]

Two loop devices, one held back to so many requests and megabytes a second (control groups, blkio),
both profiled; a graph of preferential attachment with a tenth of its pages on the fast one.
Look-ups of lists whose vertices follow Zipf's law (0.99, shuffled), and PageRank, on pages that
stay where the import put them (`static`) and on pages that move (`payback`); beside them what
would be if pages lay by the law itself. Raw rows: experiments/runs/DATE-drives.jsonl.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path

from bench import CENOTE, MIB, Bench, drop_caches

EDGES_PER_VERTEX = 16
PAGE_BYTES = 4096
SKEW = 0.99
GROUP = Path(f"/sys/fs/cgroup/blkio/cenote-drives-{os.getpid()}")


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout.strip()


def drive(bench, stack, name, mebibytes):
    """A file system on a loop device of its own: its folder, and the device's number."""
    image, folder = Path(bench.path(f"{name}.img")), Path(bench.path(name))
    with open(image, "wb") as file:
        file.truncate(mebibytes * MIB)
    stack.callback(image.unlink)
    run("mkfs.ext4", "-q", "-F", image)
    device = run("losetup", "--direct-io=on", "-f", "--show", image)
    stack.callback(run, "losetup", "-d", device)
    folder.mkdir(exist_ok=True)
    run("mount", device, folder)
    stack.callback(leave, folder)
    number = os.stat(device).st_rdev
    return folder, f"{os.major(number)}:{os.minor(number)}"


def leave(folder):
    """Unmounts; the kernel may still be closing the queues of a process that has ended."""
    for _ in range(60):
        if subprocess.run(["umount", folder], capture_output=True).returncode == 0:
            return
        time.sleep(1)
    print(f"note: {folder} is still in use: unmount it later")


def hold_back(stack, number, iops, megabytes):
    """Requests and bytes of whoever is in the group."""
    GROUP.mkdir()
    stack.callback(GROUP.rmdir)
    for kind in ["read", "write"]:
        (GROUP / f"blkio.throttle.{kind}_iops_device").write_text(f"{number} {iops}")
        (GROUP / f"blkio.throttle.{kind}_bps_device").write_text(f"{number} {megabytes * 10**6}")


def enter():
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def served(number):
    """Reads of the slow drive so far, and their bytes."""
    def count(name):
        lines = (GROUP / f"blkio.throttle.{name}").read_text().splitlines()
        found = [line.split()[2] for line in lines if line.startswith(f"{number} Read")]
        return int(found[0]) if found else 0
    return count("io_serviced"), count("io_service_bytes")


def timed(bench, part, number, *args, stdout=subprocess.DEVNULL, **row):
    """Seconds of a cold run in the group, recorded with what the slow drive read."""
    drop_caches()
    before, start = served(number), time.monotonic()
    done = subprocess.run([CENOTE, *map(str, args)], preexec_fn=enter, stdout=stdout,
                          stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: {done.stderr}")
    after = served(number)
    reads, read_bytes = (b - a for a, b in zip(before, after))
    bench.record(part, command=" ".join(map(str, args)), seconds=seconds, slow_reads=reads,
                 slow_read_bytes=read_bytes, **row)
    print(f"  {row.get('policy', ''):9} {row.get('step', ''):22} {seconds:8.1f} s  "
          f"{reads:9,} reads of the slow drive, {read_bytes / MIB:8,.0f} MiB")
    return seconds, reads


def zipf(bench, graph, lookups):
    """A file of ids: Zipf's law over all vertices, in shuffled order."""
    ids_file = bench.path("ids.csv")
    run(CENOTE, "run", "wcc", graph, "--out", ids_file)
    ids = [line.split(",")[0] for line in Path(ids_file).read_text().splitlines()[1:]]
    Path(ids_file).unlink()
    draw = random.Random(7)
    draw.shuffle(ids)
    weights = list(accumulate(1 / rank**SKEW for rank in range(1, len(ids) + 1)))
    asked = draw.choices(ids, cum_weights=weights, k=lookups)
    path = bench.path("asked.txt")
    Path(path).write_text("\n".join(asked) + "\n")
    return path


def by_the_law(vertices, missed, share, pages_a_block, seed=7):
    """Slow reads over those of a placement that knows nothing, if the blocks that Zipf's law asks
    for most were on the fast drive: of the look-ups that pages in memory leave, the share `missed`,
    where the pages that are asked for most are in memory."""
    per_page = PAGE_BYTES // (4 * 2 * EDGES_PER_VERTEX)
    weights = [rank**-SKEW for rank in range(1, vertices + 1)]
    random.Random(seed).shuffle(weights)
    pages = [sum(weights[at:at + per_page]) for at in range(0, vertices, per_page)]
    left = total = sum(pages)
    for page in sorted(range(len(pages)), key=pages.__getitem__, reverse=True):
        if left <= missed * total:
            break
        left -= pages[page]
        pages[page] = 0.0
    at_once = range(0, len(pages), pages_a_block)
    blocks = sorted((sum(pages[at:at + pages_a_block]) for at in at_once), reverse=True)
    return (1 - sum(blocks[:int(len(blocks) * share)]) / sum(blocks)) / (1 - share)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--lookups", type=int, default=120_000)
    parser.add_argument("--iops", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=150, help="megabytes a second")
    parser.add_argument("--share", type=float, default=0.1, help="of the graph, on the fast drive")
    parser.add_argument("--block", type=int, default=4, help="KiB that move at once")
    parser.add_argument("--memory", default="0.05%", help="of the graph, for look-ups")
    parser.add_argument("--dir", default="/var/tmp/cenote-bench")
    parser.add_argument("--rows", help="file of raw rows [default: runs/DATE-drives.jsonl]")
    options = parser.parse_args()
    options.repeats = 1
    if os.geteuid() != 0 or not GROUP.parent.is_dir():
        sys.exit("needs root, loop devices and the blkio controller of control groups v1")
    bench = Bench(options, "-drives")
    asked = ["lookups", "iops", "rate", "share", "block", "memory"]
    bench.common |= {name: getattr(options, name) for name in asked}
    with ExitStack() as stack:
        measure(bench, stack, options)


def measure(bench, stack, options):
    pairs, plain = bench.path("drives.u32"), bench.path("drives.cenote")
    run(CENOTE, "generate", "ba", "--vertices", 2**options.scale, "--edges-per-vertex",
        EDGES_PER_VERTEX,
        "--out", pairs)
    stack.callback(Path(pairs).unlink)
    run(CENOTE, "import", pairs, "--out", plain, "--overwrite")
    stack.callback(Path(plain).unlink)
    file_bytes = os.stat(plain).st_size
    asked = zipf(bench, plain, options.lookups)
    mebibytes = 5 * file_bytes // MIB + 1024
    fast, _ = drive(bench, stack, "fast", mebibytes)
    slow, number = drive(bench, stack, "slow", mebibytes)
    hold_back(stack, number, options.iops, options.rate)
    for folder in [fast, slow]:
        profile = subprocess.run([CENOTE, "profile", "--quick", folder], preexec_fn=enter)
        assert profile.returncode == 0
    graphs = {}
    for policy in ["static", "payback"]:
        graphs[policy] = bench.path(f"{policy}.cenote")
        run(CENOTE, "import", pairs, "--overwrite", "--out", graphs[policy],
            "--tier", f"fast={fast}:{int(file_bytes * options.share)}", "--tier", f"slow={slow}",
            "--tier-policy", policy, "--tier-block", f"{options.block}KiB")
    memory = int(file_bytes * float(options.memory.rstrip("%")) / 100)
    pass_memory = 150 * MIB * 2**options.scale // 2**22

    def pagerank(policy, step):
        return timed(bench, "pagerank", number, "run", "pagerank", graphs[policy],
                     "--memory", pass_memory, "--iterations", 5, policy=policy, step=step)

    def lookups(policy, step):
        return timed(bench, "lookups", number, "neighbors", graphs[policy], "--from", asked,
                     "--memory", memory, policy=policy, step=step)

    passes = pagerank("static", "pagerank"), pagerank("payback", "pagerank")
    skewed = lookups("static", "look-ups"), lookups("payback", "look-ups, first")
    again = lookups("payback", "look-ups, again")
    later = pagerank("payback", "pagerank, after them")
    status = json.loads(run(CENOTE, "tier", "status", graphs["payback"], "--json"))
    for tier in status["tiers"]:
        tier["file"] = Path(tier["file"]).name
    bench.record("status", **{**status, "graph": "payback.cenote"})
    seconds = skewed[0][0]
    missed = min(skewed[0][1] / (1 - options.share) / options.lookups, 1)
    law = by_the_law(2**options.scale, missed, options.share, options.block * 1024 // PAGE_BYTES)
    print(f"look-ups, payback / static: {skewed[1][0] / seconds:.2f} while it learns, "
          f"{again[0] / seconds:.2f} after (goal: 0.6); by the law {law:.2f}, "
          f"{100 * missed:.0f}% of the look-ups being left by memory")
    print("(where the rate binds, times are as the reads of the slow drive)")
    print(f"passes, payback / static: {passes[1][0] / passes[0][0]:.2f} as imported (goal: 1), "
          f"{later[0] / passes[0][0]:.2f} after look-ups moved pages")
    print(f"{status['moved']:,} blocks moved, of {status['accesses']:,} accesses")


if __name__ == "__main__":
    main()
