//! Options of scans, exports, syncs and calls, by their names.

use crate::boundary::guard_or;
use crate::error::ErrorHandle;
use crate::export::{guard, invalid, lent, text};
use crate::text::Text;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use talentdata_columns::arrow::{TableOptions, TableSchema};
use talentdata_core::types::Operation;
use talentdata_core::{Result, ScanOptions};
use talentdata_mirror::{MaxDeletes, age};

/// Options of scans, exports, syncs, plans, pages and calls. Freed with talentdata_options_free.
#[derive(Clone, Default)]
pub struct OptionsHandle {
    pub(crate) scan: ScanOptions,
    pub(crate) table: TableOptions,
    pub(crate) resume: bool,
    pub(crate) restart: bool,
    pub(crate) confirm: bool,
    pub(crate) max_deletes: MaxDeletes,
    pub(crate) keep: Option<Duration>,
    parameters: Vec<(String, String)>,
    /// Those that were set.
    names: Vec<String>,
}

/// Options of a scan, and of how an export reads its list.
pub(crate) const OF_SCANS: &str = "page_size, limit, columns, schema, on_new_field, unproven";
pub(crate) const OF_EXPORTS: &str =
    "page_size, limit, columns, schema, on_new_field, resume, restart";
pub(crate) const OF_SYNCS: &str = "page_size, on_new_field, confirm, max_deletes, keep";
pub(crate) const OF_MIRRORS: &str = "columns, schema, on_new_field";

/// Creates options.
///
/// @param from options to copy, or NULL for the defaults
/// Ownership: the caller frees the result with talentdata_options_free.
/// Threads: any; no other may change `from` meanwhile.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_new(
    from: Option<&OptionsHandle>,
) -> Option<Box<OptionsHandle>> {
    guard_or(None, || Some(Box::new(from.cloned().unwrap_or_default())))
}

/// Sets an option:
///
/// - of scans, and of how an export or a sync reads its list: page_size, records per page, by default as many as the
///   service allows;
/// - of scans and exports: limit, how many records to deliver at most;
/// - of scans, exports and the streams of a mirror: columns, typed or json; schema, the columns of an Arrow stream or a file,
///   as talentdata_client_schema gives them;
/// - of these and of syncs: on_new_field, what to do with a field without a column, and with a value that does not fit the type
///   of its column: keep it in _extra and report it (keep), keep it silently (freeze), or fail;
/// - of scans: unproven, what happens at the end of a list if it is not proven that every record came: fail (the end is the
///   error INCOMPLETE), warn (a message to the log callback) or accept (the receipt alone says so); by default Arrow streams
///   fail, and records are accepted;
/// - of exports: resume, whether to continue an interrupted export of the same list to the same file; if its options
///   differ or it is damaged, the export begins again, and the receipt says so; restart, whether to discard an interrupted
///   export and begin again; by default the export is refused if an interrupted one has kept records; not both;
/// - of syncs: confirm, whether to scan again at once if records are missing after the list changed during the scan;
///   max_deletes, the most deletes to believe, such as 500 or 25%; keep, how long changes and earlier versions are kept, such as
///   90d.
///
/// @param options the options to change
/// @param name the name of the option
/// @param value the value as text, such as 100 or true
/// Ownership: the texts are copied.
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL, a name that is not an option, or a value that the option cannot have.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_set(
    options: Option<&mut OptionsHandle>,
    name: Text,
    value: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let options = lent(options, "options")?;
        let name = text(&name, "name")?;
        options.set(name, text(&value, name)?)
    })
}

/// Adds a value of a parameter of the list or of the operation, such as a filter. A parameter that takes several values is
/// added once for each. The call checks whether there is such a parameter and whether it takes the value, before anything is
/// sent.
///
/// @param options the options to change
/// @param parameter the name of the parameter in the service document
/// @param value the value as text, such as 10 or true
/// Ownership: the texts are copied.
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_add(
    options: Option<&mut OptionsHandle>,
    parameter: Text,
    value: Text,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let options = lent(options, "options")?;
        let parameter = text(&parameter, "parameter")?.to_owned();
        let value = if value.data.is_null() {
            Err(invalid(&parameter, "value: must not be NULL"))
        } else {
            text(&value, &parameter)
        };
        let pair = (parameter.clone(), value?.to_owned());
        options.parameters.push(pair);
        Ok(())
    })
}

/// Frees options; does nothing when they are NULL. What was made with them keeps working.
///
/// Ownership: `options` must not be used any more.
/// Threads: one at a time per options.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_free(options: Option<Box<OptionsHandle>>) {
    guard_or((), || drop(options));
}

impl OptionsHandle {
    /// The options given, or the defaults; others than the allowed ones are refused, and so are parameters that the operation
    /// does not have.
    pub(crate) fn given(
        options: Option<&OptionsHandle>,
        operation: &Operation,
        allowed: &str,
        what: &str,
    ) -> Result<Self> {
        let mut options = options.cloned().unwrap_or_default();
        let is_allowed = |name: &&String| allowed.split(", ").any(|one| one == *name);
        if let Some(name) = options.names.iter().find(|name| !is_allowed(name)) {
            let has = match allowed {
                "" => "none but parameters",
                allowed => allowed,
            };
            let why = format_args!("{what} has no option {name}; it has {has}");
            return Err(invalid("options", why));
        }
        for (name, value) in &options.parameters {
            options.scan.arguments.add_text(operation, name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "page_size" => {
                let size: NonZeroU64 = parsed(name, value, "a number of records, at least 1")?;
                self.scan.page_size = Some(size.get());
            }
            "limit" => self.scan.limit = Some(parsed(name, value, "a number of records")?),
            "columns" => self.table.columns = value.parse()?,
            "schema" => self.table.schema = Some(Arc::new(TableSchema::from_json(value)?)),
            "on_new_field" => self.table.on_new = value.parse()?,
            "unproven" => self.scan.unproven = Some(value.parse()?),
            "resume" => self.resume = parsed(name, value, "true or false")?,
            "restart" => self.restart = parsed(name, value, "true or false")?,
            "confirm" => self.confirm = parsed(name, value, "true or false")?,
            "max_deletes" => self.max_deletes = value.parse()?,
            "keep" => self.keep = Some(age(value)?),
            _ => {
                let why = format_args!(
                    "there is no option {name:?}; scans have {OF_SCANS}; exports have {OF_EXPORTS}; syncs have \
                     {OF_SYNCS}; mirrors have {OF_MIRRORS}; parameters of lists and operations are added with \
                     talentdata_options_add"
                );
                return Err(invalid("name", why));
            }
        }
        self.names.push(name.to_owned());
        Ok(())
    }
}

fn parsed<T: FromStr>(name: &str, value: &str, wanted: &str) -> Result<T> {
    let wrong = |_| invalid(name, format_args!("must be {wanted} (got {value:?})"));
    value.parse().map_err(wrong)
}
