//! Whether a client reaches the budget that it shares, and what of that people are told.

use serde::Serialize;
use std::time::{Duration, Instant};

/// With whom a budget was shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetStats {
    /// Where it is kept: `process`, `host`, or the server's URL without user and password.
    pub home: String,
    /// How many clients share it now, this one included.
    pub members: usize,
    /// The most there have been at once.
    pub most_members: usize,
    /// For how many seconds it could not be reached.
    pub seconds_lost: f64,
    /// Why it cannot be reached now, or could not the last time.
    pub lost: Option<String>,
}

/// The contact of one client with the budget that it shares.
#[derive(Debug)]
pub(crate) struct Contact {
    home: String,
    members: usize,
    most_members: usize,
    lost_since: Option<Instant>,
    lost: Duration,
    reason: Option<String>,
    news: Vec<News>,
}

/// A change of contact, to be logged once no lock is held: a log callback may wait for a thread that needs the lock.
#[derive(Debug)]
pub(crate) enum News {
    Joined { home: String, members: usize },
    Regained { members: usize },
    Lost { reason: String },
    Moved,
}

impl News {
    pub(crate) fn log(&self) {
        match self {
            News::Joined { home, members } => {
                tracing::debug!(home, members, "joined the shared budget");
            }
            News::Regained { members } => {
                tracing::info!(members, "the shared budget can be reached again");
            }
            News::Lost { reason } => {
                tracing::warn!("the shared budget cannot be reached: {reason}");
            }
            News::Moved => tracing::debug!(
                "the file of the shared budget is locked by a stopped process; a copy replaces it"
            ),
        }
    }
}

impl Contact {
    /// None yet with the budget that is kept at `home`.
    pub(crate) fn with(home: &str) -> Self {
        Self {
            home: home.to_owned(),
            members: 0,
            most_members: 0,
            lost_since: None,
            lost: Duration::ZERO,
            reason: None,
            news: Vec::new(),
        }
    }

    /// The changes since this was asked last.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// The budget was reached, and is shared by so many clients.
    pub(crate) fn hold(&mut self, members: usize) {
        if self.members == 0 {
            let home = self.home.clone();
            self.news.push(News::Joined { home, members });
        }
        if let Some(since) = self.lost_since.take() {
            self.lost += since.elapsed();
            self.news.push(News::Regained { members });
        }
        self.members = members;
        self.most_members = self.most_members.max(members);
    }

    /// The budget cannot be reached.
    pub(crate) fn lose(&mut self, reason: &str) {
        if self.lost_since.is_none() {
            self.lost_since = Some(Instant::now());
            let reason = reason.to_owned();
            self.news.push(News::Lost { reason });
        }
        self.reason = Some(reason.to_owned());
    }

    /// Another file has taken the place of one that a stopped process had locked.
    pub(crate) fn move_on(&mut self) {
        self.news.push(News::Moved);
    }

    /// Whether the budget was reached the last time.
    pub(crate) fn is_held(&self) -> bool {
        self.members > 0 && self.lost_since.is_none()
    }

    /// Why it cannot be reached.
    pub(crate) fn reason(&self) -> String {
        self.reason.clone().unwrap_or_default()
    }

    pub(crate) fn stats(&self) -> BudgetStats {
        let lost = self
            .lost_since
            .map_or(Duration::ZERO, |since| since.elapsed());
        BudgetStats {
            home: self.home.clone(),
            members: self.members.max(1),
            most_members: self.most_members.max(1),
            seconds_lost: (self.lost + lost).as_secs_f64(),
            lost: self.reason.clone(),
        }
    }
}
