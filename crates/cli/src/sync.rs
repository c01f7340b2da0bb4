//! `sync`: brings a mirror up to date, list after list, and says what has changed.

use crate::args::Common;
use crate::connect::connect;
use crate::filters::Lists;
use crate::output::{Ending, remark};
use crate::receipts;
use crate::run::{Done, Run, Work};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::{MaxDeletes, Sync, SyncReceipt, age};

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
A sync reads each list and compares it with the last sync. A record is reported as deleted only where that is proven;
until then it is missing, and stays in the mirror. A sync whose list could not be read completely, or whose deletes are
too many to be believed, deletes nothing and ends with 31.

Examples:
  talentdata sync contacts vacancies --to mirror.db
  talentdata sync contacts --to mirror.db --confirm --keep 90d
  talentdata changes contacts --from mirror.db --since 16
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet
  sqlite3 mirror.db 'SELECT id, email FROM contacts'";

/// Why a mirror takes one sync with `--sandbox` only.
const SANDBOX_HINT: &str = "every run with --sandbox has a service of its own: to sync from the same one again, start it with `talentdata sandbox` in another terminal";

/// What to sync, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The file of the mirror, an SQLite database; it is made where there is none
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Scan a list again at once if records are missing after it changed during the scan
    #[arg(long)]
    confirm: bool,
    /// The most deletes to believe, of the records that the mirror has of a list, such as 500 or 25%; 100% accepts any
    /// number. By default a fifth, and ten in any case
    #[arg(long, value_name = "SHARE|N", default_value = "", hide_default_value = true, value_parser = max_deletes)]
    max_deletes: MaxDeletes,
    /// Remove changes and earlier versions that are older than this, such as 90d, 12h or 30m; by default all are kept
    #[arg(long, value_name = "AGE", value_parser = age)]
    keep: Option<Duration>,
    #[command(flatten)]
    lists: Lists,
}

fn max_deletes(text: &str) -> Result<MaxDeletes, Error> {
    match text {
        "" => Ok(MaxDeletes::default()),
        text => text.parse(),
    }
}

pub(crate) async fn run(verb: &Verb, common: &Common) -> Result<(), Ending> {
    let syncs = verb.syncs(common)?;
    let connection = connect(common)?;
    let run = Run {
        client: &connection.client,
        receipt: verb.lists.receipt.as_deref(),
        to_stdout: false,
        verbose: common.verbose > 0,
        // They write to one file.
        width: 1,
    };
    let hint = |error: &Error| {
        let is_other = common.sandbox && error.kind() == ErrorKind::InvalidArgument;
        is_other.then(|| SANDBOX_HINT.to_owned())
    };
    let stopped_at_once = || remark("error: stopped immediately; the mirror is as it was");
    for done in run.all(&syncs, hint, stopped_at_once).await? {
        if let Done::Sync(receipt) = done
            && std::io::stderr().is_terminal()
        {
            sum_up(&receipt.scan.resource.replace('_', "-"), &receipt);
        }
    }
    Ok(())
}

fn sum_up(list: &str, receipt: &SyncReceipt) {
    let counts = &receipt.changes;
    let missing = match receipt.missing {
        0 => String::new(),
        count => format!(", {count} missing"),
    };
    remark(&format!(
        "{list}: sync {}: {} records, {} inserted, {} updated, {} deleted{missing}, in {:.1} s",
        receipt.generation,
        receipt.scan.records,
        counts.insert,
        counts.update,
        counts.delete,
        receipt.scan.seconds
    ));
}

impl Verb {
    /// A sync for each list.
    fn syncs(&self, common: &Common) -> Result<Vec<Work>, Error> {
        let scans = self.lists.scans(&common.filters)?;
        if let Some(path) = &self.lists.receipt {
            receipts::check_beside(path, &self.to)?;
        }
        let sync = |(resource, scan)| {
            let sync = Sync {
                scan,
                confirm: self.confirm,
                max_deletes: self.max_deletes,
                keep: self.keep,
                ..Sync::new(resource, &self.to)
            };
            sync.check().map(|()| Work::Sync(sync))
        };
        scans.into_iter().map(sync).collect()
    }
}
