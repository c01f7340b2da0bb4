//! Lets threads of the runtime end what they do in Python before the interpreter shuts down.
//!
//! A thread that waits for the interpreter while it shuts down is killed by Python 3.11 in the middle of our code,
//! which ends the process.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Visits of threads of the runtime to Python that have begun and not ended.
static VISITS: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter shuts down.
static EXITING: AtomicBool = AtomicBool::new(false);

/// A visit of a thread of the runtime to Python.
pub(crate) struct Visit(());

impl Visit {
    /// None once the interpreter shuts down, when nobody waits any more.
    pub(crate) fn begin() -> Option<Self> {
        VISITS.fetch_add(1, Ordering::SeqCst);
        let visit = Visit(());
        (!EXITING.load(Ordering::SeqCst)).then_some(visit)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        VISITS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets no more visits begin, and returns how many have not ended. The package asks until there are none: a wait
/// here would take the interpreter from others, or not come back to it where it has sub-interpreters.
#[pyfunction]
pub(crate) fn end_visits() -> usize {
    EXITING.store(true, Ordering::SeqCst);
    VISITS.load(Ordering::SeqCst)
}
