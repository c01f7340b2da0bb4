//! A sync for callers without an async runtime: waits for its end, shows its progress, and is stopped from any thread.

use crate::sync::{Sync, SyncReceipt};
use talentdata_core::Result;
use talentdata_core::blocking::{Client, Job};
use talentdata_core::scan::Receipt;

/// A sync of a list that is ready to be run; nothing is sent or written yet, and each run is a sync of its own. Stopped, it
/// leaves the mirror as it was.
///
/// # Errors
/// As [`Sync::check`]; `Closed` when the client was closed.
pub fn sync(client: &Client, sync: Sync) -> Result<Job<SyncReceipt>> {
    sync.check()?;
    let begin = Receipt {
        resource: sync.resource.name().to_owned(),
        ..Receipt::default()
    };
    Job::new(client, "sync", &begin, move |client, stop, progress| {
        let sync = sync.clone();
        async move {
            let note = |receipt: &Receipt| progress.note(receipt);
            let finished = sync.run(&client, stop.stopped(), note).await?;
            progress.note(&finished.scan);
            Ok(finished)
        }
    })
}
