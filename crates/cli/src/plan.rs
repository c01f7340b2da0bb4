//! `plan`: what an export or a sync will cost, from one page of each list.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::Ending;
use crate::filters::Filters;
use crate::{names, output};
use talentdata_core::Error;
use talentdata_core::types::Resource;

/// What to plan.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    names::refuse_twice(&verb.resources)?;
    let lists = verb.resources.iter();
    let lists = lists.map(|resource| Ok((*resource, verb.filters.of(*resource)?)));
    let lists = lists.collect::<Result<Vec<_>, Error>>()?;
    let connection = connect(common)?;
    let row = |name: String, records: u64, pages: u64, seconds: f64, sync: u64| {
        let (records, pages) = (records.to_string(), pages.to_string());
        vec![
            name,
            records,
            pages,
            format!("{seconds:.1}"),
            sync.to_string(),
        ]
    };
    let mut rows = vec![
        [
            "LIST",
            "RECORDS",
            "PAGES",
            "SECONDS",
            "PAGES OF A SYNC, AT MOST",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let (mut records, mut pages, mut seconds, mut sync, mut members) =
        (0_u64, 0_u64, 0.0, 0_u64, 1);
    for (resource, arguments) in lists {
        let plan = connection.client.plan_with(resource, arguments).await?;
        let name = names::dashed(resource);
        let (count, cost) = (plan.records, plan.sync_pages);
        rows.push(row(name, count, plan.pages, plan.seconds, cost));
        // A service may claim anything.
        records = records.saturating_add(plan.records);
        pages = pages.saturating_add(plan.pages);
        seconds += plan.seconds;
        sync = sync.saturating_add(plan.sync_pages);
        members = plan.members.max(members);
    }
    rows.push(row("sum".into(), records, pages, seconds, sync));
    output::data(&output::table(&rows, 1))?;
    if members > 1 {
        let line = format!(
            "note: {members} clients share the budget now, this one included; the times are those of an equal part of it"
        );
        output::remark(&line);
    }
    Ok(())
}
