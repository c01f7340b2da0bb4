//! The arguments that all commands have in common.

use clap::ArgMatches;

/// The arguments that all commands have in common.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) sandbox: bool,
    pub(crate) verbose: u8,
    /// All flags of the command, including those that tables and the spec define.
    pub(crate) matches: ArgMatches,
}
