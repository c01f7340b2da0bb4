//! Arguments as Python gives them: each error names the argument, what it is and what it should be, never its value.

use crate::errors::error;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple, PyType};
use std::collections::BTreeMap;
use std::time::Duration;
use talentdata_core::ErrorKind;
use talentdata_core::types::Resource;

/// The keyword arguments of a class of the package.
///
/// They are not left to the signature, whose errors would name a base class that nobody has heard of.
pub(crate) struct Arguments<'py> {
    class: Bound<'py, PyType>,
    given: Bound<'py, PyDict>,
    /// What an argument is refused with.
    kind: ErrorKind,
    known: Vec<&'static str>,
}

impl<'py> Arguments<'py> {
    pub(crate) fn new(
        class: &Bound<'py, PyType>,
        given: Option<&Bound<'py, PyDict>>,
        kind: ErrorKind,
    ) -> PyResult<Self> {
        let given = given.map_or_else(|| Ok(PyDict::new(class.py())), Bound::copy)?;
        let (class, known) = (class.clone(), Vec::new());
        Ok(Arguments {
            class,
            given,
            kind,
            known,
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

    /// An argument that is a time in seconds.
    pub(crate) fn seconds(&mut self, name: &'static str) -> PyResult<Option<Duration>> {
        let Some(seconds) = self.take::<f64>(name, "a time in seconds, such as 2.5")? else {
            return Ok(None);
        };
        let duration = Duration::try_from_secs_f64(seconds);
        let duration = duration.map_err(|_| {
            let message = format!("{name} must be at least 0 seconds (got {seconds})");
            error(self.class.py(), self.kind, message)
        });
        duration.map(Some)
    }

    /// An argument that holds numbers by name.
    pub(crate) fn numbers(
        &mut self,
        name: &'static str,
        wanted: &str,
    ) -> PyResult<Option<BTreeMap<String, u64>>> {
        let Some(given) = self.take::<Bound<'py, PyAny>>(name, wanted)? else {
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

    /// Refuses what was given beside the known arguments.
    pub(crate) fn end(self, positional: &Bound<'py, PyTuple>) -> PyResult<()> {
        let class = self.class.name()?;
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

/// The list of this name.
pub(crate) fn parse(py: Python<'_>, resource: &str) -> PyResult<Resource> {
    let parsed = resource.parse::<Resource>();
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
