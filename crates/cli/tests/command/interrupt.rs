//! Ctrl-C ends within a second and leaves nothing.

use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Bench, text};

/// What we promise.
const PROMISE: Duration = Duration::from_secs(1);

/// Long enough for any machine to get there.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(child: &mut Child, what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        assert_eq!(child.try_wait().unwrap(), None, "ended before {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process has a handler of `SIGINT`: before that the signal kills it.
fn has_handler(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & 1 << (Signal::INT.as_raw() - 1) != 0
}

/// Sends the signal and waits. Fails if the process takes longer than promised.
fn signal(child: &mut Child, signal: Signal) -> ExitStatus {
    let start = Instant::now();
    kill_process(Pid::from_child(child), signal).unwrap();
    let status = child.wait().unwrap();
    assert!(start.elapsed() < PROMISE, "took {:?} to end", start.elapsed());
    status
}

/// Starts a verb, waits for a file whose name has `sign` in it, interrupts. Returns the message.
pub fn interrupt(bench: &Bench, args: &str, sign: &str, with: Signal) -> String {
    let before = bench.names();
    let mut child =
        bench.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = || bench.names().iter().any(|name| !before.contains(name) && name.contains(sign));
    wait_until(&mut child, sign, begun);
    let status = signal(&mut child, with);
    let output = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(130), "{args}: {}", text(&output.stderr));
    assert_eq!(bench.names(), before, "left behind by {args}");
    text(&output.stderr)
}

#[test]
fn generate_ends_and_leaves_nothing() {
    let bench = Bench::new();
    for out in ["kron.u32", "kron.parquet", "kron.txt"] {
        for with in [Signal::INT, Signal::TERM] {
            let args = format!("generate kron --scale 26 --out {out}");
            assert_eq!(interrupt(&bench, &args, ".partial-", with), "cenote: interrupted\n");
        }
    }
}

#[test]
fn import_ends_and_leaves_nothing() {
    let bench = Bench::new();
    bench.succeed("generate kron --scale 18 --edge-factor 8 --out kron.txt");
    // Again and again at another moment of the import, which takes two seconds or more in all.
    let inputs = "kron.txt ".repeat(16);
    let import = format!("import {inputs} --out kron.cenote --memory 64MiB");
    for milliseconds in [0, 30, 100, 200, 300, 500] {
        let before = bench.names();
        let mut child =
            bench.command(&import).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        wait_until(&mut child, "a handler of signals", || has_handler(id));
        std::thread::sleep(Duration::from_millis(milliseconds));
        let status = signal(&mut child, Signal::INT);
        let message = text(&child.wait_with_output().unwrap().stderr);
        assert_eq!(status.code(), Some(130), "after {milliseconds} ms: {message}");
        assert_eq!(message, "cenote: interrupted\n");
        assert_eq!(bench.names(), before, "left behind after {milliseconds} ms");
    }
}

#[test]
fn an_import_that_waits_for_its_input_ends_too() {
    let bench = Bench::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = bench
        .command("import - --format edges --out pipe.cenote")
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    wait_until(&mut child, "a handler of signals", || has_handler(id));
    std::thread::sleep(Duration::from_millis(100));
    let status = signal(&mut child, Signal::INT);
    drop(writer);
    assert_eq!(status.code(), Some(130));
    assert!(bench.names().is_empty(), "{:?} left behind", bench.names());
}

#[test]
fn a_replay_ends_and_leaves_no_half_made_file() {
    let bench = Bench::new();
    let args = "pool replay --workload ms --device pages.bin --create 8GiB";
    assert_eq!(interrupt(&bench, args, ".partial-", Signal::INT), "cenote: interrupted\n");
    let mut child = bench
        .command("pool replay --workload ms --policy all --ops 100000000 --device sim:p4510")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let status = signal(&mut child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        (String::new(), "cenote: interrupted\n".to_owned())
    );
}
