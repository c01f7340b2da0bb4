//! The report on a shared budget: whether a client reaches it, which clients share it, and at what rate.

use super::lock;
use crate::gate::MemberStats;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Mutex;
use std::time::Instant;

/// With whom a client shares its budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetStats {
    /// Where it is kept: `process`, `host`, or the server's URL without user and password.
    pub store: String,
    /// How many clients share it now, this one included.
    pub members: usize,
    /// The most there have been at once.
    pub max_members: usize,
    /// For how many seconds it could not be reached.
    pub seconds_unreachable: f64,
    /// Why it cannot be reached now, or could not the last time.
    pub unreachable_reason: Option<String>,
}

/// Who shares a budget, and at what pace.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BudgetState {
    /// Where it is kept.
    pub store: String,
    /// The clients that were seen within the last ten seconds, those that sent most first.
    pub members: Vec<MemberStats>,
    /// Requests per second that all of them together aim at; none where nobody has used the budget lately.
    pub requests_per_second: Option<f64>,
    /// How requests are spaced: on a host `universal` (evenly, right for every service), `refill` (the service counts like a token bucket)
    /// or `aligned` (with the windows of the service); on a server `slots` (evenly).
    pub mode: Option<String>,
    /// For how many seconds nobody may send, because the service said so.
    pub seconds_paused: f64,
}

/// The contact of one client with the budget that it shares. Changes are logged, so no lock may be held meanwhile: a log
/// callback may wait for a thread that needs it.
#[derive(Debug)]
pub(super) struct Contact(Mutex<(BudgetStats, Option<Instant>)>);

impl Contact {
    /// None yet with the budget in this store.
    pub(super) fn with(store: &str) -> Self {
        let stats = BudgetStats {
            store: store.to_owned(),
            members: 0,
            max_members: 0,
            seconds_unreachable: 0.0,
            unreachable_reason: None,
        };
        Contact(Mutex::new((stats, None)))
    }

    /// The budget was reached, and is shared by so many clients.
    pub(super) fn reached(&self, members: usize) {
        let mut contact = lock(&self.0);
        let (stats, unreachable_since) = &mut *contact;
        let joined = (stats.members == 0).then(|| stats.store.clone());
        let lost = unreachable_since.take();
        stats.seconds_unreachable += lost.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats.members = members;
        stats.max_members = stats.max_members.max(members);
        drop(contact);
        if let Some(store) = joined {
            tracing::debug!(store, members, "joined the shared budget");
        }
        if lost.is_some() {
            tracing::info!(members, "the shared budget can be reached again");
        }
    }

    /// The budget cannot be reached.
    pub(super) fn not_reached(&self, reason: &str) {
        let mut contact = lock(&self.0);
        let is_new = contact.1.is_none();
        contact.1.get_or_insert_with(Instant::now);
        contact.0.unreachable_reason = Some(reason.to_owned());
        drop(contact);
        if is_new {
            tracing::warn!("the shared budget cannot be reached: {reason}");
        }
    }

    /// Whether the budget was reached the last time.
    pub(super) fn is_reached(&self) -> bool {
        let contact = lock(&self.0);
        contact.0.members > 0 && contact.1.is_none()
    }

    pub(super) fn stats(&self) -> BudgetStats {
        let (mut stats, since) = lock(&self.0).clone();
        stats.members = stats.members.max(1);
        stats.max_members = stats.max_members.max(1);
        stats.seconds_unreachable += since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        stats
    }
}
