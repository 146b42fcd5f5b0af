//! Sizes of files, lines and functions; words and paths that have no place.

use crate::{expect_none, files, texts};

const LINES_PER_FILE_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;
const LINES_PER_FUNCTION_MAX: usize = 70;

/// The ratchet: functions that are longer, with their length. None may grow, none may come; take
/// one out when it has shrunk.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

/// A folder or file of such a name collects what has no place.
const ROOMLESS: &[&str] = &["util", "utils", "common", "types", "misc", "helper", "helpers"];

/// Where paths of one machine begin.
const MACHINE_PATHS: &[&str] = &["work", "home", "root", "Users"];

/// Rooms that move bytes between memory and devices, and hand out parts of it; and the file that
/// takes over memory from other programs of a Python process.
const TRUSTED: &[&str] = &["crates/device/", "crates/pool/", "python/src/arrow.rs"];

/// Rooms whose time comes from the device's clock, so that a simulated device can provide it.
const TIMELESS: &[&str] = &[
    "crates/pool/src/",
    "crates/tier/src/",
    "crates/store/src/",
    "crates/import/src/",
    "crates/engine/src/",
    "crates/algo/src/",
    "crates/replay/src/",
];

/// Libraries: their messages name parameters, which the command and Python translate.
const LIBRARIES: &[&str] = &[
    "crates/algo/src/",
    "crates/cenote/src/",
    "crates/device/src/",
    "crates/engine/src/",
    "crates/import/src/",
    "crates/pool/src/",
    "crates/store/src/",
    "crates/tier/src/",
];

fn size_faults(file: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_PER_FILE_MAX {
        faults.push(format!("{file}: {lines} lines, at most {LINES_PER_FILE_MAX}: split it"));
    }
    for (number, line) in numbered(text) {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            faults.push(format!("{file}:{number}: {columns} columns, at most {COLUMNS_MAX}"));
        }
        if line.ends_with([' ', '\t']) {
            faults.push(format!("{file}:{number}: white space at the end"));
        }
    }
    faults
}

fn word_faults(file: &str, text: &str) -> Vec<String> {
    // Put together here, so that this file does not break its own rule.
    let unfinished = ["TO", "FIX", "XX", "HA"].iter().zip(["DO", "ME", "X", "CK"]);
    let unfinished: Vec<String> = unfinished.map(|(a, b)| format!("{a}{b}")).collect();
    let mut faults = Vec::new();
    for (number, line) in numbered(text) {
        for word in &unfinished {
            if words(line).any(|found| found == word) {
                faults.push(format!("{file}:{number}: {word}: finish it or open an issue"));
            }
        }
        for place in MACHINE_PATHS {
            let path = format!("/{place}/");
            if line.match_indices(&path).any(|(at, _)| begins_a_path(&line[..at])) {
                faults.push(format!("{file}:{number}: {path} is a path of one machine"));
            }
        }
    }
    faults
}

fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-~})".contains(c))
}

fn unsafe_faults(file: &str, text: &str) -> Vec<String> {
    let word = "unsafe";
    numbered(text)
        .filter(|(_, line)| words(code(line)).any(|found| found == word))
        .map(|(number, _)| {
            format!("{file}:{number}: {word} belongs into crates/device or crates/pool")
        })
        .collect()
}

fn clock_faults(file: &str, text: &str) -> Vec<String> {
    numbered(text)
        .filter(|(_, line)| words(code(line)).any(|w| w == "Instant" || w == "SystemTime"))
        .map(|(number, _)| format!("{file}:{number}: time comes from the device's clock"))
        .collect()
}

/// Flags of the command, but for those of whole command lines.
fn flag_faults(file: &str, text: &str) -> Vec<String> {
    let is_flag = |(at, _): (usize, &str), line: &str| {
        let begins = line[..at].ends_with([' ', '"', '(', '`']);
        begins && line[at + 2..].starts_with(|letter: char| letter.is_ascii_lowercase())
    };
    numbered(text)
        .map(|(number, line)| (number, code(line)))
        .filter(|(_, line)| !line.contains("`cenote "))
        .filter(|(_, line)| line.match_indices("--").any(|found| is_flag(found, line)))
        .map(|(number, _)| format!("{file}:{number}: a message that names a flag"))
        .collect()
}

/// Functions longer than the limit: name and lines. rustfmt closes a function in the column where
/// it began.
fn long_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut long = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
        let Some(body) = lines[first..].iter().position(ends) else { continue };
        // A declaration without a body ends before another function does.
        let declared = lines[first..].iter().position(|line| line.ends_with(';'));
        let opened = lines[first..].iter().position(|line| line.ends_with('{'));
        if declared.is_some_and(|end| opened.is_none_or(|start| end < start)) {
            continue;
        }
        if body + 1 > LINES_PER_FUNCTION_MAX {
            long.push((name.to_owned(), body + 1));
        }
    }
    long
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = code(line).split_once("fn ")?;
    let qualifies = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
    };
    let name = after.split(['(', '<']).next()?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && before.split_whitespace().all(qualifies)).then_some(name)
}

fn ratchet_faults(file: &str, text: &str) -> Vec<String> {
    let long = long_functions(text);
    let listed = LONG_FUNCTIONS.iter().filter(|(path, ..)| *path == file);
    let mut faults: Vec<String> = listed
        .filter(|(_, name, lines)| !long.contains(&((*name).to_owned(), *lines)))
        .map(|(_, name, _)| format!("{file}: {name} has changed its length: update the ratchet"))
        .collect();
    for (name, lines) in long {
        if !LONG_FUNCTIONS.contains(&(file, &name, lines)) {
            faults.push(format!(
                "{file}: {name} has {lines} lines, at most {LINES_PER_FUNCTION_MAX}"
            ));
        }
    }
    faults
}

fn name_fault(file: &str) -> Option<String> {
    let nameless = |part: &str| ROOMLESS.contains(&part.split('.').next().unwrap_or(part));
    file.split('/')
        .find(|part| nameless(part))
        .map(|part| format!("{file}: `{part}` says nothing: a thing lives where it is born"))
}

/// Folders that are modules twice over: as `x.rs` and as `x/`.
fn double_modules(files: &[String]) -> Vec<String> {
    let folder = |file: &String| file.strip_suffix(".rs").map(|stem| format!("{stem}/"));
    let is_double = |file: &&String| {
        let inside = folder(file);
        inside.is_some_and(|folder| files.iter().any(|other| other.starts_with(&folder)))
    };
    let fault = |file| format!("{file}: its children lie in a folder: move it there as mod.rs");
    files.iter().filter(is_double).map(fault).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// A line without its comment. A `//` inside a string ends it too, which only makes us milder.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn files_lines_and_functions_stay_small() {
    let mut faults = Vec::new();
    for (file, text) in texts(&[".rs"]) {
        faults.extend(size_faults(&file, &text));
        faults.extend(ratchet_faults(&file, &text));
    }
    for (file, text) in texts(&[".py", ".sh"]) {
        faults.extend(size_faults(&file, &text));
    }
    expect_none(&faults);
}

#[test]
fn nothing_is_left_unfinished_or_tied_to_one_machine() {
    let endings = [".rs", ".py", ".sh", ".md", ".toml", "Makefile", ".ci/run", ".yml"];
    let faults: Vec<String> =
        texts(&endings).flat_map(|(file, text)| word_faults(&file, &text)).collect();
    expect_none(&faults);
}

#[test]
fn only_device_and_pool_are_trusted_with_raw_memory() {
    let faults: Vec<String> = texts(&[".rs"])
        .filter(|(file, _)| !TRUSTED.iter().any(|room| file.starts_with(room)))
        .filter(|(file, _)| !file.starts_with("crates/cli/tests/tidy/"))
        .flat_map(|(file, text)| unsafe_faults(&file, &text))
        .collect();
    expect_none(&faults);
}

#[test]
fn rooms_above_device_ask_its_clock() {
    let faults: Vec<String> = texts(&[".rs"])
        .filter(|(file, _)| TIMELESS.iter().any(|room| file.starts_with(room)))
        .flat_map(|(file, text)| clock_faults(&file, &text))
        .collect();
    expect_none(&faults);
}

#[test]
fn messages_of_libraries_name_parameters() {
    let faults: Vec<String> = texts(&[".rs"])
        .filter(|(file, _)| LIBRARIES.iter().any(|room| file.starts_with(room)))
        .flat_map(|(file, text)| flag_faults(&file, &text))
        .collect();
    expect_none(&faults);
    assert_eq!(flag_faults("a.rs", "let x = \"give --memory 5\"; // or --depth").len(), 1);
    assert!(flag_faults("a.rs", "let x = \"`cenote run --out` -- or\";").is_empty());
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    let faults: Vec<String> = texts(&[".rs"])
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(file, _)| format!("{file}: does not open with a `//!` line"))
        .collect();
    expect_none(&faults);
}

#[test]
fn no_room_is_a_lumber_room() {
    expect_none(&files().iter().filter_map(|file| name_fault(file)).collect::<Vec<_>>());
}

#[test]
fn a_module_with_children_is_the_mod_rs_of_its_folder() {
    let sources: Vec<String> = files().into_iter().filter(|file| file.ends_with(".rs")).collect();
    expect_none(&double_modules(&sources));
    let of =
        |files: &[&str]| double_modules(&files.iter().map(|&f| f.to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["a/x.rs", "a/x/y.rs"]).len(), 1);
    assert_eq!(of(&["a/x/mod.rs", "a/x/y.rs", "a/xy.rs"]).len(), 0);
}

#[test]
fn the_rules_find_what_breaks_them() {
    let file = "crates/x/src/lib.rs";
    assert_eq!(size_faults(file, &"x\n".repeat(601)).len(), 1);
    assert_eq!(size_faults(file, &"x".repeat(101)).len(), 1);
    assert_eq!(size_faults(file, "x \n").len(), 1);
    assert_eq!(size_faults(file, &"é".repeat(100)).len(), 0);
    let word = ["TO", "DO"].concat();
    assert_eq!(word_faults(file, &format!("// {word}: later\n")).len(), 1);
    assert_eq!(word_faults(file, "TODOS\n").len(), 0);
    let path = ["/ho", "me/me/x"].concat();
    assert_eq!(word_faults(file, &format!("open(\"{path}\")")).len(), 1);
    assert_eq!(word_faults(file, &format!("$X{path}")).len(), 0);
    assert_eq!(unsafe_faults(file, "unsafe { x() }").len(), 1);
    assert_eq!(unsafe_faults(file, "// unsafe in words\nunsafe_op()").len(), 0);
    assert_eq!(clock_faults(file, "let start = Instant::now();").len(), 1);
    assert!(name_fault("crates/x/src/utils.rs").is_some());
    assert!(name_fault("crates/common/src/lib.rs").is_some());
    assert!(name_fault("crates/x/src/page.rs").is_none());
}

#[test]
fn long_functions_are_measured() {
    let body = "        x();\n".repeat(69);
    let text = format!("impl A {{\n    pub(crate) fn long<T>(&self) {{\n{body}    }}\n}}\n");
    assert_eq!(long_functions(&text), [("long".to_owned(), 71)]);
    let text = format!("    fn fits() {{\n{}    }}\n", &body[..13 * 68]);
    assert_eq!(long_functions(&text), []);
    let text = format!("trait A {{\n    fn given();\n{body}    }}\n}}\n");
    assert_eq!(long_functions(&text), [], "a declaration has no length");
    assert_eq!(ratchet_faults("a.rs", &format!("fn f() {{\n{body}{body}}}\n")).len(), 1);
}
