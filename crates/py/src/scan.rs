//! A scan as Python holds it.

use crate::arguments::{count, parse};
use crate::arrow::{Table, stream};
use crate::client::{BaseClient, json, list_arguments};
use crate::errors::raise;

use crate::record::RawRecord;
use crate::records::Records;
use crate::runtime::block;
use crate::shared::Shared;
use crate::table;
use crate::verb::run;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::sync::Arc;
use talentdata_columns::session::{Hints, Session, Use};
use talentdata_core::{Client, ScanOptions};

/// Rows of a record batch: few enough for a progress bar to move, about once a second.
const ROWS: usize = 4096;

/// What the errors of a scan advise.
const HINTS: Hints = Hints {
    stopped: "closed",
    restart: "start another scan with list()",
    share_or: "keep one iterator (`records = iter(scan)`, or `aiter(scan)`) and use it in every loop, thread or task that goes on with the scan, or ",
    resume_or: "call to_arrow(), to_polars() or to_pandas() again, which go on where it stopped, or ",
    keep_or: "call to_arrow() first and use its table as often as you like, or ",
};

/// What `Scan` and `AsyncScan` are made of. It holds no Python object, so that no reference cycle goes through it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawScan {
    // Dropped before its client.
    session: Arc<Session>,
    client: Arc<Shared>,
}

impl RawScan {
    /// What a verb of the scan works with.
    fn with(&self, py: Python<'_>) -> PyResult<(Client, Arc<Session>)> {
        Ok((self.client.core(py)?, Arc::clone(&self.session)))
    }
}

#[pymethods]
impl RawScan {
    #[new]
    #[pyo3(signature = (client, resource, page_size, limit, columns, schema, on_new, parameters=None))]
    #[expect(clippy::too_many_arguments, reason = "the options of list()")]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
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
        let resource = parse(py, resource)?;
        let table = (columns, schema, on_new);
        let table = table::options(py, table)?;
        let options = options(py, page_size, limit, parameters)?;
        let session = Arc::new(Session::new(resource, options, table, ROWS, HINTS));
        Ok(RawScan { client, session })
    }

    /// An iterator over the records, each as a `model`; the first one that is used is the only one.
    fn records(&self, model: Py<PyType>, waits: bool, progress: Option<Py<PyAny>>) -> Records {
        Records {
            client: Arc::clone(&self.client),
            session: Arc::clone(&self.session),
            usage: self.session.records(),
            model,
            progress,
            waits,
        }
    }

    /// Adds the next batch of rows to the table that the scan keeps; false when it is complete.
    fn collect(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        let (client, session) = self.with(py)?;
        run(py, awaited, async move {
            session.fill(&client, Use::Table).await
        })
    }

    /// The table that was collected.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let table = self.session.table();
        table.map(Table::from).map_err(|error| raise(py, &error))
    }

    /// Notes that the caller has the table.
    fn give_table(&self) {
        self.session.give_table();
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol leaves it to the producer whether it can give what is asked for.
        let _ = requested_schema;
        let (client, session) = self.with(py)?;
        let usage = session.stream();
        let schema = block(py, session.schema(&client, usage))?;
        stream(py, client, session, usage, schema)
    }

    fn receipt(&self, py: Python<'_>) -> PyResult<RawRecord> {
        json(&self.session.receipt()).map_err(|error| raise(py, &error))
    }

    /// Records received, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        self.session.progress()
    }

    fn close(&self) {
        self.session.close();
    }
}

/// How a list is read, and with which of its parameters.
pub(crate) fn options(
    py: Python<'_>,
    page_size: Option<&Bound<'_, PyAny>>,
    limit: Option<&Bound<'_, PyAny>>,
    parameters: Option<&str>,
) -> PyResult<ScanOptions> {
    Ok(ScanOptions {
        page_size: page_size.map(|size| count("page_size", size)).transpose()?,
        limit: limit.map(|limit| count("limit", limit)).transpose()?,
        arguments: list_arguments(py, parameters)?,
        ..ScanOptions::default()
    })
}
