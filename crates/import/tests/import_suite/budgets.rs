//! The budget that a refused import names suffices, and is not far from what it needs.

use std::collections::BTreeSet;

use cenote_import::{
    Edges, FileWorkspace, IdKind, ImportConfig, ImportError, ImportReport, Input, NoProgress,
    import_edges,
};
use cenote_store::format::Codec;
use cenote_store::{Order, WeightType};

use crate::oracle::file;

const GIVEN: [usize; 5] = [1 << 10, 1 << 20, 2 << 20, 4 << 20, 6 << 20];

fn run(input: &Input<'_>, config: &ImportConfig) -> cenote_import::Result<ImportReport> {
    let folder = tempfile::tempdir().unwrap();
    let workspace = FileWorkspace::new(&folder.path().join("g.cenote"), &[], None, true)?;
    import_edges(std::slice::from_ref(input), &workspace, config, &NoProgress)
}

/// The budget that an import with `given` bytes names, or `None` if it runs.
fn named(input: &Input<'_>, config: &ImportConfig, given: usize) -> Option<usize> {
    match run(input, &config.clone().memory_bytes(given)) {
        Ok(_) => None,
        Err(ImportError::Memory { needed, .. }) => Some(needed),
        Err(other) => panic!("{given}: {other}"),
    }
}

/// Follows what the import names for small budgets. It runs with that, not with two thirds of it.
#[track_caller]
fn assert_named_suffices(name: &str, input: &Input<'_>, config: &ImportConfig) {
    assert_named_is_near(name, input, config, |needed| needed * 2 / 3 - 1);
}

/// Follows what the import names for small budgets. It runs with that, not with `less` of it.
#[track_caller]
fn assert_named_is_near(
    name: &str,
    input: &Input<'_>,
    config: &ImportConfig,
    less: impl Fn(usize) -> usize,
) {
    // Most small budgets name the same one, which is tried once.
    let mut tried = BTreeSet::new();
    for given in GIVEN {
        let Some(needed) = named(input, config, given) else { continue };
        assert!(needed > given, "{name}: {given} -> {needed}");
        if !tried.insert(needed) {
            continue;
        }
        assert_eq!(named(input, config, needed), None, "{name}: {given} -> {needed}");
        let less = less(needed);
        assert!(named(input, config, less).is_some(), "{name}: {given} -> {needed}, {less} runs");
    }
}

fn config() -> ImportConfig {
    ImportConfig::default().threads(2)
}

fn edges(count: u64, vertices: u64) -> Vec<(u64, u64)> {
    (0..count).map(|i| (i * i % (vertices - 1), i * 31 % vertices)).collect()
}

#[test]
fn the_budget_that_a_small_import_names_suffices() {
    let folder = tempfile::tempdir().unwrap();
    let two = file(&folder, "two.txt", b"1 2\n2 3\n").into();
    assert_named_suffices("two edges", &two, &config());
    let names = file(&folder, "names.txt", b"ada bob\nbob cem\n").into();
    assert_named_suffices("names", &names, &config());
    let packed = config().codec(Codec::Packed);
    assert_named_suffices("packed", &names, &packed.clone().threads(1).ids(IdKind::String));
    assert_named_suffices("packed, large pages", &two, &packed.page_bytes(1 << 16));
    let weights = file(&folder, "weights.txt", b"1 2 0.5\n2 3 1\n").into();
    assert_named_suffices("weights", &weights, &config().weights(Some(WeightType::F64)));
    assert_named_suffices("in-edges", &two, &config().directed(true).in_edges(true));
}

/// Follows the budgets that imports of so many edges name.
fn check_many_edges(count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let edges = edges(count, 50_000);
    let pairs: Vec<u8> =
        edges.iter().flat_map(|&(s, t)| [s as u32, t as u32]).flat_map(u32::to_le_bytes).collect();
    let pairs = file(&folder, "a.u32", &pairs).into();
    assert_named_suffices("pairs", &pairs, &config());
    assert_named_suffices("degrees", &pairs, &config().order(Order::Degree));
    let text: String = edges.iter().map(|(s, t)| format!("{s}\t{t}\n")).collect();
    let text = file(&folder, "a.tsv", text.as_bytes()).into();
    assert_named_suffices("text", &text, &config());
    let names: String = edges.iter().map(|(s, t)| format!("name-{s}\tname-{t}\n")).collect();
    let names = file(&folder, "names.tsv", names.as_bytes()).into();
    assert_named_suffices("names", &names, &config());
    assert_named_suffices("slice", &Edges::slice(&edges).into(), &config());
}

#[test]
fn the_budget_that_many_edges_name_suffices() {
    check_many_edges(70_000);
}

#[test]
#[ignore = "long: make soak"]
fn longer_the_budget_that_many_edges_name_suffices() {
    check_many_edges(400_000);
}

#[test]
fn the_budget_that_sparse_ids_name_suffices() {
    let sparse: Vec<(u64, u64)> = (0..200_000u64).map(|i| (i << 30, (i * 7) << 33)).collect();
    for count in [5, 1_000, 200_000] {
        let sparse = Edges::slice(&sparse[..count]).into();
        // How much the runs of ids take depends on their order.
        assert_named_is_near(&format!("{count} sparse"), &sparse, &config(), |needed| needed / 2);
    }
}
