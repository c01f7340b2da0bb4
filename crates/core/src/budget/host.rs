//! The budget that all processes of a user on this host share: one gate, whose state is in a file. Each operation
//! locks, reads, changes and writes the file, which takes some microseconds.
//!
//! Blocking threads of the runtime do this, so that no other task is delayed. If the file cannot be used, the client
//! continues with the state that it knows, and uses no more than its part of the budget.

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
use crate::error::system_text;
use crate::process::lock;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;

/// The prefix of the file's name. Versions with another state use another file.
const PREFIX: &str = "budget-11-";
/// The number of tries for the lock. A process that holds the lock for longer counts as stopped.
const TRIES: u32 = 1500;
/// The pause between two tries for the lock.
const PAUSE: Duration = Duration::from_micros(100);
/// The time for which this process's own copy of the state may be used if the file is lost.
const OWN_COPY_VALID_FOR: Duration = Duration::from_secs(2);
/// A state that is further in the future than this was written during another boot of the host.
const MAX_CLOCK_LEAD: Duration = Duration::from_secs(1);

/// The budget of one client.
pub(super) struct HostBudget(Arc<HostState>);

struct HostState {
    identity: MemberIdentity,
    share: f64,
    on_unreachable: OnUnreachable,
    status: SharingStatus,
    /// Outcomes of requests that are not in the file yet, in order.
    outcomes: Mutex<Vec<(Ticket, RequestOutcome)>>,
    /// No message is logged while this is locked, because a log callback may wait for a thread that needs the lock.
    member: Mutex<HostMember>,
}

/// The file that contains the gate, and one client's knowledge of it.
struct HostMember {
    file: SharedFile,
    /// The state that this client last saw in the file.
    seen: Vec<u8>,
    /// The client's own gate while the file cannot be used, and its part of the budget.
    alone: Option<(SharedGate, f64)>,
    /// The pauses that the service asked this client for. Longer ones in the file are not trusted.
    pauses: Pauses,
}

impl HostBudget {
    /// Creates the budget of a client with these settings.
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
            // The next request may have reported the outcomes already.
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

/// Runs `work` on a blocking thread, or on this thread if no runtime exists any more.
fn in_background(state: &Arc<HostState>, work: impl FnOnce(&HostState) + Send + 'static) {
    let state = Arc::clone(state);
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || work(&state))),
        Err(_) => work(&state),
    }
}

impl HostState {
    /// Reports the outcomes to the gate, and then changes it with `operation`. This is the gate in the file, for the
    /// whole budget. If the file cannot be used, it is the client's own gate with its part of the budget, and the
    /// reason is returned as well.
    fn change<T>(
        &self,
        operation: impl Fn(&mut SharedGate, Time, f64) -> T,
    ) -> (T, Option<String>) {
        let mut member = lock(&self.member);
        let outcomes = std::mem::take(&mut *lock(&self.outcomes));
        let before = member.pauses;
        let change = |gate: &mut SharedGate, now, part| {
            gate.clamp_pauses(now, &before);
            // The outcomes of this client's requests, and the pauses that the service asked it for.
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
                (change(gate, now, *part), Some(system_text(&error)))
            }
        };
        member.pauses = pauses;
        drop(member);
        if let Some(reason) = &unusable {
            self.status.mark_unreachable(reason, false);
        }
        (done, unusable)
    }
}

impl HostMember {
    /// Creates the member of a client. It has not read the file at this path yet, and creates the file when needed.
    fn new(path: PathBuf) -> Self {
        HostMember {
            file: SharedFile::new(path, TRIES, PAUSE),
            seen: Vec::new(),
            alone: None,
            pauses: Pauses::default(),
        }
    }

    /// Changes the state. The operation may run more than once, each time on a state without its effect, and only the
    /// last run counts.
    fn change<T>(
        &mut self,
        mut operation: impl FnMut(&mut SharedGate, Time) -> T,
    ) -> io::Result<T> {
        for _ in 0..shared_file::MAX_LOCK_RESTARTS {
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
        Err(io::Error::other("other processes keep replacing the file"))
    }

    /// Returns the current state for reading only; `None` if there is none.
    fn look(&self) -> io::Result<Option<SharedGate>> {
        let content = self.file.look()?;
        Ok(content.and_then(|content| self.decode(&content)))
    }

    /// Returns this client's own gate, which continues with the last known state, and this client's part of the budget.
    /// The client leaves the other parts to the other members.
    fn alone(&mut self, now: Time) -> &mut (SharedGate, f64) {
        let alone = self.alone.take().unwrap_or_else(|| {
            // The state in the file, or otherwise the state that this process saw last.
            let known = self.look().ok().flatten();
            let known = known.or_else(|| self.decode(&self.seen));
            let gate = known.unwrap_or_else(|| SharedGate::new(REQUESTS_PER_SECOND, true, now));
            let part = 1.0 / gate.members(now).len().max(1) as f64;
            (gate, part)
        });
        self.alone.insert(alone)
    }

    /// Reads a state. Returns `None` if none of our gates can have written it.
    fn decode(&self, content: &[u8]) -> Option<SharedGate> {
        let state: SharedGate = postcard::from_bytes(content).ok()?;
        state.is_valid(REQUESTS_PER_SECOND).then_some(state)
    }

    /// Returns the state in the file. If it is lost, returns the state that this process knows.
    fn load(&self, locked: &Locked, now: Time) -> SharedGate {
        let content = locked.value().and_then(|content| self.decode(content));
        let state = content.or_else(|| {
            self.file.sweep();
            let seen = self.decode(&self.seen);
            seen.filter(|it| it.last_used() <= now && it.last_used() + OWN_COPY_VALID_FOR >= now)
        });
        let is_usable =
            |it: &SharedGate| it.last_used() <= now + MAX_CLOCK_LEAD && !it.is_expired(now);
        match state {
            Some(state) if is_usable(&state) => state,
            // Others may have sent any number of requests.
            None if !locked.is_new() => SharedGate::after_state_loss(REQUESTS_PER_SECOND, now),
            _ => SharedGate::new(REQUESTS_PER_SECOND, true, now),
        }
    }
}

/// Returns the current state of the budget, without changing it.
pub(super) fn look(options: &BudgetOptions) -> io::Result<BudgetState> {
    let file = HostMember::new(path(options));
    let now = clock::now();
    let gate = file.look()?.filter(|gate| !gate.is_expired(now));
    let gate = gate.as_ref();
    let paused_until = gate.map_or(now, |gate| gate.paused_until());
    Ok(BudgetState {
        store: options.store.to_string(),
        company: options.company[1].clone(),
        members: gate.map_or_else(Vec::new, |gate| gate.members(now)),
        requests_per_second: gate.map(|gate| gate.rate()),
        mode: gate.map(|gate| gate.mode().to_owned()),
        seconds_paused: paused_until.saturating_sub(now).as_secs_f64(),
    })
}

/// Returns the path of the state for the client of these settings.
pub(super) fn path(options: &BudgetOptions) -> PathBuf {
    let name = company_key(&options.company, Some(&shared_file::boot_id()));
    shared_file::path(&format!("{PREFIX}{name}"))
}
