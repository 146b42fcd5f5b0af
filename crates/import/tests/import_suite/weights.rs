//! Weights survive the way from every format into a graph and out again.

use std::collections::BTreeMap;
use std::fmt::Write;

use cenote_import::{Format, ImportConfig, InputSpec, NoProgress, import};
use cenote_store::{Direction, Graph, Weight, WeightType};

use crate::oracle::{file as input, open, open_checked};

type Edges = Vec<(u32, u32, Weight)>;

fn config(kind: WeightType) -> ImportConfig {
    let weights = Some(kind);
    ImportConfig::default().directed(true).weights(weights).memory_bytes(64 << 20)
}

/// Every entry of a direction's lists with its weight, through look-ups.
fn entries(graph: &Graph, direction: Direction) -> Edges {
    let mut all = Vec::new();
    for vertex in 0..graph.vertices() as u32 {
        let (mut list, mut weights) = (Vec::new(), Vec::new());
        graph.read_list(direction, vertex, &mut list).unwrap();
        graph.read_weights(direction, vertex, &mut weights).unwrap();
        assert_eq!(list.len(), weights.len(), "every entry of {vertex} has a weight");
        all.extend(list.into_iter().zip(weights).map(|(entry, weight)| (vertex, entry, weight)));
    }
    all
}

fn imported(specs: &[InputSpec], config: &ImportConfig) -> Result<(Graph, Edges), String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    import(specs, &out, config, &NoProgress).map_err(|error| error.to_string())?;
    let graph = open_checked(&out);
    let entries = entries(&graph, Direction::Out);
    Ok((graph, entries))
}

fn from_text(name: &str, text: &str, config: &ImportConfig) -> Result<Edges, String> {
    let folder = tempfile::tempdir().unwrap();
    let spec = input(&folder, name, text.as_bytes());
    imported(&[spec], config).map(|(_, entries)| entries)
}

const F64: fn(f64) -> Weight = Weight::F64;

#[test]
fn every_text_format_brings_its_weights() {
    let expected = vec![(0, 1, F64(0.5)), (0, 2, F64(2.0)), (1, 2, F64(-3.25))];
    let config = config(WeightType::F64);
    for (name, text) in [
        ("a.el", "0 1 0.5\n0 2 2\n# comment\n1 2 -3.25\n"),
        ("a.e", "0 1 .5\r\n0  2   2e0\r\n1,2,-3.25"),
        ("a.edgelist", "0 1 {'weight': 0.5}\n0 2 {'a': 1, 'weight': 2}\n1 2 {\"weight\": -3.25}\n"),
        ("a.csv", "from,to,weight\n0,1,0.5\n0,2,2\n1,2,\"-3.25\"\n"),
        ("b.csv", "w,to,from\n0.5,1,0\n2,2,0\n-3.25,2,1\n"),
        ("c.csv", "source,km,target\n0,0.5,1\n0,2,2\n1,-3.25,2\n"),
        ("a.tsv", "0\t1\t0.5\n0\t2\t2\n1\t2\t-3.25\n"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n1 3 2\n2 3 -3.25\n",
        ),
    ] {
        let text_of = if name.ends_with("mtx") { "ids are 1 to 3" } else { "" };
        assert_eq!(from_text(name, text, &config).as_ref(), Ok(&expected), "{name} {text_of}");
    }
}

#[test]
fn symmetric_matrices_and_metis_have_one_weight_at_both_ends() {
    let symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 2 -1\n";
    let both = [(0, 1, 7), (1, 0, 7), (1, 2, -1), (2, 1, -1)];
    let both: Edges = both.iter().map(|&(s, t, w)| (s, t, Weight::I64(w))).collect();
    for directed in [true, false] {
        let config = config(WeightType::I64).directed(directed);
        assert_eq!(from_text("a.mtx", symmetric, &config).as_ref(), Ok(&both));
        let metis = "3 2 1\n2 7\n1 7 3 -1\n2 -1\n";
        assert_eq!(from_text("a.graph", metis, &config).as_ref(), Ok(&both));
    }
    let skew = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n";
    let edges = vec![(0, 1, Weight::I64(-7)), (1, 0, Weight::I64(7))];
    assert_eq!(from_text("a.mtx", skew, &config(WeightType::I64)), Ok(edges));
    let undirected = config(WeightType::I64).directed(false);
    assert!(from_text("a.mtx", skew, &undirected).unwrap_err().contains("`directed`"));
    let uneven = from_text("a.graph", "2 1 1\n2 7\n1 8\n", &undirected).unwrap_err();
    assert!(uneven.contains("with two weights"), "{uneven}");
}

#[test]
fn what_is_no_weight_is_named_with_its_line() {
    let cases = [
        ("a.el", "0 1 1\n1 2\n", "line 2"),
        ("a.el", "0 1 1\n1 2 x\n", "line 2"),
        ("a.el", "0 1 nan\n", "line 1"),
        ("a.el", "0 1 inf\n", "line 1"),
        ("a.csv", "source,target,weight\n0,1,1\n0,2,\n", "line 3"),
        ("a.csv", "source,target,weight\n0,1\n", "line 2"),
        ("a.csv", "source,target,a,b\n0,1,1,1\n", "`weight_column`"),
        ("a.csv", "source,target\n0,1\n", "without `weights`"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n", "line 3"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "pattern"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n", "complex"),
        ("a.graph", "2 1\n2\n1\n", "no edge weights"),
        ("a.graph", "2 1 1\n2 x\n1 x\n", "line 2"),
        ("a.adjlist", "0 1 2\n", "no place for weights"),
    ];
    for (name, text, words) in cases {
        let message = from_text(name, text, &config(WeightType::F64)).unwrap_err();
        assert!(message.contains(words) && message.contains(name), "{name}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    for (kind, text) in [
        (WeightType::U32, "0 1 -1\n"),
        (WeightType::U32, "0 1 4294967296\n"),
        (WeightType::I64, "0 1 0.5\n"),
        (WeightType::F32, "0 1 1e39\n"),
    ] {
        let message = from_text("a.el", text, &config(kind)).unwrap_err();
        assert!(message.contains("line 1: expected"), "{message}");
    }
}

#[test]
fn of_repeated_edges_the_smallest_weight_stays_or_all_in_order() {
    let text = "1 0 5\n0 1 3\n0 1 9\n0 1 3\n2 2 8\n2 2 7\n";
    let kept = |keep_duplicates, directed| {
        let keep_self_loops = true;
        let config = config(WeightType::U32);
        let config = config
            .keep_duplicates(keep_duplicates)
            .directed(directed)
            .keep_self_loops(keep_self_loops);
        let entries = from_text("a.el", text, &config).unwrap();
        entries.iter().map(|&(s, t, w)| (s, t, w.to_f64() as u32)).collect::<Vec<_>>()
    };
    assert_eq!(kept(false, true), [(0, 1, 3), (1, 0, 5), (2, 2, 7)]);
    assert_eq!(kept(false, false), [(0, 1, 3), (1, 0, 3), (2, 2, 7)]);
    let all = [(0, 1, 3), (0, 1, 3), (0, 1, 9), (1, 0, 5), (2, 2, 7), (2, 2, 8)];
    assert_eq!(kept(true, true), all);
    let ends = [3, 3, 5, 9].map(|w| (0, 1, w)).into_iter();
    let ends = ends.chain([3, 3, 5, 9].map(|w| (1, 0, w))).chain([(2, 2, 7), (2, 2, 8)]);
    assert_eq!(kept(true, false), ends.collect::<Vec<_>>());
}

/// A hub, repeats, and one edge that is repeated beyond every buffer.
fn skewed(count: u64) -> Vec<(u64, u64, i64)> {
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let weight = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64 - (1 << 23);
    (0..count)
        .map(|i| match i % 4 {
            0 => (17, next(100_000), weight(i)),
            1 => (3, 4, weight(i) % 1000),
            2 => (next(50), next(50), weight(i)),
            _ => (next(100_000), next(100_000), weight(i)),
        })
        .collect()
}

#[test]
fn the_weighted_file_depends_neither_on_threads_nor_on_memory_nor_on_order() {
    let edges = skewed(70_000);
    let text = |edges: &mut dyn Iterator<Item = &(u64, u64, i64)>| {
        edges.fold(String::new(), |mut text, (s, t, w)| {
            writeln!(text, "{s} {t} {w}").unwrap();
            text
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let forward = input(&folder, "a.el", text(&mut edges.iter()).as_bytes());
    let backward = input(&folder, "b.el", text(&mut edges.iter().rev()).as_bytes());
    for keep_duplicates in [false, true] {
        let mut first: Option<Vec<u8>> = None;
        for (spec, threads, memory_bytes) in
            [(&forward, 1, 256 << 20), (&backward, 3, 18 << 20), (&forward, 2, 14 << 20)]
        {
            let base = config(WeightType::I64);
            let in_edges = true;
            let config = base
                .keep_duplicates(keep_duplicates)
                .in_edges(in_edges)
                .threads(threads)
                .memory_bytes(memory_bytes);
            let out = folder.path().join("g.cenote");
            let config = config.overwrite(true);
            let report = import(std::slice::from_ref(spec), &out, &config, &NoProgress).unwrap();
            assert!(report.spill_bytes > 0 || threads != 2, "the small budget is too large");
            let bytes = std::fs::read(&out).unwrap();
            if first.is_none() {
                let graph = open_checked(&out);
                assert_eq!(
                    entries(&graph, Direction::Out),
                    expected(&edges, keep_duplicates, false)
                );
                assert_eq!(entries(&graph, Direction::In), expected(&edges, keep_duplicates, true));
            }
            let known = first.get_or_insert_with(|| bytes.clone());
            assert!(*known == bytes, "{threads} threads, {memory_bytes} bytes: other bytes");
        }
    }
}

/// What import should make of directed edges, whose ids are those of the graph once renumbered.
fn expected(edges: &[(u64, u64, i64)], keep: bool, turned: bool) -> Edges {
    let mut ids: Vec<u64> = edges.iter().flat_map(|(s, t, _)| [*s, *t]).collect();
    ids.sort();
    ids.dedup();
    let dense = |id: &u64| ids.binary_search(id).unwrap() as u32;
    let mut lists: BTreeMap<(u32, u32), Vec<i64>> = BTreeMap::new();
    for (source, target, weight) in edges.iter().filter(|(s, t, _)| s != t) {
        let pair = (dense(source), dense(target));
        let pair = if turned { (pair.1, pair.0) } else { pair };
        lists.entry(pair).or_default().push(*weight);
    }
    let mut all = Vec::new();
    for ((source, target), mut weights) in lists {
        weights.sort();
        weights.truncate(if keep { usize::MAX } else { 1 });
        all.extend(weights.iter().map(|&weight| (source, target, Weight::I64(weight))));
    }
    all
}

#[test]
fn unweighted_imports_of_weighted_files_stay_as_they_are() {
    let config = config(WeightType::F64).weights(None);
    let folder = tempfile::tempdir().unwrap();
    let weighted = input(&folder, "a.el", b"0 1 0.5\n1 2 x\n");
    let plain = InputSpec::with_format(input(&folder, "b.el", b"0 1\n1 2\n").path, Format::Edges);
    let bytes = |spec: &InputSpec| {
        let out = folder.path().join("g.cenote");
        let config = config.clone().overwrite(true);
        import(std::slice::from_ref(spec), &out, &config, &NoProgress).unwrap();
        std::fs::read(out).unwrap()
    };
    assert!(bytes(&weighted) == bytes(&plain));
}

#[test]
fn a_changed_weight_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let spec = input(&folder, "a.el", b"0 1 0.5\n1 2 3\n");
    import(&[spec], &out, &config(WeightType::F32), &NoProgress).unwrap();
    let mut bytes = std::fs::read(&out).unwrap();
    let page = open_checked(&out).weights(Direction::Out).unwrap().first_page() as usize;
    bytes[page * 4096 + 48] ^= 1;
    std::fs::write(&out, &bytes).unwrap();
    let graph = open(&out);
    let report = cenote_store::check(&graph, &mut |_, _| true).unwrap();
    let message = &report.faults[0].message;
    assert!(message.contains(&format!("page {page} (weights")), "{message}");
    let fault = graph.read_weights(Direction::Out, 0, &mut Vec::new()).unwrap_err();
    assert!(fault.to_string().contains("checksum"), "{fault}");
}
