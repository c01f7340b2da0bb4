//! Runs a scan into a sink, for example the file of an export, until the end of the list, an error, or a stop.
//!
//! The sink works on a thread of its own. Writing may block for any time, for example if nobody reads a pipe. Neither
//! the runtime nor the end of the run waits for that.

use crate::error::{Error, ErrorKind, Result, system_text};
use crate::scan::{Batch, Receipt, Resume, Scan};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// A request to stop. All clones are stopped together.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Stops permanently.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when [`stop`](Self::stop) is called.
    pub async fn stopped(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// A destination for the batches of a scan, for example a file. Its methods may block.
pub trait Sink: Send + 'static {
    /// The name of the work in messages, for example `export`.
    const NAME: &'static str;

    /// The result of the work.
    type Done: Send + 'static;

    /// Returns the point from which the scan continues; `None` if it starts at the beginning.
    fn resume(&mut self) -> Option<Resume> {
        None
    }

    /// Takes a batch, and returns the receipt of all work so far, including earlier runs.
    ///
    /// # Errors
    /// The errors of the output, which end the run.
    fn write(&mut self, batch: Batch) -> Result<Receipt>;

    /// Completes the work at the end of the scan. `receipt` is the receipt of this run.
    ///
    /// # Errors
    /// The errors of the output.
    fn finish(&mut self, receipt: Receipt) -> Result<Self::Done>;

    /// Keeps the data from which a later run can continue, and removes everything else. Adds the kept data to the
    /// message of the error.
    fn abandon(self, error: Error) -> Error;
}

/// Opens a sink with `open`, begins a scan with `scan` at the point from which the sink continues, and runs the scan
/// into the sink.
///
/// `progress` is called after each page. When `stop` completes, the sink is abandoned and the run ends with
/// `Cancelled`. With a `patience`, the run ends after that time even if the sink did not return. This is for outputs
/// that may block forever. Dropping the future is like killing the process: nothing is cleaned up.
///
/// # Errors
/// The errors of the scan and of the sink; `Cancelled` if stopped.
pub async fn run<S: Sink>(
    open: impl FnOnce() -> Result<S> + Send + 'static,
    patience: Option<Duration>,
    scan: impl FnOnce(Option<Resume>) -> Scan,
    stop: impl Future<Output = ()>,
    mut progress: impl FnMut(&Receipt),
) -> Result<S::Done> {
    let worker = Worker::start(patience)?;
    let mut stop = std::pin::pin!(stop);
    let work = async {
        let begin = worker.call(move |sink| Ok(sink.insert(open()?).resume()));
        let mut scan = scan(unless_stopped::<S, _>(&mut stop, begin).await?);
        let next = async |scan: &mut Scan| scan.next_batch().await.transpose();
        while let Some(batch) = unless_stopped::<S, _>(&mut stop, next(&mut scan)).await? {
            let written = worker.call(|sink| of(sink)?.write(batch));
            progress(&unless_stopped::<S, _>(&mut stop, written).await?);
        }
        let receipt = scan.receipt();
        let finished = worker.call(|sink| of(sink)?.finish(receipt));
        match patience {
            Some(_) => unless_stopped::<S, _>(&mut stop, finished).await,
            // A sink that cannot block is finished even if it is stopped now, so near to its end.
            None => finished.await,
        }
    };
    match work.await {
        Ok(done) => Ok(done),
        Err(error) => Err(worker.abandon(error).await),
    }
}

/// Returns the outcome of the work, unless it is stopped first.
async fn unless_stopped<S: Sink, T>(
    stop: impl Future<Output = ()>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        () = stop => {
            let message = format!("the {} was stopped", S::NAME);
            Err(Error::new(ErrorKind::Cancelled, message))
        }
        done = work => done,
    }
}

/// Work for the thread of a sink.
type Task<S> = Box<dyn FnOnce(&mut Option<S>) + Send>;

/// The thread of a sink. Dropping this ends the thread and drops the sink.
struct Worker<S> {
    tasks: Option<Sender<Task<S>>>,
    thread: Option<JoinHandle<()>>,
    patience: Option<Duration>,
}

impl<S: Sink> Worker<S> {
    fn start(patience: Option<Duration>) -> Result<Self> {
        let (tasks, received) = channel::<Task<S>>();
        let thread = std::thread::Builder::new().name(format!("talentdata-{}", S::NAME));
        let thread = thread.spawn(move || {
            let mut sink = None;
            received.into_iter().for_each(|task| task(&mut sink));
        });
        let thread = thread.map_err(|error| {
            let message = format!("no thread for the {}: {}", S::NAME, system_text(&error));
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok(Worker {
            tasks: Some(tasks),
            thread: Some(thread),
            patience,
        })
    }

    /// Runs a task on the thread, after all tasks that were sent to it before.
    fn call<R: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Option<S>) -> Result<R> + Send + 'static,
    ) -> impl Future<Output = Result<R>> {
        let (sender, receiver) = oneshot::channel();
        let task: Task<S> = Box::new(|sink| drop(sender.send(task(sink))));
        // If the thread panicked, nobody answers.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
        async { receiver.await.unwrap_or_else(|_| Err(lost())) }
    }

    async fn abandon(&self, error: Error) -> Error {
        let given = error.clone();
        let abandoned = self.call(|sink| match sink.take() {
            Some(sink) => Ok(sink.abandon(error)),
            None => Ok(error),
        });
        let Some(patience) = self.patience else {
            return abandoned.await.unwrap_or(given);
        };
        match tokio::time::timeout(patience, abandoned).await {
            Ok(abandoned) => abandoned.unwrap_or(given),
            Err(_) => {
                let message = format!("{}; its output is incomplete", given.message());
                given.with_message(message)
            }
        }
    }
}

impl<S> Drop for Worker<S> {
    fn drop(&mut self) {
        self.tasks = None;
        // From then on, an output that cannot block is free for others.
        if let (None, Some(thread)) = (self.patience, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn of<S>(sink: &mut Option<S>) -> Result<&mut S> {
    sink.as_mut().ok_or_else(lost)
}

fn lost() -> Error {
    Error::panicked("the thread of an output")
}
