//! The budget of a client that shares it with nobody: a gate in the memory of this process, of which it is the only member.

use super::{Budget, BudgetStats, Contact, Take, Taking};
use crate::clock::Time;
use crate::gate::{
    Endpoint, GateSettings, Outcome, PriorityClass, RateHeaders, Requester, SharedGate, Ticket,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The one member.
const ID: u64 = 1;

/// A gate of its own.
pub(crate) struct ProcessBudget {
    share: f64,
    gate: Mutex<SharedGate>,
}

impl ProcessBudget {
    pub(crate) fn new(settings: GateSettings) -> Self {
        ProcessBudget {
            share: settings.share,
            gate: Mutex::new(SharedGate::new(settings, Time::ZERO)),
        }
    }

    fn complete(&self, now: Time, ticket: Ticket, outcome: &Outcome) {
        self.gate().complete(now, ID, ticket, outcome);
    }

    fn gate(&self) -> MutexGuard<'_, SharedGate> {
        // The gate's methods leave it whole even when a caller panics between them.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budget for ProcessBudget {
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let requester = Requester {
            id: ID,
            process: 0,
            name: "",
            share: self.share,
        };
        let turn = self.gate().take(now, &requester, class, endpoint);
        Box::pin(std::future::ready(Take::of(turn, |time| time)))
    }

    fn unsend(&self, now: Time, ticket: Ticket) {
        self.complete(now, ticket, &Outcome::Unsent);
    }

    fn failed(&self, now: Time, ticket: Ticket, sent: bool) {
        self.complete(now, ticket, &Outcome::Failed { sent });
    }

    fn lost(&self, now: Time, ticket: Ticket) {
        self.complete(now, ticket, &Outcome::Lost);
    }

    fn answered(&self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.complete(now, ticket, &Outcome::Answered(status, headers.clone()));
    }

    fn stats(&self) -> BudgetStats {
        Contact::with("process").stats()
    }
}
