//! `plan`: what an export will cost, from one page of each list.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::{names, output};
use talentdata_core::config::REQUESTS_PER_SECOND;
use talentdata_core::page::total_pages;
use talentdata_core::types::Resource;
use talentdata_core::{Client, Page};

/// What to plan.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
}

/// The cost of one list.
struct Cost {
    records: u64,
    pages: u64,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let connection = connect(common)?;
    // The gate keeps one request below the limit.
    let rate = f64::from(REQUESTS_PER_SECOND - 1) * common.share.unwrap_or(1.0);
    let row = |name: String, cost: &Cost| {
        let seconds = cost.pages as f64 / rate;
        let (records, pages) = (cost.records.to_string(), cost.pages.to_string());
        vec![name, records, pages, format!("{seconds:.1}")]
    };
    let mut rows = vec![
        ["LIST", "RECORDS", "PAGES", "SECONDS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut sum = Cost {
        records: 0,
        pages: 0,
    };
    for resource in &verb.resources {
        let cost = cost(&connection.client, *resource).await?;
        rows.push(row(names::dashed(*resource), &cost));
        sum.records += cost.records;
        sum.pages += cost.pages;
    }
    rows.push(row("sum".into(), &sum));
    output::data(&output::table(&rows, 1))
}

/// Asks for a full page, because only that tells how many records the service grants.
async fn cost(client: &Client, resource: Resource) -> Result<Cost, talentdata_core::Error> {
    let most = resource.shape().max_limit;
    let page = client.resource(resource).page(most, 0).await?;
    Ok(Cost {
        records: u64::try_from(page.pagination.total).unwrap_or(0),
        pages: pages(&page),
    })
}

/// Pages of a complete scan: each but the first brings one record less than it holds, because it
/// overlaps the one before.
fn pages(page: &Page) -> u64 {
    let total = u64::try_from(page.pagination.total).unwrap_or(0);
    let granted = page.records.len() as u64;
    if !page.pagination.has_more || granted == 0 {
        return 1;
    }
    match granted {
        1 => total,
        _ => total_pages(total.saturating_sub(1), granted - 1).unwrap_or(1),
    }
}
