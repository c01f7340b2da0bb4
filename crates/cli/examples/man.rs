//! Writes the manual pages of the command line into a directory: one for the program, and one for each verb.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| std::io::Error::other("give the directory that the pages go into"))?;
    std::fs::create_dir_all(&directory)?;
    let grammar = talentdata_cli::grammar();
    let general = talentdata_cli::topics();
    // A page stands alone: the examples of its verb, then the settings and exit codes, which are the same for all.
    let grammar = grammar.mut_subcommands(|verb| {
        let own = verb.get_after_help().cloned().unwrap_or_default();
        verb.after_long_help(format!("{own}\n\n{general}"))
    });
    clap_mangen::generate_to(grammar, directory)
}
