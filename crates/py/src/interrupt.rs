//! Detects Ctrl-C for threads that are not attached to Python, for example threads of DuckDB that read a scan.
//!
//! Python's handler writes the number of each signal to the file descriptor of `signal.set_wakeup_fd`. The package sets
//! it to the socket in this file, unless another package set it. The handlers are not changed.

use pyo3::prelude::*;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of SIGINT on every system.
const SIGINT: u8 = 2;

/// The two ends of the socket, and whether SIGINT was read from it.
#[pyclass(frozen, module = "talentdata._talentdata")]
#[derive(Clone)]
pub(crate) struct Interrupts(Arc<(UnixStream, UnixStream, AtomicBool)>);

#[pymethods]
impl Interrupts {
    #[new]
    fn new() -> PyResult<Self> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        Ok(Interrupts(Arc::new((read, write, AtomicBool::new(false)))))
    }

    /// Returns the file descriptor to which signals are written.
    fn fileno(&self) -> i32 {
        self.0.1.as_raw_fd()
    }

    /// Discards the signals so far.
    fn clear(&self) {
        self.is_interrupted();
        self.0.2.store(false, Ordering::Relaxed);
    }
}

impl Interrupts {
    /// Returns whether Ctrl-C was pressed since the last `clear`.
    pub(crate) fn is_interrupted(&self) -> bool {
        let mut signals = [0; 64];
        while let Ok(count @ 1..) = (&self.0.0).read(&mut signals) {
            if signals[..count].contains(&SIGINT) {
                self.0.2.store(true, Ordering::Relaxed);
            }
        }
        self.0.2.load(Ordering::Relaxed)
    }
}
