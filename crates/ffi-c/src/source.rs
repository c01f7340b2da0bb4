//! What a scan handle reads from; shared with a call of another thread that outlives the handle.

use crate::boundary::invalid;
use crate::descriptor::SelfPipe;
use crate::record::Record;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::task::{Poll, Waker};
use talentdata_columns::blocking::{BatchScan, Scan};
use talentdata_core::scan::Receipt;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// A scan, and what tells that it has something to say.
pub(crate) struct Source {
    scan: Scan,
    resource: Resource,
    /// Held by the one thread that uses the scan.
    in_use: Mutex<()>,
    /// Whether there is an Arrow stream, which may outlive the handle.
    streamed: AtomicBool,
    pub(crate) self_pipe: OnceLock<Arc<SelfPipe>>,
}

impl Source {
    pub(crate) fn new(scan: Scan, resource: Resource) -> Self {
        Source {
            scan,
            resource,
            in_use: Mutex::new(()),
            streamed: AtomicBool::new(false),
            self_pipe: OnceLock::new(),
        }
    }

    /// Waits for the next record; none at the end of the list.
    pub(crate) fn next(&self) -> Result<Option<Record>> {
        let _in_use = self.enter()?;
        Ok(self.scan.next_record()?.map(|raw| self.record(raw)))
    }

    /// The same without waiting.
    pub(crate) fn poll_next(&self) -> Result<Poll<Option<Record>>> {
        let _in_use = self.enter()?;
        loop {
            if let Some(raw) = self.scan.next_received() {
                return Ok(Poll::Ready(Some(self.record(raw))));
            }
            let self_pipe = self.self_pipe.get();
            let waker = match self_pipe {
                Some(self_pipe) => {
                    // Before the look, so that what comes after it rings again.
                    self_pipe.clear();
                    Waker::from(Arc::clone(self_pipe))
                }
                None => Waker::noop().clone(),
            };
            let Poll::Ready(more) = self.scan.poll_fill(&waker) else {
                return Ok(Poll::Pending);
            };
            if let Some(self_pipe) = self_pipe {
                self_pipe.notify();
            }
            if !more? {
                return Ok(Poll::Ready(None));
            }
        }
    }

    /// The scan as record batches.
    pub(crate) fn batches(&self) -> Result<BatchScan> {
        let _in_use = self.enter()?;
        let batches = self.scan.batches()?;
        self.streamed.store(true, Ordering::Relaxed);
        Ok(batches)
    }

    pub(crate) fn receipt(&self) -> Result<Receipt> {
        let _in_use = self.enter()?;
        Ok(self.scan.receipt())
    }

    /// Called when the handle is freed: only a stream may still take records.
    pub(crate) fn leave(&self) {
        if !self.streamed.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    pub(crate) fn stop(&self) {
        self.scan.close();
        if let Some(self_pipe) = self.self_pipe.get() {
            self_pipe.notify();
        }
    }

    fn record(&self, raw: RawRecord) -> Record {
        Record::new(raw, Some(self.resource))
    }

    /// Keeps other threads out.
    fn enter(&self) -> Result<MutexGuard<'_, ()>> {
        self.in_use.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => invalid("scan", "another thread is using it"),
            TryLockError::Poisoned(_) => Error::new(
                ErrorKind::Internal,
                "the scan ended because of a bug in libtalentdata; please report it",
            ),
        })
    }
}
