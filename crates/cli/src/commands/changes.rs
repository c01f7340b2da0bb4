//! `changes`: the changes that syncs into a mirror have found.

use crate::common::Common;
use crate::lists::{one_of, resource};
use crate::options;
use crate::output::Ending;
use crate::receipts;
use crate::rows::write_rows;
use std::path::{Path, PathBuf};
use talentdata_columns::export::{Format, Target};
use talentdata_core::types::ListName;
use talentdata_mirror::internal::JobKind;
use talentdata_mirror::{Mirror, SyncPoint};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Each change has the sync that found it (generation), op (insert, update, delete, missing or reappeared), the record's
key, when it was last seen and when the change was seen, and the record: for delete and missing the last one known.
To keep a copy, write the record for insert, update and reappeared, remove it for delete, and do nothing for missing.
Doing so twice does no harm. The last line on standard error has the bookmark of the last sync, also where nothing has
changed. The receipt has it too. Note it with the copy, and give it the next time.

Examples:
  talentdata changes contacts --from mirror.db --receipt receipt.json --out changes.csv
  talentdata changes contacts --from mirror.db --since 9c41d0-51d2a7-5f2a03b8c6e1:17
  talentdata changes contacts --from mirror.db --since 2026-11-20T06:00:00Z --out changes.parquet
  talentdata changes contacts --from mirror.db --schema contacts.schema.json --out changes.parquet";

/// The changes to write, and the file to write.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChangesArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// What came after this is written: the bookmark that was noted the last time, or a time, or the number of a sync
    /// in a mirror that was never copied or restored. By default everything is
    #[arg(long, value_name = "BOOKMARK|TIME|N", default_value = "0")]
    since: SyncPoint,
    /// Output format; by default that of the file name extension, else jsonl
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Option<Format>,
    /// The file to write; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    out: PathBuf,
    /// Write the receipt of the last sync, with its bookmark, what was written and how it differed from its columns, to this
    /// file as JSON
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
}

pub(crate) fn run(args: &ChangesArgs, common: &Common) -> Result<(), Ending> {
    let format = args.format.map_or_else(|| Format::of_path(&args.out), Ok)?;
    let target = if args.out == Path::new("-") {
        Target::Stdout
    } else {
        Target::File(args.out.clone())
    };
    if let Some(path) = &args.receipt {
        let is_out =
            |path: &Path| matches!(&target, Target::File(out) if receipts::is_one_file(path, out));
        receipts::check(path, |path| {
            is_out(path) || receipts::is_one_file(path, &args.from)
        })?;
    }
    let table = options::read(&common.matches, JobKind::Mirror)?.table;
    let changes = Mirror::open(&args.from)?.changes(args.resource, &args.since);
    let done = write_rows(args.resource, changes, format, &target, table)?;
    let path = args.receipt.as_deref();
    Ok(path.map_or(Ok(()), |path| receipts::write(path, &[done], true))?)
}
