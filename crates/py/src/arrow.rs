//! Record batches for whoever speaks the Arrow PyCapsule protocol: collected first, or as they come.

use crate::errors::raise;
use crate::runtime::{runtime, wait};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;
use talentdata_columns::session::{Session, Use};
use talentdata_core::Client;
use tokio::runtime::Runtime;

/// The name that the protocol gives the capsule of a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// All rows of a list, in its order.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct Table {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

impl From<(SchemaRef, Vec<RecordBatch>)> for Table {
    fn from((schema, rows): (SchemaRef, Vec<RecordBatch>)) -> Self {
        Table { schema, rows }
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol leaves it to the producer whether it can give what is asked for.
        let _ = requested_schema;
        let batches = self.rows.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        capsule(py, Box::new(reader))
    }
}

/// The batches of a session, each read when the consumer asks for it.
pub(crate) fn stream(
    py: Python<'_>,
    client: Client,
    session: Arc<Session>,
    usage: Use,
    schema: SchemaRef,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = Stream {
        runtime: runtime().map_err(|error| raise(py, &error))?,
        client,
        session,
        usage,
        schema,
    };
    capsule(py, Box::new(stream))
}

pub(crate) fn capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

struct Stream {
    /// Known from the beginning, because a thread that is not attached to Python must not ask for it.
    runtime: &'static Runtime,
    client: Client,
    session: Arc<Session>,
    usage: Use,
    schema: SchemaRef,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.session.next_rows(&self.client, self.usage);
        wait(self.runtime, rows)
            .map_err(|error| ArrowError::ExternalError(Box::new(error)))
            .transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
