//! `cenote completions`: prints the completions of a shell.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::output;
use crate::verb::Outcome;

/// Print completions of this command for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote completions bash > ~/.local/share/bash-completion/completions/cenote
  cenote completions zsh > ~/.zfunc/_cenote
  cenote completions fish > ~/.config/fish/completions/cenote.fish")]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "cenote", &mut script);
    output::bytes(&script)?;
    Ok(Outcome::Done)
}
