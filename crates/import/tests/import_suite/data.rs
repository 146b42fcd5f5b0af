//! Real graphs have their known counts. Skipped if the data is missing.

use std::path::PathBuf;

use cenote_import::{Format, ImportConfig, ImportReport, InputSpec, NoProgress, import};

/// The folder of real data, from `CENOTE_DATA` or beside the workspace.
fn data() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("CENOTE_DATA").map_or_else(|| beside.into(), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no real data at {} (set CENOTE_DATA)", folder.display());
    None
}

fn run(inputs: Vec<InputSpec>, directed: bool, loops: bool) -> ImportReport {
    let folder = tempfile::tempdir().unwrap();
    let config =
        ImportConfig::default().directed(directed).keep_self_loops(loops).memory_bytes(256 << 20);
    let report = import(&inputs, &folder.path().join("g.cenote"), &config, &NoProgress);
    report.unwrap_or_else(|error| panic!("{error}"))
}

/// Imports a file and demands its known numbers of vertices and edges.
#[track_caller]
fn assert_counts(name: &str, directed: bool, vertices: u64, edges: u64) {
    let Some(folder) = data() else { return };
    let report = run(vec![InputSpec::new(folder.join(name))], directed, true);
    assert_eq!((report.vertices, report.edges + report.duplicates), (vertices, edges), "{name}");
}

#[test]
fn debian_packages_have_names() {
    let Some(folder) = data() else { return };
    let spec = InputSpec::new(folder.join("debian/debian-depends.tsv.zst"));
    let report = run(vec![spec], true, false);
    assert_eq!((report.vertices, report.edges, report.ids), (64_245, 283_161, "string"));
}

#[test]
fn social_networks_have_their_known_counts() {
    for (name, vertices, edges) in [
        ("gowalla", 196_591, 950_327),
        ("deezer", 54_573, 498_202),
        ("email-Enron", 36_692, 183_831),
        ("movielens_1m", 9_746, 1_000_209),
        ("facebook-links", 63_731, 817_090),
    ] {
        assert_counts(&format!("social/{name}.txt.gz"), false, vertices, edges);
    }
    assert_counts("social/wiki-Vote.txt.zst", true, 7_115, 103_689);
    assert_counts("social/map-of-github-v1.el.zst", false, 451_508, 1_648_816);
    assert_counts("social/map-of-github-v2.el.zst", false, 689_517, 2_349_197);
}

#[test]
fn webs_roads_and_histories_have_their_known_counts() {
    assert_counts("web/cnr-2000.adj.zst", true, 325_557, 3_216_152);
    assert_counts("git/symfony.adj.zst", true, 1_345_825, 15_475_274);
    assert_counts("road/world_highways.e.zst", false, 560_282, 829_979);
    let Some(folder) = data() else { return };
    for (city, vertices, edges) in [
        ("amsterdam", 68_213, 76_718),
        ("delhi", 231_161, 279_192),
        ("moscow", 411_992, 451_135),
        ("rome", 234_496, 258_206),
        ("seattle", 148_463, 173_187),
    ] {
        let path = folder.join(format!("road/{city}-roads.gr.bin.zst"));
        let report = run(vec![InputSpec::with_format(path, Format::U32)], false, true);
        assert_eq!((report.vertices, report.input_edges), (vertices, edges), "{city}");
    }
}

#[test]
fn loops_of_the_web_are_counted() {
    let Some(folder) = data() else { return };
    let report = run(vec![InputSpec::new(folder.join("web/cnr-2000.adj.zst"))], true, false);
    assert_eq!(report.self_loops, 87_442);
    let report = run(vec![InputSpec::new(folder.join("road/world_highways.e.zst"))], false, false);
    assert_eq!(report.self_loops, 7_745);
}

#[test]
fn events_repeat_their_pairs() {
    assert_counts("temporal/sx-mathoverflow.txt.gz", true, 24_818, 506_550);
    assert_counts("temporal/CollegeMsg.txt.gz", true, 1_899, 59_835);
    assert_counts("temporal/higgs-activity_time.txt.gz", true, 304_691, 563_069);
}

#[test]
fn metis_files_have_the_counts_of_their_headers() {
    for (name, vertices, edges) in [
        ("karate", 34, 78),
        ("lesmis", 77, 254),
        ("jazz", 198, 2_742),
        ("power", 4_941, 6_594),
        ("4elt", 15_606, 45_878),
        ("airfoil1", 4_253, 12_289),
        ("wing", 62_032, 121_544),
        ("hep-th", 8_361, 15_751),
        ("astro-ph", 16_706, 121_251),
        ("PGPgiantcompo", 10_680, 24_316),
        ("celegans_metabolic", 453, 2_025),
        ("polblogs", 1_490, 16_715),
    ] {
        assert_counts(&format!("tiny/{name}.graph.zst"), false, vertices, edges);
    }
}
