//! The budget that hosts share, on a Redis or Valkey server, where a script gives out moments to send at.
//!
//! What decides is a [`Member`], which reads no clock and waits for nothing. A task asks the server when the member says so,
//! over a connection that is made when it is first needed, and again after a failure. Taking never waits for the server.

mod connection;
mod member;
mod script;
#[cfg(test)]
mod simulation;
#[cfg(test)]
#[path = "../../tests/budget_redis/server.rs"]
#[allow(dead_code, reason = "the tests with real processes need more of it")]
mod test_server;

use super::contact::{BudgetState, Contact, News};
use super::identity::Identity;
use super::{Budget, BudgetStats, Left, Take, Taking, lock};
use crate::clock::{self, Time};
use crate::gate::{Endpoint, GateSettings, Outcome, PriorityClass, Ticket};
use crate::settings::{Config, OnUnreachable};
use connection::{Connection, Place};
use member::Member;
use script::{Description, Reply};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use url::Url;

/// The budget of one client.
pub(super) struct RedisBudget {
    shared: Arc<Shared>,
    /// Dropped when the client has left.
    present: Option<watch::Sender<()>>,
    gone: watch::Receiver<()>,
}

struct Shared {
    place: Arc<Place>,
    settings: GateSettings,
    on_unreachable: OnUnreachable,
    /// Notified when those who wait should ask again.
    changed: Arc<Notify>,
    state: Mutex<State>,
}

struct State {
    /// The process that the member stands for: a forked child is another one.
    identity: Identity,
    member: Member,
    contact: Contact,
    connection: Arc<AsyncMutex<Option<Connection>>>,
    /// On which the server is asked; a client may be dropped outside of it.
    runtime: Option<Handle>,
}

impl State {
    fn new(place: &Place, settings: GateSettings) -> Self {
        let identity = Identity::new();
        State {
            member: Member::new(identity.id, settings),
            identity,
            contact: Contact::with(place.shown()),
            connection: Arc::default(),
            runtime: None,
        }
    }
}

impl RedisBudget {
    /// The budget on the server of this URL for the client of these settings.
    pub(super) fn new(
        url: &Url,
        config: &Config,
        settings: GateSettings,
        changed: &Arc<Notify>,
    ) -> Self {
        let place = Arc::new(Place::new(url, config));
        let state = State::new(&place, settings);
        let (present, gone) = watch::channel(());
        RedisBudget {
            shared: Arc::new(Shared {
                place,
                settings,
                on_unreachable: config.on_unreachable,
                changed: Arc::clone(changed),
                state: Mutex::new(state),
            }),
            present: Some(present),
            gone,
        }
    }
}

impl Shared {
    /// The state, which in a forked child begins anew.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        if state.identity.process != std::process::id() {
            let new = State::new(&self.place, self.settings);
            // What belongs to the runtime of the parent is forgotten, not dropped.
            std::mem::forget(std::mem::replace(&mut *state, new));
        }
        state
    }

    /// Asks the server if it is time to.
    fn ask_if_due(self: &Arc<Self>, state: &mut State) {
        let now = clock::now();
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if state.member.ask_at(now).is_none_or(|at| at > now) {
            return;
        }
        let about = Description::of(&state.identity);
        let ask = state.member.ask(now, about);
        let (shared, connection) = (Arc::clone(self), Arc::clone(&state.connection));
        let process = state.identity.process;
        state.runtime = Some(runtime.clone());
        runtime.spawn(async move {
            let replied = Connection::ask(&mut *connection.lock().await, &shared.place, &ask).await;
            if process == std::process::id() {
                shared.take_in(replied);
                shared.changed.notify_one();
            }
        });
    }

    fn take_in(self: &Arc<Self>, replied: Result<Reply, String>) {
        let mut state = self.state();
        match replied {
            Ok(reply) => {
                state.member.received(clock::now(), &reply);
                state.contact.reached(reply.members as usize);
            }
            Err(reason) => {
                state.member.unanswered(clock::now());
                state.contact.not_reached(reason);
            }
        }
        // A pause that was reported meanwhile does not wait for the next request.
        self.ask_if_due(&mut state);
        let news = state.contact.take_news();
        drop(state);
        news.into_iter().for_each(News::log);
    }
}

impl Budget for RedisBudget {
    fn take(&self, now: Time, class: PriorityClass, endpoint: Endpoint) -> Taking<'_> {
        let mut state = self.shared.state();
        let shares = self.shared.on_unreachable == OnUnreachable::Share;
        let take = state.member.take(now, class, endpoint, shares);
        self.shared.ask_if_due(&mut state);
        let waits = matches!(take, Take::Wait { earliest, .. } if earliest <= now);
        let nothing = waits || take == Take::AfterChange;
        let take = if !shares && nothing && state.member.is_unreachable() {
            Take::Unreachable(state.contact.reason())
        } else {
            take
        };
        Box::pin(std::future::ready(take))
    }

    fn report(&self, now: Time, ticket: Ticket, outcome: Outcome) {
        let mut state = self.shared.state();
        state.member.report(now, ticket, &outcome);
        self.shared.ask_if_due(&mut state);
    }

    fn stats(&self) -> BudgetStats {
        self.shared.state().contact.stats()
    }

    fn left(&self) -> Left {
        let mut gone = self.gone.clone();
        Box::pin(async move { while gone.changed().await.is_ok() {} })
    }
}

impl Drop for RedisBudget {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let (Some(runtime), true) = (state.runtime.take(), state.contact.is_reached()) else {
            return;
        };
        let about = Description::of(&state.identity);
        let ask = state.member.leaving(clock::now(), about);
        let connection = Arc::clone(&state.connection);
        let present = self.present.take();
        runtime.spawn(async move {
            // If it does not get there, the server forgets the member by itself.
            if let Some(connection) = &mut *connection.lock().await {
                let _ = connection.ask_once(&ask).await;
            }
            drop(present);
        });
    }
}

/// The state of the budget on this server, for people; else why it cannot be read.
pub(super) fn look(url: &Url, config: &Config) -> Result<BudgetState, String> {
    let place = Arc::new(Place::new(url, config));
    let look = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async { Connection::to(&place).await?.look().await })
    };
    // A thread of its own, since the caller may be within a runtime.
    let looked = std::thread::scope(|scope| scope.spawn(look).join());
    looked.unwrap_or_else(|_| Err("the thread that looks has failed".into()))
}
