//! Documents point at files that exist.

use std::path::Path;

use crate::{expect_none, root, texts};

/// The targets of the links in a Markdown text, code left out.
fn targets(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        // Every second piece between backticks is code.
        let prose = line.split('`').step_by(2).filter(|_| !in_code);
        // A link around code, [`x`](y), leaves `](y)` at the start of a piece of prose.
        targets.extend(prose.flat_map(|piece| {
            piece.match_indices("](").filter_map(|(at, _)| piece[at + 2..].split(')').next())
        }));
    }
    targets
}

fn link_faults(file: &str, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    targets(text)
        .into_iter()
        .filter(|target| !target.contains("://") && !target.starts_with(['#', '<']))
        .filter(|target| !target.starts_with("mailto:"))
        .map(|target| target.split(['#', ' ']).next().unwrap_or(target))
        .filter(|target| target.starts_with('/') || !exists(&folder.join(target)))
        .map(|target| format!("{file}: links to {target}, which does not exist"))
        .collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let root = root();
    let exists = |path: &Path| root.join(path).exists();
    let faults: Vec<String> =
        texts(&[".md"]).flat_map(|(file, text)| link_faults(&file, &text, exists)).collect();
    expect_none(&faults);
}

#[test]
fn broken_links_are_found() {
    let text = "[a](b.md) [c](https://x.y) [`d`](e/f.md#g) `[h](i.md)`\n```\n[j](k)\n```\n[l](#m)";
    assert_eq!(targets(text), ["b.md", "https://x.y", "e/f.md#g", "#m"]);
    assert_eq!(link_faults("docs/a.md", text, |path| path == Path::new("docs/b.md")).len(), 1);
    assert_eq!(link_faults("docs/a.md", text, |_| true).len(), 0);
    assert_eq!(link_faults("a.md", "[x](/etc/passwd)", |_| true).len(), 1);
}
