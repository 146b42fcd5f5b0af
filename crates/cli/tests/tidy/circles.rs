//! Files that import each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{expect_none, texts};

/// A module as the names that lead to it from the root of its crate.
type Module = Vec<String>;

/// The crate and the module of a file under `crates/*/src`.
fn module(file: &str) -> Option<(String, Module)> {
    let (room, path) = file.strip_prefix("crates/")?.split_once("/src/")?;
    let mut names: Module = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    if path == "lib.rs" || path == "main.rs" {
        names.clear();
    }
    Some((room.to_owned(), names))
}

/// The paths of a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn flatten(tree: &str, prefix: &str, out: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = tree[start..at].trim();
                start = at + 1;
                match part.split_once('{') {
                    Some((head, rest)) => {
                        let inner = rest.strip_suffix('}').unwrap_or(rest);
                        flatten(inner, &format!("{prefix}{head}"), out);
                    }
                    None => out.push(format!("{prefix}{part}")),
                }
            }
            _ => {}
        }
    }
}

/// The paths that the code of a file imports or names from `crate` or `super`, tests apart.
fn paths(text: &str) -> Vec<String> {
    let code: Vec<&str> = text
        .lines()
        .take_while(|line| *line != "mod tests {")
        .map(|line| line.split("//").next().unwrap_or(line).trim())
        .collect();
    let code = code.join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_start =
                !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
            let is_use = code[..at].ends_with("use ");
            let end = if is_use { code[at..].find(';') } else { code[at..].find(|c| !is_path(c)) };
            if is_start {
                flatten(&code[at..at + end.unwrap_or(code.len() - at)], "", &mut found);
            }
        }
    }
    found
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// The module that a path in `from` names, or that holds what it names.
fn resolve(path: &str, from: &Module, known: &BTreeSet<Module>) -> Module {
    let mut module = Vec::new();
    for (place, name) in path.split("::").map(str::trim).enumerate() {
        match name {
            "crate" => {}
            "super" if place == 0 => module = from[..from.len().saturating_sub(1)].to_vec(),
            "super" => drop(module.pop()),
            name => {
                module.push(name.to_owned());
                if !known.contains(&module) {
                    module.pop();
                    break;
                }
            }
        }
    }
    module
}

/// Sets of modules of one crate that reach each other. A module and those inside it mean one thing:
/// imports between them do not count.
fn circles(files: &BTreeMap<Module, String>) -> Vec<BTreeSet<&Module>> {
    let known: BTreeSet<Module> = files.keys().cloned().collect();
    let imports = |from: &Module| {
        let named = paths(&files[from]).into_iter().map(|path| resolve(&path, from, &known));
        named.filter(|to| !from.starts_with(to) && !to.starts_with(from)).collect::<BTreeSet<_>>()
    };
    let arrows: BTreeMap<&Module, BTreeSet<Module>> =
        files.keys().map(|from| (from, imports(from))).collect();
    let reach = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(arrows[module].iter().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        files.keys().map(|from| (from, reach(from))).collect();
    let own = files.keys().filter(|from| reached[from].contains(*from));
    let circle = |from: &Module| -> BTreeSet<&Module> {
        let back = |to: &&Module| reached[from].contains(*to) && reached[*to].contains(from);
        files.keys().filter(back).collect()
    };
    own.map(circle).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let mut rooms: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for (file, text) in texts(&[".rs"]) {
        if let Some((room, module)) = module(&file) {
            rooms.entry(room).or_default().insert(module, text);
        }
    }
    let mut found = Vec::new();
    for (room, files) in &rooms {
        for circle in circles(files) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{room}: {} import each other", names.join(", ")));
        }
    }
    expect_none(&found);
}

#[test]
fn circles_are_found() {
    let of = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(file, text)| {
            let (_, module) = module(&format!("crates/x/src/{file}")).expect("a module");
            (module, (*text).to_owned())
        });
        circles(&files.collect()).len()
    };
    let (a, b) = ("use crate::b::B;", "use super::{a::A, c};");
    assert_eq!(of(&[("a.rs", a), ("b.rs", b), ("c.rs", "")]), 1);
    assert_eq!(of(&[("a.rs", a), ("b.rs", "mod tests {\nuse crate::a::A;\n}"), ("c.rs", "")]), 0);
    assert_eq!(of(&[("a/mod.rs", "use crate::a::b::B;"), ("a/b.rs", "use super::A;")]), 0);
    assert_eq!(
        of(&[("a/b.rs", "x(crate::a::c::f())"), ("a/c.rs", "use super::b::B;"), ("a/mod.rs", "")]),
        1
    );
    assert_eq!(of(&[("lib.rs", "use crate::a::A;"), ("a.rs", "use crate::{B, C};")]), 0);
}
