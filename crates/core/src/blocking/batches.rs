//! A scan in Arrow record batches, for callers without an async runtime.

use super::Stop;
use super::engine::Engine;
use super::scan::{begun_before_fork, cancelled};
use crate::arrow::{BatchScan as AsyncScan, RecordBatch, SchemaRef};
use crate::error::Result;
use crate::scan::Receipt;
use std::sync::Arc;

/// The record batches of a list, in order; an `Iterator` of `Result<RecordBatch>`.
pub struct BatchScan {
    // Dropped before its engine, and never in another process.
    scan: Option<AsyncScan>,
    engine: Arc<Engine>,
    stop: Stop,
}

impl BatchScan {
    pub(super) fn new(scan: AsyncScan, engine: Arc<Engine>, stop: Stop) -> Self {
        BatchScan {
            scan: Some(scan),
            engine,
            stop,
        }
    }

    /// See [`AsyncScan::schema`].
    ///
    /// # Errors
    /// As there; `Cancelled` when stopped.
    pub fn schema(&mut self) -> Result<SchemaRef> {
        let (engine, stop) = (Arc::clone(&self.engine), self.stop.clone());
        let scan = self.running()?;
        let waited = engine.wait(&stop, scan.schema())?;
        waited.unwrap_or_else(|| Err(cancelled()))
    }

    /// What has been done so far; final once the scan has ended.
    pub fn receipt(&self) -> Receipt {
        match &self.scan {
            Some(scan) if !self.engine.is_foreign() => scan.receipt(),
            _ => Receipt::default(),
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let (engine, stop) = (Arc::clone(&self.engine), self.stop.clone());
        let scan = self.running()?;
        match engine.wait(&stop, scan.next())? {
            Some(batch) => batch.transpose(),
            None => Err(cancelled()),
        }
    }

    fn running(&mut self) -> Result<&mut AsyncScan> {
        if self.engine.is_foreign() {
            return Err(begun_before_fork());
        }
        self.scan.as_mut().ok_or_else(cancelled)
    }
}

impl Iterator for BatchScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Drop for BatchScan {
    fn drop(&mut self) {
        if self.engine.is_foreign() {
            std::mem::forget(self.scan.take());
        }
    }
}
