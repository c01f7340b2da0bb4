//! The endpoints below `/__`, for programs on this machine that run a test, and not for web pages.

use std::io;

use http::{HeaderMap, HeaderName, Method, header};
use serde_json::{Value, json};

use super::{Faults, set};
use crate::answer::Answer;
use crate::changes::Logged;
use crate::request::Received;
use crate::service::Service;
use crate::shared::lock;

/// The response, when the request is for one of these endpoints and they exist.
pub(crate) fn answer(service: &Service, request: &Received) -> Option<Answer> {
    let faults = service.faults.as_ref()?;
    let done = json!({"done": true});
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
        (&Method::GET, "/__drift") => drift(service, request),
        (&Method::POST, "/__drift") => change(service, request).map(|()| done),
        (&Method::DELETE, "/__drift") => {
            service.contents.restart();
            Ok(done)
        }
        (&Method::GET, "/__changes") => changes(service, request),
        _ => return None,
    };
    Some(match answered {
        Ok(body) => Answer::json(200, &body),
        Err(error) => Answer::error(400, "invalid_request", &error.to_string()),
    })
}

/// `{"list", "total", "stayed", "came", "went", "moved"}`, the last four as arrays of identities: records that were
/// there all the time (in their order), that came since, that went (some of them after they had come), and that have
/// changed their place (some of which went). The identity of a record without an `id` is an object of its members.
fn drift(service: &Service, request: &Received) -> io::Result<Value> {
    let name = request.parameter("list").unwrap_or_default();
    let list = service.contents.named(&name)?;
    let identity = |number| list.records.identity(number);
    Ok(list.with(|state| {
        json!({
            "list": name,
            "total": state.total(),
            "stayed": state.stayed().map(identity).collect::<Value>(),
            "came": state.came().map(identity).collect::<Value>(),
            "went": state.went().map(identity).collect::<Value>(),
            "moved": state.moved().map(identity).collect::<Value>(),
        })
    }))
}

/// Makes the [`Change`](crate::Change) in the body to a list.
fn change(service: &Service, request: &Received) -> io::Result<()> {
    let name = request.parameter("list").unwrap_or_default();
    let change = serde_json::from_slice(&request.body)?;
    service
        .contents
        .named(&name)?
        .with(|state| state.change(change))
}

/// `{"list", "changes", "next"}`: what has happened to the list since the start, but for the first `skip` changes, and
/// how many to skip the next time. The members of a change are those of [`Logged::to_json`].
fn changes(service: &Service, request: &Received) -> io::Result<Value> {
    let name = request.parameter("list").unwrap_or_default();
    let skip = request
        .parameter("skip")
        .map_or(Ok(0), |text| text.parse::<usize>());
    let skip = skip.map_err(|_| io::Error::other("skip: a whole number is expected"))?;
    let changes = service.contents.named(&name)?.changes(skip);
    let next = skip.saturating_add(changes.len());
    let changes: Value = changes.iter().map(Logged::to_json).collect();
    Ok(json!({"list": name, "changes": changes, "next": next}))
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
