//! A call or a job under way, for callers that do not wait for it: it can be polled, waited for and cancelled.

use super::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::process::lock;
use crate::sink::Stop;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinSet;

/// A call or a job that runs on the threads of its client. Dropping it cancels it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = talentdata_core::blocking::Client::new(&settings)?;
/// use std::time::Duration;
///
/// let deadline = Some(Duration::from_secs(5));
/// let call = client.begin(deadline, |client| async move { client.version().await })?;
/// assert!(!call.wait()?.version.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Begun<T> {
    slot: Arc<Slot<T>>,
    stop: Stop,
    /// Dropped last: it holds the threads that run the call.
    engine: Arc<Engine>,
}

/// The result of a call, and the waker that is woken once the result is ready.
#[derive(Debug)]
struct Slot<T>(Mutex<(Outcome<T>, Waker)>);

#[derive(Debug)]
enum Outcome<T> {
    Pending,
    Done(Result<T>),
    Taken,
}

impl<T: Send + 'static> Begun<T> {
    /// Runs `work` on the threads of `engine`. The work itself reacts to `stop`.
    pub(super) fn new(
        engine: Arc<Engine>,
        stop: Stop,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<Self> {
        let slot = Arc::new(Slot(Mutex::new((Outcome::Pending, Waker::noop().clone()))));
        let (_, runtime) = engine.parts()?;
        let filled = Arc::clone(&slot);
        runtime.spawn(async move {
            let mut task = JoinSet::new();
            task.spawn(work);
            let done = match task.join_next().await {
                Some(Ok(done)) => done,
                _ => Err(Error::panicked("a call")),
            };
            let mut slot = lock(&filled.0);
            slot.0 = Outcome::Done(done);
            let waker = slot.1.clone();
            drop(slot);
            waker.wake();
        });
        Ok(Begun { slot, stop, engine })
    }

    /// Takes the result if it is ready. Otherwise wakes `waker` once it is. An error remains, so later calls return it
    /// as well.
    ///
    /// # Errors
    /// The errors of the call; `InvalidArgument` if its result was taken before; `Closed` in a forked child.
    pub fn poll(&self, waker: &Waker) -> Poll<Result<T>> {
        if let Err(error) = self.engine.parts() {
            return Poll::Ready(Err(error));
        }
        let mut slot = lock(&self.slot.0);
        match std::mem::replace(&mut slot.0, Outcome::Taken) {
            Outcome::Pending => {
                slot.0 = Outcome::Pending;
                slot.1.clone_from(waker);
                Poll::Pending
            }
            Outcome::Done(Err(error)) => {
                slot.0 = Outcome::Done(Err(error.clone()));
                Poll::Ready(Err(error))
            }
            Outcome::Done(done) => Poll::Ready(done),
            Outcome::Taken => Poll::Ready(Err(Error::invalid(
                "the result of this call was taken before",
            ))),
        }
    }

    /// Wakes `waker` once the result is ready, or immediately if it already is.
    ///
    /// # Errors
    /// `Closed` in a forked child.
    pub fn watch(&self, waker: &Waker) -> Result<()> {
        self.engine.parts()?;
        let mut slot = lock(&self.slot.0);
        slot.1.clone_from(waker);
        let is_pending = matches!(slot.0, Outcome::Pending);
        drop(slot);
        if !is_pending {
            waker.wake_by_ref();
        }
        Ok(())
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// The errors of [`poll`](Self::poll).
    pub fn wait(&self) -> Result<T> {
        let poll = |context: &mut Context<'_>| self.poll(context.waker());
        self.engine.wait(std::future::poll_fn(poll))?
    }
}

impl<T> Begun<T> {
    /// Cancels the call, which then ends with `Cancelled`. A job keeps the work that can be resumed. Does nothing if
    /// the call is done, so that a job that is done can run again.
    pub fn cancel(&self) {
        if !self.engine.is_foreign() && matches!(lock(&self.slot.0).0, Outcome::Pending) {
            self.stop.stop();
        }
    }
}

impl<T> Drop for Begun<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Runs a call until it is done, `deadline` has passed, or one of the two stops ends it.
pub(super) async fn limited<T>(
    call: impl Future<Output = Result<T>>,
    deadline: Option<Duration>,
    stop: Stop,
    closed: Stop,
) -> Result<T> {
    // The timer counts milliseconds.
    if deadline.is_some_and(|limit| limit < Duration::from_millis(1)) {
        let message = "the deadline of this call had passed before it began";
        return Err(Error::new(ErrorKind::Timeout, message));
    }
    let late = async {
        match deadline {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = stop.stopped() => Err(Error::new(ErrorKind::Cancelled, "the call was cancelled")),
        () = closed.stopped() => Err(super::closed()),
        done = call => done,
        () = late => {
            let limit = deadline.unwrap_or_default().as_secs_f64();
            let message = format!("not done within {limit} s, the deadline of this call");
            Err(Error::new(ErrorKind::Timeout, message))
        }
    }
}
