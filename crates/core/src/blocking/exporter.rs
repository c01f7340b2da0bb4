//! An export for callers without an async runtime: waits for its end, shows its progress, and is stopped from any thread.

use super::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::export::Export;
use crate::scan::Receipt;
use crate::stop::Stop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An export that any number of threads may look at, and one at a time may run.
///
/// It lives on when its client is closed. In a forked child, an export of the parent is `Closed`.
pub struct Exporter {
    export: Export,
    engine: Arc<Engine>,
    stop: Stop,
    receipt: Arc<Mutex<Receipt>>,
    /// Locked while it runs.
    running: Mutex<()>,
}

impl Exporter {
    pub(super) fn new(export: Export, engine: Arc<Engine>) -> Result<Self> {
        export.check()?;
        Ok(Exporter {
            receipt: Arc::new(Mutex::new(export.scan.receipt(export.resource))),
            export,
            engine,
            stop: Stop::default(),
            running: Mutex::new(()),
        })
    }

    /// Stops this export from any thread: one that is running keeps what can be resumed and fails with
    /// `Cancelled`; every later run fails without touching a file.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Reads the list and writes it, until the end or until it is stopped; see [`Export::run`]. After an error
    /// it may be run again.
    ///
    /// It runs on the client's own threads, so that a broken pipe raises no signal in the calling thread.
    ///
    /// # Errors
    /// As there; `InvalidArgument` while another thread runs it; `Closed` in a forked child.
    pub fn run(&self) -> Result<Receipt> {
        self.engine.parts()?;
        let Ok(_running) = self.running.try_lock() else {
            let message = "exporter: another thread is running it";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        if self.stop.is_stopped() {
            return Err(stopped());
        }
        let (export, stop) = (self.export.clone(), self.stop.clone());
        let receipt = Arc::clone(&self.receipt);
        // The export itself listens to `stop`, because it has something to keep.
        let done = self
            .engine
            .run(&Stop::default(), move |client| async move {
                let note = |reached: &Receipt| *lock(&receipt) = reached.clone();
                let finished = export.run(&client, stop.stopped(), note).await?;
                note(&finished);
                Ok(finished)
            })?;
        done.ok_or_else(stopped)
    }

    /// What has been done so far, by earlier runs too that are resumed; for progress. It is also there after an error.
    pub fn receipt(&self) -> Receipt {
        match self.engine.is_foreign() {
            // The lock may have been held by a thread that the fork left behind.
            true => Receipt::default(),
            false => lock(&self.receipt).clone(),
        }
    }
}

fn lock(receipt: &Mutex<Receipt>) -> MutexGuard<'_, Receipt> {
    receipt.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stopped() -> Error {
    Error::new(ErrorKind::Cancelled, "the export was stopped")
}
