//! Configurations can get new fields without breaking the programs that build them.

use crate::arrows::metadata;
use crate::{expect_none, texts};

/// Public configurations with public fields that other crates could write as a literal.
fn literal_faults(file: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut faults = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = config_name(line) else { continue };
        let above = lines[..first].iter().rev().take_while(|line| !line.is_empty());
        let is_open = above.into_iter().any(|line| line.trim() == "#[non_exhaustive]");
        let mut body = lines[first + 1..].iter().take_while(|line| line.trim() != "}");
        if !is_open && body.any(|line| line.trim().starts_with("pub ")) {
            faults.push(format!("{file}:{}: {name} is not #[non_exhaustive]", first + 1));
        }
    }
    faults
}

fn config_name(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("pub struct ")?.strip_suffix(" {")?;
    let name = name.split('<').next()?;
    (name.ends_with("Config") || name.ends_with("Options")).then_some(name)
}

#[test]
fn configurations_of_published_crates_can_grow() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let published = packages.filter(|package| package["publish"].is_null());
    let names = published.filter_map(|package| package["name"].as_str());
    let sources: Vec<String> = names
        .map(|name| format!("crates/{}/src/", name.strip_prefix("cenote-").unwrap_or(name)))
        .collect();
    let files = texts(&[".rs"]).filter(|(file, _)| sources.iter().any(|at| file.starts_with(at)));
    let (mut found, mut faults) = (0, Vec::new());
    for (file, text) in files {
        found += text.lines().filter_map(config_name).count();
        faults.extend(literal_faults(&file, &text));
    }
    assert!(found > 20, "only {found} configurations found");
    expect_none(&faults);
}

#[test]
fn literal_configurations_are_found() {
    let config = |attribute, name, field| {
        let text = format!("/// A.\n{attribute}\npub struct {name} {{\n    {field} a: u8,\n}}\n");
        literal_faults("a.rs", &text).len()
    };
    assert_eq!(config("#[derive(Clone)]", "AConfig", "pub"), 1);
    assert_eq!(config("#[derive(Clone)]", "AOptions<'a>", "pub"), 1);
    assert_eq!(config("#[non_exhaustive]", "AConfig", "pub"), 0);
    assert_eq!(config("#[derive(Clone)]", "AConfig", ""), 0, "it has no public field");
    assert_eq!(config("#[derive(Clone)]", "ConfigA", "pub"), 0);
}
