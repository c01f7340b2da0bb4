//! A mirror as Python holds it: tables of the list as it is and was, and of what has changed.

use crate::arguments::parse;
use crate::arrow::capsule;
use crate::client::json;
use crate::errors::raise;
use crate::record::RawRecord;
use arrow_array::RecordBatch;
use arrow_array::RecordBatchReader;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::arrow::TableOptions;
use talentdata_core::Result;
use talentdata_core::types::Resource;
use talentdata_mirror::{At, Mirror, RecordBatches};

/// Rows of a batch.
const ROWS: usize = 8192;

/// What `Mirror` is made of.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawMirror {
    mirror: Arc<Mirror>,
}

#[pymethods]
impl RawMirror {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let mirror = py.detach(|| Mirror::open(path));
        let mirror = mirror.map_err(|error| raise(py, &error))?;
        Ok(RawMirror {
            mirror: Arc::new(mirror),
        })
    }

    /// The names of the lists that it has.
    fn resources(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let resources = py.detach(|| self.mirror.resources());
        let resources = resources.map_err(|error| raise(py, &error))?.into_iter();
        Ok(resources.map(Resource::name).collect())
    }

    /// What each kept sync of a list has done, the oldest first.
    fn syncs(&self, py: Python<'_>, resource: &str) -> PyResult<Vec<RawRecord>> {
        let resource = parse(py, resource)?;
        let syncs = py.detach(|| self.mirror.syncs(resource));
        let syncs = syncs.map_err(|error| raise(py, &error))?;
        let records: Result<Vec<RawRecord>> = syncs.iter().map(json).collect();
        records.map_err(|error| raise(py, &error))
    }

    /// Reads everything and compares it with what the syncs have written down of it: what is wrong.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let verified = py.detach(|| self.mirror.verify());
        Ok(verified.map_err(|error| raise(py, &error))?.differences)
    }

    /// The changes of a list after a sync.
    fn changes(&self, py: Python<'_>, resource: &str, since: &str) -> PyResult<RawRows> {
        let since = since.parse().map_err(|error| raise(py, &error))?;
        self.rows(py, resource, Wanted::Changes(since))
    }

    /// The list as of the last sync.
    fn current(&self, py: Python<'_>, resource: &str) -> PyResult<RawRows> {
        self.rows(py, resource, Wanted::Current)
    }

    /// The list as of a sync or a time.
    fn as_of(&self, py: Python<'_>, resource: &str, at: &str) -> PyResult<RawRows> {
        let at = at.parse().map_err(|error| raise(py, &error))?;
        self.rows(py, resource, Wanted::AsOf(at))
    }
}

impl RawMirror {
    /// Refuses now what reading would refuse.
    fn rows(&self, py: Python<'_>, resource: &str, wanted: Wanted) -> PyResult<RawRows> {
        let rows = RawRows {
            mirror: Arc::clone(&self.mirror),
            resource: parse(py, resource)?,
            wanted,
        };
        let opened = py.detach(|| rows.batches());
        opened.map_err(|error| raise(py, &error))?;
        Ok(rows)
    }
}

/// Removes a list from a mirror.
#[pyfunction]
pub(crate) fn forget(py: Python<'_>, path: PathBuf, resource: &str) -> PyResult<()> {
    let resource = parse(py, resource)?;
    let forgotten = py.detach(|| talentdata_mirror::forget(&path, resource));
    forgotten.map_err(|error| raise(py, &error))
}

/// Which rows of a mirror.
enum Wanted {
    Changes(At),
    Current,
    AsOf(At),
}

/// What `Rows` is made of: rows that are read from the mirror each time that somebody asks for them.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawRows {
    mirror: Arc<Mirror>,
    resource: Resource,
    wanted: Wanted,
}

impl RawRows {
    fn batches(&self) -> Result<RecordBatches> {
        let table = TableOptions::default();
        match &self.wanted {
            Wanted::Changes(since) => {
                let changes = self.mirror.changes(self.resource, since)?;
                changes.into_batches(ROWS)
            }
            Wanted::Current => {
                let records = self.mirror.current(self.resource)?;
                records.into_batches(ROWS, &table)
            }
            Wanted::AsOf(at) => {
                let records = self.mirror.as_of(self.resource, at)?;
                records.into_batches(ROWS, &table)
            }
        }
    }
}

#[pymethods]
impl RawRows {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol leaves it to the producer whether it can give what is asked for.
        let _ = requested_schema;
        let batches = py.detach(|| self.batches());
        let batches = batches.map_err(|error| raise(py, &error))?;
        capsule(py, Box::new(Reader(batches)))
    }
}

struct Reader(RecordBatches);

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.0.next()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}
