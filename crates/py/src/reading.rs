//! A list being read, for one use: as records or as Arrow record batches.

use crate::inbox::{End, Inbox, Use, closed, misuse};
use crate::process::Owned;
use crate::record::RawRecord;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use talentdata_core::arrow::BatchScan;
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Client, Error, ErrorKind, Result, Scan, ScanOptions};
use tokio::sync::watch;

/// Records of a record batch: few enough for a progress bar to move, about once a second.
const ROWS: usize = 4096;

/// What is read, and what came of it.
pub(crate) struct Reading {
    resource: Resource,
    options: ScanOptions,
    /// Held while something is waited for.
    state: tokio::sync::Mutex<State>,
    inbox: Mutex<Inbox>,
    /// Whether it was closed; who waits is told.
    closed: watch::Sender<bool>,
    /// The process that began to read; 0 before.
    process: AtomicU32,
    /// How many iterators and streams were made.
    numbers: AtomicU64,
}

enum State {
    /// Nothing was asked for yet.
    New,
    Records(Owned<Scan>),
    Batches(Owned<Box<BatchScan>>),
    Ended,
}

impl Reading {
    pub(crate) fn new(resource: Resource, options: ScanOptions) -> Self {
        let received = Receipt {
            resource: resource.name().to_owned(),
            ..Receipt::default()
        };
        Reading {
            resource,
            options,
            state: tokio::sync::Mutex::new(State::New),
            inbox: Mutex::new(Inbox::new(received)),
            closed: watch::Sender::new(false),
            process: AtomicU32::new(0),
            numbers: AtomicU64::new(0),
        }
    }

    /// A number for another iterator or stream.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until there are records to take; false at the end of the list.
    ///
    /// Whoever stops waiting loses nothing: what came meanwhile is there to be taken.
    pub(crate) async fn fill(&self, client: &Client, usage: Use) -> Result<bool> {
        self.claim(usage)?;
        self.until_closed(self.next_records(client, usage)).await
    }

    async fn next_records(&self, client: &Client, usage: Use) -> Result<bool> {
        let mut state = self.turn(usage).await?;
        if !self.inbox().records.is_empty() {
            return Ok(true);
        }
        if matches!(*state, State::New) {
            *state = State::Records(Owned::new(self.scan(client)));
        }
        let scan = match &mut *state {
            State::Records(scan) => scan.get_mut().ok_or_else(elsewhere)?,
            State::Ended => return Ok(false),
            _ => return Err(misuse(NOT_RECORDS)),
        };
        let batch = scan.next_batch().await;
        let mut inbox = self.inbox();
        inbox.received = scan.receipt();
        match batch {
            Some(Ok(batch)) => {
                inbox.records = batch.records.into_iter().map(RawRecord::from).collect();
                Ok(true)
            }
            end => {
                *state = State::Ended;
                inbox.end = Some(End::of(end.is_none()));
                end.map_or(Ok(false), |failed| failed.map(|_| false))
            }
        }
    }

    /// Adds the next batch to the rows of the table; false when it is complete.
    ///
    /// Whoever stops waiting loses nothing: the rows stay until `give_table`.
    pub(crate) async fn collect(&self, client: &Client) -> Result<bool> {
        self.claim(Use::Table)?;
        let read = async {
            let mut state = self.turn(Use::Table).await?;
            if matches!(*state, State::Ended) {
                return Ok(false);
            }
            let schema = self.next_schema(&mut state, client).await?;
            self.inbox().schema = Some(schema);
            let batch = self.next_batch(&mut state, client).await?;
            let more = batch.is_some();
            self.inbox().rows.extend(batch);
            Ok(more)
        };
        self.until_closed(read).await
    }

    /// The table that was collected; see `Inbox::table`.
    pub(crate) fn table(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.inbox().table()
    }

    /// Notes that the caller has the table.
    pub(crate) fn give_table(&self) {
        self.inbox().give_table();
    }

    /// The schema of all record batches; waits for the first pages.
    pub(crate) async fn schema(&self, client: &Client, usage: Use) -> Result<SchemaRef> {
        self.here()?;
        self.inbox().check(usage)?;
        let read = async {
            let mut state = self.turn(usage).await?;
            self.next_schema(&mut state, client).await
        };
        self.until_closed(read).await
    }

    async fn next_schema(&self, state: &mut State, client: &Client) -> Result<SchemaRef> {
        let schema = self.batches(state, client)?.schema().await;
        if schema.is_err() {
            self.inbox().end = Some(End::Failed);
            *state = State::Ended;
        }
        schema
    }

    /// The next record batch, for a stream; none at the end of the list.
    pub(crate) async fn batch(&self, client: &Client, usage: Use) -> Result<Option<RecordBatch>> {
        self.claim(usage)?;
        let read = async {
            let mut state = self.turn(usage).await?;
            self.next_batch(&mut state, client).await
        };
        self.until_closed(read).await
    }

    async fn next_batch(&self, state: &mut State, client: &Client) -> Result<Option<RecordBatch>> {
        let batches = self.batches(state, client)?;
        let batch = batches.next().await.transpose();
        let mut inbox = self.inbox();
        inbox.received = batches.receipt();
        if !matches!(batch, Ok(Some(_))) {
            *state = State::Ended;
            inbox.end = Some(End::of(batch.is_ok()));
        }
        batch
    }

    fn batches<'a>(&self, state: &'a mut State, client: &Client) -> Result<&'a mut BatchScan> {
        if matches!(state, State::New) {
            let batches = self.scan(client).into_batches(ROWS);
            *state = State::Batches(Owned::new(Box::new(batches)));
        }
        match state {
            State::Batches(batches) => match batches.get_mut() {
                Some(batches) => Ok(batches),
                None => Err(elsewhere()),
            },
            _ => Err(misuse(NOT_COLUMNS)),
        }
    }

    fn scan(&self, client: &Client) -> Scan {
        client.resource(self.resource).scan(self.options.clone())
    }

    /// The next of the records that came and were not yet taken.
    pub(crate) fn take(&self, usage: Use) -> Option<RawRecord> {
        self.inbox().take(usage)
    }

    /// What has been done so far; `records` counts those that were given to the caller.
    pub(crate) fn receipt(&self) -> Receipt {
        self.inbox().receipt()
    }

    /// Records received, and the service's total where it is known.
    pub(crate) fn progress(&self) -> (u64, Option<i64>) {
        let inbox = self.inbox();
        (inbox.received.records, inbox.received.total_first)
    }

    /// Stops the reading; whoever waits for it is told so.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
        // Else whoever waits gives the scan up, and nobody can go on with it.
        if let Ok(mut state) = self.state.try_lock() {
            *state = State::Ended;
        }
        self.inbox().close();
    }

    /// What comes of the work, unless the scan is closed before.
    async fn until_closed<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut stop = self.closed.subscribe();
        let stopped = async { stop.wait_for(|closed| *closed).await.is_ok() };
        tokio::select! {
            biased;
            _ = stopped => {
                *self.state.lock().await = State::Ended;
                Err(closed())
            }
            outcome = work => outcome,
        }
    }

    /// Waits until no one else waits for the scan, which may have ended meanwhile.
    async fn turn(&self, usage: Use) -> Result<tokio::sync::MutexGuard<'_, State>> {
        let state = self.state.lock().await;
        self.inbox().check(usage)?;
        Ok(state)
    }

    /// Refuses what is not the first use of the scan.
    fn claim(&self, usage: Use) -> Result<()> {
        self.here()?;
        self.inbox().claim(usage)
    }

    /// Refuses a list that another process reads: its connections and threads are there.
    fn here(&self) -> Result<()> {
        let ours = std::process::id();
        let relaxed = Ordering::Relaxed;
        let owner = self.process.compare_exchange(0, ours, relaxed, relaxed);
        match owner {
            Err(owner) if owner != ours => Err(elsewhere()),
            _ => Ok(()),
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NOT_RECORDS: &str = "a scan gives either records or columns, and this one has begun to give columns; start another scan with list()";
const NOT_COLUMNS: &str = "a scan gives either records or columns, and this one has begun to give records; start another scan with list()";

fn elsewhere() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan belongs to the process that began it; start another one here with list()",
    )
}
