//! The warnings of a client: the failures that it recovers from, and the beginning and the end of an outage.
//!
//! A failure is logged as a warning once its call succeeded. Each kind of failure is logged at most once a minute, with
//! the number of times. During an outage, only the outage is logged.

use super::call::Call;
use crate::budget::Failures;
use crate::clock::Time;
use crate::error::Error;
use crate::process::lock;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// The shortest time between two warnings about the same kind of failure.
const INTERVAL: Duration = Duration::from_secs(60);
/// The shortest outage that is logged. A service that fails now and then has many shorter ones.
const MIN_OUTAGE: Duration = Duration::from_secs(1);

/// A failure of a call that may succeed later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trouble {
    pub(super) time: Time,
    /// The name of the kind of error.
    pub(super) reason: &'static str,
    pub(super) status: Option<u16>,
}

/// The failures of one client that its log mentions.
pub(crate) struct Troubles {
    client: Option<String>,
    state: Mutex<WarningState>,
}

/// The warnings given so far. The methods read no clock.
#[derive(Default)]
struct WarningState {
    /// The time of the last success before the outage, while it lasts.
    outage: Option<Time>,
    /// The beginning and the end of the last outage.
    over: Option<(Time, Time)>,
    /// The time of the last warning about each kind of failure, and the number of calls that recovered since.
    recovered: BTreeMap<(&'static str, Option<u16>), (Time, u32)>,
}

impl Troubles {
    pub(super) fn new(client: Option<&str>) -> Self {
        Troubles {
            client: client.map(str::to_owned),
            state: Mutex::default(),
        }
    }

    /// Warns of an outage if these failures in a row are one, and it is new. `error` is the last failure, if it was a
    /// failure of this client.
    pub(super) fn failing(&self, now: Time, failures: &Failures, error: Option<&Error>) {
        if !failures.is_outage() || !lock(&self.state).begins(now, failures.since) {
            return;
        }
        tracing::warn!(
            reason = error.map(|error| error.kind().name()),
            status = error.and_then(Error::status),
            seconds = now.saturating_sub(failures.since).as_secs_f64(),
            failures = failures.count,
            client = self.client,
            "the service is down; one request at a time probes it"
        );
    }

    /// Records that a call succeeded with the last of its `attempts`, sent at `sent`; `trouble` is its last failure, if
    /// it had one.
    pub(super) fn succeeded(
        &self,
        now: Time,
        sent: Time,
        call: &Call,
        trouble: Option<Trouble>,
        attempts: u32,
    ) {
        let mut state = lock(&self.state);
        let ended = state.ends(now, sent);
        let told = trouble.and_then(|trouble| Some((trouble, state.recovers(now, trouble)?)));
        drop(state);
        if let Some(lasted) = ended {
            let seconds = lasted.as_secs_f64();
            tracing::warn!(seconds, client = self.client, "the service is up again");
        }
        if let Some((Trouble { reason, status, .. }, times)) = told {
            tracing::warn!(
                operation = call.operation.id,
                offset = call.offset,
                reason,
                status,
                attempt = attempts,
                times,
                client = self.client,
                "a call succeeded after a failure"
            );
        }
    }
}

impl WarningState {
    /// Returns whether an outage begins. Failures that were counted before the last one ended belong to that one.
    fn begins(&mut self, now: Time, since: Time) -> bool {
        let is_over = self.over.is_some_and(|(_, end)| now <= end);
        let is_new = self.outage.is_none() && !is_over && now >= since + MIN_OUTAGE;
        if is_new {
            self.outage = Some(since);
        }
        is_new
    }

    /// Ends the outage, if there is one, and returns its duration. The success of a request that was sent before the
    /// outage began, and whose body arrived late, does not end it.
    fn ends(&mut self, now: Time, sent: Time) -> Option<Duration> {
        let since = self.outage.take_if(|since| sent >= *since)?;
        self.over = Some((since, now));
        Some(now.saturating_sub(since))
    }

    /// Counts a recovery. Returns the number since the last warning if another one is due.
    fn recovers(&mut self, now: Time, trouble: Trouble) -> Option<u32> {
        if let Some((since, end)) = self.over
            && (since..=end).contains(&trouble.time)
        {
            return None;
        }
        let kind = (trouble.reason, trouble.status);
        let Some((last, times)) = self.recovered.get_mut(&kind) else {
            self.recovered.insert(kind, (now, 0));
            return Some(1);
        };
        *times += 1;
        if now < *last + INTERVAL {
            return None;
        }
        *last = now;
        Some(std::mem::take(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns a failure at this second.
    fn trouble(second: u32, status: u16) -> Trouble {
        Trouble {
            time: second * SECOND,
            reason: "Server",
            status: Some(status),
        }
    }

    #[test]
    fn each_kind_of_failure_is_logged_once_a_minute_with_its_number() {
        let mut state = WarningState::default();
        let mut recovers =
            |second, status| state.recovers(second * SECOND, trouble(second, status));
        let told = |second: u32| Some((second, recovers(second, 500)?));
        assert_eq!(
            (1..=120).filter_map(told).collect::<Vec<_>>(),
            [(1, 1), (61, 60)]
        );
        assert_eq!(
            [502, 502].map(|status| recovers(120, status)),
            [Some(1), None]
        );
    }

    #[test]
    fn an_outage_is_logged_once_and_its_failures_are_not() {
        let mut state = WarningState::default();
        assert!(!state.begins(SECOND + MIN_OUTAGE / 2, SECOND));
        assert!(state.begins(SECOND + MIN_OUTAGE, SECOND));
        assert!(!state.begins(SECOND * 3, SECOND));
        assert_eq!(state.ends(SECOND * 5, SECOND / 2), None);
        assert_eq!(state.ends(SECOND * 9, SECOND * 8), Some(SECOND * 8));
        assert_eq!(state.ends(SECOND * 9, SECOND * 8), None);
        // Another call counted these failures before the outage ended, and reports them only now.
        assert!(!state.begins(SECOND * 9, SECOND));
        let told = [1, 5, 9, 10].map(|second| state.recovers(SECOND * 20, trouble(second, 500)));
        assert_eq!(told, [None, None, None, Some(1)]);
        assert!(state.begins(SECOND * 30, SECOND * 21));
    }
}
