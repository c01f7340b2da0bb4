//! What a scan handle reads from; shared with a call of another thread that outlives the handle.

use crate::boundary::invalid;
use crate::descriptor::SelfPipe;
use crate::record::Record;
use crate::stream::stream;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::{Poll, Waker};
use talentdata_columns::blocking::Scan;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind, Result};

/// A scan, and what tells that it has something to say.
pub(crate) struct Source {
    scan: Scan,
    /// Held by the one thread that uses the scan.
    in_use: Mutex<()>,
    /// Whether there is an Arrow stream, which may outlive the handle.
    streamed: AtomicBool,
    self_pipe: OnceLock<Arc<SelfPipe>>,
    /// The outcome of a look that was taken when the descriptor was made; the next call is told it.
    early: Mutex<Option<Result<bool>>>,
    /// The error that has ended the scan or its stream.
    failed: Mutex<Option<Error>>,
}

impl Source {
    pub(crate) fn new(scan: Scan) -> Self {
        Source {
            scan,
            in_use: Mutex::new(()),
            streamed: AtomicBool::new(false),
            self_pipe: OnceLock::new(),
            early: Mutex::new(None),
            failed: Mutex::new(None),
        }
    }

    /// Waits for the next record; none at the end of the list.
    pub(crate) fn next(&self) -> Result<Option<Box<Record>>> {
        let _in_use = self.enter()?;
        self.noting(|| {
            self.told_early()?;
            let next = self.scan.next_record()?;
            Ok(next.as_ref().map(Record::new))
        })
    }

    /// The same without waiting.
    pub(crate) fn poll_next(&self) -> Result<Poll<Option<Box<Record>>>> {
        let _in_use = self.enter()?;
        self.noting(|| {
            loop {
                if let Some(raw) = self.scan.next_received() {
                    return Ok(Poll::Ready(Some(Record::new(&raw))));
                }
                let more = match self.told_early()? {
                    Some(more) => more,
                    None => match self.look() {
                        Poll::Ready(more) => more?,
                        Poll::Pending => return Ok(Poll::Pending),
                    },
                };
                if !more {
                    return Ok(Poll::Ready(None));
                }
            }
        })
    }

    /// A descriptor that is readable while there is something to report.
    pub(crate) fn descriptor(&self) -> Result<i32> {
        let _in_use = self.enter()?;
        if let Some(self_pipe) = self.self_pipe.get() {
            return Ok(self_pipe.descriptor());
        }
        let made = SelfPipe::new().map_err(|error| {
            let message = format!("cannot create a pipe for the descriptor: {error}");
            Error::new(ErrorKind::Io, message)
        })?;
        let self_pipe = self.self_pipe.get_or_init(|| Arc::new(made));
        // Registers it; what is there by now is kept for the next call.
        if let Poll::Ready(found) = self.look() {
            *lock(&self.early) = Some(found);
        }
        Ok(self_pipe.descriptor())
    }

    /// The scan as a stream of record batches.
    pub(crate) fn stream(self: Arc<Self>) -> Result<FFI_ArrowArrayStream> {
        let made = {
            let _in_use = self.enter()?;
            self.noting(|| {
                let batches = self.scan.batches()?;
                let schema = batches.schema()?;
                Ok((batches, schema))
            })?
        };
        self.streamed.store(true, Ordering::Relaxed);
        let (batches, schema) = made;
        Ok(stream(schema, move || self.noting(|| batches.next_batch())))
    }

    pub(crate) fn receipt(&self) -> Result<Receipt> {
        let _in_use = self.enter()?;
        Ok(self.scan.receipt())
    }

    /// The error that has ended it.
    pub(crate) fn outcome(&self) -> Result<()> {
        lock(&self.failed).clone().map_or(Ok(()), Err)
    }

    /// Called when the handle is freed: only a stream may still take records.
    pub(crate) fn leave(&self) {
        if !self.streamed.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    pub(crate) fn stop(&self) {
        self.scan.close();
        if let Some(self_pipe) = self.self_pipe.get() {
            self_pipe.notify();
        }
    }

    /// Looks for records, and has the descriptor told of later ones.
    fn look(&self) -> Poll<Result<bool>> {
        let self_pipe = self.self_pipe.get();
        let waker = match self_pipe {
            Some(self_pipe) => {
                // Before the look, so that what comes after it rings again.
                self_pipe.clear();
                Waker::from(Arc::clone(self_pipe))
            }
            None => Waker::noop().clone(),
        };
        let found = self.scan.poll_fill(&waker);
        if let (Poll::Ready(_), Some(self_pipe)) = (&found, self_pipe) {
            self_pipe.notify();
        }
        found
    }

    /// What the first look found, if nobody was told yet.
    fn told_early(&self) -> Result<Option<bool>> {
        lock(&self.early).take().transpose()
    }

    /// Keeps the first error that is one of the scan, not of the caller.
    fn noting<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let read = read();
        if let Err(error) = &read
            && error.kind() != ErrorKind::InvalidArgument
        {
            lock(&self.failed).get_or_insert_with(|| error.clone());
        }
        read
    }

    /// Keeps other threads out.
    fn enter(&self) -> Result<MutexGuard<'_, ()>> {
        self.in_use.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => invalid("scan", "another thread is using it"),
            TryLockError::Poisoned(_) => Error::new(
                ErrorKind::Internal,
                "the scan ended because of a bug in libtalentdata; please report it",
            ),
        })
    }
}

/// A panic cannot leave what is behind these locks in a state that matters.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
