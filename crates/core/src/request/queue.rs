//! Lets calls through the gate one by one, in the order in which they came: the part that waits.

use crate::budget::{Budget, BudgetStats, Left, Take};
use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Endpoint, PriorityClass, RateHeaders, Ticket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    /// Calls in the queue that are no pages of scans: whoever is at its head goes for them.
    singles: AtomicUsize,
    /// Told whenever the budget may have changed its mind.
    changed: Arc<Notify>,
    max_wait: Duration,
}

impl AdmissionQueue {
    /// A queue for this budget, which may tell `changed`.
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
            changed,
            max_wait,
        })
    }

    /// Waits to be the first in the queue, and is so until what is returned is dropped.
    pub(crate) async fn head(&self, priority: Priority) -> HeadOfQueue<'_> {
        let single = match priority {
            Priority::Scan => None,
            Priority::Single | Priority::Retry => Some(SingleCall::enter(self)),
        };
        let scans = match priority {
            Priority::Scan => Some(self.scans.lock().await),
            Priority::Single | Priority::Retry => None,
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
    /// `RateLimited` when the service has asked for a longer wait than the settings allow.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Permit> {
        let came = clock::now();
        let mut told = false;
        loop {
            let now = clock::now();
            match self.budget.take(now, self.class(class), endpoint).await {
                Take::Now(ticket) => {
                    return Ok(Permit {
                        queue: Arc::clone(self),
                        ticket,
                        state: State::Unused,
                        waited: now.saturating_sub(came),
                    });
                }
                Take::Wait { earliest, again } => {
                    let wait = earliest.saturating_sub(now);
                    self.refuse_long_wait(wait)?;
                    if wait >= PAUSE && !told {
                        told = true;
                        tracing::debug!(wait_s = wait.as_secs_f64(), "pausing for the rate limit");
                    }
                    tokio::select! {
                        () = tokio::time::sleep_until(clock::instant(again)) => {}
                        () = self.changed.notified() => {}
                    }
                }
                Take::Outage { again, .. } => {
                    tokio::select! {
                        () = tokio::time::sleep_until(clock::instant(again)) => {}
                        () = self.changed.notified() => {}
                    }
                }
                Take::Unreachable(reason) => {
                    self.refuse_long_loss(now.saturating_sub(came), &reason)?;
                    tokio::time::sleep(LOST).await;
                }
                Take::AfterChange => self.changed.notified().await,
            }
        }
    }

    fn refuse_long_wait(&self, wait: Duration) -> Result<()> {
        if wait <= self.max_wait {
            return Ok(());
        }
        let message = format!(
            "the service asks to wait {} s, and max_wait is {} s; try again later",
            wait.as_secs_f64().ceil(),
            self.max_wait.as_secs_f64()
        );
        Err(Error::new(ErrorKind::RateLimited, message).with_retry_after(Some(wait)))
    }

    /// With whom the budget is shared.
    pub(crate) fn stats(&self) -> BudgetStats {
        self.budget.stats()
    }

    /// Waits until the client has left the budget, once the queue has been dropped.
    pub(crate) fn left(&self) -> Left {
        self.budget.left()
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

    /// The class in which the head of the queue goes: a page that a single call waits behind goes like that call.
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
        // Whoever waits at the head asks again, now in its class.
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

/// The right to send one request; dropping it tells the budget how that ended.
pub(crate) struct Permit {
    queue: Arc<AdmissionQueue>,
    ticket: Ticket,
    state: State,
    waited: Duration,
}

enum State {
    Unused,
    Sent,
    Answered,
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

    /// The request has failed; `sent` is whether the service may have counted it.
    pub(crate) fn failed(&mut self, sent: bool) {
        self.state = State::Answered;
        self.queue.budget.failed(clock::now(), self.ticket, sent);
        self.queue.changed.notify_one();
    }

    /// A response came; from here on the budget knows what it says.
    pub(crate) fn answered(&mut self, now: Time, status: u16, headers: &RateHeaders) {
        self.state = State::Answered;
        self.queue
            .budget
            .answered(now, self.ticket, status, headers);
        self.queue.changed.notify_one();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match self.state {
            State::Unused => self.queue.budget.unsend(clock::now(), self.ticket),
            State::Sent => self.queue.budget.lost(clock::now(), self.ticket),
            State::Answered => return,
        }
        self.queue.changed.notify_one();
    }
}
