//! The grammar of the command line: the flags of all commands, and the commands.

use crate::commands::adbc::AdbcArgs;
use crate::commands::budget::BudgetArgs;
use crate::commands::changes::ChangesArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::export::ExportArgs;
use crate::commands::forget::ForgetArgs;
use crate::commands::history::HistoryArgs;
use crate::commands::operation;
use crate::commands::page::PageArgs;
use crate::commands::plan::PlanArgs;
use crate::commands::sandbox::{self, SandboxArgs};
use crate::commands::schema::SchemaArgs;
use crate::commands::sync::SyncArgs;
use crate::commands::verify::VerifyArgs;
use crate::common::Common;
use crate::{help, lists, options, settings};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use talentdata_core::types::Operation;
use talentdata_mirror::internal::JobKind;

/// The help of a command: examples come before flags. Settings are the same for all commands, and have a page.
const OF_COMMAND: &str = "{before-help}{about-with-newline}
{usage-heading} {usage}{after-help}

{all-args}

Settings such as --base-url, --profile and --share: talentdata help settings
";

/// The flags that do not come from a table. None of them takes a secret, because other users can read arguments.
#[derive(Debug, Parser)]
#[command(
    name = "talentdata",
    version,
    about = "Read lists from the talent data service, completely and at its full rate",
    override_usage = "talentdata COMMAND [ARGUMENTS]",
    help_template = "{about}\n\n{usage-heading} {usage}{after-help}\n",
    arg_required_else_help = true,
    subcommand_required = true
)]
struct Cli {
    /// Use a sample service on this machine, which needs no account
    #[arg(long, global = true, help_heading = "All commands")]
    sandbox: bool,
    /// Log to standard error: -v the steps, -vv everything; never a secret
    #[arg(short, long, global = true, help_heading = "All commands", action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the names of all lists
    #[command(after_help = "Example:\n  talentdata resources")]
    Resources,
    /// Print one page of a list as JSON
    Page(PageArgs),
    /// Write whole lists to files (JSON Lines, CSV, Parquet, Arrow)
    Export(ExportArgs),
    /// Update a local SQLite mirror, and record what changed
    Sync(SyncArgs),
    /// List inserts, updates and deletes recorded in a mirror
    Changes(ChangesArgs),
    /// Show the syncs into a mirror and their numbers of changes
    History(HistoryArgs),
    /// Delete a list, or single records, from a mirror with all history
    Forget(ForgetArgs),
    /// Estimate records, requests, time and size of an export
    Plan(PlanArgs),
    /// Show which clients share the request budget
    Budget(BudgetArgs),
    /// Check settings, connection, credentials and machine, and suggest solutions
    Doctor(DoctorArgs),
    /// Print a list's columns, to pin them with export --schema
    Schema(SchemaArgs),
    /// Check a file against its receipt, or a mirror
    Verify(VerifyArgs),
    /// Let programs read lists with SQL, through the ADBC driver
    Adbc(AdbcArgs),
    /// Run a sample service on this machine
    Sandbox(SandboxArgs),
    /// Print a script that completes commands in a shell
    Completions(CompletionsArgs),
    #[command(skip)]
    Operation(&'static Operation),
}

/// Returns the grammar of all commands and operations, with the flags for options, settings and filters.
pub(crate) fn grammar() -> clap::Command {
    let mut grammar = Cli::command().mut_subcommand("sandbox", sandbox::add);
    for (command, job) in [
        ("export", JobKind::Export),
        ("sync", JobKind::Sync),
        ("schema", JobKind::Schema),
        ("changes", JobKind::Changes),
    ] {
        grammar = grammar.mut_subcommand(command, |command| options::add(command, job));
    }
    for reads_lists in ["page", "export", "sync", "plan", "schema"] {
        grammar = grammar.mut_subcommand(reads_lists, lists::add);
    }
    let grammar = grammar
        .args(settings::flags())
        .subcommands(operation::commands())
        .mut_subcommands(|command| command.help_template(OF_COMMAND));
    let overview = help::overview(&grammar);
    grammar.after_help(overview)
}

/// Reads the arguments.
///
/// # Errors
/// Returns the text to show instead of running: a usage error or a help text.
pub(crate) fn read(arguments: &[OsString]) -> Result<(Common, Command), clap::Error> {
    if arguments.iter().any(is_secret) {
        let message = "a secret must not be an argument, because other users can read arguments; \
             use --client-secret-file FILE (- reads standard input), \
             TALENTDATA_CLIENT_SECRET or a profile file, and change a secret that was typed here";
        return Err(grammar().error(clap::error::ErrorKind::UnknownArgument, message));
    }
    let matches = grammar().try_get_matches_from(arguments)?;
    let (name, own_matches) = matches.subcommand().unwrap_or(("", &matches));
    let command = match operation::find(name) {
        Some(operation) => Command::Operation(operation),
        None => Command::from_arg_matches(&matches)?,
    };
    let common = Common {
        sandbox: matches.get_flag("sandbox"),
        verbose: matches.get_count("verbose"),
        matches: own_matches.clone(),
    };
    Ok((common, command))
}

/// Returns whether the argument is an attempt to pass the secret itself.
fn is_secret(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    text == "--client-secret" || text.starts_with("--client-secret=")
}
