//! Exports and syncs for Python, and checks of the files that they write.

use crate::arguments::{ListArguments, job_options};
use crate::client::{BaseClient, SharedClient};
use crate::errors::{CallResult, raise};
use crate::record::{RecordText, json};
use crate::waiting::{block, block_with_stop, run};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::export::{Export, Format, Target};
use talentdata_columns::internal::{WaysOut, check_kept};
use talentdata_columns::verify::{parse_receipt, read_receipt, verify};
use talentdata_core::blocking::JobProgress;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Stop;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_mirror::Sync;

/// The native part of `export()` and `sync()`, for one list.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawJob {
    client: Arc<SharedClient>,
    work: Work,
    progress: JobProgress,
}

/// The advice of `export()` about kept work.
const EXPORT_WAYS_OUT: WaysOut = WaysOut {
    resume: "call export() again with resume=True",
    restart: "call it with restart=True",
};

#[derive(Clone)]
enum Work {
    Export(Export),
    Sync(Sync),
}

#[pymethods]
impl RawJob {
    /// Creates an export of a list to a file, or a sync into a mirror. Everything is checked, and nothing is sent.
    #[new]
    #[pyo3(signature = (client, is_sync, list, path, options, format=None))]
    fn new(
        client: &Bound<'_, BaseClient>,
        is_sync: bool,
        list: ListArguments,
        path: PathBuf,
        options: Bound<'_, PyDict>,
        format: Option<&str>,
    ) -> CallResult<Self> {
        let client = BaseClient::shared(client)?;
        let options = job_options(&options, list.arguments)?;
        let work = if is_sync {
            let sync = options.sync(list.name, path);
            sync.check()?;
            Work::Sync(sync)
        } else {
            let format = match format {
                Some(name) => name.parse()?,
                None => Format::of_path(&path)?,
            };
            let export = options.export(list.name, format, Target::File(path))?;
            export.check()?;
            Work::Export(export)
        };
        let progress = JobProgress::default();
        Ok(RawJob {
            client,
            work,
            progress,
        })
    }

    /// Runs the job, and returns its receipt. A blocking call calls `on_progress` regularly.
    fn run(&self, py: Python<'_>, on_progress: Py<PyAny>) -> CallResult<Py<PyAny>> {
        let (client, stop) = (self.client.kept()?, Stop::default());
        let (work, progress, stopped) = (self.work.clone(), self.progress.clone(), stop.clone());
        let work = async move {
            let note = |receipt: &Receipt| progress.note(receipt);
            match &work {
                Work::Sync(sync) => json(&sync.run(&client, stopped.stopped(), note).await?),
                Work::Export(export) => {
                    check_kept([export], Some(client.config()), &EXPORT_WAYS_OUT)?;
                    let outcome = export.run(&client, stopped.stopped(), note).await;
                    let receipt = outcome.map_err(|error| with_hint(error, export, &client))?;
                    progress.note(&receipt);
                    json(&receipt)
                }
            }
        };
        if self.client.awaited {
            return Ok(run(py, true, work)?);
        }
        let done = block_with_stop(py, work, &stop, &on_progress);
        let done = done.inspect_err(|raised| self.give_cause(py, raised))?;
        Ok(done.into_py_any(py)?)
    }

    /// Checks, before any of these exports runs, that none would discard kept work without permission.
    #[staticmethod]
    fn check_kept(jobs: Vec<PyRef<'_, Self>>) -> CallResult<()> {
        let Some(first) = jobs.first() else {
            return Ok(());
        };
        let client = first.client.kept()?;
        let exports = jobs.iter().filter_map(|job| match &job.work {
            Work::Export(export) => Some(export),
            Work::Sync(_) => None,
        });
        Ok(check_kept(
            exports,
            Some(client.config()),
            &EXPORT_WAYS_OUT,
        )?)
    }

    /// Gives an exception that ended the await a cause that says how to continue.
    fn explain(&self, raised: &Bound<'_, PyBaseException>) {
        self.give_cause(raised.py(), &PyErr::from_value(raised.clone().into_any()));
    }

    /// Returns the number of records so far, and the service's total if it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        let receipt = self.progress.receipt();
        (receipt.records, receipt.total_first)
    }
}

impl RawJob {
    /// Adds the cause that says how to continue. Interrupted work has only a short time to report what it keeps. Even
    /// if that is not enough, the work that was stored before can be resumed.
    fn give_cause(&self, py: Python<'_>, raised: &PyErr) {
        let Work::Export(export) = &self.work else {
            return;
        };
        let Ok(client) = self.client.kept() else {
            return;
        };
        let kind = raised.get_type(py).getattr("kind");
        let is_ours = kind.is_ok_and(|kind| !kind.is_none());
        if !is_ours && raised.cause(py).is_none() && export.is_resumable(&client) {
            let error = Error::new(ErrorKind::Cancelled, "the export was stopped");
            let error = with_hint(error, export, &client);
            raised.set_cause(py, Some(raise(py, &error)));
        }
    }
}

/// Adds the way to continue to an error, if there is something to continue.
fn with_hint(error: Error, export: &Export, client: &Client) -> Error {
    if !export.is_resumable(client) {
        return error;
    }
    let message = format!(
        "{}; to continue, {}; to begin again, {}",
        error.message(),
        EXPORT_WAYS_OUT.resume,
        EXPORT_WAYS_OUT.restart
    );
    error.with_message(message)
}

/// Compares a file with a receipt, which is JSON text or the file at `path`.
#[pyfunction(name = "verify")]
pub(crate) fn verify_file(
    py: Python<'_>,
    file: PathBuf,
    receipt: Option<String>,
    path: Option<PathBuf>,
) -> CallResult<RecordText> {
    let read = move || {
        let receipt = match receipt {
            Some(text) => parse_receipt(&text, &file)?,
            None => read_receipt(&path.unwrap_or_default(), &file)?,
        };
        json(&verify(&file, &receipt)?)
    };
    // This runs on a separate thread, so that this thread notices Ctrl-C.
    Ok(block(py, async move {
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|_| Err(Error::panicked("a check of a file")))
    })?)
}
