//! The rate gate: decides when the next request may be sent. A pure state machine over time.

mod headers;

pub use headers::RateHeaders;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

type Time = Duration;

/// What the gate is told at the start.
#[derive(Clone, Debug)]
pub struct GateSettings {
    /// Requests per window (section 8).
    pub limit: u32,
    /// The window.
    pub window: Duration,
    /// The part of the limit to use, above 0 up to 1.
    pub share: f64,
    /// Seeds the jitter.
    pub seed: u64,
}

impl Default for GateSettings {
    fn default() -> Self {
        GateSettings {
            limit: 40,
            window: Duration::from_secs(1),
            share: 1.0,
            seed: 0,
        }
    }
}

/// When the next request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// At once.
    Now,
    /// Not before this moment.
    At(Time),
    /// Not before a response has come.
    AfterResponse,
}

/// A request on its way.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// The gate of one company's budget.
#[derive(Debug)]
pub struct Gate {
    most: usize,
    window: Duration,
    sends: VecDeque<(Time, Ticket)>,
    inflight: HashSet<Ticket>,
    next: u64,
    pause_until: Time,
    answered: bool,
}

impl Gate {
    /// A gate that has seen nothing yet.
    pub fn new(settings: GateSettings) -> Self {
        let most = (f64::from(settings.limit) * settings.share) as usize;
        Gate {
            most: most.saturating_sub(1).max(1),
            window: settings.window,
            sends: VecDeque::new(),
            inflight: HashSet::new(),
            next: 0,
            pause_until: Time::ZERO,
            answered: false,
        }
    }

    /// When the next request may be sent.
    pub fn ready(&mut self, now: Time) -> Ready {
        if !self.answered && self.inflight.len() >= 4 {
            return Ready::AfterResponse;
        }
        while self
            .sends
            .front()
            .is_some_and(|(sent, _)| *sent + self.window <= now)
        {
            self.sends.pop_front();
        }
        let full = self.sends.len() >= self.most;
        let free = self
            .sends
            .front()
            .filter(|_| full)
            .map_or(Time::ZERO, |(sent, _)| *sent + self.window);
        let at = free.max(self.pause_until);
        if at <= now { Ready::Now } else { Ready::At(at) }
    }

    /// Notes that a request is being sent.
    pub fn send(&mut self, now: Time) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.sends.push_back((now, ticket));
        self.inflight.insert(ticket);
        ticket
    }

    /// Notes that a request was not sent after all.
    pub fn unsend(&mut self, ticket: Ticket) {
        self.inflight.remove(&ticket);
        self.sends.retain(|(_, known)| *known != ticket);
    }

    /// Notes a response.
    pub fn response(&mut self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.inflight.remove(&ticket);
        self.answered = true;
        if status == 429 || headers.remaining.is_some_and(|left| left < 1) {
            let wait = headers.retry_after.or(headers.reset).unwrap_or(self.window);
            self.pause_until = self.pause_until.max(now + wait);
        }
    }

    /// Notes that no response will come.
    pub fn lost(&mut self, _now: Time, ticket: Ticket) {
        self.inflight.remove(&ticket);
    }
}
