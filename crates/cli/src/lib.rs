//! The `talentdata` program as a function: the commands of the client.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod common;
mod connect;
mod help;
mod lists;
mod logging;
mod options;
mod output;
mod parameters;
mod progress;
mod receipts;
mod rows;
mod settings;
mod signals;
mod work;

use args::Command;
use commands::{
    adbc, budget, changes, completions, doctor, export, forget, history, operation, page, plan,
    resources, sandbox, schema, sync, verify,
};
use common::Common;
use output::Ending;
use std::ffi::OsString;
use talentdata_core::internal::process;

/// Runs the program with these arguments, the first of which is its name, and returns the exit code.
/// It uses standard output and standard error, handles the signals, and may end the process after a signal. A process
/// that calls it should do nothing else.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [_, help, name] = &arguments[..]
        && help == "help"
        && let Some(page) = name.to_str().and_then(help::page_of)
    {
        return printed(output::data(&page));
    }
    let (common, command) = match args::read(&arguments) {
        Ok(read) => read,
        Err(text) => {
            if text.use_stderr() {
                // A closed standard error does not change the code.
                let _ = text.print();
                return u8::try_from(text.exit_code()).unwrap_or(2);
            }
            return printed(output::draw(&text.render().to_string()));
        }
    };
    let outcome = logging::start(common.verbose).and_then(|()| run(&command, &common));
    match outcome {
        Ok(()) => 0,
        Err(ending) => ending.report(common.verbose > 0),
    }
}

/// Returns the exit code after a text was printed.
fn printed(outcome: Result<(), Ending>) -> u8 {
    outcome.map_or_else(|ending| ending.report(false), |()| 0)
}

/// Returns the grammar of the command line, from which the manual pages are written.
#[must_use]
pub fn grammar() -> clap::Command {
    args::grammar()
}

/// Returns the pages about settings, exit codes and the environment, which are the same for all commands.
#[must_use]
pub fn topics() -> String {
    help::topics()
}

fn run(command: &Command, common: &Common) -> Result<(), Ending> {
    // One thread sends requests while this one writes. Each further thread would take memory.
    let runtime = process::runtime(1, || ())?;
    let outcome = runtime.block_on(async {
        signals::ignore_file_size_limit();
        dispatch(command, common).await
    });
    // A name lookup cannot be interrupted, and must not delay the end.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: &Command, common: &Common) -> Result<(), Ending> {
    match command {
        Command::Resources => resources::run(),
        Command::Page(args) => page::run(args, common).await,
        Command::Operation(operation) => operation::run(operation, common).await,
        Command::Export(args) => export::run(args, common).await,
        Command::Sync(args) => sync::run(args, common).await,
        Command::Changes(args) => changes::run(args, common),
        Command::History(args) => history::run(args),
        Command::Forget(args) => forget::run(args, common),
        Command::Plan(args) => plan::run(args, common).await,
        Command::Budget(args) => budget::run(args, common).await,
        Command::Doctor(args) => doctor::run(args, common).await,
        Command::Schema(args) => schema::run(args, common).await,
        Command::Verify(args) => verify::run(args),
        Command::Adbc(args) => adbc::run(args),
        Command::Sandbox(args) => sandbox::run(args, common).await,
        Command::Completions(shell) => completions::run(shell, args::grammar()),
    }
}
