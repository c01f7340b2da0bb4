//! `changes`, `forget` and `export --from`: what a mirror has, and taking lists out of it.

use crate::lists::{dashed, one_of, resource};
use crate::output::{Ending, reader_gone, remark, warn};
use crate::receipts;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use talentdata_columns::arrow::{OnNew, TableOptions, TableSchema};
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::{At, Mirror, Rows, RowsReceipt};

/// Shown below the help of `changes`.
pub(crate) const CHANGES_EXAMPLES: &str = "\
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

/// Shown below the help of `forget`.
pub(crate) const FORGET_EXAMPLES: &str = "Example:\n  talentdata forget contacts --from mirror.db";

/// Which changes, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Changes {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// What came after this is written: the bookmark that was noted the last time, or a time, or the number of a sync
    /// in a mirror that was never copied or restored. By default everything is
    #[arg(long, value_name = "BOOKMARK|TIME|N", default_value = "0")]
    since: At,
    /// Output format; by default that of the file name extension, else jsonl
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Option<Format>,
    /// The file to write; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    out: PathBuf,
    /// The columns of the records, in place of those of the mirror: a file that `talentdata schema` has printed
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// What to do with fields without a column, and with values that do not fit the type of theirs: keep them in the column
    /// _extra and report them, keep them there silently (freeze), or fail. By default keep
    #[arg(long, value_name = "ACTION", value_parser = one_of(OnNew::ALL))]
    on_new_field: Option<OnNew>,
    /// Write the receipt of the last sync, with its bookmark, what was written and how it differed from its columns, to this
    /// file as JSON
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
}

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct Forget {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

pub(crate) fn changes(verb: &Changes) -> Result<(), Ending> {
    let format = verb.format.map_or_else(|| Format::of_path(&verb.out), Ok)?;
    let target = match verb.out == Path::new("-") {
        true => Target::Stdout,
        false => Target::File(verb.out.clone()),
    };
    if let Some(path) = &verb.receipt {
        let is_out =
            |path: &Path| matches!(&target, Target::File(out) if receipts::is_one_file(path, out));
        receipts::check(path, |path| {
            is_out(path) || receipts::is_one_file(path, &verb.from)
        })?;
    }
    let schema = verb.schema.as_deref().map(TableSchema::from_file);
    let table = TableOptions {
        schema: schema.transpose()?.map(Arc::new),
        on_new: verb.on_new_field.unwrap_or_default(),
        ..TableOptions::default()
    };
    let changes = Mirror::open(&verb.from)?.changes(verb.resource, &verb.since);
    let done = write(verb.resource, changes, format, &target, table)?;
    let path = verb.receipt.as_deref();
    Ok(path.map_or(Ok(()), |path| receipts::write(path, &[done], true))?)
}

pub(crate) fn forget(verb: &Forget) -> Result<(), Ending> {
    Ok(talentdata_mirror::forget(&verb.from, verb.resource)?)
}

/// Writes lists as a mirror has them, and their receipts.
pub(crate) fn export(
    exports: &[Export],
    from: &Path,
    at: Option<&At>,
    receipt: Option<&Path>,
) -> Result<(), Ending> {
    let mirror = Mirror::open(from)?;
    let mut done = Vec::new();
    for export in exports {
        let (resource, table) = (export.resource, export.table.clone());
        let records = mirror.records(resource, at);
        done.push(write(
            resource,
            records,
            export.format,
            &export.target,
            table,
        )?);
    }
    Ok(receipt.map_or(Ok(()), |path| receipts::write(path, &done, true))?)
}

/// Writes rows of a list, and says where they end. A reader of standard output that went away is no error.
fn write(
    list: ListName,
    rows: Result<Rows, Error>,
    format: Format,
    target: &Target,
    table: TableOptions,
) -> Result<RowsReceipt, Ending> {
    let written = rows.and_then(|rows| rows.write(format, target, table));
    let receipt = written.map_err(|error| match error.kind() {
        ErrorKind::Io if *target == Target::Stdout && reader_gone() => Ending::ReaderGone,
        _ => error.into(),
    })?;
    let differences = receipt
        .export
        .schema
        .as_ref()
        .and_then(SchemaDifferences::summary);
    if let Some(text) = differences {
        warn(list, &text);
    }
    remark(&format!("{}: bookmark {}", dashed(list), receipt.bookmark));
    Ok(receipt)
}
