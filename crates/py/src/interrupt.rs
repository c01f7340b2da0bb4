//! Whether Ctrl-C has come, for threads that are not attached to Python, such as those of DuckDB that read a scan.
//!
//! The handler of Python writes the number of each signal to the file descriptor of `signal.set_wakeup_fd`. The package
//! sets that to the socket here, unless somebody else has set it; the handlers stay as they are.

use pyo3::prelude::*;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of SIGINT, everywhere.
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

    /// The file descriptor that signals are written to.
    fn fileno(&self) -> i32 {
        self.0.1.as_raw_fd()
    }

    /// Forgets what has come so far.
    fn clear(&self) {
        self.have_come();
        self.0.2.store(false, Ordering::Relaxed);
    }
}

impl Interrupts {
    /// Whether Ctrl-C has come since it was cleared.
    pub(crate) fn have_come(&self) -> bool {
        let mut signals = [0; 64];
        while let Ok(count @ 1..) = (&self.0.0).read(&mut signals) {
            if signals[..count].contains(&SIGINT) {
                self.0.2.store(true, Ordering::Relaxed);
            }
        }
        self.0.2.load(Ordering::Relaxed)
    }
}
