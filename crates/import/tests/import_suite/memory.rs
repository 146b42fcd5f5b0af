//! Edges in memory give the same graph, to the byte, as the same edges from a file.

use std::path::Path;

use cenote_import::{
    Edge, Edges, FileWorkspace, IdKind, ImportConfig, ImportReport, Input, InputSpec, NoProgress,
    Vertices, import, import_edges,
};
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::{Order, WeightType};

use crate::oracle::file;

fn edges() -> Vec<(u64, u64)> {
    (0..25_000u64).map(|i| (i * i % 4999, i * 31 % 5003)).collect()
}

fn run(
    inputs: &[Input<'_>],
    out: &Path,
    config: &ImportConfig,
) -> cenote_import::Result<ImportReport> {
    let workspace = FileWorkspace::new(out, &[], None, true)?;
    import_edges(inputs, &workspace, config, &NoProgress)
}

/// The graphs of these edges in a text file, as a slice and as an iterator.
#[track_caller]
fn assert_alike<E: Edge + Sync + Clone + Send>(text: &str, edges: &[E], config: &ImportConfig) {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt", text.as_bytes());
    let out = folder.path().join("g.cenote");
    let config = config.clone().overwrite(true);
    import(&[spec], &out, &config, &NoProgress).unwrap();
    let expected = std::fs::read(&out).unwrap();
    for (source, name) in [
        (Edges::slice(edges), "slice"),
        (Edges::iter(edges), "iterator"),
        (Edges::iter(edges.to_vec()), "owned"),
    ] {
        run(&[source.into()], &out, &config).unwrap();
        assert!(std::fs::read(&out).unwrap() == expected, "{name}");
    }
}

fn text<T: std::fmt::Display>(edges: &[(T, T)]) -> String {
    edges.iter().map(|(source, target)| format!("{source} {target}\n")).collect()
}

#[test]
fn integers_of_any_width_are_those_of_the_file() {
    let wide = edges();
    let narrow: Vec<(u32, u32)> = wide.iter().map(|&(s, t)| (s as u32, t as u32)).collect();
    let signed: Vec<(i64, i64)> = wide.iter().map(|&(s, t)| (s as i64, t as i64)).collect();
    for (directed, memory_bytes) in [(true, 16 << 20), (false, 64 << 20)] {
        let config = ImportConfig::default()
            .directed(directed)
            .in_edges(directed)
            .memory_bytes(memory_bytes);
        assert_alike(&text(&wide), &wide, &config);
        assert_alike(&text(&wide), &narrow, &config);
        assert_alike(&text(&wide), &signed, &config);
        let ordered = config.clone().order(Order::Degree);
        assert_alike(&text(&wide), &wide, &ordered);
        assert_alike(&text(&wide), &wide, &config.ids(IdKind::String));
    }
}

#[test]
fn strings_are_those_of_the_file_and_stay_strings_if_all_of_them_are_numbers() {
    let config = ImportConfig::default().memory_bytes(16 << 20);
    let digits: Vec<(String, String)> =
        edges().iter().map(|(s, t)| (s.to_string(), t.to_string())).collect();
    let integers = config.clone().ids(IdKind::Integer);
    assert_alike(&text(&digits), &digits, &integers);
    let folder = tempfile::tempdir().unwrap();
    let kind = |config: &ImportConfig, input: Input<'_>| {
        let out = folder.path().join("kinds.cenote");
        let report = run(&[input], &out, &config.clone().overwrite(true)).unwrap();
        (report.ids, report.vertices)
    };
    let padded = [("007", "7"), ("7", "8")];
    assert_eq!(kind(&config, Edges::slice(&padded).into()), ("string", 3));
    assert_eq!(kind(&integers, Edges::slice(&padded).into()), ("integer", 2));
    assert_eq!(kind(&config, Vertices::iter(["1", "01"]).into()), ("string", 2));
    // Text does not say what it has.
    let in_text = file(&folder, "padded.txt", text(&padded).as_bytes());
    assert_eq!(kind(&config, in_text.into()), ("integer", 2));
    let mut mixed = digits.clone();
    mixed.push(("a name".replace(' ', "-"), "7".to_owned()));
    assert_alike(&text(&mixed), &mixed, &config);
    let borrowed: Vec<(&str, &str)> = mixed.iter().map(|(s, t)| (s.as_str(), t.as_str())).collect();
    assert_alike(&text(&mixed), &borrowed, &config);
}

#[test]
fn weights_are_those_of_the_file() {
    let weighted: Vec<(u64, u64, f64)> =
        edges().iter().map(|&(s, t)| (s, t, (s + 3 * t) as f64 / 7.0)).collect();
    let text: String = weighted.iter().map(|(s, t, w)| format!("{s} {t} {w}\n")).collect();
    for kind in [WeightType::F32, WeightType::F64] {
        let config = ImportConfig::default().weights(Some(kind));
        assert_alike(&text, &weighted, &config);
    }
    let names: Vec<(String, String, f64)> =
        weighted.iter().map(|(s, t, w)| (format!("n{s}"), format!("n{t}"), *w)).collect();
    let text: String = names.iter().map(|(s, t, w)| format!("{s} {t} {w}\n")).collect();
    let config = ImportConfig::default().weights(Some(WeightType::F64));
    assert_alike(&text, &names, &config);
}

#[test]
fn edges_in_memory_and_in_files_make_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let all = edges();
    let (one, two) = all.split_at(10_000);
    let out = folder.path().join("g.cenote");
    let config = ImportConfig::default().overwrite(true);
    import(&[file(&folder, "a.txt", text(&all).as_bytes())], &out, &config, &NoProgress).unwrap();
    let expected = std::fs::read(&out).unwrap();
    let half = file(&folder, "b.txt", text(two).as_bytes());
    let inputs = [Edges::iter(one.iter()).into(), InputSpec::into(half)];
    run(&inputs, &out, &config).unwrap();
    assert!(std::fs::read(&out).unwrap() == expected);
}

#[test]
fn an_edge_that_is_none_is_named_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let message = |edges: Edges<'_>, config: &ImportConfig| {
        run(&[edges.named("the trips").into()], &out, config).unwrap_err().to_string()
    };
    let plain = ImportConfig::default();
    let negative = message(Edges::slice(&[(1i64, 2i64), (3, -4)]), &plain);
    assert!(negative.contains("the trips: row 2") && negative.contains("-4"), "{negative}");
    let empty = message(Edges::iter([("a", "b"), ("c", "")]), &plain);
    assert!(empty.contains("the trips: row 2") && empty.contains("1 to 65535"), "{empty}");
    let weighted = ImportConfig::default().weights(Some(WeightType::F32));
    let nan = message(Edges::slice(&[(1, 2, 0.5), (3, 4, f64::NAN)]), &weighted);
    assert!(nan.contains("row 2") && nan.contains("weight"), "{nan}");
    assert!(message(Edges::slice(&[(1, 2)]), &weighted).contains("`weights`"));
}

#[test]
fn an_iterator_is_imported_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [Edges::iter([(1u32, 2u32)]).into()];
    let config = ImportConfig::default();
    run(&inputs, &folder.path().join("a"), &config).unwrap();
    let error = run(&inputs, &folder.path().join("b"), &config).unwrap_err().to_string();
    assert!(error.contains("only once"), "{error}");
}

#[test]
#[should_panic(expected = "the iterator fails")]
fn a_panic_of_an_iterator_ends_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let edges = (0..100_000u32).map(|i| {
        assert!(i < 90_000, "the iterator fails");
        (i, i / 2)
    });
    let _ = run(&[Edges::iter(edges).into()], &folder.path().join("a"), &ImportConfig::default());
}

#[test]
fn edges_are_spilled_only_as_far_as_they_do_not_fit() {
    check_spilled(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_edges_are_spilled_only_as_far_as_they_do_not_fit() {
    check_spilled(true);
}

/// Imports every input into every memory as graphs of both kinds, or as one of them in turn.
fn check_spilled(is_long: bool) {
    let folder = tempfile::tempdir().unwrap();
    let edges: Vec<(u64, u64)> =
        (0..200_000u64).map(|i| (i * i % 49_999, i * 31 % 50_003)).collect();
    let text = file(&folder, "a.txt", text(&edges).as_bytes());
    let pairs: Vec<u8> = edges.iter().flat_map(|&(s, t)| (s | t << 32).to_le_bytes()).collect();
    let pairs = file(&folder, "a.u32", &pairs);
    let out = folder.path().join("g.cenote");
    let mut known: Option<Vec<u8>> = None;
    for (i, spec) in [text, pairs].into_iter().enumerate() {
        let budgets = [(256 << 20, 0), (10 << 20, 15 << 20), (9 << 20, 15 << 20)];
        for (j, (memory_bytes, most)) in budgets.into_iter().enumerate() {
            let is_chosen = |directed: &bool| is_long || *directed == ((i + j) % 2 == 1);
            for directed in [false, true].into_iter().filter(is_chosen) {
                let config = ImportConfig::default()
                    .overwrite(true)
                    .directed(directed)
                    .in_edges(directed)
                    .hub_neighbours(HubNeighboursChoice::No)
                    .threads(2)
                    .memory_bytes(memory_bytes);
                let report = import(&[InputSpec::clone(&spec)], &out, &config, &NoProgress);
                let report = report.unwrap();
                assert!(report.spill_bytes <= most && (most == 0 || report.spill_bytes > 0));
                assert!(report.peak_memory_bytes <= memory_bytes as u64);
                if !directed {
                    let graph = std::fs::read(&out).unwrap();
                    assert!(*known.get_or_insert_with(|| graph.clone()) == graph, "{config:?}");
                }
            }
        }
    }
}
