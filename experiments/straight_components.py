"""Components straight from pairs, beside reading alone and beside others: `straight_components.py`.

    straight_components.py [--graphs 19:20,22:24] [--repeats 3] [--threads 2] [--dir DIR]
                           [--only cenote,decode,...] [--cold] [--rows FILE]

A graph `SCALE:FACTOR` is one of Kronecker with FACTOR x 2^SCALE pairs, whose numbers become ids
spread over 64 bits; as `.u64` and as Parquet (Snappy, two columns). The page cache is warm, or
with `--cold` free of the file. In turn:

- `cenote`: `cenote run wcc FILE`; `decode`: the same on a file of as many bytes in which all ids
  are one, which leaves reading and decoding, and look-ups that never miss the processor's caches
- `read`, `scan`: NumPy and Polars read the file and sum both columns
- `scipy`: Polars reads, NumPy numbers the ids by `unique`, SciPy's `connected_components`
- `igraph`, `networkx`, `duckdb`: the whole way with them; the last two on small graphs only

Quoted are medians of wall time and of peak resident memory. Raw rows go to experiments/runs.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CENOTE = os.environ.get("CENOTE", str(ROOT / "target/release/cenote"))
SMALL = 2_000_000
"""The most pairs for the slow ones."""

KINDS = {"cenote": "pairs", "decode": "single"}
"""The files of runs of `cenote`."""


def spread(numbers):
    """A bijection of 64 bits: the finalizer of SplitMix64."""
    import numpy as np

    x = numbers.astype(np.uint64) + np.uint64(1)
    for shift, factor in [(30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)]:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def names_of(graph, folder):
    return {
        (kind, ending): folder / f"{kind}-{graph.replace(':', '-')}.{ending}"
        for kind in ("pairs", "single")
        for ending in ("u64", "parquet")
    }


def files_of(graph, folder):
    """The files of a graph, and of one with a single id. Makes them where they are missing."""
    files = names_of(graph, folder)
    if not all(path.exists() for path in files.values()):
        # In a process of its own, since one begins with the peak of its parent.
        subprocess.run([sys.executable, __file__, "--make", graph, "--dir", folder], check=True)
    return files


def make(graph, folder, files):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    scale, factor = graph.split(":")
    numbers = folder / "numbers.u32"
    command = [CENOTE, "generate", "kron", "--scale", scale, "--edge-factor", factor]
    subprocess.run([*command, "--out", numbers], check=True, stdout=subprocess.DEVNULL)
    schema = pa.schema([("source", pa.uint64()), ("target", pa.uint64())])
    for kind in ("pairs", "single"):
        parquet, words = files[kind, "parquet"], files[kind, "u64"]
        with open(words, "wb") as out, pq.ParquetWriter(parquet, schema) as writer:
            every = np.memmap(numbers, dtype="<u4", mode="r").reshape(-1, 2)
            for start in range(0, len(every), 1 << 20):
                ids = spread(every[start : start + (1 << 20)])
                if kind == "single":
                    ids[:] = ids[0, 0]
                out.write(ids.tobytes())
                writer.write_table(pa.table([ids[:, 0], ids[:, 1]], schema=schema))
    numbers.unlink()


def read_pairs(path):
    import numpy as np

    if path.suffix == ".u64":
        return np.fromfile(path, dtype="<u8").reshape(-1, 2)
    import polars as pl

    return pl.read_parquet(path, columns=["source", "target"]).to_numpy()


def rival(name, path):
    """Runs one of the others in this process. Returns the number of components."""
    import numpy as np

    if name == "read":
        np.fromfile(path, dtype="<u8").reshape(-1, 2).sum(axis=0)
        return None
    if name == "scan":
        import polars as pl

        pl.scan_parquet(path).select(pl.col("source", "target").sum()).collect()
        return None
    if name == "duckdb":
        import duckdb

        return duckdb.sql(f"""
            WITH RECURSIVE
              e AS (SELECT source u, target v FROM '{path}'
                    UNION ALL SELECT target, source FROM '{path}'),
              c(v, label) USING KEY (v) AS (
                SELECT DISTINCT u, u FROM e
                UNION
                SELECT e.v, min(c.label) FROM c JOIN e ON e.u = c.v JOIN recurring.c r ON r.v = e.v
                GROUP BY e.v, r.label HAVING min(c.label) < r.label)
            SELECT count(DISTINCT label) FROM c""").fetchone()[0]
    pairs = read_pairs(path)
    if name == "networkx":
        import networkx as nx

        return nx.number_connected_components(nx.Graph(map(tuple, pairs.tolist())))
    ids, numbers = np.unique(pairs, return_inverse=True)
    numbers = numbers.reshape(-1, 2)
    if name == "igraph":
        import igraph

        return len(igraph.Graph(n=len(ids), edges=numbers).connected_components())
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    entries = np.ones(len(numbers), dtype=np.int8)
    matrix = coo_array((entries, (numbers[:, 0], numbers[:, 1])), shape=(len(ids), len(ids)))
    return int(connected_components(matrix, directed=False)[0])


def forget(path):
    """Removes a file from the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(command):
    start = time.monotonic()
    child = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        return {"error": errors.decode(errors="replace").strip().splitlines()[-1]}
    found = {
        "wall_seconds": time.monotonic() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    return found | json.loads(out)


def commands(files, options, pairs):
    """What is measured: a name, a format, and the command."""
    flags = ["--threads", options.threads, "--json", "--progress", "none"]
    for ending in ("u64", "parquet"):
        for name, kind in KINDS.items():
            yield name, ending, [CENOTE, "run", "wcc", files[kind, ending], *flags]
    others = [("read", "u64"), ("scan", "parquet"), ("scipy", "parquet"), ("igraph", "parquet")]
    if pairs <= SMALL:
        others += [("networkx", "parquet"), ("duckdb", "parquet")]
    for name, ending in others:
        path = files["pairs", ending]
        yield name, ending, [sys.executable, __file__, "--rival", name, path]


def compare(graph, files, options, rows):
    pairs = files["pairs", "u64"].stat().st_size // 16
    only = [name for name in options.only.split(",") if name]
    seen = {}
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.check_output(head, cwd=ROOT, text=True).strip()
    about = {"commit": commit, "host": platform.machine(), "cores": os.cpu_count()}
    for repeat in range(options.repeats):
        for name, ending, command in commands(files, options, pairs):
            if only and name not in only:
                continue
            if options.cold:
                forget(files[KINDS.get(name, "pairs"), ending])
            found = measure(command)
            found.pop("memory_plan", None)
            row = about | {"graph": graph, "pairs": pairs, "run": name, "format": ending}
            row |= {"repeat": repeat, "load": os.getloadavg()[0], "cold": options.cold}
            rows.write(json.dumps(row | found) + "\n")
            rows.flush()
            seen.setdefault((name, ending), []).append(found)
    for (name, ending), runs in seen.items():
        errors = [run["error"] for run in runs if "error" in run]
        if errors:
            print(f"{graph:8} {name:9} {ending:8} {errors[0][:90]}")
            continue
        wall, peak = (
            statistics.median(run[figure] for run in runs)
            for figure in ("wall_seconds", "peak_bytes")
        )
        line = f"{graph:8} {name:9} {ending:8} {wall:8.2f} s {peak / 2**20:8.0f} MiB"
        if name == "cenote":
            bytes_a_vertex = runs[0]["memory_used_bytes"] / runs[0]["vertices"]
            line += f"  {runs[0]['vertices']} vertices, {bytes_a_vertex:.1f} bytes of budget each"
        print(line, flush=True)
    counts = {
        run["result"]["components"] if "result" in run else run.get("components")
        for (name, _), runs in seen.items()
        for run in runs
        if name not in ("decode", "read", "scan") and "error" not in run
    }
    assert len(counts) <= 1, f"the components differ: {counts}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default="19:20,22:24")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dir", default="/var/tmp/cenote-straight")
    parser.add_argument("--only", default="", help="the runs, by comma")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--rows")
    parser.add_argument("--rival", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rival:
        name, path = options.rival
        print(json.dumps({"components": rival(name, Path(path))}))
        return
    folder = Path(options.dir)
    folder.mkdir(parents=True, exist_ok=True)
    if options.make:
        make(options.make, folder, names_of(options.make, folder))
        return
    date = datetime.date.today().isoformat()
    path = options.rows or ROOT / f"experiments/runs/{date}-straight.jsonl"
    with open(path, "a") as rows:
        for graph in options.graphs.split(","):
            compare(graph, files_of(graph, folder), options, rows)


if __name__ == "__main__":
    main()
