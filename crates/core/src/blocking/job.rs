//! Work that takes long, for callers without an async runtime: any number of threads may look at it or stop it, and one at
//! a time may run it.

use super::engine::Engine;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Receipt;
use crate::stop::Stop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an export and a sync have in common. It lives on when its client is closed. In a forked child, a job of the
/// parent is `Closed`.
pub struct Job {
    engine: Arc<Engine>,
    stop: Stop,
    reached: Reached,
    /// Locked while it runs.
    running: Mutex<()>,
    /// What it is called, and who runs it.
    names: [&'static str; 2],
}

/// How far it is.
#[derive(Clone)]
pub struct Reached(Arc<Mutex<Receipt>>);

impl Reached {
    /// Notes it.
    pub fn note(&self, receipt: &Receipt) {
        *self.lock() = receipt.clone();
    }

    fn lock(&self) -> MutexGuard<'_, Receipt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    pub(super) fn new(engine: Arc<Engine>, receipt: Receipt, names: [&'static str; 2]) -> Self {
        Job {
            engine,
            stop: Stop::default(),
            reached: Reached(Arc::new(Mutex::new(receipt))),
            running: Mutex::new(()),
            names,
        }
    }

    /// Stops it from any thread.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Runs `work` on the client's own threads, so that a broken pipe raises no signal in the calling thread. The work
    /// itself listens to the stop, because it has something to keep or to remove.
    ///
    /// # Errors
    /// Those of the work; `InvalidArgument` while another thread runs it; `Cancelled` after a stop; `Closed` in a forked child.
    pub fn run<T, F>(&self, work: impl FnOnce(Client, Stop, Reached) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.engine.parts()?;
        let [what, who] = self.names;
        let Ok(_running) = self.running.try_lock() else {
            let message = format!("{who}: another thread is running it");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        };
        let stopped = || Error::new(ErrorKind::Cancelled, format!("the {what} was stopped"));
        if self.stop.is_stopped() {
            return Err(stopped());
        }
        let (stop, reached) = (self.stop.clone(), self.reached.clone());
        let done = self
            .engine
            .run(&Stop::default(), move |client| work(client, stop, reached))?;
        done.ok_or_else(stopped)
    }

    /// How far it is, by earlier runs too; it is also there after an error.
    pub fn receipt(&self) -> Receipt {
        match self.engine.is_foreign() {
            // The lock may have been held by a thread that the fork left behind.
            true => Receipt::default(),
            false => self.reached.lock().clone(),
        }
    }
}
