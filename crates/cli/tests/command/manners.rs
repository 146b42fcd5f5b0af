//! Help, pipes, exit status, messages of one line.

use std::io::{BufRead, Read, Write};
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
    let full = shell(">/dev/full");
    assert_eq!(full.status.code(), Some(2));
    assert!(text(&full.stderr).contains("cannot write to stdout"), "{}", text(&full.stderr));
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

#[test]
fn bash_completes_verbs_kinds_and_flags() {
    let bench = Bench::new();
    std::fs::write(bench.path("completions"), bench.succeed("completions bash")).unwrap();
    let complete = |words: &str| {
        let script = "source completions; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                      _cenote cenote \"${COMP_WORDS[-1]}\" x; echo \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        let output = bash.args(["-euc", script, "bash", words]).current_dir(bench.folder.path());
        let output = output.output().unwrap();
        assert!(output.status.success(), "{words}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    assert_eq!(complete("cenote comp"), "compact completions");
    assert_eq!(complete("cenote run wc"), "wcc");
    assert_eq!(complete("cenote run wcc --source"), "--source-column");
    for (shell, word) in [("zsh", "#compdef cenote"), ("fish", "complete -c cenote")] {
        assert!(bench.succeed(&format!("completions {shell}")).contains(word), "{shell}");
    }
    assert!(bench.fail("completions tcsh").contains("tcsh"));
}

#[test]
fn every_verb_and_kind_has_a_man_page() {
    let bench = Bench::new();
    let wcc = bench.succeed("man run wcc");
    assert!(wcc.contains(".TH cenote-run-wcc 1") && wcc.contains("\\-\\-format"), "{wcc}");
    assert!(wcc.contains("kron.cenote"), "the examples are there: {wcc}");
    assert!(bench.succeed("man").contains("cenote\\-snapshot"));
    assert!(bench.fail("man run dance").contains("dance"));
    assert!(bench.fail("man check dance").contains("no kinds"));
    bench.succeed("man --out pages");
    let pages = crate::names(&bench.path("pages"));
    assert!(pages.len() > 30 && pages.contains(&"cenote-pool-replay.1".to_owned()), "{pages:?}");
    // What groff warns of is shown wrongly.
    let mut groff = Command::new("groff");
    groff
        .args(["-Kutf8", "-man", "-Tutf8", "-ww", "-z"])
        .args(&pages)
        .current_dir(bench.path("pages"));
    let Ok(output) = groff.output() else {
        return eprintln!("skipped: no groff to read the pages");
    };
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn progress_is_lines_or_json_or_nothing() {
    let bench = Bench::new();
    let run = |args: &str, variable: Option<&str>| {
        let mut command = bench.command(&format!("run wcc - --format edges {args}"));
        command.env_remove("CENOTE_PROGRESS").envs(variable.map(|mode| ("CENOTE_PROGRESS", mode)));
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // Until the first line, which nothing but the flags holds back.
        let mut first = String::new();
        let shows = !args.contains("none") && !args.contains("quiet") && variable.is_none();
        if shows {
            let stderr = child.stderr.as_mut().unwrap();
            std::io::BufReader::new(stderr).read_line(&mut first).unwrap();
        }
        input.write_all(b"1 2\n").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(text(&output.stdout).starts_with("components  1\n"));
        if shows { first } else { text(&output.stderr) }
    };
    assert!(run("", None).starts_with("cenote: reading: 1 s so far"));
    let json: serde_json::Value = serde_json::from_str(&run("--progress json", None)).unwrap();
    assert_eq!((&json["stage"], &json["unit"]), (&"reading".into(), &"bytes".into()), "{json}");
    for (args, variable) in [("--progress none", None), ("--quiet", None), ("", Some("none"))] {
        assert_eq!(run(args, variable), "");
    }
    assert!(bench.fail("run wcc - --quiet --progress json").contains("--quiet"));
}
