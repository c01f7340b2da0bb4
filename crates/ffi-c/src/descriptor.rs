//! A file descriptor that an event loop can poll: readable when a scan has something to report.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::Wake;
use talentdata_core::internal::process::lock;
use talentdata_core::{Error, ErrorKind, Result};

/// A pipe that contains one byte after a notification, and none otherwise. So neither writing nor reading ever blocks.
///
/// After a fork the child has the same pipe. It does not touch the pipe, because the parent would notice.
pub(crate) struct SelfPipe {
    listen: PipeReader,
    bell: PipeWriter,
    rung: Mutex<bool>,
    process: u32,
}

impl SelfPipe {
    /// Creates a pipe.
    ///
    /// # Errors
    /// `Io` if the system refuses.
    pub(crate) fn new() -> Result<Self> {
        let (listen, bell) = std::io::pipe().map_err(|error| {
            let message = format!("cannot create a pipe for the descriptor: {error}");
            Error::new(ErrorKind::Io, message)
        })?;
        Ok(SelfPipe {
            listen,
            bell,
            rung: Mutex::new(false),
            process: std::process::id(),
        })
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.listen.as_raw_fd()
    }

    /// Makes the descriptor readable.
    pub(crate) fn notify(&self) {
        if self.is_foreign() {
            return;
        }
        let mut rung = lock(&self.rung);
        if !*rung {
            *rung = (&self.bell).write_all(&[1]).is_ok();
        }
    }

    /// Makes the descriptor unreadable.
    pub(crate) fn clear(&self) {
        if self.is_foreign() {
            return;
        }
        let mut rung = lock(&self.rung);
        if *rung {
            *rung = (&self.listen).read_exact(&mut [0]).is_err();
        }
    }

    /// Returns whether the parent created the pipe before a fork. Its lock may then be held forever.
    fn is_foreign(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Wake for SelfPipe {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}
