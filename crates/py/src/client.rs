//! The client: its settings and its verbs, each written once.

use crate::arguments::{Arguments, count, parse};
use crate::errors::raise;
use crate::record::RawRecord;
use crate::settings;
use crate::shared::Shared;
use crate::verb::run;
use http::{HeaderName, HeaderValue};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::collections::BTreeMap;
use std::sync::Arc;
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::types::{OPERATIONS, Operation, Resource};
use talentdata_core::{Arguments as CallArguments, Builder, Client, Error, ErrorKind, Result};

/// What `Client` and `AsyncClient` are made of.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseClient {
    /// What another client with other options is made from.
    settings: Builder,
    shared: Arc<Shared>,
}

impl BaseClient {
    /// The core's client; in a forked child, another one with the same settings.
    fn core(&self, py: Python<'_>) -> PyResult<Client> {
        self.shared.core(py)
    }

    /// What outlives this object where a scan is held.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

#[pymethods]
impl BaseClient {
    // Written in Rust, so that no frame of Python holds the secret when it is refused.
    #[new]
    #[classmethod]
    #[pyo3(signature = (*positional, **named))]
    fn new<'py>(
        class: &Bound<'py, PyType>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = class.py();
        let mut given = Arguments::new(class, named, ErrorKind::Config)?;
        let origin = given.take::<Bound<'py, BaseClient>>("_origin", "a client")?;
        let settings = origin.as_ref().map(|origin| origin.get().settings.clone());
        let mut settings = settings.unwrap_or_default();
        settings::set(&mut settings, &mut given)?;
        given.end(positional)?;
        let config = settings.config().map_err(|error| raise(py, &error))?;
        let shared = Shared::new(config, origin.map(|origin| origin.get().shared()));
        let client = BaseClient {
            settings,
            shared: Arc::new(shared),
        };
        client.core(py)?;
        Ok(client)
    }

    /// Where the service is.
    #[getter]
    fn base_url(&self) -> String {
        self.shared.config().base_url().to_string()
    }

    /// The client's identifier, when one is set.
    #[getter]
    fn client_id(&self) -> Option<&str> {
        self.shared.config().client_id()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.is_closed()
    }

    fn _close(&self) {
        self.shared.close();
    }

    /// Calls an operation whose response is an object.
    #[pyo3(signature = (awaited, operation, parameters, body))]
    fn _call(
        &self,
        py: Python<'_>,
        awaited: bool,
        operation: &str,
        parameters: Option<&str>,
        body: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.core(py)?;
        let call = call(operation, parameters, body);
        let (operation, arguments) = call.map_err(|error| raise(py, &error))?;
        run(py, awaited, async move {
            let json = client.invoke(operation, arguments).await?;
            Ok(RawRecord::new(json.unwrap_or_default()))
        })
    }

    /// Calls an operation; its response as JSON text, if it has one.
    #[pyo3(signature = (awaited, operation, parameters, body))]
    fn _call_text(
        &self,
        py: Python<'_>,
        awaited: bool,
        operation: &str,
        parameters: Option<&str>,
        body: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.core(py)?;
        let call = call(operation, parameters, body);
        let (operation, arguments) = call.map_err(|error| raise(py, &error))?;
        run(py, awaited, async move {
            client.invoke(operation, arguments).await
        })
    }

    #[pyo3(signature = (awaited, resource, limit, offset, parameters=None))]
    fn _page(
        &self,
        py: Python<'_>,
        awaited: bool,
        resource: &str,
        limit: Option<&Bound<'_, PyAny>>,
        offset: &Bound<'_, PyAny>,
        parameters: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.core(py)?;
        let resource = parse(py, resource)?;
        let arguments = list_arguments(py, parameters)?;
        let limit = limit.map(|limit| count("limit", limit)).transpose()?;
        let offset = count("offset", offset)?;
        run(py, awaited, async move {
            let list = client.resource(resource).with(arguments);
            let page = list.page(limit, offset).await?;
            let records = page.records.into_iter();
            let records: Vec<RawRecord> = records.map(RawRecord::from).collect();
            Ok((records, json(&page.pagination)?, page.key))
        })
    }

    #[pyo3(signature = (awaited, resource, parameters=None))]
    fn _plan(
        &self,
        py: Python<'_>,
        awaited: bool,
        resource: &str,
        parameters: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.core(py)?;
        let resource = parse(py, resource)?;
        let arguments = list_arguments(py, parameters)?;
        let plan = async move { json(&client.plan_with(resource, arguments).await?) };
        run(py, awaited, plan)
    }

    #[pyo3(signature = (awaited, resource, columns, parameters=None))]
    fn _schema(
        &self,
        py: Python<'_>,
        awaited: bool,
        resource: &str,
        columns: &str,
        parameters: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.core(py)?;
        let resource = parse(py, resource)?;
        let arguments = list_arguments(py, parameters)?;
        let columns: Columns = columns.parse().map_err(|error| raise(py, &error))?;
        run(py, awaited, async move {
            let list = client.resource(resource).with(arguments);
            json(&TableSchema::of_list(&list, columns).await?)
        })
    }

    fn _last_response(&self, py: Python<'_>) -> PyResult<Option<RawRecord>> {
        let Some(last) = self.core(py)?.last_response() else {
            return Ok(None);
        };
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        };
        let headers = last.headers.iter().map(header);
        let response = Response {
            status: last.status.as_u16(),
            headers: headers.collect(),
        };
        let made = json(&response).map_err(|error| raise(py, &error))?;
        Ok(Some(made))
    }

    /// A verb with a defect in it, for the tests of how a defect is reported.
    fn _defect(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        run(py, awaited, async { defect() })
    }

    // Asked only for what is no attribute: most likely a list under a wrong name.
    fn __getattr__(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        let class = slf.get_type().name()?;
        let lists = Resource::ALL.map(Resource::name).join(", ");
        let message = format!("'{class}' object has no attribute '{name}'; its lists are {lists}");
        Err(PyAttributeError::new_err(message))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let client = slf.get();
        let closed = if client.closed() { ", closed" } else { "" };
        let name = slf.get_type().name()?;
        let (url, id) = (client.base_url(), client.client_id().unwrap_or_default());
        Ok(format!(
            "{name}(base_url={url:?}, client_id={id:?}{closed})"
        ))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let name = slf.get_type().name()?;
        let message = format!(
            "{name} cannot be pickled or copied: it holds a secret and connections; make one where it is needed"
        );
        Err(PyTypeError::new_err(message))
    }
}

#[expect(clippy::panic, reason = "the defect itself")]
fn defect() -> Result<RawRecord> {
    std::panic::panic_any("a defect on purpose")
}

/// A response as Python sees it; of a header that comes twice, the last.
#[derive(serde::Serialize)]
struct Response {
    status: u16,
    headers: BTreeMap<String, String>,
}

/// The operation of this id, and its arguments: parameters as a JSON object, and the JSON body.
fn call(
    operation: &str,
    parameters: Option<&str>,
    body: Option<String>,
) -> Result<(&'static Operation, CallArguments)> {
    let wrong = |what: &str| Error::new(ErrorKind::InvalidArgument, what);
    let mut all = OPERATIONS.iter();
    let found = all.find(|one| one.id == operation);
    let found = found.ok_or_else(|| wrong("operation: there is no such operation"))?;
    Ok((found, arguments(parameters, body)?))
}

/// Arguments from parameters as a JSON object, and a JSON body.
fn arguments(parameters: Option<&str>, body: Option<String>) -> Result<CallArguments> {
    let parameters = serde_json::from_str(parameters.unwrap_or("{}"));
    let parameters = parameters.map_err(|_| {
        let message = "parameters: not a JSON object";
        Error::new(ErrorKind::InvalidArgument, message)
    })?;
    Ok(CallArguments::new(parameters, body))
}

/// The values of a list's parameters, as a JSON object.
pub(crate) fn list_arguments(py: Python<'_>, parameters: Option<&str>) -> PyResult<CallArguments> {
    arguments(parameters, None).map_err(|error| raise(py, &error))
}

/// What the core read, as the record that a model of the package is made from.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<RawRecord> {
    let json = serde_json::to_string(value);
    let json = json.map_err(|_| Error::new(ErrorKind::Internal, "a response is not JSON"))?;
    Ok(RawRecord::new(json))
}
