//! A sync as Python holds it: a list into a mirror, waited for or awaited.

use crate::arguments::parse;
use crate::client::{BaseClient, json};
use crate::errors::raise;
use crate::runtime::block_telling;
use crate::scan::options;
use crate::shared::Shared;
use crate::verb::run;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use talentdata_core::mirror::Sync;
use talentdata_core::scan::Receipt;
use tokio::sync::oneshot;

/// What `sync()` is made of: one list of it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawSync {
    client: Arc<Shared>,
    sync: Sync,
    receipt: Arc<Mutex<Receipt>>,
}

#[pymethods]
impl RawSync {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the options of sync()")]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
        path: PathBuf,
        keep: Option<Duration>,
        page_size: Option<&Bound<'_, PyAny>>,
        consistency: &str,
        parameters: Option<&str>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let client = client.get().shared();
        client.core(py)?;
        let table = ("typed", None, "keep");
        let sync = Sync {
            resource: parse(py, resource)?,
            path,
            scan: options(py, page_size, None, consistency, table, parameters)?,
            keep,
        };
        sync.check().map_err(|error| raise(py, &error))?;
        let receipt = Receipt {
            resource: resource.to_owned(),
            ..Receipt::default()
        };
        Ok(RawSync {
            client,
            sync,
            receipt: Arc::new(Mutex::new(receipt)),
        })
    }

    /// Reads the list and commits what has changed; what it has done. Who waits here, and not on an event loop, has
    /// `tell` called meanwhile.
    fn run(&self, py: Python<'_>, awaited: bool, tell: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let client = self.client.core(py)?;
        let (sync, receipt) = (self.sync.clone(), Arc::clone(&self.receipt));
        let (stop, stopped) = oneshot::channel();
        let work = async move {
            // Only who says so stops it; an event loop drops the whole work.
            let stopped = async {
                if stopped.await.is_err() {
                    pending().await
                }
            };
            let note = |reached: &Receipt| *lock(&receipt) = reached.clone();
            json(&sync.run(&client, stopped, note).await?)
        };
        if awaited {
            return run(py, true, work);
        }
        let receipt = block_telling(py, work, stop, |py| tell.call0(py).map(drop))?;
        receipt.into_py_any(py)
    }

    /// Records read, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        let receipt = lock(&self.receipt);
        (receipt.records, receipt.total_first)
    }
}

fn lock(receipt: &Mutex<Receipt>) -> MutexGuard<'_, Receipt> {
    receipt.lock().unwrap_or_else(PoisonError::into_inner)
}
