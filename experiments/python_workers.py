"""What `python_bench.py` measures, each in a process of its own: NAME and its arguments as JSON.

A worker prints one line of JSON: its result, the seconds of its parts, and the most memory that it
had (`VmHWM`). Imports of packages are inside, so each worker loads what it needs alone.
"""

import json
import sys
import time
from pathlib import Path


def peak_bytes():
    """The most memory that this process had; not, as ru_maxrss, that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


# From a file of names to a table of components ----------------------------------------------------


def names(pairs, parquet, rows):
    """The first `rows` pairs of a file of u32, as Parquet with string ids."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found = np.memmap(pairs, dtype="<u4", mode="r").reshape(-1, 2)[:rows]
    with pq.ParquetWriter(parquet, pa.schema([("source", "string"), ("target", "string")])) as out:
        for start in range(0, len(found), 1 << 19):
            part = found[start : start + (1 << 19)]
            columns = []
            for column in (0, 1):
                digits = pc.cast(pa.array(part[:, column]), "string")
                columns.append(pc.binary_join_element_wise("account", digits, "-"))
            out.write_table(pa.table(columns, names=["source", "target"]))
    return {"rows": len(found), "file_bytes": Path(parquet).stat().st_size}


def summary(table):
    """Of a table of Polars with the columns `vertex` and `component`."""
    sizes = table["component"].value_counts()["count"]
    return {"vertices": len(table), "components": len(sizes), "largest": int(sizes.max())}


def cenote(parquet, folder, memory):
    import cenote

    cenote.import_graph(parquet, f"{folder}/names.cenote", memory=memory, overwrite=True)
    with cenote.open(f"{folder}/names.cenote") as g:
        components = g.wcc(memory=memory)
    return summary(components.to_polars())


def numbered(parquet):
    """The distinct names, and the edges as two arrays of their numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(parquet)
    both = pa.chunked_array(table["source"].chunks + table["target"].chunks)
    encoded = both.cast("large_string").combine_chunks().dictionary_encode()
    numbers = encoded.indices.to_numpy()
    return encoded.dictionary, numbers[: len(table)], numbers[len(table) :]


def labelled(ids, labels):
    import polars as pl

    return summary(pl.DataFrame({"vertex": pl.from_arrow(ids), "component": labels}))


def scipy(parquet):
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ids, sources, targets = numbered(parquet)
    ones = np.ones(len(sources), dtype=np.int8)
    matrix = coo_array((ones, (sources, targets)), shape=(len(ids), len(ids)))
    return labelled(ids, connected_components(matrix, directed=False)[1])


def igraph(parquet):
    import igraph
    import numpy as np

    ids, sources, targets = numbered(parquet)
    graph = igraph.Graph(n=len(ids), edges=np.column_stack([sources, targets]))
    return labelled(ids, graph.connected_components().membership)


def networkit(parquet):
    import networkit
    import numpy as np

    ids, sources, targets = numbered(parquet)
    weights = np.ones(len(sources))
    coo = (weights, (sources.astype(np.uint64), targets.astype(np.uint64)))
    graph = networkit.GraphFromCoo(coo, n=len(ids), directed=False)
    found = networkit.components.ConnectedComponents(graph)
    found.run()
    return labelled(ids, found.getPartition().getVector())


def networkx(parquet):
    import networkx as nx
    import polars as pl

    edges = pl.read_parquet(parquet)
    graph = nx.Graph()
    graph.add_edges_from(edges.iter_rows())
    rows = ((v, i) for i, part in enumerate(nx.connected_components(graph)) for v in part)
    return summary(pl.DataFrame(rows, schema=["vertex", "component"], orient="row"))


def duckdb(parquet, folder, memory):
    """Label propagation with shortcuts, join by join: what a SQL engine or GraphFrames does."""
    import duckdb
    import polars as pl

    sql = duckdb.connect()
    sql.execute(f"SET memory_limit = '{memory}'; SET temp_directory = '{folder}/duckdb'")
    sql.execute(
        f"""CREATE TABLE edges AS SELECT source, target FROM '{parquet}';
        CREATE TABLE vertices AS SELECT vertex, row_number() OVER () AS number FROM
          (SELECT source AS vertex FROM edges UNION SELECT target FROM edges);
        CREATE TABLE pairs AS SELECT a.number AS a, b.number AS b FROM edges
          JOIN vertices a ON source = a.vertex JOIN vertices b ON target = b.vertex;
        DROP TABLE edges;
        CREATE TABLE labels AS SELECT number, number AS label FROM vertices"""
    )
    while True:
        sql.execute(
            """CREATE OR REPLACE TABLE nearest AS SELECT number, min(label) AS label FROM (
              SELECT a AS number, label FROM pairs JOIN labels ON b = labels.number UNION ALL
              SELECT b, label FROM pairs JOIN labels ON a = labels.number UNION ALL
              SELECT number, label FROM labels) GROUP BY number;
            CREATE OR REPLACE TABLE after AS SELECT n.number, l.label FROM nearest n
              JOIN nearest l ON n.label = l.number"""
        )
        changed = sql.execute(
            "SELECT count(*) FROM after JOIN labels USING (number) WHERE after.label < labels.label"
        ).fetchone()[0]
        sql.execute("DROP TABLE labels; ALTER TABLE after RENAME TO labels")
        if changed == 0:
            break
    found = "SELECT vertex, label AS component FROM vertices JOIN labels USING (number)"
    return summary(pl.DataFrame(sql.sql(found)))


# Beside the command ---------------------------------------------------------------------------


def run(graph, algorithm, options, memory):
    """One run; the seconds of the opening and the run, without those of the interpreter."""
    import cenote

    start = time.perf_counter()
    with cenote.open(graph) as g:
        answer = getattr(g, algorithm)(memory=memory, **options)
    seconds = time.perf_counter() - start
    return {"call_seconds": seconds, "run_seconds": answer.stats["seconds"]}


def arrow(pairs, graph, memory):
    """An import of a table in memory."""
    import numpy as np
    import pyarrow as pa

    import cenote

    found = np.fromfile(pairs, dtype="<u4").reshape(-1, 2)
    columns = [pa.array(np.ascontiguousarray(found[:, at])) for at in (0, 1)]
    table = pa.table(columns, names=["source", "target"])
    del found, columns
    start = time.perf_counter()
    cenote.import_graph(table, graph, memory=memory, overwrite=True)
    return {"call_seconds": time.perf_counter() - start, "rows": len(table)}


# Samples of neighbourhoods --------------------------------------------------------------------


def seeds_of(count, batches, batch):
    """Vertices of each batch, the same for both samplers."""
    import numpy as np

    rng = np.random.default_rng(7)
    return [rng.choice(count, size=min(batch, count), replace=False) for _ in range(batches)]


def sample(graph, fanouts, batches, batch, share):
    """Samples of a stored graph, and the pages of lists that each batch must read."""
    import numpy as np

    import cenote

    with cenote.open(graph) as g:
        info, ids, degrees = g.info(), g.ids(), np.asarray(g.degree()).astype(np.int64)
        memory = max(int(info["page_bytes"] * share), 1 << 20)
        chosen = [ids[numbers] for numbers in seeds_of(len(ids), batches, batch)]
    rows = {"batch_seconds": [], "batch_cpu_seconds": [], "read_pages": []}
    samples = []
    with cenote.open(graph, memory=memory) as g:
        for number, seeds in enumerate(chosen):
            before = time.perf_counter(), time.process_time(), read_bytes()
            found = g.sample_neighbors(seeds, fanouts=fanouts, seed=number)
            after = time.perf_counter(), time.process_time(), read_bytes()
            for row, start, end in zip(rows.values(), before, after, strict=True):
                row.append(end - start)
            samples.append(found)
        check(g, samples[0], fanouts)
    rows["read_pages"] = [read / info["page_size"] for read in rows["read_pages"]]
    pages = needed_pages(info, degrees, samples)
    edges = [sum(len(sources) for sources, _ in found.layers) for found in samples]
    return rows | {"pages": pages, "edges": edges, "memory_bytes": memory,
                   "page_bytes": info["page_bytes"], "page_size": info["page_size"]}


def read_bytes():
    """Bytes that this process has read from drives."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def check(g, found, fanouts):
    """Whether a sample is one: neighbours, each once, as many as there can be."""
    import numpy as np

    for (sources, targets), fanout in zip(found.layers, fanouts, strict=True):
        assert len(set(zip(sources.tolist(), targets.tolist(), strict=True))) == len(sources)
        for target in np.unique(targets)[:50]:
            neighbours = found.ids[sources[targets == target]]
            around = g.neighbors(int(found.ids[target]))
            assert len(neighbours) == min(fanout, len(around))
            assert np.isin(neighbours, around).all()


def needed_pages(info, degrees, samples):
    """The distinct pages of lists that hold the sampled entries of each batch: what any sampler of
    these entries reads, if it has no page in memory.

    Lists lie one behind the other by vertex, so the place of an entry follows from the degrees, and
    its page from the mean number of entries of a page.
    """
    import numpy as np

    adjacency = next(part for part in info["sections"] if part["name"] == "adjacency")
    per_page = adjacency["items"] / adjacency["pages"]
    starts = np.cumsum(degrees) - degrees
    counts = []
    for found in samples:
        layers = zip(found.layers, found.positions, strict=True)
        places = [starts[found.vertices[targets]] + at for (_, targets), at in layers]
        counts.append(len(np.unique(np.concatenate(places) // per_page)))
    return counts


def numpy_sample(pairs, fanouts, batches, batch):
    """The same from lists in memory, by Floyd's sampling over whole arrays."""
    import numpy as np
    from scipy.sparse import coo_array

    found = np.fromfile(pairs, dtype="<u4").reshape(-1, 2).astype(np.int32)
    found = found[found[:, 0] != found[:, 1]]
    size = int(found.max()) + 1
    ends = np.concatenate([found[:, 0], found[:, 1]]), np.concatenate([found[:, 1], found[:, 0]])
    del found
    lists = coo_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(size, size)).tocsr()
    del ends
    present = np.flatnonzero(np.diff(lists.indptr))
    rng, seconds, edges = np.random.default_rng(1), [], []
    for numbers in seeds_of(len(present), batches, batch):
        start = time.perf_counter()
        edges.append(numpy_batch(lists.indptr, lists.indices, present[numbers], fanouts, rng))
        seconds.append(time.perf_counter() - start)
    return {"batch_seconds": seconds, "edges": edges}


def numpy_batch(starts, neighbours, seeds, fanouts, rng):
    """The number of sampled edges."""
    import numpy as np

    known, frontier, edges = seeds, seeds, 0
    for fanout in fanouts:
        degrees = starts[frontier + 1] - starts[frontier]
        # Column by column: a place that was drawn before becomes the last one of the range.
        places = np.full((len(frontier), fanout), -1, dtype=np.int64)
        for at in range(fanout):
            last = np.maximum(degrees - fanout, 0) + at
            drawn = (rng.random(len(frontier)) * (last + 1)).astype(np.int64)
            is_again = (places[:, :at] == drawn[:, None]).any(axis=1)
            drawn = np.where(degrees <= fanout, at, np.where(is_again, last, drawn))
            places[:, at] = np.where(drawn < degrees, drawn, -1)
        rows, columns = np.nonzero(places >= 0)
        found = neighbours[starts[frontier[rows]] + places[rows, columns]]
        edges += len(found)
        new = np.setdiff1d(found, known)
        known = np.concatenate([known, new])
        # The numbers of the sample, as a batch for training needs them.
        np.searchsorted(np.sort(known), found)
        frontier = new
    return edges


WORKERS = {work.__name__: work for work in (
    arrow, cenote, duckdb, igraph, names, networkit, networkx, numpy_sample, run, sample, scipy
)}


def main():
    result = WORKERS[sys.argv[1]](**json.loads(sys.argv[2]))
    print(json.dumps(result | {"peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
