//! Published crates: their archives hold what a user needs, in an order in which they can be
//! published.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::arrows::metadata;
use crate::{expect_none, files, root};

/// Bytes of an archive at most.
const ARCHIVE_BYTES_MAX: u64 = 2 << 20;

/// What a manifest lacks of what a registry, or a reader of it, asks for.
fn manifest_faults(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().expect("a name");
    let mut faults = Vec::new();
    for field in ["description", "license", "readme", "documentation", "rust_version"] {
        if package[field].as_str().is_none_or(str::is_empty) {
            faults.push(format!("{name}: its manifest has no {field}"));
        }
    }
    for field in ["keywords", "categories"] {
        let words = package[field].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&words) {
            faults.push(format!("{name}: its manifest has {words} {field}, expected 1 to 5"));
        }
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        if dependency["path"].is_string() && dependency["req"] == "*" {
            faults.push(format!("{name}: {} has a path and no version", dependency["name"]));
        }
    }
    faults
}

/// Packages that depend on each other in a circle, tests included: none of them could be published
/// first.
fn unpublishable(packages: &[&Value]) -> Vec<String> {
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let own = package["dependencies"].as_array().into_iter().flatten();
        let own = own.filter(|dependency| dependency["path"].is_string());
        let names = own.filter_map(|dependency| dependency["name"].as_str()).collect();
        waiting.insert(package["name"].as_str().expect("a name"), names);
    }
    loop {
        let ready: Vec<&str> =
            waiting.iter().filter(|(_, needs)| needs.is_empty()).map(|(name, _)| *name).collect();
        if ready.is_empty() {
            return waiting.keys().map(|name| format!("{name}: waits for others")).collect();
        }
        waiting.retain(|name, _| !ready.contains(name));
        waiting.values_mut().for_each(|needs| needs.retain(|name| !ready.contains(name)));
    }
}

/// Packs all published packages without building them.
fn pack(folder: &Path) {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--workspace", "--exclude", "cenote-sim", "--exclude", "cenote-python"])
        .arg("--no-verify")
        .args(["--locked", "--offline", "--allow-dirty", "--target-dir"])
        .arg(folder)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The files in an archive, relative to the folder of the package.
fn packed(archive: &Path) -> BTreeSet<String> {
    let output = Command::new("tar").arg("-tzf").arg(archive).output().expect("tar runs");
    assert!(output.status.success(), "{}: not an archive", archive.display());
    let names = String::from_utf8(output.stdout).expect("names are UTF-8");
    names.lines().filter_map(|name| name.split_once('/')).map(|(_, file)| file.into()).collect()
}

/// What a package needs in its archive: sources, examples, and what these include.
fn needed(room: &str) -> BTreeSet<String> {
    let folder = format!("crates/{room}/");
    let own = files();
    let own = own.iter().filter_map(|file| file.strip_prefix(&folder));
    let parts = ["src/", "examples/", "benches/", "data/"];
    let part = |file: &&str| parts.iter().any(|part| file.starts_with(part));
    let mut needed: BTreeSet<String> = own.filter(part).map(str::to_owned).collect();
    needed.extend(["README.md", "LICENSE-APACHE", "LICENSE-MIT", "Cargo.toml"].map(str::to_owned));
    needed
}

#[test]
fn published_crates_are_whole_small_and_in_order() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let published: Vec<&Value> = packages.filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() > 5, "only {} packages are published", published.len());
    let mut faults = unpublishable(&published);
    let folder = tempfile::tempdir().unwrap();
    pack(folder.path());
    for package in published {
        faults.extend(manifest_faults(package));
        let (name, version) = (package["name"].as_str().unwrap(), &package["version"]);
        let file = format!("package/{name}-{}.crate", version.as_str().unwrap());
        let archive = folder.path().join(file);
        let room = name.strip_prefix("cenote-").unwrap_or(name);
        let (needed, packed) = (needed(room), packed(&archive));
        faults.extend(needed.difference(&packed).map(|file| format!("{name}: lacks {file}")));
        let tests = packed.iter().filter(|file| file.starts_with("tests/"));
        faults.extend(tests.map(|file| format!("{name}: {file} needs the whole workspace")));
        let bytes = archive.metadata().unwrap().len();
        if bytes > ARCHIVE_BYTES_MAX {
            faults.push(format!("{name}: its archive has {bytes} bytes"));
        }
    }
    expect_none(&faults);
}

#[test]
fn manifests_that_lack_something_and_circles_are_found() {
    let package = |name: &str, needs: &str, req: &str| {
        let dependencies = serde_json::json!([{ "name": needs, "path": "/x", "req": req }]);
        serde_json::json!({ "name": name, "dependencies": dependencies, "keywords": ["a"] })
    };
    let faults = manifest_faults(&package("a", "b", "*")).join("\n");
    for words in ["no readme", "no license", "categories", "no version"] {
        assert!(faults.contains(words), "{words} is missing in\n{faults}");
    }
    assert!(!faults.contains("keywords"), "{faults}");
    let (a, b) = (package("a", "b", "^1"), package("b", "a", "^1"));
    assert_eq!(unpublishable(&[&a, &b]).len(), 2);
    let alone = serde_json::json!({ "name": "b", "dependencies": [] });
    assert_eq!(unpublishable(&[&a, &alone]).len(), 0);
}
