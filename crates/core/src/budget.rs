//! Who may send when: the request budget of a company, and the processes that share it.
//!
//! The queue of a client asks for the right to send one request, and tells what became of it. Where the budget is kept
//! decides who shares it: in this process, in a file of this host, or on a server.

pub(crate) mod company;
mod contact;
#[cfg(unix)]
mod host;
mod look;
mod process;
mod redis;
mod who;

use crate::clock::Time;
use crate::gate::{Endpoint, Failures, GateSettings, PriorityClass, RateHeaders, Ticket, Turn};
use crate::settings::{BudgetHome, Config};
pub use contact::BudgetStats;
use contact::{Contact, News};
#[cfg(unix)]
use host::HostBudget;
pub use look::BudgetState;
use process::ProcessBudget;
use redis::RedisBudget;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Notify;

/// The budget as one client sees it. It waits for nothing but, for some microseconds, the file of a host.
pub(crate) trait Budget: Send + Sync {
    /// Asks to send one request now, which counts as sent when it says [`Take::Now`]. One caller asks at a time, the
    /// first in the queue of the client, from within a runtime. What was reported before is known by then.
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_>;

    /// The request was not sent after all.
    fn unsend(&self, now: Time, ticket: Ticket);

    /// The request failed, with no response or with one that broke off; `sent` is whether the service may have counted it.
    /// Where no connection was made, its turn is given back.
    fn failed(&self, now: Time, ticket: Ticket, sent: bool);

    /// The caller waits for no response any more, though the service may have counted the request.
    fn lost(&self, now: Time, ticket: Ticket);

    /// A response has arrived.
    fn answered(&self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders);

    /// With whom it is shared, for receipts and logs.
    fn stats(&self) -> BudgetStats;

    /// Waits until the others have been told that the client has left, once the budget has been dropped.
    fn left(&self) -> Left {
        Box::pin(std::future::ready(()))
    }
}

/// A request to be allowed to send.
pub(crate) type Taking<'a> = Pin<Box<dyn Future<Output = Take> + Send + 'a>>;

/// Waits until a client has left its budget.
pub(crate) type Left = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The budget that the settings name, which notifies `changed` when those who wait should ask again.
pub(crate) fn of(
    config: &Config,
    settings: GateSettings,
    changed: &Arc<Notify>,
) -> Box<dyn Budget> {
    match &config.budget {
        // Without a limit, there is nothing to share.
        _ if !config.paced => Box::new(ProcessBudget::new(settings)),
        #[cfg(unix)]
        BudgetHome::Host => Box::new(HostBudget::new(config, settings)),
        #[cfg(not(unix))]
        BudgetHome::Host => Box::new(ProcessBudget::new(settings)),
        BudgetHome::Process => Box::new(ProcessBudget::new(settings)),
        BudgetHome::Redis(url) => Box::new(RedisBudget::new(url, config, settings, changed)),
    }
}

/// Whether the request may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Take {
    /// At once; it counts as sent.
    Now(Ticket),
    /// Ask again at `again`, or when the budget notifies before that something has changed.
    Wait {
        /// When the service lets the next request go, as far as is known.
        earliest: Time,
        again: Time,
    },
    /// The service is down, and requests are held back but for one at a time that probes it. Ask again at `again`, or when the
    /// budget notifies before that something has changed.
    Outage { failures: Failures, again: Time },
    /// The shared budget cannot be reached, for this reason, and the settings say to wait for it.
    Unreachable(String),
    /// Ask again when the budget notifies that something has changed.
    AfterChange,
}

impl Take {
    /// What a gate says, whose times `local` puts into those of this process.
    fn of(turn: Turn, local: impl Fn(Time) -> Time) -> Self {
        match turn {
            Turn::Now(ticket) => Take::Now(ticket),
            Turn::Wait {
                again,
                outage: Some(failures),
                ..
            } => Take::Outage {
                failures: Failures {
                    since: local(failures.since),
                    ..failures
                },
                again: local(again),
            },
            Turn::Wait {
                earliest, again, ..
            } => Take::Wait {
                earliest: local(earliest),
                again: local(again),
            },
        }
    }
}
