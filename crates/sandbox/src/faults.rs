//! Faults on demand: the rules that change answers, and the log of what was received.
//!
//! Exists only with [`Options::faults`](crate::Options::faults). The README of this crate describes the rules, the log
//! and the endpoints, none of which counts against the limit.

use crate::http::{Answer, Received};
use crate::list::Held;
use crate::service::{Service, lock};
use crate::state::Logged;
use ::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use ::http::{HeaderMap, HeaderName, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

mod wire;

pub(crate) use wire::{end, play};

/// Long tests must not fill the memory.
const MAX_LOGGED: usize = 100_000;

/// What stands where a secret stood: anybody on this machine can read the log.
const REDACTED: &str = "[redacted]";

/// Members and parameters that hold a secret, in small letters without separators.
const SECRET: [&str; 4] = ["clientsecret", "accesstoken", "token", "secret"];

/// The rules in force, how often each was met, and the log of requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: Vec<Rule>,
    log: VecDeque<Value>,
    dropped: u64,
}

impl Rule {
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
    ) -> Option<Reply> {
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
                found = Some((position, rule.reply.clone()));
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
        Some((scheme, _)) if name != COOKIE => format!("{scheme} {REDACTED}"),
        _ => REDACTED.to_owned(),
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

/// The response, when the request is for one of these endpoints and they exist.
pub(crate) fn administer(service: &Service, request: &Received) -> Option<Answer> {
    let faults = service.faults.as_ref()?;
    let done = json!({"done": true});
    let list = || service.list(&request.parameter("list").unwrap_or_default());
    let answered = match (&request.method, request.path.as_str()) {
        (&Method::POST, "/__faults") => match set(service, &request.body) {
            Ok(()) => Ok(done),
            Err(message) => return Some(Answer::error(400, "invalid_script", &message)),
        },
        (&Method::DELETE, "/__faults") => {
            *lock(faults) = Faults::default();
            Ok(done)
        }
        (&Method::GET, "/__requests") => Ok(lock(faults).log()),
        (&Method::GET, "/__stats") => Ok(json!(service.stats())),
        (&Method::GET, "/__drift") => list().map(|list| list.state().report(&list.records)),
        (&Method::POST, "/__drift") => serde_json::from_slice(&request.body)
            .map_err(io::Error::from)
            .and_then(|change| list()?.state().change(change))
            .map(|()| done),
        (&Method::GET, "/__changes") => list().and_then(|list| changes(list, request)),
        _ => return None,
    };
    Some(match answered {
        Ok(body) => Answer::json(200, &body),
        Err(error) => Answer::error(400, "invalid_request", &error.to_string()),
    })
}

/// `{"list", "changes", "next"}`: what has happened to the list since the start, but for the first `skip` changes, and
/// how many to skip the next time. The members of a change are those of [`Logged::to_json`].
fn changes(list: &Held, request: &Received) -> io::Result<Value> {
    let skip = request.parameter("skip");
    let skip = skip.map_or(Ok(0), |text| text.parse::<usize>());
    let skip = skip.map_err(|_| io::Error::other("skip: a whole number is expected"))?;
    let changes = list.changes(skip);
    let next = skip.saturating_add(changes.len());
    let changes: Value = changes.iter().map(Logged::to_json).collect();
    Ok(json!({"list": list.records.list.name, "changes": changes, "next": next}))
}

/// The refusal of a request to the sandbox on this port by a web page; none where it may go on.
///
/// A page of any site can send requests to this machine. Its browser names the site in `Origin`, or, where the site
/// has pointed its own name at this machine, in `Host`.
pub(crate) fn refusal(headers: &HeaderMap, port: u16) -> Option<Answer> {
    let text = |name: HeaderName| Some(headers.get(name)?.to_str().unwrap_or_default());
    let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let host = text(header::HOST).unwrap_or_default().to_ascii_lowercase();
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let foreign = site.is_some_and(|site| !["none", "same-origin"].contains(&site));
    let message = if !ours.contains(&host) {
        "the Host header must be a loopback name with the port of this sandbox"
    } else if foreign || headers.contains_key(header::ORIGIN) {
        "web pages must not use this endpoint"
    } else {
        return None;
    };
    Some(Answer::error(403, "forbidden", message))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(rename = "match", default)]
    condition: Condition,
    reply: Reply,
    /// Requests or connections that matched until now.
    #[serde(skip)]
    met: u64,
}

/// Which requests a rule is for; without any member, all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Condition {
    method: Option<String>,
    path: Option<String>,
    /// Only this one of the matching requests, counted from 1.
    nth: Option<u64>,
    /// This one and all later ones.
    from: Option<u64>,
    /// Connections instead of requests: `how` is done as soon as one is accepted.
    accept: bool,
}

/// What is done to the response that the service gave; without any member, nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reply {
    pub(crate) status: Option<u16>,
    /// Replaced or added; an array sends the header several times.
    pub(crate) headers: BTreeMap<String, Values>,
    pub(crate) omit_headers: Vec<String>,
    /// JSON; a string is sent as it is, without quotes.
    #[serde(deserialize_with = "present")]
    pub(crate) body: Option<Value>,
    #[serde(deserialize_with = "base64")]
    pub(crate) body_base64: Option<Bytes>,
    pub(crate) gzip: bool,
    /// In place of the body, a gzipped JSON object of so many MiB.
    pub(crate) gzip_bomb_mb: Option<u32>,
    pub(crate) delay_ms: u64,
    /// Nothing is answered; the connection ends as `how` says.
    pub(crate) close_after_read: bool,
    /// In place of the whole answer, status line and all.
    pub(crate) raw: Option<String>,
    #[serde(deserialize_with = "base64")]
    pub(crate) raw_base64: Option<Bytes>,
    pub(crate) framing: Option<Framing>,
    /// Bytes of the body (as it is encoded, without chunk sizes) that are sent before the connection ends.
    pub(crate) cut_at: Option<usize>,
    /// The same, counted from the first byte of the status line.
    pub(crate) cut_at_wire: Option<usize>,
    pub(crate) how: Option<How>,
    pub(crate) trickle: Option<Trickle>,
    /// After the body, spaces without end.
    pub(crate) endless: bool,
}

/// One value of a header, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// How the end of the body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Framing {
    /// By `content-length`.
    Length,
    /// By chunks of 64 bytes.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum How {
    /// In order.
    #[default]
    Fin,
    /// By a reset.
    Rst,
    /// Not at all: it stays open and silent until the client closes it.
    Stall,
}

/// So many bytes at a time.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trickle {
    pub(crate) bytes: usize,
    #[serde(default)]
    pub(crate) every_ms: u64,
}

/// Tells a body that is `null` from a body that is not given.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn base64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
    Ok(Some(bytes.into()))
}
