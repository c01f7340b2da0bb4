//! A wish to stop, said by one thread and seen by another that waits.

use std::sync::Arc;
use tokio::sync::watch;

/// Stops what waits on it; clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Says it, for good.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was said.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when it is said.
    pub async fn stopped(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}
