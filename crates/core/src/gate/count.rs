//! What the headers of one response say, next to what we know of our own requests.

use std::time::Duration;

use super::Time;

/// What one response tells about the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) received: Time,
    pub(super) sent: Time,
    pub(super) limit: f64,
    pub(super) remaining: f64,
    /// Our own requests within the window that ended with this one, by send time.
    pub(super) own: f64,
    /// How long the server's window still lasts, where it tells parts of a second.
    pub(super) rest: Option<Duration>,
    pub(super) refused: bool,
}
