//! A file descriptor that an event loop can poll: readable when a scan has something to say.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::Wake;
use talentdata_core::internal::process::lock;

/// A pipe that holds one byte while it is rung, and none while it is not: writing never blocks, and
/// neither does reading.
///
/// After a fork the child has the same pipe; it leaves it alone, or the parent would hear the child.
pub(crate) struct SelfPipe {
    listen: PipeReader,
    bell: PipeWriter,
    rung: Mutex<bool>,
    process: u32,
}

impl SelfPipe {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (listen, bell) = std::io::pipe()?;
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

    /// Makes it unreadable.
    pub(crate) fn clear(&self) {
        if self.is_foreign() {
            return;
        }
        let mut rung = lock(&self.rung);
        if *rung {
            *rung = (&self.listen).read_exact(&mut [0]).is_err();
        }
    }

    /// Whether it was made before a fork, in the parent; then its lock may be held for ever, too.
    fn is_foreign(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Wake for SelfPipe {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}
