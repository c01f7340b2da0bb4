//! The budget that all processes of a user on this host share: one gate, whose state is kept in a file, which is locked,
//! read, changed and written anew for each operation, in some microseconds.
//!
//! Blocking threads of the runtime do this, so that it holds up no other task. Where the file cannot be used, the client goes
//! on with what it knows, and with no more than its part of the budget.

#[cfg(test)]
mod tests;

use super::Budget;
use super::membership::{BudgetState, MemberIdentity, SharingStatus, company_key};
use super::options::{BudgetOptions, OnUnreachable, REQUESTS_PER_SECOND};
use super::shared_file::{self, Locked, SharedFile};
use crate::budget::gate::{
    Admission, Endpoint, Pauses, PriorityClass, RequestOutcome, SharedGate, Ticket,
};
use crate::clock::{self, Time};
use crate::process::lock;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;

/// The prefix of the file's name. Processes of a version that writes another state have another file.
const PREFIX: &str = "budget-11-";
/// A process that still has the lock after this many tries, with pauses of this length, has been stopped.
const TRIES: u32 = 1500;
const PAUSE: Duration = Duration::from_micros(100);
/// The time for which this process's own copy of the state is useful if the file is lost.
const FRESH: Duration = Duration::from_secs(2);
/// A state from further in the future than this was written by another run of the host.
const AHEAD: Duration = Duration::from_secs(1);

/// The budget of one client.
pub(super) struct HostBudget(Arc<HostState>);

struct HostState {
    identity: MemberIdentity,
    share: f64,
    on_unreachable: OnUnreachable,
    status: SharingStatus,
    /// Outcomes of requests that are not in the file yet, in order.
    outcomes: Mutex<Vec<(Ticket, RequestOutcome)>>,
    /// Nothing is logged while it is locked: a log callback may wait for a thread that needs it.
    member: Mutex<HostMember>,
}

/// The file that contains the gate, and what one client knows of it.
struct HostMember {
    file: SharedFile,
    /// The state that it last saw in the file.
    seen: Vec<u8>,
    /// The gate of this client alone, while the file cannot be used, and the part of the budget that is left to it.
    alone: Option<(SharedGate, f64)>,
    /// The pauses that the service has asked this client for. Longer ones in the file are not trusted.
    pauses: Pauses,
}

impl HostBudget {
    /// The budget of a client with these settings.
    pub(super) fn new(options: &BudgetOptions) -> Self {
        HostBudget(Arc::new(HostState {
            identity: MemberIdentity::new(),
            share: options.share,
            on_unreachable: options.on_unreachable,
            status: SharingStatus::new("host"),
            outcomes: Mutex::default(),
            member: Mutex::new(HostMember::new(path(options))),
        }))
    }
}

impl Budget for HostBudget {
    fn take(
        &self,
        _now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Admission, String> {
        let ((admission, members), unusable) = self.0.change(|gate, now, part| {
            let info = self.0.identity.info(self.0.share * part);
            let turn = gate.take(now, &info, class, endpoint);
            (turn, gate.members(now).len())
        });
        match unusable {
            Some(reason) if self.0.on_unreachable == OnUnreachable::Wait => return Err(reason),
            Some(_) => {}
            None => self.0.status.reached(members),
        }
        Ok(admission)
    }

    fn report(&self, _now: Time, ticket: Ticket, outcome: RequestOutcome) {
        lock(&self.0.outcomes).push((ticket, outcome));
        in_background(&self.0, |state| {
            // The next request may have noted it already.
            if !lock(&state.outcomes).is_empty() {
                state.change(|_, _, _| ());
            }
        });
    }

    fn status(&self) -> &SharingStatus {
        &self.0.status
    }
}

impl Drop for HostBudget {
    fn drop(&mut self) {
        if self.0.status.is_reached() {
            in_background(&self.0, |state| {
                state.change(|gate, now, _| gate.leave(now, state.identity.id));
            });
        }
    }
}

/// Does this on a blocking thread, or at once where there is no runtime any more.
fn in_background(state: &Arc<HostState>, work: impl FnOnce(&HostState) + Send + 'static) {
    let state = Arc::clone(state);
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || work(&state))),
        Err(_) => work(&state),
    }
}

impl HostState {
    /// Notes in the gate what has happened, and then changes it, for the whole budget: the state gate, or where the file
    /// cannot be used, for the reason that is returned, the one of this client alone with its part of the budget.
    fn change<T>(
        &self,
        operation: impl Fn(&mut SharedGate, Time, f64) -> T,
    ) -> (T, Option<String>) {
        let mut member = lock(&self.member);
        let outcomes = std::mem::take(&mut *lock(&self.outcomes));
        let before = member.pauses;
        let change = |gate: &mut SharedGate, now, part| {
            gate.clamp_pauses(now, &before);
            // The outcomes of this client's requests, and the pauses that the service has asked it for.
            let mut pauses = before;
            for (ticket, outcome) in &outcomes {
                gate.complete(now, self.identity.id, *ticket, outcome);
                if let RequestOutcome::Answered(status, headers) = outcome {
                    pauses.note(now, *status, headers, gate.paused_until());
                }
            }
            (pauses, operation(gate, now, part))
        };
        let changed = member.change(|gate, now| change(gate, now, 1.0));
        let ((pauses, done), unusable) = match changed {
            Ok(changed) => {
                member.alone = None;
                (changed, None)
            }
            Err(error) => {
                let now = clock::now();
                let (gate, part) = member.alone(now);
                (change(gate, now, *part), Some(error.to_string()))
            }
        };
        member.pauses = pauses;
        drop(member);
        if let Some(reason) = &unusable {
            self.status.mark_unreachable(reason);
        }
        (done, unusable)
    }
}

impl HostMember {
    /// A client that has seen nothing of the file at this path, which is made when it is needed.
    fn new(path: PathBuf) -> Self {
        HostMember {
            file: SharedFile::new(path, TRIES, PAUSE),
            seen: Vec::new(),
            alone: None,
            pauses: Pauses::default(),
        }
    }

    /// Changes the state. The operation may be done more than once, each time to a state in which it was not done yet, and
    /// only the last one counts.
    fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Time) -> T,
    ) -> io::Result<T> {
        for _ in 0..shared_file::MOVES {
            let locked = self.file.lock()?;
            let now = clock::now();
            let mut state = self.load(&locked, now);
            let done = operation(&mut state, now);
            let content = postcard::to_stdvec(&state).map_err(io::Error::other)?;
            locked.write(&content)?;
            if locked.is_current() {
                self.seen = content;
                return Ok(done);
            }
        }
        Err(io::Error::other("the file is replaced again and again"))
    }

    /// Returns the current state for reading only; `None` if there is none.
    fn look(&self) -> io::Result<Option<SharedGate>> {
        let content = self.file.look()?;
        Ok(content.and_then(|content| self.decode(&content)))
    }

    /// Goes on with what was known last, and leaves the others theirs.
    fn alone(&mut self, now: Time) -> &mut (SharedGate, f64) {
        let alone = self.alone.take().unwrap_or_else(|| {
            // The state that others see, or else the state that this process saw last.
            let known = self.look().ok().flatten();
            let known = known.or_else(|| self.decode(&self.seen));
            let gate = known.unwrap_or_else(|| SharedGate::new(REQUESTS_PER_SECOND, true, now));
            let part = 1.0 / gate.members(now).len().max(1) as f64;
            (gate, part)
        });
        self.alone.insert(alone)
    }

    /// Returns whether one of our gates can have written the state.
    fn decode(&self, content: &[u8]) -> Option<SharedGate> {
        let state: SharedGate = postcard::from_bytes(content).ok()?;
        state.is_valid(REQUESTS_PER_SECOND).then_some(state)
    }

    /// The state in the file; where it is lost, what this process knows of it.
    fn load(&self, locked: &Locked, now: Time) -> SharedGate {
        let content = locked.value().and_then(|content| self.decode(content));
        let state = content.or_else(|| {
            self.file.sweep();
            let seen = self.decode(&self.seen);
            seen.filter(|it| it.last_used() <= now && it.last_used() + FRESH >= now)
        });
        let is_usable = |it: &SharedGate| it.last_used() <= now + AHEAD && !it.is_expired(now);
        match state {
            Some(state) if is_usable(&state) => state,
            // Others have sent, and nobody knows how much.
            None if !locked.is_new() => SharedGate::after_state_loss(REQUESTS_PER_SECOND, now),
            _ => SharedGate::new(REQUESTS_PER_SECOND, true, now),
        }
    }
}

/// The state as it is now.
pub(super) fn look(options: &BudgetOptions) -> io::Result<BudgetState> {
    let file = HostMember::new(path(options));
    let now = clock::now();
    let gate = file.look()?.filter(|gate| !gate.is_expired(now));
    let gate = gate.as_ref();
    let paused_until = gate.map_or(now, |gate| gate.paused_until());
    Ok(BudgetState {
        store: options.store.to_string(),
        members: gate.map_or_else(Vec::new, |gate| gate.members(now)),
        requests_per_second: gate.map(|gate| gate.rate()),
        mode: gate.map(|gate| gate.mode().to_owned()),
        seconds_paused: paused_until.saturating_sub(now).as_secs_f64(),
    })
}

/// The path of the state for the client of these settings.
pub(super) fn path(options: &BudgetOptions) -> PathBuf {
    let name = company_key(&options.company, Some(&shared_file::run_of_host()));
    shared_file::path(&format!("{PREFIX}{name}"))
}
