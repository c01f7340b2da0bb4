//! A scan for callers without an async runtime: waits, polls with a waker, and stops from any thread.

use super::Stop;
use super::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;
use crate::scan::{Batch, Receipt, Scan as AsyncScan};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Every record of a list, in order; an `Iterator` of `Result<RawRecord>`.
///
/// It lives on when its client is closed. In a forked child, a scan that was begun by the parent is
/// `Closed`.
pub struct Scan {
    // Dropped before its engine, and never in another process; none once it was stopped.
    scan: Option<AsyncScan>,
    engine: Arc<Engine>,
    stop: Stop,
    current: VecDeque<RawRecord>,
    receipt: Receipt,
}

impl Scan {
    pub(super) fn new(scan: AsyncScan, engine: Arc<Engine>) -> Self {
        Scan {
            receipt: scan.receipt(),
            scan: Some(scan),
            engine,
            stop: Stop::default(),
            current: VecDeque::new(),
        }
    }

    /// Stops this scan from any thread: a call that waits, and every later one, fails with `Cancelled`.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// The records of the next page that holds new ones; `None` at the end of the list.
    ///
    /// Use either this or the iterator: records of a page that was begun there are not repeated here.
    pub fn next_batch(&mut self) -> Option<Result<Batch>> {
        let scan = match running(&mut self.scan, &self.engine) {
            Ok(scan) => scan,
            Err(error) => return Some(Err(error)),
        };
        match self.engine.wait(&self.stop, scan.next_batch()) {
            Ok(Some(batch)) => batch,
            Ok(None) => Some(Err(self.cancel())),
            Err(error) => Some(Err(error)),
        }
    }

    /// The same without waiting; when nothing is there yet, `waker` is woken as soon as something is.
    ///
    /// A stop wakes nobody: whoever stops a scan that is polled tells the poller.
    pub fn poll_batch(&mut self, waker: &Waker) -> Poll<Option<Result<Batch>>> {
        if self.stop.is_stopped() {
            return Poll::Ready(Some(Err(self.cancel())));
        }
        match running(&mut self.scan, &self.engine) {
            // A waker stays registered when the future that brought it is gone.
            Ok(scan) => pin!(scan.next_batch()).poll(&mut Context::from_waker(waker)),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// The records not yet taken as Arrow record batches; see [`AsyncScan::into_batches`].
    ///
    /// # Errors
    /// `Cancelled` when stopped; `Closed` in a forked child.
    pub fn into_batches(mut self, rows: usize) -> Result<super::BatchScan> {
        running(&mut self.scan, &self.engine)?;
        let mut scan = self.scan.take().ok_or_else(cancelled)?;
        scan.take_back(std::mem::take(&mut self.current));
        let scan = scan.into_batches(rows);
        let engine = Arc::clone(&self.engine);
        Ok(super::BatchScan::new(scan, engine, self.stop.clone()))
    }

    /// What has been done so far; final once the scan has ended. `records` counts those that the caller was given.
    pub fn receipt(&self) -> Receipt {
        self.received().without(self.current.len())
    }

    fn received(&self) -> Receipt {
        match &self.scan {
            // Its lock may have been held by a thread that the fork left behind.
            Some(scan) if !self.engine.is_foreign() => scan.receipt(),
            _ => self.receipt.clone(),
        }
    }

    /// Ends the requests under way, and keeps what was done for the receipt.
    fn cancel(&mut self) -> Error {
        self.receipt = self.received();
        self.scan = None;
        cancelled()
    }
}

fn running<'a>(scan: &'a mut Option<AsyncScan>, engine: &Engine) -> Result<&'a mut AsyncScan> {
    if engine.is_foreign() {
        return Err(begun_before_fork());
    }
    scan.as_mut().ok_or_else(cancelled)
}

pub(super) fn begun_before_fork() -> Error {
    let message = "the scan was begun before a fork, by the parent process; begin another";
    Error::new(ErrorKind::Closed, message)
}

pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the scan was stopped")
}

impl Iterator for Scan {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.current.pop_front() {
                return Some(Ok(record));
            }
            match self.next_batch()? {
                Ok(batch) => self.current = batch.records.into(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        if self.engine.is_foreign() {
            std::mem::forget(self.scan.take());
        }
    }
}
