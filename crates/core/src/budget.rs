//! The request budget of a company: it admits requests, and is shared by many clients.
//!
//! The queue of a client asks for the right to send one request, and reports how the request ended. The store of the
//! budget decides who shares it: the memory of this process, a file of this host, or a server.
//!
//! Other modules use [`open_budget`] and [`read_budget`]. The budget knows nothing of settings, requests or lists, and
//! gives reasons as text.

mod gate;
#[cfg(unix)]
mod host;
mod membership;
mod options;
#[cfg(feature = "redis")]
mod redis;
#[cfg(unix)]
pub(crate) mod shared_file;

pub use gate::MemberStats;
pub(crate) use gate::{
    Admission, Endpoint, Failures, LastMinute, Outage, PriorityClass, RateHeaders, RequestOutcome,
    Ticket, back_off,
};
pub use membership::{BudgetState, BudgetStats};
pub(crate) use membership::{SharingStatus, absorb, company_key};
pub(crate) use options::{BudgetOptions, BudgetStore, write_server};
pub use options::{OnUnreachable, REQUESTS_PER_SECOND};

use crate::clock::{self, Time};
use crate::process::lock;
use gate::SharedGate;
use membership::MemberIdentity;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The budget as one client sees it. It blocks only for the file of a host: for some microseconds, or for a quarter of
/// a second if the process that holds the lock is stopped.
pub(crate) trait Budget: Send + Sync {
    /// Asks to send one request now, which counts as sent once it is [admitted](Admission::Admitted). One caller asks
    /// at a time, the first in the queue of the client, from within a runtime. The result is an error, with the reason
    /// in words, if the shared budget cannot be reached and the options say to wait for it.
    fn take(
        &self,
        now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Admission, String>;

    /// Reports how the request ended.
    fn report(&self, now: Time, ticket: Ticket, outcome: RequestOutcome);

    /// Returns whether the budget can be reached, and with whom it is shared.
    fn status(&self) -> &SharingStatus;
}

/// Opens the budget that the options name. It notifies `changed` when callers that wait should ask again.
pub(crate) fn open_budget(options: &BudgetOptions, changed: &Arc<Notify>) -> Box<dyn Budget> {
    // Only a server notifies.
    let _ = changed;
    match &options.store {
        #[cfg(unix)]
        BudgetStore::Host if options.paced => Box::new(host::HostBudget::new(options)),
        #[cfg(feature = "redis")]
        BudgetStore::Redis(url) if options.paced => {
            Box::new(redis::RedisBudget::new(url, options, changed))
        }
        // Without a limit there is nothing to share, and some systems have no file to share it in.
        _ => Box::new(ProcessBudget {
            identity: MemberIdentity::new(),
            share: options.share,
            status: SharingStatus::new("process"),
            gate: Mutex::new(SharedGate::new(
                REQUESTS_PER_SECOND,
                options.paced,
                clock::now(),
            )),
        }),
    }
}

/// Reads the state of the budget that the options name, without changing it and without waiting.
///
/// # Errors
/// The reason in words, if the budget is not shared or cannot be read.
pub(crate) fn read_budget(options: &BudgetOptions) -> Result<BudgetState, Unread> {
    match &options.store {
        _ if !options.paced => Err(Unread::NotShared("with paced = false no budget is kept")),
        BudgetStore::Process => Err(Unread::NotShared(
            "each process keeps its own, which others cannot read; with budget = host, the processes of a user \
             share one",
        )),
        #[cfg(unix)]
        BudgetStore::Host => {
            host::look(options).map_err(|error| Unread::File(crate::error::system_text(&error)))
        }
        #[cfg(not(unix))]
        BudgetStore::Host => Err(Unread::NotShared("on this system no file is shared")),
        #[cfg(feature = "redis")]
        BudgetStore::Redis(url) => redis::look(url, options).map_err(Unread::Server),
        #[cfg(not(feature = "redis"))]
        BudgetStore::Redis(_) => Err(Unread::Server("this build supports no servers".into())),
    }
}

/// The reason why the state of a budget cannot be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The options name a budget that is not shared.
    NotShared(&'static str),
    /// The file of the host cannot be read.
    File(String),
    /// The server cannot be reached.
    Server(String),
}

/// The budget of a client that shares it with nobody: a gate with a single member.
struct ProcessBudget {
    identity: MemberIdentity,
    share: f64,
    status: SharingStatus,
    gate: Mutex<SharedGate>,
}

impl Budget for ProcessBudget {
    fn take(
        &self,
        now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Admission, String> {
        let member = self.identity.info(self.share);
        Ok(lock(&self.gate).take(now, &member, class, endpoint))
    }

    fn report(&self, now: Time, ticket: Ticket, outcome: RequestOutcome) {
        lock(&self.gate).complete(now, self.identity.id, ticket, &outcome);
    }

    fn status(&self) -> &SharingStatus {
        &self.status
    }
}
