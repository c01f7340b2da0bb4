//! The budget that all processes of a user on this host share: one gate, whose state is kept in a file, which is locked,
//! read, changed and written anew for each operation, in some microseconds.
//!
//! A blocking thread of the runtime does this, so that it holds up no other task. Where the file cannot be used, the client
//! goes on with what it knows, and with no more than its part of the budget.

#[cfg(test)]
mod tests;

use super::sharing::{self, BudgetState, Contact, Identity};
use super::{Budget, Take, Taking, lock};
use crate::clock::{self, Time};
use crate::gate::{Endpoint, GateSettings, Outcome, Pauses, PriorityClass, SharedGate, Ticket};
use crate::host::{self, Locked, SharedFile};
use crate::settings::{Config, OnUnreachable};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// What the name of the file begins with. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-9-";
/// A process that has the lock after so many tries, with such pauses, has been stopped.
const TRIES: u32 = 1500;
const PAUSE: Duration = Duration::from_micros(100);
/// What this process knows of the state is of use for so long, should the file be lost.
const FRESH: Duration = Duration::from_secs(2);
/// A state from further in the future than this was written by another run of the host.
const AHEAD: Duration = Duration::from_secs(1);

/// The budget of one client.
pub(super) struct HostBudget(Arc<Shared>);

struct Shared {
    identity: Identity,
    settings: GateSettings,
    on_unreachable: OnUnreachable,
    contact: Contact,
    /// What became of requests and is still to be noted in the file, in order.
    outcomes: Mutex<Vec<(Ticket, Outcome)>>,
    /// Nothing is logged while it is locked: a log callback may wait for a thread that needs it.
    member: Mutex<Member>,
}

/// What one client knows of the budget.
struct Member {
    file: StateFile,
    /// The gate of this client alone, while the file cannot be used, and the part of the budget that is left to it.
    alone: Option<(SharedGate, f64)>,
    /// What the service has told this client: the file is not believed about longer pauses.
    pauses: Pauses,
}

/// What a client may do now. Nobody may have waited for it: a turn that is not accepted is given back.
struct Offer {
    take: Option<Take>,
    shared: Arc<Shared>,
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(Take::Now(ticket)) = self.take {
            Shared::report(&self.shared, ticket, Outcome::Unsent);
        }
    }
}

impl HostBudget {
    /// The budget of one client in the file at this path.
    pub(super) fn new(
        path: PathBuf,
        settings: GateSettings,
        on_unreachable: OnUnreachable,
    ) -> Self {
        HostBudget(Arc::new(Shared {
            identity: Identity::new(),
            settings,
            on_unreachable,
            contact: Contact::with("host"),
            outcomes: Mutex::default(),
            member: Mutex::new(Member {
                file: StateFile::new(path, settings),
                alone: None,
                pauses: Pauses::default(),
            }),
        }))
    }
}

impl Budget for HostBudget {
    fn take(&self, _now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let shared = Arc::clone(&self.0);
        let offered = spawn_blocking(move || Offer {
            take: Some(shared.take(class, endpoint)),
            shared,
        });
        Box::pin(async move {
            let offer = offered.await.ok();
            let take = offer.and_then(|mut offer| offer.take.take());
            take.unwrap_or_else(|| Take::Unreachable("the thread that uses it has failed".into()))
        })
    }

    fn report(&self, _now: Time, ticket: Ticket, outcome: Outcome) {
        Shared::report(&self.0, ticket, outcome);
    }

    fn contact(&self) -> &Contact {
        &self.0.contact
    }
}

impl Drop for HostBudget {
    fn drop(&mut self) {
        if self.0.contact.is_reached() {
            in_background(&self.0, |shared| {
                let _ = shared.change(|gate, now| gate.leave(now, shared.identity.id));
            });
        }
    }
}

/// Does this on a blocking thread, or at once where there is no runtime any more.
fn in_background(shared: &Arc<Shared>, work: impl FnOnce(&Shared) + Send + 'static) {
    let shared = Arc::clone(shared);
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || work(&shared))),
        Err(_) => work(&shared),
    }
}

impl Shared {
    fn report(shared: &Arc<Self>, ticket: Ticket, outcome: Outcome) {
        lock(&shared.outcomes).push((ticket, outcome));
        in_background(shared, |shared| {
            // The next request may have noted it already.
            if !lock(&shared.outcomes).is_empty() {
                let _ = shared.change(|_, _| ());
            }
        });
    }

    fn take(&self, class: PriorityClass, endpoint: Endpoint) -> Take {
        let take = |gate: &mut SharedGate, now, part: f64| {
            let requester = self.identity.requester(self.settings.share * part);
            gate.take(now, &requester, class, endpoint)
        };
        match self.change(|gate, now| (take(gate, now, 1.0), gate.members(now).len())) {
            Ok((turn, members)) => {
                self.contact.reached(members);
                turn.into()
            }
            Err(reason) if self.on_unreachable == OnUnreachable::Wait => Take::Unreachable(reason),
            Err(_) => {
                let now = clock::now();
                let mut member = lock(&self.member);
                let (gate, part) = member.alone(now);
                take(gate, now, *part).into()
            }
        }
    }

    /// Notes in the shared gate what has happened, and then changes it; otherwise why the file cannot be used.
    fn change<T>(
        &self,
        mut operation: impl FnMut(&mut SharedGate, Time) -> T,
    ) -> Result<T, String> {
        let mut member = lock(&self.member);
        let outcomes = std::mem::take(&mut *lock(&self.outcomes));
        let before = member.pauses;
        // What became of requests of this client, and what it was told of pauses.
        let note = |gate: &mut SharedGate, now| {
            let mut pauses = before;
            for (ticket, outcome) in &outcomes {
                gate.complete(now, self.identity.id, *ticket, outcome);
                if let Outcome::Answered(status, headers) = outcome {
                    pauses.note(now, *status, headers, gate.paused_until());
                }
            }
            pauses
        };
        let done = member.file.change(|gate, now| {
            gate.correct(now, &before);
            (note(gate, now), operation(gate, now))
        });
        match done {
            Ok((pauses, done)) => {
                (member.pauses, member.alone) = (pauses, None);
                Ok(done)
            }
            Err(error) => {
                let now = clock::now();
                member.pauses = note(&mut member.alone(now).0, now);
                drop(member);
                self.contact.not_reached(&error.to_string());
                Err(error.to_string())
            }
        }
    }
}

impl Member {
    /// Goes on with what was known last, and leaves the others theirs.
    fn alone(&mut self, now: Time) -> &mut (SharedGate, f64) {
        self.alone.get_or_insert_with(|| {
            let seen = self.file.last_seen();
            let members = seen
                .as_ref()
                .map_or(1, |gate| gate.members(now).len().max(1));
            let new = || SharedGate::new(self.file.settings, now);
            (seen.unwrap_or_else(new), 1.0 / members as f64)
        })
    }
}

/// The file that contains the gate, and what this process saw in it last: its content, and what that says.
struct StateFile {
    file: SharedFile,
    settings: GateSettings,
    seen: Option<(Vec<u8>, SharedGate)>,
}

impl StateFile {
    /// The file at this path, which is made when it is needed.
    fn new(path: PathBuf, settings: GateSettings) -> Self {
        let file = SharedFile {
            path,
            max_tries: TRIES,
            pause: PAUSE,
        };
        StateFile {
            file,
            settings,
            seen: None,
        }
    }

    /// Changes the state. The operation may be done more than once, each time to a state in which it was not done yet, and
    /// only the last one counts.
    fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Time) -> T,
    ) -> io::Result<T> {
        for _ in 0..host::MOVES {
            let locked = self.file.lock()?;
            let now = clock::now();
            let mut state = self.load(&locked, now);
            let done = operation(&mut state, now);
            let content = postcard::to_stdvec(&state).map_err(io::Error::other)?;
            locked.write(&content)?;
            if locked.is_current() {
                self.seen = Some((content, state));
                return Ok(done);
            }
        }
        Err(io::Error::other("the file is replaced again and again"))
    }

    /// The state as it is now, for somebody who only looks; none where there is none.
    fn look(&self) -> io::Result<Option<SharedGate>> {
        let content = self.file.look()?;
        Ok(content.and_then(|content| self.decode(&content)))
    }

    /// What is known of the state where it cannot be changed: what others see, or else what this process saw last.
    fn last_seen(&mut self) -> Option<SharedGate> {
        let seen = self.seen.take().map(|(_, state)| state);
        self.look().ok().flatten().or(seen)
    }

    /// What a gate with these settings can have written.
    fn decode(&self, content: &[u8]) -> Option<SharedGate> {
        let state: SharedGate = postcard::from_bytes(content).ok()?;
        state.is_valid(&self.settings).then_some(state)
    }

    /// The state in the file; where it is lost, what this process knows of it.
    fn load(&mut self, locked: &Locked, now: Time) -> SharedGate {
        let (content, seen) = (locked.value(), self.seen.take());
        let state = match seen {
            Some((known, state)) if content == Some(&known) => Some(state),
            seen => content
                .and_then(|content| self.decode(content))
                .or_else(|| {
                    self.file.sweep();
                    let seen = seen.map(|(_, state)| state);
                    seen.filter(|it| it.used() <= now && it.used() + FRESH >= now)
                }),
        };
        let is_usable = |it: &SharedGate| it.used() <= now + AHEAD && !it.is_over(now);
        match state {
            Some(state) if is_usable(&state) => state,
            // Others have sent, and nobody knows how much.
            None if !locked.is_new() => SharedGate::after_loss(self.settings, now),
            _ => SharedGate::new(self.settings, now),
        }
    }
}

/// The state as it is now.
pub(super) fn look(config: &Config) -> io::Result<BudgetState> {
    let file = StateFile::new(path(config), GateSettings::default());
    let now = clock::now();
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
pub(super) fn path(config: &Config) -> PathBuf {
    let name = sharing::company(config, Some(&host::run_of_host()));
    host::path(&format!("{PREFIX}{name}"))
}
