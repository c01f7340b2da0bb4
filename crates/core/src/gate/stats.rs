//! What the gate has done so far, for whoever watches it; receipts have figures of their own.

use std::fmt;
use std::time::Duration;

/// How the gate currently finds the time of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Even pacing, so that no window of any kind can overflow; right under every policy.
    Universal,
    /// The budget refills faster than it is spent, as a bucket does: the whole limit is used.
    Refill,
    /// The server counts in fixed windows and their edges are known.
    Locked,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Universal => "universal",
            Self::Refill => "refill",
            Self::Locked => "locked",
        })
    }
}

/// Figures of one gate since it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateStats {
    /// Requests sent, refused ones and retries included.
    pub sends: u64,
    /// Responses received, of any status.
    pub responses: u64,
    /// Requests that were given up without a response.
    pub lost: u64,
    /// Responses with status 429.
    pub refused: u64,
    /// Time paused because a response showed no request remaining (service document, section 8.3).
    pub paused_exhausted: Duration,
    /// Time paused because a request was refused (service document, sections 8.3 and 8.4).
    pub paused_refused: Duration,
    /// The current mode.
    pub mode: Mode,
    /// Requests per second the gate aims at now.
    pub target_rate: f64,
}
