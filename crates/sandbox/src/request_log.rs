//! The fault rules in force, and the log of requests, without secrets.

use crate::faults::{Condition, FaultReply, How, Rule};
use crate::http::Received;
use ::http::HeaderMap;
use ::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::time::Duration;

/// Limits the number of logged requests. Long tests must not fill the memory.
const MAX_LOGGED: usize = 100_000;

/// Replaces a secret, because anybody on this machine can read the log.
const REDACTED: &str = "[redacted]";

/// The rules in force, and the log of requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) rules: Vec<Rule>,
    pub(crate) log: VecDeque<Value>,
    pub(crate) dropped: u64,
}

impl Faults {
    /// Returns the position of the first rule whose condition fits. Each rule that fits counts the request.
    fn first(&mut self, fits: impl Fn(&Condition) -> bool) -> Option<usize> {
        let rules = self.rules.iter_mut().enumerate();
        let fitting = rules.filter_map(|(position, rule)| {
            (fits(&rule.condition) && rule.applies_to_next()).then_some(position)
        });
        // `min` evaluates all rules, so that each one counts.
        fitting.min()
    }

    /// Returns the fault for a connection that was just accepted.
    pub(crate) fn accepted(&mut self) -> Option<How> {
        let position = self.first(|condition| condition.accept)?;
        Some(self.rules[position].reply.how.unwrap_or_default())
    }

    /// Logs a request, and returns the fault for its response. The first rule that applies decides.
    ///
    /// `scrub` removes secrets from a text.
    pub(crate) fn received(
        &mut self,
        request: &Received,
        scrub: impl Fn(&str) -> String,
        at: Duration,
    ) -> Option<FaultReply> {
        let position = self.first(|condition| {
            let method = condition.method.as_ref();
            let path = condition.path.as_ref();
            method.is_none_or(|one| request.method == **one)
                && path.is_none_or(|one| *one == request.path)
                && !condition.accept
        });
        if self.log.len() == MAX_LOGGED {
            self.log.pop_front();
            self.dropped += 1;
        }
        self.log.push_back(json!({
            "method": request.method.as_str(),
            "path": request.path,
            "query": scrub(&request.query),
            "headers": headers(&request.headers, &scrub),
            "body": scrub(&body(&request.body)),
            "at_ms": at.as_millis() as u64,
            "connection": request.connection,
            "fault": position,
        }));
        position.map(|position| self.rules[position].reply.clone())
    }
}

/// Returns a body for the log, without the secret of a client, which may be a real one.
fn body(bytes: &[u8]) -> String {
    let mut body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match body.get_mut("clientSecret") {
        Some(secret) => {
            *secret = REDACTED.into();
            body.to_string()
        }
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Returns headers for the log. Headers for secrets show no more than the scheme.
fn headers(headers: &HeaderMap, scrub: impl Fn(&str) -> String) -> Map<String, Value> {
    let mut out = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter().map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            match text.split_once(' ') {
                _ if ![AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) => scrub(&text),
                Some((scheme, _)) if name != COOKIE => format!("{scheme} {REDACTED}"),
                _ => REDACTED.to_owned(),
            }
        });
        let values = values.collect::<Vec<_>>().join(", ");
        out.insert(name.to_string(), values.into());
    }
    out
}

/// Returns the text without these secrets.
pub(crate) fn scrubbed<'a>(text: &str, secrets: impl Iterator<Item = &'a String>) -> String {
    secrets.fold(text.to_owned(), |text, secret| {
        text.replace(secret, REDACTED)
    })
}
