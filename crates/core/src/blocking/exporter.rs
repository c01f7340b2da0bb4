//! An export for callers without an async runtime: waits for its end, shows its progress, and is stopped from any thread.

use super::engine::Engine;
use super::job::Job;
use crate::error::Result;
use crate::export::Export;
use crate::scan::Receipt;
use crate::stop::Stop;
use std::sync::Arc;

/// An export that any number of threads may look at, and one at a time may run.
///
/// It lives on when its client is closed. In a forked child, an export of the parent is `Closed`.
pub struct Exporter {
    export: Export,
    job: Job,
}

impl Exporter {
    pub(super) fn new(export: Export, engine: Arc<Engine>) -> Result<Self> {
        export.check()?;
        let receipt = export.scan.receipt(export.resource);
        Ok(Exporter {
            job: Job::new(engine, receipt, ["export", "exporter"]),
            export,
        })
    }

    /// Stops this export from any thread: one that is running keeps what can be resumed and fails with
    /// `Cancelled`; every later run fails without touching a file.
    pub fn stop_handle(&self) -> Stop {
        self.job.stop_handle()
    }

    /// Reads the list and writes it, until the end or until it is stopped; see [`Export::run`]. After an error
    /// it may be run again.
    ///
    /// # Errors
    /// As there; `InvalidArgument` while another thread runs it; `Closed` in a forked child.
    pub fn run(&self) -> Result<Receipt> {
        let export = self.export.clone();
        self.job.run(|client, stop, reached| async move {
            let note = |receipt: &Receipt| reached.note(receipt);
            let finished = export.run(&client, stop.stopped(), note).await?;
            reached.note(&finished);
            Ok(finished)
        })
    }

    /// What has been done so far, by earlier runs too that are resumed; for progress. It is also there after an error.
    pub fn receipt(&self) -> Receipt {
        self.job.receipt()
    }
}
