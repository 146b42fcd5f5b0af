//! Random graphs: the same result for all threads, budgets and formats.

use std::fmt::Write;

use cenote_import::{Format, ImportConfig, InputSpec, NoProgress, import};
use cenote_store::Order;
use cenote_store::format::Codec;
use proptest::prelude::*;

use crate::oracle::{Id, assert_imports, file, integers, tight};

/// How outer ids are made of small numbers.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Dense,
    Spaced,
    Scattered,
    Names,
}

fn id(shape: Shape, number: u64) -> Id {
    match shape {
        Shape::Dense => Id::Integer(number),
        Shape::Spaced => Id::Integer(number * 70_001 + 3),
        Shape::Scattered => Id::Integer(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        Shape::Names => {
            Id::Name(format!("n{}", number.wrapping_mul(0x9e37_79b9) % 9973).into_bytes())
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::Dense), Just(Shape::Spaced), Just(Shape::Scattered), Just(Shape::Names)]
}

fn orders() -> impl Strategy<Value = Order> {
    let random = any::<u64>().prop_map(|seed| Order::Random { seed });
    prop_oneof![
        Just(Order::Natural),
        Just(Order::Degree),
        Just(Order::Bfs),
        Just(Order::Cluster),
        random
    ]
}

fn configs() -> impl Strategy<Value = ImportConfig> {
    let shapes = (1usize..4, 0u32..3, 20usize..28);
    (any::<[bool; 5]>(), shapes, orders()).prop_map(|(flags, (threads, page, log), order)| {
        ImportConfig::default()
            .order(order)
            .codec(if flags[4] { Codec::Packed } else { Codec::Raw })
            .directed(flags[0])
            .in_edges(flags[0] && flags[1])
            .keep_duplicates(flags[2])
            .keep_self_loops(flags[3])
            .threads(threads)
            .page_bytes(4096 << page)
            .memory_bytes((16 << 20) + (1 << log))
    })
}

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::Edges),
        Just(Format::Csv),
        Just(Format::Tsv),
        Just(Format::Adjacency),
        Just(Format::U64)
    ]
}

fn write(format: Format, edges: &[(Id, Id)]) -> Vec<u8> {
    let separator = match format {
        Format::Csv => ",",
        Format::Tsv => "\t",
        _ => " ",
    };
    let mut text = String::new();
    if matches!(format, Format::Csv | Format::Tsv) {
        writeln!(text, "source{separator}target").unwrap();
    }
    let mut binary = Vec::new();
    for (source, target) in edges {
        if let (Format::U64, Id::Integer(s), Id::Integer(t)) = (format, source, target) {
            binary.extend([s.to_le_bytes(), t.to_le_bytes()].concat());
        } else {
            writeln!(text, "{}{separator}{}", source.text(), target.text()).unwrap();
        }
    }
    if format == Format::U64 { binary } else { text.into_bytes() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_random_graph_is_what_the_oracle_says(
        pairs in prop::collection::vec((0u64..60, 0u64..60), 1..400),
        shape in shapes(),
        format in formats(),
        config in configs(),
    ) {
        assert_graph(&pairs, shape, format, &config);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "long: make soak"]
    fn longer_a_random_graph_is_what_the_oracle_says(
        pairs in prop::collection::vec((0u64..60, 0u64..60), 1..400),
        shape in shapes(),
        format in formats(),
        config in configs(),
    ) {
        assert_graph(&pairs, shape, format, &config);
    }
}

fn assert_graph(pairs: &[(u64, u64)], shape: Shape, format: Format, config: &ImportConfig) {
    let binary_names = format == Format::U64 && matches!(shape, Shape::Names);
    let format = if binary_names { Format::Edges } else { format };
    let edges: Vec<(Id, Id)> = pairs.iter().map(|&(s, t)| (id(shape, s), id(shape, t))).collect();
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "input", &write(format, &edges));
    let spec = InputSpec { format: Some(format), ..spec };
    assert_imports(&[spec], config, &edges, &[]);
}

/// Edges with a hub at both ends, repeats and loops.
fn skewed(count: u64) -> Vec<(u64, u64)> {
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    (0..count)
        .map(|i| match i % 4 {
            0 => (17, next(200_000)),
            1 => (next(200_000), 17),
            2 => (next(50), next(50)),
            _ => (next(200_000), next(200_000)),
        })
        .collect()
}

#[test]
fn the_file_depends_neither_on_threads_nor_on_memory_nor_on_order() {
    check_one_file(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_the_file_depends_neither_on_threads_nor_on_memory_nor_on_order() {
    check_one_file(true);
}

/// Imports graphs of both kinds from each input with each number of threads, or from one half of
/// them each: the one with the most memory is in both.
fn check_one_file(is_long: bool) {
    let folder = tempfile::tempdir().unwrap();
    let edges = skewed(250_000);
    let text = |edges: &[(u64, u64)]| {
        let mut text = String::new();
        edges.iter().for_each(|(s, t)| writeln!(text, "{s} {t}").unwrap());
        text.into_bytes()
    };
    let forward = file(&folder, "a.txt", &text(&edges));
    let turned: Vec<(u64, u64)> = edges.iter().rev().copied().collect();
    let backward = file(&folder, "b.txt", &text(&turned));
    let pairs: Vec<u8> =
        edges.iter().flat_map(|&(s, t)| [s as u32, t as u32]).flat_map(u32::to_le_bytes).collect();
    let binary = file(&folder, "c.u32", &pairs);
    for directed in [true, false] {
        let config = ImportConfig::default().directed(directed).in_edges(directed);
        let mut files = Vec::new();
        let all = [
            (&forward, 1, 1 << 30),
            (&forward, 3, 10 << 20),
            (&forward, 2, 20 << 20),
            (&backward, 2, 64 << 20),
            (&binary, 4, 32 << 20),
            (&binary, 1, 10 << 20),
        ];
        let is_chosen = |at: usize| is_long || at == 0 || at.is_multiple_of(2) == directed;
        let chosen = all.into_iter().enumerate().filter(|(at, _)| is_chosen(*at));
        for (_, (spec, threads, memory)) in chosen {
            let out = folder.path().join("out.cenote");
            let config = config.clone().threads(threads).memory_bytes(memory).overwrite(true);
            let report = import(std::slice::from_ref(spec), &out, &config, &NoProgress).unwrap();
            assert!(report.spill_bytes > 0 || memory > 10 << 20, "the budget is too large");
            files.push(std::fs::read(&out).unwrap());
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "directed {directed}");
    }
}

#[test]
fn hubs_repeats_and_loops_survive_a_tight_budget() {
    import_hubs(80_000);
}

#[test]
#[ignore = "long: make soak"]
fn longer_hubs_repeats_and_loops_survive_a_tight_budget() {
    import_hubs(400_000);
}

fn import_hubs(edges: u64) {
    let folder = tempfile::tempdir().unwrap();
    let edges = skewed(edges);
    let pairs: Vec<u8> =
        edges.iter().flat_map(|&(s, t)| [s, t]).flat_map(u64::to_le_bytes).collect();
    let spec = file(&folder, "a.u64", &pairs);
    for keep in [true, false] {
        let config = ImportConfig::default()
            .directed(keep)
            .in_edges(keep)
            .keep_duplicates(keep)
            .keep_self_loops(keep)
            .threads(3);
        assert_imports(std::slice::from_ref(&spec), &tight(config), &integers(&edges), &[]);
    }
}

#[test]
fn one_edge_repeated_beyond_all_buffers_is_one_edge() {
    let folder = tempfile::tempdir().unwrap();
    let mut edges = vec![(5u64, 9u64); 600_000];
    edges.extend([(1, 2), (5, 8), (9, 9), (9, 9)]);
    let pairs: Vec<u8> =
        edges.iter().flat_map(|&(s, t)| [s as u32, t as u32]).flat_map(u32::to_le_bytes).collect();
    let spec = file(&folder, "a.u32", &pairs);
    for (directed, keep) in [(true, false), (false, false), (true, true)] {
        let config = ImportConfig::default()
            .directed(directed)
            .in_edges(directed)
            .keep_duplicates(keep)
            .keep_self_loops(keep)
            .threads(2);
        assert_imports(std::slice::from_ref(&spec), &tight(config), &integers(&edges), &[]);
    }
}
