//! The commands that look something up and print it: lists, pages, plans, columns, budgets, checks of files, completions.

use crate::args::{Common, grammar};
use crate::connect::connect;
use crate::output::Ending;
use crate::{names, output};
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::budget::BudgetState;
use talentdata_core::types::Resource;
use talentdata_core::{Builder, Error, ErrorKind, RawRecord};
use talentdata_mirror::Mirror;

/// Prints the lists that there are.
pub(crate) fn resources() -> Result<(), Ending> {
    let mut rows = vec![["NAME", "PATH", "GROUP"].map(str::to_owned).to_vec()];
    for resource in Resource::ALL {
        let operation = resource.shape().operation;
        let cells = [
            names::dashed(resource),
            operation.path.to_owned(),
            operation.group.to_owned(),
        ];
        rows.push(cells.to_vec());
    }
    output::data(&output::table(&rows, 3))
}

/// Which page.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// The list
    #[arg(value_parser = names::resource())]
    resource: Resource,
    /// Records on the page; the service has a default for each list
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Records before the page
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
}

pub(crate) async fn page(verb: &Page, common: &Common) -> Result<(), Ending> {
    let arguments = common.filters.arguments(verb.resource)?;
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

/// What to plan.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
}

pub(crate) async fn plan(verb: &Plan, common: &Common) -> Result<(), Ending> {
    names::refuse_twice(&verb.resources)?;
    let lists = verb.resources.iter();
    let lists = lists.map(|resource| Ok((*resource, common.filters.arguments(*resource)?)));
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

/// Shown below the help of the command.
pub(crate) const SCHEMA_EXAMPLES: &str = "\
The columns are decided from the first 1,000 records, as an export decides them. An export that is given
the file has the same columns whatever its own first records are.

Example:
  talentdata schema contacts > contacts.schema.json
  talentdata export contacts --schema contacts.schema.json --out contacts.parquet";

/// Which list, and which types.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = names::resource())]
    resource: Resource,
    /// Types of nested values and of timestamps: lists, structs and timestamps, or JSON text and strings
    #[arg(long, value_name = "TYPES", default_value = "typed", value_parser = names::one_of(Columns::ALL))]
    columns: Columns,
}

pub(crate) async fn schema(verb: &Schema, common: &Common) -> Result<(), Ending> {
    let arguments = common.filters.arguments(verb.resource)?;
    let connection = connect(common)?;
    let list = connection.client.resource(verb.resource).with(arguments);
    let schema = TableSchema::of_list(&list, verb.columns).await?;
    output::data(&schema.to_json())
}

/// Shown below the help of the command.
pub(crate) const VERIFY_EXAMPLES: &str = "\
Compares the bytes of the file with the BLAKE3 in the receipt. Prints both as JSON, and ends with 0 if they match, with
36 if they do not. A receipt of several lists is searched for the name of the file.

Without a receipt FILE is a mirror: the structure of the file is checked, and the digests of all that is kept in it.

Examples:
  talentdata export contacts --sandbox --out contacts.parquet --receipt receipt.json
  talentdata verify contacts.parquet receipt.json
  talentdata verify mirror.db";

/// What to verify, and against what.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The file that an export has written, or a mirror
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The receipt of that export, from export --receipt; none for a mirror
    #[arg(value_name = "RECEIPT")]
    receipt: Option<PathBuf>,
}

pub(crate) fn check(verb: &Verify) -> Result<(), Ending> {
    let Some(receipt) = &verb.receipt else {
        let verification = Mirror::open(&verb.file)?.verify()?;
        output::json(&verification)?;
        return Ok(verification.to_result(&verb.file)?);
    };
    let receipt = read_receipt(receipt, &verb.file)?;
    let verification = verify(&verb.file, &receipt)?;
    output::json(&verification)?;
    Ok(verification.to_result(&verb.file)?)
}

/// Shown below the help of the command.
pub(crate) const BUDGET_EXAMPLES: &str = "\
Looks at the budget of the base URL and client ID of the settings. It sends nothing and takes no part, so it may be
run at any time. A process that was killed is shown for ten seconds.

Examples:
  talentdata budget
  talentdata budget --json";

/// How to show it.
#[derive(Debug, Args)]
pub(crate) struct Budget {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn budget(verb: &Budget, common: &Common) -> Result<(), Ending> {
    if common.sandbox {
        let message =
            "--sandbox starts a service of its own, whose budget nobody shares; leave it out";
        return Err(Error::new(ErrorKind::InvalidArgument, message).into());
    }
    let mut builder = Builder::default();
    common.settings.set(&mut builder)?;
    let state = builder.config()?.budget_state()?;
    match verb.json {
        true => output::json(&state),
        false => output::data(&budget_text(&state)),
    }
}

fn budget_text(state: &BudgetState) -> String {
    let (Some(rate), Some(mode)) = (state.requests_per_second, &state.mode) else {
        return "Nobody has used this budget within the last minute.\n".to_owned();
    };
    let pause = match state.seconds_paused > 0.0 {
        true => format!(
            "paused by the service for {:.1} s more",
            state.seconds_paused
        ),
        false => "not paused".to_owned(),
    };
    let members = state.members.len();
    let heading = format!(
        "Clients: {members}; all together {rate:.1} requests per second, mode {mode}, {pause}\n"
    );
    let head = [
        "PROGRAM",
        "HOST",
        "WAITS FOR",
        "PROCESS",
        "LAST MINUTE",
        "SECONDS SINCE SEEN",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(state.members.iter().map(|member| {
        vec![
            // The names of programs and hosts may be anything.
            member.name.escape_debug().to_string(),
            member
                .host
                .as_deref()
                .unwrap_or("-")
                .escape_debug()
                .to_string(),
            member.waiting.as_deref().unwrap_or("-").to_owned(),
            member.process.to_string(),
            member.sent_last_minute.to_string(),
            format!("{:.1}", member.seconds_since_seen),
        ]
    }));
    match members {
        0 => heading,
        _ => heading + &output::table(&rows, 3),
    }
}

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(verb: &Completions) -> Result<(), Ending> {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut grammar(), "talentdata", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_core::gate::MemberStats;

    #[test]
    fn the_members_of_a_budget_are_rows_and_their_names_harmless() {
        let member = |host: Option<&str>| MemberStats {
            process: 4711,
            name: "python3".to_owned(),
            host: host.map(str::to_owned),
            sent_last_minute: 12,
            waiting: Some("scan".to_owned()),
            seconds_since_seen: 0.25,
        };
        let shown = budget_text(&BudgetState {
            store: "redis://cache.example:6379".to_owned(),
            members: vec![member(Some("one\u{1b}")), member(None)],
            requests_per_second: Some(38.5),
            mode: Some("slots".to_owned()),
            seconds_paused: 0.0,
        });
        assert_eq!(
            shown,
            "Clients: 2; all together 38.5 requests per second, mode slots, not paused\n\
             PROGRAM  HOST       WAITS FOR  PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n\
             python3  one\\u{1b}  scan          4711           12                 0.2\n\
             python3  -          scan          4711           12                 0.2\n"
        );
    }
}
