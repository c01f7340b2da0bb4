//! Work that takes long, for callers without an async runtime: any number of threads may look at it or stop it, and one at
//! a time may run it.

use super::Client;
use super::engine::Engine;
use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Receipt;
use crate::stop::Stop;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

type Work<T> = Box<
    dyn Fn(AsyncClient, Stop, Progress) -> Pin<Box<dyn Future<Output = Result<T>> + Send>>
        + Send
        + Sync,
>;

/// An export, a sync, or other work of a client. It lives on when its client is closed. In a forked child, a job of the
/// parent is `Closed`.
pub struct Job<T> {
    engine: Arc<Engine>,
    stop: Stop,
    progress: Progress,
    work: Work<T>,
    /// Locked while it runs.
    running: Mutex<()>,
    /// What it is called.
    name: &'static str,
}

/// How far a job is.
#[derive(Clone, Default)]
pub struct Progress(Arc<Mutex<Receipt>>);

impl Progress {
    /// Notes how far it is.
    pub fn note(&self, receipt: &Receipt) {
        *self.lock() = receipt.clone();
    }

    fn lock(&self) -> MutexGuard<'_, Receipt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Job<T> {
    /// A job called `name`, such as `export`, that has not begun. The work listens to the stop itself, because it has
    /// something to keep or to remove.
    ///
    /// # Errors
    /// `Closed` when the client was closed.
    pub fn new<F>(
        client: &Client,
        name: &'static str,
        begin: &Receipt,
        work: impl Fn(AsyncClient, Stop, Progress) -> F + Send + Sync + 'static,
    ) -> Result<Self>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let progress = Progress::default();
        progress.note(begin);
        Ok(Job {
            engine: client.engine()?,
            stop: Stop::default(),
            progress,
            work: Box::new(move |client, stop, progress| Box::pin(work(client, stop, progress))),
            running: Mutex::new(()),
            name,
        })
    }

    /// Stops it from any thread: when it is running, it fails with `Cancelled`, and so does every later run.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Runs it to its end, or until it is stopped. After an error it may be run again.
    ///
    /// It runs on the client's own threads, so that a broken pipe raises no signal in the calling thread.
    ///
    /// # Errors
    /// Those of the work; `InvalidArgument` while another thread runs it; `Closed` in a forked child.
    pub fn run(&self) -> Result<T> {
        self.engine.parts()?;
        let _running = match self.running.try_lock() {
            Ok(running) => running,
            // A panic in another thread that ran it has left nothing behind.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message = format!("{}: another thread is running it", self.name);
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        };
        let stopped = || {
            Error::new(
                ErrorKind::Cancelled,
                format!("the {} was stopped", self.name),
            )
        };
        if self.stop.is_stopped() {
            return Err(stopped());
        }
        let (stop, progress) = (self.stop.clone(), self.progress.clone());
        let done = self.engine.run(&Stop::default(), |client| {
            (self.work)(client, stop, progress)
        })?;
        done.ok_or_else(stopped)
    }

    /// How far it is; it is also there after an error.
    pub fn progress(&self) -> Receipt {
        match self.engine.is_foreign() {
            // The lock may have been held by a thread that the fork left behind.
            true => Receipt::default(),
            false => self.progress.lock().clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_it_ran_does_not_keep_it_from_running() {
        let mut builder = Client::builder();
        builder
            .base_url("http://127.0.0.1:9")
            .client_id("a")
            .client_secret("12345678");
        let client = Client::new(&builder).unwrap();
        let work = |_, _, _| async { Ok(7) };
        let job = Job::new(&client, "export", &Receipt::default(), work).unwrap();
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _running = job.running.lock();
                panic!("as a caller's signal handler may");
            });
            assert!(panics.join().is_err());
        });
        assert_eq!(job.run().unwrap(), 7);
    }
}
