//! The endpoints of a test, which exist only with [`Options::faults`](crate::Options::faults): fault rules, the log of
//! requests, counts, and what has happened to the lists. None of them counts against the limit.

use crate::faults::{Condition, How, Reply, Rule, Script};
use crate::http::{Answer, Received, failure, in_json};
use crate::records::Records;
use crate::service::{Service, lock};
use crate::state::Logged;
use ::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, PROXY_AUTHORIZATION};
use ::http::{HeaderMap, Method};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Long tests must not fill the memory.
const MAX_LOGGED: usize = 100_000;

/// What stands where a secret stood: anybody on this machine can read the log.
const REDACTED: &str = "[redacted]";

/// The rules in force, and the log of requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: Vec<Rule>,
    log: VecDeque<Value>,
    dropped: u64,
}

/// Puts the rules of a script in place of those before.
///
/// # Errors
///
/// In words; the rules before stay in force then.
pub(crate) fn set_faults(service: &Service, script: &[u8]) -> Result<(), String> {
    let Some(faults) = &service.faults else {
        return Err("fault rules need a sandbox that was started with faults".to_owned());
    };
    let script = serde_json::from_slice::<Script>(script);
    let script = script.map_err(|error| format!("the fault rules are wrong: {error}"))?;
    for (position, rule) in script.rules.iter().enumerate() {
        let path = rule.condition.path.as_deref();
        if let Some(path) = path.filter(|path| service.spec.find(path).is_empty()) {
            return Err(format!(
                "the fault rules are wrong: rules[{position}].match.path: the service has no path {path:?}; \
                 give one as it is requested, such as \"/v1/version\", without a query"
            ));
        }
    }
    lock(faults).rules = script.rules;
    Ok(())
}

impl Faults {
    /// The position of the first rule whose condition fits. Each rule that fits counts.
    fn first(&mut self, fits: impl Fn(&Condition) -> bool) -> Option<usize> {
        let rules = self.rules.iter_mut().enumerate();
        let fitting = rules.filter_map(|(position, rule)| {
            (fits(&rule.condition) && rule.meet()).then_some(position)
        });
        // All of them are looked at.
        fitting.min()
    }

    /// What is to be done to a connection that was just accepted.
    pub(crate) fn accepted(&mut self) -> Option<How> {
        let position = self.first(|condition| condition.accept)?;
        Some(self.rules[position].reply.how.unwrap_or_default())
    }

    /// Logs a request, and finds what is to be done to its response: the first rule that is for it decides.
    ///
    /// `scrub` takes secrets out of a text.
    pub(crate) fn received(
        &mut self,
        request: &Received,
        scrub: impl Fn(&str) -> String,
        at: Duration,
    ) -> Option<Reply> {
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

/// A body as it is logged, without the secret of a client that may know a real one.
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

/// Headers as they are logged: those that are there to hold a secret show no more than its scheme.
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

/// The text without these secrets.
pub(crate) fn scrubbed<'a>(text: &str, secrets: impl Iterator<Item = &'a String>) -> String {
    secrets.fold(text.to_owned(), |text, secret| {
        text.replace(secret, REDACTED)
    })
}

/// The response, when the request is for one of these endpoints and they exist.
pub(crate) fn administer(service: &Service, request: &Received) -> Option<Answer> {
    let faults = service.faults.as_ref()?;
    let done = json!({"done": true});
    let list = || service.list(&request.parameter("list").unwrap_or_default());
    let answered = match (&request.method, request.path.as_str()) {
        (&Method::POST, "/__faults") => match set_faults(service, &request.body) {
            Ok(()) => Ok(done),
            Err(message) => return Some(failure(400, "invalid_script", &message)),
        },
        (&Method::DELETE, "/__faults") => {
            *lock(faults) = Faults::default();
            Ok(done)
        }
        (&Method::GET, "/__requests") => {
            let faults = lock(faults);
            Ok(json!({"dropped": faults.dropped, "requests": faults.log}))
        }
        (&Method::GET, "/__stats") => Ok(json!(service.stats())),
        (&Method::POST, "/__drift") => serde_json::from_slice(&request.body)
            .map_err(io::Error::from)
            .and_then(|change| list()?.state().change(change))
            .map(|()| done),
        (&Method::GET, "/__changes") => list().and_then(|list| changes(list, request)),
        _ => return None,
    };
    Some(match answered {
        Ok(body) => in_json(200, &body),
        Err(error) => failure(400, "invalid_request", &error.to_string()),
    })
}

/// `{"list", "changes", "next"}`: what has happened to the list since the start, but for the first `skip` changes, and
/// how many to skip the next time. The members of a change are those of [`Logged::to_json`].
fn changes(list: &Records, request: &Received) -> io::Result<Value> {
    let skip = request.parameter("skip");
    let skip = skip.map_or(Ok(0), |text| text.parse::<usize>());
    let skip = skip.map_err(|_| io::Error::other("skip: a whole number is expected"))?;
    let changes = list.state().changes(list, skip);
    let next = skip.saturating_add(changes.len());
    let changes: Value = changes.iter().map(Logged::to_json).collect();
    Ok(json!({"list": list.list.name, "changes": changes, "next": next}))
}

/// The refusal of a request to the sandbox on this port by a web page; none where it may go on.
///
/// A page of any site can send requests to this machine. Its browser names the site in `Origin`, or, where the site
/// has pointed its own name at this machine, in `Host`.
pub(crate) fn refusal(headers: &HeaderMap, port: u16) -> Option<Answer> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let message = if !ours.iter().any(|name| Some(name.as_str()) == host) {
        "the Host header must be a loopback name with the port of this sandbox"
    } else if headers.contains_key(ORIGIN) {
        "web pages must not use this endpoint"
    } else {
        return None;
    };
    Some(failure(403, "forbidden", message))
}
