//! A sync as Python holds it: a list into a mirror, waited for or awaited.

use crate::arguments::parse;
use crate::client::{BaseClient, json};
use crate::errors::raise;
use crate::scan::options;
use crate::shared::Shared;
use crate::stoppable::{Reached, run_stoppable};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use talentdata_core::mirror::Sync;
use talentdata_core::scan::Receipt;

/// What `sync()` is made of: one list of it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawSync {
    client: Arc<Shared>,
    sync: Sync,
    reached: Reached,
}

#[pymethods]
impl RawSync {
    #[new]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
        path: PathBuf,
        keep: Option<Duration>,
        page_size: Option<&Bound<'_, PyAny>>,
        parameters: Option<&str>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let client = client.get().shared();
        client.core(py)?;
        let table = ("typed", None, "keep");
        let sync = Sync {
            resource: parse(py, resource)?,
            path,
            scan: options(py, page_size, None, table, parameters)?,
            keep,
        };
        sync.check().map_err(|error| raise(py, &error))?;
        Ok(RawSync {
            client,
            sync,
            reached: Reached::new(resource),
        })
    }

    /// Reads the list and commits what has changed; what it has done. Who waits here, and not on an event loop, has
    /// `tell` called meanwhile.
    fn run(&self, py: Python<'_>, awaited: bool, tell: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let client = self.client.core(py)?;
        let (sync, reached) = (self.sync.clone(), self.reached.clone());
        run_stoppable(py, awaited, tell, |stop| async move {
            let note = |receipt: &Receipt| reached.note(receipt);
            json(&sync.run(&client, stop.stopped(), note).await?)
        })
    }

    /// Records read, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        self.reached.progress()
    }
}
