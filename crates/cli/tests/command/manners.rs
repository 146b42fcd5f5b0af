//! Help, pipes, exit status, messages of one line.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::{Bench, assert_one_line, text};

#[test]
fn closed_standard_output_is_an_error_and_not_a_loss() {
    let shell = |redirection: &str| {
        let script = format!("exec \"$0\" --version {redirection}");
        let command = ["-c", &script, env!("CARGO_BIN_EXE_cenote")];
        Command::new("sh").args(command).stdin(Stdio::null()).output().unwrap()
    };
    let closed = shell(">&-");
    assert_eq!(closed.status.code(), Some(2));
    let message = text(&closed.stderr);
    assert_one_line(&message);
    assert!(message.contains("standard output is closed"), "{message}");
    // The same device, opened by the caller in either way.
    for redirection in [">/dev/null", "1<>/dev/null"] {
        assert_eq!(shell(redirection).status.code(), Some(0), "{redirection}");
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let bench = Bench::new();
    for args in ["--help", "-h", "help", "generate --help", "generate kron --help"] {
        let help = bench.succeed(args);
        assert!(help.contains("Usage: cenote") && help.contains("Example"), "{args}: {help}");
    }
    assert!(bench.succeed("--version").starts_with("cenote 0."));
}

#[test]
fn a_wrong_command_line_is_one_line_and_status_2() {
    let bench = Bench::new();
    for (args, words) in [
        ("", "no verb"),
        ("generate", "no verb or kind"),
        ("dance", "dance"),
        ("generate kron --sale 3", "--sale"),
        ("generate kron --scale many --out a.u32", "many"),
        ("--loud", "--loud"),
    ] {
        let message = bench.fail(args);
        assert!(message.contains(words), "cenote {args}: {message}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let bench = Bench::new();
    for args in ["--help", "generate grid --rows 300 --cols 300 --out grid.u32"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.command(args).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{args}");
    }
    assert_eq!(bench.names(), ["grid.u32"]);
}

#[test]
fn a_reader_that_leaves_in_the_middle_of_an_export_is_no_error() {
    let bench = Bench::new();
    bench.succeed("generate grid --rows 300 --cols 300 --out grid.u32");
    bench.succeed("import grid.u32 --out grid.cenote");
    let mut child = bench
        .command("export grid.cenote")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 7];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, b"0\t1\n0\t3");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn stderr_is_silent_where_it_is_no_terminal() {
    let bench = Bench::new();
    let mut child = bench
        .command("generate kron --scale 14 --out kron.txt")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(message, "");
}
