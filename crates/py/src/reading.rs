//! A list being read, by one or several waiters: as records, or as Arrow record batches.

use crate::process::Owned;
use crate::record::RawRecord;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use talentdata_core::arrow::BatchScan;
use talentdata_core::export::{Export, Target};
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
    /// The records that Python has not yet taken.
    records: Mutex<VecDeque<RawRecord>>,
    receipt: Mutex<Receipt>,
    /// Whether it was closed; who waits is told.
    closed: watch::Sender<bool>,
    /// The process that began to read; 0 before.
    process: AtomicU32,
}

enum State {
    /// Nothing was asked for yet.
    New,
    Records(Owned<Scan>),
    Batches(Owned<Box<BatchScan>>),
    Ended,
    Closed,
}

impl Reading {
    pub(crate) fn new(resource: Resource, options: ScanOptions) -> Self {
        Reading {
            resource,
            options,
            state: tokio::sync::Mutex::new(State::New),
            records: Mutex::default(),
            receipt: Mutex::new(Receipt {
                resource: resource.name().to_owned(),
                ..Receipt::default()
            }),
            closed: watch::Sender::new(false),
            process: AtomicU32::new(0),
        }
    }

    /// Waits until there are records to take; false at the end of the list.
    ///
    /// Whoever stops waiting loses nothing: what came meanwhile is there to be taken.
    pub(crate) async fn fill(&self, client: &Client) -> Result<bool> {
        self.until_closed(self.next_records(client)).await
    }

    async fn next_records(&self, client: &Client) -> Result<bool> {
        let mut state = self.state.lock().await;
        if !lock(&self.records).is_empty() {
            return Ok(true);
        }
        if matches!(*state, State::New) {
            *state = State::Records(Owned::new(self.scan(client)));
        }
        let scan = match &mut *state {
            State::Records(scan) => scan.get_mut().ok_or_else(elsewhere)?,
            other => return Err(other.refusal()),
        };
        let batch = scan.next_batch().await;
        self.note(scan.receipt());
        match batch {
            Some(Ok(batch)) => {
                let records = batch.records.into_iter();
                *lock(&self.records) = records
                    .map(|record| RawRecord(record.into_bytes()))
                    .collect();
                Ok(true)
            }
            end => {
                *state = State::Ended;
                end.map_or(Ok(false), |failed| failed.map(|_| false))
            }
        }
    }

    /// The schema of all record batches; waits for the first pages.
    pub(crate) async fn schema(&self, client: &Client) -> Result<SchemaRef> {
        let read = async {
            let mut state = self.state.lock().await;
            let batches = self.batches(&mut state, client)?;
            let schema = batches.schema().await;
            self.note(batches.receipt());
            if schema.is_err() {
                *state = State::Ended;
            }
            schema
        };
        self.until_closed(read).await
    }

    /// The next record batch; none at the end of the list.
    pub(crate) async fn batch(&self, client: &Client) -> Result<Option<RecordBatch>> {
        let read = async {
            let mut state = self.state.lock().await;
            let batches = self.batches(&mut state, client)?;
            let batch = batches.next().await.transpose();
            self.note(batches.receipt());
            if !matches!(batch, Ok(Some(_))) {
                *state = State::Ended;
            }
            batch
        };
        self.until_closed(read).await
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
            other => Err(other.refusal()),
        }
    }

    /// Reads the whole list into a file, until the end or until `stop` completes.
    pub(crate) async fn export(
        &self,
        client: &Client,
        format: &str,
        target: Target,
        resume: bool,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let export = Export {
            resource: self.resource,
            format: format.parse()?,
            target,
            scan: self.options.clone(),
            resume,
        };
        let write = async {
            let mut state = self.state.lock().await;
            if !matches!(*state, State::New) {
                return Err(state.refusal());
            }
            let receipt = export.run(client, stop, |receipt| self.note(receipt.clone()));
            self.note(receipt.await?);
            *state = State::Ended;
            Ok(())
        };
        self.until_closed(write).await
    }

    fn scan(&self, client: &Client) -> Scan {
        client.resource(self.resource).scan(self.options.clone())
    }

    fn note(&self, receipt: Receipt) {
        *lock(&self.receipt) = receipt;
    }

    /// The next of the records that came and were not yet taken.
    pub(crate) fn take(&self) -> Option<RawRecord> {
        lock(&self.records).pop_front()
    }

    /// What has been done so far.
    pub(crate) fn receipt(&self) -> MutexGuard<'_, Receipt> {
        lock(&self.receipt)
    }

    /// Stops the reading; whoever waits for it is told so.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
        // Else whoever waits gives the scan up, and nobody can go on with it.
        if let Ok(mut state) = self.state.try_lock() {
            *state = State::Closed;
        }
        lock(&self.records).clear();
    }

    /// What comes of the work, unless the scan is closed before.
    async fn until_closed<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut closed = self.closed.subscribe();
        let closed = async { closed.wait_for(|closed| *closed).await.is_ok() };
        tokio::select! {
            biased;
            _ = closed => {
                let mut state = self.state.lock().await;
                *state = State::Closed;
                Err(state.refusal())
            }
            outcome = work => outcome,
        }
    }

    /// Refuses a list that another process reads: its connections and threads are there.
    pub(crate) fn claim(&self) -> Result<()> {
        let ours = std::process::id();
        let relaxed = Ordering::Relaxed;
        let owner = self.process.compare_exchange(0, ours, relaxed, relaxed);
        match owner {
            Err(owner) if owner != ours => Err(elsewhere()),
            _ => Ok(()),
        }
    }
}

impl State {
    /// Why nothing can be read in this state.
    fn refusal(&self) -> Error {
        let message = match self {
            State::New => "the scan was not begun",
            State::Records(_) | State::Batches(_) => {
                "a scan gives either records or columns, and this one was begun as the other; begin another with list()"
            }
            State::Ended => "the scan has ended and was read; begin another with list()",
            State::Closed => "the scan was closed; begin another with list()",
        };
        Error::new(ErrorKind::Closed, message)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn elsewhere() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan belongs to the process that began it; begin another one here",
    )
}
