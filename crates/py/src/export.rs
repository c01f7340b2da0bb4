//! An export as Python holds it: the whole list into a file, waited for or awaited.

use crate::arguments::parse;
use crate::client::{BaseClient, json};
use crate::errors::raise;
use crate::scan::options;
use crate::shared::Shared;
use crate::stoppable::{Reached, run_stoppable};
use crate::table;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::export::{Export, Format, Target};
use talentdata_core::scan::Receipt;
use talentdata_core::{Client, Error, ErrorKind};

/// What `export()` is made of.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawExport {
    client: Arc<Shared>,
    export: Export,
    reached: Reached,
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
            None => Format::of_path(&path).map_err(|error| raise(py, &error))?,
        };
        let table = (columns, schema, on_new);
        let table = table::options(py, table)?;
        let scan = options(py, page_size, limit, parameters)?;
        let export = Export {
            resource: parse(py, resource)?,
            format,
            target: Target::File(path),
            scan,
            table,
            resume,
        };
        export.check().map_err(|error| raise(py, &error))?;
        Ok(RawExport {
            client,
            export,
            reached: Reached::new(resource),
        })
    }

    /// Writes the file, which appears under its name when it is complete; its receipt. Who waits here, and not
    /// on an event loop, has `tell` called meanwhile.
    fn run(&self, py: Python<'_>, awaited: bool, tell: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let client = self.client.core(py)?;
        let (export, reached) = (self.export.clone(), self.reached.clone());
        let outcome = run_stoppable(py, awaited, tell, |stop| async move {
            let note = |receipt: &Receipt| reached.note(receipt);
            let outcome = export.run(&client, stop.stopped(), note).await;
            let finished = outcome.map_err(|error| with_hint(error, &export, &client))?;
            reached.note(&finished);
            json(&finished)
        });
        outcome.inspect_err(|raised| {
            if !awaited {
                self.give_cause(py, raised);
            }
        })
    }

    /// Gives an exception that has ended the awaiting the cause that says how to continue.
    fn explain(&self, raised: &Bound<'_, PyBaseException>) {
        self.give_cause(raised.py(), &PyErr::from_value(raised.clone().into_any()));
    }

    /// Records written, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        self.reached.progress()
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
