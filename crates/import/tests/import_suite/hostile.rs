//! Misleading inputs and outputs, and processes that end during an import.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_import::{
    Format, IdKind, ImportConfig, ImportError, ImportReport, InputSpec, NoProgress, Phase,
    Progress, THREADS_MAX, import,
};
use proptest::prelude::*;

use crate::oracle::file;

fn config() -> ImportConfig {
    ImportConfig::default().directed(true).memory_bytes(64 << 20)
}

fn run(spec: &InputSpec, out: &Path, config: &ImportConfig) -> Result<ImportReport, ImportError> {
    import(std::slice::from_ref(spec), out, config, &NoProgress)
}

fn pairs(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| [i % 997, i * 31 % 1009]).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn an_input_is_never_replaced_by_any_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &pairs(100));
    let path = |name: &str| folder.path().join(name);
    fs::hard_link(&spec.path, path("hard")).unwrap();
    symlink(&spec.path, path("soft")).unwrap();
    let overwrite = config().overwrite(true);
    for out in [spec.path.clone(), path("./a.u32"), path("hard"), path("soft")] {
        let error = run(&spec, &out, &overwrite).unwrap_err();
        assert!(matches!(error, ImportError::Refused(_)), "{}: {error}", out.display());
        assert_eq!(fs::read(&spec.path).unwrap(), pairs(100), "{}", out.display());
    }
    let of_link = InputSpec::with_format(path("soft"), Format::U32);
    assert!(run(&of_link, &spec.path, &overwrite).is_err());
}

#[test]
fn devices_pipes_and_folders_are_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &pairs(100));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let link = folder.path().join("link");
    symlink("/dev/null", &link).unwrap();
    for out in [&pipe, &link, folder.path(), Path::new("/dev/null")] {
        for overwrite in [true, false] {
            let error = run(&spec, out, &config().overwrite(overwrite)).unwrap_err();
            assert!(matches!(error, ImportError::Refused(_)), "{}: {error}", out.display());
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing came, nothing went");
}

#[test]
fn a_folder_that_is_missing_or_is_a_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &pairs(100));
    for parent in ["missing", "a.u32"] {
        let parent = folder.path().join(parent);
        let error = run(&spec, &parent.join("g.cenote"), &config()).unwrap_err().to_string();
        let expected = format!("there is no folder {}: make it first", parent.display());
        assert!(error.contains(&expected), "{error}");
    }
}

/// Changes a file when a phase begins.
struct ChangeIn<F> {
    phase: Phase,
    change: F,
    is_done: AtomicBool,
}

impl<F: Fn() + Sync> Progress for ChangeIn<F> {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        if phase == self.phase && !self.is_done.swap(true, Ordering::SeqCst) {
            (self.change)();
        }
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn an_input_that_changes_while_it_is_imported_is_an_error() {
    type Change = fn(&Path);
    let shrink: Change = |path| {
        OpenOptions::new().write(true).open(path).unwrap().set_len(4000).unwrap();
    };
    let grow: Change = |path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(&pairs(50)).unwrap();
    };
    let replace: Change = |path| {
        let other = path.with_extension("other");
        fs::write(&other, pairs(80_000)).unwrap();
        fs::rename(other, path).unwrap();
    };
    // The same size and time: only the second reading can show it.
    let forge: Change = |path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(&pairs(500)[8..], 0).unwrap();
        file.set_modified(written).unwrap();
    };
    let text = || (0..80_000).map(|i| format!("{} {}\n", i % 997, i % 1009)).collect::<String>();
    for (name, bytes) in [("a.u32", pairs(80_000)), ("a.txt", text().into_bytes())] {
        for (at, change) in [shrink, grow, replace, forge].into_iter().enumerate() {
            for phase in [Phase::Read, Phase::Partition] {
                // What was read once is read, and a forged state shows in a second reading only.
                if phase == Phase::Partition && name != "a.u32" || phase == Phase::Read && at == 3 {
                    continue;
                }
                let folder = tempfile::tempdir().unwrap();
                let spec = file(&folder, name, &bytes);
                // A change within the resolution of times shows in nothing else.
                std::thread::sleep(std::time::Duration::from_millis(20));
                let change = || change(&spec.path);
                let progress = ChangeIn { phase, change, is_done: AtomicBool::new(false) };
                let out = folder.path().join("g.cenote");
                let error = import(std::slice::from_ref(&spec), &out, &config(), &progress);
                let error = error.expect_err(&format!("{name}, change {at} in {phase:?}"));
                // What is cut within an edge or a line is called so.
                let is_cut = matches!(error, ImportError::Format { .. } | ImportError::Line { .. });
                let is_changed = matches!(error, ImportError::Changed { .. });
                assert!(is_changed || is_cut, "{name}, change {at} in {phase:?}: {error}");
                assert!(!out.exists());
            }
        }
    }
}

#[test]
fn lines_that_end_with_cr_alone_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let texts: [(&str, &[u8]); 8] = [
        ("a.txt", b"1 2\r3 4\r5 6\n"),
        ("a.txt", b"1 2\n3 4\r5 6\n"),
        ("a.csv", b"source,target\r1,2\r3,4\r"),
        ("a.csv", b"source,target\n1,2\r3,4\n"),
        ("a.tsv", b"1\t2\r3\t4\n"),
        ("a.v", b"1\r2\r3\n"),
        ("a.adjlist", b"1 2\r3 4\n"),
        ("a.graph", b"3 2\r2\r1 3\r2\r"),
    ];
    for (name, text) in texts {
        let spec = file(&folder, name, text);
        let error = run(&spec, &folder.path().join("g"), &config()).unwrap_err().to_string();
        assert!(error.contains("CR alone"), "{name}: {error}");
    }
    let quoted = file(&folder, "a.csv", b"source,target,note\n1,2,\"a\rb\"\r\n3,4,c\r\n");
    assert_eq!(run(&quoted, &folder.path().join("g"), &config()).unwrap().edges, 2);
}

#[test]
fn endless_lines_and_headers_end_at_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let small = config().memory_bytes(24 << 20);
    let refusal =
        |spec: &InputSpec| run(spec, &folder.path().join("g"), &small).unwrap_err().to_string();
    let zero = InputSpec::with_format("/dev/zero", Format::Edges);
    assert!(refusal(&zero).contains("expected text"), "{}", refusal(&zero));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = vec![b'7'; 1 << 20];
    (0..100).for_each(|_| packer.write_all(&piece).unwrap());
    let line = packer.finish().unwrap();
    for name in ["a.txt.gz", "a.csv.gz", "a.graph.gz", "a.mtx.gz", "a.adjlist.gz"] {
        let refused = refusal(&file(&folder, name, &line));
        assert!(refused.contains("line 1 is longer than"), "{name}: {refused}");
    }
    let wide = format!("{}\n1,2\n", "a,".repeat(200_000));
    let refused = refusal(&file(&folder, "b.csv", wide.as_bytes()));
    assert!(refused.contains("header"), "{refused}");
}

#[test]
fn a_pipe_whose_ids_turn_out_to_be_strings_loses_no_edge() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut text: String = (0..200_000).map(|i| format!("{i} {}\n", i + 1)).collect();
    text.push_str("name 1\n");
    let report = std::thread::scope(|scope| {
        let (pipe, text) = (&pipe, &text);
        scope.spawn(move || fs::write(pipe, text));
        let spec = InputSpec::with_format(pipe, Format::Edges);
        run(&spec, &folder.path().join("g"), &config()).unwrap()
    });
    assert_eq!((report.edges, report.ids), (200_001, "string"));
}

#[test]
fn more_threads_than_the_cap_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &pairs(100));
    let many = config().threads(THREADS_MAX + 1);
    let error = run(&spec, &folder.path().join("g"), &many).unwrap_err().to_string();
    assert!(error.contains("`threads`") && error.contains("512"), "{error}");
}

/// Runs a test of this binary in a process of its own.
pub fn child(test: &str, folder: &Path) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    child.env("CENOTE_TEST_FOLDER", folder);
    child
}

pub fn folder_of_child() -> PathBuf {
    std::env::var_os("CENOTE_TEST_FOLDER").expect("the parent says where").into()
}

#[test]
fn a_system_that_starts_no_threads_makes_an_error() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder, "a.u32", &pairs(100));
    file(&folder, "a.txt", b"a b\nb c\n");
    // No system has so much room for a stack.
    let mut child = child("hostile::child_without_threads", folder.path());
    let output = child.env("RUST_MIN_STACK", (1u64 << 60).to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "runs in a child process that starts no threads"]
fn child_without_threads() {
    let folder = folder_of_child();
    for name in ["a.u32", "a.txt"] {
        let spec = InputSpec::new(folder.join(name));
        let error = run(&spec, &folder.join("g"), &config()).unwrap_err();
        assert!(matches!(error, ImportError::Threads(_)), "{error}");
    }
}

#[test]
fn the_next_import_removes_what_a_killed_one_left() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &pairs(10_000));
    let mut child = child("hostile::child_that_is_killed", folder.path());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("writing")));
    let partials = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains(".partial-")).count()
    };
    let out = folder.path().join("g.cenote");
    assert_eq!(partials(), 1);
    run(&spec, &out, &config()).unwrap();
    assert_eq!(partials(), 1, "that of a living process stays");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(partials(), 1);
    run(&spec, &folder.path().join("other.cenote"), &config()).unwrap();
    assert_eq!(partials(), 1, "that of another output stays");
    // The kernel may hold the file a little longer than the process.
    for _ in 0..200 {
        run(&spec, &out, &config().overwrite(true)).unwrap();
        if partials() == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it is still there");
}

#[test]
#[ignore = "runs in a child process that is killed"]
fn child_that_is_killed() {
    let folder = folder_of_child();
    let wait = || {
        println!("writing");
        std::thread::sleep(std::time::Duration::from_secs(60));
    };
    let progress = ChangeIn { phase: Phase::Write, change: wait, is_done: AtomicBool::new(false) };
    let spec = InputSpec::new(folder.join("a.u32"));
    let _ = import(&[spec], &folder.join("g.cenote"), &config(), &progress);
}

/// Edges of `count` vertices whose ids are numbers close together or far apart, or names.
fn text(count: u64, shape: u8) -> String {
    let id = |number: u64| match shape {
        0 => number.to_string(),
        1 => (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string(),
        2 => (number * 7919 % (1 << 32)).to_string(),
        _ => format!("vertex number {number}"),
    };
    (0..count).map(|i| format!("{} {}\n", id(i), id(i * 31 % count.max(1)))).collect()
}

/// How an import is asked for: threads and memory, and of the flags and orders which.
type Asked = (usize, usize, [bool; 4], usize);

fn asked() -> impl Strategy<Value = Asked> {
    (1usize..5, 12u32..25, any::<[bool; 4]>(), 0usize..5)
        .prop_map(|(threads, log, flags, order)| (threads, 1 << log, flags, order))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_memory_that_an_error_names_is_enough(
        log in 0u32..17,
        shape in 0u8..4,
        asked in asked(),
    ) {
        assert_named_is_enough(&text(1 << log, shape), asked);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "long: make soak"]
    fn longer_the_memory_that_an_error_names_is_enough(
        log in 0u32..17,
        shape in 0u8..4,
        asked in asked(),
    ) {
        assert_named_is_enough(&text(1 << log, shape), asked);
    }
}

fn assert_named_is_enough(text: &str, (threads, memory_bytes, flags, order): Asked) {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.txt", text.as_bytes());
    let orders = [
        cenote_store::Order::Natural,
        cenote_store::Order::Degree,
        cenote_store::Order::Bfs,
        cenote_store::Order::Cluster,
        cenote_store::Order::Random { seed: 1 },
    ];
    let given = ImportConfig::default()
        .directed(flags[0])
        .in_edges(flags[0] && flags[1])
        .ids(if flags[2] { IdKind::String } else { IdKind::Auto })
        .codec(if flags[3] { cenote_store::Codec::Packed } else { cenote_store::Codec::Raw })
        .order(orders[order])
        .threads(threads)
        .memory_bytes(memory_bytes);
    let out = folder.path().join("g");
    if let Err(error) = run(&spec, &out, &given) {
        let ImportError::Memory { needed, .. } = error else { panic!("{error}") };
        let enough = given.memory_bytes(needed);
        let again = run(&spec, &out, &enough);
        assert!(again.is_ok(), "{needed} bytes: {}", again.unwrap_err());
    }
}
