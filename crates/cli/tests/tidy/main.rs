//! What a machine can check of the house's rules, it checks here.
//!
//! - [`archives`]: what is published is complete
//! - [`arrows`]: which room may use which, and that every dependency has its reason
//! - [`circles`]: files of a crate do not import each other
//! - [`configs`]: public configurations can get new fields
//! - [`source`]: sizes of files, lines and functions; words and paths that have no place
//! - [`links`]: documents point at files that exist
//!
//! Each rule is a function from text to faults, tested on text that breaks it, then run over the
//! whole tree.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod archives;
mod arrows;
mod circles;
mod configs;
mod links;
mod source;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files that git tracks or would track, relative to the root, with `/` between folders.
fn files() -> Vec<String> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the tree");
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let mut files: Vec<String> = String::from_utf8(listing.stdout)
        .expect("file names are UTF-8")
        .split_terminator('\0')
        .map(str::to_owned)
        .filter(|file| root().join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    assert!(files.iter().any(|file| file == "Cargo.toml"), "no Cargo.toml among {files:?}");
    files
}

/// The files with one of these endings, with their text.
fn texts(endings: &[&str]) -> impl Iterator<Item = (String, String)> {
    let endings: Vec<String> = endings.iter().map(|&ending| ending.to_owned()).collect();
    files().into_iter().filter(move |file| endings.iter().any(|e| file.ends_with(e))).map(|file| {
        let text = std::fs::read_to_string(root().join(&file)).expect("source is UTF-8");
        (file, text)
    })
}

/// Fails with one fault a line.
fn expect_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
