//! The same verbs for callers without an async runtime.

use crate::arguments::Arguments;
use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::process::{self, Owned};
use crate::scan::Receipt;
use crate::settings::{Builder, Config};
use crate::sink::Stop;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::time::Duration;
use talentdata_types::Operation;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A client that blocks the calling thread; clones may be used from several threads.
///
/// It works on in a forked child, with threads and connections of the child's own.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

/// The state that all clones of a client share.
struct ClientState {
    engine: Arc<Engine>,
    engine_config: EngineConfig,
    closed: Stop,
}

impl Client {
    /// Settings to make a client from; pass them to [`Client::new`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Checks the settings and makes a client with a runtime of its own, without sending anything.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Internal` when the system grants no threads.
    pub fn new(builder: &Builder) -> Result<Self> {
        Self::with_thread_start(builder, || ())
    }

    /// Makes a client as [`new`](Self::new) does, whose threads each call `start` first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_thread_start(
        builder: &Builder,
        start: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        let engine_config = EngineConfig {
            config: builder.config()?,
            on_thread_start: Arc::new(start),
        };
        Ok(Client(Arc::new(ClientState {
            engine: Engine::new(&engine_config)?,
            engine_config,
            closed: Stop::default(),
        })))
    }

    /// Ends the calls under way in other threads, and all later ones, with `Closed`. Scans continue.
    pub fn close(&self) {
        self.0.closed.stop();
    }

    /// See [`AsyncClient::invoke`].
    ///
    /// # Errors
    /// As there.
    pub fn invoke(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<Option<String>> {
        self.run(move |client| async move { client.invoke(operation, arguments).await })
    }

    /// Runs a verb of the client to its end. It runs on the client's own threads, so that the calling thread sees none
    /// of its signals.
    ///
    /// # Errors
    /// Those of the verb; `Closed` after [`close`](Self::close), which also ends it.
    pub fn run<T, F>(&self, verb: impl FnOnce(AsyncClient) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let done = self.engine()?.run(&self.0.closed, verb)?;
        done.ok_or_else(closed)
    }

    /// The threads of this client in this process, and its async twin, for scans and jobs that outlive it.
    ///
    /// # Errors
    /// `Closed` after [`close`](Self::close).
    pub fn engine(&self) -> Result<Arc<Engine>> {
        if self.0.closed.is_stopped() {
            return Err(closed());
        }
        self.0.engine.here(&self.0.engine_config)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed")
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Client")
            .field(&self.0.engine_config.config)
            .finish()
    }
}

/// A function that each thread of a runtime calls when it starts.
type ThreadStart = Arc<dyn Fn() + Send + Sync>;

/// A name lookup of the system cannot be interrupted; nobody waits longer for one at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of an engine, from which a forked child makes another one.
struct EngineConfig {
    config: Config,
    on_thread_start: ThreadStart,
}

/// A runtime and its client. After a fork the child makes another one: threads do not survive it,
/// and what they held must not be touched, not even to drop it.
pub struct Engine {
    /// Present until the drop.
    parts: Owned<(AsyncClient, Runtime)>,
    /// What a forked child uses instead.
    child: OnceLock<Arc<Engine>>,
}

impl Engine {
    fn new(engine_config: &EngineConfig) -> Result<Arc<Self>> {
        let client = AsyncClient::new(engine_config.config.clone())?;
        let start = Arc::clone(&engine_config.on_thread_start);
        let runtime = process::runtime(2, move || start())?;
        Ok(Arc::new(Engine {
            parts: Owned::new((client, runtime)),
            child: OnceLock::new(),
        }))
    }

    /// The engine of the process that asks.
    fn here(self: &Arc<Self>, engine_config: &EngineConfig) -> Result<Arc<Self>> {
        if !self.is_foreign() {
            return Ok(Arc::clone(self));
        }
        if let Some(child) = self.child.get() {
            return child.here(engine_config);
        }
        let made = Engine::new(engine_config)?;
        Ok(Arc::clone(self.child.get_or_init(|| made)))
    }

    /// Returns whether it was made before a fork, in the parent.
    pub fn is_foreign(&self) -> bool {
        self.parts.get().is_none()
    }

    /// Runs a verb to its end, or until `stop` is said.
    ///
    /// It runs on the engine's own threads, so that the calling thread sees none of its signals.
    fn run<T, F>(&self, stop: &Stop, verb: impl FnOnce(AsyncClient) -> F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (client, runtime) = self.parts()?;
        // It ends with this call.
        let mut task = JoinSet::new();
        task.spawn_on(verb(client.clone()), runtime.handle());
        let done = self.wait(async {
            tokio::select! {
                biased;
                () = stop.stopped() => None,
                done = task.join_next() => done,
            }
        })?;
        done.map(|done| done.unwrap_or_else(|_| Err(Error::panicked("a call"))))
            .transpose()
    }

    /// Waits for `future` on the calling thread.
    ///
    /// # Errors
    /// `InvalidArgument` within an async runtime; `Closed` in a forked child, and in a thread that is ending.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let (_, runtime) = self.parts()?;
        if process::thread_is_ending() {
            let message = "the calling thread is ending; make calls before its thread-local and static objects are destroyed";
            return Err(Error::new(ErrorKind::Closed, message));
        }
        if Handle::try_current().is_ok() {
            return Err(Error::invalid(
                "a blocking call was made from within an async runtime or from a log callback",
            ));
        }
        let done = runtime.block_on(future);
        process::watch_thread();
        Ok(done)
    }

    /// The async client and its runtime.
    ///
    /// # Errors
    /// `Closed` in a forked child.
    pub fn parts(&self) -> Result<&(AsyncClient, Runtime)> {
        self.parts.get().ok_or_else(|| {
            let message =
                "it was made by the parent process, before a fork; create another one here";
            Error::new(ErrorKind::Closed, message)
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else {
            return;
        };
        let shut_down = |(client, runtime): (AsyncClient, Runtime)| {
            let closed = client.closed();
            drop(client);
            runtime.block_on(closed);
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        };
        // A static or a thread-local of C++: tokio needs values of a thread that are gone here.
        let is_ending = process::thread_is_ending();
        if !is_ending && Handle::try_current().is_err() {
            return shut_down(parts);
        }
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new();
        match thread.spawn(move || receiver.recv().map(shut_down)) {
            Ok(thread) => {
                let _ = sender.send(parts);
                // On one of its own threads, waiting for the end would be waiting for itself.
                let _ = is_ending.then(|| thread.join());
            }
            // The system grants no thread, and dropping a runtime here would panic.
            Err(_) => parts.1.shutdown_background(),
        }
    }
}

/// The work of a job, which can be run again.
type JobFn<T> = Box<
    dyn Fn(AsyncClient, Stop, JobProgress) -> Pin<Box<dyn Future<Output = Result<T>> + Send>>
        + Send
        + Sync,
>;

/// An export, a sync, or other work of a client. It lives on when its client is closed. In a forked child, a job of the
/// parent is `Closed`.
pub struct Job<T> {
    engine: Arc<Engine>,
    stop: Stop,
    progress: JobProgress,
    work: JobFn<T>,
    /// Locked while it runs.
    running: Mutex<()>,
    /// The name in messages.
    name: &'static str,
}

/// The progress of a job.
#[derive(Clone, Default)]
pub struct JobProgress(Arc<watch::Sender<Receipt>>);

impl JobProgress {
    /// Sets the progress to this receipt.
    pub fn note(&self, receipt: &Receipt) {
        self.0.send_replace(receipt.clone());
    }

    /// Returns the receipt that was noted last.
    pub fn receipt(&self) -> Receipt {
        self.0.borrow().clone()
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
        work: impl Fn(AsyncClient, Stop, JobProgress) -> F + Send + Sync + 'static,
    ) -> Result<Self>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let progress = JobProgress::default();
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
                return Err(Error::invalid(message));
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

    /// Returns the receipt of the work so far, also after an error.
    pub fn progress(&self) -> Receipt {
        if self.engine.is_foreign() {
            // The lock may have been held by a thread that the fork left behind.
            Receipt::default()
        } else {
            self.progress.receipt()
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
