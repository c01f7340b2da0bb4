//! `changes`: what syncs have found, from the files of a mirror.

use crate::ending::Ending;
use crate::names;
use crate::output::{data, reader_gone};
use std::path::{Path, PathBuf};
use talentdata_core::arrow::EXTRA;
use talentdata_core::export::{Format, Target};
use talentdata_core::mirror::Mirror;
use talentdata_core::types::Resource;
use talentdata_core::{Dialect, ErrorKind, merge_sql};

/// Shown below the help of the command.
pub(crate) const EXAMPLES: &str = "\
Each change has the generation that found it, op (insert, update, delete, missing or return), the record's key,
when it was last seen and when the change was seen, and the record: for delete and missing the last one known.
Whoever keeps a copy writes the record for insert, update and return, removes it for delete, does nothing for
missing, and remembers the last generation. Doing so twice does no harm.

Examples:
  talentdata changes contacts --from mirror/ --since 16
  talentdata changes contacts --from mirror/ --since 16 --out changes.parquet
  talentdata changes contacts --from mirror/ --merge-sql postgresql --table warehouse.contacts";

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
    /// Print the statement that applies the changes to a table, in place of the changes. They are read from a relation
    /// called changes; the table has the columns _key and those of the list
    #[arg(long, value_name = "DIALECT", value_parser = names::one_of(Dialect::ALL), conflicts_with_all = ["since", "format", "out"])]
    merge_sql: Option<Dialect>,
    /// The table of the statement; by default it is called like the list
    #[arg(long, value_name = "NAME", requires = "merge_sql")]
    table: Option<String>,
}

pub(crate) fn run(verb: &Verb) -> Result<(), Ending> {
    let format = verb.format.unwrap_or_else(|| Format::of_path(&verb.out));
    let target = match verb.out == Path::new("-") {
        true => Target::Stdout,
        false => Target::File(verb.out.clone()),
    };
    let mirror = Mirror::open(&verb.from)?;
    if let Some(dialect) = verb.merge_sql {
        let schema = mirror.schema(verb.resource)?;
        let columns = schema.iter().map(|column| column.name.as_str());
        let columns: Vec<&str> = columns.chain([EXTRA]).collect();
        let table = verb.table.as_deref().unwrap_or(verb.resource.name());
        let statement = merge_sql(dialect, table, &columns)?;
        return data(&format!("{statement}\n"));
    }
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
