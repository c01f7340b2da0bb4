//! A verb, written once and async: waited for, or handed to asyncio as an awaitable.

use crate::errors::raise;
use crate::exit::Visit;
use crate::log;
use crate::runtime::{block, guarded, runtime};
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyTraverseError, PyVisit};
use std::future::Future;
use std::pin::pin;
use talentdata_core::Result;
use tokio::task::AbortHandle;

/// What a verb results in: something that becomes a Python object.
pub(crate) trait Outcome: for<'py> IntoPyObject<'py> + Send + 'static {}

impl<T: for<'py> IntoPyObject<'py> + Send + 'static> Outcome for T {}

/// Runs `work`: waits for it, or returns an awaitable of the running event loop.
pub(crate) fn run<T: Outcome>(
    py: Python<'_>,
    awaited: bool,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    if awaited {
        spawn(py, work)
    } else {
        let value = block(py, work)?;
        value.into_py_any(py)
    }
}

fn spawn<T: Outcome>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let future = event_loop.call_method0("create_future")?;
    let runtime = runtime().map_err(|error| raise(py, &error))?;
    log::listen(py)?;
    let (target, waiting) = (event_loop.unbind(), future.clone().unbind());
    let task = runtime.spawn(async move {
        let mut work = pin!(guarded(work));
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome,
                () = log::arrived() => show(&target),
            }
        };
        let Some(_visit) = Visit::begin() else { return };
        Python::try_attach(|py| deliver(py, target, waiting, outcome));
    });
    let stop = Stop(task.abort_handle());
    future.call_method1("add_done_callback", (stop,))?;
    Ok(future.unbind())
}

/// Has the event loop's own thread deliver what was logged.
fn show(event_loop: &Py<PyAny>) {
    let Some(_visit) = Visit::begin() else { return };
    Python::try_attach(|py| {
        if let Ok(deliver) = Deliver.into_pyobject(py)
            && log::is_waiting()
        {
            // A loop that was closed meanwhile refuses; nobody waits there any more.
            let _ = event_loop.call_method1(py, "call_soon_threadsafe", (deliver,));
        }
    });
}

/// Called in the event loop's thread: hands what was logged to the logger.
#[pyclass(frozen)]
struct Deliver;

#[pymethods]
impl Deliver {
    #[expect(clippy::unused_self, reason = "a callable has a self")]
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        log::deliver(py)
    }
}

/// Hands the outcome to the event loop's own thread.
fn deliver<T: Outcome>(
    py: Python<'_>,
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
    outcome: Result<T>,
) {
    let value = match outcome {
        Ok(value) => value.into_py_any(py),
        Err(error) => Err(raise(py, &error)),
    };
    let (setter, value) = match value {
        Ok(value) => ("set_result", value),
        Err(error) => ("set_exception", error.into_value(py).into_any()),
    };
    let settle = Settle {
        future,
        setter,
        value,
    };
    let Ok(settle) = settle.into_pyobject(py) else {
        return;
    };
    // A loop that was closed meanwhile refuses; nobody waits there any more.
    let _ = event_loop.call_method1(py, "call_soon_threadsafe", (settle,));
}

/// Called in the event loop's thread: gives the future its outcome.
#[pyclass(frozen)]
struct Settle {
    future: Py<PyAny>,
    setter: &'static str,
    value: Py<PyAny>,
}

#[pymethods]
impl Settle {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        // What was logged comes before the outcome, and a handler that fails does not keep the outcome back.
        let delivered = log::deliver(py);
        let future = self.future.bind(py);
        if !future.call_method0("done")?.is_truthy()? {
            future.call_method1(self.setter, (&self.value,))?;
        }
        delivered
    }

    // An event loop that is never run again holds this, and is held by the future.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.future)?;
        visit.call(&self.value)
    }
}

/// Called when the future is done: stops the work of one that was cancelled.
#[pyclass(frozen)]
struct Stop(AbortHandle);

#[pymethods]
impl Stop {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
