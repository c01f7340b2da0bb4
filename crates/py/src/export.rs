//! An export as Python holds it: the whole list into a file, waited for or awaited.

use crate::arguments::parse;
use crate::client::{BaseClient, json};
use crate::errors::raise;
use crate::runtime::block_telling;
use crate::scan::options;
use crate::shared::Shared;
use crate::verb::run;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_core::export::{Export, Format, Target};
use talentdata_core::scan::Receipt;
use talentdata_core::{Client, Error, ErrorKind};
use tokio::sync::oneshot;

/// What `export()` is made of.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawExport {
    client: Arc<Shared>,
    export: Export,
    receipt: Arc<Mutex<Receipt>>,
}

#[pymethods]
impl RawExport {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the options of export()")]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
        path: PathBuf,
        format: Option<&str>,
        resume: bool,
        page_size: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        consistency: &str,
        columns: &str,
        schema: Option<&Bound<'_, PyAny>>,
        on_new: &str,
        parameters: Option<&str>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let client = client.get().shared();
        client.core(py)?;
        let format = match format {
            Some(name) => name.parse().map_err(|error| raise(py, &error))?,
            None => Format::of_path(&path),
        };
        let table = (columns, schema, on_new);
        let scan = options(py, page_size, limit, consistency, table, parameters)?;
        let export = Export {
            resource: parse(py, resource)?,
            format,
            target: Target::File(path),
            scan,
            resume,
        };
        export.check().map_err(|error| raise(py, &error))?;
        let receipt = Receipt {
            resource: resource.to_owned(),
            ..Receipt::default()
        };
        Ok(RawExport {
            client,
            export,
            receipt: Arc::new(Mutex::new(receipt)),
        })
    }

    /// Writes the file, which appears under its name when it is complete; its receipt. Who waits here, and not
    /// on an event loop, has `tell` called meanwhile.
    fn run(&self, py: Python<'_>, awaited: bool, tell: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let client = self.client.core(py)?;
        let (export, receipt) = (self.export.clone(), Arc::clone(&self.receipt));
        let (stop, stopped) = oneshot::channel();
        let work = async move {
            // Only who says so stops it; an event loop drops the whole work.
            let stopped = async {
                if stopped.await.is_err() {
                    pending().await
                }
            };
            let note = |reached: &Receipt| *lock(&receipt) = reached.clone();
            let outcome = export.run(&client, stopped, note).await;
            let finished = outcome.map_err(|error| with_hint(error, &export, &client))?;
            note(&finished);
            json(&finished)
        };
        if awaited {
            return run(py, true, work);
        }
        let outcome = block_telling(py, work, stop, |py| tell.call0(py).map(drop));
        let receipt = outcome.inspect_err(|raised| self.give_cause(py, raised))?;
        receipt.into_py_any(py)
    }

    /// Gives an exception that has ended the awaiting the cause that says how to continue.
    fn explain(&self, raised: &Bound<'_, PyBaseException>) {
        self.give_cause(raised.py(), &PyErr::from_value(raised.clone().into_any()));
    }

    /// Records written, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        let receipt = lock(&self.receipt);
        (receipt.records, receipt.total_first)
    }
}

impl RawExport {
    /// Work that was interrupted has only a moment to say what it keeps; where that was not enough, what it has
    /// stored before is there all the same.
    fn give_cause(&self, py: Python<'_>, raised: &PyErr) {
        let Ok(client) = self.client.core(py) else {
            return;
        };
        let is_ours = raised
            .get_type(py)
            .getattr("kind")
            .is_ok_and(|kind| !kind.is_none());
        if !is_ours && raised.cause(py).is_none() && self.export.is_resumable(&client) {
            let error = Error::new(ErrorKind::Cancelled, "the export was stopped");
            let error = with_hint(error, &self.export, &client);
            raised.set_cause(py, Some(raise(py, &error)));
        }
    }
}

/// The error with how to continue, if there is something to continue.
fn with_hint(error: Error, export: &Export, client: &Client) -> Error {
    if !export.is_resumable(client) {
        return error;
    }
    let message = format!(
        "{}; to continue, call export() again with resume=True",
        error.message()
    );
    error.with_message(message)
}

fn lock(receipt: &Mutex<Receipt>) -> MutexGuard<'_, Receipt> {
    receipt.lock().unwrap_or_else(PoisonError::into_inner)
}
