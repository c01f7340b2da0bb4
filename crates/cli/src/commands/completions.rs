//! `completions`: prints a script that completes commands in a shell.

use crate::output::{self, Ending};
use clap_complete::Shell;

/// The shell for the script.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  talentdata completions bash > ~/.local/share/bash-completion/completions/talentdata"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script for all commands of `grammar`.
pub(crate) fn run(args: &CompletionsArgs, mut grammar: clap::Command) -> Result<(), Ending> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar, "talentdata", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}
