"""What PageRank and components take on several nodes: a model, and its terms as measured.

    shard_model.py [--scale 32] [--factor 24] [--nodes 1,2,4,8,16,32,64] [--cores 16]
                   [--drive 3e9] [--network 1.25e9] [--memory 64e9] [--validate ROWS]

A node has one shard. A superstep takes

    max(entries / (cores x entries a second), bytes that are not in memory / drive)
    + bytes sent and received / copy + the larger of both / network + calls

where the entries, the bytes of lists and the boundary are those of a shard. A value is sent for
each vertex of a boundary. `docs/shards.md` says where the terms come from. Speeds of drive and
network are given: they are the cluster's. `--validate` compares with rows of `shards_bench.py`.
"""

import argparse
import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

# The probability that an end of an edge of Graph500's Kronecker graph has a bit 0.
ZERO = 0.57 + 0.19


@dataclass(frozen=True)
class Terms:
    """What was measured on one machine; see docs/shards.md."""

    pagerank_entries: float = 2.1e8
    """Entries of lists a second on one core, in memory."""
    wcc_entries: float = 2.8e8
    copy: float = 0.7e9
    """Bytes a second of values from one process to another on a node: gathered, put into Ray's
    store, and taken out of it."""
    call: float = 0.003
    """Seconds of a superstep that does nothing."""
    call_more: float = 0.0005
    """And for each shard more."""
    entry_bytes: float = 4.1
    """Bytes of an entry on the drive."""
    state_bytes: float = 36.0
    """Bytes of an own or boundary vertex in memory: number, values, exchanged values."""
    attached: float = 0.2
    """The part of the boundary for which components send a label at first."""
    wcc_supersteps: int = 5


@dataclass(frozen=True)
class Cluster:
    """Nodes and their network."""

    nodes: int
    cores: float
    drive: float
    network: float
    memory: float


def classes(scale, factor):
    """Vertices of a Kronecker graph by expected degree: how many, and the degree."""
    entries = 2 * factor * 2**scale
    for ones in range(scale + 1):
        share = ZERO ** (scale - ones) * (1 - ZERO) ** ones
        yield math.comb(scale, ones), entries * share


def vertices(scale, factor):
    """Expected vertices with an edge."""
    return sum(count * -math.expm1(-degree) for count, degree in classes(scale, factor))


def boundary(scale, factor, shards):
    """Expected boundary vertices of all shards: a vertex is in the boundary of each other shard
    that has one of its neighbours. These are spread over shards alike, since ids are shuffled."""
    each = (count * -math.expm1(-degree / shards) for count, degree in classes(scale, factor))
    return (shards - 1) * sum(each)


def superstep(entries, rate, exchanged, terms, cluster, list_bytes):
    """Seconds of a superstep of a shard; `exchanged` are the bytes that it sends, and receives."""
    work = entries / (rate * cluster.cores)
    read = list_bytes / cluster.drive
    moved = 2 * exchanged / terms.copy
    # On one node nothing goes over the network.
    wire = exchanged / cluster.network
    calls = terms.call + terms.call_more * (cluster.nodes - 1)
    return max(work, read) + moved + wire + calls


def predict(edges, boundary_vertices, vertex_count, terms, cluster, iterations=10):
    """Seconds of PageRank and of components."""
    entries = 2 * edges / cluster.nodes
    list_bytes = entries * terms.entry_bytes
    mirrored = boundary_vertices / cluster.nodes
    state = terms.state_bytes * (vertex_count / cluster.nodes + mirrored)
    kept = max(cluster.memory - state, 0)
    missing = max(list_bytes - kept, 0)
    fits = state < cluster.memory
    first = superstep(entries, terms.pagerank_entries, 8 * mirrored, terms, cluster, list_bytes)
    later = superstep(entries, terms.pagerank_entries, 8 * mirrored, terms, cluster, missing)
    # The superstep before the first iteration sends, but visits nothing.
    start = superstep(0, terms.pagerank_entries, 8 * mirrored, terms, cluster, 0)
    pagerank = start + first + (iterations - 1) * later
    labels = 4 * terms.attached * mirrored
    wcc = superstep(entries, terms.wcc_entries, labels, terms, cluster, list_bytes)
    wcc += superstep(0, terms.wcc_entries, labels, terms, cluster, 0)
    wcc += (terms.wcc_supersteps - 2) * superstep(0, terms.wcc_entries, 0, terms, cluster, 0)
    return {"pagerank": pagerank, "wcc": wcc, "state": state, "fits": fits}


def table(options, terms):
    edges = options.factor * 2**options.scale
    count = vertices(options.scale, options.factor)
    print(
        f"Kronecker graph, scale {options.scale}: {edges:.3g} edges, {count:.3g} vertices; "
        f"a node: {options.cores} cores, drive {options.drive / 1e9:g} GB/s, network "
        f"{options.network / 1e9:g} GB/s, memory {options.memory / 1e9:g} GB"
    )
    print("| nodes | boundary a vertex | state, GB a node | PageRank, s | x | components, s | x |")
    print("|---|---|---|---|---|---|---|")
    base = None
    for nodes in options.nodes:
        cluster = Cluster(nodes, options.cores, options.drive, options.network, options.memory)
        found = boundary(options.scale, options.factor, nodes)
        seconds = predict(edges, found, count, terms, cluster)
        base = base or seconds
        state = f"{seconds['state'] / 1e9:.1f}" + ("" if seconds["fits"] else " (too much)")
        ranks, labels = (f"{seconds[name]:.0f}" for name in ("pagerank", "wcc"))
        speedups = [f"{base[name] / seconds[name]:.1f}" for name in ("pagerank", "wcc")]
        print(
            f"| {nodes} | {found / count:.2f} | {state} | {ranks} | {speedups[0]} | {labels} | "
            f"{speedups[1]} |"
        )


def validate(path, terms, drive):
    """Prints measured beside predicted values, where shards share the cores of one machine."""
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for row in rows:
        if row["part"] == "boundary":
            factor = 16
            found = boundary(row["scale"], factor, row["shards"])
            found /= vertices(row["scale"], factor)
            print(
                f"{row['shards']:3} shards, scale {row['scale']}: boundary a vertex "
                f"{row['boundary_per_vertex']:.3f}, expected {found:.3f}"
            )
    runs = {}
    print("| run | scale | shards | seconds | predicted | processor seconds | predicted |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        if row["part"] == "overhead" and row["contender"] == "shards":
            runs.setdefault((row["scale"], row["shards"], row["algorithm"]), []).append(row)
    for (scale, shards, name), found in sorted(runs.items()):
        if name not in ("pagerank", "wcc"):
            continue
        row = found[0]
        facts = row["edges"], row["boundary_vertices"], row["vertices"]
        cores = min(2 / shards, 1)
        # Nothing goes over a network; shards share the drive.
        cluster = Cluster(shards, cores, drive / shards, math.inf, math.inf)
        seconds = predict(*facts, terms, cluster)[name]
        took = statistics.median(row["seconds"] for row in found)
        # With a core each and all in memory a shard works as long as it takes.
        alone = Cluster(shards, 1, math.inf, math.inf, math.inf)
        work = shards * predict(*facts, terms, alone)[name]
        worked = statistics.median(row["cpu_seconds"] for row in found)
        print(
            f"| {name} | {scale} | {shards} | {took:.2f} | {seconds:.2f} | {worked:.2f} | "
            f"{work:.2f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=32)
    parser.add_argument("--factor", type=int, default=24)
    parser.add_argument("--nodes", default="1,2,4,8,16,32,64")
    parser.add_argument("--cores", type=float, default=16)
    parser.add_argument("--drive", type=float, default=3e9, help="bytes a second of a node's drive")
    parser.add_argument("--network", type=float, default=1.25e9, help="bytes a second of a node")
    parser.add_argument("--memory", type=float, default=64e9, help="bytes of a node")
    parser.add_argument("--validate", help="rows of shards_bench.py")
    options = parser.parse_args()
    options.nodes = [int(part) for part in options.nodes.split(",")]
    if options.validate:
        validate(options.validate, Terms(), options.drive)
    else:
        table(options, Terms())


if __name__ == "__main__":
    main()
