//! Converts errors of the core to exceptions of the package, by the names of their kinds.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use talentdata_core::Error;

/// The error of a function that Python calls.
pub(crate) enum Failure {
    Core(Error),
    Python(PyErr),
}

pub(crate) type CallResult<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Core(error) => Python::attach(|py| raise(py, &error)),
            Failure::Python(error) => error,
        }
    }
}

/// Returns the exception for `error`. Its class has the name of the kind: `Config` is `ConfigError`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

/// Returns the exceptions by their names. They are cached, because nothing can be imported while the interpreter shuts
/// down.
pub(crate) fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let kept = CLASSES.get_or_try_init(py, || {
        let module = py.import("talentdata._errors")?;
        PyResult::Ok(module.dict().copy()?.unbind())
    })?;
    Ok(kept.bind(py))
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = classes(py)?.get_item(format!("{}Error", error.kind().name()))?;
    let facts = PyDict::new(py);
    facts.set_item("operation", error.operation())?;
    facts.set_item("status", error.status())?;
    facts.set_item("attempts", error.attempts())?;
    facts.set_item("retryable", error.is_retryable())?;
    let wait = error.retry_after().map(|wait| wait.as_secs_f64());
    facts.set_item("retry_after", wait)?;
    facts.set_item("request_id", error.request_id())?;
    facts.set_item("offset", error.offset())?;
    facts.set_item("body", error.body())?;
    Ok(PyErr::from_value(
        class.call((error.to_string(),), Some(&facts))?,
    ))
}

/// Returns the failure for a wrong argument, which `message` names.
pub(crate) fn invalid(message: impl Into<String>) -> Failure {
    Error::invalid(message).into()
}
