//! Lets calls through the gate one by one, in the order in which they came: the part that waits.

use super::retry::Endurance;
use crate::budget::{Budget, BudgetStats, Left, Take};
use crate::clock::{self, Time};
use crate::error::Result;
use crate::gate::{
    Endpoint, Failures, Outage, Outcome, PriorityClass, RateHeaders, Ticket, is_failure,
};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard as StdMutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Notify};

/// A shorter wait is the usual gap between two requests, which is not logged.
const PAUSE: Duration = Duration::from_millis(250);

/// The queue for the budget of a company, shared by all calls of a client.
pub(crate) struct AdmissionQueue {
    budget: Box<dyn Budget>,
    /// Held by the first in the queue; the runtime's mutex is fair.
    head: Mutex<()>,
    /// Calls that are sent for the first time stand here first, so that at most one of them is ahead of a call that
    /// was already at the head of the queue.
    queue: Mutex<()>,
    /// Scans stand here first, so that only one of their pages is in the queue at any time and a
    /// single call does not wait behind all of them.
    scans: Mutex<()>,
    /// Held by the calls in the queue that are no pages of scans: the page at its head goes like them.
    singles: Arc<()>,
    /// What this client's own requests tell about the service, and the status of the latest failure; the gate knows about
    /// the requests of others, too.
    outage: StdMutex<(Outage, Option<u16>)>,
    /// Notified whenever the budget may have changed its mind.
    changed: Arc<Notify>,
}

impl AdmissionQueue {
    /// A queue for this budget, which may notify `changed`.
    pub(crate) fn new(budget: Box<dyn Budget>, changed: Arc<Notify>) -> Arc<Self> {
        Arc::new(AdmissionQueue {
            budget,
            head: Mutex::new(()),
            queue: Mutex::new(()),
            scans: Mutex::new(()),
            singles: Arc::default(),
            outage: StdMutex::default(),
            changed,
        })
    }

    /// Waits to be the first in the queue, and is so until what is returned is dropped.
    pub(crate) async fn head(&self, priority: Priority) -> HeadOfQueue<'_> {
        let (single, scans) = match priority {
            Priority::Scan => (None, Some(self.scans.lock().await)),
            Priority::Single | Priority::Retry => {
                let single = Arc::clone(&self.singles);
                // The head of the queue asks again, now in its class.
                self.changed.notify_one();
                (Some(single), None)
            }
        };
        let queue = match priority {
            Priority::Scan | Priority::Single => Some(self.queue.lock().await),
            Priority::Retry => None,
        };
        HeadOfQueue {
            _head: self.head.lock().await,
            _queue: queue,
            _scans: scans,
            _single: single,
        }
    }

    /// Waits until a request may be sent; for the first in the queue, who may also fetch the token
    /// it needs before.
    ///
    /// # Errors
    /// `RateLimited` when the service has asked for a longer wait than the settings allow, or than there is time; the reason
    /// of an outage that is not waited for any longer.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        class: PriorityClass,
        endpoint: Endpoint,
        endurance: &mut Endurance<'_>,
    ) -> Result<Permit> {
        let (came, mut told) = (clock::now(), false);
        loop {
            let now = clock::now();
            let waited = now.saturating_sub(came);
            let take = self.budget.take(now, self.class(class), endpoint).await;
            if let Take::Now(ticket) = take {
                return Ok(Permit {
                    queue: Arc::clone(self),
                    ticket,
                    if_dropped: Some(Outcome::Unsent),
                    waited,
                });
            }
            let status = self.outage().1;
            let until = endurance.wait(now, waited, &take, status)?;
            match &take {
                Take::Wait { earliest, .. } if !told && *earliest >= now + PAUSE => {
                    told = true;
                    let wait_s = earliest.saturating_sub(now).as_secs_f64();
                    tracing::debug!(wait_s, "pausing for the rate limit");
                }
                Take::Outage { failures, .. } if !told => {
                    told = true;
                    let failures = failures.count;
                    tracing::debug!(failures, "the service is down; waiting for a probe");
                }
                _ => {}
            }
            self.wait_until(until).await;
            if matches!(take, Take::Outage { .. }) {
                endurance.waited_for_others(clock::now().saturating_sub(now));
            }
        }
    }

    /// Waits until this time, or until the budget may have changed its mind.
    async fn wait_until(&self, until: Time) {
        tokio::select! {
            () = tokio::time::sleep_until(clock::instant(until)) => {}
            () = self.changed.notified() => {}
        }
    }

    /// With whom the budget is shared.
    pub(crate) fn stats(&self) -> BudgetStats {
        self.budget.stats()
    }

    /// The failures of this client's requests since its last success, where there are any.
    pub(crate) fn failures(&self) -> Option<Failures> {
        self.outage().0.failures()
    }

    /// Waits until the client has left the budget, once the queue has been dropped.
    pub(crate) fn left(&self) -> Left {
        self.budget.left()
    }

    fn outage(&self) -> StdMutexGuard<'_, (Outage, Option<u16>)> {
        // Each change leaves it whole.
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The priority class of the head of the queue: a page that a single call waits behind goes like that call.
    fn class(&self, own: PriorityClass) -> PriorityClass {
        match Arc::strong_count(&self.singles) {
            1 => own,
            _ => PriorityClass::Single,
        }
    }
}

/// Who waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A call that somebody waits for.
    Single,
    /// One of the many pages of a scan.
    Scan,
    /// A call of either kind that was refused, for its token or for the rate limit: it has waited before, and goes
    /// before all others.
    Retry,
}

/// The first place in the queue.
pub(crate) struct HeadOfQueue<'a> {
    _head: MutexGuard<'a, ()>,
    _queue: Option<MutexGuard<'a, ()>>,
    _scans: Option<MutexGuard<'a, ()>>,
    _single: Option<Arc<()>>,
}

/// The right to send one request; dropping it tells the budget that the caller has given up.
pub(crate) struct Permit {
    queue: Arc<AdmissionQueue>,
    ticket: Ticket,
    /// What became of the request if nothing more is heard of it.
    if_dropped: Option<Outcome>,
    waited: Duration,
}

impl Permit {
    /// How long the head of the queue waited for it.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// The request is leaving now.
    pub(crate) fn sent(&mut self) {
        self.if_dropped = Some(Outcome::Lost);
    }

    /// A response came; from here on the budget knows what it says.
    pub(crate) fn answered(&mut self, now: Time, status: u16, headers: &RateHeaders) {
        match is_failure(status, headers) {
            true => self.note_failure(now, Some(status)),
            false => self.queue.outage().0.succeeded(now, self.ticket),
        }
        self.settled(now, Outcome::Answered(status, headers.clone()));
    }

    /// The request has failed, or the body of its response broke off; `sent` is whether the service may have counted it.
    pub(crate) fn failed(&mut self, sent: bool) {
        let now = clock::now();
        self.note_failure(now, None);
        self.settled(now, Outcome::Failed { sent });
    }

    fn note_failure(&self, now: Time, status: Option<u16>) {
        let (outage, latest) = &mut *self.queue.outage();
        outage.failed(now, self.ticket);
        *latest = status;
    }

    fn settled(&mut self, now: Time, outcome: Outcome) {
        self.if_dropped = None;
        self.queue.budget.report(now, self.ticket, outcome);
        self.queue.changed.notify_one();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(outcome) = self.if_dropped.take() {
            self.settled(clock::now(), outcome);
        }
    }
}
