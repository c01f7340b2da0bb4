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
use talentdata_core::scan::Receipt;
use talentdata_mirror::{Sync, age};

/// What `sync()` is made of: one list of it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawSync {
    client: Arc<Shared>,
    sync: Sync,
    reached: Reached,
}

/// An age as Python gives it: a `timedelta`, or a text such as `90d`.
#[derive(FromPyObject)]
enum Age {
    Duration(Duration),
    Text(String),
}

#[pymethods]
impl RawSync {
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "the Python package gives each of them"
    )]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
        path: PathBuf,
        keep: Option<Age>,
        confirm: bool,
        max_deletes: Option<&str>,
        page_size: Option<&Bound<'_, PyAny>>,
        parameters: Option<&str>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let client = client.get().shared();
        client.core(py)?;
        let keep = match keep {
            Some(Age::Text(text)) => Some(age(&text).map_err(|error| raise(py, &error))?),
            Some(Age::Duration(duration)) => Some(duration),
            None => None,
        };
        let max_deletes = max_deletes.map(str::parse).transpose();
        let sync = Sync {
            scan: options(py, page_size, None, parameters)?,
            confirm,
            max_deletes: max_deletes
                .map_err(|error| raise(py, &error))?
                .unwrap_or_default(),
            keep,
            ..Sync::new(parse(py, resource)?, path)
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
