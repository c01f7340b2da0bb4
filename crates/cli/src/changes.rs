//! `changes`: what syncs have found, from the files of a mirror.

use crate::ending::Ending;
use crate::names;
use crate::output::reader_gone;
use std::path::{Path, PathBuf};
use talentdata_core::ErrorKind;
use talentdata_core::export::{Format, Target};
use talentdata_core::mirror::Mirror;
use talentdata_core::types::Resource;

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
Each change has the generation that found it, op (insert, update, delete, missing or return), the record's key,
when it was last seen and when the change was seen, and the record: for delete and missing the last one known.
Whoever keeps a copy writes the record for insert, update and return, removes it for delete, does nothing for
missing, and remembers the last generation. Doing so twice does no harm.

Examples:
  talentdata changes contacts --from mirror/ --since 16
  talentdata changes contacts --from mirror/ --since 16 --out changes.parquet";

/// Which changes, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Verb {
    /// The list
    #[arg(value_name = "RESOURCE", value_parser = names::resource())]
    resource: Resource,
    /// The directory of the mirror
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The last generation that is known; what came after it is written. By default everything is
    #[arg(long, value_name = "N", default_value_t = 0)]
    since: u64,
    /// Output format; by default that of the file name extension, else jsonl
    #[arg(long, value_parser = names::one_of(Format::ALL))]
    format: Option<Format>,
    /// The file to write; - is standard output
    #[arg(long, value_name = "PATH", default_value = "-")]
    out: PathBuf,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let format = verb.format.unwrap_or_else(|| Format::of_path(&verb.out));
    let target = match verb.out == Path::new("-") {
        true => Target::Stdout,
        false => Target::File(verb.out.clone()),
    };
    let mirror = Mirror::open(&verb.from)?;
    let written = mirror
        .changes(verb.resource, verb.since)
        .and_then(|changes| changes.write(format, &target));
    match written {
        Err(error)
            if error.kind() == ErrorKind::Io && target == Target::Stdout && reader_gone() =>
        {
            Err(Ending::ReaderGone)
        }
        written => Ok(written.map(drop)?),
    }
}
