//! A sync for callers without an async runtime.

use super::{Client, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::{Sync, SyncReceipt};
use crate::scan::Receipt;

impl Client {
    /// Reads a list and commits what has changed to its mirror; see [`Sync::run`]. Any thread may stop it by `stop`:
    /// it then fails with `Cancelled`, and the mirror is as it was.
    ///
    /// # Errors
    /// As there; `Closed` after [`close`](Self::close).
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
            .run(&Stop::default(), move |client| async move {
                sync.run(&client, stop.stopped(), progress).await
            })?;
        done.ok_or_else(|| Error::new(ErrorKind::Cancelled, "the sync was stopped"))
    }
}
