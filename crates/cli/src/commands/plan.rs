//! `plan`: estimates the requests, time, disk and memory of an export.

use crate::common::Common;
use crate::connect::{of_lists, with_client};
use crate::lists::{Selection, arguments_of_all, selection};
use crate::output::{self, Ending};
use talentdata_core::Plan;

/// The text below the help of the command.
const EXAMPLES: &str = "\
Reads the first page of each list. SIZE is the size of the records as JSON Lines. DISK is the maximum that an export needs
while it runs, and about the size of a mirror. MEMORY is for one list; add up the lists that you export at once.

Examples:
  talentdata plan contacts ja-skills
  talentdata plan all --json";

/// The lists to plan.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// The lists; all means every list
    #[arg(required = true, value_name = "RESOURCE", value_parser = selection())]
    resources: Vec<Selection>,
    /// Print a JSON array with an object for each list
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &PlanArgs, common: &Common) -> Result<(), Ending> {
    let lists = arguments_of_all(&args.resources, common, None)?;
    let operations = of_lists(lists.iter().map(|(list, _)| *list));
    let plans = with_client(common, operations, async |client| {
        let mut plans = Vec::new();
        for (resource, arguments) in lists {
            plans.push(client.resource(resource).with(arguments).plan().await?);
        }
        Ok(plans)
    });
    let plans = plans.await?;
    if args.json {
        return output::json(&plans);
    }
    output::data(&plans_text(&plans))?;
    let members = plans.iter().map(|plan| plan.members).max();
    if let Some(members @ 2..) = members {
        output::stderr_line(&format!(
            "note: {members} clients share the budget now, including this one. Times assume an equal share of it."
        ));
    }
    Ok(())
}

fn plans_text(plans: &[Plan]) -> String {
    let row = |cells: [&str; 7]| {
        let [name, rest @ ..] = cells;
        let [records, pages, seconds, size, disk, memory] = rest;
        format!(
            "{name:<20}  {records:>12}  {pages:>8}  {seconds:>10}  {size:>9}  {disk:>9}  {memory:>9}\n"
        )
    };
    let cells = |name: &str, numbers: [u64; 2], seconds: f64, bytes: [u64; 3]| {
        let [records, pages] = numbers.map(|number| number.to_string());
        let [size, disk, memory] = bytes.map(megabytes);
        let seconds = duration(seconds);
        row([name, &records, &pages, &seconds, &size, &disk, &memory])
    };
    let mut text = row(["LIST", "RECORDS", "PAGES", "TIME", "SIZE", "DISK", "MEMORY"]);
    for plan in plans {
        let bytes = [plan.bytes, plan.disk_bytes, plan.memory_bytes];
        let name = plan.resource.replace('_', "-");
        text += &cells(&name, [plan.records, plan.pages], plan.seconds, bytes);
    }
    // A service may claim any number of records.
    let sum = |of: fn(&Plan) -> u64| plans.iter().map(of).fold(0, u64::saturating_add);
    let numbers = [sum(|plan| plan.records), sum(|plan| plan.pages)];
    let bytes = [
        sum(|plan| plan.bytes),
        sum(|plan| plan.disk_bytes),
        sum(|plan| plan.memory_bytes),
    ];
    let seconds = plans.iter().map(|plan| plan.seconds).sum();
    text + &cells("sum", numbers, seconds, bytes)
}

/// Formats a duration in seconds, minutes or hours.
fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.1} s");
    }
    let minutes = (seconds / 60.0).ceil();
    if minutes < 100.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.1} h", minutes / 60.0)
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
