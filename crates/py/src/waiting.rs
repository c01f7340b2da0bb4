//! Waits for work of the core: in the calling thread without the GIL, or as an awaitable of the event loop.
//!
//! The work always runs on the threads of the only runtime of this process. The waiting thread regularly checks for
//! signals and log messages. Their handlers may use the client themselves, because the waiting thread does not enter a
//! runtime.

use crate::errors::raise;
use crate::log;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyTraverseError, PyVisit, intern};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::task::Poll;
use std::time::Duration;
use talentdata_core::internal::process;
use talentdata_core::types::Stop;
use talentdata_core::{Client, Error, ErrorKind, Result};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

/// The interval at which a waiting thread checks for signals. Users notice a delay above 200 ms.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum time for work to stop. Together with `POLL_INTERVAL` it is below 200 ms.
const STOP_GRACE: Duration = Duration::from_millis(100);

/// The runtime and the process that created it. It is locked only while attached to Python, so no other thread holds it
/// when Python forks.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// Returns the runtime of this process, created on first use. It is never dropped, because a forked child would wait
/// forever for threads that it did not inherit.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    let mut slot = process::lock(&RUNTIME);
    let process = std::process::id();
    if let Some((_, runtime)) = slot.filter(|(owner, _)| *owner == process) {
        return Ok(runtime);
    }
    let runtime: &'static Runtime = Box::leak(Box::new(process::runtime(2, || ())?));
    *slot = Some((process, runtime));
    Ok(runtime)
}

/// The result of work, which becomes a Python object.
pub(crate) trait IntoPython: for<'py> IntoPyObject<'py> + Send + 'static {}

impl<T: for<'py> IntoPyObject<'py> + Send + 'static> IntoPython for T {}

/// Waits for `work`, or returns an awaitable of the running event loop.
pub(crate) fn run<T: IntoPython>(
    py: Python<'_>,
    awaited: bool,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    if awaited {
        spawn(py, work)
    } else {
        block(py, work)?.into_py_any(py)
    }
}

/// Waits for `work` in this thread. A signal handler that raises (Ctrl-C) ends the work.
pub(crate) fn block<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<T> {
    watch(py, work, None, |_| Ok(()))?.map_err(|error| raise(py, &error))
}

/// Waits for `work` in this thread, and calls `on_progress` regularly. If a signal handler or `on_progress` raises,
/// `stop` ends the work, which has a short time to save its progress. The error of the work becomes the cause of the
/// exception.
pub(crate) fn block_with_stop<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    stop: &Stop,
    on_progress: &Py<PyAny>,
) -> PyResult<T> {
    let on_progress = |py: Python<'_>| on_progress.call0(py).map(drop);
    watch(py, work, Some(stop), on_progress)?.map_err(|error| raise(py, &error))
}

/// Work on the runtime. Dropping this value cancels the work.
struct Running<T> {
    task: AbortHandle,
    /// Receives the outcome.
    outcome: Option<Receiver<Result<T>>>,
}

impl<T: Send + 'static> Running<T> {
    fn start(runtime: &Runtime, work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let (sender, outcome) = sync_channel(1);
        let task = runtime.spawn(async move {
            // If this fails, no thread waits any longer.
            let _ = sender.send(guarded(work).await);
        });
        Running {
            task: task.abort_handle(),
            outcome: Some(outcome),
        }
    }

    /// Returns the outcome, or `None` if the work does not end within this time.
    fn wait(&mut self, time: Duration) -> Option<Result<T>> {
        match self.outcome.as_ref()?.recv_timeout(time) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Error::defect("a call broke off"))),
        }
    }

    /// Waits like [`wait`](Self::wait), without the GIL.
    fn wait_detached(&mut self, py: Python<'_>, time: Duration) -> Option<Result<T>> {
        py.detach(|| self.wait(time))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn watch<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    stop: Option<&Stop>,
    on_progress: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    let runtime = runtime().map_err(|error| raise(py, &error))?;
    log::listen(py, is_exiting())?;
    let mut running = Running::start(runtime, work);
    loop {
        if let Some(outcome) = running.wait_detached(py, POLL_INTERVAL) {
            log::deliver(py)?;
            return Ok(outcome);
        }
        let checked = py.check_signals().and_then(|()| log::deliver(py));
        if let Err(raised) = checked.and_then(|()| on_progress(py)) {
            if let Some(stop) = stop {
                stop.stop();
                if let Some(Err(end)) = running.wait_detached(py, STOP_GRACE) {
                    raised.set_cause(py, Some(raise(py, &end)));
                }
            }
            // Resources of the work, for example a file, should be free when this returns.
            running.task.abort();
            running.wait_detached(py, STOP_GRACE);
            return Err(raised);
        }
    }
}

/// Waits for `work` within a consumer of Arrow data, where it is unknown whether this thread holds the GIL.
///
/// Only the main thread receives signals, and only the main thread calls Python here. Another thread might wait for a
/// GIL that its creator holds while it waits for the thread. An exception in the main thread is raised again as soon as
/// the consumer returns. `interrupted` reports Ctrl-C to other threads.
pub(crate) fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T>> + Send + 'static,
    interrupted: impl Fn() -> bool,
) -> Result<T> {
    let stopped_by = |by: &str| {
        let message = format!("the read was interrupted by {by}");
        Error::new(ErrorKind::Cancelled, message)
    };
    if !is_main_thread() {
        let mut running = Running::start(runtime, work);
        // The error waits for one more interval, so that the main thread sees the signal before it sees the error.
        let mut was_interrupted = false;
        loop {
            match running.wait(POLL_INTERVAL) {
                Some(outcome) => return outcome,
                None if was_interrupted => return Err(stopped_by("Ctrl-C")),
                None => was_interrupted = interrupted(),
            }
        }
    }
    Python::attach(|py| {
        let error = match watch(py, work, None, |_| Ok(())) {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        // The message is created before the signal is set again, because any call into Python might raise and swallow
        // it.
        let error_of_read = stopped_by(&error.to_string());
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let threads = py.import("_thread");
            let interrupted_again =
                threads.and_then(|threads| threads.call_method0("interrupt_main"));
            drop(interrupted_again);
        }
        Err(error_of_read)
    })
}

/// Issues a warning within a consumer of Arrow data, where it is unknown whether this thread holds the GIL.
///
/// In the main thread, a filter that turns the warning into an exception ends the read. Otherwise, a thread of the
/// runtime issues the warning as soon as it gets the GIL, and Python reports such an exception as unraisable.
pub(crate) fn warn(runtime: &Runtime, text: String) -> Result<()> {
    if is_main_thread() {
        return Python::attach(|py| issue(py, &text))
            .map_err(|_| Error::new(ErrorKind::Incomplete, text));
    }
    runtime.spawn(async move {
        let Some(_call) = PythonCall::begin() else {
            return;
        };
        Python::try_attach(|py| {
            if let Err(raised) = issue(py, &text) {
                raised.write_unraisable(py, None);
            }
        });
    });
    Ok(())
}

/// Issues a warning that a list is not proven to be complete.
pub(crate) fn issue(py: Python<'_>, text: &str) -> PyResult<()> {
    let module = py.import(intern!(py, "talentdata._warning"))?;
    module.call_method1(intern!(py, "warn"), (text,)).map(drop)
}

/// The number that the next thread gets when it first needs one. No thread has the number 0.
static THREADS: AtomicU64 = AtomicU64::new(1);
/// The number of the thread that receives signals.
static MAIN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NUMBER: Cell<u64> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}

fn is_main_thread() -> bool {
    MAIN.load(Ordering::Relaxed) == NUMBER.get()
}

/// Records the number of the main thread. Called when the module is imported, and in a forked child, which may have
/// another main thread.
#[pyfunction]
pub(crate) fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let current = threading.call_method0("current_thread")?;
    if current.is(threading.call_method0("main_thread")?) {
        MAIN.store(NUMBER.get(), Ordering::Relaxed);
    }
    Ok(())
}

/// Runs the work, and turns a panic into an `Internal` error.
async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = Error::catch("a call", || Ok(work.as_mut().poll(context)));
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    })
    .await
}

fn spawn<T: IntoPython>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    // Python does not wait for the event loops of other threads, which stop until their threads are killed.
    if is_exiting() && is_main_thread() {
        let message = "Python is shutting down, nothing can be awaited any more; talentdata.Client can still be used";
        return Err(raise(py, &Error::new(ErrorKind::Closed, message)));
    }
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let future = event_loop.call_method0("create_future")?;
    let runtime = runtime().map_err(|error| raise(py, &error))?;
    log::listen(py, is_exiting())?;
    let (target, waiting) = (event_loop.unbind(), future.clone().unbind());
    let task = runtime.spawn(async move {
        let mut work = pin!(guarded(work));
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome,
                () = log::arrived() => if log::is_waiting() {
                    in_loop(|py| Ok((target.clone_ref(py), None)));
                },
            }
        };
        in_loop(|py| {
            let value = outcome
                .map_err(|error| raise(py, &error))
                .and_then(|value| value.into_py_any(py));
            let settled = match value {
                Ok(value) => (waiting, "set_result", value),
                Err(error) => (waiting, "set_exception", error.into_value(py).into_any()),
            };
            Ok((target, Some(settled)))
        });
    });
    let cancel = Cancel(task.abort_handle());
    future.call_method1("add_done_callback", (cancel,))?;
    Ok(future.unbind())
}

/// A future, the method that sets its outcome, and the outcome.
type Settled = (Py<PyAny>, &'static str, Py<PyAny>);

/// Makes the event loop's own thread deliver the log, and set the outcome of a future. References to Python are dropped
/// here. Elsewhere they would be kept until the next call into Python.
fn in_loop(call: impl FnOnce(Python<'_>) -> PyResult<(Py<PyAny>, Option<Settled>)>) {
    let Some(_call) = PythonCall::begin() else {
        return;
    };
    Python::try_attach(|py| {
        let (event_loop, settled) = call(py)?;
        // A closed event loop refuses the call. Nothing waits there any longer.
        let called = event_loop.call_method1(py, "call_soon_threadsafe", (Deliver(settled),));
        called.map(drop)
    });
}

/// A callback that runs in the thread of the event loop.
#[pyclass(frozen)]
struct Deliver(Option<Settled>);

#[pymethods]
impl Deliver {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        // The log is delivered before the outcome, and a handler that fails does not hold the outcome back.
        let delivered = log::deliver(py);
        if let Some((future, setter, value)) = &self.0
            && !future.call_method0(py, "done")?.is_truthy(py)?
        {
            future.call_method1(py, *setter, (value,))?;
        }
        delivered
    }

    // An event loop that never runs again holds this, and the future holds the loop.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let Some((future, _, value)) = &self.0 else {
            return Ok(());
        };
        visit.call(future)?;
        visit.call(value)
    }
}

/// A callback that runs when the future is done. It stops the work of a cancelled future.
#[pyclass(frozen)]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}

/// The number of running calls into Python by threads of the runtime.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// The number of clients that are leaving their budgets.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
/// True once the interpreter has begun to shut down.
static EXITING: AtomicBool = AtomicBool::new(false);

/// A call into Python by a thread of the runtime. A thread that waits for the interpreter while it shuts down is killed
/// by Python 3.11 in the middle of our code, which ends the process.
pub(crate) struct PythonCall(());

impl PythonCall {
    /// Begins a call; `None` if the interpreter is shutting down, because then nothing waits for the call.
    pub(crate) fn begin() -> Option<Self> {
        CALLS.fetch_add(1, Ordering::SeqCst);
        let call = PythonCall(());
        (!is_exiting()).then_some(call)
    }
}

impl Drop for PythonCall {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns whether the interpreter is shutting down. Threads of the runtime then no longer call Python.
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Prevents new calls, and returns the number of running calls. The package repeats this until the number is 0. A wait
/// in this function would block other threads, or would not get the interpreter back if there are sub-interpreters.
#[pyfunction]
pub(crate) fn end_work(py: Python<'_>) -> PyResult<usize> {
    EXITING.store(true, Ordering::SeqCst);
    // Objects that are destroyed later may still make calls.
    crate::errors::classes(py)?;
    crate::record::reader(py)?;
    Ok(CALLS.load(Ordering::SeqCst) + LEAVING.load(Ordering::SeqCst))
}

/// Removes an unused client from its budget, which would otherwise count it for some more seconds. Until the
/// interpreter shuts down, nothing waits for this.
///
/// Objects that still exist at shutdown are dropped after the last call of `end_work`. The last client of a budget
/// therefore waits until all clients have left.
pub(crate) fn leave(client: Client, is_last: bool) {
    let closed = client.closed();
    drop(client);
    let Ok(runtime) = runtime() else {
        return;
    };
    LEAVING.fetch_add(1, Ordering::SeqCst);
    runtime.spawn(async {
        closed.await;
        LEAVING.fetch_sub(1, Ordering::SeqCst);
    });
    if !is_last || !is_exiting() {
        return;
    }
    // In a child that was forked while a client was leaving, the number never reaches 0, so the wait is limited.
    for _ in 0..1000 {
        if LEAVING.load(Ordering::SeqCst) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
