//! `changes`: writes the changes that syncs recorded in a mirror.

use crate::common::Common;
use crate::lists::{OutputPlace, Selection, dashed, one_of, selected, selection};
use crate::options;
use crate::output::Ending;
use crate::receipts;
use crate::rows::{Reading, warn_of_policies, write_all};
use std::path::{Path, PathBuf};
use talentdata_columns::export::{Format, Target};
use talentdata_core::Error;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::JobKind;
use talentdata_mirror::{Mirror, SyncPoint};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Each change has the number of its sync (generation), op (insert, update, delete, missing, reappeared or erased), the
record's key, the times when the record was last seen and when the change was seen, the names of the fields that an
update changed (changed), and the record. For delete and missing it is the last known one, and erased has none.
To keep a copy, write the record for insert, update and reappeared, remove it for delete and erased, and do nothing for
missing. Applying changes twice does no harm.
The last line on standard error has the bookmark of the last sync, even if nothing changed. The receipt has it, too.
Store it with the copy, and pass it the next time. If the command ends with 36, load the list again, as the message says.
Several lists are written into a directory, with a file for each.

Examples:
  talentdata changes contacts --from mirror.db --receipt receipt.json --out changes.csv
  talentdata changes contacts --from mirror.db --since 9c41d0-51d2a7-5f2a03b8c6e1:17
  talentdata changes contacts --from mirror.db --since 1d
  talentdata changes contacts --from mirror.db --since 2026-11-20T06:00:00Z --out changes.parquet
  talentdata changes all --from mirror.db --since 2026-11-20T06:00:00Z --out changes/ --receipt receipts.json
  talentdata changes contacts --from mirror.db --schema contacts.schema.json --out changes.parquet";

/// The changes to write, and the file to write.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChangesArgs {
    /// The lists; all means every list of the mirror
    #[arg(required = true, value_name = "RESOURCE", value_parser = selection())]
    names: Vec<Selection>,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Write only changes after this [default: all]: the bookmark that you stored the last time, a time, a date,
    /// yesterday, an age such as 1d, or the number of a sync in a mirror that was never copied or restored. Days are in
    /// UTC. For several lists, repeat --since LIST=BOOKMARK
    #[arg(long, value_name = "BOOKMARK|TIME|AGE|N", value_parser = Since::read)]
    since: Vec<Since>,
    /// Output format; by default the file name extension decides, and without one jsonl
    #[arg(long, value_parser = one_of(Format::ALL))]
    format: Option<Format>,
    /// The file to write, or the directory when there are several lists; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    out: PathBuf,
    /// Write the receipts to this file as a JSON array. The receipt of each list has the bookmark of its last sync,
    /// the facts about the written file, the differences from its columns, and the error if it failed
    #[arg(long, value_name = "PATH")]
    receipt: Option<PathBuf>,
}

/// The sync after which changes of a list are written. Without a list, it applies to all lists that are not named.
#[derive(Clone, Debug)]
struct Since {
    list: Option<ListName>,
    point: SyncPoint,
}

impl Since {
    fn read(text: &str) -> Result<Self, String> {
        let (list, point) = match text.split_once('=') {
            Some((list, point)) => (Some(list.parse()?), point),
            None => (None, text),
        };
        let point: Result<SyncPoint, Error> = point.parse();
        let point = point.map_err(|error| error.message().to_owned())?;
        Ok(Since { list, point })
    }
}

impl ChangesArgs {
    /// Returns the sync after which changes of a list are written.
    fn since(&self, list: ListName) -> SyncPoint {
        let last = |of| self.since.iter().rfind(|since| since.list == of);
        let found = last(Some(list)).or_else(|| last(None));
        found.map_or(SyncPoint::Sync(0), |since| since.point.clone())
    }
}

pub(crate) fn run(args: &ChangesArgs, common: &Common) -> Result<(), Ending> {
    let place = OutputPlace::new(&args.out, &args.names, args.format)?;
    let options = options::read(&common.matches, JobKind::Changes)?;
    let lists = selected(&args.names, Some(&args.from))?;
    let named = args.since.iter().filter_map(|since| since.list);
    if let Some(other) = named.into_iter().find(|list| !lists.contains(list)) {
        let message = format!("--since: {} is not among the lists", dashed(other));
        return Err(Error::invalid(message).into());
    }
    let reading = |list: ListName| Reading {
        list,
        format: place.format,
        target: place.of(list),
        table: options.table.clone(),
        shortfall: None,
    };
    let readings: Vec<Reading> = lists.into_iter().map(reading).collect();
    if let Some(path) = &args.receipt {
        let is_out = |path: &Path, reading: &Reading| matches!(&reading.target, Target::File(out) if receipts::is_one_file(path, out));
        receipts::check(path, |path| {
            readings.iter().any(|reading| is_out(path, reading))
                || receipts::is_one_file(path, &args.from)
        })?;
    }
    let mirror = Mirror::open(&args.from)?;
    warn_of_policies(&readings, &mirror, common)?;
    place.prepare()?;
    let rows = |list| {
        let changes = mirror.changes(list, &args.since(list))?;
        changes.with_before(options.before)
    };
    write_all(&readings, args.receipt.as_deref(), common.verbose > 0, rows)
}
