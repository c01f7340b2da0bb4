//! Writes the manual pages of the command line into a directory: one for the program, and one for each command.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| std::io::Error::other("give the directory for the pages"))?;
    std::fs::create_dir_all(&directory)?;
    let grammar = talentdata_cli::grammar();
    let general = talentdata_cli::topics();
    // Each page is complete: it has the examples of its command, then the settings and exit codes, which all pages
    // share.
    let complete = |command: clap::Command| {
        let own = command.get_after_help().cloned().unwrap_or_default();
        command.after_long_help(format!("{own}\n\n{general}"))
    };
    let grammar = complete(grammar).mut_subcommands(&complete);
    clap_mangen::generate_to(grammar, directory)
}
