//! `plan`: what an export will cost, from one page of each list.

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
    let row = |name: String, records: u64, pages: u64, seconds: f64| {
        let (records, pages) = (records.to_string(), pages.to_string());
        vec![name, records, pages, format!("{seconds:.1}")]
    };
    let mut rows = vec![
        ["LIST", "RECORDS", "PAGES", "SECONDS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let (mut records, mut pages, mut seconds, mut members) = (0_u64, 0_u64, 0.0, 1);
    for (resource, arguments) in lists {
        let plan = connection.client.plan_with(resource, arguments).await?;
        let name = names::dashed(resource);
        rows.push(row(name, plan.records, plan.pages, plan.seconds));
        // A service may claim anything.
        records = records.saturating_add(plan.records);
        pages = pages.saturating_add(plan.pages);
        seconds += plan.seconds;
        members = plan.members.max(members);
    }
    rows.push(row("sum".into(), records, pages, seconds));
    output::data(&output::table(&rows, 1))?;
    if members > 1 {
        let line = format!(
            "note: {members} clients share the budget now, this one included; the times are those of an equal part of it"
        );
        output::remark(&line);
    }
    Ok(())
}
