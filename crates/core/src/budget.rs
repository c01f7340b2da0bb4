//! Who may send when: the request budget of a company, and the processes that share it.
//!
//! The queue of a client asks for the right to send one request, and tells what became of it. Where the budget is kept
//! decides who shares it: in this process, in a file of this host, or on a server.

mod process;

use crate::clock::Time;
use crate::gate::{Lane, RateHeaders, Ticket};
pub(crate) use process::ProcessBudget;

/// The budget as one client sees it. It never waits.
pub(crate) trait Budget: Send + Sync {
    /// Asks to send one request now, which counts as sent when the answer is [`Take::Now`]. One caller asks at a time, the
    /// first in the queue of the client, from within a runtime.
    fn take(&self, now: Time, lane: Lane) -> Take;

    /// The request was not sent after all.
    fn unsend(&self, now: Time, ticket: Ticket);

    /// No response will come, though the service may have counted the request.
    fn lost(&self, now: Time, ticket: Ticket);

    /// A response has arrived.
    fn answered(&self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders);
}

/// Whether the request may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// At once; it counts as sent.
    Now(Ticket),
    /// Ask again at `again`, or when the budget tells before that something has changed.
    Wait {
        /// When the service lets the next request go, as far as is known.
        earliest: Time,
        again: Time,
    },
    /// Ask again when the budget tells that something has changed.
    AfterChange,
}
