//! Traces of real systems. Skipped if they are missing.

use std::collections::HashSet;
use std::path::PathBuf;

use cenote_workload::page::PageLoad;
use cenote_workload::page::dense::Dense;
use cenote_workload::page::trace::{Trace, TraceFormat};

use super::read;

/// A file of the collection; `None`, with a message, without it.
fn real(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("CENOTE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = data.join("traces").join(name);
    if !path.exists() {
        println!("skipped: no {name}; CENOTE_DATA names the folder with traces/");
        return None;
    }
    Some(path)
}

/// Requests, accesses, writes and distinct pages of a trace.
fn counts(path: &std::path::Path, format: Option<TraceFormat>, page_bytes: u64) -> [u64; 4] {
    let mut dense = Dense::new(Trace::open(path, format, page_bytes).expect("opens"));
    let mut ops = 0;
    let writes =
        dense.by_ref().inspect(|_| ops += 1).filter(|op| op.as_ref().expect("valid").write);
    let writes = writes.count() as u64;
    assert_eq!(dense.ops(), Some(ops));
    [dense.inner().requests(), ops, writes, dense.pages_seen()]
}

#[test]
fn the_arc_traces_have_their_published_counts() {
    if let Some(path) = real("OLTP.lis.zst") {
        assert_eq!(counts(&path, None, 4096), [914_145, 914_145, 0, 186_880]);
    }
    if let Some(path) = real("P3.lis.zst") {
        assert_eq!(counts(&path, None, 4096), [238_578, 3_912_296, 0, 762_543]);
        let [requests, ops, _, pages] = counts(&path, Some(TraceFormat::ArcSectors), 4096);
        assert_eq!(requests, 238_578);
        assert!(ops * 4 < 3_912_296 && pages * 4 < 762_543, "{ops} accesses, {pages} pages");
    }
}

#[test]
fn the_cloudphysics_trace_has_its_counts() {
    let Some(path) = real("cloudPhysicsIO.csv.zst") else { return };
    let [requests, ops, writes, pages] = counts(&path, None, 4096);
    assert_eq!(requests, 113_872);
    assert!(ops > requests && writes > 0 && writes < ops && pages > 44_774);
    // The collection counts the page of each request's first byte, whatever its size.
    let file = std::fs::File::open(&path).expect("opens");
    let text = zstd::decode_all(file).expect("unpacks");
    let text = String::from_utf8(text).expect("text").replacen("size", "ignored", 1);
    let ops = read("a.csv", None, text).expect("valid");
    assert_eq!(ops.len(), 113_872);
    assert_eq!(ops.iter().map(|op| op.page).collect::<HashSet<_>>().len(), 44_774);
}

#[test]
fn the_lirs_traces_have_their_counts() {
    for (name, references, pages) in LIRS {
        let Some(path) = real(&format!("lirs/{name}.trace.gz")) else { return };
        let [requests, ops, writes, distinct] = counts(&path, None, 4096);
        assert_eq!([requests, ops, writes, distinct], [references, references, 0, pages], "{name}");
    }
}

/// References and distinct blocks, counted with standard tools.
const LIRS: [(&str, u64, u64); 4] = [
    ("2_pools", 100000, 9939),
    ("cs", 6781, 1409),
    ("loop", 505500, 1011),
    ("sprite", 133996, 7075),
];
