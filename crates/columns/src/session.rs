//! A scan that is read once, as records or as columns. The scans of every language are built on it.
//!
//! A reader may stop waiting at any time. Records that arrive are kept until a reader takes them, so an abandoned wait
//! loses nothing. The receipt counts the records that readers took. Waiting and taking are two steps: only waiting
//! needs a runtime.

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

/// The form in which a scan is read. The number distinguishes readers of the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Single records.
    Records(u64),
    /// One table, which is kept until it is complete and the caller has it.
    Table,
    /// Record batches, each of which is returned once.
    Stream(u64),
}

/// The advice in the errors of a session, in the words of a language. The text of a field whose name ends with `_or`
/// precedes `restart`; it is empty if the language has no such advice.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The word for a scan after `close`: "stopped" or "closed".
    pub stopped: &'static str,
    /// The advice for reading the list again.
    pub restart: &'static str,
    /// The advice for sharing the records among several readers.
    pub share_or: &'static str,
    /// The advice for continuing a table that is not complete.
    pub resume_or: &'static str,
    /// The advice for reading rows more than once.
    pub keep_or: &'static str,
    /// The advice for getting the rows of a stream whose completeness is not proven.
    pub frame_or: &'static str,
    /// The advice for accepting a list whose completeness is not proven.
    pub unproven: &'static str,
}

impl Wording {
    /// The wording for a language in which each scan has one reader.
    pub const PLAIN: Wording = Wording {
        stopped: "stopped",
        restart: "start another scan",
        share_or: "",
        resume_or: "",
        keep_or: "",
        frame_or: "",
        unproven: Unproven::ADVICE,
    };

    /// Returns the error for the use of a scan that was stopped.
    fn closed(&self) -> Error {
        let message = format!("the scan was {}; {}", self.stopped, self.restart);
        Error::new(ErrorKind::Cancelled, message)
    }

    /// Returns the error for a forked child that uses a scan of its parent, which has the connections and threads.
    fn inherited(&self) -> Error {
        let message = format!(
            "the scan belongs to the process that began it; {} here",
            self.restart
        );
        Error::new(ErrorKind::Closed, message)
    }
}

/// A list that is read once, in one [`ReadMode`]. Threads and tasks may share the session.
///
/// The first wait sends the first requests. In a forked child, a session of the parent fails with `Closed`.
pub struct Session {
    resource: ListName,
    options: ScanOptions,
    table: TableOptions,
    wording: Wording,
    /// The source, which is locked by the reader that waits for it.
    source: tokio::sync::Mutex<RecordSource>,
    buffer: Mutex<Buffer>,
    stop: Stop,
    /// The process that reads the session; 0 until it begins.
    process: AtomicU32,
    /// The number of readers so far.
    readers: AtomicU64,
}

/// Omits the records of the session, which may be confidential.
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
    /// Creates a session that sends no request before the first wait.
    pub fn new(
        resource: ListName,
        options: ScanOptions,
        table: TableOptions,
        wording: Wording,
    ) -> Self {
        Session {
            buffer: Mutex::new(Buffer {
                received: options.receipt(resource),
                ..Buffer::default()
            }),
            resource,
            options,
            table,
            wording,
            source: tokio::sync::Mutex::new(RecordSource::New),
            stop: Stop::default(),
            process: AtomicU32::new(0),
            readers: AtomicU64::new(0),
        }
    }

    /// Returns the list.
    pub fn resource(&self) -> ListName {
        self.resource
    }

    /// Returns the mode of a new reader of records.
    pub fn records(&self) -> ReadMode {
        ReadMode::Records(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the mode of a new reader of record batches.
    pub fn stream(&self) -> ReadMode {
        ReadMode::Stream(self.readers.fetch_add(1, Ordering::Relaxed))
    }

    /// Claims the session for a reader, if no other reader has it. The first wait claims it as well.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub fn claim(&self, mode: ReadMode) -> Result<()> {
        self.open_to(mode)?.mode = Some(mode);
        Ok(())
    }

    /// Returns the next record that has arrived; `None` if there is none, or if another reader claimed the session.
    pub fn take(&self, mode: ReadMode) -> Option<RawRecord> {
        self.claimed_by(mode)?.records.pop_front()
    }

    /// Claims the session and waits until there is a record or a batch to take. Returns false at the end of the list.
    ///
    /// # Errors
    /// An error of the scan, which ends the scan. `InvalidArgument` if another reader claimed the session, or after an
    /// error. `Cancelled` if the session was stopped. `Closed` in a forked child.
    pub async fn wait_for_more(&self, client: &Client, mode: ReadMode) -> Result<bool> {
        self.claim(mode)?;
        self.until_stopped(async {
            let mut source = self.turn(mode).await?;
            self.receive(&mut source, client, mode).await
        })
        .await
    }

    /// Returns the next record batch of a stream; `None` at the end of the list.
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

    /// Waits for the first pages and returns the schema of all record batches, without claiming the session.
    ///
    /// # Errors
    /// See [`wait_for_more`](Self::wait_for_more).
    pub async fn schema(&self, client: &Client, mode: ReadMode) -> Result<SchemaRef> {
        self.open_to(mode).map(drop)?;
        self.until_stopped(async {
            let mut source = self.turn(mode).await?;
            let scan = self
                .scan(&mut source, client)
                .ok_or_else(|| self.buffer().refusal(&self.wording))?;
            let schema = scan.schema().await;
            if let Err(error) = &schema {
                self.buffer().fail(error);
                *source = RecordSource::Ended;
            }
            schema
        })
        .await
    }

    /// Returns, once, the warning that the completeness of the whole list is not proven. `None` if the options do not
    /// ask for a warning.
    pub fn take_warning(&self) -> Option<String> {
        self.buffer().warning.take()
    }

    /// Returns the error that ended the scan.
    pub fn failure(&self) -> Option<Error> {
        self.buffer().failure.clone()
    }

    /// Returns the complete table, after [`wait_for_more`](Self::wait_for_more) returned false. The session keeps the
    /// table until [`table_taken`](Self::table_taken).
    ///
    /// # Errors
    /// `InvalidArgument` if the table is not complete.
    pub fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let buffer = self.open_to(ReadMode::Table)?;
        match (&buffer.schema, buffer.end) {
            (Some(schema), Some(End::Received)) => {
                Ok((Arc::clone(schema), buffer.rows.iter().cloned().collect()))
            }
            _ => Err(Error::invalid("the table is not complete")),
        }
    }

    /// Records that the caller has the table, and drops it.
    pub fn table_taken(&self) {
        let mut buffer = self.buffer();
        buffer.rows.clear();
        buffer.end = Some(End::Taken);
    }

    /// Returns the receipt so far, which is final after the end of the scan. `records` counts the records that readers
    /// took.
    pub fn receipt(&self) -> Receipt {
        self.buffer().receipt()
    }

    /// Returns the number of received records, and the service's total if it is known.
    pub fn progress(&self) -> (u64, Option<i64>) {
        let buffer = self.buffer();
        (buffer.received.records, buffer.received.total_first)
    }

    /// Returns a handle that ends the session from any thread, as [`close`](Self::close) does. The records that the
    /// session holds are dropped by the next wait.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Ends the session and its requests. Waiting readers and later calls get `Cancelled`.
    pub fn close(&self) {
        self.stop.stop();
        // If a reader is waiting, that reader ends the scan.
        if let Ok(mut source) = self.source.try_lock() {
            *source = RecordSource::Ended;
        }
        let mut buffer = self.buffer();
        buffer.received = buffer.receipt();
        buffer.records.clear();
        buffer.rows.clear();
    }

    /// Waits for the next records or rows and keeps them. Returns false at the end of the list.
    async fn receive(
        &self,
        source: &mut RecordSource,
        client: &Client,
        mode: ReadMode,
    ) -> Result<bool> {
        let is_records = matches!(mode, ReadMode::Records(_));
        if is_records && !self.buffer().records.is_empty() {
            // Another wait of the same reader has received them.
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
            // The schema is known by now, even if there are no rows.
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
            *source = RecordSource::Ended;
        }
        let (records, rows) = next?;
        buffer.records.extend(records.into_iter().flatten());
        buffer.rows.extend(rows);
        Ok(buffer.end.is_none())
    }

    /// Reacts to the end of a list whose completeness is not proven, as the options say. By default, a stream fails,
    /// because another library reads it. A table causes a warning, and records only have their receipt.
    fn conclude(&self, buffer: &mut Buffer, mode: ReadMode) -> Result<()> {
        let chosen = self.options.unproven;
        let (unproven, instead) = match mode {
            ReadMode::Records(_) => (Unproven::Accept, ""),
            ReadMode::Table => (Unproven::Warn, ""),
            ReadMode::Stream(_) => (Unproven::Fail, self.wording.frame_or),
        };
        // If the caller chose `Fail`, another form of the rows fails as well.
        let other_form = chosen.map_or(instead, |_| "");
        let advice = format!("{other_form}{}", self.wording.unproven);
        let Buffer {
            received, warning, ..
        } = buffer;
        chosen
            .unwrap_or(unproven)
            .conclude(received, &advice, |text| *warning = Some(text))
    }

    /// Returns the scan, which the first wait starts; `None` after the scan ended.
    fn scan<'a>(&self, source: &'a mut RecordSource, client: &Client) -> Option<&'a mut BatchScan> {
        if matches!(source, RecordSource::New) {
            let records = client.resource(self.resource).scan(self.options.clone());
            let batches = BatchScan::new(records, self.table.clone()).not_concluded();
            *source = RecordSource::Open(Owned::new(Box::new(batches)));
        }
        match source {
            RecordSource::Open(scan) => scan.get_mut().map(|scan| &mut **scan),
            _ => None,
        }
    }

    /// Returns the result of the work, or `Cancelled` if the session is stopped before.
    async fn until_stopped<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.stop.stopped() => {
                *self.source.lock().await = RecordSource::Ended;
                Err(self.wording.closed())
            }
            outcome = work => outcome,
        }
    }

    /// Waits until no other reader waits for the scan. The scan may have ended by then.
    async fn turn(&self, mode: ReadMode) -> Result<tokio::sync::MutexGuard<'_, RecordSource>> {
        let source = self.source.lock().await;
        self.open_to(mode).map(drop)?;
        Ok(source)
    }

    /// Checks that no other reader claimed the session. Records that one reader took would be missing from the other.
    fn open_to(&self, mode: ReadMode) -> Result<MutexGuard<'_, Buffer>> {
        self.check_usable()?;
        let buffer = self.buffer();
        let is_over = matches!(buffer.end, Some(End::Taken | End::Failed));
        if is_over || buffer.mode.is_some_and(|first| first != mode) {
            Err(buffer.refusal(&self.wording))
        } else {
            Ok(buffer)
        }
    }

    fn claimed_by(&self, mode: ReadMode) -> Option<MutexGuard<'_, Buffer>> {
        self.check_usable().ok()?;
        Some(self.buffer()).filter(|buffer| buffer.mode == Some(mode))
    }

    /// Checks that the session was not stopped, and that it belongs to this process, which alone has its connections
    /// and threads.
    fn check_usable(&self) -> Result<()> {
        let ours = std::process::id();
        let relaxed = Ordering::Relaxed;
        let owner = self.process.compare_exchange(0, ours, relaxed, relaxed);
        match owner {
            Err(owner) if owner != ours => Err(self.wording.inherited()),
            _ if self.stop.is_stopped() => Err(self.wording.closed()),
            _ => Ok(()),
        }
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.buffer)
    }
}

/// The source of a session's records.
enum RecordSource {
    /// No request has been sent yet.
    New,
    Open(Owned<Box<BatchScan>>),
    Ended,
}

/// The end of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All records were received. Readers may not have taken all of them yet.
    Received,
    /// The caller has the table.
    Taken,
    Failed,
}

/// The received records or rows that no reader took yet.
#[derive(Default)]
struct Buffer {
    /// The mode of the reader that claimed the session.
    mode: Option<ReadMode>,
    end: Option<End>,
    records: VecDeque<RawRecord>,
    rows: VecDeque<RecordBatch>,
    schema: Option<SchemaRef>,
    /// The receipt for all received records.
    received: Receipt,
    /// The error that ended the scan.
    failure: Option<Error>,
    /// The warning that completeness is not proven, until it is issued.
    warning: Option<String>,
}

impl Buffer {
    fn fail(&mut self, error: &Error) {
        self.end = Some(End::Failed);
        self.failure = Some(error.clone());
    }

    /// Returns the receipt so far. `records` counts the records that readers took.
    fn receipt(&self) -> Receipt {
        let rows: usize = self.rows.iter().map(RecordBatch::num_rows).sum();
        self.received.clone().without(self.records.len() + rows)
    }

    /// Returns the error for a second reader of the scan, which says why there can be no second reader.
    fn refusal(&self, wording: &Wording) -> Error {
        let (reason, instead) = match (self.end, self.mode) {
            (Some(End::Failed), _) => ("the scan has failed", ""),
            (_, Some(ReadMode::Stream(_))) => (
                "the rows of this scan go to the reader of an earlier Arrow stream",
                wording.keep_or,
            ),
            (None | Some(End::Received), Some(ReadMode::Table)) => {
                ("this scan is being read as columns", wording.resume_or)
            }
            (None, Some(ReadMode::Records(_))) => (
                "another reader takes the records of this scan",
                wording.share_or,
            ),
            _ => ("the scan has ended and was read", wording.keep_or),
        };
        Error::invalid(format!("{reason}; {instead}{}", wording.restart))
    }
}
