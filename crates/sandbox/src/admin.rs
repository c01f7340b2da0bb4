//! The test endpoints, which only exist with [`Options::faults`](crate::Options::faults): fault rules, the log of
//! requests, counts, and the changes of the lists. None of them counts against the limit.

use crate::clock::lock;
use crate::faults::Script;
use crate::http::{Answer, Received, failure, in_json};
use crate::records::ListRecords;
use crate::request_log::Faults;
use crate::service::Service;
use crate::state::Logged;
use ::http::header::{HOST, ORIGIN};
use ::http::{HeaderMap, Method};
use serde_json::{Value, json};
use std::io;

/// Replaces the current rules with those of a script.
///
/// # Errors
///
/// A description of the fault. The current rules stay in force.
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

/// Returns the response if the request is for one of these endpoints and they exist.
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

/// Returns `{"list", "changes", "next"}`: the changes of the list since the start, without the first `skip`, and the
/// number to skip the next time. The members of a change are those of [`Logged::to_json`].
fn changes(list: &ListRecords, request: &Received) -> io::Result<Value> {
    let skip = request.parameter("skip");
    let skip = skip.map_or(Ok(0), |text| text.parse::<usize>());
    let skip = skip.map_err(|_| io::Error::other("skip: a whole number is expected"))?;
    let changes = list.changes(skip);
    let next = skip.saturating_add(changes.len());
    let changes: Value = changes.iter().map(Logged::to_json).collect();
    Ok(json!({"list": list.list.name, "changes": changes, "next": next}))
}

/// Returns the refusal of a request that a web page sends to the sandbox on this port; `None` if the request is
/// allowed.
///
/// A page of any site can send requests to this machine. Its browser names the site in `Origin`, or in `Host` if the
/// site pointed its own name at this machine.
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
