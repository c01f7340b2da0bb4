//! The grammar of the command line: what all verbs share, and the verbs.

use crate::{export, help, lists, lookup, mirror, operation, sandbox, settings, sync};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use talentdata_core::types::Operation;

/// What all verbs share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) sandbox: bool,
    pub(crate) verbose: u8,
    /// All flags, also those that tables and the spec define.
    pub(crate) given: ArgMatches,
}

/// What does not depend on a table. The secret is not among it: other users can read arguments.
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
struct Fixed {
    /// Use the embedded sample service, started for this one run; needs no account
    #[arg(long, global = true, help_heading = "Connection")]
    sandbox: bool,
    /// Increase verbosity on standard error: -v what is done, -vv everything; never a secret
    #[arg(short, long, global = true, help_heading = "Connection", action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
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
    #[command(skip)]
    Operation(&'static Operation),
}

/// All commands: those above with the flags of the settings and filters, and the operations.
pub(crate) fn grammar() -> clap::Command {
    let mut grammar = Fixed::command();
    for reads_lists in ["page", "export", "sync", "plan", "schema"] {
        grammar = grammar.mut_subcommand(reads_lists, lists::add);
    }
    grammar
        .args(settings::flags())
        .subcommands(operation::commands())
}

/// Reads the arguments.
///
/// # Errors
/// What is to be shown in place of running: usage errors, and help texts.
pub(crate) fn read(given: &[OsString]) -> Result<(Common, Command), clap::Error> {
    if given.iter().any(is_secret) {
        let message = "a secret never comes as an argument, because other users can read those; \
             use --client-secret-file FILE (- reads standard input), \
             TALENTDATA_CLIENT_SECRET or a profile file, and change a secret that was typed here";
        return Err(grammar().error(clap::error::ErrorKind::UnknownArgument, message));
    }
    let matches = grammar().try_get_matches_from(given)?;
    let (name, given) = matches.subcommand().unwrap_or(("", &matches));
    let command = match operation::find(name) {
        Some(operation) => Command::Operation(operation),
        None => Command::from_arg_matches(&matches)?,
    };
    let common = Common {
        sandbox: matches.get_flag("sandbox"),
        verbose: matches.get_count("verbose"),
        given: given.clone(),
    };
    Ok((common, command))
}

/// Whether this is an attempt to pass the secret itself.
fn is_secret(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    text == "--client-secret" || text.starts_with("--client-secret=")
}
