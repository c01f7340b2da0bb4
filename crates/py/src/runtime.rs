//! The runtime of this process, and a future waited for without the GIL, so that Ctrl-C is heard.

use crate::errors::raise;
use crate::log;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::thread::ThreadId;
use std::time::Duration;
use talentdata_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How often a waiting thread asks whether a signal came; people notice a delay above 200 ms.
const SIGNALS: Duration = Duration::from_millis(50);

/// How long work may take to end in order; with the time above, people notice none of it.
const LAST: Duration = Duration::from_millis(100);

/// The runtime and the process that made it. It is locked only while attached to Python, so that no
/// other thread holds it when Python forks.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process, made on first use. It is never dropped: a forked child would wait for ever
/// for threads it did not inherit.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = *slot
        && owner == process
    {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("talentdata")
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("no threads for the client: {error}");
            Error::new(ErrorKind::Internal, message)
        })?;
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *slot = Some((process, runtime));
    Ok(runtime)
}

/// Waits for `work` on this thread, without the GIL.
///
/// A signal handler that raises (Ctrl-C) ends the waiting: `work` is dropped, which stops its requests.
pub(crate) fn block<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send,
) -> PyResult<T> {
    watch(py, work, None, |_| Ok(()))?.map_err(|error| raise(py, &error))
}

/// The same; `tell` is called now and then in the thread that waits, and what it raises ends the waiting, too.
///
/// Work that is ended so is told by `stop`, and has a moment to keep what it has done; what it says
/// then is the cause of what was raised.
pub(crate) fn block_telling<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send,
    stop: oneshot::Sender<()>,
    tell: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    watch(py, work, Some(stop), tell)?.map_err(|error| raise(py, &error))
}

fn watch<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send,
    stop: Option<oneshot::Sender<()>>,
    tell: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<Result<T>> {
    let runtime = runtime().map_err(|error| raise(py, &error))?;
    log::listen(py)?;
    let outcome = py.detach(|| {
        runtime.block_on(async {
            let mut work = pin!(guarded(work));
            loop {
                if let Ok(outcome) = timeout(SIGNALS, &mut work).await {
                    return Ok(outcome);
                }
                let told = Python::attach(|py| {
                    py.check_signals()?;
                    log::deliver(py)?;
                    tell(py)
                });
                let Err(raised) = told else { continue };
                if stop.is_some_and(|stop| stop.send(()).is_ok())
                    && let Ok(Err(end)) = timeout(LAST, &mut work).await
                {
                    Python::attach(|py| raised.set_cause(py, Some(raise(py, &end))));
                }
                return Err(raised);
            }
        })
    });
    // Whoever raises goes first; what is queued then is delivered by the next verb.
    let outcome = outcome?;
    log::deliver(py)?;
    Ok(outcome)
}

/// Waits for `work` where it is not known whether this thread holds the GIL: within a consumer of Arrow data.
///
/// Only the main thread, which alone hears signals, turns to Python: others might wait for a GIL that
/// their creator holds while it waits for them. A signal handler that raises ends the waiting, and raises
/// again as soon as the consumer returns.
pub(crate) fn wait<T: Send>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    if MAIN.get() != Some(&std::thread::current().id()) {
        return runtime.block_on(guarded(work));
    }
    Python::attach(|py| {
        let error = match watch(py, work, None, |_| Ok(())) {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        // Before the signal is set again, which any call of Python might raise and swallow.
        let message = format!("the read was interrupted by {error}");
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let threads = py.import("_thread");
            let again = threads.and_then(|threads| threads.call_method0("interrupt_main"));
            drop(again);
        }
        Err(Error::new(ErrorKind::Cancelled, message))
    })
}

/// The thread that hears signals.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Remembers the main thread, when the module is imported there.
pub(crate) fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let current = threading.call_method0("current_thread")?;
    if current.is(threading.call_method0("main_thread")?) {
        MAIN.get_or_init(|| std::thread::current().id());
    }
    Ok(())
}

/// The same work; a panic in it is an `Internal` error.
pub(crate) async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(defect(&*panic))))
    })
    .await
}

/// What a panic said, as the error of a defect.
pub(crate) fn defect(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!(
        "a defect of talentdata: {}",
        text.unwrap_or("no reason given")
    );
    Error::new(ErrorKind::Internal, message)
}
