//! The sandbox: the sample service in this process, for trials and tests.

use crate::arguments::sandbox_options;
use crate::errors::{CallResult, invalid};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::sync::{Mutex, MutexGuard};
use talentdata_core::internal::process::{Owned, lock};
use talentdata_core::{Error, ErrorKind};
use talentdata_sandbox::{Change, Logged, Sandbox};

/// The native base of `Sandbox`.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseSandbox {
    /// The address of the sandbox.
    #[pyo3(get)]
    base_url: String,
    /// The only client ID that the sandbox accepts.
    #[pyo3(get)]
    client_id: String,
    /// The secret of this client ID, which each start creates.
    #[pyo3(get)]
    client_secret: String,
    sandbox: Mutex<Option<Owned<Sandbox>>>,
}

impl BaseSandbox {
    /// Locks the sandbox. The lock must not be held while Python runs, which might give the GIL to another thread that
    /// waits for the lock.
    fn sandbox(&self) -> MutexGuard<'_, Option<Owned<Sandbox>>> {
        lock(&self.sandbox)
    }

    /// Returns the answer of the sandbox to a request that may be wrong.
    fn call<T>(&self, ask: impl FnOnce(&Sandbox) -> io::Result<T>) -> CallResult<T> {
        let answer = self.sandbox().as_ref().and_then(Owned::get).map(ask);
        let answer = answer.ok_or_else(|| {
            let message = "the sandbox was stopped before, or runs in another process";
            Error::new(ErrorKind::Closed, message)
        })?;
        answer.map_err(|wrong| invalid(wrong.to_string()))
    }
}

#[pymethods]
impl BaseSandbox {
    #[new]
    fn new(py: Python<'_>, options: Bound<'_, PyDict>) -> CallResult<Self> {
        let options = sandbox_options(&options)?;
        let sandbox = py.detach(|| Sandbox::start(options)).map_err(|failure| {
            let kind = match failure.kind() {
                io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument,
                _ => ErrorKind::of_io(&failure),
            };
            Error::new(kind, format!("the sandbox cannot start: {failure}"))
        })?;
        Ok(BaseSandbox {
            base_url: sandbox.base_url().to_owned(),
            client_id: sandbox.client_id().to_owned(),
            client_secret: sandbox.client_secret().to_owned(),
            sandbox: Mutex::new(Some(Owned::new(sandbox))),
        })
    }

    /// Replaces the fault rules with these, as JSON.
    fn _set_faults(&self, script: &str) -> CallResult<()> {
        self.call(|sandbox| sandbox.set_faults(script))
    }

    /// Changes a list immediately, by a change as JSON.
    fn _change(&self, resource: &str, change: &str) -> CallResult<()> {
        self.call(|sandbox| sandbox.change(resource, serde_json::from_str::<Change>(change)?))
    }

    /// Returns the real changes of a list as JSON, without the first `skip`.
    fn _changes(&self, resource: &str, skip: usize) -> CallResult<String> {
        let changes = self.call(|sandbox| sandbox.changes(resource, skip))?;
        let changes = changes.iter().map(Logged::to_json);
        Ok(serde_json::Value::from_iter(changes).to_string())
    }

    /// Returns the statistics: `requests`, `token_posts`, `limited`, `requests_by_path`.
    fn stats<'py>(&self, py: Python<'py>) -> CallResult<Bound<'py, PyDict>> {
        let stats = self.call(|sandbox| Ok(sandbox.stats()))?;
        let dict = PyDict::new(py);
        dict.set_item("requests", stats.requests)?;
        dict.set_item("token_posts", stats.token_posts)?;
        dict.set_item("limited", stats.limited)?;
        dict.set_item("requests_by_path", stats.requests_by_path)?;
        Ok(dict)
    }

    /// Stops the sandbox and ends its connections.
    fn close(&self, py: Python<'_>) {
        let sandbox = self.sandbox().take();
        py.detach(|| drop(sandbox));
    }

    fn __repr__(&self) -> String {
        format!("Sandbox(base_url={:?})", self.base_url)
    }
}
