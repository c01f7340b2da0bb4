//! The options of exports, syncs, schemas and mirrors as flags, one per row of the table.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::Error;
use talentdata_mirror::internal::{JobKind, JobOption, JobOptions, OptionKind};

/// Options that exclude each other.
const EXCLUSIVE: [(&str, &str); 2] = [("columns", "schema"), ("resume", "restart")];

/// Options that a mirror does not take either. The message about them says what to do instead.
pub(crate) const POLICIES: [&str; 3] = ["fields", "drop", "hash"];

/// Returns the options of a job that have a flag. The command line has no Arrow streams.
fn flags(job: JobKind) -> impl Iterator<Item = &'static JobOption> {
    job.options().filter(|option| option.name != "batch_rows")
}

/// Adds the options of a job to its command. Options that a mirror does not take are refused with `--from`.
pub(crate) fn add(command: Command, job: JobKind) -> Command {
    let reads_mirrors = |option: &JobOption| option.jobs.contains(&JobKind::Mirror);
    let has = |name: &str| job.options().any(|option| option.name == name);
    let flags = flags(job).map(|option| {
        let mut flag = flag(option);
        for (one, other) in EXCLUSIVE {
            if option.name == one && has(other) {
                flag = flag.conflicts_with(other);
            }
        }
        if job == JobKind::Export && !reads_mirrors(option) && !POLICIES.contains(&option.name) {
            flag = flag.conflicts_with("from");
        }
        flag
    });
    command.args(flags)
}

fn flag(option: &'static JobOption) -> Arg {
    let flag = Arg::new(option.name).long(option.flag()).help(option.what);
    let checked = move |text: &str| {
        let checked = JobOptions::default().set(option, text);
        let text = checked.map(|()| text.to_owned());
        text.map_err(|error| error.message().to_owned())
    };
    match option.kind {
        OptionKind::Flag => flag.action(ArgAction::SetTrue),
        OptionKind::Choice(names) => flag
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(names)),
        OptionKind::Columns => flag.value_name("FILE").value_parser(value_parser!(PathBuf)),
        OptionKind::Count(..) => flag.value_name("N").value_parser(checked),
        OptionKind::CountOrShare => flag.value_name("SHARE|N").value_parser(checked),
        OptionKind::Names => flag.value_name("FIELDS").value_parser(checked),
        OptionKind::Mode => flag.value_name("MODE").value_parser(checked),
        OptionKind::Age => flag.value_name("AGE").value_parser(checked),
    }
}

/// Reads the options of a job.
///
/// # Errors
/// `InvalidArgument` or `Io` for the file of a schema.
pub(crate) fn read(matches: &ArgMatches, job: JobKind) -> Result<JobOptions, Error> {
    let mut options = JobOptions::default();
    for option in flags(job) {
        match option.kind {
            OptionKind::Flag if matches.get_flag(option.name) => options.set(option, "true")?,
            OptionKind::Flag => {}
            OptionKind::Columns => {
                if let Some(path) = matches.get_one::<PathBuf>(option.name) {
                    options.table.schema = Some(Arc::new(TableSchema::from_file(path)?));
                }
            }
            _ => {
                if let Some(text) = matches.get_one::<String>(option.name) {
                    options.set(option, text)?;
                }
            }
        }
    }
    Ok(options)
}
