//! Sets the options of scans, exports, syncs and calls, by their names.

use crate::boundary::guard_or;
use crate::error::ErrorHandle;
use crate::export::{self, guard, invalid, lent, text};
use crate::text::Text;
use talentdata_core::types::Operation;
use talentdata_core::{Arguments, Result};
use talentdata_mirror::internal::{JobKind, JobOption, JobOptions};

/// Options of scans, exports, syncs, plans, pages and calls. Freed with talentdata_options_free.
#[derive(Clone, Default)]
pub struct OptionsHandle {
    inner: JobOptions,
    parameters: Vec<(String, String)>,
    /// The names of the options that were set.
    names: Vec<&'static str>,
}

/// Creates options, as defaults or as a copy.
///
/// @param from options to copy, or NULL for the defaults
/// Ownership: the caller frees the result with talentdata_options_free.
/// Threads: any; no other thread may change `from` during the call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_new(
    from: Option<&OptionsHandle>,
) -> Option<Box<OptionsHandle>> {
    guard_or(None, || Some(Box::new(from.cloned().unwrap_or_default())))
}

/// Sets an option of a scan, an export, a sync, a schema or a mirror by its name. Names and values are those of the
/// arguments of Python and of the flags of the command line. A function fails if it does not take an option that is set.
///
/// @param options the options to change
/// @param name the name of the option, such as page_size
/// @param value the value as text, such as 100 or true; for the option schema, the JSON of talentdata_client_schema
/// Ownership: the arguments are copied.
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL, a name that is not an option, or a value that the option does not take.
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
        options.set(name, &value)
    })
}

/// Adds a value of a parameter of the list or of the operation, such as a filter. Call this function once for each value of
/// a parameter. The function that takes the options checks the parameter and the value before it sends a request.
///
/// @param options the options to change
/// @param parameter the name of the parameter in the OpenAPI file
/// @param value the value as text, such as 10 or true
/// Ownership: the arguments are copied.
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
        let value = export::value(&value, &parameter)?.to_owned();
        options.parameters.push((parameter, value));
        Ok(())
    })
}

/// Frees options. NULL does nothing. Scans, jobs and calls that were created with them stay valid.
///
/// Ownership: `options` must no longer be used.
/// Threads: one at a time per options.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_options_free(options: Option<Box<OptionsHandle>>) {
    guard_or((), || drop(options));
}

impl OptionsHandle {
    /// Returns the options of a job, or the defaults, with the parameters of its operation. `what` is the name of the job
    /// in errors.
    ///
    /// # Errors
    /// `InvalidArgument` for an option that the job does not take, and for a parameter that the operation does not take.
    pub(crate) fn of_job(
        options: Option<&OptionsHandle>,
        job: Option<JobKind>,
        operation: &Operation,
        what: &str,
    ) -> Result<JobOptions> {
        let Some(options) = options else {
            return Ok(JobOptions::default());
        };
        let allowed = job.map(JobKind::names).unwrap_or_default();
        let is_allowed = |name: &&str| allowed.split(", ").any(|one| one == *name);
        if let Some(name) = options.names.iter().find(|name| !is_allowed(name)) {
            let has = if allowed.is_empty() {
                "only parameters"
            } else {
                &allowed
            };
            let why = format_args!("{what} has no option {name}; it has {has}");
            return Err(invalid("options", why));
        }
        let mut inner = options.inner.clone();
        for (name, value) in &options.parameters {
            inner.scan.arguments.add_text(operation, name, value)?;
        }
        Ok(inner)
    }

    /// Returns the parameters for an operation that takes no options.
    pub(crate) fn arguments(
        options: Option<&OptionsHandle>,
        operation: &Operation,
        what: &str,
    ) -> Result<Arguments> {
        Ok(Self::of_job(options, None, operation, what)?.scan.arguments)
    }

    fn set(&mut self, name: &str, value: &Text) -> Result<()> {
        let option = JobOption::find(name).map_err(|why| {
            let add = "parameters of lists and operations are added with talentdata_options_add";
            invalid("name", format_args!("{why}; {add}"))
        })?;
        self.inner.set(option, export::value(value, option.name)?)?;
        self.names.push(option.name);
        Ok(())
    }
}
