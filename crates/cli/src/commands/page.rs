//! `page`: prints one page of a list.

use crate::common::Common;
use crate::connect::{of_lists, with_client};
use crate::lists::{arguments, resource};
use crate::output::{self, Ending};
use talentdata_core::types::ListName;

/// The list, and the size and offset of the page.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The page is printed as the service sends it. The setting lists and the options fields, drop and hash of exports\ndo not apply.\n\nExample:\n  talentdata page contacts --limit 10 --offset 200"
)]
pub(crate) struct PageArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The number of records; by default the service decides
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The number of records before the page
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
}

pub(crate) async fn run(args: &PageArgs, common: &Common) -> Result<(), Ending> {
    let arguments = arguments(args.resource, common)?;
    let page = with_client(common, of_lists([args.resource]), async |client| {
        let list = client.resource(args.resource).with(arguments);
        Ok(list.page(args.limit, args.offset).await?)
    });
    let page = page.await?;
    output::data(&(page.to_json()? + "\n"))
}
