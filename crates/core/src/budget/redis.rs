//! The budget that hosts share, on a Redis or Valkey server: leased send slots.
//!
//! What decides is a [`Member`], which reads no clock and waits for nothing; here is what it needs for that. A task asks the
//! server whenever the member says so, over a connection that is made when it is first needed, and again after a failure.
//! Taking a slot never waits for the server.

mod connection;
mod script;
mod shown;
#[cfg(test)]
#[path = "../../tests/budget_redis/server.rs"]
#[allow(dead_code, reason = "the tests with real processes need more of it")]
mod test_server;

use super::lease::Member;
use super::look::BudgetState;
use super::who::Who;
use super::{Budget, BudgetStats, Contact, Left, Take, company};
use crate::clock::{self, Time};
use crate::gate::{GateSettings, Lane, RateHeaders, Ticket};
use crate::settings::{Config, OnLost};
use connection::{Connection, Place};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};
use url::Url;

/// The budget of one client.
pub(crate) struct RedisBudget(Arc<Shared>);

struct Shared {
    place: Arc<Place>,
    settings: GateSettings,
    on_lost: OnLost,
    /// Told when somebody who waits should ask again.
    changed: Arc<Notify>,
    state: Mutex<State>,
}

struct State {
    /// The process that the member stands for: a forked child is another one.
    who: Who,
    member: Member,
    contact: Contact,
    /// Told when the member may have to ask sooner.
    wake: Arc<Notify>,
    /// Held as long as somebody asks for the member.
    served: Arc<AsyncMutex<()>>,
    /// The budget is not used any more.
    closed: bool,
}

impl State {
    fn new(home: &str, settings: GateSettings, on_lost: OnLost) -> Self {
        State {
            who: Who::here(),
            member: Member::new(company::new_id(), settings, on_lost),
            contact: Contact::with(home),
            wake: Arc::new(Notify::new()),
            served: Arc::default(),
            closed: false,
        }
    }
}

impl RedisBudget {
    /// The budget on the server of this URL for the client of these settings.
    pub(crate) fn new(
        url: &Url,
        config: &Config,
        settings: GateSettings,
        changed: &Arc<Notify>,
    ) -> Self {
        let on_lost = config.on_lost;
        let place = Place::new(url, config);
        let state = State::new(place.shown(), settings, on_lost);
        RedisBudget(Arc::new(Shared {
            place: Arc::new(place),
            settings,
            on_lost,
            changed: Arc::clone(changed),
            state: Mutex::new(state),
        }))
    }

    /// Sees to it that somebody asks the server for the member.
    fn serve(&self, state: &mut State) {
        let Ok(serving) = Arc::clone(&state.served).try_lock_owned() else {
            state.wake.notify_one();
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let service = Service {
            shared: Arc::downgrade(&self.0),
            place: Arc::clone(&self.0.place),
            wake: Arc::clone(&state.wake),
            who: state.who.clone(),
            _serving: serving,
        };
        runtime.spawn(service.run());
    }
}

impl Shared {
    /// The state, which in a forked child begins anew.
    fn state(&self) -> MutexGuard<'_, State> {
        // The member's methods leave it whole even when a caller panics between them.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.who.process != std::process::id() {
            let new = State::new(self.place.shown(), self.settings, self.on_lost);
            // What wakes tasks that are not there is forgotten, not dropped.
            std::mem::forget(std::mem::replace(&mut *state, new));
        }
        state
    }
}

impl Budget for RedisBudget {
    fn take(&self, now: Time, lane: Lane) -> Take {
        let mut state = self.0.state();
        let take = state.member.take(now, lane);
        self.serve(&mut state);
        match take {
            Take::AfterChange if self.0.on_lost == OnLost::Wait && state.member.is_lost() => {
                Take::Lost(state.contact.reason())
            }
            take => take,
        }
    }

    fn unsend(&self, _now: Time, ticket: Ticket) {
        self.0.state().member.unsend(ticket);
    }

    fn failed(&self, now: Time, ticket: Ticket, sent: bool) {
        match sent {
            true => self.lost(now, ticket),
            false => self.unsend(now, ticket),
        }
    }

    fn lost(&self, now: Time, ticket: Ticket) {
        self.0.state().member.lost(now, ticket);
    }

    fn answered(&self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let mut state = self.0.state();
        state.member.answered(now, ticket, status, headers);
        self.serve(&mut state);
    }

    fn stats(&self) -> BudgetStats {
        self.0.state().contact.stats()
    }

    fn left(&self) -> Left {
        let served = Arc::clone(&self.0.state().served);
        Box::pin(async move { drop(served.lock().await) })
    }
}

impl Drop for RedisBudget {
    fn drop(&mut self) {
        // The task leaves, and ends.
        let mut state = self.0.state();
        state.closed = true;
        state.wake.notify_one();
    }
}

/// The state of the budget on this server, for people; else why it cannot be read.
pub(super) fn look(url: &Url, config: &Config) -> Result<BudgetState, String> {
    let place = Arc::new(Place::new(url, config));
    let look = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async { place.connect().await?.look().await })
    };
    // A thread of its own, since the caller may be within a runtime.
    let looked = std::thread::scope(|scope| scope.spawn(look).join());
    looked.unwrap_or_else(|_| Err("the thread that looks has failed".into()))
}

/// Asks the server for the member of a budget, as long as there is one.
struct Service {
    shared: Weak<Shared>,
    place: Arc<Place>,
    wake: Arc<Notify>,
    who: Who,
    _serving: OwnedMutexGuard<()>,
}

impl Service {
    async fn run(self) {
        let mut connection = None;
        let mut member = None;
        loop {
            let due = match self.shared.upgrade() {
                Some(shared) => {
                    let mut state = shared.state();
                    if state.who.process != self.who.process {
                        return;
                    }
                    member = Some(state.member.id());
                    if state.closed {
                        break;
                    }
                    state.member.ask_at(clock::now())
                }
                None => break,
            };
            match due {
                Some(at) if at <= clock::now() => self.ask(&mut connection).await,
                Some(at) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(clock::instant(at)) => {}
                        () = self.wake.notified() => {}
                    }
                }
                None => self.wake.notified().await,
            }
        }
        if let (Some(connection), Some(member)) = (&mut connection, member) {
            connection.leave(member, &self.who).await;
        }
    }

    /// Asks once, over a connection that is made if there is none.
    async fn ask(&self, connection: &mut Option<Connection>) {
        let made = match connection.take() {
            Some(present) => Ok(present),
            None => self.place.connect().await,
        };
        let asked = match made {
            Ok(mut made) => {
                let Some(shared) = self.shared.upgrade() else {
                    *connection = Some(made);
                    return;
                };
                let ask = shared.state().member.ask(clock::now());
                drop(shared);
                match made.ask(&ask, &self.who).await {
                    Ok(reply) => {
                        // One that is not used would be closed by the server some day.
                        *connection = Some(made).filter(|_| !ask.leaving);
                        Ok(reply)
                    }
                    // It may hold a reply that comes late, or lead to a server that is no longer the right one.
                    Err(reason) => Err(reason),
                }
            }
            Err(reason) => Err(reason),
        };
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let mut state = shared.state();
        let now = clock::now();
        let told = match &asked {
            Ok(reply) => {
                let told = state.member.received(now, reply);
                if reply.members > 0 {
                    state.contact.hold(reply.members as usize);
                }
                told
            }
            Err(reason) => {
                let told = state.member.failed(now);
                if state.member.is_lost() {
                    state.contact.lose(reason);
                }
                told
            }
        };
        drop(state);
        if told {
            shared.changed.notify_one();
        }
    }
}
