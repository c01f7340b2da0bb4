//! The budget that all processes of a user on this host share: one gate, whose state is kept in a file.
//!
//! A thread of its own reads and writes the file, so that this holds up no other task. Where the file cannot be used, the
//! client goes on with what it knows, and with no more than its part of the budget.

mod file;
#[cfg(test)]
mod tests;

use super::contact::{BudgetState, Contact};
use super::identity::{self, Identity};
use super::{Budget, BudgetStats, Left, Take, Taking};
use crate::clock::{self, Time};
use crate::gate::{
    Endpoint, GateSettings, Outcome, Pauses, PriorityClass, Requester, SharedGate, Ticket,
};
use crate::host::{clock as host_clock, directory};
use crate::settings::{Config, OnUnreachable};
use file::StateFile;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// What the name of the file begins with. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-7-";

/// The budget of one client.
pub(super) struct HostBudget {
    requests: Sender<Request>,
    contact: Arc<Contact>,
    /// Closed when the client has left.
    gone: watch::Receiver<()>,
}

/// What the thread is asked to do. It ends when nobody can ask any more.
enum Request {
    Take(
        PriorityClass,
        Endpoint,
        oneshot::Sender<Offer>,
        Sender<Request>,
    ),
    Report(Ticket, Outcome),
}

/// What a client may do now. Nobody may have waited for it: a turn that is not accepted is given back.
struct Offer {
    take: Option<Take>,
    requests: Sender<Request>,
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(Take::Now(ticket)) = self.take {
            let _ = self.requests.send(Request::Report(ticket, Outcome::Unsent));
        }
    }
}

/// One client, as its thread sees it.
struct Member {
    identity: Identity,
    settings: GateSettings,
    on_unreachable: OnUnreachable,
    contact: Arc<Contact>,
    file: StateFile,
    /// What became of requests and is still to be noted in the file, in order.
    outcomes: Vec<(Ticket, Outcome)>,
    /// The gate of this client alone, while the file cannot be used.
    alone: Option<Alone>,
    /// What the service has told this client: the file is not believed about longer pauses.
    pauses: Pauses,
}

/// A client that goes on alone.
struct Alone {
    gate: Box<SharedGate>,
    /// The part of the budget that is left to this client.
    part: f64,
}

impl HostBudget {
    /// The budget of the client of these settings.
    pub(super) fn new(config: &Config, settings: GateSettings) -> Self {
        Self::in_file(path(config), settings, config.on_unreachable)
    }

    fn in_file(path: PathBuf, settings: GateSettings, on_unreachable: OnUnreachable) -> Self {
        let contact = Arc::new(Contact::with("host"));
        let (requests, asked) = channel();
        let (present, gone) = watch::channel(());
        let mut member = Member {
            identity: Identity::new(),
            settings,
            on_unreachable,
            contact: Arc::clone(&contact),
            file: StateFile::new(path, settings),
            outcomes: Vec::new(),
            alone: None,
            pauses: Pauses::default(),
        };
        let serve = move || {
            member.serve(&asked);
            drop(present);
        };
        // Without the thread nobody replies, and the budget counts as unreachable.
        let thread = std::thread::Builder::new().name("talentdata budget".into());
        let _ = thread.spawn(serve);
        HostBudget {
            requests,
            contact,
            gone,
        }
    }
}

impl Budget for HostBudget {
    fn take(&self, _now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let (offers, offered) = oneshot::channel();
        let asked = Request::Take(class, endpoint, offers, self.requests.clone());
        let _ = self.requests.send(asked);
        Box::pin(async move {
            let offer = offered.await.ok();
            let take = offer.and_then(|mut offer| offer.take.take());
            take.unwrap_or_else(|| {
                Take::Unreachable("the thread that keeps it is not running".into())
            })
        })
    }

    fn report(&self, _now: Time, ticket: Ticket, outcome: Outcome) {
        let _ = self.requests.send(Request::Report(ticket, outcome));
    }

    fn stats(&self) -> BudgetStats {
        self.contact.stats()
    }

    fn left(&self) -> Left {
        let mut gone = self.gone.clone();
        Box::pin(async move { while gone.changed().await.is_ok() {} })
    }
}

impl Member {
    /// Does what is asked for, until the client has left.
    fn serve(&mut self, asked: &Receiver<Request>) {
        loop {
            let next = asked.try_recv().ok().or_else(|| {
                if !self.outcomes.is_empty() {
                    let _ = self.change(|_, _| ());
                }
                asked.recv().ok()
            });
            match next {
                Some(Request::Take(class, endpoint, offers, requests)) => {
                    let take = Some(self.take(class, endpoint));
                    let _ = offers.send(Offer { take, requests });
                }
                Some(Request::Report(ticket, outcome)) => self.outcomes.push((ticket, outcome)),
                None => break,
            }
        }
        if self.contact.is_reached() {
            let id = self.identity.id;
            let _ = self.change(|gate, now| gate.leave(now, id));
        }
    }

    fn take(&mut self, class: PriorityClass, endpoint: Endpoint) -> Take {
        let identity = self.identity.clone();
        let whole = Requester {
            id: identity.id,
            process: identity.about.process,
            name: &identity.about.name,
            share: self.settings.share,
        };
        let taken = self.change(|gate, now| {
            let turn = gate.take(now, &whole, class, endpoint);
            (turn, now, gate.present(now))
        });
        let (turn, host_now) = match taken {
            Ok((turn, host_now, members)) => {
                self.contact.reached(members);
                (turn, host_now)
            }
            Err(reason) if self.on_unreachable == OnUnreachable::Wait => {
                return Take::Unreachable(reason);
            }
            Err(_) => {
                let now = host_clock::now();
                let alone = self.alone(now);
                let requester = Requester {
                    share: whole.share * alone.part,
                    ..whole
                };
                (alone.gate.take(now, &requester, class, endpoint), now)
            }
        };
        let here = clock::now();
        Take::of(turn, |time| (here + time).saturating_sub(host_now))
    }

    /// Notes in the shared gate what has happened, and then changes it; otherwise why the file cannot be used.
    fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Result<T, String> {
        let (id, before, mut pauses) = (self.identity.id, self.pauses, self.pauses);
        let outcomes = std::mem::take(&mut self.outcomes);
        let done = self.file.change(|gate, now| {
            gate.correct(now, &before);
            pauses = note(gate, now, id, &outcomes, before);
            operation(gate, now)
        });
        let done = done.map_err(|error| error.to_string());
        match &done {
            Ok(_) => self.alone = None,
            Err(reason) => {
                self.contact.not_reached(reason);
                let now = host_clock::now();
                pauses = note(&mut self.alone(now).gate, now, id, &outcomes, before);
            }
        }
        self.pauses = pauses;
        done
    }

    /// Goes on with what was known last, and leaves the others theirs.
    fn alone(&mut self, now: Duration) -> &mut Alone {
        self.alone.get_or_insert_with(|| {
            let seen = self.file.last_seen();
            let members = seen.as_ref().map_or(1, |gate| gate.present(now).max(1));
            Alone {
                gate: seen.unwrap_or_else(|| Box::new(SharedGate::new(self.settings, now))),
                part: 1.0 / members as f64,
            }
        })
    }
}

/// Notes in a gate what became of requests of this member; what it has been told of pauses then.
fn note(
    gate: &mut SharedGate,
    now: Duration,
    id: u64,
    outcomes: &[(Ticket, Outcome)],
    mut pauses: Pauses,
) -> Pauses {
    for (ticket, outcome) in outcomes {
        gate.complete(now, id, *ticket, outcome);
        if let Outcome::Answered(status, headers) = outcome {
            pauses.note(now, *status, headers, gate.paused_until());
        }
    }
    pauses
}

/// The state as it is now.
pub(super) fn look(config: &Config) -> std::io::Result<BudgetState> {
    let file = StateFile::new(path(config), GateSettings::default());
    let now = host_clock::now();
    let gate = file.look()?.filter(|gate| !gate.is_over(now));
    let gate = gate.as_ref();
    let paused_until = gate.map_or(now, |gate| gate.paused_until());
    Ok(BudgetState {
        store: config.budget.to_string(),
        members: gate.map_or_else(Vec::new, |gate| gate.members(now)),
        requests_per_second: gate.map(|gate| gate.rate()),
        mode: gate.map(|gate| gate.mode().to_owned()),
        seconds_paused: paused_until.saturating_sub(now).as_secs_f64(),
    })
}

/// The path of the state for the client of these settings.
fn path(config: &Config) -> PathBuf {
    let name = identity::company(config, Some(&host_clock::run_of_host()));
    directory::path(&format!("{PREFIX}{name}"))
}
