//! What a receipt says about the clients that shared the budget.

use crate::budget::BudgetStats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the request budget was shared while a scan ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUse {
    /// Where it was kept: `process`, `host`, or the address of the server, without user and password.
    pub home: String,
    /// The most clients seen to share it at once, this one included.
    pub most_members: u64,
    /// For how many seconds it could not be reached, so that the client went on alone or waited.
    pub seconds_lost: f64,
    /// Why it could not be reached, the last time; null where it always could.
    pub lost: Option<String>,
}

impl BudgetUse {
    /// Takes in what the client says now, which could not reach the budget for `lost_before` seconds before the scan.
    pub(super) fn note(&mut self, stats: BudgetStats, lost_before: f64) {
        self.home = stats.home;
        self.most_members = self.most_members.max(stats.members as u64);
        self.seconds_lost = (stats.seconds_lost - lost_before).max(0.0);
        if self.seconds_lost > 0.0 {
            self.lost = stats.lost;
        }
    }

    /// Of two runs of an export, `self` being the second: what they have seen together.
    pub(super) fn after(mut self, first: &BudgetUse) -> BudgetUse {
        self.most_members = self.most_members.max(first.most_members);
        self.seconds_lost += first.seconds_lost;
        self.lost = self.lost.or_else(|| first.lost.clone());
        self
    }
}
