//! The client for callers without an async runtime.

mod begun;

pub use crate::doctor::diagnose_blocking as diagnose;
pub use begun::Begun;

use crate::arguments::Arguments;
use crate::client::Client as AsyncClient;
use crate::error::{Error, ErrorKind, Result};
use crate::process::{self, Owned};
use crate::record::RawRecord;
use crate::scan::{Receipt, Scan, ScanOptions};
use crate::settings::{Builder, Config};
use crate::sink::Stop;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use talentdata_types::{ListName, Operation};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A client that blocks the calling thread. Clones may be used from several threads.
///
/// It continues to work in a forked child, with threads and connections of the child's own.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = talentdata_core::blocking::Client::new(&settings)?;
/// let version = client.version()?;
/// assert!(!version.version.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

/// The state that all clones of a client share.
struct ClientState {
    engine: Arc<Engine>,
    engine_config: EngineConfig,
    closed: Stop,
}

impl Client {
    /// Returns a builder for the settings of a client. Pass it to [`Client::new`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Checks the settings and creates a client with a runtime of its own. Nothing is sent.
    ///
    /// # Errors
    /// `Config`, naming the setting; `Internal` if the system grants no threads.
    pub fn new(builder: &Builder) -> Result<Self> {
        Self::with_thread_start(builder.config()?, || ())
    }

    /// Creates a client like [`new`](Self::new). Each of its threads calls `start` first.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn with_thread_start(
        config: Config,
        start: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        let engine_config = EngineConfig {
            config,
            on_thread_start: Arc::new(start),
        };
        Ok(Client(Arc::new(ClientState {
            engine: Engine::new(&engine_config)?,
            engine_config,
            closed: Stop::default(),
        })))
    }

    /// Ends the calls under way in other threads, and all later calls, with `Closed`. Scans continue.
    pub fn close(&self) {
        self.0.closed.stop();
    }

    /// Calls an operation, like [`AsyncClient::invoke`].
    ///
    /// # Errors
    /// The errors of [`AsyncClient::invoke`].
    pub fn invoke(
        &self,
        operation: &'static Operation,
        arguments: Arguments,
    ) -> Result<Option<String>> {
        self.run(move |client| async move { client.invoke(operation, arguments).await })
    }

    /// Starts to read a list, and returns an iterator over its records.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// use talentdata_core::{ListName, ScanOptions};
    ///
    /// let mut records = client.scan(ListName::Contacts, ScanOptions::default())?;
    /// for record in &mut records {
    ///     println!("{}", record?.as_str());
    /// }
    /// assert_eq!(records.receipt().require_proven()?.records, 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Closed` after [`close`](Self::close).
    pub fn scan(&self, resource: ListName, options: ScanOptions) -> Result<RecordIterator> {
        let engine = self.engine()?;
        let (client, runtime) = engine.parts()?;
        let entered = runtime.enter();
        let scan = Owned::new(client.resource(resource).scan(options));
        drop(entered);
        Ok(RecordIterator {
            scan,
            engine,
            failed: false,
        })
    }

    /// Runs a call and waits for its result. The call runs on the client's own threads, so the calling thread receives
    /// none of its signals.
    ///
    /// # Errors
    /// The errors of the call; `Closed` after [`close`](Self::close), which also ends a running call.
    pub fn run<T, F>(&self, call: impl FnOnce(AsyncClient) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let done = self.engine()?.run(&self.0.closed, call)?;
        done.ok_or_else(closed)
    }

    /// Starts a call without waiting for it. `deadline` limits it in addition to the setting `timeout`. It must be
    /// positive, and at most a day.
    ///
    /// # Errors
    /// `InvalidArgument` for a deadline out of range; `Closed` after [`close`](Self::close), which also ends a running
    /// call. The result contains the call's own errors.
    pub fn begin<T, F>(
        &self,
        deadline: Option<Duration>,
        call: impl FnOnce(AsyncClient) -> F,
    ) -> Result<Begun<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        if deadline.is_some_and(|limit| limit.is_zero() || limit > LONGEST_DEADLINE) {
            return Err(Error::invalid(
                "the deadline must be between 0.001 and 86,400 s",
            ));
        }
        let engine = self.engine()?;
        let (client, _) = engine.parts()?;
        let (stop, closed) = (Stop::default(), self.0.closed.clone());
        let call = begun::limited(call(client.clone()), deadline, stop.clone(), closed);
        Begun::new(engine, stop, call)
    }

    /// Returns the threads of this client in this process, and its async client, for scans and jobs that outlive the
    /// client.
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

/// An iterator over every record of a list, in order and as the service sent it. It continues after its client is
/// closed.
///
/// Items are `Result<RawRecord>`, and an error is the last item. In a forked child, an iterator of the parent fails
/// with `Closed`.
#[derive(Debug)]
pub struct RecordIterator {
    // Dropped before its engine, which makes its requests.
    scan: Owned<Scan>,
    engine: Arc<Engine>,
    failed: bool,
}

impl RecordIterator {
    /// Returns the receipt of the records that were returned so far. It is final once the iterator ended.
    pub fn receipt(&self) -> Receipt {
        self.scan.get().map(Scan::receipt).unwrap_or_default()
    }
}

impl Iterator for RecordIterator {
    type Item = Result<RawRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let scan = self.scan.get_mut();
        let next = async { scan?.next().await };
        let next = self
            .engine
            .wait(next)
            .unwrap_or_else(|error| Some(Err(error)));
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// A function that each thread of a runtime calls when it starts.
type ThreadStart = Arc<dyn Fn() + Send + Sync>;

/// The longest deadline of a call.
const LONGEST_DEADLINE: Duration = Duration::from_secs(86_400);

/// Limits the wait for a name lookup at shutdown. The system's lookup cannot be interrupted.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of an engine, from which a forked child creates its own engine.
struct EngineConfig {
    config: Config,
    on_thread_start: ThreadStart,
}

/// A runtime and its client. After a fork the child creates another one. The parent's threads do not exist in the
/// child, and the values that they held must not be used or even dropped there.
#[derive(Debug)]
pub struct Engine {
    /// Present until the drop.
    parts: Owned<(AsyncClient, Runtime)>,
    /// The engine that a forked child uses instead.
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

    /// Returns the engine of the current process.
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

    /// Returns whether the engine was created by the parent, before a fork.
    pub fn is_foreign(&self) -> bool {
        self.parts.get().is_none()
    }

    /// Runs a call to its end, or until `stop`.
    ///
    /// It runs on the engine's own threads, so the calling thread receives none of its signals.
    fn run<T, F>(&self, stop: &Stop, call: impl FnOnce(AsyncClient) -> F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (client, runtime) = self.parts()?;
        // Dropping the set at the end of this call cancels the task.
        let mut task = JoinSet::new();
        task.spawn_on(call(client.clone()), runtime.handle());
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
        if process::is_runtime_thread() {
            return Err(Error::invalid(
                "a blocking call was made from within an async runtime or from a log callback",
            ));
        }
        let done = runtime.block_on(future);
        process::watch_thread();
        Ok(done)
    }

    /// Returns the async client and its runtime.
    ///
    /// # Errors
    /// `Closed` in a forked child, and in a thread that is ending.
    pub fn parts(&self) -> Result<&(AsyncClient, Runtime)> {
        process::check_thread()?;
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
        // In a destructor of a static or thread-local object of C++, the thread-local values that tokio needs are gone.
        // One of the runtime's own threads would wait for itself.
        let is_ours = process::is_runtime_thread();
        if !is_ours && !process::thread_is_ending() {
            return shut_down(parts);
        }
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new();
        match thread.spawn(move || receiver.recv().map(shut_down)) {
            Ok(thread) => {
                let _ = sender.send(parts);
                let _ = (!is_ours).then(|| thread.join());
            }
            // The system grants no thread, and dropping a runtime here would panic.
            Err(_) => parts.1.shutdown_background(),
        }
    }
}

/// The work of a job, which can be repeated.
type JobFn<T> = Box<
    dyn Fn(AsyncClient, Stop, JobProgress) -> Pin<Box<dyn Future<Output = Result<T>> + Send>>
        + Send
        + Sync,
>;

/// An export, a sync, or other work of a client. Closing the client does not end it. In a forked child, a job of the
/// parent fails with `Closed`.
pub struct Job<T> {
    engine: Arc<Engine>,
    stop: Stop,
    progress: JobProgress,
    work: JobFn<T>,
    /// True while the job runs.
    is_running: Arc<AtomicBool>,
    /// The name for messages.
    name: &'static str,
}

impl<T> std::fmt::Debug for Job<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Job")
            .field("name", &self.name)
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

/// The progress of a job.
#[derive(Clone, Debug, Default)]
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
    /// Creates a job called `name`, for example `export`, that has not begun. The work itself handles the stop, because
    /// it may have files to keep or to remove.
    ///
    /// # Errors
    /// `Closed` if the client was closed.
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
            is_running: Arc::default(),
            name,
        })
    }

    /// Returns a handle that stops the job from any thread. A running job then fails with `Cancelled`, and so does
    /// every later run.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Runs the job to its end, or until it is stopped. After an error it may be run again.
    ///
    /// It runs on the client's own threads, so a broken pipe raises no signal in the calling thread.
    ///
    /// # Errors
    /// The errors of the work; `InvalidArgument` while another thread runs the job; `Closed` in a forked child.
    pub fn run(&self) -> Result<T> {
        let _running = self.enter()?;
        let (stop, progress) = (self.stop.clone(), self.progress.clone());
        let done = self.engine.run(&Stop::default(), |client| {
            (self.work)(client, stop, progress)
        })?;
        done.ok_or_else(|| self.stopped())
    }

    /// Starts the job without waiting for it. After an error the job may be started or run again.
    ///
    /// # Errors
    /// `InvalidArgument` while the job runs; `Cancelled` if it was stopped; `Closed` in a forked child. The result
    /// contains the errors of the work.
    pub fn begin(&self) -> Result<Begun<T>> {
        let running = self.enter()?;
        let (client, _) = self.engine.parts()?;
        let work = (self.work)(client.clone(), self.stop.clone(), self.progress.clone());
        let work = async move {
            let done = work.await;
            drop(running);
            done
        };
        Begun::new(Arc::clone(&self.engine), self.stop.clone(), work)
    }

    /// Excludes other runs until the returned value is dropped.
    fn enter(&self) -> Result<Running> {
        self.engine.parts()?;
        if self.stop.is_stopped() {
            return Err(self.stopped());
        }
        if self.is_running.swap(true, Ordering::AcqRel) {
            let message = format!("{}: another thread is running it", self.name);
            return Err(Error::invalid(message));
        }
        Ok(Running(Arc::clone(&self.is_running)))
    }

    fn stopped(&self) -> Error {
        let message = format!("the {} was stopped", self.name);
        Error::new(ErrorKind::Cancelled, message)
    }

    /// Returns the receipt of the work so far, also after an error.
    pub fn progress(&self) -> Receipt {
        if self.engine.is_foreign() {
            // A thread that does not exist in this process may have held the lock.
            Receipt::default()
        } else {
            self.progress.receipt()
        }
    }
}

/// A run of a job. The job can run again after this is dropped, even by a panic.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_can_run_after_a_panic_in_an_earlier_run() {
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
                let _running = job.enter();
                panic!("as a caller's signal handler may");
            });
            assert!(panics.join().is_err());
        });
        assert_eq!(job.run().unwrap(), 7);
    }
}
