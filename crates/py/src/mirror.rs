//! A mirror for Python: tables of current and earlier records of a list, and of its changes.

use crate::arguments::{job_options, list_of};
use crate::errors::CallResult;
use crate::log;
use crate::record::{RecordText, json};
use crate::scan::capsule;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use talentdata_columns::arrow::{BatchReader, RecordBatch, RecordBatches, TableOptions};
use talentdata_core::internal::process::lock;
use talentdata_core::types::ListName;
use talentdata_core::{Arguments, Builder, Result};
use talentdata_mirror::{Erase, Mirror, SyncPoint, history_table};

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

    /// Returns the receipts of the kept syncs of a list, oldest first.
    fn syncs(&self, py: Python<'_>, resource: &str) -> CallResult<Vec<RecordText>> {
        let list = list_of(resource)?;
        let syncs = py.detach(|| self.mirror.syncs(list))?;
        Ok(syncs.iter().map(json).collect::<Result<_>>()?)
    }

    /// Reads everything, compares it with the digests of the syncs, and returns the differences.
    fn verify(&self, py: Python<'_>) -> CallResult<Vec<String>> {
        Ok(py.detach(|| self.mirror.verify())?.differences)
    }

    /// Returns rows of a list: its `changes` after a sync or a time, its records `as_of` a sync or a time, its
    /// `current` records, its records without missing ones (`present`), or its `history`. Errors of reading are raised
    /// now.
    #[pyo3(signature = (resource, what, at=None, options=None))]
    fn rows(
        &self,
        py: Python<'_>,
        resource: &str,
        what: &str,
        at: Option<&str>,
        options: Option<Bound<'_, PyDict>>,
    ) -> CallResult<RawRows> {
        let options = options.unwrap_or_else(|| PyDict::new(py));
        let at = at.map_or(Ok(SyncPoint::Sync(0)), str::parse)?;
        let options = job_options(&options, Arguments::default())?;
        let rows = RawRows {
            mirror: Arc::clone(&self.mirror),
            list: list_of(resource)?,
            query: match what {
                "changes" => RowsQuery::Changes(at),
                "as_of" => RowsQuery::AsOf(at),
                "present" => RowsQuery::Present,
                "history" => RowsQuery::History,
                _ => RowsQuery::Current,
            },
            bookmark: OnceLock::new(),
            before: options.before,
            table: options.table,
            opened: Mutex::default(),
        };
        let opened = py.detach(|| rows.open())?;
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
    hash_key: Option<String>,
) -> CallResult<()> {
    let mut settings = Builder::default();
    if let Some(key) = hash_key {
        settings.hash_key(key);
    }
    let erase = Erase::new(list_of(resource)?, path, records)
        .with_announced(announced)
        .with_keep_out(keep_out)
        .with_hash_key(settings.read_hash_key());
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

/// The kinds of rows in a mirror.
enum RowsQuery {
    Changes(SyncPoint),
    AsOf(SyncPoint),
    /// Records as of the last sync, including missing ones.
    Current,
    /// Records as of the last sync, without missing ones.
    Present,
    /// A row for each sync.
    History,
}

/// Rows that are being read.
enum OpenRows {
    Records(Box<RecordBatches>),
    /// A table in memory.
    Table(RecordBatch),
}

/// The native part of `Rows`: rows that are read from the mirror each time that they are requested.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawRows {
    mirror: Arc<Mirror>,
    list: ListName,
    query: RowsQuery,
    /// True if changes have the record before an update.
    before: bool,
    table: TableOptions,
    /// The bookmark of the last sync when these rows were requested.
    bookmark: OnceLock<String>,
    /// The first reading. It begins when the rows are requested, because another sync may commit before they are read.
    opened: Mutex<Option<OpenRows>>,
}

impl RawRows {
    fn lock(&self) -> MutexGuard<'_, Option<OpenRows>> {
        lock(&self.opened)
    }

    fn open(&self) -> Result<OpenRows> {
        let (mirror, list) = (&self.mirror, self.list);
        let rows = match &self.query {
            RowsQuery::Changes(since) => mirror.changes(list, since)?.with_before(self.before)?,
            RowsQuery::AsOf(at) => mirror.records(list, Some(at))?,
            RowsQuery::Current => mirror.records(list, None)?,
            RowsQuery::Present => mirror.present(list)?,
            RowsQuery::History => {
                let history = mirror.history(list)?;
                let last = history.last().map(|sync| sync.bookmark.clone());
                self.bookmark.get_or_init(|| last.unwrap_or_default());
                return Ok(OpenRows::Table(history_table(list, &history)?));
            }
        };
        self.bookmark.get_or_init(|| rows.bookmark().to_owned());
        let batches = rows.into_batches(self.table.clone())?;
        Ok(OpenRows::Records(batches.into()))
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
        let opened = py.detach(|| opened.map_or_else(|| self.open(), Ok))?;
        let (schema, mut batches): (_, Box<dyn Iterator<Item = _> + Send>) = match opened {
            OpenRows::Records(batches) => (batches.schema(), batches),
            OpenRows::Table(rows) => (rows.schema(), Box::new(std::iter::once(Ok(rows)))),
        };
        let next = move || batches.next().transpose();
        Ok(capsule(py, BatchReader::new(schema, next).for_c())?)
    }
}
