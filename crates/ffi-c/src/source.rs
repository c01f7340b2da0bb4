//! What a scan handle reads from; shared with a call of another thread that outlives the handle.

use crate::arrow::{Batches, Shared};
use crate::boundary::invalid;
use crate::descriptor::SelfPipe;
use crate::record::Record;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::task::{Poll, Waker};
use talentdata_core::blocking::{Scan, Stop};
use talentdata_core::scan::{Batch, Receipt};
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// A scan, and what tells that it has something to say.
pub(crate) struct Source {
    reader: Mutex<Reader>,
    stop: Stop,
    pub(crate) self_pipe: OnceLock<Arc<SelfPipe>>,
}

/// The side of a scan that one thread at a time uses.
pub(crate) struct Reader {
    records: Records,
    resource: Resource,
    current: VecDeque<RawRecord>,
    begun: bool,
    failed: bool,
}

/// How the records leave the scan.
enum Records {
    OneByOne(Box<Scan>),
    /// Through an Arrow stream, which may outlive the handle.
    InBatches(Shared),
    /// Not at all: the stream could not be made.
    Nowhere,
}

impl Source {
    pub(crate) fn new(scan: Scan, resource: Resource) -> Self {
        Source {
            stop: scan.stop_handle(),
            self_pipe: OnceLock::new(),
            reader: Mutex::new(Reader {
                records: Records::OneByOne(Box::new(scan)),
                resource,
                current: VecDeque::new(),
                begun: false,
                failed: false,
            }),
        }
    }

    /// The reading side, for the thread that has it to itself.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Reader>> {
        free(&self.reader)
    }

    /// Called when the handle is freed: only a stream may still take records.
    pub(crate) fn leave(&self) {
        let streamed = |reader: &Reader| matches!(reader.records, Records::InBatches(_));
        if !self.lock().is_ok_and(|reader| streamed(&reader)) {
            self.stop();
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.stop();
        if let Some(self_pipe) = self.self_pipe.get() {
            self_pipe.notify();
        }
    }
}

impl Reader {
    pub(crate) fn next(&mut self, source: &Source) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.take(source)? {
                return Ok(Some(record));
            }
            let batch = self.one_by_one()?.next_batch();
            if self.refill(batch)?.is_none() {
                return Ok(None);
            }
        }
    }

    pub(crate) fn poll_next(&mut self, source: &Source) -> Result<Poll<Option<Record>>> {
        loop {
            if let Some(record) = self.take(source)? {
                return Ok(Poll::Ready(Some(record)));
            }
            let self_pipe = source.self_pipe.get();
            let waker = match self_pipe {
                Some(self_pipe) => {
                    // Before the look, so that what comes after it rings again.
                    self_pipe.clear();
                    Waker::from(Arc::clone(self_pipe))
                }
                None => Waker::noop().clone(),
            };
            let Poll::Ready(batch) = self.one_by_one()?.poll_batch(&waker) else {
                return Ok(Poll::Pending);
            };
            if let Some(self_pipe) = self_pipe {
                self_pipe.notify();
            }
            if self.refill(batch)?.is_none() {
                return Ok(Poll::Ready(None));
            }
        }
    }

    pub(crate) fn receipt(&self) -> Result<Receipt> {
        match &self.records {
            Records::OneByOne(scan) => Ok(scan.receipt().without(self.current.len())),
            Records::InBatches(batches) => Ok(free(batches)?.receipt()),
            Records::Nowhere => Err(ended()),
        }
    }

    /// Turns the scan into batches of so many rows.
    pub(crate) fn batches(&mut self, source: &Source, rows: usize) -> Result<Shared> {
        self.check(source)?;
        self.one_by_one()?;
        if self.begun {
            return Err(invalid(
                "scan",
                "a record was already taken from it; start another scan",
            ));
        }
        let Records::OneByOne(scan) = std::mem::replace(&mut self.records, Records::Nowhere) else {
            return Err(ended());
        };
        let batches = Arc::new(Mutex::new(Batches::new(scan.into_batches(rows)?)));
        self.records = Records::InBatches(Arc::clone(&batches));
        Ok(batches)
    }

    fn one_by_one(&mut self) -> Result<&mut Scan> {
        match &mut self.records {
            Records::OneByOne(scan) => Ok(scan),
            _ => Err(invalid(
                "scan",
                "its records are read through an Arrow stream",
            )),
        }
    }

    /// From now on every call fails.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// The next record of the page at hand.
    fn take(&mut self, source: &Source) -> Result<Option<Record>> {
        self.check(source)?;
        let record = self.current.pop_front();
        Ok(record.map(|raw| Record::new(raw, Some(self.resource))))
    }

    fn check(&self, source: &Source) -> Result<()> {
        if source.stop.is_stopped() {
            return Err(Error::new(ErrorKind::Cancelled, "the scan was stopped"));
        }
        if self.failed { Err(ended()) } else { Ok(()) }
    }

    fn refill(&mut self, batch: Option<Result<Batch>>) -> Result<Option<()>> {
        match batch.transpose() {
            Ok(Some(batch)) => {
                self.current = batch.records.into();
                self.begun = true;
                Ok(Some(()))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.fail();
                Err(error)
            }
        }
    }
}

/// The lock, unless another thread has it.
fn free<T>(lock: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => invalid("scan", "another thread is using it"),
        TryLockError::Poisoned(_) => Error::new(
            ErrorKind::Internal,
            "the scan ended because of a bug in libtalentdata; please report it",
        ),
    })
}

pub(crate) fn ended() -> Error {
    let message = "the scan has ended with an error; start another one";
    Error::new(ErrorKind::Closed, message)
}
