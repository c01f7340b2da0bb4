//! Tools for one process: values that are leaked after a fork instead of dropped, the threads of a runtime, and locks
//! between threads.

use crate::error::{Error, ErrorKind, Result, system_text};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// Creates a runtime with this many threads, each of which first runs `start`.
///
/// # Errors
/// `Internal` if the system grants no threads; `Closed` in a thread that is ending.
pub fn runtime(threads: usize, start: impl Fn() + Send + Sync + 'static) -> Result<Runtime> {
    check_thread()?;
    // Tokio panics if the system grants no thread for its workers or for its first blocking task. Threads that ended
    // may still count for a while.
    check_threads(2 * threads + 2)?;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name("talentdata");
    let start = move || {
        IS_OURS.set(true);
        start();
    };
    builder.thread_keep_alive(Duration::MAX);
    let runtime = builder.enable_all().on_thread_start(start).build();
    let runtime = runtime.map_err(no_threads)?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// Checks that the system grants this many more threads at once, for libraries that panic if it does not.
///
/// # Errors
/// `Internal` with the reason of the system.
pub fn check_threads(count: usize) -> Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = lock(&gate);
        (0..count).try_for_each(|_| {
            let thread = thread::Builder::new().spawn_scoped(scope, || drop(lock(&gate)));
            thread.map(drop).map_err(no_threads)
        })
    })
}

fn no_threads(error: std::io::Error) -> Error {
    let message = format!("no threads for the client: {}", system_text(&error));
    Error::new(ErrorKind::Internal, message)
}

/// Locks a value that every change leaves consistent, so that a panic of another thread does no harm.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// True once the destructors of this thread's values run. It has no destructor itself, so it can be read until the
    /// very end.
    static ENDING: Cell<bool> = const { Cell::new(false) };
    static LAST: Last = const { Last };
    /// True in the threads of a runtime.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Notices the end of a thread. Thread-local values are destroyed in reverse order.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        ENDING.set(true);
    }
}

/// Makes [`thread_is_ending`] true before the runtime's values in this thread are destroyed. It must be called after
/// the runtime was used.
pub(crate) fn watch_thread() {
    let _ = LAST.try_with(|_| ());
}

/// Returns whether the thread-local values that the runtime needs are gone, as in destructors of C++ and handlers of
/// `exit`. A thread that never waited for a runtime may have only a part of them.
pub(crate) fn thread_is_ending() -> bool {
    let runtime = Handle::try_current();
    ENDING.get() || runtime.is_err_and(|error| error.is_thread_local_destroyed())
}

/// Checks that the calling thread can use a runtime.
///
/// # Errors
/// `Closed` if the thread is ending.
pub(crate) fn check_thread() -> Result<()> {
    if thread_is_ending() {
        let message = "the calling thread is ending; make calls before its thread-local and static objects are destroyed";
        return Err(Error::new(ErrorKind::Closed, message));
    }
    Ok(())
}

/// Returns whether this is a thread of a runtime, which cannot wait for the end of its runtime.
pub(crate) fn is_runtime_thread() -> bool {
    IS_OURS.get() || Handle::try_current().is_ok()
}

/// A value whose threads and sockets belong to this process.
///
/// A forked child inherits the memory but not the threads. Dropping the value would wait for them and never end. So the
/// child leaks the value, and does not see it.
pub struct Owned<T> {
    process: u32,
    value: Option<T>,
}

impl<T> Owned<T> {
    /// Returns a value of this process.
    pub fn new(value: T) -> Self {
        Owned {
            process: std::process::id(),
            value: Some(value),
        }
    }

    /// Returns the value, in the process that created it.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_ours())
    }

    /// Returns the mutable value, in the process that created it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let ours = self.is_ours();
        self.value.as_mut().filter(|_| ours)
    }

    /// Takes the value, in the process that created it.
    pub fn take(&mut self) -> Option<T> {
        let ours = self.is_ours();
        self.value.take_if(|_| ours)
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Owned<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Owned").field(&self.get()).finish()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            std::mem::forget(self.value.take());
        }
    }
}
