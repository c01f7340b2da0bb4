//! Writes the manual pages of the command line into a directory: one for the program, and one for each verb.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| std::io::Error::other("give the directory that the pages go into"))?;
    std::fs::create_dir_all(&directory)?;
    clap_mangen::generate_to(talentdata_cli::grammar(), directory)
}
