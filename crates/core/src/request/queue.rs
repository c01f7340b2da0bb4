//! Admits calls through the gate one by one, in the order of arrival. Only this part waits.

use super::in_flight::InFlight;
use super::retry::{Deadline, RetryState};
use super::troubles::Troubles;
use crate::budget::{
    Admission, Budget, Endpoint, Failures, LastMinute, Outage, PriorityClass, RequestOutcome,
    Ticket,
};
use crate::clock::{self, Time};
use crate::error::{Error, Result};
use crate::process::lock;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::task::spawn_blocking;

/// The shortest wait that is logged. Shorter waits are usual gaps between two requests.
const MIN_LOGGED_WAIT: Duration = Duration::from_millis(250);
/// The longest time until a request that waits for another one checks again.
const RECHECK_AFTER: Duration = Duration::from_millis(250);

/// The queue for the budget of a company. All calls of a client share it.
pub(crate) struct AdmissionQueue {
    pub(crate) budget: Box<dyn Budget>,
    pub(super) troubles: Troubles,
    /// Held by the first call in the queue. The runtime's mutex is fair.
    head: Mutex<()>,
    /// The queue of the scans. Only one of their pages is in the main queue at any time, so that a single call does not
    /// wait for all of them.
    scans: Mutex<()>,
    /// Each single call in the queue holds a clone. While there is one, the page at the head of the queue has the
    /// priority of a single call.
    waiting_calls: Arc<()>,
    /// The outcomes of this client's own requests, and the number of the service's faults within the last minute. The
    /// gate also knows the requests of others.
    outage: StdMutex<(Outage, LastMinute)>,
    /// This client's requests under way.
    in_flight: StdMutex<InFlight>,
    /// Notified when the decision of the budget may have changed.
    changed: Arc<Notify>,
}

impl AdmissionQueue {
    /// Creates a queue of a client for this budget, which may notify `changed`.
    pub(crate) fn new(
        budget: Box<dyn Budget>,
        changed: Arc<Notify>,
        client_id: Option<&str>,
    ) -> Arc<Self> {
        Arc::new(AdmissionQueue {
            budget,
            troubles: Troubles::new(client_id),
            head: Mutex::new(()),
            scans: Mutex::new(()),
            waiting_calls: Arc::default(),
            outage: StdMutex::default(),
            in_flight: StdMutex::default(),
            changed,
        })
    }

    /// Waits to be the first in the queue. The call stays the first until the returned value is dropped. Pages of scans
    /// first wait in the queue of the scans, unless the service just refused them.
    pub(crate) async fn enter(&self, queues_with_scans: bool) -> impl Send {
        let (single, scans) = if queues_with_scans {
            (None, Some(self.scans.lock().await))
        } else {
            let single = Arc::clone(&self.waiting_calls);
            // The call at the head of the queue asks again, with its new priority.
            self.changed.notify_one();
            (Some(single), None)
        };
        (self.head.lock().await, scans, single)
    }

    /// Waits until a request may be sent. Only the first call in the queue may use this, for its own request and,
    /// before that, for the token that it needs.
    ///
    /// # Errors
    /// `RateLimited` if the service asks for a longer wait than the settings or the time left allow; `Config` if the
    /// server of the budget refuses this client, and calls must not continue without it; the reason of an outage that
    /// the call no longer waits for. They end the call.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        class: PriorityClass,
        endpoint: Endpoint,
        state: &mut RetryState<'_>,
        deadline: &mut Deadline,
    ) -> Result<Permit> {
        let (began, mut is_logged) = (clock::now(), false);
        loop {
            let now = clock::now();
            // A page that a single call waits for has the priority of that call.
            let class = match Arc::strong_count(&self.waiting_calls) {
                1 => class,
                _ => PriorityClass::Single,
            };
            let queue = Arc::clone(self);
            let take = match spawn_blocking(move || queue.take(class, endpoint)).await {
                Ok(Ok(permit)) => return Ok(permit),
                Ok(Err(take)) => take,
                Err(_) => Err("the thread that uses the budget failed".into()),
            };
            if let Err(reason) = &take
                && self.budget.status().is_refused()
            {
                return Err(Error::config(format!("budget: {reason}")));
            }
            if let Ok(Admission::Wait {
                outage: Some(failures),
                ..
            }) = &take
            {
                let own = self.own_failures();
                state.shares_outage = failures.count > own.map_or(0, |own| own.count);
            }
            let until = state.wait(now, *deadline, now.saturating_sub(began), &take)?;
            let (pause, why, is_outage) = match take {
                Ok(Admission::Wait {
                    again,
                    outage: Some(failures),
                    ..
                }) => {
                    self.troubles.failing(now, &failures, None);
                    (again, "the service is down; waiting for a probe", true)
                }
                Ok(Admission::Wait { earliest, .. }) => {
                    (earliest, "pausing for the rate limit", false)
                }
                _ => (now, "", false),
            };
            let pause = pause.saturating_sub(now);
            if pause >= MIN_LOGGED_WAIT && !is_logged {
                is_logged = true;
                let client = state.client();
                tracing::debug!(seconds = pause.as_secs_f64(), client, "{why}");
            }
            tokio::select! {
                () = tokio::time::sleep_until(clock::instant(until)) => {}
                () = self.changed.notified() => {}
            }
            if is_outage {
                deadline.extend(clock::now().saturating_sub(now));
            }
        }
    }

    /// Returns a permit to send now, or the answer of the budget. If nobody waits for the permit any more, it is
    /// dropped, which returns the slot to the budget.
    fn take(
        self: Arc<Self>,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> std::result::Result<Permit, std::result::Result<Admission, String>> {
        if lock(&self.in_flight).is_full() {
            let now = clock::now();
            return Err(Ok(Admission::Wait {
                earliest: now,
                again: now + RECHECK_AFTER,
                outage: None,
            }));
        }
        match self.budget.take(clock::now(), class, endpoint) {
            Ok(Admission::Admitted(ticket)) => {
                lock(&self.in_flight).sent();
                Ok(Permit {
                    queue: self,
                    ticket,
                    outcome: Some(RequestOutcome::Unsent),
                })
            }
            take => Err(take),
        }
    }

    /// Returns the failures of this client's requests since its last success, if there are any.
    pub(crate) fn own_failures(&self) -> Option<Failures> {
        lock(&self.outage).0.failures()
    }

    /// Records a failed request of this client. `is_fault` says whether that is a fault of the service. Returns the
    /// failures since its last success, if any, and the number of faults within the last minute.
    pub(crate) fn record_failure(&self, now: Time, is_fault: bool) -> (Option<Failures>, u32) {
        let (outage, faults) = &mut *lock(&self.outage);
        if is_fault {
            faults.count(now);
        }
        (outage.failures(), faults.sum(now))
    }
}

/// The right to send one request.
pub(crate) struct Permit {
    queue: Arc<AdmissionQueue>,
    ticket: Ticket,
    /// The outcome that is reported to the budget when the permit is dropped, unless `report` did so before.
    pub(crate) outcome: Option<RequestOutcome>,
}

impl Permit {
    /// Reports the outcome of the request so far to the budget.
    pub(crate) fn report(&mut self, now: Time, outcome: RequestOutcome) {
        self.outcome = None;
        let ticket = self.ticket;
        lock(&self.queue.outage).0.complete(now, ticket, &outcome);
        lock(&self.queue.in_flight).ended(&outcome);
        self.queue.budget.report(now, ticket, outcome);
        self.queue.changed.notify_one();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.report(clock::now(), outcome);
        }
    }
}
