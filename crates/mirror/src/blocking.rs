//! A sync for callers without an async runtime: waits for its end, shows its progress, and is stopped from any thread.

use crate::sync::{Sync, SyncReceipt};
use talentdata_core::blocking::{Client, Job};
use talentdata_core::scan::Receipt;
use talentdata_core::{Result, Stop};

/// A sync that any number of threads may look at, and one at a time may run; each run is a sync of its own.
///
/// It lives on when its client is closed. In a forked child, a sync of the parent is `Closed`.
pub struct Syncer {
    sync: Sync,
    job: Job,
}

impl Syncer {
    /// A sync of a list; nothing is sent or written before it is run.
    ///
    /// # Errors
    /// As [`Sync::check`]; `Closed` after the client was closed.
    pub fn new(client: &Client, sync: Sync) -> Result<Self> {
        sync.check()?;
        let receipt = Receipt {
            resource: sync.resource.name().to_owned(),
            ..Receipt::default()
        };
        Ok(Syncer {
            job: client.job(receipt, ["sync", "syncer"])?,
            sync,
        })
    }

    /// Stops this sync from any thread: one that is running fails with `Cancelled`, and the mirror is as it was; every
    /// later run fails without touching a file.
    pub fn stop_handle(&self) -> Stop {
        self.job.stop_handle()
    }

    /// Reads the list and commits what has changed, until the end or until it is stopped; see [`Sync::run`].
    ///
    /// # Errors
    /// As there; `InvalidArgument` while another thread runs it; `Closed` in a forked child.
    pub fn run(&self) -> Result<SyncReceipt> {
        let sync = self.sync.clone();
        self.job.run(|client, stop, reached| async move {
            let note = |receipt: &Receipt| reached.note(receipt);
            let finished = sync.run(&client, stop.stopped(), note).await?;
            reached.note(&finished.scan);
            Ok(finished)
        })
    }

    /// How far the scan of the last run is; for progress. It is also there after an error.
    pub fn receipt(&self) -> Receipt {
        self.job.receipt()
    }
}
