"""Answers as arrays and tables."""

import gc
import json
import re

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cenote


def address(array):
    return array.__array_interface__["data"]


def test_arrays_are_views_that_outlive_the_graph(packages):
    with cenote.open(packages) as graph:
        ranks = graph.pagerank()
        components = graph.wcc()
    first, second = ranks.ranks, ranks.ranks
    # The memory of the library, not copied: the same both times, and read-only.
    assert address(first) == address(second) and address(first)[1] is True
    assert not first.flags.owndata and not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    labels, copied = components.labels, components.labels.copy()
    del ranks, second, components
    gc.collect()
    spoil = [np.full(1 << 20, 7.0) for _ in range(8)]
    assert abs(first.sum() - 1) < 1e-9 and (labels == copied).all()
    del spoil


def test_every_kind_of_table_has_the_same_rows(packages):
    with cenote.open(packages) as graph:
        search = graph.bfs("bash", parents=True)
        assert graph.vertex_count == len(search)
    arrow = search.to_arrow()
    assert arrow.column_names == ["vertex", "level", "parent"]
    assert arrow.schema.field("vertex").type == pa.large_string()
    ids, levels = search.ids(), search.levels
    expected = sorted(zip(ids.to_pylist(), levels.tolist(), strict=True))
    found = zip(arrow["vertex"].to_pylist(), arrow["level"].to_pylist(), strict=True)
    none = cenote.UNREACHED
    assert [(v, none if level is None else level) for v, level in found] == expected
    assert levels.tolist().count(none) == arrow["level"].null_count > 0
    frame = pl.DataFrame(search)
    assert frame.equals(search.to_polars()) and frame.to_arrow().num_rows == len(search)
    assert pl.from_arrow(arrow).equals(frame)
    assert search.to_pandas()["vertex"].tolist() == arrow["vertex"].to_pylist()
    assert search.to_parquet("levels.parquet") > 0
    file = pq.read_table("levels.parquet")
    for column in arrow.column_names:
        assert file[column].to_pylist() == arrow[column].to_pylist()
    search.to_csv("levels.csv")
    csv = pd.read_csv("levels.csv", keep_default_na=False, na_values=[""])
    assert csv["vertex"].tolist() == arrow["vertex"].to_pylist()
    assert search.write("levels2.parquet") > 0


def test_batches_are_streamed():
    cenote.import_graph(np.column_stack([np.arange(70_000), np.arange(70_000)[::-1]]), "g.cenote")
    with cenote.open("g.cenote") as graph:
        ranks = graph.pagerank(iterations=2)
    reader = pa.RecordBatchReader.from_stream(ranks)
    sizes = [batch.num_rows for batch in reader]
    assert sizes == [65536, len(ranks) - 65536]


def test_ids_are_arrays(packages, directed, random_graph):
    ids = directed.wcc().ids()
    assert ids.dtype == np.uint64 and ids.tolist() == sorted(random_graph)
    with cenote.open(packages) as graph:
        names = graph.ids()
        assert names[graph.vertex_of("bash")] == "bash"
        assert graph.id_of(graph.vertex_of("vim")) == "vim"
    assert names[-1] == names[len(names) - 1] == names.to_pylist()[-1]
    assert pa.array(names).to_pylist() == list(names) == sorted(names, key=str.encode)
    assert pl.Series(names).len() == len(names)
    with pytest.raises(IndexError):
        names[len(names)]
    with pytest.raises(IndexError):
        names[-len(names) - 1]


def test_an_answer_iterates_over_its_columns(directed):
    search = directed.bfs(3, parents=True)
    assert list(search) == search.columns == ["level", "parent"] and "level" in search
    assert search["vertex"].tolist() == list(range(directed.array_length))
    assert list(directed.reach(3, 10)) == [], "it has none"


def test_members_are_masks(directed, undirected):
    for found in (undirected.mis().members, undirected.kcore(k=4).members, directed.dfs(3).reached):
        assert found.dtype == bool and found.shape == (directed.array_length,)
        assert 0 < found.sum() < len(found) and not found.flags.writeable
        assert directed.ids()[found].tolist() == directed.ids()[np.flatnonzero(found)].tolist()
    assert undirected.mis()["member"].dtype == bool


def test_strings_are_indexed_as_an_array(packages):
    with cenote.open(packages) as graph:
        names = graph.ids()
        ranks = graph.pagerank(memory="64MiB").ranks
    array = np.asarray(names)
    assert array.shape == (len(names),) and array.dtype == object
    best = ranks.argsort()[-3:]
    mask = np.arange(len(names)) % 1000 == 7
    for key in (slice(2, 9, 3), slice(-2, None), best, best.reshape(3, 1), mask, best.tolist(), []):
        expected = array[key]
        assert names[key].tolist() == expected.tolist() and names[key].shape == expected.shape
    assert names[np.int64(5)] == names[np.array(5)] == names[5] == array[5]
    for key in (mask[:5], [len(names)], [0.5], "bash"):
        with pytest.raises(IndexError):
            names[key]
    assert pd.Series(names).tolist() == names.to_pandas().tolist() == names.tolist()
    assert names.to_arrow().equals(pa.array(names.to_pylist(), pa.large_string()))
    assert re.match(r"Strings\(\d+: '0ad', .*\.\.\)", repr(names)) and len(repr(names)) < 100
    with pytest.raises(ValueError, match="copied"):
        np.asarray(names, copy=False)


def test_a_report_without_a_path_is_the_page(directed):
    plain, recorded = directed.wcc().report(), directed.wcc(record=True).report()
    for page in (plain, recorded):
        assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
        assert "srcdoc=" in page._repr_html_() and "<script" not in page._repr_html_()
        assert len(repr(page)) < 60
    assert "record=True" in plain and "No timeline" not in recorded
    with pytest.raises(cenote.Unsupported, match="no report"):
        cenote.components([(1, 2)]).report()


def test_representations_leave_out_what_is_not_known(directed):
    for answer in (directed.pagerank(iterations=2), directed.walk(walkers=3)):
        assert None in answer.summary.values() and "None" not in repr(answer)
        assert "None" not in answer._repr_html_()


def test_deleted_vertices_are_in_no_table():
    cenote.import_graph([(1, 2), (2, 3), (3, 9)], "few.cenote")
    with cenote.update("few.cenote") as update:
        update.delete_vertex(2)
        update.add(9, 4)
    with cenote.open("few.cenote") as graph:
        components = graph.wcc()
        assert graph.vertex_count == 4 and len(components) == 5
    rows = components.to_pandas()
    assert dict(zip(rows["vertex"], rows["component"], strict=True)) == {1: 1, 3: 3, 4: 3, 9: 3}
    assert rows["vertex"].tolist() == [1, 3, 4, 9]
    assert components.ids()[components.deleted()].tolist() == [2]
    assert components.ids().tolist() == [1, 2, 3, 9, 4]


def test_what_has_no_values_says_so(directed):
    reach = directed.reach(3, 10)
    assert reach.columns == []
    with pytest.raises(cenote.InvalidInput, match="no value per vertex"):
        reach.to_arrow()
    with pytest.raises(cenote.InvalidInput, match=r"reach\.csv: reach has no value per vertex"):
        reach.write("reach.csv")
    with pytest.raises(cenote.InvalidInput, match="no value per vertex without `per_vertex`"):
        directed.triangles().to_pandas()
    with pytest.raises(KeyError, match="bfs has no column 'distance', only level"):
        directed.bfs(3)["distance"]
    for answer, name, option in [
        (directed.bfs(3), "parents", "parents=True"),
        (directed.sssp(3), "parents", "parents=True"),
        (directed.kcore(), "members", "with `k`"),
        (directed.kcore(k=2), "cores", "without `k`"),
        (directed.triangles(), "counts", "per_vertex=True"),
    ]:
        with pytest.raises(AttributeError, match=f"{answer.algorithm} has no .* run it.*{option}"):
            getattr(answer, name)
    with pytest.raises(cenote.InvalidInput, match="parquet"):
        directed.bfs(3).to_parquet("levels.csv")


def test_answers_show_their_summary(undirected):
    components = undirected.wcc()
    assert repr(components).startswith("Components(components=2, largest=200")
    html = components._repr_html_()
    assert html.startswith("<table>") and "<th>components</th><td>2</td>" in html
    assert "5 nodes" not in html and "undirected edges" in repr(undirected)


def test_ids_in_a_page_are_escaped():
    cenote.import_graph([("<b>", "&")], "markup.cenote")
    with cenote.open("markup.cenote") as graph:
        assert "<td>&amp;</td>" in graph.wcc()._repr_html_()


RUNS = {
    "betweenness": {"source": [3, 10]},
    "bfs": {"source": 10, "parents": True},
    "cdlp": {},
    "degrees": {},
    "dfs": {"source": 10},
    "kcore": {},
    "lcc": {},
    "leiden": {},
    "lexicographic_dfs": {"source": 10},
    "louvain": {"iterations": 1},
    "mis": {},
    "pagerank": {},
    "scc": {},
    "sssp": {"source": 10, "parents": True},
    "triangles": {"per_vertex": True},
    "wcc": {},
}
VERTICES = {"parent", "component", "label"}
MISSING = {np.dtype(np.uint32): 2**32 - 1, np.dtype(np.uint64): 2**64 - 1}


@pytest.mark.parametrize("graph", ["directed", "undirected"])
@pytest.mark.parametrize("name", RUNS)
def test_arrays_and_tables_of_every_run_agree(name, graph, request):
    if name in {"leiden", "louvain"} and graph == "directed":
        pytest.skip("communities are of undirected graphs")
    answer = getattr(request.getfixturevalue(graph), name)(**RUNS[name])
    ids, table = answer.ids(), answer.to_arrow()
    assert table["vertex"].to_pylist() == ids.tolist()
    assert table.column_names[1:] == answer.columns
    for column in answer.columns:
        array, found = answer[column], table[column].to_pylist()
        assert len(array) == len(answer) == len(found)
        missing = MISSING.get(array.dtype)
        for value, other in zip(array.tolist(), found, strict=True):
            if other is None:
                assert value == missing or value != value
            else:
                assert other == (ids[value] if column in VERTICES else value)


def test_an_answer_of_edges_has_a_row_for_each(undirected, random_graph):
    forest = undirected.msf()
    table, ids = forest.to_arrow(), undirected.wcc().ids()
    assert table.column_names == forest.columns == ["source", "target", "weight"]
    assert len(forest) == len(table) == forest.summary["edges"]
    expected = nx.minimum_spanning_tree(random_graph.to_undirected()).size(weight="weight")
    assert forest.weight == forest.weights.sum() == pytest.approx(expected)
    assert table["source"].to_pylist() == [ids[v] for v in forest.sources]
    assert table["target"].to_pylist() == [ids[v] for v in forest.targets]
    rows = list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    assert rows == sorted(rows)
    forest.to_csv("forest.csv")
    forest.report("forest.html")


def test_a_report_has_the_figures_of_its_result(folder, packages):
    def data(name):
        text = (folder / name).read_text()
        return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])

    with cenote.open(packages) as g:
        found = g.wcc(memory="64MiB", record=True)
        plain = g.wcc(memory="32MiB", threads=1)
    assert found.report("wcc.html") == (folder / "wcc.html").stat().st_size
    assert "steps" not in found.stats
    recorded = data("wcc.html")
    assert (recorded["stats"], recorded["result"]) == (found.stats, found.summary)
    assert recorded["run"]["command"] == "wcc(memory='64MiB', record=True)"
    assert recorded["recording"]["samples"][-1]["bytes_read"] >= found.stats["bytes_read"]
    plain.report("plain.html")
    other = data("plain.html")
    assert other["recording"] is None and "Not recorded" in (folder / "plain.html").read_text()
    assert other["run"]["answer's hash"] == recorded["run"]["answer's hash"]
    with pytest.raises(cenote.InvalidInput, match="html"):
        found.report("wcc.pdf")
    with pytest.raises(cenote.InvalidInput, match="packages"):
        found.report(packages)
