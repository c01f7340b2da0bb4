//! The `talentdata` program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(talentdata_cli::main(std::env::args_os()))
}
