//! `export`: whole lists into files or standard output, read in parallel through one client.

use crate::common::Common;
use crate::connect::with_client;
use crate::lists::{Lists, one_of};
use crate::options;
use crate::output::Ending;
use crate::receipts;
use crate::rows::write_rows;
use crate::work::{Run, WAYS_OUT, Work};
use std::path::{Path, PathBuf};
use talentdata_columns::export::{Export, Format, Target};
use talentdata_columns::internal::check_kept;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::internal::{JobKind, JobOptions};
use talentdata_mirror::{Mirror, SyncPoint};

/// The text below the help of the command.
const EXAMPLES: &str = "\
One list is written to PATH; for several lists PATH is a directory with a file for each, such as
contacts.jsonl. The lists are read in parallel and share one request budget.

Examples:
  talentdata export contacts --sandbox --out contacts.jsonl
  talentdata export contacts --sandbox --out contacts.parquet
  talentdata export contacts vacancies ja-skills --out lists/ --receipt receipts.json --resume
  talentdata export contacts --out - | head
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet";

/// The lists to export, and where to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The file to write, or the directory when there are several lists; - is standard output
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Output format; by default that of the file name extension, else jsonl
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Option<Format>,
    /// Read the list from this mirror, and not from the service
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// As which sync has read it: its bookmark or number, or a time such as 2026-11-20T06:00:00Z by which it had ended;
    /// by default as of now
    #[arg(long, value_name = "TIME|BOOKMARK|N", requires = "from")]
    as_of: Option<SyncPoint>,
    #[command(flatten)]
    lists: Lists,
}

pub(crate) async fn run(args: &ExportArgs, common: &Common) -> Result<(), Ending> {
    let exports = args.exports(common)?;
    let receipt = args.lists.receipt.as_deref();
    if let Some(from) = &args.from {
        args.prepare(&exports)?;
        check_kept(&exports, None, &WAYS_OUT)?;
        return from_mirror(&exports, from, args.as_of.as_ref(), receipt);
    }
    let run = Run {
        common,
        receipt,
        to_stdout: args.out == Path::new("-"),
        width: exports.len(),
    };
    with_client(common, async |client| {
        check_kept(&exports, Some(client.config()), &WAYS_OUT)?;
        args.prepare(&exports)?;
        let exports: Vec<Work> = exports.into_iter().map(Work::Export).collect();
        run.run_all(client, &exports).await
    })
    .await
}

/// Writes lists as a mirror contains them, and their receipts.
fn from_mirror(
    exports: &[Export],
    from: &Path,
    at: Option<&SyncPoint>,
    receipt: Option<&Path>,
) -> Result<(), Ending> {
    let mirror = Mirror::open(from)?;
    let mut done = Vec::new();
    for export in exports {
        let (resource, table) = (export.resource, export.table.clone());
        let records = mirror.records(resource, at);
        done.push(write_rows(
            resource,
            records,
            export.format,
            &export.target,
            table,
        )?);
    }
    Ok(receipt.map_or(Ok(()), |path| receipts::write(path, &done, true))?)
}

impl ExportArgs {
    /// Returns an export for each list.
    fn exports(&self, common: &Common) -> Result<Vec<Export>, Error> {
        let refuse = |message: &str| Err(Error::invalid(message));
        let (is_one, to_stdout) = (self.lists.names.len() == 1, self.out == Path::new("-"));
        if to_stdout && !is_one {
            return refuse("--out -: standard output takes one list; give a directory");
        }
        if common.matches.contains_id("schema") && !is_one {
            return refuse("--schema: a schema is of one list; export the lists one by one");
        }
        let format = match self.format {
            Some(format) => format,
            None if is_one => Format::of_path(&self.out)?,
            // In this case the path is a directory.
            None => Format::Jsonl,
        };
        let options = options::read(&common.matches, JobKind::Export)?;
        let export = |(list, options): (ListName, JobOptions)| {
            let file = format!("{list}.{}", format.name());
            let target = if to_stdout {
                Target::Stdout
            } else if is_one {
                Target::File(self.out.clone())
            } else {
                Target::File(self.out.join(file))
            };
            let export = options.export(list, format, target)?;
            export.check().map(|()| export)
        };
        let lists = self.lists.options_of_each(&options, common)?;
        lists.into_iter().map(export).collect()
    }

    /// Creates the directory for several lists, and checks the path of the receipt, before any time is spent.
    fn prepare(&self, exports: &[Export]) -> Result<(), Error> {
        if exports.len() > 1 {
            std::fs::create_dir_all(&self.out).map_err(|error| {
                let message = format!("cannot create directory {}: {error}", self.out.display());
                Error::new(ErrorKind::Io, message)
            })?;
        }
        let uses = |path: &Path| {
            let mut from = self.from.iter();
            from.any(|from| receipts::is_one_file(path, from))
                || exports.iter().any(|export| export.uses(path))
        };
        let receipt = self.lists.receipt.as_deref();
        receipt.map_or(Ok(()), |path| receipts::check(path, uses))
    }
}
