//! A scan that is read once, as records or as columns, by readers that may stop waiting at any time: every language's reader.
//!
//! Arrived records are kept until somebody takes them, so that an abandoned wait loses nothing, and the receipt counts
//! what was handed out. Waiting and taking are two steps: only the first one needs a runtime.

#[cfg(test)]
mod tests;

use crate::arrow::{BatchScan, RecordBatch, SchemaRef, TableOptions};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use talentdata_core::internal::process::{Owned, lock};
use talentdata_core::scan::{Receipt, Unproven};
use talentdata_core::types::ListName;
use talentdata_core::types::Stop;
use talentdata_core::{Client, Error, ErrorKind, RawRecord, Result, ScanOptions};

/// The purpose for which a scan is read. The number distinguishes readers of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Record by record.
    Records(u64),
    /// As one table, which is kept until it is complete and handed out.
    Table,
    /// As record batches, each handed out once.
    Stream(u64),
}

/// The advice in the errors of a session, in the words of a language. Texts with "or" at their end go before `restart`,
/// and are empty if the language has no such advice.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The word for what `close` does to a scan: stopped or closed.
    pub stopped: &'static str,
    /// The advice for reading the list again.
    pub restart: &'static str,
    /// The advice for sharing the records among several readers.
    pub share_or: &'static str,
    /// The advice for a table that is not complete.
    pub resume_or: &'static str,
    /// The advice for rows that can be read more than once.
    pub keep_or: &'static str,
    /// The advice for the rows of a stream whose completeness is not proven.
    pub frame_or: &'static str,
    /// Further advice if completeness is not proven.
    pub unproven: &'static str,
}

impl Wording {
    /// For a language in which each scan has one reader.
    pub const PLAIN: Wording = Wording {
        stopped: "stopped",
        restart: "start another scan",
        share_or: "",
        resume_or: "",
        keep_or: "",
        frame_or: "",
        unproven: Unproven::ADVICE,
    };

    /// The error of whoever uses a scan that was stopped.
    fn closed(&self) -> Error {
        let message = format!("the scan was {}; {}", self.stopped, self.restart);
        Error::new(ErrorKind::Cancelled, message)
    }

    /// The error of a forked child that uses a scan of its parent: its connections and threads are there.
    fn inherited(&self) -> Error {
        let message = format!(
            "the scan belongs to the process that began it; {} here",
            self.restart
        );
        Error::new(ErrorKind::Closed, message)
    }
}

/// A list to be read once. Threads and tasks may share it; the first [`ReadMode`] is the only one.
///
/// Requests begin with the first wait. In a forked child, a session that was begun by the parent is `Closed`.
pub struct Session {
    resource: ListName,
    options: ScanOptions,
    table: TableOptions,
    hints: Wording,
    /// Rows of a record batch.
    rows: usize,
    /// Held while something is waited for.
    source: tokio::sync::Mutex<Source>,
    buffer: Mutex<Buffer>,
    stop: Stop,
    /// The process that began to read; 0 before.
    process: AtomicU32,
    /// The number of readers so far.
    readers: AtomicU64,
}

/// Without the records that have arrived.
impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("resource", &self.resource)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session in which nothing was sent yet; its record batches have so many `rows`.
    pub fn new(
        resource: ListName,
        options: ScanOptions,
        table: TableOptions,
        rows: usize,
        hints: Wording,
    ) -> Self {
        Session {
            buffer: Mutex::new(Buffer {
                received: options.receipt(resource),
                ..Buffer::default()
            }),
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
    pub fn records(&self) -> ReadMode {
        ReadMode::Records(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Another reader of record batches.
    pub fn stream(&self) -> ReadMode {
        ReadMode::Stream(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps the session for a use, if it is the first one. The first wait does so, too.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub fn claim(&self, mode: ReadMode) -> Result<()> {
        self.open_to(mode)?.mode = Some(mode);
        Ok(())
    }

    /// The next of the records that have arrived, for the reader that has claimed the session.
    pub fn take(&self, mode: ReadMode) -> Option<RawRecord> {
        self.claimed_by(mode)?.records.pop_front()
    }

    /// Waits until there is something to take; false at the end of the list. Claims the session.
    ///
    /// # Errors
    /// The errors of the scan, which end it; `InvalidArgument` when another use has claimed it, or after an error;
    /// `Cancelled` when it was stopped; `Closed` in a forked child.
    pub async fn wait_for_more(&self, client: &Client, mode: ReadMode) -> Result<bool> {
        self.claim(mode)?;
        self.until_stopped(async {
            let mut source = self.turn(mode).await?;
            self.receive(&mut source, client, mode).await
        })
        .await
    }

    /// The next record batch, for a stream; none at the end of the list.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub async fn next_rows(&self, client: &Client, mode: ReadMode) -> Result<Option<RecordBatch>> {
        loop {
            let claimed = self.claimed_by(mode);
            if let Some(rows) = claimed.and_then(|mut buffer| buffer.rows.pop_front()) {
                return Ok(Some(rows));
            }
            if !self.wait_for_more(client, mode).await? {
                return Ok(None);
            }
        }
    }

    /// The schema of all record batches; waits for the first pages. It claims nothing.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub async fn schema(&self, client: &Client, mode: ReadMode) -> Result<SchemaRef> {
        self.open_to(mode).map(drop)?;
        self.until_stopped(async {
            let mut source = self.turn(mode).await?;
            let scan = self.scan(&mut source, client);
            let scan = scan.ok_or_else(|| self.buffer().refusal(&self.hints))?;
            let schema = scan.schema().await;
            if let Err(error) = &schema {
                self.buffer().fail(error);
                *source = Source::Ended;
            }
            schema
        })
        .await
    }

    /// The warning of a list that has ended and whose completeness is not proven, where that was asked for; given once.
    pub fn take_warning(&self) -> Option<String> {
        self.buffer().warning.take()
    }

    /// The error that has ended the scan.
    pub fn failure(&self) -> Option<Error> {
        self.buffer().failure.clone()
    }

    /// The table, once [`wait_for_more`](Self::wait_for_more) has said that it is complete; it stays until it is given.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no complete table.
    pub fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let buffer = self.open_to(ReadMode::Table)?;
        match (&buffer.schema, buffer.end) {
            (Some(schema), Some(End::Received)) => {
                Ok((Arc::clone(schema), buffer.rows.iter().cloned().collect()))
            }
            _ => Err(Error::invalid("the table is not complete")),
        }
    }

    /// Notes that the caller has the table.
    pub fn table_taken(&self) {
        let mut buffer = self.buffer();
        buffer.rows.clear();
        buffer.end = Some(End::Given);
    }

    /// The receipt so far; final once the scan has ended. `records` counts the records that were handed out.
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
        let mut buffer = self.buffer();
        buffer.received = buffer.receipt();
        buffer.records.clear();
        buffer.rows.clear();
    }

    /// Waits for what comes next, and keeps it; false at the end.
    async fn receive(&self, source: &mut Source, client: &Client, mode: ReadMode) -> Result<bool> {
        let is_records = matches!(mode, ReadMode::Records(_));
        if is_records && !self.buffer().records.is_empty() {
            // Somebody else has waited for them.
            return Ok(true);
        }
        let Some(scan) = self.scan(source, client) else {
            return Ok(false);
        };
        let (records, rows) = if is_records {
            (scan.next_records().await.transpose(), Ok(None))
        } else {
            (Ok(None), scan.next().await.transpose())
        };
        let schema = if is_records {
            None
        } else {
            // It is known by now, even if there are no rows.
            scan.schema().await.ok()
        };
        let mut buffer = self.buffer();
        buffer.received = scan.receipt();
        buffer.schema = schema;
        let next = records.and_then(|records| match (records, rows?) {
            (None, None) => self.conclude(&mut buffer, mode).map(|()| (None, None)),
            next => Ok(next),
        });
        match &next {
            Ok((None, None)) => buffer.end = Some(End::Received),
            Ok(_) => {}
            Err(error) => buffer.fail(error),
        }
        if buffer.end.is_some() {
            *source = Source::Ended;
        }
        let (records, rows) = next?;
        buffer.records.extend(records.into_iter().flatten());
        buffer.rows.extend(rows);
        Ok(buffer.end.is_none())
    }

    /// Ends a list that has no more. By default, completeness that is not proven fails a stream, which somebody else reads,
    /// is a warning to the caller who gets the table, and of no concern to records beside their receipt.
    fn conclude(&self, buffer: &mut Buffer, mode: ReadMode) -> Result<()> {
        let chosen = self.options.unproven;
        let (unproven, instead) = match mode {
            ReadMode::Records(_) => (Unproven::Accept, ""),
            ReadMode::Table => (Unproven::Warn, ""),
            ReadMode::Stream(_) => (Unproven::Fail, self.hints.frame_or),
        };
        // With a choice of the caller, the way to the rows ends in the same.
        let instead = chosen.map_or(instead, |_| "");
        let advice = format!("{instead}{}", self.hints.unproven);
        let Buffer {
            received, warning, ..
        } = buffer;
        let unproven = chosen.unwrap_or(unproven);
        unproven.conclude(received, &advice, |text| *warning = Some(text))
    }

    /// Returns the scan, which begins with the first wait; `None` after it has ended.
    fn scan<'a>(&self, source: &'a mut Source, client: &Client) -> Option<&'a mut BatchScan> {
        if matches!(source, Source::New) {
            let scan = client.resource(self.resource).scan(self.options.clone());
            let scan = BatchScan::new(scan, self.table.clone(), self.rows).not_concluded();
            *source = Source::Open(Owned::new(Box::new(scan)));
        }
        match source {
            Source::Open(scan) => scan.get_mut().map(|scan| &mut **scan),
            _ => None,
        }
    }

    /// The result of the work, unless the session is stopped before.
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

    /// Waits until no one else waits for the scan. The scan may have ended by then.
    async fn turn(&self, mode: ReadMode) -> Result<tokio::sync::MutexGuard<'_, Source>> {
        let source = self.source.lock().await;
        self.open_to(mode).map(drop)?;
        Ok(source)
    }

    /// Refuses a use other than the first: what one use has taken would be missing from the other.
    fn open_to(&self, mode: ReadMode) -> Result<MutexGuard<'_, Buffer>> {
        self.usable()?;
        let buffer = self.buffer();
        let over = matches!(buffer.end, Some(End::Given | End::Failed));
        if over || buffer.mode.is_some_and(|first| first != mode) {
            Err(buffer.refusal(&self.hints))
        } else {
            Ok(buffer)
        }
    }

    fn claimed_by(&self, mode: ReadMode) -> Option<MutexGuard<'_, Buffer>> {
        self.usable().ok()?;
        Some(self.buffer()).filter(|buffer| buffer.mode == Some(mode))
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

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.buffer)
    }
}

/// The source of a session's records.
enum Source {
    /// Nothing was asked for yet.
    New,
    Open(Owned<Box<BatchScan>>),
    Ended,
}

/// The end of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All was received; some of it may still have to be handed out.
    Received,
    /// The table is with the caller.
    Given,
    Failed,
}

/// Received items that are not handed out yet, and their purpose.
#[derive(Default)]
struct Buffer {
    /// The first use; there is no other.
    mode: Option<ReadMode>,
    end: Option<End>,
    records: VecDeque<RawRecord>,
    rows: VecDeque<RecordBatch>,
    schema: Option<SchemaRef>,
    /// Of all that was received.
    received: Receipt,
    /// The error that has ended the scan.
    failure: Option<Error>,
    /// The warning that completeness is not proven, until it is issued.
    warning: Option<String>,
}

impl Buffer {
    fn fail(&mut self, error: &Error) {
        self.end = Some(End::Failed);
        self.failure = Some(error.clone());
    }

    /// The receipt so far; `records` counts the records that were handed out.
    fn receipt(&self) -> Receipt {
        let rows: usize = self.rows.iter().map(RecordBatch::num_rows).sum();
        self.received.clone().without(self.records.len() + rows)
    }

    /// Why it cannot be read in another way, or again.
    fn refusal(&self, hints: &Wording) -> Error {
        let (reason, instead) = match (self.end, self.mode) {
            (Some(End::Failed), _) => ("the scan has failed", ""),
            (_, Some(ReadMode::Stream(_))) => (
                "the rows of this scan go to the reader of an earlier Arrow stream",
                hints.keep_or,
            ),
            (None | Some(End::Received), Some(ReadMode::Table)) => {
                ("the scan has begun to give columns", hints.resume_or)
            }
            (None, Some(ReadMode::Records(_))) => (
                "another reader has begun to take the records of this scan",
                hints.share_or,
            ),
            _ => ("the scan has ended and was read", hints.keep_or),
        };
        Error::invalid(format!("{reason}; {instead}{}", hints.restart))
    }
}
