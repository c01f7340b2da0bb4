//! The budget that all processes of a user on this host share: one gate, whose state is kept in a file.
//!
//! The file is read and written on blocking threads. Where it cannot be used, the client goes on with what it knows, and
//! with no more than its part of the budget.

mod file;
#[cfg(test)]
mod tests;

use super::contact::{BudgetState, Contact, News};
use super::identity::{self, Identity};
use super::{Budget, BudgetStats, Left, Take, Taking, lock};
use crate::clock::{self, Time};
use crate::gate::{
    Endpoint, GateSettings, Outcome, Pauses, PriorityClass, Requester, SharedGate, Ticket,
};
use crate::host::{clock as host_clock, directory};
use crate::settings::{Config, OnUnreachable};
use file::StateFile;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// While the file cannot be used, it is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);
/// What the name of the file begins with. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-5-";

/// The budget of one client.
pub(super) struct HostBudget {
    shared: Arc<Shared>,
    /// Dropped when the client has left.
    present: Option<watch::Sender<()>>,
    gone: watch::Receiver<()>,
}

struct Shared {
    identity: Identity,
    settings: GateSettings,
    on_unreachable: OnUnreachable,
    contact: Mutex<Contact>,
    /// What became of requests and is still to be noted in the file, in order.
    outcomes: Mutex<Vec<(Ticket, Outcome)>>,
    /// Held while the file is read and written.
    state: Mutex<State>,
}

struct State {
    /// None where there is no place for a file.
    file: Option<StateFile>,
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
    try_again: Duration,
}

/// Runs work that reads and writes files where it holds up no other task.
fn off_the_runtime(work: impl FnOnce() + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => work(),
    }
}

impl HostBudget {
    /// The budget of the client of these settings.
    pub(super) fn new(config: &Config, settings: GateSettings) -> Self {
        let mut contact = Contact::with("host");
        let file = path(config).map(|path| StateFile::new(path, settings));
        let file = file.map_err(|error| contact.not_reached(error.to_string()));
        contact.take_news().into_iter().for_each(News::log);
        let shared = Shared::new(file.ok(), contact, settings, config.on_unreachable);
        let (present, gone) = watch::channel(());
        HostBudget {
            shared: Arc::new(shared),
            present: Some(present),
            gone,
        }
    }
}

impl Budget for HostBudget {
    fn take(&self, _now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let (offers, offered) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        off_the_runtime(move || {
            let take = Some(shared.take(class, endpoint));
            shared.log_news();
            let _ = offers.send(Offer { take, shared });
        });
        Box::pin(async move {
            let offer: Result<Offer, _> = offered.await;
            let take = offer.ok().and_then(|mut offer| offer.take.take());
            // None comes when the runtime ends.
            take.unwrap_or(Take::AfterChange)
        })
    }

    fn report(&self, _now: Time, ticket: Ticket, outcome: Outcome) {
        Arc::clone(&self.shared).report(ticket, outcome);
    }

    fn stats(&self) -> BudgetStats {
        lock(&self.shared.contact).stats()
    }

    fn left(&self) -> Left {
        let mut gone = self.gone.clone();
        Box::pin(async move { while gone.changed().await.is_ok() {} })
    }
}

impl Drop for HostBudget {
    fn drop(&mut self) {
        let identity = &self.shared.identity;
        // In a forked child, it is the parent's.
        if identity.process == std::process::id() && lock(&self.shared.contact).is_reached() {
            let (shared, present) = (Arc::clone(&self.shared), self.present.take());
            off_the_runtime(move || {
                let id = shared.identity.id;
                lock(&shared.state).change(&shared, |gate, now| gate.leave(now, id));
                drop(present);
            });
        }
    }
}

/// What a client may do now. Nobody may have waited for it: a turn that is not accepted is given back.
struct Offer {
    take: Option<Take>,
    shared: Arc<Shared>,
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(Take::Now(ticket)) = self.take {
            Arc::clone(&self.shared).report(ticket, Outcome::Unsent);
        }
    }
}

impl Shared {
    fn new(
        file: Option<StateFile>,
        contact: Contact,
        settings: GateSettings,
        on_unreachable: OnUnreachable,
    ) -> Self {
        Shared {
            identity: Identity::new(),
            settings,
            on_unreachable,
            contact: Mutex::new(contact),
            outcomes: Mutex::default(),
            state: Mutex::new(State {
                file,
                alone: None,
                pauses: Pauses::default(),
            }),
        }
    }

    fn requester(&self, part: f64) -> Requester<'_> {
        Requester {
            id: self.identity.id,
            process: self.identity.process,
            name: &self.identity.program,
            share: self.settings.share * part,
        }
    }

    fn take(&self, class: PriorityClass, endpoint: Endpoint) -> Take {
        let mut state = lock(&self.state);
        let taken = state.change(self, |gate, now| {
            let turn = gate.take(now, &self.requester(1.0), class, endpoint);
            (turn, now, gate.present(now))
        });
        let (turn, host_now) = match taken {
            Some((turn, host_now, members)) => {
                lock(&self.contact).reached(members);
                (turn, host_now)
            }
            None if self.on_unreachable == OnUnreachable::Wait => {
                return Take::Unreachable(lock(&self.contact).reason());
            }
            None => {
                let now = host_clock::now();
                let alone = state.alone(self, now);
                let requester = self.requester(alone.part);
                (alone.gate.take(now, &requester, class, endpoint), now)
            }
        };
        let here = clock::now();
        Take::of(turn, |time| (here + time).saturating_sub(host_now))
    }

    fn report(self: Arc<Self>, ticket: Ticket, outcome: Outcome) {
        lock(&self.outcomes).push((ticket, outcome));
        off_the_runtime(move || {
            self.note_outcomes();
            self.log_news();
        });
    }

    fn note_outcomes(&self) {
        let mut state = lock(&self.state);
        if !lock(&self.outcomes).is_empty() && state.change(self, |_, _| ()).is_none() {
            let now = host_clock::now();
            let alone = state.alone(self, now);
            for (ticket, outcome) in std::mem::take(&mut *lock(&self.outcomes)) {
                alone.gate.complete(now, self.identity.id, ticket, &outcome);
            }
        }
    }

    fn log_news(&self) {
        let news = lock(&self.contact).take_news();
        news.into_iter().for_each(News::log);
    }
}

impl State {
    /// Notes in the shared gate what has happened, and then changes it; none where the file cannot be used.
    fn change<T>(
        &mut self,
        shared: &Shared,
        mut operation: impl FnMut(&mut SharedGate, Duration) -> T,
    ) -> Option<T> {
        let file = self.file.as_mut()?;
        let resting = |alone: &Alone| host_clock::now() < alone.try_again;
        if self.alone.as_ref().is_some_and(resting) {
            return None;
        }
        let outcomes = lock(&shared.outcomes).clone();
        let done = file.change(|gate, now| {
            let mut pauses = self.pauses;
            gate.correct(now, &pauses);
            for (ticket, outcome) in &outcomes {
                gate.complete(now, shared.identity.id, *ticket, outcome);
                if let Outcome::Answered(status, headers) = outcome {
                    pauses.note(now, *status, headers, gate.paused_until());
                }
            }
            (operation(gate, now), pauses)
        });
        if file.take_moved() {
            lock(&shared.contact).replaced();
        }
        match done {
            Ok((done, pauses)) => {
                self.pauses = pauses;
                lock(&shared.outcomes).drain(..outcomes.len());
                self.alone = None;
                Some(done)
            }
            Err(error) => {
                lock(&shared.contact).not_reached(error.to_string());
                let now = host_clock::now();
                self.alone(shared, now).try_again = now + RETRY;
                None
            }
        }
    }

    /// Goes on with what was known last, and leaves the others theirs.
    fn alone(&mut self, shared: &Shared, now: Duration) -> &mut Alone {
        self.alone.get_or_insert_with(|| {
            let seen = self.file.as_mut().and_then(StateFile::take_seen);
            let members = seen.as_ref().map_or(1, |gate| gate.present(now).max(1));
            Alone {
                gate: seen.unwrap_or_else(|| Box::new(SharedGate::new(shared.settings, now))),
                part: 1.0 / members as f64,
                try_again: now + RETRY,
            }
        })
    }
}

/// The state as it is now.
pub(super) fn look(config: &Config) -> std::io::Result<BudgetState> {
    let file = StateFile::new(path(config)?, GateSettings::default());
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
fn path(config: &Config) -> std::io::Result<PathBuf> {
    let name = identity::company(config, Some(&host_clock::run_of_host()));
    directory::path(&format!("{PREFIX}{name}"))
}
