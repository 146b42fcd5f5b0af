//! Sets whose members are not what they should be: one clear line that names the file.

use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_tier::device::{TierPart, TieredDevice};
use tempfile::TempDir;

use crate::oracle;
use crate::support::{self, BLOCK};

const SLOTS: [u64; 3] = [4, 8, 40];
const BLOCKS: u64 = 30;

fn device(directory: &TempDir, name: &str) -> Arc<dyn Device> {
    let options = OpenOptions::creating().backend(BackendChoice::Threads);
    file::open(&directory.path().join(name), &options).unwrap()
}

/// A map, three tiers, and blocks on all of them.
fn set(id: u8) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let parts = (0..3).map(|at| TierPart {
        device: device(&directory, &format!("tier{at}")),
        name: format!("tier{at}"),
        capacity_bytes: support::capacity(SLOTS[at]),
    });
    let config = support::config(4).id([id; 16]);
    let set = TieredDevice::create(device(&directory, "map"), parts.collect(), &config).unwrap();
    for block in 0..BLOCKS {
        oracle::write(&set, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    set.sync().unwrap();
    directory
}

fn open(directory: &TempDir, tiers: &[&str]) -> Result<TieredDevice, String> {
    let tiers = tiers.iter().map(|name| device(directory, name)).collect();
    TieredDevice::open(device(directory, "map"), tiers).map_err(|error| error.to_string())
}

/// It is refused in one line that names the file and says all of these.
fn refused(directory: &TempDir, file: &str, words: &[&str]) {
    let line = open(directory, &["tier0", "tier1", "tier2"]).expect_err("it is not the set");
    let path = directory.path().join(file).display().to_string();
    assert!(line.contains(&path) && !line.contains('\n'), "{line}");
    for part in words {
        assert!(line.contains(part), "'{part}' is not in: {line}");
    }
}

fn copy(from: &TempDir, to: &TempDir, from_name: &str, to_name: &str) {
    std::fs::copy(from.path().join(from_name), to.path().join(to_name)).unwrap();
}

fn resize(directory: &TempDir, name: &str, bytes: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(directory.path().join(name)).unwrap();
    file.set_len(bytes).unwrap();
}

fn overwrite(directory: &TempDir, name: &str, ranges: &[std::ops::Range<usize>]) {
    let path = directory.path().join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    for range in ranges {
        bytes[range.clone()].fill(0x5a);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_set_that_is_whole_opens() {
    assert_eq!(open(&set(1), &["tier0", "tier1", "tier2"]).unwrap().blocks(), BLOCKS as u32);
}

#[test]
fn a_tier_that_is_missing_or_empty_or_no_tier_is_named() {
    let found = set(1);
    std::fs::remove_file(found.path().join("tier1")).unwrap();
    refused(&found, "tier1", &["too short", "it should be tier tier1", "put back"]);
    std::fs::write(found.path().join("tier1"), vec![7; 100_000]).unwrap();
    refused(&found, "tier1", &["no member of a set", "tier1", "put back"]);
    let line = open(&found, &["tier0", "tier2"]).unwrap_err();
    assert!(line.contains("2 given, the graph has 3"), "{line}");
}

#[test]
fn a_tier_of_another_graph_or_import_is_named() {
    let (found, other) = (set(1), set(2));
    copy(&other, &found, "tier1", "tier1");
    refused(&found, "tier1", &["of another graph, or of an earlier import", "put back", "tier1"]);
    copy(&other, &found, "map", "tier1");
    refused(&found, "tier1", &["the map of the tiers of another graph", "put back"]);
}

#[test]
fn tiers_in_each_others_places_are_named() {
    let found = set(1);
    let line = open(&found, &["tier1", "tier0", "tier2"]).unwrap_err();
    assert!(line.contains("it is tier tier1, where tier tier0 is expected"), "{line}");
    copy(&found, &found, "map", "tier2");
    refused(&found, "tier2", &["it is the map of the tiers", "tier2 is expected"]);
    copy(&found, &found, "tier0", "map");
    refused(&found, "map", &["it is the tier tier0 of a graph, not the graph"]);
}

#[test]
fn a_tier_that_was_cut_is_named() {
    for tier in ["tier0", "tier1", "tier2"] {
        let found = set(1);
        let bytes = std::fs::metadata(found.path().join(tier)).unwrap().len();
        // The files grow ahead of their blocks.
        let needed = (64 << 10) + BLOCK;
        assert!(bytes >= needed);
        for len in [0, 4096, 40_000, 64 << 10] {
            resize(&found, tier, len);
            refused(&found, tier, &["put back"]);
        }
    }
}

#[test]
fn a_map_that_was_cut_is_named() {
    let found = set(1);
    let bytes = std::fs::metadata(found.path().join("map")).unwrap().len();
    for len in [bytes - 4096, 60_000, 32 << 10] {
        resize(&found, "map", len);
        refused(&found, "map", &["it was cut"]);
    }
    for len in [4096, 0] {
        resize(&found, "map", len);
        refused(&found, "map", &["too short"]);
    }
}

#[test]
fn one_header_may_be_damaged_and_two_are_an_error() {
    for member in ["map", "tier0", "tier2"] {
        let (found, first, second) = (set(1), 100..200, (16 << 10) + 20..(16 << 10) + 21);
        overwrite(&found, member, std::slice::from_ref(&first));
        assert!(open(&found, &["tier0", "tier1", "tier2"]).is_ok(), "{member}");
        overwrite(&found, member, &[first, second]);
        refused(&found, member, &["its header is damaged"]);
    }
}

#[test]
fn a_newer_version_is_an_error() {
    let found = set(1);
    let path = found.path().join("tier1");
    let mut bytes = std::fs::read(&path).unwrap();
    for at in [12, (16 << 10) + 12] {
        bytes[at] = 9;
    }
    std::fs::write(path, bytes).unwrap();
    refused(&found, "tier1", &["format version 9, this program knows 2: update cenote"]);
}

#[test]
fn one_page_of_a_generation_may_be_damaged_and_two_are_reported() {
    for member in ["tier0", "tier2"] {
        let (found, first, second) = (set(1), 32_768..32_800, 36_864..36_870);
        overwrite(&found, member, std::slice::from_ref(&first));
        assert!(open(&found, &["tier0", "tier1", "tier2"]).is_ok(), "{member}");
        overwrite(&found, member, &[first, second]);
        refused(&found, member, &["generation are damaged", "put back"]);
    }
}

#[test]
fn an_older_map_names_itself_and_the_tier_that_is_newer() {
    let found = set(1);
    std::fs::copy(found.path().join("map"), found.path().join("backup")).unwrap();
    let device = open(&found, &["tier0", "tier1", "tier2"]).unwrap();
    oracle::write(&device, 0, BLOCK as usize, 2).unwrap();
    device.sync().unwrap();
    drop(device);
    copy(&found, &found, "backup", "map");
    refused(&found, "map", &["older copy (generation 1)", "tier0 (generation 2)", "put back all"]);
}
