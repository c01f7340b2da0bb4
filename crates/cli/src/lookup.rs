//! The commands that look something up and print it: lists, pages, plans, columns, budgets, checks of files, completions.

use crate::args::{Common, grammar};
use crate::connect::with_client;
use crate::lists::{arguments, arguments_of_all, dashed, one_of, resource};
use crate::output::{self, Ending};
use crate::settings;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::BudgetState;
use talentdata_core::types::ListName;
use talentdata_core::{Builder, RawRecord};
use talentdata_mirror::Mirror;

/// Prints the lists that there are.
pub(crate) fn resources() -> Result<(), Ending> {
    let line = |name: &str, path: &str, group: &str| format!("{name:<16}  {path:<22}  {group}\n");
    let rows = ListName::ALL.map(|resource| {
        let operation = resource.shape().operation;
        line(&dashed(resource), operation.path, operation.group)
    });
    output::data(&(line("NAME", "PATH", "GROUP") + &rows.concat()))
}

/// Which page.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// The list
    #[arg(value_parser = resource())]
    resource: ListName,
    /// Records on the page; the service has a default for each list
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Records before the page
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
}

pub(crate) async fn page(verb: &Page, common: &Common) -> Result<(), Ending> {
    let arguments = arguments(verb.resource, common)?;
    let page = with_client(common, async |client| {
        let list = client.resource(verb.resource).with(arguments);
        Ok(list.page(verb.limit, verb.offset).await?)
    });
    let page = page.await?;
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
    #[arg(required = true, value_name = "RESOURCE", value_parser = resource())]
    resources: Vec<ListName>,
}

pub(crate) async fn plan(verb: &Plan, common: &Common) -> Result<(), Ending> {
    let lists = arguments_of_all(&verb.resources, common)?;
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
            let plan = client.plan(resource, arguments).await?;
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
        output::remark(&format!(
            "note: {members} clients share the budget now, this one included; the times are those of an equal part of it"
        ));
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
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// Types of nested values and of timestamps: lists, structs and timestamps, or JSON text and strings
    #[arg(long, value_name = "TYPES", default_value = "typed", value_parser = one_of(Columns::ALL))]
    columns: Columns,
}

pub(crate) async fn schema(verb: &Schema, common: &Common) -> Result<(), Ending> {
    let arguments = arguments(verb.resource, common)?;
    let schema = with_client(common, async |client| {
        let list = client.resource(verb.resource).with(arguments);
        Ok(TableSchema::of_list(&list, verb.columns).await?)
    });
    output::data(&schema.await?.to_json())
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
    if let Some(receipt) = &verb.receipt {
        let receipt = read_receipt(receipt, &verb.file)?;
        let verification = verify(&verb.file, &receipt)?;
        output::json(&verification)?;
        return Ok(verification.to_result(&verb.file)?);
    }
    let verification = Mirror::open(&verb.file)?.verify()?;
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
    let mut builder = Builder::default();
    settings::set(&common.given, &mut builder)?;
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
    let mut text = format!(
        "Clients: {members}; all together {rate:.1} requests per second, mode {mode}, {pause}\n"
    );
    if members > 0 {
        text += "PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n";
    }
    for member in &state.members {
        // The names of programs and hosts may be anything.
        text += &format!(
            "{:<16}  {:<16}  {:<10}  {:>8}  {:>11}  {:>18.1}\n",
            member.name.escape_debug().to_string(),
            member
                .host
                .as_deref()
                .unwrap_or("-")
                .escape_debug()
                .to_string(),
            member.waiting.as_deref().unwrap_or("-"),
            member.process,
            member.sent_last_minute,
            member.seconds_since_seen,
        );
    }
    text
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
    use talentdata_core::MemberStats;

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
             PROGRAM           HOST              WAITS FOR    PROCESS  LAST MINUTE  SECONDS SINCE SEEN\n\
             python3           one\\u{1b}         scan            4711           12                 0.2\n\
             python3           -                 scan            4711           12                 0.2\n"
        );
    }
}
