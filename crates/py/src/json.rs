//! JSON that is known to be valid, as Python objects: integers exact, other numbers as floats.

use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};
use pyo3::{IntoPyObjectExt, intern};
use talentdata_core::json::{decoded, items, members};

/// Python refuses to read more decimal digits at once, against an attack that costs time.
const DIGITS: usize = 4000;

/// The value as a Python object. Its nesting was bounded when it was checked.
pub(crate) fn value<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    match json.as_bytes().first() {
        Some(b'"') => text(py, json),
        Some(b'{') => Ok(dict(py, json)?.into_any()),
        Some(b'[') => {
            let list = PyList::empty(py);
            for item in items(json) {
                list.append(value(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Some(b't') => true.into_bound_py_any(py),
        Some(b'f') => false.into_bound_py_any(py),
        Some(b'n') => Ok(py.None().into_bound(py)),
        _ => number(py, json),
    }
}

/// An object as a dict. Of a name that occurs twice the last counts, here and everywhere.
pub(crate) fn dict<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (raw, value) in members(json) {
        dict.set_item(name(py, raw)?, self::value(py, value)?)?;
    }
    Ok(dict)
}

/// A member's name, which is raw and without quotes.
pub(crate) fn name<'py>(py: Python<'py>, raw: &str) -> PyResult<Bound<'py, PyAny>> {
    match raw.contains('\\') {
        true => text(py, &format!("\"{raw}\"")),
        false => Ok(PyString::new(py, raw).into_any()),
    }
}

fn text<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    match decoded(json) {
        Some(text) => Ok(PyString::new(py, &text).into_any()),
        None => by_python(py, json),
    }
}

fn number<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if text.contains(['.', 'e', 'E']) {
        return match text.parse() {
            Ok(number) => Ok(PyFloat::new(py, number).into_any()),
            Err(_) => by_python(py, text),
        };
    }
    match text.parse::<i64>() {
        Ok(number) => number.into_bound_py_any(py),
        Err(_) => integer(py, text),
    }
}

/// JSON's text.
pub(crate) fn utf8(json: &[u8]) -> PyResult<&str> {
    std::str::from_utf8(json).map_err(|error| PyUnicodeError::new_err(error.to_string()))
}

/// An integer of any length.
fn integer<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = py.get_type::<PyInt>();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut sum = 0.into_bound_py_any(py)?;
    let mut rest = digits;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(DIGITS));
        let shift = class.call1((10,))?.pow(piece.len(), py.None())?;
        sum = sum.mul(shift)?.add(class.call1((piece,))?)?;
        rest = behind;
    }
    if digits.len() < text.len() {
        sum = sum.neg()?;
    }
    Ok(sum)
}

/// Half a surrogate pair is no text in Rust, but in Python it is.
fn by_python<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?
        .call_method1(intern!(py, "loads"), (json,))
}
