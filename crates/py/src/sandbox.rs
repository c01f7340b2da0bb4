//! The sandbox: the service itself in this process, for trying and for tests.

use crate::errors::error;
use crate::options::duration;
use crate::process::Owned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use talentdata_core::ErrorKind;
use talentdata_sandbox::{Options, Sandbox};

/// What `Sandbox` is made of.
#[pyclass(frozen, subclass, module = "talentdata._talentdata")]
pub(crate) struct BaseSandbox {
    base_url: String,
    client_id: String,
    client_secret: String,
    sandbox: Mutex<Option<Owned<Sandbox>>>,
}

impl BaseSandbox {
    fn sandbox(&self) -> MutexGuard<'_, Option<Owned<Sandbox>>> {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl BaseSandbox {
    #[new]
    #[pyo3(signature = (*, records=None, seed=0, policy="clock-window", limit=40, latency=0.0, port=0, faults=false, token_lifetime=3600.0, max_limit=100, gzip=false))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn new(
        py: Python<'_>,
        records: Option<BTreeMap<String, u64>>,
        seed: u64,
        policy: &str,
        limit: u32,
        latency: f64,
        port: u16,
        faults: bool,
        token_lifetime: f64,
        max_limit: u64,
        gzip: bool,
    ) -> PyResult<Self> {
        let policy = policy.parse().map_err(|unknown| {
            error(py, ErrorKind::InvalidArgument, format!("policy: {unknown}"))
        })?;
        let options = Options {
            records: records.unwrap_or_default(),
            seed,
            policy,
            limit,
            latency: duration(py, "latency", latency)?,
            port,
            faults,
            token_lifetime: duration(py, "token_lifetime", token_lifetime)?,
            max_limit,
            gzip,
            ..Options::default()
        };
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

    /// What it has seen: `requests`, `token_posts`, `limited`, `requests_by_path`, `most_in_a_second`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self
            .sandbox()
            .as_ref()
            .and_then(Owned::get)
            .map(Sandbox::stats);
        let Some(stats) = stats else {
            let message = "the sandbox was stopped before, or runs in another process";
            return Err(error(py, ErrorKind::Closed, message));
        };
        let dict = PyDict::new(py);
        dict.set_item("requests", stats.requests)?;
        dict.set_item("token_posts", stats.token_posts)?;
        dict.set_item("limited", stats.limited)?;
        dict.set_item("requests_by_path", stats.requests_by_path)?;
        dict.set_item("most_in_a_second", stats.most_in_a_second)?;
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
