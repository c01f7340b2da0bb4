//! `sync`: brings a mirror up to date, list after list, and says what has changed.

use crate::common::Common;
use crate::connect::with_client;
use crate::lists::{Lists, one_of};
use crate::output::Ending;
use crate::receipts;
use crate::work::{Run, Work};
use std::path::PathBuf;
use std::time::Duration;
use talentdata_columns::arrow::OnNew;
use talentdata_core::Error;
use talentdata_mirror::{MaxDeletes, Sync, age};

/// The text below the help of the command.
const EXAMPLES: &str = "\
A sync reads each list and compares it with the last sync. A record is reported as deleted only where that is proven;
until then it is missing, and stays in the mirror. A sync whose list could not be read completely, or whose deletes are
too many to be believed, deletes nothing and ends with 31.

Examples:
  talentdata sync contacts vacancies --to mirror.db
  talentdata sync contacts --to mirror.db --confirm --keep 90d
  talentdata changes contacts --from mirror.db --since 9c41d0-51d2a7-5f2a03b8c6e1:17
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet
  sqlite3 mirror.db 'SELECT id, email FROM contacts'";

/// The lists to sync, the mirror and how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    /// The file of the mirror, an SQLite database; it is made where there is none
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Scan a list again at once if records are missing after it changed during the scan
    #[arg(long)]
    confirm: bool,
    /// What to do with new fields, and with values that do not fit the type of their column: keep them and report them; keep
    /// them silently, and make no columns of new fields (freeze); or fail, so that nothing is committed. By default keep
    #[arg(long, value_name = "ACTION", value_parser = one_of(OnNew::ALL))]
    on_new_field: Option<OnNew>,
    /// The most deletes to believe, of the records that the mirror has of a list, such as 500 or 25%; 100% accepts any
    /// number. By default a fifth, rounded up, and two in any case
    #[arg(long, value_name = "SHARE|N", default_value = "", hide_default_value = true, value_parser = max_deletes)]
    max_deletes: MaxDeletes,
    /// Remove changes and earlier versions that are older than this, such as 90d, 12h or 30m; by default all are kept.
    /// Ages are counted from sync to sync, and the changes of the last one are always kept
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

pub(crate) async fn run(args: &SyncArgs, common: &Common) -> Result<(), Ending> {
    let receipt = args.lists.receipt.as_deref();
    let sync = |(resource, scan)| {
        let sync = Sync {
            scan,
            confirm: args.confirm,
            on_new: args.on_new_field.unwrap_or_default(),
            max_deletes: args.max_deletes,
            keep: args.keep,
            ..Sync::new(resource, &args.to)
        };
        sync.check().map(|()| Work::Sync(sync))
    };
    let syncs = args.lists.scans(common)?.into_iter().map(sync);
    let syncs = syncs.collect::<Result<Vec<Work>, Error>>()?;
    if let Some(path) = receipt {
        receipts::check(path, |path| receipts::is_one_file(path, &args.to))?;
    }
    let run = Run {
        common,
        receipt,
        to_stdout: false,
        // They write to one file.
        width: 1,
    };
    with_client(common, async |client| run.run_all(client, &syncs).await).await
}
