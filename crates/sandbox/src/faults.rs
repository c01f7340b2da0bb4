//! Faults on demand: the rules that change answers, and the log of what was received.
//!
//! Exists only with [`Options::faults`](crate::Options::faults). The README of this crate describes the rules, the log
//! and the endpoints, none of which counts against the limit.

mod admin;
mod edit;
mod script;
mod send;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHORIZATION};
use serde_json::{Map, Value, json};

use crate::request::Received;
use crate::service::Service;
use crate::shared::lock;
pub(crate) use admin::{answer as administer, refusal};
pub(crate) use script::Reply;
use script::{Condition, How, Script};
pub(crate) use send::{end, play};

/// Long tests must not fill the memory.
const MAX_LOGGED: usize = 100_000;

/// What stands where a secret stood: anybody on this machine can read the log.
const REDACTED: &str = "[redacted]";

/// Members and parameters that hold a secret, in small letters without separators.
const SECRET: [&str; 4] = ["clientsecret", "accesstoken", "token", "secret"];

/// The rules in force, how often each was met, and the log of requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: Vec<Counted>,
    log: VecDeque<Value>,
    dropped: u64,
}

#[derive(Debug)]
struct Counted {
    condition: Condition,
    reply: Arc<Reply>,
    met: u64,
}

impl Counted {
    /// Counts one more that matches; whether it is one that the rule is for.
    fn meet(&mut self) -> bool {
        self.met += 1;
        let Condition { nth, from, .. } = self.condition;
        nth.is_none_or(|nth| self.met == nth) && from.is_none_or(|from| self.met >= from)
    }
}

/// Puts the rules of a script in place of those before.
///
/// # Errors
///
/// In words; the rules before stay in force then.
pub(crate) fn set(service: &Service, script: &[u8]) -> Result<(), String> {
    let Some(faults) = &service.faults else {
        return Err("fault rules need a sandbox that was started with faults".to_owned());
    };
    let script = serde_json::from_slice::<Script>(script);
    let script = script.map_err(|error| format!("the fault rules are wrong: {error}"))?;
    for (position, rule) in script.rules.iter().enumerate() {
        let path = rule.condition.path.as_deref();
        if let Some(path) = path.filter(|path| service.find(path).is_empty()) {
            return Err(format!(
                "the fault rules are wrong: rules[{position}].match.path: the service has no path {path:?}; \
                 give one as it is requested, such as \"/v1/version\", without a query"
            ));
        }
    }
    let rules = script.rules.into_iter().map(|rule| Counted {
        condition: rule.condition,
        reply: Arc::new(rule.reply),
        met: 0,
    });
    lock(faults).rules = rules.collect();
    Ok(())
}

impl Faults {
    fn log(&self) -> Value {
        json!({"dropped": self.dropped, "requests": self.log})
    }

    /// What is to be done to a connection that was just accepted.
    pub(crate) fn accepted(&mut self) -> Option<How> {
        let mut found = None;
        // Each rule has to count, also when one before it has been found.
        for rule in self.rules.iter_mut().filter(|rule| rule.condition.accept) {
            if rule.meet() {
                found = found.or(Some(rule.reply.how.unwrap_or_default()));
            }
        }
        found
    }

    /// Logs a request, and finds what is to be done to its response: the first rule that is for it decides.
    ///
    /// `secret` is whether the body may hold a secret anywhere.
    pub(crate) fn received(
        &mut self,
        request: &Received,
        secret: bool,
        at: Duration,
    ) -> Option<Arc<Reply>> {
        let mut found = None;
        for (position, rule) in self.rules.iter_mut().enumerate() {
            let Condition {
                method,
                path,
                accept,
                ..
            } = &rule.condition;
            let method = method.as_ref().is_none_or(|one| request.method == **one);
            let path = path.as_ref().is_none_or(|one| *one == request.path);
            if method && path && !accept && rule.meet() && found.is_none() {
                found = Some((position, Arc::clone(&rule.reply)));
            }
        }
        if self.log.len() == MAX_LOGGED {
            self.log.pop_front();
            self.dropped += 1;
        }
        let position = found.as_ref().map(|(position, _)| *position);
        self.log.push_back(entry(request, secret, at, position));
        found.map(|(_, reply)| reply)
    }
}

fn entry(request: &Received, secret: bool, at: Duration, fault: Option<usize>) -> Value {
    let mut headers = Map::new();
    for (name, value) in &request.headers {
        let value = header(name, &String::from_utf8_lossy(value.as_bytes()));
        match headers.get_mut(name.as_str()) {
            Some(Value::String(before)) => *before = format!("{before}, {value}"),
            _ => drop(headers.insert(name.as_str().to_owned(), value.into())),
        }
    }
    let parameters = request
        .query
        .split('&')
        .map(|one| match one.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={REDACTED}"),
            _ => one.to_owned(),
        });
    let text = String::from_utf8_lossy(&request.body);
    let mut read = serde_json::from_slice::<Value>(&request.body);
    let body = match &mut read {
        Ok(value) => redact(value).then(|| value.to_string()),
        Err(_) => (secret && !text.is_empty()).then(|| REDACTED.to_owned()),
    };
    json!({
        "method": request.method.as_str(),
        "path": request.path,
        "query": parameters.collect::<Vec<_>>().join("&"),
        "headers": headers,
        "body": body.as_deref().unwrap_or(&text),
        "at_ms": at.as_millis() as u64,
        "connection": request.connection,
        "fault": fault,
    })
}

/// The value of a header as it is logged.
fn header(name: &HeaderName, value: &str) -> String {
    if ![AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) {
        return value.to_owned();
    }
    match value.split_once(' ') {
        Some((scheme, _)) => format!("{scheme} {REDACTED}"),
        None => REDACTED.to_owned(),
    }
}

/// Redacts what is secret in a value; whether there was anything.
fn redact(value: &mut Value) -> bool {
    let mut found = false;
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if is_secret(name) {
                    *value = REDACTED.into();
                    found = true;
                }
                found |= redact(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| found |= redact(item)),
        _ => {}
    }
    found
}

fn is_secret(name: &str) -> bool {
    let name = name.replace(['_', '-'], "").to_ascii_lowercase();
    SECRET.contains(&name.as_str())
}
