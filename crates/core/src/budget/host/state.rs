//! What a client knows of the budget of its host: the file, what is still to be told, and how it goes on without.

use super::Shared;
use super::file::{Access, StateFile};
use crate::budget::contact::Contact;
use crate::gate::{RateHeaders, SharedGate, Ticket};
use crate::host::clock;
use std::time::Duration;

/// While the file cannot be used, it is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);

/// What a client knows of the budget.
pub(super) struct State {
    /// None where there is no place for a file.
    pub(super) file: Option<StateFile>,
    /// What became of requests, and could not be told yet.
    pub(super) pending: Vec<Event>,
    /// The gate of this client alone, while the file cannot be used.
    pub(super) alone: Option<Alone>,
    pub(super) contact: Contact,
}

/// A client that goes on alone.
pub(super) struct Alone {
    pub(super) gate: Box<SharedGate>,
    /// The part of the budget that is left to this client.
    pub(super) part: f64,
    pub(super) try_again: Duration,
}

/// What became of a request.
#[derive(Clone)]
pub(super) struct Event {
    pub(super) ticket: Ticket,
    pub(super) what: What,
}

/// How a request ended.
#[derive(Clone)]
pub(super) enum What {
    Unsent,
    Lost,
    Failed { sent: bool },
    Answered(u16, RateHeaders),
}

/// What became of a change of the state.
pub(super) enum Changed<T> {
    Done(T),
    /// Somebody else has the lock.
    Busy,
    /// The file cannot be used.
    Lost,
}

impl State {
    /// Tells the shared gate what is pending, and changes it.
    pub(super) fn change<T>(
        &mut self,
        shared: &Shared,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Changed<T> {
        let Some(file) = &mut self.file else {
            return Changed::Lost;
        };
        let resting = |alone: &Alone| clock::now() < alone.try_again;
        if self.alone.as_ref().is_some_and(resting) {
            return Changed::Lost;
        }
        let pending = &self.pending;
        let done = file.change(|gate, now| {
            for event in pending {
                event.tell(gate, now, shared.id);
            }
            operation(gate, now)
        });
        match done {
            Ok(Access::Done(done)) => {
                self.pending.clear();
                self.alone = None;
                Changed::Done(done)
            }
            Ok(Access::Busy) => Changed::Busy,
            Err(error) => {
                let seen = file.take_seen();
                self.contact.lose(&error.to_string());
                self.go_alone(shared, seen);
                Changed::Lost
            }
        }
    }

    pub(super) fn flush(&mut self, shared: &Shared) -> bool {
        if self.pending.is_empty() {
            return true;
        }
        match self.change(shared, |_, _| ()) {
            Changed::Done(()) => true,
            Changed::Busy => false,
            Changed::Lost => {
                let now = clock::now();
                let pending = std::mem::take(&mut self.pending);
                let alone = self.alone(shared, now);
                for event in pending {
                    event.tell(&mut alone.gate, now, shared.id);
                }
                true
            }
        }
    }

    /// Goes on alone, with what was known last, and leaves the others theirs.
    fn go_alone(&mut self, shared: &Shared, seen: Option<Box<SharedGate>>) {
        let now = clock::now();
        let try_again = now + RETRY;
        if let Some(alone) = &mut self.alone {
            alone.try_again = try_again;
            return;
        }
        let members = seen.as_ref().map_or(1, |gate| gate.present(now).max(1));
        self.alone = Some(Alone {
            gate: seen.unwrap_or_else(|| Box::new(SharedGate::new(shared.settings, now))),
            part: 1.0 / members as f64,
            try_again,
        });
    }

    pub(super) fn alone(&mut self, shared: &Shared, now: Duration) -> &mut Alone {
        self.alone.get_or_insert_with(|| Alone {
            gate: Box::new(SharedGate::new(shared.settings, now)),
            part: 1.0,
            try_again: now + RETRY,
        })
    }
}

impl Event {
    fn tell(&self, gate: &mut SharedGate, now: Duration, member: u64) {
        match &self.what {
            What::Unsent => gate.unsend(now, member, self.ticket),
            What::Lost => gate.lost(now, member, self.ticket),
            What::Failed { sent } => gate.failed(now, member, self.ticket, *sent),
            What::Answered(status, headers) => {
                gate.response(now, member, self.ticket, *status, headers);
            }
        }
    }
}
