//! `sync`: brings a mirror up to date, list after list, and says what has changed.

use crate::args::Common;
use crate::connect::connect;
use crate::ending::{Ending, say};
use crate::filters::Filters;
use crate::output::remark;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{names, receipts};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;
use talentdata_core::mirror::{Sync, SyncReceipt};
use talentdata_core::scan::{Completeness, Doubt, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, ScanOptions};

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
A sync reads the whole list and compares it with what the one before has seen. DIR/contacts/current.parquet is the
list as of the last sync, DIR/contacts/changes has a file for each. A record is deleted only where it is
proven that it was gone; where the list could not be read completely it is missing, stays, and the exit code is 31.

Examples:
  talentdata sync contacts vacancies --to mirror/
  talentdata sync contacts --to mirror/ --keep 90d
  talentdata changes contacts --from mirror/ --since 16
  talentdata export contacts --from mirror/ --as-of 2026-11-20T06:00:00Z --out contacts.parquet";

/// Why a mirror takes one sync with `--sandbox` only.
const SANDBOX_HINT: &str = "every run with --sandbox has a service of its own: to sync from the same one again, start it with `talentdata sandbox` in another terminal";

/// What to sync, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The lists
    #[arg(required = true, value_name = "RESOURCE", value_parser = names::resource())]
    resources: Vec<Resource>,
    /// The directory of the mirror; it is begun where the directory is empty or does not exist
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Fold generations together that are older than this, such as 90d, 12h or 30m; by default all are kept
    #[arg(long, value_name = "AGE", value_parser = age)]
    keep: Option<Duration>,
    /// Write what was done to this file as JSON; for several lists an array. It says "unfinished" while the
    /// sync runs and after it has failed
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
    /// Records per page to ask for; the list's maximum by default
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let syncs = verb.syncs()?;
    let connection = connect(common)?;
    let stopped_at_once = || remark("error: stopped immediately; the next sync cleans up");
    let signals = Signals::take(None, stopped_at_once)?;
    if let Some(path) = &verb.receipt {
        let unfinished: Vec<SyncReceipt> = syncs.iter().map(unfinished).collect();
        receipts::replace(path, &unfinished)?;
    }
    let progress = Progress::start(false, common.verbose > 0);
    let mut outcomes: Vec<Result<SyncReceipt, Error>> = Vec::new();
    for (index, sync) in syncs.iter().enumerate() {
        let stop = async {
            signals.clone().stopped().await;
        };
        let note = |receipt: &Receipt| progress.note(index, receipt);
        outcomes.push(sync.run(&connection.client, stop, note).await);
        if signals.caught().is_some() {
            break;
        }
    }
    progress.end();
    if let Some(path) = &verb.receipt {
        let mut done: Vec<SyncReceipt> = Vec::new();
        for (index, sync) in syncs.iter().enumerate() {
            let receipt = outcomes
                .get(index)
                .and_then(|outcome| outcome.as_ref().ok());
            done.push(receipt.cloned().unwrap_or_else(|| unfinished(sync)));
        }
        receipts::replace(path, &done)?;
    }
    report(&syncs, &outcomes, &signals, common)
}

/// A line for each list that did not go well, and on a terminal one for each that did.
fn report(
    syncs: &[Sync],
    outcomes: &[Result<SyncReceipt, Error>],
    signals: &Signals,
    common: &Common,
) -> Result<(), Ending> {
    let mut kind = None;
    for (sync, outcome) in syncs.iter().zip(outcomes) {
        let list = names::dashed(sync.resource);
        match outcome {
            Err(error) => {
                let hint = (common.sandbox && error.kind() == ErrorKind::InvalidArgument)
                    .then_some(SANDBOX_HINT);
                say(error, &format!("{list}: "), hint, common.verbose > 0);
                if let (ErrorKind::Cancelled, Some(signal)) = (error.kind(), signals.caught()) {
                    return Err(Ending::Stopped(signal));
                }
                kind = kind.or(Some(error.kind()));
            }
            Ok(receipt) if receipt.scan.completeness != Completeness::Proven => {
                let doubts = receipt.scan.doubts.iter();
                let reasons: Vec<&str> = doubts.map(|doubt| Doubt::reason(*doubt)).collect();
                let missing = match receipt.missing {
                    1 => "1 record is missing".to_owned(),
                    count => format!("{count} records are missing"),
                };
                remark(&format!(
                    "warning: {list}: completeness is not proven: {}; generation {} was committed without deletes, and {missing}",
                    reasons.join("; "),
                    receipt.generation,
                ));
                kind = kind.or(Some(ErrorKind::Incomplete));
            }
            Ok(receipt) => sum_up(&list, receipt),
        }
    }
    kind.map_or(Ok(()), |kind| Err(Ending::Said(kind)))
}

fn sum_up(list: &str, receipt: &SyncReceipt) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let counts = &receipt.changes;
    let missing = match receipt.missing {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    remark(&format!(
        "{list}: generation {}: {} records, {} inserted, {} updated, {} deleted{missing}, in {:.1} s",
        receipt.generation,
        receipt.scan.records,
        counts.insert,
        counts.update,
        counts.delete,
        receipt.scan.seconds
    ));
}

fn unfinished(sync: &Sync) -> SyncReceipt {
    SyncReceipt {
        scan: Receipt {
            resource: sync.resource.name().to_owned(),
            ..Receipt::default()
        },
        ..SyncReceipt::default()
    }
}

impl Verb {
    /// A sync for each list.
    fn syncs(&self) -> Result<Vec<Sync>, Error> {
        names::refuse_twice(&self.resources)?;
        if let Some(path) = &self.receipt {
            receipts::check_outside(path, &self.to)?;
        }
        let sync = |resource: &Resource| {
            let sync = Sync {
                scan: ScanOptions {
                    page_size: self.page_size,
                    arguments: self.filters.of(*resource)?,
                    ..ScanOptions::default()
                },
                keep: self.keep,
                ..Sync::new(*resource, &self.to)
            };
            sync.check().map(|()| sync)
        };
        self.resources.iter().map(sync).collect()
    }
}

/// Reads an age such as `90d`.
fn age(text: &str) -> Result<Duration, String> {
    let units = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];
    let found = units.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*seconds)
    });
    let seconds = found.ok_or("an age is a whole number with d, h, m or s, such as 90d")?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("90d").unwrap().as_secs(), 90 * 86_400);
        assert_eq!(age("12h").unwrap().as_secs(), 12 * 3600);
        for wrong in ["90", "d", "-1d", "1.5h", "90 d", "99999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
