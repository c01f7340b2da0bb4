//! A mirror for Python: tables of the list as it is and was, and of its changes.

use crate::arguments::{job_options, list_of};
use crate::errors::CallResult;
use crate::log;
use crate::record::{RecordText, json};
use crate::scan::capsule;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use talentdata_columns::arrow::{BatchReader, RecordBatches, TableOptions};
use talentdata_core::internal::process::lock;
use talentdata_core::types::ListName;
use talentdata_core::{Arguments, Result};
use talentdata_mirror::{Erase, Mirror, SyncPoint};

/// The native part of `Mirror`.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawMirror {
    mirror: Arc<Mirror>,
}

#[pymethods]
impl RawMirror {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> CallResult<Self> {
        let mirror = py.detach(|| Mirror::open(path))?;
        Ok(RawMirror {
            mirror: Arc::new(mirror),
        })
    }

    /// Returns the names of the lists in the mirror.
    fn resources(&self, py: Python<'_>) -> CallResult<Vec<&'static str>> {
        let resources = py.detach(|| self.mirror.resources())?.into_iter();
        Ok(resources.map(ListName::name).collect())
    }

    /// Returns the receipts of the syncs of a list that are kept, oldest first.
    fn syncs(&self, py: Python<'_>, resource: &str) -> CallResult<Vec<RecordText>> {
        let list = list_of(resource)?;
        let syncs = py.detach(|| self.mirror.syncs(list))?;
        Ok(syncs.iter().map(json).collect::<Result<_>>()?)
    }

    /// Reads everything, compares it with the digests of the syncs, and returns the differences.
    fn verify(&self, py: Python<'_>) -> CallResult<Vec<String>> {
        Ok(py.detach(|| self.mirror.verify())?.differences)
    }

    /// Returns the rows of a list: the `changes` after a sync or a time, or the list `as_of` one, or as of the last
    /// sync. Errors that reading would raise are raised now.
    fn rows(
        &self,
        py: Python<'_>,
        resource: &str,
        changes: Option<&str>,
        as_of: Option<&str>,
        options: Bound<'_, PyDict>,
    ) -> CallResult<RawRows> {
        let at = |at: Option<&str>| at.map(str::parse).transpose();
        let rows = RawRows {
            mirror: Arc::clone(&self.mirror),
            list: list_of(resource)?,
            changes: at(changes)?,
            as_of: at(as_of)?,
            bookmark: OnceLock::new(),
            table: job_options(&options, Arguments::default())?.table,
            opened: Mutex::default(),
        };
        let opened = py.detach(|| rows.batches())?;
        *rows.lock() = Some(opened);
        Ok(rows)
    }
}

/// Removes a list from a mirror.
#[pyfunction]
pub(crate) fn forget(py: Python<'_>, path: PathBuf, resource: &str) -> CallResult<()> {
    let list = list_of(resource)?;
    Ok(py.detach(|| talentdata_mirror::forget(&path, list))?)
}

/// Erases records of a list from a mirror.
#[pyfunction]
pub(crate) fn erase(
    py: Python<'_>,
    path: PathBuf,
    resource: &str,
    records: Vec<String>,
    announced: bool,
    keep_out: bool,
) -> CallResult<()> {
    let erase = Erase::new(list_of(resource)?, path, records)
        .with_announced(announced)
        .with_keep_out(keep_out);
    py.detach(|| erase.run())?;
    Ok(())
}

/// Removes the reports of erased records up to a sync.
#[pyfunction]
pub(crate) fn acknowledge(
    py: Python<'_>,
    path: PathBuf,
    resource: &str,
    up_to: &str,
) -> CallResult<()> {
    let (list, up_to) = (list_of(resource)?, up_to.parse()?);
    Ok(py.detach(|| talentdata_mirror::acknowledge(&path, list, &up_to))?)
}

/// The native part of `Rows`: rows that are read from the mirror each time that they are requested.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawRows {
    mirror: Arc<Mirror>,
    list: ListName,
    changes: Option<SyncPoint>,
    as_of: Option<SyncPoint>,
    table: TableOptions,
    /// The bookmark of the last sync when these rows were requested.
    bookmark: OnceLock<String>,
    /// The first reading, which began when these rows were requested, because another sync may come before they are
    /// read.
    opened: Mutex<Option<RecordBatches>>,
}

impl RawRows {
    fn lock(&self) -> MutexGuard<'_, Option<RecordBatches>> {
        lock(&self.opened)
    }

    fn batches(&self) -> Result<RecordBatches> {
        let rows = match &self.changes {
            Some(since) => self.mirror.changes(self.list, since)?,
            None => self.mirror.records(self.list, self.as_of.as_ref())?,
        };
        self.bookmark.get_or_init(|| rows.bookmark().to_owned());
        rows.into_batches(self.table.clone())
    }
}

#[pymethods]
impl RawRows {
    /// The bookmark of the sync of the first reading.
    #[getter]
    fn bookmark(&self) -> &str {
        self.bookmark.get().map_or("", String::as_str)
    }

    /// Delivers the messages of the reading to the logger.
    fn deliver_log(&self, py: Python<'_>) -> PyResult<()> {
        log::deliver(py)
    }

    /// Returns the rows as a stream.
    fn stream<'py>(&self, py: Python<'py>) -> CallResult<Bound<'py, PyCapsule>> {
        let opened = self.lock().take();
        let mut batches = py.detach(|| opened.map_or_else(|| self.batches(), Ok))?;
        let schema = batches.schema();
        let next = move || batches.next().transpose();
        Ok(capsule(py, BatchReader::new(schema, next))?)
    }
}
