//! Which room may use which.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::{expect_none, root};

/// Each room and the rooms it may use. This table is the architecture; ARCHITECTURE.md explains it.
const ROOMS: &[(&str, &[&str])] = &[
    ("device", &[]),
    ("workload", &[]),
    ("tier", &["device"]),
    ("pool", &["device"]),
    ("store", &["pool", "device"]),
    ("import", &["store", "pool", "device"]),
    ("engine", &["store", "pool", "device"]),
    ("algo", &["engine"]),
    ("cenote", &["device", "tier", "pool", "store", "import", "engine", "algo"]),
    ("replay", &["device", "pool", "tier", "workload", "cenote"]),
    (
        "cli",
        &[
            "device", "tier", "pool", "store", "import", "engine", "algo", "cenote", "workload",
            "replay",
        ],
    ),
    ("sim", &["device", "tier", "pool", "store", "import", "engine", "algo", "cenote", "workload"]),
    ("python", &["cenote", "replay"]),
];

/// What any room's tests may use besides: graphs to test on, and for algo the way to store them.
const TESTS_MAY_USE: &[&str] = &["workload", "store", "import", "device"];

const PREFIX: &str = "cenote-";

/// An arrow from a package to another of ours.
struct Arrow {
    from: String,
    to: String,
    for_tests: bool,
}

fn arrow_fault(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to, for_tests } = arrow;
    let Some((_, may_use)) = ROOMS.iter().find(|(room, _)| room == from) else {
        return Some(format!("{from}: the room is not in the table"));
    };
    let known = ROOMS.iter().any(|(room, _)| room == to);
    let allowed = may_use.contains(&to.as_str())
        || *for_tests && TESTS_MAY_USE.contains(&to.as_str()) && from != to;
    (!allowed || !known).then(|| format!("{from} -> {to}: the table has no such arrow"))
}

fn arrows(metadata: &Value) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let from = room(package["name"].as_str().expect("a name"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            if dependency["path"].is_string() {
                arrows.push(Arrow {
                    from: from.clone(),
                    to: room(dependency["name"].as_str().expect("a name")),
                    for_tests: dependency["kind"] == "dev",
                });
            }
        }
    }
    arrows
}

fn room(package: &str) -> String {
    package.strip_prefix(PREFIX).unwrap_or(package).to_owned()
}

pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("metadata is JSON")
}

#[test]
fn rooms_use_only_what_the_table_allows() {
    let arrows = arrows(&metadata());
    assert!(arrows.len() >= 4, "only {} arrows found", arrows.len());
    expect_none(&arrows.iter().filter_map(arrow_fault).collect::<Vec<_>>());
}

#[test]
fn every_package_is_a_room_of_its_own_name() {
    let metadata = metadata();
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = room(package["name"].as_str().expect("a name"));
        let folder = match name.as_str() {
            "python" => "python/Cargo.toml".to_owned(),
            name => format!("crates/{name}/Cargo.toml"),
        };
        let known = ROOMS.iter().any(|(room, _)| *room == name);
        if !known || !package["manifest_path"].as_str().is_some_and(|p| p.ends_with(&folder)) {
            faults.push(format!("{name}: not a room at {folder}"));
        }
    }
    expect_none(&faults);
}

#[test]
fn arrows_that_the_table_lacks_are_found() {
    let fault = |from: &str, to: &str, for_tests| {
        arrow_fault(&Arrow { from: from.into(), to: to.into(), for_tests }).is_some()
    };
    assert!(fault("device", "store", false));
    assert!(fault("workload", "device", false));
    assert!(fault("pool", "store", false));
    assert!(fault("algo", "store", false));
    assert!(fault("store", "engine", true));
    assert!(fault("attic", "device", false));
    assert!(!fault("store", "device", false));
    assert!(!fault("algo", "store", true));
    assert!(!fault("engine", "workload", true));
}

/// The names of `[workspace.dependencies]`, our own left out.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| !name.starts_with("cenote") && !name.starts_with('#'))
        .collect()
}

/// The first words of the rows of a table, where they are code.
fn rows(document: &str) -> BTreeSet<String> {
    document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn every_dependency_has_its_licence_and_reason_in_the_document() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect(file);
    let (used, listed) = (dependencies(&read("Cargo.toml")), rows(&read("docs/dependencies.md")));
    assert!(used.len() > 5, "{used:?}");
    let mut faults = Vec::new();
    faults
        .extend(used.difference(&listed).map(|name| format!("docs/dependencies.md lacks {name}")));
    faults.extend(listed.difference(&used).map(|name| format!("nothing depends on {name}")));
    expect_none(&faults);
}
