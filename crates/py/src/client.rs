//! The client: its settings, its methods, and the core's client, which exists from the first use in a process until the
//! client is closed.

use crate::arguments::{ListArguments, arguments, job_options, read};
use crate::errors::{CallResult, invalid};
use crate::record::{RecordText, json};
use crate::waiting::{PythonCall, leave, run};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use talentdata_columns::arrow::TableSchema;
use talentdata_columns::internal::SchemaMemory;
use talentdata_core::internal::process::{Owned, lock};
use talentdata_core::internal::settings::{SECRET_SOURCES, SETTINGS, Setting, SettingKind};
use talentdata_core::types::OPERATIONS;
use talentdata_core::types::Stop;
use talentdata_core::{Builder, Client, Config, Error, ErrorKind, Result};

/// The native base of `Client` and `AsyncClient`.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseClient {
    /// The settings, for clients with other options that are derived from this one.
    settings: Builder,
    shared: Arc<SharedClient>,
}

/// The part of a client that its scans and jobs share. It holds no Python object, so no reference cycle goes through
/// it.
pub(crate) struct SharedClient {
    config: Config,
    /// True if its methods are awaited.
    pub(crate) awaited: bool,
    /// The client whose budget this one shares.
    origin: Option<Arc<SharedClient>>,
    /// Ends the running calls.
    closed: Stop,
    /// The core's client; `None` until it is used in this process, and after it was released. No Python code runs while
    /// it is locked, because it might give the GIL to another thread, which would then wait for the lock.
    client: Mutex<Option<Owned<Client>>>,
    /// The columns of lists that were read as tables.
    pub(crate) schemas: SchemaMemory,
}

impl SharedClient {
    /// Releases the connections, and leaves the budget.
    fn release(&self) {
        let owned = self.lock().take();
        if let Some(client) = owned.and_then(|mut owned| owned.take()) {
            // A client that shares the budget of another one keeps that one alive.
            leave(client, self.origin.is_none());
        }
    }

    /// Returns the core's client; in a forked child, another one with the same settings.
    fn core(&self) -> Result<Client> {
        self.open(false)
    }

    /// Returns the core's client for scans and jobs, which continue after the client is closed.
    pub(crate) fn kept(&self) -> Result<Client> {
        self.open(true)
    }

    fn open(&self, even_if_closed: bool) -> Result<Client> {
        let mut slot = self.lock();
        let known = slot.as_ref().and_then(Owned::get).cloned();
        if self.closed.is_stopped() {
            return known.filter(|_| even_if_closed).ok_or_else(closed);
        }
        if let Some(client) = known {
            return Ok(client);
        }
        let client = match &self.origin {
            Some(origin) => origin.open(false)?.with_config(self.config.clone()),
            None => Client::new(self.config.clone()),
        }?;
        *slot = Some(Owned::new(client.clone()));
        Ok(client)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Owned<Client>>> {
        lock(&self.client)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this client is closed; create a new one")
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.release();
    }
}

impl BaseClient {
    /// Returns the part that outlives this object while a scan or a job exists; an error if the client is closed.
    pub(crate) fn shared(client: &Bound<'_, Self>) -> CallResult<Arc<SharedClient>> {
        let shared = Arc::clone(&client.get().shared);
        shared.core()?;
        Ok(shared)
    }

    /// Runs a method of the core's client.
    fn run<T: crate::waiting::IntoPython, F>(
        &self,
        py: Python<'_>,
        verb: impl FnOnce(Client) -> F,
    ) -> CallResult<Py<PyAny>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let work = verb(self.shared.core()?);
        let stop = self.shared.closed.clone();
        Ok(run(py, self.shared.awaited, async move {
            tokio::select! {
                biased;
                () = stop.stopped() => Err(closed()),
                done = work => done,
            }
        })?)
    }
}

#[pymethods]
impl BaseClient {
    // This is written in Rust, so that no Python frame contains the secret if it is refused.
    #[new]
    #[classmethod]
    #[pyo3(signature = (*positional, **named))]
    fn new<'py>(
        class: &Bound<'py, PyType>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> CallResult<Self> {
        let names = || {
            SETTINGS
                .iter()
                .map(|setting| setting.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let refuse = |what: String| {
            let message = format!("{}() {what} {}", class.name()?, names());
            Err(PyTypeError::new_err(message))
        };
        if !positional.is_empty() {
            refuse("takes its options by name; they are".into())?;
        }
        let named = named.cloned().unwrap_or_else(|| PyDict::new(class.py()));
        let origin = named
            .get_item("_origin")?
            .filter(|origin| !origin.is_none());
        let origin = origin.map(|origin| read::<Bound<'py, BaseClient>>("_origin", &origin));
        let origin = origin.transpose()?;
        let origin = origin.as_ref().map(Bound::get);
        let mut settings = origin.map_or_else(Builder::default, |origin| origin.settings.clone());
        for (name, value) in named {
            let name = name.extract::<String>()?;
            match SETTINGS.iter().find(|setting| setting.name == name) {
                // `None` does not change a setting.
                Some(_) if value.is_none() => {}
                Some(setting) => set(&mut settings, setting, &value)?,
                None if name == "_origin" => {}
                None => refuse(format!("has no option {name}; its options are"))?,
            }
        }
        // This may call a function or run a command for the secret, so other threads should run.
        let config = class.py().detach(|| settings.config())?;
        let shared = SharedClient {
            config,
            awaited: class.getattr("_awaited")?.is_truthy()?,
            origin: origin.map(|origin| Arc::clone(&origin.shared)),
            closed: Stop::default(),
            client: Mutex::default(),
            schemas: SchemaMemory::default(),
        };
        shared.core()?;
        Ok(BaseClient {
            settings,
            shared: Arc::new(shared),
        })
    }

    /// The address of the service.
    #[getter]
    fn base_url(&self) -> String {
        self.shared.config.base_url().to_string()
    }

    /// The client ID; `None` if there is none.
    #[getter]
    fn client_id(&self) -> Option<&str> {
        self.shared.config.client_id()
    }

    /// True if the client was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.closed.is_stopped()
    }

    fn _close(&self) {
        self.shared.closed.stop();
        // Scans, jobs, and clients with other options share it. The last of them releases it.
        if Arc::strong_count(&self.shared) == 1 {
            self.shared.release();
        }
    }

    /// Calls an operation, and returns its response as JSON text, if it has one.
    fn _call(
        &self,
        py: Python<'_>,
        operation: &str,
        parameters: Option<&str>,
        body: Option<String>,
    ) -> CallResult<Py<PyAny>> {
        let operation = OPERATIONS.iter().find(|one| one.id == operation);
        let operation =
            operation.ok_or_else(|| invalid("operation: there is no such operation"))?;
        let arguments = arguments(parameters, body)?;
        self.run(py, |client| async move {
            client.invoke(operation, arguments).await
        })
    }

    fn _page(
        &self,
        py: Python<'_>,
        list: ListArguments,
        limit: Option<&Bound<'_, PyAny>>,
        offset: &Bound<'_, PyAny>,
    ) -> CallResult<Py<PyAny>> {
        let limit = limit.map(|limit| read("limit", limit)).transpose()?;
        let offset = read("offset", offset)?;
        self.run(py, |client| async move {
            let list = client.resource(list.name).with(list.arguments);
            let page = list.page(limit, offset).await?;
            let records = page.records.into_iter();
            let records: Vec<RecordText> = records.map(RecordText::from).collect();
            Ok((records, json(&page.pagination)?, page.key))
        })
    }

    fn _plan(&self, py: Python<'_>, list: ListArguments) -> CallResult<Py<PyAny>> {
        self.run(py, |client| async move {
            let list = client.resource(list.name).with(list.arguments);
            json(&list.plan().await?)
        })
    }

    fn _schema(
        &self,
        py: Python<'_>,
        list: ListArguments,
        options: &Bound<'_, PyDict>,
    ) -> CallResult<Py<PyAny>> {
        let options = job_options(options, list.arguments)?;
        self.run(py, |client| async move {
            let (list, columns) = (client.resource(list.name), options.table.columns);
            json(&TableSchema::of_scan(&list, options.scan, columns).await?)
        })
    }

    /// Checks what a client with these settings can reach.
    fn _doctor(&self, py: Python<'_>) -> CallResult<Py<PyAny>> {
        diagnose(py, self.settings.clone(), self.shared.awaited)
    }

    /// Returns the state of the budget of these settings.
    fn _budget(&self, py: Python<'_>) -> CallResult<RecordText> {
        Ok(py.detach(|| json(&self.shared.config.budget_state()?))?)
    }

    /// Panics, for tests of the report about a defect.
    fn _defect(&self, py: Python<'_>) -> CallResult<Py<PyAny>> {
        self.run(py, |_| async { defect() })
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
}

/// Checks what a client with these settings can reach.
fn diagnose(py: Python<'_>, settings: Builder, awaited: bool) -> CallResult<Py<PyAny>> {
    Ok(run(py, awaited, async move {
        json(&settings.diagnose().await)
    })?)
}

/// Checks what a client with the given settings can reach. The settings may be wrong.
#[pyfunction]
#[pyo3(name = "diagnose", signature = (**named))]
pub(crate) fn diagnose_settings(
    py: Python<'_>,
    named: Option<&Bound<'_, PyDict>>,
) -> CallResult<Py<PyAny>> {
    let mut settings = Builder::default();
    for (name, value) in named.into_iter().flatten() {
        let name = name.extract::<String>()?;
        match SETTINGS.iter().find(|setting| setting.name == name) {
            Some(_) if value.is_none() => {}
            Some(setting) => set(&mut settings, setting, &value)?,
            None => {
                let message = format!("doctor() has no option {name}");
                return Err(PyTypeError::new_err(message).into());
            }
        }
    }
    diagnose(py, settings, false)
}

#[expect(clippy::panic, reason = "the defect itself")]
fn defect() -> Result<RecordText> {
    std::panic::panic_any("a defect on purpose")
}

/// Sets a setting. The client secret may be a function that returns it.
fn set(settings: &mut Builder, setting: &Setting, value: &Bound<'_, PyAny>) -> CallResult<()> {
    if setting.name == SECRET_SOURCES[0] && value.is_callable() {
        let function = value.clone().unbind();
        settings.client_secret_from(move || ask(&function));
    } else {
        settings.set(setting.name, value_of(setting, value)?);
    }
    Ok(())
}

/// Calls the function for the secret. A value of the wrong type may be a secret, and is not shown.
fn ask(function: &Py<PyAny>) -> std::result::Result<String, String> {
    let Some(_call) = PythonCall::begin() else {
        return Err("Python is shutting down".into());
    };
    let asked = Python::try_attach(|py| {
        let raised = |error: PyErr| {
            error
                .value(py)
                .repr()
                .map_or_else(|_| error.to_string(), |it| it.to_string())
        };
        let value = function.bind(py).call0().map_err(raised)?;
        let wrong = || format!("it must return a str, not {}", class_of(&value));
        value.extract::<String>().map_err(|_: PyErr| wrong())
    });
    asked.unwrap_or_else(|| Err("Python is shutting down".into()))
}

fn class_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// Reads the value of a setting. A value of the wrong type may be a secret, and is not shown.
fn value_of(setting: &Setting, value: &Bound<'_, PyAny>) -> CallResult<String> {
    let read = match setting.kind {
        SettingKind::Duration(_) | SettingKind::Integer(_) | SettingKind::Number(_) => {
            value.extract::<f64>().map(|number| number.to_string())
        }
        SettingKind::Boolean(_) => value.extract::<bool>().map(|truth| truth.to_string()),
        // A path that is not UTF-8 is refused like the same value in the environment.
        SettingKind::Command => value.extract::<String>().or_else(|_: PyErr| {
            let words = value.extract::<Vec<String>>()?;
            Ok(serde_json::Value::from(words).to_string())
        }),
        SettingKind::ListPolicies => value.extract::<String>().or_else(|_: PyErr| {
            let json = value.py().import("json")?;
            json.call_method1("dumps", (value,))?.extract::<String>()
        }),
        SettingKind::File => value
            .extract::<PathBuf>()
            .map(|path| path.to_string_lossy().into_owned()),
        _ => value.extract::<String>(),
    };
    let class = value.get_type().name()?.to_string();
    let message = || setting.wrong_type_message(&class);
    Ok(read.map_err(|_: PyErr| Error::config(message()))?)
}
