//! The budget that all processes of a user on this host share: one gate, whose state lies in a file.
//!
//! Where the file cannot be used, the client goes on with what it knows, and with no more than its part of the budget.

mod file;
mod image;
#[cfg(test)]
mod shape;
mod state;
#[cfg(test)]
mod tests;

use super::who::Who;
use super::{Budget, BudgetStats, Contact, Take, company};
use crate::clock::Time;
use crate::gate::{Asker, Failures, GateSettings, Lane, RateHeaders, SharedGate, Ticket, Turn};
use crate::host::{clock, directory};
use crate::settings::{Config, OnLost};
use file::StateFile;
use state::{Changed, Event, State, What};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// When somebody else has the lock, it is tried again after this long.
const MOMENT: Duration = Duration::from_millis(1);
/// What became of a request is told so often at most; after that, together with the next request.
const FLUSHES: u32 = 300;
/// Of the name of the file. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-2-";

/// The budget of one client.
pub(crate) struct HostBudget(Arc<Shared>);

struct Shared {
    id: u64,
    who: Who,
    settings: GateSettings,
    on_lost: OnLost,
    state: Mutex<State>,
}

impl HostBudget {
    /// The budget of the client of these settings.
    pub(crate) fn new(config: &Config, settings: GateSettings) -> Self {
        let path = path(config);
        let mut contact = Contact::with("host");
        let file = match path {
            Ok(path) => Some(StateFile::new(path, settings)),
            Err(error) => {
                contact.lose(&error.to_string());
                None
            }
        };
        HostBudget(Arc::new(Shared {
            id: company::new_id(),
            who: Who::here(),
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

    fn failed(&self, _now: Time, ticket: Ticket, sent: bool) {
        self.tell(ticket, What::Failed { sent });
    }

    fn lost(&self, _now: Time, ticket: Ticket) {
        self.tell(ticket, What::Lost);
    }

    fn answered(&self, _now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.tell(ticket, What::Answered(status, headers.clone()));
    }

    fn stats(&self) -> BudgetStats {
        self.0.state().contact.stats()
    }
}

impl Drop for HostBudget {
    fn drop(&mut self) {
        let id = self.0.id;
        // In a forked child, it is the parent's.
        if self.0.who.process == std::process::id() {
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
            process: self.who.process,
            name: &self.who.name,
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
            Turn::Wait {
                again,
                outage: Some(failures),
                ..
            } => Take::Outage {
                failures: Failures {
                    since: now.saturating_sub(host_now.saturating_sub(failures.since)),
                    ..failures
                },
                again: local(again),
            },
            Turn::Wait {
                earliest, again, ..
            } => Take::Wait {
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
    let file = StateFile::new(path(config)?, GateSettings::default());
    Ok(file.look()?.map(|gate| (gate, clock::now())))
}

/// The path of the state for the client of these settings.
fn path(config: &Config) -> std::io::Result<PathBuf> {
    let name = company::name(config, Some(&clock::run_of_host()));
    directory::path(&format!("{PREFIX}{name}"))
}
