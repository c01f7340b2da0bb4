//! A scan as Python holds it.

use crate::arguments::{count, parse};
use crate::arrow::{Table, stream};
use crate::client::{BaseClient, json, list_arguments};
use crate::errors::{error, raise};
use crate::inbox::Use;
use crate::reading::Reading;
use crate::record::RawRecord;
use crate::records::Records;
use crate::runtime::block;
use crate::shared::Shared;
use crate::table;
use crate::verb::run;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::sync::Arc;
use talentdata_core::scan::Consistency;
use talentdata_core::{Client, ErrorKind, ScanOptions};

/// What `Scan` and `AsyncScan` are made of. It holds no Python object, so that no reference cycle goes through it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawScan {
    client: Arc<Shared>,
    reading: Arc<Reading>,
}

impl RawScan {
    /// What a verb of the scan works with.
    fn parts(&self, py: Python<'_>) -> PyResult<(Client, Arc<Reading>)> {
        Ok((self.client.core(py)?, Arc::clone(&self.reading)))
    }
}

#[pymethods]
impl RawScan {
    #[new]
    #[pyo3(signature = (client, resource, page_size, limit, consistency, columns, schema, on_new, parameters=None))]
    #[expect(clippy::too_many_arguments, reason = "the options of list()")]
    fn new(
        client: &Bound<'_, BaseClient>,
        resource: &str,
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
        let resource = parse(py, resource)?;
        let table = (columns, schema, on_new);
        let options = options(py, page_size, limit, consistency, table, parameters)?;
        let reading = Arc::new(Reading::new(resource, options));
        Ok(RawScan { client, reading })
    }

    /// An iterator over the records, each as a `model`; the first one that is used is the only one.
    fn records(&self, model: Py<PyType>, waits: bool, progress: Option<Py<PyAny>>) -> Records {
        Records {
            client: Arc::clone(&self.client),
            reading: Arc::clone(&self.reading),
            usage: Use::Iterator(self.reading.number()),
            model,
            progress,
            waits,
        }
    }

    /// Adds the next batch of rows to the table that the scan keeps; false when it is complete.
    fn collect(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        let (client, reading) = self.parts(py)?;
        run(py, awaited, async move { reading.collect(&client).await })
    }

    /// The table that was collected.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let table = self.reading.table();
        table.map(Table::from).map_err(|error| raise(py, &error))
    }

    /// Notes that the caller has the table.
    fn give_table(&self) {
        self.reading.give_table();
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol leaves it to the producer whether it can give what is asked for.
        let _ = requested_schema;
        let (client, reading) = self.parts(py)?;
        let usage = Use::Stream(reading.number());
        let schema = block(py, reading.schema(&client, usage))?;
        stream(py, client, reading, usage, schema)
    }

    fn receipt(&self, py: Python<'_>) -> PyResult<RawRecord> {
        json(&self.reading.receipt()).map_err(|error| raise(py, &error))
    }

    /// Records received, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        self.reading.progress()
    }

    fn close(&self) {
        self.reading.close();
    }
}

/// How a list is read, with which of its parameters, and which columns its table has: `columns`, `schema` and `on_new`.
pub(crate) fn options(
    py: Python<'_>,
    page_size: Option<&Bound<'_, PyAny>>,
    limit: Option<&Bound<'_, PyAny>>,
    consistency: &str,
    (columns, schema, on_new): (&str, Option<&Bound<'_, PyAny>>, &str),
    parameters: Option<&str>,
) -> PyResult<ScanOptions> {
    let consistency = match consistency {
        "complete" => Consistency::Complete,
        "fast" => Consistency::Fast,
        "snapshot" => Consistency::Snapshot,
        _ => {
            let message = "consistency: it is not one of: complete, fast, snapshot";
            return Err(error(py, ErrorKind::InvalidArgument, message));
        }
    };
    Ok(ScanOptions {
        consistency,
        page_size: page_size.map(|size| count("page_size", size)).transpose()?,
        limit: limit.map(|limit| count("limit", limit)).transpose()?,
        table: table::options(py, columns, schema, on_new)?,
        arguments: list_arguments(py, parameters)?,
        ..ScanOptions::default()
    })
}
