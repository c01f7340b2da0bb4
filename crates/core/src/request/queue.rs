//! Lets calls through the gate one by one, in the order in which they came: the part that waits.

use super::retry::Endurance;
use crate::budget::{Budget, BudgetStats, Left, Take};
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{
    Endpoint, Failures, Outage, Outcome, PriorityClass, RateHeaders, Ticket, is_failure,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard as StdMutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Notify};

/// A shorter wait is the usual gap between two requests, which is not logged.
const PAUSE: Duration = Duration::from_millis(250);
/// While the shared budget cannot be reached, it is tried again after this long.
const LOST: Duration = Duration::from_millis(100);

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
    /// Calls in the queue that are no pages of scans: the page at its head goes like them.
    singles: AtomicUsize,
    /// What this client's own requests tell about the service; the gate knows about those of others, too.
    outage: StdMutex<Outage>,
    /// Notified whenever the budget may have changed its mind.
    changed: Arc<Notify>,
    max_wait: Duration,
}

impl AdmissionQueue {
    /// A queue for this budget, which may notify `changed`.
    pub(crate) fn new(
        budget: Box<dyn Budget>,
        changed: Arc<Notify>,
        max_wait: Duration,
    ) -> Arc<Self> {
        Arc::new(AdmissionQueue {
            budget,
            head: Mutex::new(()),
            queue: Mutex::new(()),
            scans: Mutex::new(()),
            singles: AtomicUsize::new(0),
            outage: StdMutex::default(),
            changed,
            max_wait,
        })
    }

    /// Waits to be the first in the queue, and is so until what is returned is dropped.
    pub(crate) async fn head(&self, priority: Priority) -> HeadOfQueue<'_> {
        let (single, scans) = match priority {
            Priority::Scan => (None, Some(self.scans.lock().await)),
            Priority::Single | Priority::Retry => (Some(SingleCall::enter(self)), None),
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
        let (mut came, mut told) = (None, false);
        loop {
            let now = clock::now();
            let came = *came.get_or_insert(now);
            let until = match self.budget.take(now, self.class(class), endpoint).await {
                Take::Now(ticket) => {
                    return Ok(Permit {
                        queue: Arc::clone(self),
                        ticket,
                        state: State::Unused,
                        waited: now.saturating_sub(came),
                    });
                }
                Take::Wait {
                    again,
                    outage: Some(failures),
                    ..
                } => {
                    if endurance.gives_up(now, &failures) {
                        return Err(endurance.outage_is_too_long(now, failures));
                    }
                    if !told {
                        told = true;
                        let failures = failures.count;
                        tracing::debug!(failures, "the service is down; waiting for a probe");
                    }
                    let until = again.min(endurance.outage_ends(&failures));
                    self.wait_until(until).await;
                    endurance.waited_for_others(clock::now().saturating_sub(now));
                    continue;
                }
                Take::Wait {
                    earliest, again, ..
                } => {
                    let wait = earliest.saturating_sub(now);
                    if let Some(error) = endurance.wait_is_too_long(now, wait) {
                        return Err(error);
                    }
                    if wait >= PAUSE && !told {
                        told = true;
                        tracing::debug!(wait_s = wait.as_secs_f64(), "pausing for the rate limit");
                    }
                    again
                }
                Take::Unreachable(reason) => {
                    self.refuse_long_loss(now.saturating_sub(came), &reason)?;
                    now + LOST
                }
                Take::AfterChange => Time::MAX,
            };
            if now >= endurance.deadline() {
                return Err(endurance.out_of_time());
            }
            self.wait_until(until.min(endurance.deadline())).await;
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
        self.outage().failures()
    }

    /// Waits until the client has left the budget, once the queue has been dropped.
    pub(crate) fn left(&self) -> Left {
        self.budget.left()
    }

    fn outage(&self) -> StdMutexGuard<'_, Outage> {
        // Each change leaves it whole.
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse_long_loss(&self, waited: Duration, reason: &str) -> Result<()> {
        if waited <= self.max_wait {
            return Ok(());
        }
        let message = format!(
            "the shared budget could not be reached for {} s (max_wait): {reason}; with on_unreachable=share, calls go on with a part of it",
            self.max_wait.as_secs_f64()
        );
        Err(Error::new(ErrorKind::RateLimited, message))
    }

    /// The priority class of the head of the queue: a page that a single call waits behind goes like that call.
    fn class(&self, own: PriorityClass) -> PriorityClass {
        match self.singles.load(Ordering::Relaxed) {
            0 => own,
            _ => PriorityClass::Single,
        }
    }
}

/// Counts a call that is no page of a scan for as long as it is in the queue.
struct SingleCall<'a>(&'a AdmissionQueue);

impl<'a> SingleCall<'a> {
    fn enter(queue: &'a AdmissionQueue) -> Self {
        queue.singles.fetch_add(1, Ordering::Relaxed);
        // The head of the queue asks again, now in its class.
        queue.changed.notify_one();
        SingleCall(queue)
    }
}

impl Drop for SingleCall<'_> {
    fn drop(&mut self) {
        self.0.singles.fetch_sub(1, Ordering::Relaxed);
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
    _single: Option<SingleCall<'a>>,
}

/// The right to send one request; dropping it tells the budget that the caller has given up.
pub(crate) struct Permit {
    queue: Arc<AdmissionQueue>,
    ticket: Ticket,
    state: State,
    waited: Duration,
}

enum State {
    Unused,
    Sent,
    Settled,
}

impl Permit {
    /// How long the head of the queue waited for it.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// The request is leaving now.
    pub(crate) fn sent(&mut self) {
        self.state = State::Sent;
    }

    /// A response came; from here on the budget knows what it says.
    pub(crate) fn answered(&mut self, now: Time, status: u16, headers: &RateHeaders) {
        match is_failure(status, headers) {
            true => self.queue.outage().failed(now, self.ticket),
            false => self.queue.outage().succeeded(now, self.ticket),
        }
        self.settled(now, Outcome::Answered(status, headers.clone()));
    }

    /// The request has failed, or the body of its response broke off; `sent` is whether the service may have counted it.
    pub(crate) fn failed(&mut self, sent: bool) {
        let now = clock::now();
        self.queue.outage().failed(now, self.ticket);
        self.settled(now, Outcome::Failed { sent });
    }

    fn settled(&mut self, now: Time, outcome: Outcome) {
        self.state = State::Settled;
        self.queue.budget.report(now, self.ticket, outcome);
        self.queue.changed.notify_one();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match self.state {
            State::Unused => self.settled(clock::now(), Outcome::Unsent),
            State::Sent => self.settled(clock::now(), Outcome::Lost),
            State::Settled => {}
        }
    }
}
