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
use talentdata_core::{Arguments, Client as AsyncClient, RawRecord, Result, ScanOptions};
use tokio::task::JoinHandle;

/// The columns that an export of a list would have, with these values of the list's parameters; see
/// [`TableSchema::of_list`].
///
/// # Errors
/// As there.
pub fn schema(
    client: &Client,
    resource: ListName,
    arguments: impl Into<Arguments>,
    columns: ColumnTypes,
) -> Result<TableSchema> {
    let arguments = arguments.into();
    client.run(move |client| async move {
        let list = client.resource(resource).with(arguments);
        TableSchema::of_list(&list, columns).await
    })
}

/// Number of rows of a batch: large enough for columnar work, small enough to stay in a cache.
pub const BATCH_ROWS: usize = 8192;

/// A list that is read once, as records or as record batches, by a thread that waits.
///
/// It lives on when its client is closed. In a forked child, a scan of the parent is `Closed`.
#[derive(Debug)]
pub struct BlockingScan {
    // Dropped before its engine, which makes its requests.
    session: Arc<Session>,
    engine: Arc<Engine>,
    mode: ReadMode,
}

impl BlockingScan {
    /// Every record of a list, as the service sent it. Requests begin with the first record that is waited for.
    ///
    /// # Errors
    /// `Closed` when the client was closed.
    pub fn new(
        client: &Client,
        resource: ListName,
        options: ScanOptions,
        table: TableOptions,
    ) -> Result<Self> {
        let engine = client.engine()?;
        let session = Session::new(resource, options, table, BATCH_ROWS, Wording::PLAIN);
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

    /// The same, now: its requests end.
    pub fn close(&self) {
        self.session.close();
    }

    /// The next of the records that have arrived.
    pub fn next_received(&self) -> Option<RawRecord> {
        self.session.take(self.mode)
    }

    /// Waits until there are records to take; false at the end of the list.
    ///
    /// # Errors
    /// As [`Session::wait_for_more`].
    pub fn wait_for_more(&self) -> Result<bool> {
        self.wait(|client| self.session.wait_for_more(client, self.mode))
    }

    /// The same without waiting; when nothing is there yet, `waker` is woken as soon as something is.
    ///
    /// A stop wakes nobody: whoever stops a scan that is polled tells the poller.
    ///
    /// # Errors
    /// As [`wait_for_more`](Self::wait_for_more).
    pub fn poll_fill(&self, waker: &Waker) -> Poll<Result<bool>> {
        let (client, runtime) = self.engine.parts()?;
        let _entered = runtime.enter();
        // A waker stays registered when the future that brought it is gone.
        let filled = pin!(self.session.wait_for_more(client, self.mode));
        let filled = filled.poll(&mut Context::from_waker(waker));
        drop(self.log_warning()?);
        filled
    }

    /// The next record, waited for; none at the end of the list.
    ///
    /// # Errors
    /// As [`wait_for_more`](Self::wait_for_more).
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

    /// The list as record batches of 8,192 rows; of fewer where they are large. Waits for the first pages, which decide
    /// the schema. From then on only the batches are read. A list whose completeness is not proven ends with `Incomplete`,
    /// unless [`ScanOptions::unproven`] says otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` when it is read already; else as [`Session::schema`].
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

    /// What has been done so far; final once the scan has ended. `records` counts the records, or the rows of batches, that
    /// the caller was given.
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

    /// Logs the warning of the session, if there is one, on a thread of the client, whose log it is.
    fn log_warning(&self) -> Result<Option<JoinHandle<()>>> {
        let (_, runtime) = self.engine.parts()?;
        let warning = self.session.take_warning();
        Ok(warning.map(|warning| runtime.spawn(async move { tracing::warn!("{warning}") })))
    }
}
