//! The `cenote` command.
//!
//! - [`verb`]: one file per verb
//! - [`args`], [`graph_file`]: flags and the graph argument, which verbs share
//! - [`edge_file`]: writes text, binary pairs and Parquet
//! - [`flags`]: translates parameters in the library's errors into flags
//! - [`svg`]: charts as SVG
//! - [`output`]: data on stdout; [`progress`] and [`warning`]: everything else on stderr
//! - [`cancel`]: Ctrl-C ends the process within a second and removes unfinished files
//!
//! Exit status: 0 done; 1 answered no (a check found a fault, a target was not reached); 2 error;
//! 130 interrupted. An error is exactly one line on stderr.

mod args;
mod cancel;
mod edge_file;
mod flags;
mod graph_file;
mod output;
mod progress;
mod svg;
mod verb;
mod warning;

use std::io::{self, Write};
use std::process::ExitCode;

use cenote_device::standard_output;
use clap::Parser;
use clap::error::ErrorKind;

use crate::verb::{Outcome, Verb};

/// SSD-aware graph analytics: graphs deeper than memory.
#[derive(Debug, Parser)]
#[command(name = "cenote", version = env!("CENOTE_VERSION"))]
#[command(about, long_about = None, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    progress: progress::Flags,
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  cenote generate kron --scale 20 --out kron.u32
  cenote import kron.u32 --undirected --out kron.cenote
  cenote info kron.cenote
  cenote profile --quick .
  cenote run pagerank kron.cenote --memory 256MiB
  cenote neighbors kron.cenote 17
  cenote run wcc pairs.parquet --out components.parquet
  cenote pool replay --workload ms --device sim:optane-p4800x

Sizes take units: 64MiB, 1GB, 10%. Exit status: 0 done, 1 answered no, 2 error, \
130 interrupted.";

/// Exit statuses other than 0.
const ANSWERED_NO: u8 = 1;
const ERROR: u8 = 2;
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    cenote_device::heap::return_freed();
    if standard_output::was_closed() {
        eprintln!("cenote: standard output is closed: redirect it to a file or to /dev/null");
        return ERROR.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    cli.progress.apply();
    warning::print_to_stderr();
    let result = cancel::listen().and_then(|()| cli.verb.run());
    progress::clear();
    match result {
        // Also where the signal came when all was done.
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::AnsweredNo) => ANSWERED_NO.into(),
        Err(error) if cancel::cancelled() => {
            // A verb may say how far it came.
            let cancelled = Some(error).filter(|error| error.is::<cancel::Cancelled>());
            let message = cancelled.map_or_else(|| "interrupted".into(), |error| message(&error));
            eprintln!("cenote: {}", one_line(&message));
            INTERRUPTED.into()
        }
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cenote: {}", one_line(&message(&error)));
            ERROR.into()
        }
    }
}

/// Whether the reader of stdout has closed the pipe, which is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(is_broken)
}

/// Prints help and version as clap does; a wrong command line as one line.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print().and_then(|()| io::stdout().flush()) {
            Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("cenote: {}: {failed}", output::FAILED);
                ERROR.into()
            }
            _ => ExitCode::SUCCESS,
        };
    }
    eprintln!("cenote: {}", usage_line(error));
    ERROR.into()
}

/// Clap's message in one line: the fault, then tips, without its usage summary.
fn usage_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "no verb or kind given: `--help` lists them".to_owned();
    }
    let facts = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    let facts = facts.strip_prefix("error: ").unwrap_or(&facts).replace(":; ", ": ");
    format!("{facts}; `--help` shows more")
}

/// An error and its causes, except causes that a message already contains.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(flags::in_flags) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// A message in one line.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for piece in message.lines().map(str::trim).filter(|piece| !piece.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(piece);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Calls `visit` with the path of every verb and kind, and the examples in its help.
    fn for_each_help(command: &clap::Command, path: &str, visit: &mut dyn FnMut(&str, &str)) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        visit(path, &help);
        for verb in command.get_subcommands() {
            for_each_help(verb, &format!("{path} {}", verb.get_name()), visit);
        }
    }

    #[test]
    fn every_verb_and_kind_has_an_example_in_its_help() {
        for_each_help(&Cli::command(), "cenote", &mut |path, help| {
            assert!(help.contains(&format!("  {path} ")), "no example of `{path}` in its help");
        });
    }

    #[test]
    fn every_example_is_a_line_that_the_command_takes() {
        let mut examples = 0;
        for_each_help(&Cli::command(), "cenote", &mut |path, help| {
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                let Some(at) = line.find("cenote ") else { continue };
                let words = line[at..].split_whitespace().take_while(|word| !"|>".contains(word));
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("help of `{path}`: `{line}`: {}", usage_line(&error));
                }
                examples += 1;
            }
        });
        assert!(examples > 10, "only {examples} examples found");
    }

    #[test]
    fn messages_of_several_lines_become_one() {
        assert_eq!(one_line("a\n  b\n\nc\n"), "a b c");
        assert_eq!(one_line("plain"), "plain");
    }

    #[test]
    fn causes_are_printed_once() {
        let error = anyhow::anyhow!("no such file").context("cannot open a: no such file");
        assert_eq!(message(&error.context("import")), "import: cannot open a: no such file");
    }

    #[test]
    fn usage_faults_fit_one_line_and_say_what_is_wrong() {
        for (line, words) in [
            (&["cenote"][..], "no verb"),
            (&["cenote", "dance"], "'dance'"),
            (&["cenote", "generate", "kron"], "--out"),
            (&["cenote", "generate", "kron", "--sale", "3"], "--sale"),
            (&["cenote", "generate", "kron", "--scale", "many"], "'many'"),
        ] {
            let message = usage_line(&Cli::try_parse_from(line).unwrap_err());
            assert!(message.contains(words) && !message.contains('\n'), "{line:?}: {message}");
        }
    }
}
