//! A scan for callers without an async runtime: waits, polls with a waker, and stops from any thread.

use crate::arrow::{RecordBatch, SchemaRef, TableOptions};
use crate::session::{Hints, Session, Use};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use talentdata_core::blocking::{self, Engine};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, RawRecord, Result, ScanOptions, Stop};

/// Rows of a batch: large enough for columnar work, small enough to stay in a cache.
const ROWS: usize = 8192;

/// Every record of a list, in order; an `Iterator` of `Result<RawRecord>` that ends behind an error.
///
/// It lives on when its client is closed. In a forked child, a scan of the parent is `Closed`.
pub struct Scan {
    reader: Reader,
    failed: bool,
}

/// The record batches of a list, in order; an `Iterator` of `Result<RecordBatch>` that ends behind an error.
pub struct BatchScan {
    reader: Reader,
    failed: bool,
}

/// One use of a session, and where its requests run.
struct Reader {
    // Dropped before its engine.
    session: Arc<Session>,
    engine: Arc<Engine>,
    usage: Use,
}

impl Scan {
    /// Every record of a list, as the service sent it. Requests begin with the first record that is waited for.
    ///
    /// # Errors
    /// `Closed` when the client was closed.
    pub fn new(
        client: &blocking::Client,
        resource: Resource,
        options: ScanOptions,
        table: TableOptions,
    ) -> Result<Self> {
        let engine = client.engine()?;
        let session = Session::new(resource, options, table, ROWS, Hints::PLAIN);
        Ok(Scan {
            reader: Reader {
                usage: session.records(),
                session: Arc::new(session),
                engine,
            },
            failed: false,
        })
    }

    /// Stops this scan from any thread: a call that waits, and every later one, fails with `Cancelled`.
    pub fn stop_handle(&self) -> Stop {
        self.reader.session.stop_handle()
    }

    /// The same, now: its requests end.
    pub fn close(&self) {
        self.reader.session.close();
    }

    /// The next of the records that have arrived.
    pub fn next_received(&self) -> Option<RawRecord> {
        self.reader.session.take(self.reader.usage)
    }

    /// Waits until there are records to take; false at the end of the list.
    ///
    /// # Errors
    /// As [`Session::fill`].
    pub fn fill(&self) -> Result<bool> {
        let Reader { session, usage, .. } = &self.reader;
        self.reader.wait(|client| session.fill(client, *usage))
    }

    /// The same without waiting; when nothing is there yet, `waker` is woken as soon as something is.
    ///
    /// A stop wakes nobody: whoever stops a scan that is polled tells the poller.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn poll_fill(&self, waker: &Waker) -> Poll<Result<bool>> {
        let Reader { session, usage, .. } = &self.reader;
        let (client, runtime) = self.reader.engine.parts()?;
        let _entered = runtime.enter();
        // A waker stays registered when the future that brought it is gone.
        pin!(session.fill(client, *usage)).poll(&mut Context::from_waker(waker))
    }

    /// The next record, waited for; none at the end of the list.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn next_record(&self) -> Result<Option<RawRecord>> {
        loop {
            if let Some(record) = self.next_received() {
                return Ok(Some(record));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// The list as record batches of 8,192 rows; of fewer where they are large. From then on only they are read.
    ///
    /// # Errors
    /// `InvalidArgument` when it is read already; `Cancelled` when stopped; `Closed` in a forked child.
    pub fn batches(&self) -> Result<BatchScan> {
        let usage = self.reader.session.stream();
        self.reader.session.claim(usage)?;
        Ok(self.reader.batches(usage))
    }

    /// What has been done so far; final once the scan has ended. `records` counts those that the caller was given.
    pub fn receipt(&self) -> Receipt {
        self.reader.session.receipt()
    }
}

impl BatchScan {
    /// The schema of all batches; waits for the first pages.
    ///
    /// # Errors
    /// As [`Session::schema`].
    pub fn schema(&self) -> Result<SchemaRef> {
        let Reader { session, usage, .. } = &self.reader;
        self.reader.wait(|client| session.schema(client, *usage))
    }

    /// The next batch, waited for; none at the end of the list.
    ///
    /// # Errors
    /// As [`Session::next_rows`].
    pub fn next_batch(&self) -> Result<Option<RecordBatch>> {
        let Reader { session, usage, .. } = &self.reader;
        self.reader.wait(|client| session.next_rows(client, *usage))
    }

    /// What has been done so far; final once the scan has ended. `records` counts the rows that the caller was given.
    pub fn receipt(&self) -> Receipt {
        self.reader.session.receipt()
    }
}

impl Reader {
    fn wait<'a, T, F>(&'a self, read: impl FnOnce(&'a Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let (client, _) = self.engine.parts()?;
        self.engine.wait(read(client))?
    }

    fn batches(&self, usage: Use) -> BatchScan {
        BatchScan {
            reader: Reader {
                session: Arc::clone(&self.session),
                engine: Arc::clone(&self.engine),
                usage,
            },
            failed: false,
        }
    }
}

impl Iterator for Scan {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_record().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl Iterator for BatchScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_batch().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
