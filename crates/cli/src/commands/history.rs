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

/// The columns of the table: their heads, their widths, and whether their texts begin at the left.
const COLUMNS: [(&str, usize, bool); 12] = [
    ("SYNC", 4, false),
    ("ENDED", 20, true),
    ("RECORDS", 9, false),
    ("INSERTS", 8, false),
    ("UPDATES", 8, false),
    ("DELETES", 8, false),
    ("ERASED", 8, false),
    ("MISSING", 8, false),
    ("WITHHELD", 8, false),
    ("COMPLETENESS", 12, true),
    ("REQUESTS", 8, false),
    ("SECONDS", 8, false),
];

/// Returns a line of the table.
fn row(cells: [String; COLUMNS.len()], bar: &str) -> String {
    let mut row = String::new();
    for (cell, (_, width, is_left)) in cells.iter().zip(COLUMNS) {
        row += &if is_left {
            format!("{cell:<width$}  ")
        } else {
            format!("{cell:>width$}  ")
        };
    }
    format!("{}\n", (row + bar).trim_end())
}

/// Returns the table of syncs, with or without bars.
fn history_text(history: &[SyncSummary], has_bars: bool) -> String {
    let changes = |sync: &SyncSummary| [sync.inserts, sync.updates, sync.deletes];
    let drawn = history.iter().filter(|sync| !is_first(sync));
    let most = drawn.map(|sync| changes(sync).iter().sum::<u64>()).max();
    let head = COLUMNS.map(|(head, ..)| head.to_owned());
    let mut text = row(head, if has_bars { "CHANGES" } else { "" });
    for sync in history {
        let bar = if has_bars && !is_first(sync) {
            bar(changes(sync), most.unwrap_or(0))
        } else {
            String::new()
        };
        let withheld = sync.withheld.map(|deletes| deletes.to_string());
        let completeness = to_value(sync.completeness).unwrap_or_default();
        let ended = sync.ended.split('.').next().unwrap_or_default();
        let cells = [
            sync.generation.to_string(),
            format!("{ended}Z"),
            sync.records.to_string(),
            sync.inserts.to_string(),
            sync.updates.to_string(),
            sync.deletes.to_string(),
            sync.erased.to_string(),
            sync.missing.to_string(),
            withheld.unwrap_or_else(|| "-".to_owned()),
            completeness.as_str().unwrap_or_default().to_owned(),
            sync.requests.to_string(),
            format!("{:.1}", sync.seconds),
        ];
        text += &row(cells, &bar);
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
