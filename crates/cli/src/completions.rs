//! `completions`: what a shell needs to complete commands, options and names of lists.

use crate::args::Arguments;
use crate::ending::Ending;
use crate::output;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

/// What is typed to run the program.
const NAME: &str = "talentdata";

/// For which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut command, NAME, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if verb.shell == Shell::Fish {
        script += &fish_values(&command);
    }
    output::data(&script)
}

/// The values of arguments that are no options, which the generator for fish leaves out.
fn fish_values(command: &Command) -> String {
    let mut lines = String::new();
    for verb in command.get_subcommands() {
        let arguments = verb.get_positionals();
        for value in arguments.flat_map(|argument| argument.get_possible_values()) {
            let help = value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            lines += &format!(
                "complete -c {NAME} -n \"__fish_{NAME}_using_subcommand {}\" -f -a \"{}\" -d '{}'\n",
                verb.get_name(),
                value.get_name(),
                help.replace('\'', "\\'")
            );
        }
    }
    lines
}
