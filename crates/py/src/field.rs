//! A documented field of a model, as the attribute that reads it.

use crate::errors::error;
use crate::json;
use crate::record::{RawRecord, Record};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use pyo3::{PyTraverseError, PyVisit};
use talentdata_core::ErrorKind;
use talentdata_core::json::{items, members};

/// What the value of a field has to be.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    /// Whatever it is.
    Json,
    /// An object of a model.
    Model,
    /// An array of objects of a model.
    Models,
    /// An object whose values are of a model.
    ModelByName,
}

impl Kind {
    fn of(name: &str) -> Option<(Self, &'static str)> {
        Some(match name {
            "text" => (Self::Text, "a string"),
            "integer" => (Self::Integer, "a whole number"),
            "number" => (Self::Number, "a number"),
            "boolean" => (Self::Boolean, "true or false"),
            "array" => (Self::Array, "an array"),
            "object" => (Self::Object, "an object"),
            "json" => (Self::Json, "anything"),
            "model" => (Self::Model, "an object"),
            "models" => (Self::Models, "an array of objects"),
            "model by name" => (Self::ModelByName, "an object of objects"),
            _ => return None,
        })
    }

    fn takes(self, json: &str) -> bool {
        let is_object = |json: &str| json.starts_with('{');
        match (self, json.as_bytes().first()) {
            (Self::Json, _)
            | (Self::Text, Some(b'"'))
            | (Self::Boolean, Some(b't' | b'f'))
            | (Self::Array, Some(b'['))
            | (Self::Object | Self::Model, Some(b'{')) => true,
            (Self::Integer, Some(b'-' | b'0'..=b'9')) => !json.contains(['.', 'e', 'E']),
            (Self::Number, Some(first)) => *first == b'-' || first.is_ascii_digit(),
            (Self::Models, Some(b'[')) => items(json).into_iter().all(is_object),
            (Self::ModelByName, Some(b'{')) => {
                members(json).iter().all(|(_, value)| is_object(value))
            }
            _ => false,
        }
    }
}

/// A documented field: reads and checks its value when the attribute is asked for.
#[pyclass(frozen, generic, module = "talentdata._talentdata")]
pub(crate) struct Field {
    name: String,
    kind: Kind,
    expected: &'static str,
    required: bool,
    of: Option<Py<PyType>>,
}

#[pymethods]
impl Field {
    #[new]
    #[pyo3(signature = (name, kind, *, required=false, of=None))]
    fn new(name: String, kind: &str, required: bool, of: Option<Py<PyType>>) -> PyResult<Self> {
        let Some((kind, expected)) = Kind::of(kind) else {
            return Err(PyValueError::new_err(format!("no kind of field: {kind}")));
        };
        Ok(Field {
            name,
            kind,
            expected,
            required,
            of,
        })
    }

    /// The name on the wire.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether every record carries it.
    #[getter]
    fn required(&self) -> bool {
        self.required
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: Option<&Bound<'py, PyAny>>,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = owner;
        match instance {
            None => Ok(slf.clone().into_any()),
            Some(instance) => slf.get().read(instance.cast::<Record>()?),
        }
    }

    // There is no `__clear__`: the class never changes, and is cleared itself.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.of.as_ref())
    }
}

impl Field {
    fn read<'py>(&self, record: &Bound<'py, Record>) -> PyResult<Bound<'py, PyAny>> {
        let py = record.py();
        let raw = record.get();
        match raw.find(&self.name) {
            None | Some("null") if !self.required => Ok(py.None().into_bound(py)),
            None => Err(self.wrong(record, "it is missing")),
            Some(value) if !self.kind.takes(value) => {
                let is = format!("it is not {}", self.expected);
                Err(self.wrong(record, &is))
            }
            Some(value) => match &self.of {
                None => json::value(py, value),
                Some(class) => self.modelled(value, class.bind(py)),
            },
        }
    }

    fn modelled<'py>(
        &self,
        value: &str,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let model = |piece: &str| class.call1((RawRecord::new(piece),));
        match self.kind {
            Kind::Model => model(value),
            Kind::Models => {
                let models: PyResult<Vec<_>> = items(value).into_iter().map(model).collect();
                Ok(PyList::new(py, models?)?.into_any())
            }
            Kind::ModelByName => {
                let models = PyDict::new(py);
                for (raw, value) in members(value) {
                    models.set_item(json::name(py, raw)?, model(value)?)?;
                }
                Ok(models.into_any())
            }
            _ => class.call1((json::value(py, value)?,)),
        }
    }

    fn wrong(&self, record: &Bound<'_, Record>, what: &str) -> PyErr {
        let py = record.py();
        let class = record.get_type().name();
        let class = class.map(|name| name.to_string()).unwrap_or_default();
        let id = record.get().find("id").filter(|id| id.len() <= 100);
        let id = id.map(|id| format!(" {id}"));
        let message = format!(
            "{class}{}: {}: {what}; record[{:?}] and record.json show what came",
            id.unwrap_or_default(),
            self.name,
            self.name
        );
        error(py, ErrorKind::Schema, message)
    }
}
