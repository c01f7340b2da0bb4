//! The budget of a client that shares it with nobody: a gate in the memory of this process.

use super::{Budget, BudgetStats, Contact, Take, Taking};
use crate::clock::Time;
use crate::gate::{
    Endpoint, Failures, Gate, GateSettings, PriorityClass, RateHeaders, Ready, Ticket,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// While a probe is on its way, those who wait for its outcome look so often how long that has been.
const LOOK: Duration = Duration::from_millis(250);

/// A gate of its own.
pub(crate) struct ProcessBudget(Mutex<Gate>);

impl ProcessBudget {
    pub(crate) fn new(settings: GateSettings) -> Self {
        ProcessBudget(Mutex::new(Gate::new(settings)))
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        // The gate's methods leave it whole even when a caller panics between them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budget for ProcessBudget {
    fn take(&self, now: Time, _class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let mut gate = self.gate();
        let ready = gate.ready_for(now, endpoint);
        let outage = gate.failures().filter(Failures::is_outage);
        let take = match (ready, outage) {
            (Ready::Now, _) => Take::Now(gate.send_to(now, endpoint)),
            (Ready::At(again), Some(failures)) => Take::Outage { failures, again },
            (Ready::AfterResponse, Some(failures)) => Take::Outage {
                failures,
                again: now + LOOK,
            },
            (Ready::At(moment), None) => Take::Wait {
                earliest: moment,
                again: moment,
            },
            (Ready::AfterResponse, None) => Take::AfterChange,
        };
        Box::pin(std::future::ready(take))
    }

    fn unsend(&self, _now: Time, ticket: Ticket) {
        self.gate().unsend(ticket);
    }

    fn failed(&self, now: Time, ticket: Ticket, sent: bool) {
        self.gate().failed(now, ticket, sent);
    }

    fn lost(&self, now: Time, ticket: Ticket) {
        self.gate().lost(now, ticket);
    }

    fn answered(&self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.gate().response(now, ticket, status, headers);
    }

    fn stats(&self) -> BudgetStats {
        Contact::with("process").stats()
    }
}
