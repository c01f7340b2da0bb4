//! Lets threads of the runtime end what they do before the interpreter shuts down: visits to Python, and leaving the
//! budgets of clients that are no longer used.
//!
//! A thread that waits for the interpreter while it shuts down is killed by Python 3.11 in the middle of our code,
//! which ends the process. A budget on a server that nobody leaves counts the client for some seconds more.

use crate::runtime::runtime;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use talentdata_core::Client;

/// Visits of threads of the runtime to Python that have begun and not ended.
static VISITS: AtomicUsize = AtomicUsize::new(0);
/// Clients that are leaving their budgets.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
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

/// Lets no more visits begin, and returns how much is still under way. The package asks until nothing is: a wait
/// here would take the interpreter from others, or not come back to it where it has sub-interpreters.
#[pyfunction]
pub(crate) fn end_work() -> usize {
    EXITING.store(true, Ordering::SeqCst);
    VISITS.load(Ordering::SeqCst) + LEAVING.load(Ordering::SeqCst)
}

/// Lets a client that is no longer used leave its budget; nothing waits for that before the interpreter shuts down.
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
    if !is_last || !EXITING.load(Ordering::SeqCst) {
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
