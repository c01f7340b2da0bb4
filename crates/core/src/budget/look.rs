//! The state of a shared budget, for people. Looking changes nothing, and neither waits for anybody nor holds anybody up.

#[cfg(unix)]
use super::host;
use super::redis;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::MemberStats;
#[cfg(unix)]
use crate::gate::SharedGate;
use crate::settings::{BudgetHome, Config};
use schemars::JsonSchema;
use serde::Serialize;
#[cfg(unix)]
use std::time::Duration;

/// Who shares a budget, and at what pace.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BudgetState {
    /// Where it is kept.
    pub home: String,
    /// The clients that were heard of within the last ten seconds, those that sent most first.
    pub members: Vec<MemberStats>,
    /// Requests per second that all of them together aim at; none where nobody has used the budget lately.
    pub requests_per_second: Option<f64>,
    /// How the time of the next request is found: by the gate (`universal`, `refill` or `locked`) on a host; on a server by
    /// `slots`.
    pub mode: Option<String>,
    /// For how many seconds nobody may send, because the service said so.
    pub seconds_paused: f64,
}

impl Config {
    /// The state of the budget that these settings name.
    ///
    /// # Errors
    /// `Config` where the budget is not shared, or cannot be looked at; `Io` where its file cannot be read,
    /// `Connect` where its server cannot be reached.
    pub fn budget_state(&self) -> Result<BudgetState> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Config, message));
        match &self.budget {
            _ if !self.paced => refuse("budget: with paced = false no budget is kept".into()),
            BudgetHome::Process => refuse(
                "budget: each process keeps its own, and nobody else can look at it; with budget = host \
                 the processes of a user share one"
                    .into(),
            ),
            #[cfg(unix)]
            BudgetHome::Host => {
                let seen = host::look(self).map_err(|error| {
                    let message = format!("the file of the shared budget cannot be read: {error}");
                    Error::new(ErrorKind::Io, message)
                })?;
                Ok(state(&self.budget, seen))
            }
            #[cfg(not(unix))]
            BudgetHome::Host => refuse("budget: on this system no file is shared".into()),
            BudgetHome::Redis(url) => redis::look(url, self).map_err(|reason| {
                let message = format!("the shared budget cannot be read: {reason}");
                Error::new(ErrorKind::Connect, message)
            }),
        }
    }
}

#[cfg(unix)]
fn state(home: &BudgetHome, seen: Option<(Box<SharedGate>, Duration)>) -> BudgetState {
    let home = home.to_string();
    let Some((gate, now)) = seen.filter(|(gate, now)| !gate.is_over(*now)) else {
        return BudgetState {
            home,
            members: Vec::new(),
            requests_per_second: None,
            mode: None,
            seconds_paused: 0.0,
        };
    };
    BudgetState {
        home,
        members: gate.members(now),
        requests_per_second: Some(gate.rate()),
        mode: Some(gate.mode().to_owned()),
        seconds_paused: gate.paused_until().saturating_sub(now).as_secs_f64(),
    }
}
