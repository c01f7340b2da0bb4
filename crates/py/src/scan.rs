//! A scan as Python holds it.

use crate::arguments::count;
use crate::arrow::{Table, stream};
use crate::client::{BaseClient, json, parse};
use crate::errors::{error, raise};
use crate::reading::Reading;
use crate::record::RawRecord;
use crate::runtime::{block, block_telling};
use crate::verb::run;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_core::export::Target;
use talentdata_core::scan::Consistency;
use talentdata_core::{Client, ErrorKind, ScanOptions};
use tokio::sync::oneshot;

/// What `Scan` and `AsyncScan` are made of.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawScan {
    client: Py<BaseClient>,
    reading: Arc<Reading>,
}

impl RawScan {
    /// What a verb of the scan works with.
    fn parts(&self, py: Python<'_>) -> PyResult<(Client, Arc<Reading>)> {
        let client = self.client.get().core(py)?;
        self.reading.claim().map_err(|error| raise(py, &error))?;
        Ok((client, Arc::clone(&self.reading)))
    }
}

#[pymethods]
impl RawScan {
    #[new]
    fn new(
        client: Py<BaseClient>,
        resource: &str,
        page_size: Option<&Bound<'_, PyAny>>,
        consistency: &str,
        py: Python<'_>,
    ) -> PyResult<Self> {
        client.get().core(py)?;
        let resource = parse(py, resource)?;
        let consistency = match consistency {
            "complete" => Consistency::Complete,
            "fast" => Consistency::Fast,
            _ => {
                let message = "consistency: it is not one of: complete, fast";
                return Err(error(py, ErrorKind::InvalidArgument, message));
            }
        };
        let options = ScanOptions {
            consistency,
            page_size: page_size.map(|size| count("page_size", size)).transpose()?,
            ..ScanOptions::default()
        };
        let reading = Arc::new(Reading::new(resource, options));
        Ok(RawScan { client, reading })
    }

    /// Waits until there are records to take; false at the end of the list.
    fn fill(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        let (client, reading) = self.parts(py)?;
        run(py, awaited, async move { reading.fill(&client).await })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The next of the records that came; stops where more have to be waited for, and goes on behind it.
    ///
    /// One by one, because what is taken together is lost together when Ctrl-C comes in between.
    fn __next__(&self) -> Option<RawRecord> {
        self.reading.take()
    }

    /// A table to collect batches in; waits for the first pages, which tell the columns.
    fn table(&self, py: Python<'_>, awaited: bool) -> PyResult<Py<PyAny>> {
        let (client, reading) = self.parts(py)?;
        run(py, awaited, async move {
            Ok(Table::new(reading.schema(&client).await?))
        })
    }

    /// Adds the next batch of rows to `table`; false at the end of the list.
    fn fill_table(&self, py: Python<'_>, awaited: bool, table: Py<Table>) -> PyResult<Py<PyAny>> {
        let (client, reading) = self.parts(py)?;
        run(py, awaited, async move {
            let batch = reading.batch(&client).await?;
            Ok(batch.map(|batch| table.get().push(batch)).is_some())
        })
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
        let schema = block(py, reading.schema(&client))?;
        stream(py, client, reading, schema)
    }

    /// Reads the whole list into a file, which appears under its name when it is complete. Who waits
    /// here, and not on an event loop, has `tell` called meanwhile.
    fn export(
        &self,
        py: Python<'_>,
        awaited: bool,
        format: String,
        path: PathBuf,
        resume: bool,
        tell: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (client, reading) = self.parts(py)?;
        let (stop, stopped) = oneshot::channel();
        let work = async move {
            // Only who says so stops it; an event loop drops the whole work.
            let stopped = async {
                if stopped.await.is_err() {
                    pending().await
                }
            };
            let target = Target::File(path);
            let export = reading.export(&client, &format, target, resume, stopped);
            export.await
        };
        if awaited {
            return run(py, true, work);
        }
        block_telling(py, work, stop, |py| tell.call0(py).map(drop))?;
        Ok(py.None())
    }

    fn receipt(&self, py: Python<'_>) -> PyResult<RawRecord> {
        json(&*self.reading.receipt()).map_err(|error| raise(py, &error))
    }

    /// Records delivered, and the service's total where it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        let receipt = self.reading.receipt();
        (receipt.records, receipt.total_first)
    }

    fn close(&self) {
        self.reading.close();
    }
}
