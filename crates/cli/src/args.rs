//! The grammar of the command line: what all verbs share, and the verbs.

use crate::settings::Flags;
use crate::{export, help, lookup, mirror, operation, sandbox, sync};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// Everything that was typed.
#[derive(Debug, Parser)]
#[command(
    name = "talentdata",
    version,
    about = "Reads lists of the talent data service: completely, and as fast as the service allows",
    after_long_help = help::after_all(),
    after_help = "See --help for settings, exit codes and an example; each verb has its own.",
    arg_required_else_help = true,
    subcommand_required = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What all verbs share. The secret is not among them: other users can read arguments.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) settings: Flags,
    /// Use the embedded sample service, started for this one run; needs no account
    #[arg(long, global = true)]
    pub(crate) sandbox: bool,
    /// Increase verbosity on standard error: -v what is done, -vv everything; never a secret
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Common {
    /// The first option given that only matters where a service is asked.
    fn connection(&self) -> Option<String> {
        let sandbox = self.sandbox.then(|| "--sandbox".to_owned());
        self.settings.first(None).or(sandbox)
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the lists: name, path and group
    #[command(after_help = "Example:\n  talentdata resources")]
    Resources,
    /// Print one page of a list as JSON, its records exactly as the service sent them
    #[command(after_help = "Example:\n  talentdata page contacts --limit 10 --offset 200")]
    Page(lookup::Page),
    /// Read whole lists into files or standard output
    #[command(after_help = export::EXAMPLES)]
    Export(export::Verb),
    /// Bring a mirror up to date: an SQLite file with lists as of now and what has changed since, deletes proven
    #[command(after_help = sync::EXAMPLES)]
    Sync(sync::Verb),
    /// Write what syncs into a mirror have found
    #[command(after_help = mirror::CHANGES_EXAMPLES)]
    Changes(mirror::Changes),
    /// Remove a list from a mirror, with all that is kept of it
    #[command(after_help = mirror::FORGET_EXAMPLES)]
    Forget(mirror::Forget),
    /// Estimate the records, pages and time of an export
    #[command(after_help = "Example:\n  talentdata plan contacts ja-skills")]
    Plan(lookup::Plan),
    /// Show who shares the request budget now, and how it is spent
    #[command(after_help = lookup::BUDGET_EXAMPLES)]
    Budget(lookup::Budget),
    /// Print the columns of a list as JSON, to pin them with export --schema
    #[command(after_help = lookup::SCHEMA_EXAMPLES)]
    Schema(lookup::Schema),
    /// Check that a file is what an export has written, by its receipt, or that a mirror is intact
    #[command(after_help = lookup::VERIFY_EXAMPLES)]
    Verify(lookup::Verify),
    /// Run the embedded sample service until stopped
    #[command(after_help = sandbox::EXAMPLES)]
    Sandbox(sandbox::Verb),
    /// Print a script that completes commands in a shell
    #[command(
        after_help = "Example:\n  talentdata completions bash > ~/.local/share/bash-completion/completions/talentdata"
    )]
    Completions(lookup::Completions),
    #[command(flatten)]
    Operation(operation::Verb),
}

impl Command {
    fn asks_a_service(&self) -> bool {
        match self {
            Command::Export(verb) => !verb.is_from_mirror(),
            Command::Resources
            | Command::Changes(_)
            | Command::Forget(_)
            | Command::Verify(_)
            | Command::Sandbox(_)
            | Command::Completions(_) => false,
            _ => true,
        }
    }
}

/// Reads the arguments.
///
/// # Errors
/// What is to be shown in place of running: usage errors, and help texts.
pub(crate) fn read(given: &[OsString]) -> Result<Arguments, clap::Error> {
    if given.iter().any(is_secret) {
        return Err(Arguments::command().error(
            clap::error::ErrorKind::UnknownArgument,
            "a secret never comes as an argument, because other users can read those; \
             use --client-secret-file FILE (- reads standard input), \
             TALENTDATA_CLIENT_SECRET or a profile file, and change a secret that was typed here",
        ));
    }
    let arguments = Arguments::try_parse_from(given)?;
    match arguments.common.connection() {
        Some(option) if !arguments.command.asks_a_service() => Err(Arguments::command().error(
            clap::error::ErrorKind::ArgumentConflict,
            format!("{option} has no effect here: this command does not contact the service"),
        )),
        _ => Ok(arguments),
    }
}

/// Whether this is an attempt to pass the secret itself.
fn is_secret(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    text == "--client-secret" || text.starts_with("--client-secret=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_contradicts_itself_nowhere() {
        Arguments::command().debug_assert();
    }
}
