//! The `talentdata` program: the verbs of the client on the command line.

#![forbid(unsafe_code)]

mod args;
mod check;
mod completions;
mod connect;
mod ending;
mod export;
mod help;
mod list;
mod logging;
mod names;
mod outcomes;
mod output;
mod permissions;
mod plan;
mod progress;
mod receipts;
mod resources;
mod sandbox;
mod signals;
mod version;

use args::{Arguments, Command};
use ending::Ending;
use std::process::ExitCode;
use talentdata_core::{Error, ErrorKind};

fn main() -> ExitCode {
    let arguments = match args::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        // Its exit code is 2, or 0 for a help text.
        Err(error) => error.exit(),
    };
    let outcome = logging::start(arguments.common.verbose).and_then(|()| run(&arguments));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => ending.report(arguments.common.verbose > 0),
    }
}

fn run(arguments: &Arguments) -> Result<(), Ending> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::new(ErrorKind::Internal, format!("no threads: {error}")))?;
    let outcome = runtime.block_on(dispatch(arguments));
    // A look-up of a host's name cannot be interrupted, and must not hold up the end.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(arguments: &Arguments) -> Result<(), Ending> {
    let common = &arguments.common;
    match &arguments.command {
        Command::Resources => resources::run(),
        Command::Version => version::run(common).await,
        Command::Check(verb) => check::run(verb, common).await,
        Command::Permissions => permissions::run(common).await,
        Command::List(verb) => list::run(verb, common).await,
        Command::Export(verb) => export::run(verb, common).await,
        Command::Plan(verb) => plan::run(verb, common).await,
        Command::Sandbox(verb) => sandbox::run(verb).await,
        Command::Completions(verb) => completions::run(verb),
    }
}
