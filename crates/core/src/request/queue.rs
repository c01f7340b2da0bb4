//! Lets calls through the gate one by one, in the order in which they came: the part that waits.

use crate::clock::{self, Time};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{Gate, GateSettings, RateHeaders, Ready, Ticket};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Notify};

/// A shorter wait is the usual gap between two requests, which is not logged.
const PAUSE: Duration = Duration::from_millis(250);

/// The gate of a company, shared by all calls of a client.
pub(crate) struct AdmissionQueue {
    gate: std::sync::Mutex<Gate>,
    /// Held by the first in the queue; the runtime's mutex is fair.
    head: Mutex<()>,
    /// Calls that are sent for the first time stand here first, so that at most one of them is ahead of a call that
    /// was already at the head of the queue.
    queue: Mutex<()>,
    /// Scans stand here first, so that only one of their pages is in the queue at any time and a
    /// single call does not wait behind all of them.
    scans: Mutex<()>,
    /// Told whenever the gate may have changed its mind.
    changed: Notify,
    max_wait: Duration,
}

impl AdmissionQueue {
    pub(crate) fn new(settings: GateSettings, max_wait: Duration) -> Arc<Self> {
        Arc::new(AdmissionQueue {
            gate: std::sync::Mutex::new(Gate::new(settings)),
            head: Mutex::new(()),
            queue: Mutex::new(()),
            scans: Mutex::new(()),
            changed: Notify::new(),
            max_wait,
        })
    }

    /// Waits to be the first in the queue, and is so until what is returned is dropped.
    pub(crate) async fn head(&self, priority: Priority) -> HeadOfQueue<'_> {
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
        }
    }

    /// Waits until a request may be sent; for the first in the queue, who may also fetch the token
    /// it needs before.
    ///
    /// # Errors
    /// `RateLimited` when the service has asked for a longer wait than the settings allow.
    pub(crate) async fn pass(self: &Arc<Self>) -> Result<Permit> {
        let came = clock::now();
        let mut told = false;
        loop {
            let now = clock::now();
            let ready = self.gate().ready(now);
            match ready {
                Ready::Now => {
                    let ticket = self.gate().send(now);
                    return Ok(Permit {
                        queue: Arc::clone(self),
                        ticket,
                        state: State::Unused,
                        waited: now.saturating_sub(came),
                    });
                }
                Ready::At(moment) => {
                    let wait = moment.saturating_sub(now);
                    self.refuse_long_wait(wait)?;
                    if wait >= PAUSE && !told {
                        told = true;
                        tracing::debug!(wait_s = wait.as_secs_f64(), "pausing for the rate limit");
                    }
                    tokio::select! {
                        () = tokio::time::sleep_until(clock::instant(moment)) => {}
                        () = self.changed.notified() => {}
                    }
                }
                Ready::AfterResponse => self.changed.notified().await,
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

    fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        // The gate's methods leave it whole even when a caller panics between them.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
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
}

/// The right to send one request; dropping it tells the gate how that ended.
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

    /// A response came; from here on the gate knows what it says.
    pub(crate) fn answered(&mut self, now: Time, status: u16, headers: &RateHeaders) {
        self.state = State::Answered;
        self.queue
            .gate()
            .response(now, self.ticket, status, headers);
        self.queue.changed.notify_one();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match self.state {
            State::Unused => self.queue.gate().unsend(self.ticket),
            State::Sent => self.queue.gate().lost(clock::now(), self.ticket),
            State::Answered => return,
        }
        self.queue.changed.notify_one();
    }
}
