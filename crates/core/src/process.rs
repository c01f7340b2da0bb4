//! What belongs to one process: values that are forgotten after a fork, never dropped; the threads of a runtime; and locks
//! between threads.

use crate::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A runtime with so many threads, each of which first runs `start`.
///
/// # Errors
/// `Internal` when the system grants no threads.
pub fn runtime(threads: usize, start: impl Fn() + Send + Sync + 'static) -> Result<Runtime> {
    // Tokio panics if there is no thread for its workers, or for a blocking task while it has none for such tasks. The
    // first one of the latter stays. Threads that have ended may count for a while.
    check_threads(2 * threads + 2)?;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name("talentdata");
    builder.thread_keep_alive(Duration::MAX);
    let runtime = builder.enable_all().on_thread_start(start).build();
    let runtime = runtime.map_err(no_threads)?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}

/// Checks that the system grants this many more threads at once, for libraries that panic where it does not.
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
    let message = format!("no threads for the client: {error}");
    Error::new(ErrorKind::Internal, message)
}

/// Locks a value that each change leaves whole, even where a thread panics between two of them.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// True once the destructors of this thread's values run. It has none itself, so it can be read to the very end.
    static ENDING: Cell<bool> = const { Cell::new(false) };
    static LAST: Last = const { Last };
}

/// Notices the end of a thread. Thread-local values are destroyed last one first.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        ENDING.set(true);
    }
}

/// Makes [`thread_is_ending`] true before the values that the runtime has put into this thread are destroyed. It has to be
/// called after the runtime was used.
pub(crate) fn watch_thread() {
    let _ = LAST.try_with(|_| ());
}

/// Returns whether the thread-local values that the runtime needs are gone, as in destructors of C++ at the end.
pub(crate) fn thread_is_ending() -> bool {
    ENDING.get()
}

/// A value whose threads and sockets are this process's own.
///
/// A forked child inherits the memory but not the threads: waiting for them, as dropping does, would
/// never end. So the child leaks the value, and sees none.
pub struct Owned<T> {
    process: u32,
    value: Option<T>,
}

impl<T> Owned<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Owned {
            process: std::process::id(),
            value: Some(value),
        }
    }

    /// The value, in the process that made it.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_ours())
    }

    /// The value to be changed, in the process that made it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let ours = self.is_ours();
        self.value.as_mut().filter(|_| ours)
    }

    /// The value itself, in the process that made it.
    pub fn take(&mut self) -> Option<T> {
        let ours = self.is_ours();
        self.value.take_if(|_| ours)
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            std::mem::forget(self.value.take());
        }
    }
}
