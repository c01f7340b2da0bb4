//! The `talentdata` program as a function: the verbs of the client on the command line.

#![forbid(unsafe_code)]

mod args;
mod connect;
mod export;
mod help;
mod lists;
mod logging;
mod lookup;
mod mirror;
mod operation;
mod output;
mod progress;
mod receipts;
mod run;
mod sandbox;
mod settings;
mod signals;
mod sync;

use args::{Command, Common};
use output::Ending;
use std::ffi::OsString;
use talentdata_core::process;

/// Runs the program with these arguments, the first of which is its name; returns the exit code.
///
/// It takes over standard output, standard error and the signals, and after a signal it may end the
/// process: nothing else is to be done in a process that runs it.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let given: Vec<OsString> = arguments.into_iter().collect();
    let (common, command) = match args::read(&given) {
        Ok(read) => read,
        Err(text) => {
            // A usage error or a help text; a closed output does not change the code.
            let _ = text.print();
            return u8::try_from(text.exit_code()).unwrap_or(2);
        }
    };
    let outcome = logging::start(common.verbose).and_then(|()| run(&command, &common));
    match outcome {
        Ok(()) => 0,
        Err(ending) => ending.report(common.verbose > 0),
    }
}

fn run(command: &Command, common: &Common) -> Result<(), Ending> {
    // One fetches while this thread writes; each further one would keep memory of its own.
    let runtime = process::runtime(1, || ())?;
    let outcome = runtime.block_on(async {
        signals::ignore_file_size_limit();
        dispatch(command, common).await
    });
    // A look-up of a host's name cannot be interrupted, and must not hold up the end.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: &Command, common: &Common) -> Result<(), Ending> {
    match command {
        Command::Resources => lookup::resources(),
        Command::Page(verb) => lookup::page(verb, common).await,
        Command::Operation(operation) => operation::run(operation, common).await,
        Command::Export(verb) => export::run(verb, common).await,
        Command::Sync(verb) => sync::run(verb, common).await,
        Command::Changes(verb) => mirror::changes(verb),
        Command::Forget(verb) => mirror::forget(verb),
        Command::Plan(verb) => lookup::plan(verb, common).await,
        Command::Budget(verb) => lookup::budget(verb, common),
        Command::Schema(verb) => lookup::schema(verb, common).await,
        Command::Verify(verb) => lookup::check(verb),
        Command::Sandbox(verb) => sandbox::run(verb).await,
        Command::Completions(verb) => lookup::completions(verb),
    }
}
