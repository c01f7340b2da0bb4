//! What every command takes.

use clap::ArgMatches;

/// What every command takes.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) sandbox: bool,
    pub(crate) verbose: u8,
    /// All flags of the command, including those that tables and the spec define.
    pub(crate) matches: ArgMatches,
}
