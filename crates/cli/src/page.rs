//! `page`: one page of a list.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::filters::Filters;
use crate::{names, output};
use talentdata_core::RawRecord;
use talentdata_core::types::Resource;

/// Which page.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The list
    #[arg(value_parser = names::resource())]
    resource: Resource,
    /// Records on the page; the service has a default for each list
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Records before the page
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let arguments = verb.filters.of(verb.resource)?;
    let connection = connect(common)?;
    let list = connection.client.resource(verb.resource).with(arguments);
    let page = list.page(verb.limit, verb.offset).await?;
    // Put together by hand, because the records are to stay as they came, byte for byte.
    let records: Vec<&str> = page.records.iter().map(RawRecord::as_str).collect();
    let pagination = serde_json::to_string(&page.pagination).map_err(output::unwritable)?;
    output::data(&format!(
        "{{\"records\":[\n{}\n],\"pagination\":{pagination}}}\n",
        records.join(",\n"),
    ))
}
