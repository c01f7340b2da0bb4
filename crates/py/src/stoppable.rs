//! Work that Python waits for or awaits, that shows how far it is, and that keeps what it has done when it is stopped.

use crate::runtime::block_telling;
use crate::verb::{Outcome, run};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_core::Result;
use talentdata_core::scan::Receipt;
use tokio::sync::oneshot;

/// How far some work is.
#[derive(Clone)]
pub(crate) struct Reached(Arc<Mutex<Receipt>>);

impl Reached {
    pub(crate) fn new(resource: &str) -> Self {
        let receipt = Receipt {
            resource: resource.to_owned(),
            ..Receipt::default()
        };
        Reached(Arc::new(Mutex::new(receipt)))
    }

    pub(crate) fn note(&self, receipt: &Receipt) {
        *self.lock() = receipt.clone();
    }

    /// Records so far, and the service's total where it is known.
    pub(crate) fn progress(&self) -> (u64, Option<i64>) {
        let receipt = self.lock();
        (receipt.records, receipt.total_first)
    }

    fn lock(&self) -> MutexGuard<'_, Receipt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says when work has to stop; never, where it is dropped instead.
pub(crate) struct Stop(oneshot::Receiver<()>);

impl Stop {
    pub(crate) async fn stopped(self) {
        if self.0.await.is_err() {
            pending().await
        }
    }
}

/// Runs work that listens to its argument. Who waits here, and not on an event loop, has `tell` called meanwhile, and
/// what ends the waiting stops the work; an event loop drops all of it.
pub(crate) fn run_stoppable<T: Outcome, W: Future<Output = Result<T>> + Send + 'static>(
    py: Python<'_>,
    awaited: bool,
    tell: Py<PyAny>,
    work: impl FnOnce(Stop) -> W,
) -> PyResult<Py<PyAny>> {
    let (stop, stopped) = oneshot::channel();
    let work = work(Stop(stopped));
    if awaited {
        return run(py, true, work);
    }
    let done = block_telling(py, work, stop, |py| tell.call0(py).map(drop))?;
    done.into_py_any(py)
}
