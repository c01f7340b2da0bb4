//! The budget that hosts share, on a Redis or Valkey server, whose script assigns send slots.
//!
//! A [`RedisMember`] makes the decisions. It reads no clock and never waits. A task asks the server when the member
//! requires it, over a connection that is opened when it is first needed, and again after a failure.
//! [`take`](Budget::take) never waits for the server.

mod member;
mod server;
#[cfg(test)]
mod simulation;
#[cfg(test)]
#[path = "../../tests/budget_redis/server.rs"]
#[allow(dead_code, reason = "the tests with real processes need more of it")]
mod test_server;

use super::Budget;
use super::membership::{BudgetState, MemberIdentity, SharingStatus};
use super::options::{BudgetOptions, OnUnreachable};
use crate::budget::gate::{Admission, Endpoint, PriorityClass, RequestOutcome, Ticket};
use crate::clock::{self, Time};
use crate::process::{self, lock};
use member::RedisMember;
use server::{BudgetAddress, Connection};
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use url::Url;

/// The budget of one client.
pub(super) struct RedisBudget(Arc<RedisState>);

struct RedisState {
    place: BudgetAddress,
    status: SharingStatus,
    /// Notified when waiting callers should ask again.
    changed: Arc<Notify>,
    /// The member, and the runtime on which the server is asked: a client may be dropped outside of it.
    state: Mutex<(RedisMember, Option<Handle>)>,
    connection: AsyncMutex<Option<Connection>>,
}

impl RedisBudget {
    /// Creates the budget of a client with these settings on the server of this URL.
    pub(super) fn new(url: &Url, options: &BudgetOptions, changed: &Arc<Notify>) -> Self {
        let place = BudgetAddress::new(url, options);
        let shares = options.on_unreachable == OnUnreachable::Share;
        RedisBudget(Arc::new(RedisState {
            status: SharingStatus::new(&place.shown),
            place,
            changed: Arc::clone(changed),
            state: Mutex::new((
                RedisMember::new(MemberIdentity::new(), options.share, shares),
                None,
            )),
            connection: AsyncMutex::default(),
        }))
    }
}

impl RedisState {
    /// Asks the server if a question is due.
    fn ask_if_due(self: &Arc<Self>, state: &mut (RedisMember, Option<Handle>)) {
        let (member, now) = (&mut state.0, clock::now());
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if member.ask_at(now).is_none_or(|at| at > now) {
            return;
        }
        let ask = member.ask(now);
        let shared = Arc::clone(self);
        runtime.spawn(async move {
            let mut connection = shared.connection.lock().await;
            let replied = Connection::ask(&mut connection, &shared.place, &ask).await;
            drop(connection);
            let mut state = lock(&shared.state);
            match &replied {
                Ok(reply) => state.0.received(clock::now(), reply),
                Err(why) => state.0.unanswered(clock::now(), &why.reason),
            }
            // A pause that was reported in the meantime does not wait for the next request.
            shared.ask_if_due(&mut state);
            drop(state);
            match replied {
                Ok(reply) => shared.status.reached(reply.members as usize),
                Err(why) => shared.status.mark_unreachable(&why.reason, why.is_refused),
            }
            shared.changed.notify_one();
        });
        state.1 = Some(runtime);
    }
}

impl Budget for RedisBudget {
    fn take(
        &self,
        now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Admission, String> {
        let mut state = lock(&self.0.state);
        let admission = state.0.take(now, class, endpoint);
        self.0.ask_if_due(&mut state);
        admission
    }

    fn report(&self, now: Time, ticket: Ticket, outcome: RequestOutcome) {
        let mut state = lock(&self.0.state);
        state.0.report(now, ticket, &outcome);
        self.0.ask_if_due(&mut state);
    }

    fn status(&self) -> &SharingStatus {
        &self.0.status
    }
}

impl Drop for RedisBudget {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.0);
        let mut state = lock(&self.0.state);
        let ask = state.0.leaving(clock::now());
        let leave = async move {
            // If the message does not arrive, the member expires on the server.
            if let Some(connection) = &mut *shared.connection.lock().await {
                let _ = connection.ask_once(&shared.place, &ask).await;
            }
        };
        if let Some(runtime) = &state.1
            && self.0.status.is_reached()
        {
            runtime.spawn(leave);
        }
    }
}

/// Returns the state of the budget on this server for display, or the reason why it cannot be read.
pub(super) fn look(url: &Url, options: &BudgetOptions) -> Result<BudgetState, String> {
    let place = BudgetAddress::new(url, options);
    let look = || {
        let runtime = process::runtime(1, || ());
        let runtime = runtime.map_err(|error| error.message().to_owned())?;
        let looked = runtime.block_on(server::look(&place));
        looked.map_err(|why| why.reason)
    };
    // This runs on a new thread, because the caller may be within a runtime.
    let looked = std::thread::scope(|scope| scope.spawn(look).join());
    looked.unwrap_or_else(|_| Err("the thread that reads the budget failed".into()))
}
