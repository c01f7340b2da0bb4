//! Scans and schemas for callers without an async runtime.

use crate::arrow::{BatchReader, ColumnTypes, RecordBatch, TableOptions, TableSchema};
use crate::session::{ReadMode, Session, Wording};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use talentdata_core::blocking::{Client, Engine};
use talentdata_core::scan::Receipt;
use talentdata_core::types::ListName;
use talentdata_core::types::Stop;
use talentdata_core::{Client as AsyncClient, RawRecord, Result, ScanOptions};
use tokio::task::JoinHandle;

/// Decides the columns that an export of a list would have with these options.
///
/// # Errors
/// See [`TableSchema::of_scan`]; also `Closed` if the client was closed.
pub fn schema(
    client: &Client,
    resource: ListName,
    options: ScanOptions,
    columns: ColumnTypes,
) -> Result<TableSchema> {
    client.run(move |client| async move {
        TableSchema::of_scan(&client.resource(resource), options, columns).await
    })
}

/// A list that is read once, as records or as record batches, by a thread that blocks.
/// The scan continues when its client is closed. In a forked child, a scan of the parent fails with `Closed`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = talentdata_core::blocking::Client::new(&settings)?;
/// use talentdata_columns::arrow::TableOptions;
/// use talentdata_columns::blocking::BlockingScan;
/// use talentdata_core::{ListName, ScanOptions};
///
/// let scan = BlockingScan::new(&client, ListName::Contacts, ScanOptions::default(), TableOptions::default())?;
/// let mut rows = 0;
/// for batch in scan.batches()? {
///     rows += batch?.num_rows();
/// }
/// assert_eq!(rows, 250);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BlockingScan {
    // Dropped before its engine, which makes its requests.
    session: Arc<Session>,
    engine: Arc<Engine>,
    mode: ReadMode,
}

impl BlockingScan {
    /// Prepares to read a list. Requests begin with the first wait.
    ///
    /// # Errors
    /// `Closed` if the client was closed.
    pub fn new(
        client: &Client,
        resource: ListName,
        options: ScanOptions,
        table: TableOptions,
    ) -> Result<Self> {
        let engine = client.engine()?;
        let session = Session::new(resource, options, table, Wording::PLAIN);
        Ok(BlockingScan {
            mode: session.records(),
            session: Arc::new(session),
            engine,
        })
    }

    /// Stops this scan from any thread: a call that waits, and every later one, fails with `Cancelled`.
    pub fn stop_handle(&self) -> Stop {
        self.session.stop_handle()
    }

    /// Stops this scan and its requests at once.
    pub fn close(&self) {
        self.session.close();
    }

    /// Returns the next of the records that have arrived.
    pub fn next_received(&self) -> Option<RawRecord> {
        self.session.take(self.mode)
    }

    /// Waits until there are records to take; false at the end of the list.
    ///
    /// # Errors
    /// The errors of the scan, which end it; `InvalidArgument` if it is read as batches; `Cancelled` if it was stopped;
    /// `Closed` in a forked child.
    pub fn wait_for_more(&self) -> Result<bool> {
        self.wait(|client| self.session.wait_for_more(client, self.mode))
    }

    /// Polls for more records, as [`wait_for_more`](Self::wait_for_more) waits for them. `waker` is woken as soon as
    /// there are records.
    ///
    /// A stop wakes nobody: if you stop a scan that is polled, notify the poller.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub fn poll_fill(&self, waker: &Waker) -> Poll<Result<bool>> {
        let (client, runtime) = self.engine.parts()?;
        let _entered = runtime.enter();
        // The waker stays registered after the future that registered it was dropped.
        let filled = pin!(self.session.wait_for_more(client, self.mode));
        let filled = filled.poll(&mut Context::from_waker(waker));
        drop(self.log_warning()?);
        filled
    }

    /// Waits for the next record and returns it; `None` at the end of the list.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub fn next_record(&self) -> Result<Option<RawRecord>> {
        loop {
            if let Some(record) = self.next_received() {
                return Ok(Some(record));
            }
            if !self.wait_for_more()? {
                return Ok(None);
            }
        }
    }

    /// Returns the list as record batches. Waits for the first pages, which decide the schema. The scan can no longer
    /// be read as records. A list whose completeness is not proven ends with `Incomplete`, unless
    /// [`ScanOptions::unproven`] says otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` if it is already read as records; otherwise the errors of
    /// [`wait_for_more`](Self::wait_for_more).
    pub fn batches(
        &self,
    ) -> Result<BatchReader<impl FnMut() -> Result<Option<RecordBatch>> + Send + use<>>> {
        let mode = self.session.stream();
        self.session.claim(mode)?;
        let schema = self.wait(|client| self.session.schema(client, mode))?;
        let scan = BlockingScan {
            session: Arc::clone(&self.session),
            engine: Arc::clone(&self.engine),
            mode,
        };
        let next = move || scan.wait(|client| scan.session.next_rows(client, mode));
        Ok(BatchReader::new(schema, next))
    }

    /// Returns the receipt so far. It is final once the scan has ended. `records` counts the returned records or rows.
    pub fn receipt(&self) -> Receipt {
        self.session.receipt()
    }

    fn wait<'a, T, F>(&'a self, read: impl FnOnce(&'a AsyncClient) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let (client, _) = self.engine.parts()?;
        let read = self.engine.wait(read(client))?;
        if let Some(logged) = self.log_warning()? {
            let _ = self.engine.wait(logged)?;
        }
        read
    }

    /// Logs the warning of the session, if there is one, on a thread of the client, so that it reaches the client's
    /// log.
    fn log_warning(&self) -> Result<Option<JoinHandle<()>>> {
        let (_, runtime) = self.engine.parts()?;
        let warning = self.session.take_warning();
        let list = self.session.resource().name();
        Ok(warning.map(|warning| runtime.spawn(async move { tracing::warn!(list, "{warning}") })))
    }
}
