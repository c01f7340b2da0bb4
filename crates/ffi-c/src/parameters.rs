//! Parameters by their names: those that a call can do without, and those of a list.

use crate::boundary::{guard, guard_or, lent, slot, terminated, text};
use crate::error::Error;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::{Arguments, Result};

/// Optional parameters of a call, or parameters of a list. Freed with talentdata_parameters_free.
#[derive(Default)]
pub struct Parameters {
    pub(crate) values: Vec<(String, String)>,
}

/// Creates an empty set of parameters.
///
/// @param parameters_out the parameters
/// Ownership: the caller frees `*parameters_out` with talentdata_parameters_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parameters_new(
    parameters_out: Option<&mut MaybeUninit<Box<Parameters>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(parameters_out, "parameters_out")?.write(Box::default());
        Ok(())
    })
}

/// Adds a parameter. One that takes several values is added once for each. Whether the operation has such a parameter,
/// and takes such a value, is checked by the call, before anything is sent.
///
/// @param parameters the parameters
/// @param name the name in the service document, NUL-terminated
/// @param value the value as text, such as 10 or true, NUL-terminated
/// Threads: one at a time per handle.
/// Errors: INVALID_ARGUMENT for NULL or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parameters_add(
    parameters: Option<&mut Parameters>,
    name: *const c_char,
    value: *const c_char,
) -> Option<Box<Error>> {
    guard(|| {
        let parameters = lent(parameters, "parameters")?;
        parameters.add(terminated(&name, "name"), terminated(&value, "value"))
    })
}

/// Like talentdata_parameters_add, for texts that need not end with a NUL.
///
/// @param parameters the parameters
/// @param name the name in the service document
/// @param name_length its length in bytes
/// @param value the value as text
/// @param value_length its length in bytes
/// Threads: one at a time per handle.
/// Errors: as talentdata_parameters_add.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parameters_add_n(
    parameters: Option<&mut Parameters>,
    name: *const c_char,
    name_length: usize,
    value: *const c_char,
    value_length: usize,
) -> Option<Box<Error>> {
    guard(|| {
        let parameters = lent(parameters, "parameters")?;
        let name = text(&name, name_length, "name");
        parameters.add(name, text(&value, value_length, "value"))
    })
}

/// Frees the parameters; does nothing when they are NULL.
///
/// Ownership: `parameters` must not be used any more.
/// Threads: one at a time per handle.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parameters_free(parameters: Option<Box<Parameters>>) {
    guard_or((), || drop(parameters));
}

impl Parameters {
    /// The same for a list, which is not known yet.
    pub(crate) fn arguments(&self) -> Arguments {
        let values = self.values.iter();
        values.fold(Arguments::default(), |all, (name, value)| {
            all.with_text(name, value)
        })
    }

    fn add(&mut self, name: Result<&str>, value: Result<&str>) -> Result<()> {
        self.values.push((name?.to_owned(), value?.to_owned()));
        Ok(())
    }
}
