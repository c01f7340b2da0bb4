//! `plan`: the time that an export would take.

use crate::common::Common;
use crate::connect::with_client;
use crate::lists::{arguments_of_all, dashed, resource};
use crate::output::{self, Ending};
use talentdata_core::types::ListName;

/// The lists to plan.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  talentdata plan contacts ja-skills")]
pub(crate) struct PlanArgs {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = resource())]
    resources: Vec<ListName>,
}

pub(crate) async fn run(args: &PlanArgs, common: &Common) -> Result<(), Ending> {
    let lists = arguments_of_all(&args.resources, common)?;
    let row = |name: &str, records: u64, pages: u64, seconds: f64| {
        format!("{name:<16}  {records:>12}  {pages:>8}  {seconds:>10.1}\n")
    };
    let mut text = format!(
        "{:<16}  {:>12}  {:>8}  {:>10}\n",
        "LIST", "RECORDS", "PAGES", "SECONDS"
    );
    let (mut records, mut pages, mut seconds, mut members) = (0_u64, 0_u64, 0.0, 1);
    with_client(common, async |client| {
        for (resource, arguments) in lists {
            let plan = client.resource(resource).with(arguments).plan().await?;
            text += &row(&dashed(resource), plan.records, plan.pages, plan.seconds);
            // A service may claim anything.
            records = records.saturating_add(plan.records);
            pages = pages.saturating_add(plan.pages);
            seconds += plan.seconds;
            members = plan.members.max(members);
        }
        Ok(())
    })
    .await?;
    output::data(&(text + &row("sum", records, pages, seconds)))?;
    if members > 1 {
        output::stderr_line(&format!(
            "note: {members} clients share the budget now, this one included; the times are those of an equal part of it"
        ));
    }
    Ok(())
}
