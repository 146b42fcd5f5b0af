//! Sets `CENOTE_VERSION`: the version, and the commit that it was built from where that is known.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit_of_archive().or_else(commit_of_checkout) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=CENOTE_VERSION={version}");
}

/// The commit that `cargo package` notes in an archive.
fn commit_of_archive() -> Option<String> {
    let notes = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = notes.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    shortened(commit)
}

/// The commit of the checkout in which this is `crates/cli`, and not a copy in another one.
fn commit_of_checkout() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != "crates/cli/" {
        return None;
    }
    // The log of the head gets a line with each commit and each checkout.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    shortened(&git(&["rev-parse", "HEAD"])?)
}

fn shortened(commit: &str) -> Option<String> {
    let is_hash = commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| commit[..12].to_owned())
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
