//! A scan for Python: its records one by one, its table, and its rows as an Arrow stream.

use crate::arguments::{ListArguments, job_options};
use crate::client::{BaseClient, SharedClient};
use crate::errors::{CallResult, invalid};
use crate::interrupt::Interrupts;
use crate::record::{RecordText, json};
use crate::waiting::{block, issue, run, runtime, wait, warn};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyType};
use pyo3::{PyTraverseError, PyVisit, intern};
use std::sync::Arc;
use talentdata_columns::arrow::{BatchReader, ColumnTypes, SchemaRef, TableOptions};
use talentdata_columns::internal::session::{ReadMode, Session, Wording};
use talentdata_core::types::ListName;
use talentdata_core::{Error, ScanOptions};

/// The advice in errors of a scan.
const HINTS: Wording = Wording {
    stopped: "closed",
    restart: "start another scan with list()",
    share_or: "keep one iterator (`records = iter(scan)`, or `aiter(scan)`) and use it in every loop, thread or task that continues the scan, or ",
    resume_or: "call to_arrow(), to_polars() or to_pandas() again, which continue where it stopped, or ",
    keep_or: "call to_arrow() first and use its table as often as you like, or ",
    frame_or: "call to_polars(), to_arrow() or to_pandas(), which keep the rows and warn, ",
    unproven: "keep the list in a mirror with sync(), or accept it with unproven=\"accept\"",
};

/// The native part of `Scan` and `AsyncScan`. It holds no Python object, so no reference cycle goes through it.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct RawScan {
    // Dropped before its client.
    session: Arc<Session>,
    client: Arc<SharedClient>,
    /// The options of a scan that reads a list as a table, whose columns the client remembers.
    table: Option<(ListName, ScanOptions)>,
}

#[pymethods]
impl RawScan {
    #[new]
    fn new(
        client: &Bound<'_, BaseClient>,
        list: ListArguments,
        options: Bound<'_, PyDict>,
    ) -> CallResult<Self> {
        let client = BaseClient::shared(client)?;
        let options = job_options(&options, list.arguments)?;
        let session = Session::new(list.name, options.scan, options.table, HINTS);
        Ok(RawScan {
            client,
            session: Arc::new(session),
            table: None,
        })
    }

    /// Returns a scan that reads a list as a table, with the columns that the client remembers.
    #[staticmethod]
    fn of_table(client: &Bound<'_, BaseClient>, list: ListArguments) -> CallResult<Self> {
        let client = table_client(client)?;
        let options = ScanOptions::default().with_arguments(list.arguments);
        let mut table = TableOptions::default();
        table.known = client.schemas.get(list.name, &options, table.columns);
        let session = Session::new(list.name, options.clone(), table, HINTS);
        Ok(RawScan {
            client,
            session: Arc::new(session),
            table: Some((list.name, options)),
        })
    }

    /// Returns the columns of a list as a capsule of the Arrow protocol. Requests the first records if the client does
    /// not remember them.
    #[staticmethod]
    fn columns<'py>(
        py: Python<'py>,
        client: &Bound<'py, BaseClient>,
        list: ListArguments,
    ) -> CallResult<Bound<'py, PyCapsule>> {
        let shared = table_client(client)?;
        let core = shared.kept()?;
        let schema = block(py, async move {
            let options = ScanOptions::default().with_arguments(list.arguments);
            let columns = ColumnTypes::default();
            let schemas = &shared.schemas;
            schemas
                .get_or_read(&core, list.name, &options, columns)
                .await
        })?;
        let schema = FFI_ArrowSchema::try_from(&*schema.to_arrow());
        let schema = schema.map_err(|error| Error::defect(&error.to_string()))?;
        Ok(PyCapsule::new_with_value(py, schema, c"arrow_schema")?)
    }

    /// Returns an iterator over the records, each as a `model`. Only the first iterator that is used receives records.
    fn records(&self, model: Py<PyType>, progress: Option<Py<PyAny>>) -> Records {
        Records {
            client: Arc::clone(&self.client),
            session: Arc::clone(&self.session),
            mode: self.session.records(),
            model,
            progress,
        }
    }

    /// Adds the next batch of rows to the table that the scan keeps. Returns false when it is complete.
    fn collect(&self, py: Python<'_>) -> CallResult<Py<PyAny>> {
        wait_for_more(py, &self.client, &self.session, ReadMode::Table)
    }

    /// Returns the table that was collected.
    fn table(&self) -> CallResult<Table> {
        let table = self.session.table()?;
        Ok(Table(table.0, table.1))
    }

    /// Records that the caller has the table.
    fn table_taken(&self) {
        self.session.table_taken();
    }

    /// Returns the rows as a stream. `watcher` reports Ctrl-C to threads that do not run Python.
    fn stream<'py>(
        &self,
        py: Python<'py>,
        watcher: Option<Py<Interrupts>>,
    ) -> CallResult<Bound<'py, PyCapsule>> {
        let (client, session) = (self.client.kept()?, Arc::clone(&self.session));
        let mode = session.stream();
        let schema = {
            let (client, session) = (client.clone(), Arc::clone(&session));
            block(py, async move { session.schema(&client, mode).await })?
        };
        if let Some((list, options)) = &self.table {
            let columns = ColumnTypes::default();
            self.client.schemas.note(*list, options, columns, &schema)?;
        }
        // The runtime is requested now, because a thread that is not attached to Python must not do that.
        let runtime = runtime()?;
        let interrupts = watcher.map(|watcher| watcher.get().clone());
        let next = move || {
            let (client, reader) = (client.clone(), Arc::clone(&session));
            let rows = async move { reader.next_rows(&client, mode).await };
            let interrupted = || interrupts.as_ref().is_some_and(Interrupts::is_interrupted);
            let rows = wait(runtime, rows, interrupted)?;
            session
                .take_warning()
                .map_or(Ok(()), |text| warn(runtime, text))?;
            Ok(rows)
        };
        Ok(capsule(py, BatchReader::new(schema, next).for_c())?)
    }

    /// Returns the warning that completeness is not proven, once.
    fn take_warning(&self) -> Option<String> {
        self.session.take_warning()
    }

    /// Returns the warning that completeness is not proven, regardless of the option.
    fn shortfall(&self) -> Option<String> {
        let shortfall = self.session.receipt().shortfall();
        shortfall.map(|why| format!("{why}; {}", HINTS.unproven))
    }

    /// Raises the error that ended the scan, if there is one. A consumer of Arrow data raises its own error instead.
    fn check(&self) -> CallResult<()> {
        Ok(self.session.failure().map_or(Ok(()), Err)?)
    }

    /// Returns whether the scan belongs to an asynchronous client.
    fn is_awaited(&self) -> bool {
        self.client.awaited
    }

    fn receipt(&self) -> CallResult<RecordText> {
        Ok(json(&self.session.receipt())?)
    }

    /// Returns the number of records received, and the service's total if it is known.
    fn progress(&self) -> (u64, Option<i64>) {
        self.session.progress()
    }

    fn close(&self) {
        self.session.close();
    }
}

/// Returns the client of a list that an engine reads. The engine cannot await it.
fn table_client(client: &Bound<'_, BaseClient>) -> CallResult<Arc<SharedClient>> {
    let shared = BaseClient::shared(client)?;
    if shared.awaited {
        let why = "a list of an asynchronous client has no Arrow stream; await its to_arrow()";
        return Err(invalid(why));
    }
    Ok(shared)
}

/// Waits until a reader of a scan has more to take. Returns false at the end of the list.
fn wait_for_more(
    py: Python<'_>,
    client: &SharedClient,
    session: &Arc<Session>,
    mode: ReadMode,
) -> CallResult<Py<PyAny>> {
    let (core, session) = (client.kept()?, Arc::clone(session));
    Ok(run(py, client.awaited, async move {
        session.wait_for_more(&core, mode).await
    })?)
}

/// An iterator over a scan. Several loops and threads may share it. Each record goes to one of them.
///
/// It is not a generator, which an exception would end. After an interruption, it continues with the next record.
#[pyclass(frozen, generic, module = "talentdata._talentdata")]
pub(crate) struct Records {
    // Dropped before its client.
    session: Arc<Session>,
    client: Arc<SharedClient>,
    mode: ReadMode,
    /// The class of a record.
    model: Py<PyType>,
    /// Called after each page, and closed at the end.
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl Records {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    // Records are taken one by one, because several taken together would all be lost if Ctrl-C came in between. The
    // iterator of an asynchronous client returns nothing when it would have to wait, and continues after
    // `wait_for_more`.
    fn __next__<'py>(&self, py: Python<'py>) -> CallResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(record) = self.session.take(self.mode) {
                let record = RecordText::from(record);
                return Ok(Some(self.model.bind(py).call1((record,))?));
            }
            if self.client.awaited || !self.wait(py)? {
                return Ok(None);
            }
        }
    }

    /// Waits until there are records to take. Returns false at the end of the list.
    fn wait_for_more(&self, py: Python<'_>) -> CallResult<Py<PyAny>> {
        wait_for_more(py, &self.client, &self.session, self.mode)
    }

    /// Returns the warning that completeness is not proven, once.
    fn take_warning(&self) -> Option<String> {
        self.session.take_warning()
    }

    // `__clear__` is not needed: these references never change, so they alone cannot form a cycle.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.model)?;
        visit.call(self.progress.as_ref())
    }
}

impl Records {
    fn wait(&self, py: Python<'_>) -> CallResult<bool> {
        let more = self.wait_for_more(py)?.is_truthy(py)?;
        // A caller such as `list` may run no Python code between two pages.
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            progress.call0(py)?;
            if !more {
                progress.call_method0(py, intern!(py, "close"))?;
            }
        }
        let warning = self.session.take_warning();
        warning.map_or(Ok(()), |text| issue(py, &text))?;
        Ok(more)
    }
}

/// All rows of a list, in order.
#[pyclass(frozen, module = "talentdata._talentdata")]
pub(crate) struct Table(SchemaRef, Vec<RecordBatch>);

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows the producer to ignore the requested schema.
        let _ = requested_schema;
        let batches = self.1.clone().into_iter().map(Ok);
        capsule(py, RecordBatchIterator::new(batches, Arc::clone(&self.0)))
    }
}

/// Returns a stream for the Arrow PyCapsule protocol.
pub(crate) fn capsule(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
