//! `sync`: updates a mirror, one list after the other, and reports the changes.

use crate::common::Common;
use crate::connect::{of_lists, with_client};
use crate::lists::Lists;
use crate::options;
use crate::output::Ending;
use crate::receipts;
use crate::work::{ListWork, Run};
use std::path::PathBuf;
use talentdata_core::Error;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::{JobKind, JobOptions};

/// The text below the help of the command.
const EXAMPLES: &str = "\
A sync reads each list and compares it with the last sync. A record is reported as deleted only if that is proven. Until
then it is missing, and stays in the mirror. If a list could not be read completely, or the deletes exceed the limit, the
sync deletes nothing and ends with 31.

Examples:
  talentdata sync contacts vacancies --to mirror.db
  talentdata sync contacts --to mirror.db --confirm --keep 90d
  talentdata changes contacts --from mirror.db --since 9c41d0-51d2a7-5f2a03b8c6e1:17
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet
  sqlite3 mirror.db 'SELECT id, email FROM contacts'";

/// The lists to sync, and the mirror.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    /// The file of the mirror, an SQLite database; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    lists: Lists,
}

pub(crate) async fn run(args: &SyncArgs, common: &Common) -> Result<(), Ending> {
    let receipt = args.lists.receipt.as_deref();
    let options = options::read(&common.matches, JobKind::Sync)?;
    let sync = |(list, options): (ListName, JobOptions)| {
        let sync = options.sync(list, &args.to);
        sync.check().map(|()| ListWork::Sync(sync))
    };
    let syncs = args.lists.options_of_each(&options, common, None)?;
    let lists: Vec<ListName> = syncs.iter().map(|(list, _)| *list).collect();
    let syncs = syncs.into_iter().map(sync);
    let syncs = syncs.collect::<Result<Vec<ListWork>, Error>>()?;
    if let Some(path) = receipt {
        receipts::check(path, |path| receipts::is_one_file(path, &args.to))?;
    }
    let run = Run {
        common,
        receipt,
        to_stdout: false,
        // All syncs write to the same file.
        width: 1,
    };
    let operations = of_lists(lists);
    with_client(common, operations, async |client| {
        run.run_all(client, &syncs).await
    })
    .await
}
