//! Arguments as Python gives them: each error names the argument and its type.

use crate::errors::{CallResult, invalid};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::str::FromStr;
use std::time::Duration;
use talentdata_core::Arguments;
use talentdata_core::types::ListName;

/// The list of this name, in any spelling.
pub(crate) fn resource(name: &str) -> CallResult<ListName> {
    let parsed = name.parse::<ListName>();
    parsed.map_err(|unknown| invalid(unknown.to_string()))
}

/// Arguments of a call from parameters as a JSON object, and a JSON body.
pub(crate) fn arguments(parameters: Option<&str>, body: Option<String>) -> CallResult<Arguments> {
    let parameters = serde_json::from_str(parameters.unwrap_or("{}"));
    let parameters = parameters.map_err(|_| invalid("parameters: not a JSON object"))?;
    Ok(Arguments::new(parameters, body))
}

/// A list, and the values of its parameters: in Python its name and a JSON object.
pub(crate) struct ListArguments {
    pub(crate) resource: ListName,
    pub(crate) arguments: Arguments,
}

impl<'py> FromPyObject<'_, 'py> for ListArguments {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, parameters) = given.extract::<(String, Option<String>)>()?;
        Ok(ListArguments {
            resource: resource(&name)?,
            arguments: arguments(parameters.as_deref(), None)?,
        })
    }
}

/// A value as this argument takes it.
pub(crate) fn read<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> CallResult<T> {
    value.extract::<T>().map_err(|wrong| {
        let wrong: PyErr = wrong.into();
        invalid(format!("{name}: {}", wrong.value(value.py())))
    })
}

/// Options by their names; one that is absent or `None` has its default.
pub(crate) struct PyOptions<'py>(pub(crate) Bound<'py, PyDict>);

impl<'py> PyOptions<'py> {
    pub(crate) fn get<T: FromPyObjectOwned<'py>>(&self, name: &str) -> CallResult<Option<T>> {
        let value = self.0.get_item(name)?.filter(|value| !value.is_none());
        value.map(|value| read(name, &value)).transpose()
    }

    /// Returns an option that is false by default.
    pub(crate) fn flag(&self, name: &str) -> CallResult<bool> {
        Ok(self.get(name)?.unwrap_or(false))
    }

    /// The same for a text that the core reads.
    pub(crate) fn parsed<T: FromStr<Err: ToString>>(&self, name: &str) -> CallResult<Option<T>> {
        let text = self.get::<String>(name)?;
        let parsed = text.map(|text| text.parse::<T>()).transpose();
        // An error of the core has its kind at the end, as the one that is made of it here has.
        parsed.map_err(
            |wrong| match wrong.to_string().trim_end_matches(" (InvalidArgument)") {
                // The core may name the argument by itself.
                said if said.starts_with(name) => invalid(said),
                said => invalid(format!("{name}: {said}")),
            },
        )
    }

    /// Reads an option into a place that has its default.
    pub(crate) fn set<T: FromPyObjectOwned<'py>>(
        &self,
        place: &mut T,
        name: &str,
    ) -> CallResult<()> {
        if let Some(value) = self.get(name)? {
            *place = value;
        }
        Ok(())
    }

    /// The same for a text that the core reads.
    pub(crate) fn set_parsed<T: FromStr<Err: ToString>>(
        &self,
        place: &mut T,
        name: &str,
    ) -> CallResult<()> {
        if let Some(value) = self.parsed(name)? {
            *place = value;
        }
        Ok(())
    }

    /// The same for a time in seconds.
    pub(crate) fn set_seconds(&self, place: &mut Duration, name: &str) -> CallResult<()> {
        if let Some(seconds) = self.get::<f64>(name)? {
            let time = Duration::try_from_secs_f64(seconds);
            *place = time.map_err(|wrong| invalid(format!("{name}: {seconds} s: {wrong}")))?;
        }
        Ok(())
    }
}
