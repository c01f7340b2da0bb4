//! `forget`: removes a list, or single records of it, from a mirror.

use crate::common::Common;
use crate::lists::{dashed, resource};
use crate::output::{Ending, stderr_line};
use crate::settings;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};
use talentdata_core::types::ListName;
use talentdata_core::{Builder, Error};
use talentdata_mirror::{Erase, SyncPoint, acknowledge, forget};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Without --record and --records-from, the whole list is removed. With them, all versions and changes of these records are
erased, and everything else stays. If the exit code is 0, no byte of the removed data remains in the mirror, its log or its
lock file. If the command is interrupted, the next forget or sync of the mirror completes it.

For each erased record there is a change erased with its key, so that copies of the list can follow. After all copies have
applied these changes, remove them with --acknowledged. Earlier exported files and backups are not changed.

Examples:
  talentdata forget contacts --from mirror.db
  talentdata forget contacts --record c-17 --record c-18 --from mirror.db
  talentdata forget contacts --records-from ids.txt --from mirror.db
  talentdata forget contacts --record c-17 --hash-key-file key.txt --from hashed.db
  talentdata forget contacts --acknowledged 9c41d0-51d2a7-5f2a03b8c6e1:17 --from mirror.db";

/// The list or the records to remove, and their mirror.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ForgetArgs {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = resource())]
    resource: ListName,
    /// The file of the mirror
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Erase only the record with this id; repeat it for several. If no record has one of the ids, none is erased
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    record: Vec<String>,
    /// Erase only the records with the ids in this file, one per line; - is standard input
    #[arg(long, value_name = "FILE")]
    records_from: Option<PathBuf>,
    /// Do not keep a change erased, whose key may be personal data. Copies of the list then cannot follow the erasure
    #[arg(long)]
    unannounced: bool,
    /// Do not store these records again, even if the service still lists them; a keyed digest of each id is kept
    #[arg(long)]
    keep_out: bool,
    /// Remove the changes erased up to this sync, after every copy of the list applied them: its bookmark, a time, or
    /// its number
    #[arg(long, value_name = "BOOKMARK|TIME|N", conflicts_with_all = ["record", "records_from", "unannounced", "keep_out"])]
    acknowledged: Option<String>,
}

pub(crate) fn run(args: &ForgetArgs, common: &Common) -> Result<(), Ending> {
    let (from, list) = (&args.from, args.resource);
    if let Some(up_to) = &args.acknowledged {
        let up_to: SyncPoint = up_to.parse()?;
        return Ok(acknowledge(from, list, &up_to)?);
    }
    let mut records = args.record.clone();
    match &args.records_from {
        Some(path) if path == Path::new("-") => read(path, stdin(), &mut records)?,
        Some(path) => {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            read(path, file, &mut records)?;
        }
        None if records.is_empty() && (args.unannounced || args.keep_out) => {
            let message = "--unannounced and --keep-out apply to single records; give --record or --records-from";
            return Err(Error::invalid(message).into());
        }
        None if records.is_empty() => return Ok(forget(from, list)?),
        None => {}
    }
    let erase = Erase::new(list, from, records);
    let erase = erase
        .with_announced(!args.unannounced)
        .with_keep_out(args.keep_out);
    let mut builder = Builder::default();
    settings::set(&common.matches, &mut builder)?;
    let erased = erase.with_hash_key(builder.read_hash_key()).run()?;
    stderr_line(&format!(
        "{}: erased {} records with {} versions and {} changes, bookmark {}",
        dashed(list),
        erased.records,
        erased.versions,
        erased.changes,
        erased.bookmark
    ));
    Ok(())
}

/// Adds the ids in a file, one per line. Skips empty lines and white space around ids.
fn read(path: &Path, file: impl Read, records: &mut Vec<String>) -> Result<(), Error> {
    for (number, line) in (1..).zip(BufReader::new(file).split(b'\n')) {
        let line = line.map_err(|error| unreadable(path, &error))?;
        let line = str::from_utf8(&line).map_err(|_| {
            Error::invalid(format!(
                "--records-from: line {number} of {} is not UTF-8 text; save the file as UTF-8",
                path.display()
            ))
        })?;
        // Some editors begin a file with a byte order mark.
        let line = if number == 1 {
            line.trim_start_matches('\u{feff}')
        } else {
            line
        };
        let id = line.trim();
        if !id.is_empty() {
            records.push(id.to_owned());
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("--records-from: cannot read {}: {error}", path.display());
    Error::of_io(error, message)
}
