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
use crate::gate::{Endpoint, Outcome, PriorityClass, SharedGate, Ticket, Turn};
use crate::process::lock;
use crate::settings::{BudgetStore, Config, REQUESTS_PER_SECOND};
pub use sharing::{BudgetState, BudgetStats};
use sharing::{Contact, Identity};
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The budget as one client sees it. It waits for nothing but the file of a host: for some microseconds, or for a quarter of a
/// second if the process that holds its lock has been stopped.
pub(crate) trait Budget: Send + Sync {
    /// Asks to send one request now, which counts as sent when it says [`Turn::Now`]. One caller asks at a time, the
    /// first in the queue of the client, from within a runtime. What was reported before is known by then.
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Take;

    /// What became of the request.
    fn report(&self, now: Time, ticket: Ticket, outcome: Outcome);

    /// Whether it is reached, and with whom it is shared.
    fn contact(&self) -> &Contact;
}

/// Whether a request may be sent. Those who wait ask again at the time that they are told, or when the budget notifies before
/// that something has changed. Otherwise why the shared budget cannot be reached, where the settings say to wait for it.
pub(crate) type Take = std::result::Result<Turn, String>;

/// The budget that the settings name, which notifies `changed` when those who wait should ask again.
pub(crate) fn of(config: &Config, changed: &Arc<Notify>) -> Box<dyn Budget> {
    match &config.budget {
        #[cfg(unix)]
        BudgetStore::Host if config.paced => Box::new(host::HostBudget::new(config)),
        BudgetStore::Redis(url) if config.paced => {
            Box::new(redis::RedisBudget::new(url, config, changed))
        }
        // Without a limit there is nothing to share, and some systems have no file to share it in.
        _ => Box::new(ProcessBudget {
            identity: Identity::new(),
            share: config.share,
            contact: Contact::with("process"),
            gate: Mutex::new(SharedGate::new(
                REQUESTS_PER_SECOND,
                config.paced,
                clock::now(),
            )),
        }),
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
        let unread = |kind, what: &str, reason: &dyn Display| {
            Error::new(kind, format!("the {what} cannot be read: {reason}"))
        };
        match &self.budget {
            _ if !self.paced => refuse("budget: with paced = false no budget is kept"),
            BudgetStore::Process => refuse(
                "budget: each process keeps its own, and nobody else can look at it; with budget = host \
                 the processes of a user share one",
            ),
            #[cfg(unix)]
            BudgetStore::Host => host::look(self)
                .map_err(|error| unread(ErrorKind::Io, "file of the shared budget", &error)),
            #[cfg(not(unix))]
            BudgetStore::Host => refuse("budget: on this system no file is shared"),
            BudgetStore::Redis(url) => redis::look(url, self)
                .map_err(|reason| unread(ErrorKind::Connect, "shared budget", &reason)),
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

impl Budget for ProcessBudget {
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Take {
        let requester = self.identity.requester(self.share);
        Ok(lock(&self.gate).take(now, &requester, class, endpoint))
    }

    fn report(&self, now: Time, ticket: Ticket, outcome: Outcome) {
        lock(&self.gate).complete(now, self.identity.id, ticket, &outcome);
    }

    fn contact(&self) -> &Contact {
        &self.contact
    }
}
