#!/usr/bin/env python3
"""Does `cenote profile` measure what fio measures?

Random 4 KiB reads of one file with O_DIRECT at depths 1, 8 and 32, ours and fio's in turn
(A B B A ...), medians of five rounds. Raw rows go to `experiments/runs/DATE/` as JSON Lines.

    python3 experiments/profile_vs_fio.py [--dir DIR] [--seconds 2] [--rounds 5] [--tiny]

Exit status: 0 all ratios within 15%, 1 not, 2 error.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BYTES = 4096
DEPTHS = (1, 8, 32)
TOLERANCE = 0.15


def build() -> pathlib.Path:
    """Builds the example that measures single cells, and returns its path."""
    command = ["cargo", "build", "--release", "--locked", "-p", "cenote-device"]
    command += ["--example", "profile_cell", "--message-format=json"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = (json.loads(line) for line in output.stdout.splitlines())
    paths = [m["executable"] for m in messages if m.get("executable")]
    return pathlib.Path(paths[-1])


def write_file(path: pathlib.Path, mebibytes: int) -> None:
    """Random bytes: drives that compress or skip zeroes must not look fast."""
    with open(path, "wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def ours(binary: pathlib.Path, path: pathlib.Path, depth: int, seconds: float) -> dict:
    command = [binary, path, str(BYTES), str(seconds), str(depth)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    point = json.loads(output.stdout)
    return {"iops": point["iops"], "p50_us": point["p50_us"], "cpu_share": point["cpu_share"]}


def fio(path: pathlib.Path, depth: int, seconds: float) -> dict:
    command = ["fio", "--name=reads", f"--filename={path}", "--rw=randread", f"--bs={BYTES}"]
    command += ["--direct=1", "--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"]
    command += [f"--iodepth={depth}", f"--runtime={seconds}", "--time_based", "--norandommap"]
    command += ["--readonly", "--output-format=json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    job = json.loads(output.stdout[output.stdout.index("{") :])["jobs"][0]
    return {
        "iops": job["read"]["iops"],
        "p50_us": job["read"]["clat_ns"]["percentile"]["50.000000"] / 1000,
        "cpu_share": (job["usr_cpu"] + job["sys_cpu"]) / 100,
    }


def commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return found.stdout.strip() or "unknown"


def measure(arguments: argparse.Namespace, path: pathlib.Path, rows: list) -> None:
    binary = arguments.binary or build()
    write_file(path, arguments.mebibytes)
    tools = {
        "cenote": lambda depth: ours(binary, path, depth, arguments.seconds),
        "fio": lambda depth: fio(path, depth, arguments.seconds),
    }
    facts = {"commit": commit(), "kernel": platform.release(), "cpus": os.cpu_count()}
    facts |= {"bytes": BYTES, "seconds": arguments.seconds, "file_mebibytes": arguments.mebibytes}
    for number in range(arguments.rounds):
        for depth in DEPTHS:
            order = ("cenote", "fio") if number % 2 == 0 else ("fio", "cenote")
            for tool in order:
                load = os.getloadavg()[0]
                result = tools[tool](depth)
                rows.append({"tool": tool, "round": number, "depth": depth, "load": load}
                            | result | facts)


def report(rows: list) -> bool:
    def median(tool: str, depth: int, field: str) -> float:
        return statistics.median(
            row[field] for row in rows if row["tool"] == tool and row["depth"] == depth
        )

    print("depth | cenote IOPS | fio IOPS | cenote / fio | p50 us: cenote, fio | CPU: cenote, fio")
    good = True
    for depth in DEPTHS:
        mine, theirs = median("cenote", depth, "iops"), median("fio", depth, "iops")
        latency = [median(tool, depth, "p50_us") for tool in ("cenote", "fio")]
        cpu = [median(tool, depth, "cpu_share") for tool in ("cenote", "fio")]
        ratio = mine / theirs
        good &= abs(ratio - 1) <= TOLERANCE
        print(f"{depth:5} | {mine:11.0f} | {theirs:8.0f} | {ratio:12.3f} | "
              f"{latency[0]:.0f}, {latency[1]:.0f} | {cpu[0]:.2f}, {cpu[1]:.2f}")
    print(f"within {TOLERANCE:.0%}: {'yes' if good else 'no'}")
    return good


def save(rows: list) -> pathlib.Path:
    directory = ROOT / "experiments" / "runs" / datetime.date.today().isoformat()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "profile_vs_fio.jsonl"
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default=".", help="directory on the drive")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=int, default=1024, help="size of the file")
    parser.add_argument("--binary", type=pathlib.Path, help="profile_cell, if already built")
    parser.add_argument("--tiny", action="store_true", help="seconds instead of a minute; no rows")
    arguments = parser.parse_args()
    if arguments.tiny:
        arguments.seconds, arguments.rounds, arguments.mebibytes = 1, 1, 64
    rows = []
    try:
        with tempfile.TemporaryDirectory(dir=arguments.dir, prefix=".profile-vs-fio-") as scratch:
            measure(arguments, pathlib.Path(scratch) / "data", rows)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"profile_vs_fio: {error}", file=sys.stderr)
        return 2
    good = report(rows)
    if not arguments.tiny:
        print(f"rows: {save(rows).relative_to(ROOT)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
