//! A sync for callers without an async runtime.

use super::{Client, Stop, closed};
use crate::error::Result;
use crate::mirror::{Sync, SyncReceipt};
use crate::scan::Receipt;

impl Client {
    /// Reads a list and commits what has changed to its mirror; see [`Sync::run`]. Any thread may stop it by `stop`:
    /// it then fails with `Cancelled`, and the mirror is as it was. [`close`](Self::close) ends it as well.
    ///
    /// # Errors
    /// As there; `Closed` after [`close`](Self::close), and when that ends it.
    pub fn sync(
        &self,
        sync: &Sync,
        stop: &Stop,
        progress: impl FnMut(&Receipt) + Send + 'static,
    ) -> Result<SyncReceipt> {
        let (sync, stop) = (sync.clone(), stop.clone());
        // The sync itself listens to `stop`, because it has files to remove.
        let done = self
            .engine()?
            .run(&self.0.closed, move |client| async move {
                sync.run(&client, stop.stopped(), progress).await
            })?;
        done.ok_or_else(closed)
    }
}
