//! A record: the bytes that the service sent, which are parsed only on request.

use crate::errors::{CallResult, invalid};
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, intern};
use std::sync::Arc;
use talentdata_core::internal::json::{decoded, is_object, items, member, members};
use talentdata_core::{Error, ErrorKind};

/// The maximum number of characters of a record in `repr`.
const SHOWN: usize = 400;

/// The text of a record, which a scan passes to the constructor of `Record`.
#[pyclass(frozen, name = "RawRecord", module = "talentdata._talentdata")]
pub(crate) struct RecordText {
    json: Arc<str>,
}

impl RecordText {
    /// Creates the text of any JSON object.
    pub(crate) fn new(json: impl Into<Arc<str>>) -> Self {
        RecordText { json: json.into() }
    }
}

/// Converts a value of the core to the text for a class of the package.
pub(crate) fn json(value: &impl serde::Serialize) -> talentdata_core::Result<RecordText> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|_| Error::new(ErrorKind::Internal, "a result is not JSON"))?;
    Ok(RecordText::new(json))
}

/// Copies the text, because a slice of the page would keep the whole page in memory.
impl From<talentdata_core::RawRecord> for RecordText {
    fn from(record: talentdata_core::RawRecord) -> Self {
        RecordText::new(record.as_str())
    }
}

/// A JSON object as the service sent it: a mapping of its fields by their names in the API.
///
/// Models such as `talentdata.Contact` add attributes for the documented fields. A value is read when it is requested.
/// Integers are exact, other numbers are floats, and `json` is the exact text of all of them. Records compare by
/// content, can be pickled, and never change.
#[pyclass(frozen, subclass, mapping, name = "Record", module = "talentdata")]
pub(crate) struct PyRecord {
    json: Arc<str>,
}

impl PyRecord {
    /// Returns the text of the record.
    pub(crate) fn text(&self) -> &str {
        &self.json
    }

    /// Returns the raw value of a member; `None` if there is no such member.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        member(&self.json, name)
    }

    fn item<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(text) = name.cast::<PyString>() else {
            return Ok(None);
        };
        let Ok(wanted) = text.to_cow() else {
            // A name with half a surrogate pair cannot be compared here.
            return self.to_dict(name.py())?.get_item(name);
        };
        self.find(&wanted)
            .map(|json| value(name.py(), json))
            .transpose()
    }
}

/// Converts valid JSON to a Python object: integers exactly, and other numbers as floats. Strings and small integers
/// are the most frequent values and are read here. Python reads everything else.
fn value<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Some(text) = decoded(json).filter(|_| json.starts_with('"')) {
        return Ok(PyString::new(py, &text).into_any());
    }
    if let Ok(number) = json.parse::<i64>() {
        return number.into_bound_py_any(py);
    }
    reader(py)?.call1((json,))
}

/// Returns the Python function that reads JSON. It is cached, because nothing can be imported while the interpreter
/// shuts down.
pub(crate) fn reader(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    LOADS.import(py, "talentdata._json", "loads")
}

#[pymethods]
impl PyRecord {
    /// The names of the documented fields in the API. Each model has its own.
    #[classattr]
    fn _documented() -> [&'static str; 0] {
        []
    }

    #[new]
    fn new(json: &Bound<'_, PyAny>) -> CallResult<Self> {
        if let Ok(raw) = json.cast::<RecordText>() {
            let json = Arc::clone(&raw.get().json);
            return Ok(PyRecord { json });
        }
        let text = match json.cast::<PyBytes>() {
            Ok(bytes) => PyString::from_encoded_object(bytes, Some(c"utf-8"), None)?.to_string(),
            Err(_) => json
                .extract()
                .map_err(|_| PyTypeError::new_err("a record takes the text of a JSON object"))?,
        };
        let text = text.trim();
        if !is_object(text) {
            let message = "json: it is not the text of one JSON object, nested 127 levels at most";
            return Err(invalid(message));
        }
        Ok(PyRecord { json: text.into() })
    }

    /// The text of the record, byte for byte as received.
    #[getter]
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, &self.json))
    }

    /// The fields that are not documented, by their names in the API.
    #[getter]
    fn extra<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let extra = slf.get().to_dict(slf.py())?;
        for name in slf.getattr(intern!(slf.py(), "_documented"))?.try_iter()? {
            extra.call_method1(intern!(slf.py(), "pop"), (name?, slf.py().None()))?;
        }
        Ok(extra)
    }

    /// Returns the JSON text of a member's value.
    fn _member(&self, name: &str) -> Option<&str> {
        self.find(name)
    }

    /// Returns the JSON texts of the items of an array.
    #[staticmethod]
    fn _items(array: &str) -> Vec<&str> {
        items(array)
    }

    /// Returns the JSON texts of the values of an object, by their names.
    #[staticmethod]
    fn _members<'py>(py: Python<'py>, object: &str) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (raw, text) in members(object) {
            found.set_item(value(py, &format!("\"{raw}\""))?, text)?;
        }
        Ok(found)
    }

    /// Returns all fields, by their names in the API.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(value(py, &self.json)?.cast_into()?)
    }

    /// Returns the value of a field, or `default` if there is no such field.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        name: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.item(name)?.or(default))
    }

    /// Returns the names of all fields.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.keys())
    }

    /// Returns the values of all fields.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.values())
    }

    /// Returns the names and values of all fields.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.to_dict(py)?.items())
    }

    fn __getitem__<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.item(name)?
            .ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.item(name)?.is_some())
    }

    // Python calls this only for names that are not attributes, most likely the field's name in another language.
    fn __getattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        let class = slf.get_type().name()?;
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let record = slf.get();
        let mut fields = members(&record.json).into_iter().map(|(name, _)| name);
        let hint = match fields.find(|field| plain(field) == plain(name)) {
            Some(field) => format!("; record[\"{field}\"] is the field of that name"),
            None => String::new(),
        };
        let message = format!("'{class}' object has no attribute '{name}'{hint}");
        Err(PyAttributeError::new_err(message))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.to_dict(py)?.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys(py)?.try_iter()?.into_any())
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<PyRecord>() else {
            return Ok(py.NotImplemented());
        };
        let (left, right) = (slf.get(), other.get());
        let same = slf.get_type().is(other.get_type())
            && (left.json == right.json || left.to_dict(py)?.eq(right.to_dict(py)?)?);
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let shown = slf.get().to_dict(slf.py())?.repr()?;
        let shown = shown.to_string_lossy();
        let name = slf.get_type().name()?;
        Ok(match shown.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{name}({}...)", &shown[..end]),
            None => format!("{name}({shown})"),
        })
    }

    /// Returns the record as a table of HTML, which notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let display = slf.py().import("talentdata._display")?;
        display.call_method1("of_record", (slf,))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let json = PyBytes::new(slf.py(), slf.get().json.as_bytes());
        Ok((slf.get_type(), PyTuple::new(slf.py(), [json])?))
    }
}
