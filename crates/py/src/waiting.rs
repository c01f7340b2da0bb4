//! How Python waits for work of the core: in the thread that calls, without the GIL, or as an awaitable of its event loop.
//!
//! The work always runs on the threads of the one runtime of this process. The thread that waits looks up now and then for
//! signals and log messages; their handlers may use the client themselves, since no runtime is entered here.

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
use talentdata_core::{Client, Error, ErrorKind, Result, Stop, process};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

/// How often a waiting thread looks for signals; people notice a delay above 200 ms.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long work may take to stop; with the time above, people notice none of it.
const STOP_GRACE: Duration = Duration::from_millis(100);

/// The runtime and the process that made it. It is locked only while attached to Python, so that no other thread holds
/// it when Python forks.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The runtime of this process, made on first use. It is never dropped: a forked child would wait for ever for threads
/// that it did not inherit.
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

/// What work results in: something that becomes a Python object.
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

/// The same for work that listens to `stop`, and has a moment then to keep what it has done; its error is the cause of
/// what was raised. `on_progress` is called now and then, and what it raises ends the work, too.
pub(crate) fn block_with_stop<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
    stop: &Stop,
    on_progress: &Py<PyAny>,
) -> PyResult<T> {
    let on_progress = |py: Python<'_>| on_progress.call0(py).map(drop);
    watch(py, work, Some(stop), on_progress)?.map_err(|error| raise(py, &error))
}

/// Work on the runtime, which ends when this is dropped.
struct Running<T> {
    task: AbortHandle,
    /// None while it is waited for.
    outcome: Option<Receiver<Result<T>>>,
}

impl<T: Send + 'static> Running<T> {
    fn start(runtime: &Runtime, work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let (sender, outcome) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody waits any more where this fails.
            let _ = sender.send(guarded(work).await);
        });
        Running {
            task: task.abort_handle(),
            outcome: Some(outcome),
        }
    }

    /// What has come of it within so long.
    fn wait(&mut self, time: Duration) -> Option<Result<T>> {
        match self.outcome.as_ref()?.recv_timeout(time) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Error::defect("a call broke off"))),
        }
    }

    /// The same, without the GIL.
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
        let looked = py.check_signals().and_then(|()| log::deliver(py));
        if let Err(raised) = looked.and_then(|()| on_progress(py)) {
            if let Some(stop) = stop {
                stop.stop();
                if let Some(Err(end)) = running.wait_detached(py, STOP_GRACE) {
                    raised.set_cause(py, Some(raise(py, &end)));
                }
            }
            // What it holds, such as a file, is to be free when this returns.
            running.task.abort();
            running.wait_detached(py, STOP_GRACE);
            return Err(raised);
        }
    }
}

/// Waits for `work` where it is not known whether this thread holds the GIL: within a consumer of Arrow data.
///
/// Only the main thread, which alone hears signals, turns to Python: others might wait for a GIL that their creator holds
/// while it waits for them. What interrupts the main thread is raised again as soon as the consumer returns. Other threads
/// notice by `interrupted` that Ctrl-C has come.
pub(crate) fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T>> + Send + 'static,
    interrupted: impl Fn() -> bool,
) -> Result<T> {
    let stopped = |by: &str| {
        let message = format!("the read was interrupted by {by}");
        Error::new(ErrorKind::Cancelled, message)
    };
    if !is_main_thread() {
        let mut running = Running::start(runtime, work);
        // At the second look: the main thread is to notice the signal before it meets the error of this thread.
        let mut seen = false;
        loop {
            match running.wait(POLL_INTERVAL) {
                Some(outcome) => return outcome,
                None if seen => return Err(stopped("Ctrl-C")),
                None => seen = interrupted(),
            }
        }
    }
    Python::attach(|py| {
        let error = match watch(py, work, None, |_| Ok(())) {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        // Before the signal is set again, which any call of Python might raise and swallow.
        let error_of_read = stopped(&error.to_string());
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let threads = py.import("_thread");
            let again = threads.and_then(|threads| threads.call_method0("interrupt_main"));
            drop(again);
        }
        Err(error_of_read)
    })
}

/// Issues a warning where it is not known whether this thread holds the GIL, as for [`wait`].
///
/// In the main thread, a filter that makes it an exception ends the read. Elsewhere a thread of the runtime issues it as soon
/// as it gets the GIL, and Python reports such an exception as one that nobody can catch.
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

/// Threads by the order in which they were first asked for; 0 is none.
static THREADS: AtomicU64 = AtomicU64::new(1);
/// The thread that hears signals.
static MAIN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NUMBER: Cell<u64> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}

fn is_main_thread() -> bool {
    MAIN.load(Ordering::Relaxed) == NUMBER.get()
}

/// Remembers the main thread: where the module is imported there, and in a forked child, whose main thread may be another.
#[pyfunction]
pub(crate) fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let current = threading.call_method0("current_thread")?;
    if current.is(threading.call_method0("main_thread")?) {
        MAIN.store(NUMBER.get(), Ordering::Relaxed);
    }
    Ok(())
}

/// The same work; a panic in it is an `Internal` error.
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
    // The loop of another thread, which Python does not wait for now, stands still instead until that thread is killed.
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

/// A future, the method that gives it an outcome, and the outcome.
type Settled = (Py<PyAny>, &'static str, Py<PyAny>);

/// Has the event loop's own thread deliver what was logged, and give a future its outcome. What refers to Python is dropped
/// here: elsewhere it would be kept until Python is visited again.
fn in_loop(call: impl FnOnce(Python<'_>) -> PyResult<(Py<PyAny>, Option<Settled>)>) {
    let Some(_call) = PythonCall::begin() else {
        return;
    };
    Python::try_attach(|py| {
        let (event_loop, settled) = call(py)?;
        // A loop that was closed meanwhile refuses; nobody waits there any more.
        let called = event_loop.call_method1(py, "call_soon_threadsafe", (Deliver(settled),));
        called.map(drop)
    });
}

/// Called in the event loop's thread.
#[pyclass(frozen)]
struct Deliver(Option<Settled>);

#[pymethods]
impl Deliver {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        // What was logged comes before the outcome, and a handler that fails does not keep the outcome back.
        let delivered = log::deliver(py);
        if let Some((future, setter, value)) = &self.0
            && !future.call_method0(py, "done")?.is_truthy(py)?
        {
            future.call_method1(py, *setter, (value,))?;
        }
        delivered
    }

    // An event loop that is never run again holds this, and is held by the future.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let Some((future, _, value)) = &self.0 else {
            return Ok(());
        };
        visit.call(future)?;
        visit.call(value)
    }
}

/// Called when the future is done: stops the work of one that was cancelled.
#[pyclass(frozen)]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}

/// Visits of threads of the runtime to Python that have begun and not ended.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Clients that are leaving their budgets.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter shuts down.
static EXITING: AtomicBool = AtomicBool::new(false);

/// A call of Python by a thread of the runtime. A thread that waits for the interpreter while it shuts down is killed by
/// Python 3.11 in the middle of our code, which ends the process.
struct PythonCall(());

impl PythonCall {
    /// None once the interpreter shuts down, when nobody waits any more.
    fn begin() -> Option<Self> {
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

/// Returns whether the interpreter shuts down, when no thread of the runtime calls Python any more.
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Lets no more calls begin, and returns how much is still under way. The package asks until nothing is: a wait here
/// would take the interpreter from others, or not come back to it where it has sub-interpreters.
#[pyfunction]
pub(crate) fn end_work(py: Python<'_>) -> PyResult<usize> {
    EXITING.store(true, Ordering::SeqCst);
    // Objects that are destroyed later may still make calls.
    crate::errors::classes(py)?;
    crate::record::reader(py)?;
    Ok(CALLS.load(Ordering::SeqCst) + LEAVING.load(Ordering::SeqCst))
}

/// Lets a client that is no longer used leave its budget, which counts it for some seconds more otherwise; nothing waits
/// for that before the interpreter shuts down.
///
/// Objects that still exist then are dropped after the package has asked for the last time. So the last of the clients that
/// share a budget waits for all of them.
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
    // A child forked while a client left never sees that end, hence the bound.
    for _ in 0..1000 {
        if LEAVING.load(Ordering::SeqCst) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
