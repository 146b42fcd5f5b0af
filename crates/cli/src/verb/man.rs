//! `cenote man`: prints man pages.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::output::{self, count};
use crate::verb::Outcome;

/// Print the man page of this command or of a verb
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote man | man -l -
  cenote man run wcc | man -l -
  cenote man --out ~/.local/share/man/man1")]
pub struct Args {
    /// The verb, and its kind if it has some: `run wcc` [default: all verbs in short]
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
    /// Write the pages of all verbs into a folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

/// Prints a page, or writes all.
pub fn run(args: &Args) -> Result<Outcome> {
    let mut all = crate::Cli::command().disable_help_subcommand(true);
    all.build();
    let Some(folder) = &args.out else {
        output::bytes(&page(command(&all, &args.verb)?.clone())?)?;
        return Ok(Outcome::Done);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut pages = 0;
    write(&all, folder, &mut pages)?;
    output::line(format_args!("{}: {} pages", folder.display(), count(pages)))?;
    Ok(Outcome::Done)
}

/// The command that `verb` names.
fn command<'c>(all: &'c Command, verb: &[String]) -> Result<&'c Command> {
    verb.iter().try_fold(all, |command, name| {
        let known = || command.get_subcommands().map(Command::get_name).collect::<Vec<_>>();
        match command.find_subcommand(name) {
            Some(found) => Ok(found),
            None if known().is_empty() => bail!("{name}: `{}` has no kinds", command.get_name()),
            None => bail!("{name}: no such verb or kind: expected {}", known().join(", ")),
        }
    })
}

/// The page of a command.
fn page(command: Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    // Without the commit: pages are for a version.
    Man::new(command.version(env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    Ok(text)
}

fn write(command: &Command, folder: &std::path::Path, pages: &mut u64) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let written = std::fs::write(&path, page(command.clone())?);
    written.with_context(|| format!("cannot write {}", path.display()))?;
    *pages += 1;
    command.get_subcommands().try_for_each(|verb| write(verb, folder, pages))
}
