//! Who may send when: the request budget of a company, and the processes that share it.
//!
//! The queue of a client asks for the right to send one request, and reports what became of it. The store of the budget
//! decides who shares it: the memory of this process, a file of this host, or a server.

#[cfg(unix)]
mod host;
mod redis;
pub(crate) mod sharing;

use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{
    Endpoint, Failures, GateSettings, Outcome, PriorityClass, SharedGate, Ticket, Turn,
};
use crate::settings::{BudgetStore, Config};
pub use sharing::{BudgetState, BudgetStats};
use sharing::{Contact, Identity};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The budget as one client sees it. It waits for nothing but, for some microseconds, the file of a host.
pub(crate) trait Budget: Send + Sync {
    /// Asks to send one request now, which counts as sent when it says [`Take::Now`]. One caller asks at a time, the
    /// first in the queue of the client, from within a runtime. What was reported before is known by then.
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_>;

    /// What became of the request.
    fn report(&self, now: Time, ticket: Ticket, outcome: Outcome);

    /// Whether it is reached, and with whom it is shared.
    fn contact(&self) -> &Contact;

    /// The same for receipts and logs.
    fn stats(&self) -> BudgetStats {
        self.contact().stats()
    }

    /// Waits until the others have been told that the client has left, once the budget has been dropped.
    fn left(&self) -> Left {
        self.contact().left()
    }
}

/// A request to be allowed to send.
pub(crate) type Taking<'a> = Pin<Box<dyn Future<Output = Take> + Send + 'a>>;

/// Waits until a client has left its budget.
pub(crate) type Left = Pin<Box<dyn Future<Output = ()> + Send>>;

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

impl From<Turn> for Take {
    fn from(turn: Turn) -> Self {
        match turn {
            Turn::Now(ticket) => Take::Now(ticket),
            Turn::Wait {
                again,
                outage: Some(failures),
                ..
            } => Take::Outage { failures, again },
            Turn::Wait {
                earliest, again, ..
            } => Take::Wait { earliest, again },
        }
    }
}

/// Locks what all methods leave whole even when a caller panics between them.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        BudgetStore::Host => {
            let path = host::path(config);
            Box::new(host::HostBudget::new(path, settings, config.on_unreachable))
        }
        #[cfg(not(unix))]
        BudgetStore::Host => Box::new(ProcessBudget::new(settings)),
        BudgetStore::Process => Box::new(ProcessBudget::new(settings)),
        BudgetStore::Redis(url) => {
            Box::new(redis::RedisBudget::new(url, config, settings, changed))
        }
    }
}

impl Config {
    /// The state of the budget that these settings name. Looking changes nothing, and neither waits for anybody nor holds
    /// anybody up.
    ///
    /// # Errors
    /// `Config` where the budget is not shared, or cannot be looked at; `Io` where its file cannot be read,
    /// `Connect` where its server cannot be reached.
    pub fn budget_state(&self) -> Result<BudgetState> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::Config, message));
        match &self.budget {
            _ if !self.paced => refuse("budget: with paced = false no budget is kept"),
            BudgetStore::Process => refuse(
                "budget: each process keeps its own, and nobody else can look at it; with budget = host \
                 the processes of a user share one",
            ),
            #[cfg(unix)]
            BudgetStore::Host => host::look(self).map_err(|error| {
                let message = format!("the file of the shared budget cannot be read: {error}");
                Error::new(ErrorKind::Io, message)
            }),
            #[cfg(not(unix))]
            BudgetStore::Host => refuse("budget: on this system no file is shared"),
            BudgetStore::Redis(url) => redis::look(url, self).map_err(|reason| {
                let message = format!("the shared budget cannot be read: {reason}");
                Error::new(ErrorKind::Connect, message)
            }),
        }
    }
}

/// The budget of a client that shares it with nobody: a gate of which it is the only member.
struct ProcessBudget {
    identity: Identity,
    share: f64,
    contact: Contact,
    gate: Mutex<SharedGate>,
}

impl ProcessBudget {
    fn new(settings: GateSettings) -> Self {
        ProcessBudget {
            identity: Identity::new(),
            share: settings.share,
            contact: Contact::with("process"),
            gate: Mutex::new(SharedGate::new(settings, clock::now())),
        }
    }
}

impl Budget for ProcessBudget {
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let requester = self.identity.requester(self.share);
        let turn = lock(&self.gate).take(now, &requester, class, endpoint);
        Box::pin(std::future::ready(turn.into()))
    }

    fn report(&self, now: Time, ticket: Ticket, outcome: Outcome) {
        lock(&self.gate).complete(now, self.identity.id, ticket, &outcome);
    }

    fn contact(&self) -> &Contact {
        &self.contact
    }
}
