//! `forget`: removes a list from a mirror.

use crate::lists::resource;
use crate::output::Ending;
use std::path::PathBuf;
use talentdata_core::types::ListName;

/// The list to remove, and its mirror.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  talentdata forget contacts --from mirror.db")]
pub(crate) struct ForgetArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

pub(crate) fn run(args: &ForgetArgs) -> Result<(), Ending> {
    Ok(talentdata_mirror::forget(&args.from, args.resource)?)
}
