//! The budget that all processes of a user on this host share: one gate, whose state is kept in a file.
//!
//! The file is read and written on blocking threads. Where it cannot be used, the client goes on with what it knows, and
//! with no more than its part of the budget.

mod file;
mod image;
#[cfg(test)]
mod tests;

use super::who::Who;
use super::{Budget, BudgetStats, Contact, Left, News, Take, Taking, company};
use crate::clock::{self, Time};
use crate::gate::{
    Endpoint, GateSettings, Outcome, Pauses, PriorityClass, RateHeaders, Requester, SharedGate,
    Ticket,
};
use crate::host::{clock as host_clock, directory};
use crate::settings::{Config, OnUnreachable};
use file::StateFile;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// While the file cannot be used, it is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);
/// What the name of the file begins with. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-5-";

/// The budget of one client.
pub(crate) struct HostBudget {
    shared: Arc<Shared>,
    /// Dropped when the client has left.
    present: Option<watch::Sender<()>>,
    gone: watch::Receiver<()>,
}

struct Shared {
    id: u64,
    who: Who,
    settings: GateSettings,
    on_unreachable: OnUnreachable,
    contact: Mutex<Contact>,
    /// What became of requests and is still to be noted in the file, in order.
    events: Mutex<Vec<(Ticket, Outcome)>>,
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

/// Locks what the methods leave whole even when a caller panics between them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(crate) fn new(config: &Config, settings: GateSettings) -> Self {
        let mut contact = Contact::with("host");
        let file = match path(config) {
            Ok(path) => Some(StateFile::new(path, settings)),
            Err(error) => {
                contact.lose(&error.to_string());
                None
            }
        };
        contact.take_news().iter().for_each(News::log);
        let (present, gone) = watch::channel(());
        HostBudget {
            shared: Arc::new(Shared {
                id: company::new_id(),
                who: Who::here(),
                settings,
                on_unreachable: config.on_unreachable,
                contact: Mutex::new(contact),
                events: Mutex::default(),
                state: Mutex::new(State {
                    file,
                    alone: None,
                    pauses: Pauses::default(),
                }),
            }),
            present: Some(present),
            gone,
        }
    }

    fn report(&self, ticket: Ticket, outcome: Outcome) {
        lock(&self.shared.events).push((ticket, outcome));
        let shared = Arc::clone(&self.shared);
        off_the_runtime(move || shared.note_events());
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
            // None comes when the runtime ends.
            offer
                .ok()
                .and_then(Offer::accept)
                .unwrap_or(Take::AfterChange)
        })
    }

    fn unsend(&self, _now: Time, ticket: Ticket) {
        self.report(ticket, Outcome::Unsent);
    }

    fn failed(&self, _now: Time, ticket: Ticket, sent: bool) {
        self.report(ticket, Outcome::Failed { sent });
    }

    fn lost(&self, _now: Time, ticket: Ticket) {
        self.report(ticket, Outcome::Lost);
    }

    fn answered(&self, _now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        self.report(ticket, Outcome::Answered(status, headers.clone()));
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
        // In a forked child, it is the parent's.
        if self.shared.who.process == std::process::id() && lock(&self.shared.contact).is_held() {
            let (shared, present) = (Arc::clone(&self.shared), self.present.take());
            off_the_runtime(move || {
                let id = shared.id;
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

impl Offer {
    fn accept(mut self) -> Option<Take> {
        self.take.take()
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(Take::Now(ticket)) = self.take {
            lock(&self.shared.events).push((ticket, Outcome::Unsent));
            let shared = Arc::clone(&self.shared);
            off_the_runtime(move || shared.note_events());
        }
    }
}

impl Shared {
    fn requester(&self, part: f64) -> Requester<'_> {
        Requester {
            id: self.id,
            process: self.who.process,
            name: &self.who.name,
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
                lock(&self.contact).hold(members);
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

    fn log_news(&self) {
        let news = lock(&self.contact).take_news();
        news.iter().for_each(News::log);
    }

    fn note_events(&self) {
        self.apply_events();
        self.log_news();
    }

    fn apply_events(&self) {
        let mut state = lock(&self.state);
        if !lock(&self.events).is_empty() && state.change(self, |_, _| ()).is_none() {
            let now = host_clock::now();
            let events = std::mem::take(&mut *lock(&self.events));
            let alone = state.alone(self, now);
            for (ticket, outcome) in events {
                alone.gate.complete(now, self.id, ticket, &outcome);
            }
        }
    }
}

impl State {
    /// Notes what has happened in the shared gate, and then changes it; none where the file cannot be used.
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
        let events = lock(&shared.events).clone();
        let done = file.change(|gate, now| {
            let mut pauses = self.pauses;
            gate.correct(now, &pauses);
            for (ticket, outcome) in &events {
                gate.complete(now, shared.id, *ticket, outcome);
                if let Outcome::Answered(status, headers) = outcome {
                    pauses.note(now, *status, headers, gate.paused_until());
                }
            }
            (operation(gate, now), pauses)
        });
        if file.take_moved() {
            lock(&shared.contact).move_on();
        }
        match done {
            Ok((done, pauses)) => {
                self.pauses = pauses;
                lock(&shared.events).drain(..events.len());
                self.alone = None;
                Some(done)
            }
            Err(error) => {
                lock(&shared.contact).lose(&error.to_string());
                let (seen, now) = (file.take_seen(), host_clock::now());
                let alone = self
                    .alone
                    .get_or_insert_with(|| Alone::new(shared, seen, now));
                alone.try_again = now + RETRY;
                None
            }
        }
    }

    fn alone(&mut self, shared: &Shared, now: Duration) -> &mut Alone {
        self.alone
            .get_or_insert_with(|| Alone::new(shared, None, now))
    }
}

impl Alone {
    /// Goes on with what was known last, and leaves the others theirs.
    fn new(shared: &Shared, seen: Option<Box<SharedGate>>, now: Duration) -> Self {
        let members = seen.as_ref().map_or(1, |gate| gate.present(now).max(1));
        Alone {
            gate: seen.unwrap_or_else(|| Box::new(SharedGate::new(shared.settings, now))),
            part: 1.0 / members as f64,
            try_again: now + RETRY,
        }
    }
}

/// The state as it is now, and the time by its clock; none where nobody has used it.
pub(super) fn look(config: &Config) -> std::io::Result<Option<(Box<SharedGate>, Duration)>> {
    let file = StateFile::new(path(config)?, GateSettings::default());
    Ok(file.look()?.map(|gate| (gate, host_clock::now())))
}

/// The path of the state for the client of these settings.
fn path(config: &Config) -> std::io::Result<PathBuf> {
    let name = company::name(config, Some(&host_clock::run_of_host()));
    directory::path(&format!("{PREFIX}{name}"))
}
