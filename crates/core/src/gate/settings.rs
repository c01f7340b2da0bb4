//! What a gate is told before the first response.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::model::Model;

/// What the gate has to know before the first response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateSettings {
    /// Requests per window (service document, section 8.1). Headers can lower it, never raise it.
    pub limit: u32,
    /// The window of the limit.
    pub window: Duration,
    /// The part of the limit that is ours, above 0 and at most 1, where several processes share one.
    pub share: f64,
    /// Whether to keep to the limit. Without, only the rule is kept: for a service that counts nothing.
    pub paced: bool,
    /// Seed of the jitter in the back-off.
    pub seed: u64,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            limit: 40,
            window: Duration::from_secs(1),
            share: 1.0,
            paced: true,
            seed: 0,
        }
    }
}

impl GateSettings {
    /// What is believed at first about a server that counts to `limit` in the window of the settings.
    pub(super) fn model(&self, limit: u32) -> Model {
        let limit = limit.max(1);
        Model::new(limit, self.budget(limit), self.window)
    }

    /// Our part of a limit above 0.
    pub(super) fn budget(&self, limit: u32) -> u32 {
        // A cast from a float saturates, and so keeps a senseless share within the limit.
        ((f64::from(limit) * self.share) as u32).clamp(1, limit)
    }
}
