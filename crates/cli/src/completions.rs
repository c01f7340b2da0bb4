//! `completions`: what a shell needs to complete commands, options and names of lists.

use crate::args::Arguments;
use crate::ending::Ending;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let mut script = Vec::new();
    clap_complete::generate(
        verb.shell,
        &mut Arguments::command(),
        "talentdata",
        &mut script,
    );
    output::data(&String::from_utf8_lossy(&script))
}
