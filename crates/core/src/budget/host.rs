//! The budget that all processes of a user on this host share: one gate, whose state lies in a file.
//!
//! Where the file cannot be used, the client goes on with what it knows, and with no more than its part of the budget.

mod clock;
mod file;
mod image;
mod place;
#[cfg(test)]
mod tests;

use super::{Budget, BudgetStats, Contact, Take};
use crate::clock::Time;
use crate::gate::{Asker, GateSettings, Lane, RateHeaders, SharedGate, Ticket, Turn};
use crate::settings::{Config, OnLost};
use file::{Access, StateFile};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// When somebody else has the lock, it is tried again after this long.
const MOMENT: Duration = Duration::from_millis(1);
/// While the file cannot be used, it is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);
/// What became of a request is told so often at most; after that, together with the next request.
const FLUSHES: u32 = 300;
/// Longer names are cut off.
const LONGEST_NAME: usize = 40;

/// The budget of one client.
pub(crate) struct HostBudget(Arc<Shared>);

struct Shared {
    id: u64,
    process: u32,
    name: String,
    settings: GateSettings,
    on_lost: OnLost,
    state: Mutex<State>,
}

struct State {
    /// None where there is no place for a file.
    file: Option<StateFile>,
    /// What became of requests, and could not be told yet.
    pending: Vec<Event>,
    /// The gate of this client alone, while the file cannot be used.
    alone: Option<Alone>,
    contact: Contact,
}

struct Alone {
    gate: Box<SharedGate>,
    /// The part of the budget that is left to this client.
    part: f64,
    try_again: Duration,
}

/// What became of a request.
#[derive(Clone)]
struct Event {
    ticket: Ticket,
    what: What,
}

#[derive(Clone)]
enum What {
    Unsent,
    Lost,
    Answered(u16, RateHeaders),
}

impl HostBudget {
    /// The budget of the client of these settings.
    pub(crate) fn new(config: &Config, settings: GateSettings) -> Self {
        let path = place::path(config);
        let mut contact = Contact::default();
        let file = match path {
            Ok(path) => Some(StateFile::new(path, settings)),
            Err(error) => {
                contact.lose(&error.to_string());
                None
            }
        };
        HostBudget(Arc::new(Shared {
            id: new_id(),
            process: std::process::id(),
            name: name_of_process(),
            settings,
            on_lost: config.on_lost,
            state: Mutex::new(State {
                file,
                pending: Vec::new(),
                alone: None,
                contact,
            }),
        }))
    }

    /// Tells what became of a request: at once, or as soon as the lock is free.
    fn tell(&self, ticket: Ticket, what: What) {
        let told = self.0.tell(ticket, what);
        if told {
            return;
        }
        // The next request tells it as well, if it comes first.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let shared = Arc::clone(&self.0);
            runtime.spawn(async move {
                for _ in 0..FLUSHES {
                    tokio::time::sleep(MOMENT).await;
                    if shared.flush() {
                        return;
                    }
                }
            });
        }
    }
}

impl Budget for HostBudget {
    fn take(&self, now: Time, lane: Lane) -> Take {
        self.0.take(now, lane)
    }

    fn unsend(&self, _now: Time, ticket: Ticket) {
        self.tell(ticket, What::Unsent);
    }

    fn lost(&self, _now: Time, ticket: Ticket) {
        self.tell(ticket, What::Lost);
    }

    fn answered(&self, _now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.tell(ticket, What::Answered(status, headers.clone()));
    }

    fn stats(&self) -> BudgetStats {
        self.0.state().contact.stats("host".into())
    }
}

impl Drop for HostBudget {
    fn drop(&mut self) {
        let id = self.0.id;
        // In a forked child, it is the parent's.
        if self.0.process == std::process::id() {
            let mut state = self.0.state();
            if state.contact.is_held() {
                let _ = state.change(&self.0, |gate, now| gate.leave(now, id));
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Its methods leave it whole even when a caller panics between them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asker(&self, part: f64) -> Asker<'_> {
        Asker {
            id: self.id,
            process: self.process,
            name: &self.name,
            share: self.settings.share * part,
        }
    }

    fn take(&self, now: Time, lane: Lane) -> Take {
        let mut state = self.state();
        let longest_gap = self.settings.longest_gap;
        let taken = state.change(self, |gate, host_now| {
            let turn = gate.take(host_now, &self.asker(1.0), lane, longest_gap);
            (turn, host_now, gate.present(host_now))
        });
        let (turn, host_now) = match taken {
            Changed::Done((turn, host_now, members)) => {
                state.contact.hold(members);
                (turn, host_now)
            }
            Changed::Busy => {
                return Take::Wait {
                    earliest: now,
                    again: now + MOMENT,
                };
            }
            Changed::Lost if self.on_lost == OnLost::Wait => {
                return Take::Lost(state.contact.reason());
            }
            Changed::Lost => {
                let host_now = clock::now();
                let alone = state.alone(self, host_now);
                let asker = self.asker(alone.part);
                (
                    alone.gate.take(host_now, &asker, lane, longest_gap),
                    host_now,
                )
            }
        };
        let local = |moment: Duration| now + moment.saturating_sub(host_now);
        match turn {
            Turn::Now(ticket) => Take::Now(ticket),
            Turn::Wait { earliest, again } => Take::Wait {
                earliest: local(earliest),
                again: local(again),
            },
        }
    }

    /// Whether it was told.
    fn tell(&self, ticket: Ticket, what: What) -> bool {
        let mut state = self.state();
        state.pending.push(Event { ticket, what });
        state.flush(self)
    }

    fn flush(&self) -> bool {
        let mut state = self.state();
        state.flush(self)
    }
}

/// The state as it is now, and the time by its clock; none where nobody has used it.
pub(super) fn look(config: &Config) -> std::io::Result<Option<(Box<SharedGate>, Duration)>> {
    let file = StateFile::new(place::path(config)?, GateSettings::default());
    Ok(file.look()?.map(|gate| (gate, clock::now())))
}

/// What became of a change of the state.
enum Changed<T> {
    Done(T),
    /// Somebody else has the lock.
    Busy,
    /// The file cannot be used.
    Lost,
}

impl State {
    /// Tells the shared gate what is pending, and changes it.
    fn change<T>(
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

    fn flush(&mut self, shared: &Shared) -> bool {
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

    fn alone(&mut self, shared: &Shared, now: Duration) -> &mut Alone {
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
            What::Answered(status, headers) => {
                gate.response(now, member, self.ticket, *status, headers);
            }
        }
    }
}

/// An identifier that no other client has: not one of this process, and not one of a process forked from it.
fn new_id() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let parts = [
        u64::from(std::process::id()),
        clock::now().as_nanos() as u64,
        made,
    ];
    xxhash_rust::xxh3::xxh3_64(&parts.map(u64::to_le_bytes).concat())
}

/// What people know this process by: the name of its program, without arguments, which may hold secrets.
fn name_of_process() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default();
    name.to_string_lossy().chars().take(LONGEST_NAME).collect()
}
