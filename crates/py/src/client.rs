//! The client: its settings, its verbs, and the core's client behind it, from the first use in a process until it is closed.

use crate::arguments::{Arguments, count, resource};
use crate::errors::{error, raise};
use crate::record::{RawRecord, json};
use crate::waiting::{leave, run};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_columns::arrow::{Columns, TableSchema};
use talentdata_core::process::Owned;
use talentdata_core::settings::{Kind, SETTINGS, Setting, Value};
use talentdata_core::types::{OPERATIONS, Resource};
use talentdata_core::{
    Arguments as CallArguments, Builder, Client, Config, Error, ErrorKind, Result, Stop,
};

/// What `Client` and `AsyncClient` are made of.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseClient {
    /// What another client with other options is made from.
    settings: Builder,
    shared: Arc<Shared>,
}

/// What a client shares with its scans and jobs. It holds no Python object, so that no reference cycle goes through it.
pub(crate) struct Shared {
    config: Config,
    /// Whether its verbs are awaited.
    pub(crate) awaited: bool,
    /// The client whose budget this one spends.
    origin: Option<Arc<Shared>>,
    /// Ends the calls that are under way.
    closed: Stop,
    /// None until it is used in this process, and once it was released. Nothing of Python runs while it is locked: it might let
    /// another thread have the GIL, which would wait for the lock.
    client: Mutex<Option<Owned<Client>>>,
}

impl Shared {
    /// Releases the connections, and lets the budget know.
    fn release(&self) {
        let owned = self.lock().take();
        if let Some(client) = owned.and_then(|mut owned| owned.take()) {
            // Those that spend the budget of another keep that one alive.
            leave(client, self.origin.is_none());
        }
    }

    /// The core's client; in a forked child, another one with the same settings.
    pub(crate) fn core(&self, py: Python<'_>) -> PyResult<Client> {
        self.open(false).map_err(|error| raise(py, &error))
    }

    /// The same for scans and jobs, which go on when the client is closed.
    pub(crate) fn kept(&self, py: Python<'_>) -> PyResult<Client> {
        self.open(true).map_err(|error| raise(py, &error))
    }

    fn open(&self, goes_on: bool) -> Result<Client> {
        let mut slot = self.lock();
        let known = slot.as_ref().and_then(Owned::get).cloned();
        if self.closed.is_stopped() {
            return known.filter(|_| goes_on).ok_or_else(closed);
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
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this client is closed; create a new one")
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.release();
    }
}

impl BaseClient {
    /// What outlives this object where a scan or a job is held. It is an error where the client is closed.
    pub(crate) fn shared(client: &Bound<'_, Self>) -> PyResult<Arc<Shared>> {
        let shared = Arc::clone(&client.get().shared);
        shared.core(client.py())?;
        Ok(shared)
    }

    /// Runs a verb of the core's client.
    fn run<T: crate::waiting::Outcome, F>(
        &self,
        py: Python<'_>,
        verb: impl FnOnce(Client) -> F,
    ) -> PyResult<Py<PyAny>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let work = verb(self.shared.core(py)?);
        let stop = self.shared.closed.clone();
        run(py, self.shared.awaited, async move {
            tokio::select! {
                biased;
                () = stop.stopped() => Err(closed()),
                done = work => done,
            }
        })
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
        let mut given = Arguments::new(named.cloned(), py, ErrorKind::Config)?;
        let origin = given.take::<Bound<'py, BaseClient>>("_origin", "a client")?;
        let mut settings = origin
            .as_ref()
            .map(|origin| origin.get().settings.clone())
            .unwrap_or_default();
        // What is absent or `None` stays as it is.
        for setting in SETTINGS {
            if let Some(value) = given.take_any(setting.name)? {
                settings.set(setting.name, value_of(setting, &value)?);
            }
        }
        given.end(class, positional)?;
        let shared = Shared {
            config: settings.config().map_err(|error| raise(py, &error))?,
            awaited: class.getattr("_awaited")?.is_truthy()?,
            origin: origin.map(|origin| Arc::clone(&origin.get().shared)),
            closed: Stop::default(),
            client: Mutex::default(),
        };
        shared.core(py)?;
        Ok(BaseClient {
            settings,
            shared: Arc::new(shared),
        })
    }

    /// Whether its verbs are awaited.
    #[classattr]
    fn _awaited() -> bool {
        false
    }

    /// Where the service is.
    #[getter]
    fn base_url(&self) -> String {
        self.shared.config.base_url().to_string()
    }

    /// The client ID; `None` where there is none.
    #[getter]
    fn client_id(&self) -> Option<&str> {
        self.shared.config.client_id()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.closed.is_stopped()
    }

    fn _close(&self) {
        self.shared.closed.stop();
        // Scans, jobs, and clients with other options hold it, too; the last of them releases it.
        if Arc::strong_count(&self.shared) == 1 {
            self.shared.release();
        }
    }

    /// Calls an operation; its response as JSON text, if it has one.
    fn _call(
        &self,
        py: Python<'_>,
        operation: &str,
        parameters: Option<&str>,
        body: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let mut all = OPERATIONS.iter();
        let Some(operation) = all.find(|one| one.id == operation) else {
            let message = format!("operation: there is no operation {operation:?}");
            return Err(error(py, ErrorKind::InvalidArgument, message));
        };
        let arguments = arguments(py, parameters, body)?;
        self.run(py, |client| async move {
            client.invoke(operation, arguments).await
        })
    }

    fn _page(
        &self,
        py: Python<'_>,
        list: &str,
        limit: Option<&Bound<'_, PyAny>>,
        offset: &Bound<'_, PyAny>,
        parameters: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let (list, arguments) = (resource(py, list)?, arguments(py, parameters, None)?);
        let limit = limit.map(|limit| count("limit", limit)).transpose()?;
        let offset = count("offset", offset)?;
        self.run(py, |client| async move {
            let page = client
                .resource(list)
                .with(arguments)
                .page(limit, offset)
                .await?;
            let records = page.records.into_iter();
            let records: Vec<RawRecord> = records.map(RawRecord::from).collect();
            Ok((records, json(&page.pagination)?, page.key))
        })
    }

    fn _plan(&self, py: Python<'_>, list: &str, parameters: Option<&str>) -> PyResult<Py<PyAny>> {
        let (list, arguments) = (resource(py, list)?, arguments(py, parameters, None)?);
        self.run(py, |client| async move {
            json(&client.plan_with(list, arguments).await?)
        })
    }

    fn _schema(
        &self,
        py: Python<'_>,
        list: &str,
        columns: &str,
        parameters: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let (list, arguments) = (resource(py, list)?, arguments(py, parameters, None)?);
        let columns: Columns = columns.parse().map_err(|error| raise(py, &error))?;
        self.run(py, |client| async move {
            let list = client.resource(list).with(arguments);
            json(&TableSchema::of_list(&list, columns).await?)
        })
    }

    /// The state of the budget of these settings.
    fn _budget(&self, py: Python<'_>) -> PyResult<RawRecord> {
        let state = py.detach(|| self.shared.config.budget_state());
        let state = state.and_then(|state| json(&state));
        state.map_err(|error| raise(py, &error))
    }

    /// A verb with a defect in it, for the tests of how a defect is reported.
    fn _defect(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.run(py, |_| async { defect() })
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

/// The value of a setting; one of the wrong type may be a secret, and is not shown.
fn value_of(setting: &Setting, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let read = match setting.kind {
        Kind::Duration(_) | Kind::Integer(_) | Kind::Number(_) => {
            value.extract::<f64>().map(Value::from)
        }
        Kind::Boolean(_) => value.extract::<bool>().map(Value::from),
        _ => value.extract::<String>().map(Value::from),
    };
    read.or_else(|_| {
        let class = value.get_type().name()?;
        let message = setting.wrong_type(&class.to_string());
        Err(error(value.py(), ErrorKind::Config, message))
    })
}

/// Arguments of a call from parameters as a JSON object, and a JSON body.
pub(crate) fn arguments(
    py: Python<'_>,
    parameters: Option<&str>,
    body: Option<String>,
) -> PyResult<CallArguments> {
    match serde_json::from_str(parameters.unwrap_or("{}")) {
        Ok(parameters) => Ok(CallArguments::new(parameters, body)),
        Err(_) => {
            let message = "parameters: not a JSON object";
            Err(error(py, ErrorKind::InvalidArgument, message))
        }
    }
}
