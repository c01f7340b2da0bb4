//! The values of the options of scans, exports, syncs and mirrors, which are read from text.

mod table;

use crate::options::{Sync, age};
use crate::receipt::MaxDeletes;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
pub use table::{JOB_OPTIONS, JobKind, JobOption, OptionKind};
use talentdata_columns::arrow::{TableOptions, TableSchema};
use talentdata_columns::export::{Export, FileMode, Format, KeptWork, Target};
use talentdata_core::types::ListName;
use talentdata_core::{Error, Result, ScanOptions};

/// The values of all options for a scan, an export, a sync or rows of a mirror.
#[derive(Clone, Debug, Default)]
pub struct JobOptions {
    /// The options of the scan. Its arguments are set by the caller.
    pub scan: ScanOptions,
    /// The options for turning records into columns.
    pub table: TableOptions,
    /// True if an export continues an interrupted one.
    pub resume: bool,
    /// True if an export discards the kept work of an interrupted one.
    pub restart: bool,
    /// The permissions of the file of an export, or of a mirror.
    pub mode: FileMode,
    /// The value of [`Sync::confirm`].
    pub confirm: bool,
    /// The value of [`Sync::max_deletes`].
    pub max_deletes: MaxDeletes,
    /// The value of [`Sync::same_service`].
    pub same_service: bool,
    /// The value of [`Sync::keep`].
    pub keep: Option<Duration>,
    /// The value of [`Sync::keep_deleted`].
    pub keep_deleted: Option<Duration>,
    /// The value of [`Sync::dry_run`].
    pub dry_run: bool,
    /// True if changes have the record before an update.
    pub before: bool,
}

impl JobOptions {
    /// Sets an option from text. The text of a schema is its JSON.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the option and the values that it takes.
    pub fn set(&mut self, option: &JobOption, text: &str) -> Result<()> {
        match option.name {
            "page_size" => self.scan.page_size = Some(count(option, text)?),
            "limit" => self.scan.limit = Some(count(option, text)?),
            "fields" => self.scan.fields = without("drop", &self.scan.drop, option, text)?,
            "drop" => self.scan.drop = without("fields", &self.scan.fields, option, text)?,
            "hash" => self.scan.hash = names(option, text)?,
            "columns" => self.table.columns = text.parse()?,
            "schema" => self.table.schema = Some(Arc::new(TableSchema::from_json(text)?)),
            "on_new_field" => self.table.on_new = text.parse()?,
            "batch_rows" => self.table.batch_rows = rows(option, text)?,
            "unproven" => self.scan.unproven = Some(text.parse()?),
            "resume" => self.resume = parsed(option, text)?,
            "restart" => self.restart = parsed(option, text)?,
            "mode" => self.mode = text.parse()?,
            "confirm" => self.confirm = parsed(option, text)?,
            "max_deletes" => self.max_deletes = text.parse()?,
            "same_service" => self.same_service = parsed(option, text)?,
            "keep" => self.keep = Some(age(option.name, text)?),
            "keep_deleted" => self.keep_deleted = Some(age(option.name, text)?),
            "dry_run" => self.dry_run = parsed(option, text)?,
            "before" => self.before = parsed(option, text)?,
            name => return Err(Error::defect(&format!("the option {name} has no field"))),
        }
        Ok(())
    }

    /// Creates an export of a list.
    ///
    /// # Errors
    /// `InvalidArgument` if both `resume` and `restart` are set.
    pub fn export(self, resource: ListName, format: Format, target: Target) -> Result<Export> {
        let kept = KeptWork::of_options(self.resume, self.restart)?;
        let export = Export::new(resource, format, target);
        Ok(export
            .with_scan(self.scan)
            .with_table(self.table)
            .with_kept(kept)
            .with_mode(self.mode))
    }

    /// Creates a sync of a list into a mirror.
    pub fn sync(self, resource: ListName, path: impl Into<PathBuf>) -> Sync {
        Sync {
            resource,
            path: path.into(),
            scan: self.scan,
            confirm: self.confirm,
            on_new: self.table.on_new,
            max_deletes: self.max_deletes,
            same_service: self.same_service,
            keep: self.keep,
            keep_deleted: self.keep_deleted,
            dry_run: self.dry_run,
            mode: self.mode,
        }
    }
}

/// Reads a number of records.
fn count(option: &JobOption, text: &str) -> Result<u64> {
    let number = parsed(option, text)?;
    match option.kind {
        OptionKind::Count(min, max) if number < min || number > max => Err(wrong(option, text)),
        _ => Ok(number),
    }
}

fn rows(option: &JobOption, text: &str) -> Result<usize> {
    usize::try_from(count(option, text)?).map_err(|_| wrong(option, text))
}

/// Reads names of fields. Only a JSON array can have names with commas, or with white space around them.
fn names(option: &JobOption, text: &str) -> Result<Vec<String>> {
    let names: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|_| wrong(option, text))?
    } else {
        let names = text.split(',').map(str::trim);
        names.map(str::to_owned).collect()
    };
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(wrong(option, text));
    }
    Ok(names)
}

/// Reads names of fields for an option that excludes another one.
fn without(
    other: &str,
    names_of_other: &[String],
    option: &JobOption,
    text: &str,
) -> Result<Vec<String>> {
    if names_of_other.is_empty() {
        return names(option, text);
    }
    Err(Error::invalid(format!(
        "{}: cannot be combined with {other}; name either the fields to keep or the fields to drop",
        option.name
    )))
}

fn parsed<T: FromStr>(option: &JobOption, text: &str) -> Result<T> {
    text.parse().map_err(|_| wrong(option, text))
}

fn wrong(option: &JobOption, text: &str) -> Error {
    Error::invalid(option.wrong_type_message(&format!("{text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use talentdata_columns::arrow::{ColumnTypes, NewFieldPolicy};
    use talentdata_core::scan::Unproven;

    #[test]
    fn every_option_of_the_table_is_read() {
        for option in JOB_OPTIONS {
            let value = match option.kind {
                OptionKind::Count(min, _) => min.to_string(),
                OptionKind::Flag => "true".to_owned(),
                OptionKind::Choice(names) => names[0].to_owned(),
                OptionKind::CountOrShare => "25%".to_owned(),
                OptionKind::Mode => "0640".to_owned(),
                OptionKind::Age => "90d".to_owned(),
                OptionKind::Names => r#"["email","/languages/*/level"]"#.to_owned(),
                OptionKind::Columns => continue,
            };
            let mut options = JobOptions::default();
            options.set(option, &value).unwrap();
            // This text is wrong for every kind.
            let error = options.set(option, "[?").unwrap_err();
            assert!(error.message().starts_with(option.name), "{error}");
        }
    }

    #[test]
    fn white_space_around_a_name_is_not_a_part_of_it() {
        let mut options = JobOptions::default();
        let drop = JobOption::find("drop").unwrap();
        options.set(drop, " email, phone ").unwrap();
        assert_eq!(options.scan.drop, ["email", "phone"]);
        options.set(drop, r#" ["email", " phone"]"#).unwrap();
        assert_eq!(options.scan.drop, ["email", " phone"]);
        options.set(drop, "email, ,phone").unwrap_err();
    }

    #[test]
    fn fields_are_either_kept_or_dropped() {
        for [first, second] in [["fields", "drop"], ["drop", "fields"]] {
            let mut options = JobOptions::default();
            options
                .set(JobOption::find(first).unwrap(), "email")
                .unwrap();
            let error = options.set(JobOption::find(second).unwrap(), "phone");
            let expected = format!(
                "{second}: cannot be combined with {first}; name either the fields to keep or the fields to drop"
            );
            assert_eq!(error.unwrap_err().message(), expected);
        }
    }

    #[test]
    fn batches_have_at_least_one_row_and_at_most_a_million() {
        let option = JobOption::find("batch_rows").unwrap();
        let mut options = JobOptions::default();
        options.set(option, "1048576").unwrap();
        assert_eq!(options.table.batch_rows, 1_048_576);
        for wrong in ["0", "1048577", "-1", "1e3"] {
            let error = options.set(option, wrong).unwrap_err();
            let expected = format!(
                "batch_rows: must be a number of records from 1 to 1048576 (got {wrong:?})"
            );
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn the_choices_of_the_table_are_those_of_the_types() {
        let choices = |name: &str| match JobOption::find(name).unwrap().kind {
            OptionKind::Choice(names) => names,
            kind => panic!("{kind:?}"),
        };
        assert_eq!(choices("columns"), ColumnTypes::ALL.map(ColumnTypes::name));
        assert_eq!(
            choices("on_new_field"),
            NewFieldPolicy::ALL.map(NewFieldPolicy::name)
        );
        assert_eq!(choices("unproven"), Unproven::ALL.map(Unproven::name));
    }
}
