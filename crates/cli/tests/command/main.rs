//! The command as a user meets it: exit status, stdout, stderr, files.
//!
//! - [`bands`]: runs with less memory than their vertex state
//! - [`compact`]: a changed graph becomes that of an import
//! - [`generate`]: what it writes and what it refuses
//! - [`graph`]: import, info, check, neighbors, export
//! - [`hints`]: errors that name the memory that would do
//! - [`limits`]: numbers out of range, and systems that refuse threads, disk or a home
//! - [`manners`]: help, pipes, exit status, messages of one line
//! - [`outputs`]: paths that are no plain files
//! - [`peaks`]: memory over several drives against the budgets
//! - [`pool`]: page loads through the buffer pool
//! - [`shard`]: graphs in several files
//! - [`since`]: components that go on from the file of an earlier answer
//! - [`snapshot`]: states of a graph that are kept under a name
//! - [`straight`]: components of edges without a graph file
//! - [`tiers`]: graphs over several drives; [`tiered_updates`]: changes of them
//! - [`update`]: changes from files and from standard input
//! - [`interrupt`]: Ctrl-C ends within a second and leaves nothing

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bands;
mod compact;
mod generate;
mod graph;
mod hints;
mod interrupt;
mod limits;
mod manners;
mod outputs;
mod peaks;
mod pool;
mod shard;
mod since;
mod snapshot;
mod straight;
mod tiered_updates;
mod tiers;
mod update;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own and the command in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// `cenote ARGS`, split at white space, ready to run.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cenote"));
        command.args(args.split_whitespace()).current_dir(self.folder.path());
        // A slow run would print lines.
        command.stdin(Stdio::null()).env("CENOTE_PROGRESS", "none");
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    /// Stdout of a run that must end with status 0.
    fn succeed(&self, args: &str) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "cenote {args}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The one line on stderr of a run that must end with status 2 and print nothing.
    fn fail(&self, args: &str) -> String {
        let output = self.run(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "cenote {args}: {message}");
        assert_eq!(text(&output.stdout), "", "cenote {args}");
        assert_one_line(&message);
        message.trim_end().to_owned()
    }

    /// The same for a run that may warn first, such as of a drive without a profile.
    fn fail_quietly(&self, args: &str) -> String {
        let output = self.run(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "cenote {args}: {message}");
        assert_eq!(text(&output.stdout), "", "cenote {args}");
        let known = |line: &&str| line.contains("warning: ") || line.contains("numbered by first");
        let errors: Vec<&str> = message.lines().filter(|line| !known(line)).collect();
        assert_eq!(errors.len(), 1, "cenote {args}: {message}");
        errors[0].to_owned()
    }

    /// A run in which no file may grow beyond so many KiB: a write fails as on a full disk.
    fn with_files_limited(&self, args: &str, kibibytes: u64) -> Output {
        let script = format!("ulimit -f {kibibytes}; trap '' XFSZ; exec \"$0\" \"$@\"");
        Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_cenote")])
            .args(args.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The value of a report, which is one line of JSON.
fn parse(report: &str) -> Value {
    assert_eq!(report.matches('\n').count(), 1, "{report}");
    serde_json::from_str(report).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An error is exactly one line that begins with the name of the command.
fn assert_one_line(message: &str) {
    assert!(message.starts_with("cenote: "), "{message:?}");
    assert_eq!(message.matches('\n').count(), 1, "{message:?}");
    assert!(message.ends_with('\n'), "{message:?}");
}
