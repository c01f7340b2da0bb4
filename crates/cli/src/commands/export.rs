//! `export`: writes whole lists to files or standard output. The lists are read in parallel through one client.

use crate::common::Common;
use crate::connect::{of_lists, with_client};
use crate::lists::{Lists, OutputPlace, is_stdout, one_of};
use crate::options;
use crate::output::Ending;
use crate::receipts;
use crate::rows::{Reading, shortfall, warn_of_policies, write_all};
use crate::work::{ListWork, Run, WAYS_OUT};
use std::path::{Path, PathBuf};
use talentdata_columns::export::{Export, Format};
use talentdata_columns::internal::check_kept;
use talentdata_core::Error;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::{JobKind, JobOptions};
use talentdata_mirror::{Mirror, SyncPoint};

/// The text below the help of the command.
const EXAMPLES: &str = "\
One list is written to PATH. For several lists, and for all, PATH is a directory with a file for each, for example
contacts.jsonl. The lists are read in parallel and share one request budget.

Examples:
  talentdata export contacts --sandbox --out contacts.jsonl
  talentdata export contacts --sandbox --out contacts.parquet
  talentdata export contacts vacancies ja-skills --out lists/ --receipt receipts.json --resume
  talentdata export contacts --out - | head
  talentdata export contacts --from mirror.db --as-of 2026-11-20T06:00:00Z --out contacts.parquet";

/// The lists to export, and the output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The file to write, or the directory when there are several lists; - is standard output
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Output format; by default the file name extension decides, and without one jsonl
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Option<Format>,
    /// Read the lists from this mirror instead of the service
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Export the list as of this sync [default: latest]: its bookmark or number, or a time by which it ended, for
    /// example 2026-11-20T06:00:00Z, 2026-11-20, yesterday or 1d
    #[arg(long, value_name = "TIME|AGE|BOOKMARK|N", requires = "from")]
    as_of: Option<SyncPoint>,
    #[command(flatten)]
    lists: Lists,
}

pub(crate) async fn run(args: &ExportArgs, common: &Common) -> Result<(), Ending> {
    let place = OutputPlace::new(&args.out, &args.lists.names, args.format)?;
    let exports = args.exports(common, &place)?;
    let receipt = args.lists.receipt.as_deref();
    if let Some(from) = &args.from {
        args.prepare(&exports, &place)?;
        check_kept(&exports, None, &WAYS_OUT)?;
        let mirror = Mirror::open(from)?;
        let readings = exports.into_iter().map(|export| {
            Ok(Reading {
                list: export.resource,
                format: export.format,
                target: export.target,
                table: export.table,
                shortfall: shortfall(&mirror, export.resource)?,
            })
        });
        let readings = readings.collect::<Result<Vec<Reading>, Error>>()?;
        warn_of_policies(&readings, &mirror, common)?;
        let rows = |list| mirror.records(list, args.as_of.as_ref());
        return write_all(&readings, receipt, common.verbose > 0, rows);
    }
    let run = Run {
        common,
        receipt,
        to_stdout: is_stdout(&args.out),
        width: exports.len(),
    };
    let operations = of_lists(exports.iter().map(|export| export.resource));
    with_client(common, operations, async |client| {
        check_kept(&exports, Some(client.config()), &WAYS_OUT)?;
        args.prepare(&exports, &place)?;
        let exports: Vec<ListWork> = exports.into_iter().map(ListWork::Export).collect();
        run.run_all(client, &exports).await
    })
    .await
}

impl ExportArgs {
    /// Returns an export for each list.
    fn exports(&self, common: &Common, place: &OutputPlace<'_>) -> Result<Vec<Export>, Error> {
        if common.matches.contains_id("schema") && !place.is_one {
            let message = "--schema: a schema belongs to one list; export the lists one by one";
            return Err(Error::invalid(message));
        }
        let mut policies = options::POLICIES.iter();
        let policy = policies.find(|name| common.matches.contains_id(name));
        if let Some(name) = policy.filter(|_| self.from.is_some()) {
            return Err(Error::invalid(format!(
                "--{name}: cannot be combined with --from, because a mirror is written as its syncs stored it; sync with --{name} into a new mirror, and export from that"
            )));
        }
        let options = options::read(&common.matches, JobKind::Export)?;
        let mirror = self.from.as_deref();
        let lists = self.lists.options_of_each(&options, common, mirror)?;
        let export = |(list, options): (ListName, JobOptions)| {
            let export = options.export(list, place.format, place.of(list))?;
            export.check().map(|()| export)
        };
        lists.into_iter().map(export).collect()
    }

    /// Creates the directory for several lists, and checks the path of the receipt, before any time is spent.
    fn prepare(&self, exports: &[Export], place: &OutputPlace<'_>) -> Result<(), Error> {
        place.prepare()?;
        let uses = |path: &Path| {
            let mut from = self.from.iter();
            from.any(|from| receipts::is_one_file(path, from))
                || exports.iter().any(|export| export.uses(path))
        };
        let receipt = self.lists.receipt.as_deref();
        receipt.map_or(Ok(()), |path| receipts::check(path, uses))
    }
}
