//! A scan that is read once, as records or as columns, by whoever may stop waiting at any time: every language's reader.
//!
//! What arrives is kept until somebody takes it, so that a wait that is given up loses nothing, and the receipt counts
//! what was handed out. Waiting and taking are two steps: only the first one needs a runtime.

mod buffer;
#[cfg(test)]
mod tests;

pub use buffer::{Hints, Use};

use crate::arrow::{BatchScan, RecordBatch, SchemaRef, TableOptions};
use buffer::Buffer;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use talentdata_core::process::Owned;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, RawRecord, Result, Scan, ScanOptions, Stop};

/// A list to be read once. Threads and tasks may share it; the first [`Use`] is the only one.
///
/// Requests begin with the first wait. In a forked child, a session that was begun by the parent is `Closed`.
pub struct Session {
    resource: Resource,
    options: ScanOptions,
    table: TableOptions,
    hints: Hints,
    /// Rows of a record batch.
    rows: usize,
    /// Held while something is waited for.
    source: tokio::sync::Mutex<Source>,
    buffer: Mutex<Buffer>,
    stop: Stop,
    /// The process that began to read; 0 before.
    process: AtomicU32,
    /// How many readers were numbered.
    readers: AtomicU64,
}

impl Session {
    /// A session in which nothing was sent yet; its record batches have so many `rows`.
    pub fn new(
        resource: Resource,
        options: ScanOptions,
        table: TableOptions,
        rows: usize,
        hints: Hints,
    ) -> Self {
        Session {
            buffer: Mutex::new(Buffer::new(hints, options.receipt(resource))),
            resource,
            options,
            table,
            hints,
            rows,
            source: tokio::sync::Mutex::new(Source::New),
            stop: Stop::default(),
            process: AtomicU32::new(0),
            readers: AtomicU64::new(0),
        }
    }

    /// Another reader of records.
    pub fn records(&self) -> Use {
        Use::Records(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Another reader of record batches.
    pub fn stream(&self) -> Use {
        Use::Stream(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps the session for a use, if it is the first one. The first wait does so, too.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn claim(&self, usage: Use) -> Result<()> {
        self.usable()?;
        self.buffer().claim(usage)
    }

    /// The next of the records that have arrived, for the reader that has claimed the session.
    pub fn take(&self, usage: Use) -> Option<RawRecord> {
        self.buffer_if_usable()?.take(usage)
    }

    /// Waits until there is something to take; false at the end of the list. Claims the session.
    ///
    /// # Errors
    /// Those of the scan, which end it; `InvalidArgument` when another use has claimed it, or after an error;
    /// `Cancelled` when it was stopped; `Closed` in a forked child.
    pub async fn fill(&self, client: &Client, usage: Use) -> Result<bool> {
        self.claim(usage)?;
        self.until_stopped(async {
            let mut source = self.turn(usage).await?;
            match usage {
                Use::Records(_) => self.receive_records(&mut source, client).await,
                Use::Table | Use::Stream(_) => self.receive_rows(&mut source, client).await,
            }
        })
        .await
    }

    /// The next record batch, for a stream; none at the end of the list.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub async fn next_rows(&self, client: &Client, usage: Use) -> Result<Option<RecordBatch>> {
        loop {
            let rows = self.buffer_if_usable();
            if let Some(rows) = rows.and_then(|mut buffer| buffer.take_rows(usage)) {
                return Ok(Some(rows));
            }
            if !self.fill(client, usage).await? {
                return Ok(None);
            }
        }
    }

    /// The schema of all record batches; waits for the first pages. It claims nothing.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub async fn schema(&self, client: &Client, usage: Use) -> Result<SchemaRef> {
        self.check(usage)?;
        self.until_stopped(async {
            let mut source = self.turn(usage).await?;
            let schema = self.batches(&mut source, client)?.schema().await;
            if schema.is_err() {
                self.buffer().end(false);
                *source = Source::Ended;
            }
            schema
        })
        .await
    }

    /// The table, once [`fill`](Self::fill) has said that it is complete; it stays until it is given.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no complete table.
    pub fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.check(Use::Table)?;
        self.buffer().table()
    }

    /// Notes that the caller has the table.
    pub fn give_table(&self) {
        self.buffer().give_table();
    }

    /// What has been done so far; final once the scan has ended. `records` counts those that were handed out.
    pub fn receipt(&self) -> Receipt {
        self.buffer().receipt()
    }

    /// Records received, and the service's total where it is known.
    pub fn progress(&self) -> (u64, Option<i64>) {
        let buffer = self.buffer();
        (buffer.received.records, buffer.received.total_first)
    }

    /// Ends the session from any thread, as [`close`](Self::close) does; what it holds goes with the next wait.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Ends the session and its requests: whoever waits, or comes later, gets `Cancelled`.
    pub fn close(&self) {
        self.stop.stop();
        // Else whoever waits ends the scan.
        if let Ok(mut source) = self.source.try_lock() {
            *source = Source::Ended;
        }
        self.buffer().clear();
    }

    async fn receive_records(&self, source: &mut Source, client: &Client) -> Result<bool> {
        if !self.buffer().records.is_empty() {
            // Somebody else has waited for them.
            return Ok(true);
        }
        if source.is_ended() {
            return Ok(false);
        }
        let scan = source.records(|| self.scan(client));
        let scan = scan.ok_or_else(|| self.buffer().refusal())?;
        let next = scan.next_batch().await.transpose();
        let receipt = scan.receipt();
        self.receive(source, receipt, next, |buffer, batch| {
            buffer.records = batch.records.into();
        })
    }

    async fn receive_rows(&self, source: &mut Source, client: &Client) -> Result<bool> {
        if source.is_ended() {
            return Ok(false);
        }
        let batches = self.batches(source, client)?;
        let next = batches.next().await.transpose();
        if next.is_ok() {
            // It is known by now, even if there are no rows.
            let schema = batches.schema().await;
            self.buffer().schema = schema.ok();
        }
        let receipt = batches.receipt();
        self.receive(source, receipt, next, |buffer, rows| {
            buffer.rows.push_back(rows);
        })
    }

    /// Keeps what came of a wait.
    fn receive<T>(
        &self,
        source: &mut Source,
        receipt: Receipt,
        next: Result<Option<T>>,
        keep: impl FnOnce(&mut Buffer, T),
    ) -> Result<bool> {
        let mut buffer = self.buffer();
        buffer.received = receipt;
        if let Ok(Some(part)) = next {
            keep(&mut buffer, part);
            return Ok(true);
        }
        buffer.end(next.is_ok());
        *source = Source::Ended;
        next.map(|_| false)
    }

    fn batches<'a>(&self, source: &'a mut Source, client: &Client) -> Result<&'a mut BatchScan> {
        let table = || self.table.clone();
        let batches = source.batches(|| BatchScan::new(self.scan(client), table(), self.rows));
        batches.ok_or_else(|| self.buffer().refusal())
    }

    fn scan(&self, client: &Client) -> Scan {
        client.resource(self.resource).scan(self.options.clone())
    }

    /// What comes of the work, unless the session is stopped before.
    async fn until_stopped<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.stop.stopped() => {
                *self.source.lock().await = Source::Ended;
                Err(self.hints.closed())
            }
            outcome = work => outcome,
        }
    }

    /// Waits until no one else waits for the scan, which may have ended meanwhile.
    async fn turn(&self, usage: Use) -> Result<tokio::sync::MutexGuard<'_, Source>> {
        let source = self.source.lock().await;
        self.check(usage)?;
        Ok(source)
    }

    fn check(&self, usage: Use) -> Result<()> {
        self.usable()?;
        self.buffer().check(usage)
    }

    /// Refuses a session that was stopped, or that another process reads: its connections and threads are there.
    fn usable(&self) -> Result<()> {
        let ours = std::process::id();
        let relaxed = Ordering::Relaxed;
        let owner = self.process.compare_exchange(0, ours, relaxed, relaxed);
        match owner {
            Err(owner) if owner != ours => Err(self.hints.inherited()),
            _ if self.stop.is_stopped() => Err(self.hints.closed()),
            _ => Ok(()),
        }
    }

    fn buffer_if_usable(&self) -> Option<MutexGuard<'_, Buffer>> {
        self.usable().ok().map(|()| self.buffer())
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a session has its records from: a scan that begins with the first wait, and gives records or record batches.
enum Source {
    /// Nothing was asked for yet.
    New,
    Records(Owned<Scan>),
    Batches(Owned<Box<BatchScan>>),
    Ended,
}

impl Source {
    fn is_ended(&self) -> bool {
        matches!(self, Source::Ended)
    }

    /// The scan, which begins where it is new; none where it gives record batches.
    fn records(&mut self, begin: impl FnOnce() -> Scan) -> Option<&mut Scan> {
        if matches!(self, Source::New) {
            *self = Source::Records(Owned::new(begin()));
        }
        match self {
            Source::Records(scan) => scan.get_mut(),
            _ => None,
        }
    }

    /// The scan as record batches, likewise; none where it gives records.
    fn batches(&mut self, begin: impl FnOnce() -> BatchScan) -> Option<&mut BatchScan> {
        if matches!(self, Source::New) {
            *self = Source::Batches(Owned::new(Box::new(begin())));
        }
        match self {
            Source::Batches(batches) => batches.get_mut().map(|batches| &mut **batches),
            _ => None,
        }
    }
}
