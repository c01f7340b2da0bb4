//! The report on a shared budget: whether a client reaches it, which clients share it, and at what rate.

use crate::gate::MemberStats;
use schemars::JsonSchema;
use serde::Serialize;
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

/// The contact of one client with the budget that it shares.
#[derive(Debug)]
pub(super) struct Contact {
    /// While the budget cannot be reached, without the time since then.
    stats: BudgetStats,
    unreachable_since: Option<Instant>,
    news: Vec<News>,
}

/// A change, to be logged once no lock is held: a log callback may wait for a thread that needs the lock.
#[derive(Debug)]
pub(super) enum News {
    Joined(String, usize),
    Reachable(usize),
    Unreachable(String),
    Replaced,
}

impl News {
    pub(super) fn log(self) {
        match self {
            News::Joined(store, members) => {
                tracing::debug!(store, members, "joined the shared budget");
            }
            News::Reachable(members) => {
                tracing::info!(members, "the shared budget can be reached again");
            }
            News::Unreachable(reason) => {
                tracing::warn!("the shared budget cannot be reached: {reason}");
            }
            News::Replaced => tracing::debug!(
                "the file of the shared budget is locked by a stopped process; a copy replaces it"
            ),
        }
    }
}

impl Contact {
    /// None yet with the budget in this store.
    pub(super) fn with(store: &str) -> Self {
        Contact {
            stats: BudgetStats {
                store: store.to_owned(),
                members: 0,
                max_members: 0,
                seconds_unreachable: 0.0,
                unreachable_reason: None,
            },
            unreachable_since: None,
            news: Vec::new(),
        }
    }

    /// The changes since this was asked last.
    pub(super) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// The budget was reached, and is shared by so many clients.
    pub(super) fn reached(&mut self, members: usize) {
        if self.stats.members == 0 {
            let store = self.stats.store.clone();
            self.news.push(News::Joined(store, members));
        }
        if let Some(since) = self.unreachable_since.take() {
            self.stats.seconds_unreachable += since.elapsed().as_secs_f64();
            self.news.push(News::Reachable(members));
        }
        self.stats.members = members;
        self.stats.max_members = self.stats.max_members.max(members);
    }

    /// The budget cannot be reached.
    pub(super) fn not_reached(&mut self, reason: String) {
        if self.unreachable_since.is_none() {
            self.unreachable_since = Some(Instant::now());
            self.news.push(News::Unreachable(reason.clone()));
        }
        self.stats.unreachable_reason = Some(reason);
    }

    /// Another file has taken the place of one that a stopped process had locked.
    pub(super) fn replaced(&mut self) {
        self.news.push(News::Replaced);
    }

    /// Whether the budget was reached the last time.
    pub(super) fn is_reached(&self) -> bool {
        self.stats.members > 0 && self.unreachable_since.is_none()
    }

    pub(super) fn stats(&self) -> BudgetStats {
        let since = self.unreachable_since.map(|since| since.elapsed());
        BudgetStats {
            members: self.stats.members.max(1),
            max_members: self.stats.max_members.max(1),
            seconds_unreachable: self.stats.seconds_unreachable
                + since.unwrap_or_default().as_secs_f64(),
            ..self.stats.clone()
        }
    }

    /// Why it cannot be reached.
    pub(super) fn reason(&self) -> String {
        self.stats.unreachable_reason.clone().unwrap_or_default()
    }
}
