//! Arguments as Python gives them: each error names the argument, its type and what to give instead, never its value.

use crate::errors::error;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple, PyType};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_core::types::Resource;

/// Keyword arguments.
///
/// They are not left to the signature, whose errors would name a base class that nobody has heard of.
pub(crate) struct Arguments<'py> {
    given: Bound<'py, PyDict>,
    /// The kind of error with which an argument is refused.
    kind: ErrorKind,
    known: Vec<&'static str>,
}

impl<'py> Arguments<'py> {
    pub(crate) fn new(
        given: Option<Bound<'py, PyDict>>,
        py: Python<'py>,
        kind: ErrorKind,
    ) -> PyResult<Self> {
        Ok(Arguments {
            given: given.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?,
            kind,
            known: Vec::new(),
        })
    }

    /// The argument of this name; none where it is absent or `None`.
    pub(crate) fn take<T: FromPyObjectOwned<'py>>(
        &mut self,
        name: &'static str,
        wanted: &str,
    ) -> PyResult<Option<T>> {
        let value = self.take_any(name)?;
        let read = value.map(|value| read(self.kind, name, &value, wanted));
        read.transpose()
    }

    /// The same as it was given.
    pub(crate) fn take_any(&mut self, name: &'static str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.push(name);
        let Some(value) = self.given.get_item(name)? else {
            return Ok(None);
        };
        self.given.del_item(name)?;
        Ok(Some(value).filter(|value| !value.is_none()))
    }

    /// Whether an argument is given.
    pub(crate) fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self
            .given
            .get_item(name)?
            .is_some_and(|value| !value.is_none()))
    }

    /// Reads an argument into a place that has its default.
    pub(crate) fn set<T: FromPyObjectOwned<'py>>(
        &mut self,
        place: &mut T,
        name: &'static str,
        wanted: &str,
    ) -> PyResult<()> {
        if let Some(value) = self.take(name, wanted)? {
            *place = value;
        }
        Ok(())
    }

    /// The same for a text that is read by core.
    pub(crate) fn set_parsed<T: FromStr<Err: ToString>>(
        &mut self,
        place: &mut T,
        name: &'static str,
    ) -> PyResult<()> {
        if let Some(text) = self.take::<String>(name, "one of its names as a string")? {
            *place = text.parse().map_err(|wrong: T::Err| {
                let (py, said) = (self.given.py(), wrong.to_string());
                error(py, self.kind, of_argument(name, &said))
            })?;
        }
        Ok(())
    }

    /// The same for a time in seconds.
    pub(crate) fn set_seconds(&mut self, place: &mut Duration, name: &'static str) -> PyResult<()> {
        if let Some(seconds) = self.take::<f64>(name, "a time in seconds, such as 2.5")? {
            *place = Duration::try_from_secs_f64(seconds).map_err(|_| {
                let message = format!("{name} must be at least 0 seconds (got {seconds})");
                error(self.given.py(), self.kind, message)
            })?;
        }
        Ok(())
    }

    /// An argument that holds numbers by name.
    pub(crate) fn numbers(
        &mut self,
        name: &'static str,
        wanted: &str,
    ) -> PyResult<Option<BTreeMap<String, u64>>> {
        let Some(given) = self.take_any(name)? else {
            return Ok(None);
        };
        let Ok(mapping) = given.cast::<PyMapping>() else {
            return Err(refusal(self.kind, name, &given, wanted));
        };
        let mut numbers = BTreeMap::new();
        for item in mapping.items()? {
            let (key, number) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
            let key: String = read(self.kind, name, &key, wanted)?;
            let number = read(self.kind, &format!("{name}[{key:?}]"), &number, WHOLE)?;
            numbers.insert(key, number);
        }
        Ok(Some(numbers))
    }

    /// The same as settings `NAME=N,...` of the command line, which have `-` where Python has `_`.
    pub(crate) fn set_numbers<T: Default + FromStr<Err = String>>(
        &mut self,
        place: &mut Option<T>,
        name: &'static str,
        wanted: &str,
    ) -> PyResult<()> {
        if let Some(numbers) = self.numbers(name, wanted)? {
            let settings = numbers
                .into_iter()
                .map(|(key, number)| format!("{}={number}", key.replace('_', "-")));
            *place = Some(match settings.collect::<Vec<_>>().join(",").as_str() {
                "" => T::default(),
                settings => settings.parse().map_err(|wrong| {
                    error(self.given.py(), self.kind, format!("{name}: {wrong}"))
                })?,
            });
        }
        Ok(())
    }

    /// Refuses what was given to this class beside the known arguments.
    pub(crate) fn end(
        self,
        class: &Bound<'py, PyType>,
        positional: &Bound<'py, PyTuple>,
    ) -> PyResult<()> {
        let class = class.name()?;
        let known = self.known.iter().filter(|name| !name.starts_with('_'));
        let known = known.copied().collect::<Vec<_>>().join(", ");
        let message = if let Some(name) = self.given.keys().iter().next() {
            format!("{class}() has no option {name}; its options are {known}")
        } else if positional.is_empty() {
            return Ok(());
        } else {
            format!("{class}() takes its options by name; they are {known}")
        };
        Err(PyTypeError::new_err(message))
    }
}

/// The message of core, which may name the argument by itself.
fn of_argument(name: &str, said: &str) -> String {
    match said.starts_with(name) {
        true => said.to_owned(),
        false => format!("{name}: {said}"),
    }
}

/// The list of this name, in any spelling.
pub(crate) fn resource(py: Python<'_>, name: &str) -> PyResult<Resource> {
    let parsed = name.parse::<Resource>();
    parsed.map_err(|unknown| error(py, ErrorKind::InvalidArgument, unknown.to_string()))
}

/// What a count has to be.
pub(crate) const WHOLE: &str = "a whole number from 0";

/// A number of records.
pub(crate) fn count(name: &str, number: &Bound<'_, PyAny>) -> PyResult<u64> {
    read(ErrorKind::InvalidArgument, name, number, WHOLE)
}

fn read<'py, T: FromPyObjectOwned<'py>>(
    kind: ErrorKind,
    name: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<T> {
    value
        .extract()
        .map_err(|_| refusal(kind, name, value, wanted))
}

fn refusal(kind: ErrorKind, name: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let class = value.get_type().name();
    let class = class.map_or_else(|_| "value".into(), |class| class.to_string());
    let message = format!("{name}: this {class} cannot be used; give {wanted}");
    error(value.py(), kind, message)
}
