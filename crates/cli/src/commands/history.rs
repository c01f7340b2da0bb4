//! `history`: shows the syncs into a mirror and their numbers of changes.

use crate::lists::resource;
use crate::output::{self, Ending};
use serde_json::to_value;
use std::io::IsTerminal;
use std::path::PathBuf;
use talentdata_core::Error;
use talentdata_core::types::ListName;
use talentdata_mirror::{Mirror, SyncSummary};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Shows the kept syncs, oldest first. MISSING is the number of records that were not delivered, but not proven to be gone.
WITHHELD is the number of deletes beyond the limit. On a terminal, the last column shows the changes as a bar: + inserts,
~ updates, - deletes. The first sync inserts the whole list and has no bar.

Examples:
  talentdata history contacts --from mirror.db
  talentdata history contacts --from mirror.db --json";

/// The length of the longest bar.
const BAR: u64 = 20;

/// The list, and its mirror.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HistoryArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Print JSON Lines, with an object for each sync
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &HistoryArgs) -> Result<(), Ending> {
    let history = Mirror::open(&args.from)?.history(args.resource)?;
    if args.json {
        let line = |sync| serde_json::to_string(sync).map_err(output::unwritable);
        let lines = history
            .iter()
            .map(line)
            .collect::<Result<Vec<String>, Error>>()?;
        let lines: String = lines.into_iter().map(|line| line + "\n").collect();
        return output::data(&lines);
    }
    output::data(&history_text(&history, std::io::stdout().is_terminal()))
}

/// Returns the table of syncs, with or without bars.
fn history_text(history: &[SyncSummary], has_bars: bool) -> String {
    let head = [
        "SYNC",
        "ENDED",
        "RECORDS",
        "INSERTS",
        "UPDATES",
        "DELETES",
        "ERASED",
        "MISSING",
        "WITHHELD",
        "COMPLETENESS",
        "REQUESTS",
        "SECONDS",
    ];
    let row = |cells: [&str; 12], bar: &str| {
        let [
            sync,
            ended,
            records,
            inserts,
            updates,
            deletes,
            erased,
            missing,
            withheld,
            completeness,
            requests,
            seconds,
        ] = cells;
        let row = format!(
            "{sync:>4}  {ended:<20}  {records:>9}  {inserts:>8}  {updates:>8}  {deletes:>8}  {erased:>8}  {missing:>8}  {withheld:>8}  \
             {completeness:<12}  {requests:>8}  {seconds:>8}  {bar}"
        );
        format!("{}\n", row.trim_end())
    };
    let changes = |sync: &SyncSummary| [sync.inserts, sync.updates, sync.deletes];
    let drawn = history.iter().filter(|sync| !is_first(sync));
    let most = drawn.map(|sync| changes(sync).iter().sum::<u64>()).max();
    let mut text = row(head, if has_bars { "CHANGES" } else { "" });
    for sync in history {
        let bar = if has_bars && !is_first(sync) {
            bar(changes(sync), most.unwrap_or(0))
        } else {
            String::new()
        };
        let numbers = [
            sync.records,
            sync.inserts,
            sync.updates,
            sync.deletes,
            sync.erased,
            sync.missing,
            sync.requests,
        ];
        let [
            records,
            inserts,
            updates,
            deletes,
            erased,
            missing,
            requests,
        ] = numbers.map(|number| number.to_string());
        let withheld = sync
            .withheld
            .map_or("-".to_owned(), |deletes| deletes.to_string());
        let completeness = to_value(sync.completeness).unwrap_or_default();
        let ended = sync.ended.split('.').next().unwrap_or_default();
        text += &row(
            [
                &sync.generation.to_string(),
                &format!("{ended}Z"),
                &records,
                &inserts,
                &updates,
                &deletes,
                &erased,
                &missing,
                &withheld,
                completeness.as_str().unwrap_or_default(),
                &requests,
                &format!("{:.1}", sync.seconds),
            ],
            &bar,
        );
    }
    text
}

/// Returns whether a sync inserted the whole list, as the first one does.
fn is_first(sync: &SyncSummary) -> bool {
    sync.inserts > 0 && sync.inserts == sync.records
}

/// Returns a bar of inserts, updates and deletes. Each kind that occurs has at least one character.
fn bar(changes: [u64; 3], most: u64) -> String {
    let length = |count: u64| {
        let share = u128::from(count) * u128::from(BAR) / u128::from(most.max(1));
        usize::try_from(share)
            .unwrap_or(0)
            .max(usize::from(count > 0))
    };
    let parts = changes.into_iter().zip(["+", "~", "-"]);
    parts
        .map(|(count, mark)| mark.repeat(length(count)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_has_a_mark_and_the_longest_bar_fits() {
        assert_eq!(bar([0, 0, 0], 0), "");
        assert_eq!(
            bar([10, 10, 0], 20),
            format!("{}{}", "+".repeat(10), "~".repeat(10))
        );
        assert_eq!(bar([1, 0, 1000], 1001), format!("+{}", "-".repeat(19)));
        assert_eq!(bar([0, 0, u64::MAX], u64::MAX), "-".repeat(20));
    }
}
