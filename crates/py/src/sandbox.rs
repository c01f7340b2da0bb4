//! The sandbox: the service itself in this process, for trying and for tests.

use crate::arguments::{Arguments, WHOLE};
use crate::errors::error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use talentdata_core::ErrorKind;
use talentdata_core::process::Owned;
use talentdata_sandbox::{Change, Logged, Options, Sandbox};

/// What `Sandbox` is made of.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseSandbox {
    base_url: String,
    client_id: String,
    client_secret: String,
    sandbox: Mutex<Option<Owned<Sandbox>>>,
}

impl BaseSandbox {
    /// Not to be held while Python runs, which might let another thread have the GIL and wait for it.
    fn sandbox(&self) -> MutexGuard<'_, Option<Owned<Sandbox>>> {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the sandbox says to a request that may be wrong.
    fn told<T>(&self, py: Python<'_>, ask: impl FnOnce(&Sandbox) -> io::Result<T>) -> PyResult<T> {
        let told = self.sandbox().as_ref().and_then(Owned::get).map(ask);
        let told = told.ok_or_else(|| gone(py))?;
        told.map_err(|wrong| error(py, ErrorKind::InvalidArgument, wrong.to_string()))
    }
}

#[pymethods]
impl BaseSandbox {
    #[new]
    #[classmethod]
    #[pyo3(
        signature = (*positional, **named),
        text_signature = "(*, records=None, seed=0, policy=\"clock-window\", limit=40, latency=0.0, port=0, faults=False, token_lifetime=3600.0, max_limit=None, later_max_limit=None, gzip=False, drift=None, order=\"stable\", ids=\"unique\", total=\"exact\", ignore_offset=False, replicas=None, warnings=False, tokens=\"all\")"
    )]
    fn new<'py>(
        class: &Bound<'py, PyType>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = class.py();
        let mut given = Arguments::new(named.cloned(), py, ErrorKind::InvalidArgument)?;
        let options = options(&mut given)?;
        given.end(class, positional)?;
        let started = py.detach(|| Sandbox::start(options));
        let sandbox = started.map_err(|failure| {
            let kind = match failure.kind() {
                io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument,
                _ => ErrorKind::Io,
            };
            error(py, kind, format!("the sandbox cannot start: {failure}"))
        })?;
        Ok(BaseSandbox {
            base_url: sandbox.base_url().to_owned(),
            client_id: sandbox.client_id().to_owned(),
            client_secret: sandbox.client_secret().to_owned(),
            sandbox: Mutex::new(Some(Owned::new(sandbox))),
        })
    }

    /// Where it listens.
    #[getter]
    fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The only client id that it accepts.
    #[getter]
    fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The secret that goes with the client id, made for this start.
    #[getter]
    fn client_secret(&self) -> &str {
        &self.client_secret
    }

    /// Takes fault rules as JSON.
    fn _set_faults(&self, py: Python<'_>, script: &str) -> PyResult<()> {
        self.told(py, |sandbox| sandbox.set_faults(script))
    }

    /// Changes a list at once, by a change as JSON.
    fn _change(&self, py: Python<'_>, resource: &str, change: &str) -> PyResult<()> {
        self.told(py, |sandbox| {
            sandbox.change(resource, serde_json::from_str::<Change>(change)?)
        })
    }

    /// What has really happened to a list, as JSON, but for the first `skip` changes.
    fn _changes(&self, py: Python<'_>, resource: &str, skip: usize) -> PyResult<String> {
        let changes = self.told(py, |sandbox| sandbox.changes(resource, skip))?;
        let changes = changes.iter().map(Logged::to_json);
        Ok(serde_json::Value::from_iter(changes).to_string())
    }

    /// What it has seen: `requests`, `token_posts`, `limited`, `requests_by_path`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self
            .sandbox()
            .as_ref()
            .and_then(Owned::get)
            .map(Sandbox::stats);
        let Some(stats) = stats else {
            return Err(gone(py));
        };
        let dict = PyDict::new(py);
        dict.set_item("requests", stats.requests)?;
        dict.set_item("token_posts", stats.token_posts)?;
        dict.set_item("limited", stats.limited)?;
        dict.set_item("requests_by_path", stats.requests_by_path)?;
        Ok(dict)
    }

    /// Stops it; its connections end.
    fn close(&self, py: Python<'_>) {
        let sandbox = self.sandbox().take();
        py.detach(|| drop(sandbox));
    }

    fn __repr__(&self) -> String {
        format!("Sandbox(base_url={:?})", self.base_url)
    }
}

fn options(given: &mut Arguments<'_>) -> PyResult<Options> {
    let mut options = Options::default();
    let sizes = "a dict of sizes by list, such as {\"contacts\": 1000}";
    if let Some(records) = given.numbers("records", sizes)? {
        let plain = |(list, size): (String, u64)| (list.replace('-', "_"), size);
        options.records = records.into_iter().map(plain).collect();
    }
    let truth = "True or False";
    given.set(&mut options.seed, "seed", WHOLE)?;
    given.set_parsed(&mut options.policy, "policy")?;
    given.set(&mut options.limit, "limit", WHOLE)?;
    given.set_seconds(&mut options.latency, "latency")?;
    given.set(&mut options.port, "port", "a whole number from 0 to 65535")?;
    given.set(&mut options.faults, "faults", truth)?;
    given.set_seconds(&mut options.token_lifetime, "token_lifetime")?;
    options.max_limit = given.take("max_limit", WHOLE)?;
    options.later_max_limit = given.take("later_max_limit", WHOLE)?;
    given.set(&mut options.gzip, "gzip", truth)?;
    let drift = "a dict of numbers, such as {\"every\": 2, \"deletes\": 1}";
    given.set_numbers(&mut options.drift, "drift", drift)?;
    given.set_parsed(&mut options.order, "order")?;
    given.set_parsed(&mut options.ids, "ids")?;
    given.set_parsed(&mut options.total, "total")?;
    given.set(&mut options.ignore_offset, "ignore_offset", truth)?;
    let replicas = "a dict of numbers, such as {\"count\": 2, \"lag_percent\": 25}";
    given.set_numbers(&mut options.replicas, "replicas", replicas)?;
    given.set(&mut options.warnings, "warnings", truth)?;
    given.set_parsed(&mut options.tokens, "tokens")?;
    Ok(options)
}

fn gone(py: Python<'_>) -> PyErr {
    let message = "the sandbox was stopped before, or runs in another process";
    error(py, ErrorKind::Closed, message)
}
