//! The endpoints below `/__`, for whoever runs the test.

use std::io;

use http::Method;
use serde_json::{Value, json};

use super::Book;
use super::script::Script;
use crate::answer::Answer;
use crate::changes::Logged;
use crate::drift::Change;
use crate::request::Received;
use crate::service::Service;
use crate::stats::Stats;
use crate::sync::lock;

/// The response, when the request is for one of these endpoints and they exist.
pub(crate) fn answer(service: &Service, request: &Received) -> Option<Answer> {
    let book = service.book.as_ref()?;
    match (&request.method, request.path.as_str()) {
        (&Method::POST, "/__faults") => {
            Some(match serde_json::from_slice::<Script>(&request.body) {
                Ok(script) => {
                    lock(book).open(script);
                    done()
                }
                Err(error) => Answer::error(400, "invalid_script", &error.to_string()),
            })
        }
        (&Method::DELETE, "/__faults") => {
            *lock(book) = Book::default();
            Some(done())
        }
        (&Method::GET, "/__requests") => Some(Answer::json(200, &lock(book).log())),
        (&Method::GET, "/__stats") => Some(stats(service)),
        (&Method::GET, "/__drift") => Some(drift(service, request)),
        (&Method::POST, "/__drift") => Some(change(service, request)),
        (&Method::GET, "/__changes") => Some(changes(service, request)),
        (&Method::DELETE, "/__drift") => {
            service.contents.restart();
            Some(done())
        }
        _ => None,
    }
}

/// What `POST /__faults` does, for whoever holds the sandbox.
pub(crate) fn misbehave(service: &Service, script: &str) -> io::Result<()> {
    let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
    let Some(book) = &service.book else {
        return Err(wrong(
            "misbehaving needs a sandbox that was started with faults".into(),
        ));
    };
    let script = serde_json::from_str::<Script>(script);
    let script = script.map_err(|error| wrong(format!("the rules are wrong: {error}")))?;
    lock(book).open(script);
    Ok(())
}

fn done() -> Answer {
    Answer::json(200, &json!({"done": true}))
}

/// The members of [`Stats`].
fn stats(service: &Service) -> Answer {
    let Stats {
        requests,
        token_posts,
        limited,
        requests_by_path,
        most_in_a_second,
    } = service.stats();
    let body = json!({
        "requests": requests,
        "token_posts": token_posts,
        "limited": limited,
        "requests_by_path": requests_by_path,
        "most_in_a_second": most_in_a_second,
    });
    Answer::json(200, &body)
}

/// `{"list", "total", "stayed", "came", "went", "moved"}`, the last four as arrays of identities: records that were
/// there all the time (in their order), that came since, that went (some of them after they had come), and that have
/// changed their place (some of which went). The identity of a record without an `id` is an object of its members.
fn drift(service: &Service, request: &Received) -> Answer {
    let name = request.parameter("list").unwrap_or_default();
    let told = service.contents.with_state(&name, |state, records| {
        let identity = |number| {
            let mut out = Vec::new();
            records.write_identity(number, &mut out);
            serde_json::from_slice::<Value>(&out).unwrap_or_default()
        };
        json!({
            "list": name,
            "total": state.total(),
            "stayed": state.stayed().map(identity).collect::<Value>(),
            "came": state.came().map(identity).collect::<Value>(),
            "went": state.went().map(identity).collect::<Value>(),
            "moved": state.moved().map(identity).collect::<Value>(),
        })
    });
    match told {
        Ok(body) => Answer::json(200, &body),
        Err(error) => Answer::error(400, "invalid_request", &error.to_string()),
    }
}

/// `{"list", "changes", "next"}`: what has happened to the list since the start, but for the first `skip` changes, and
/// how many to skip the next time. The members of a change are those of [`Logged::to_json`](crate::Logged::to_json).
fn changes(service: &Service, request: &Received) -> Answer {
    let name = request.parameter("list").unwrap_or_default();
    let skip = request.parameter("skip").unwrap_or_else(|| "0".to_owned());
    let Ok(skip) = skip.parse::<usize>() else {
        return Answer::error(400, "invalid_request", "skip: a whole number is expected");
    };
    match service.contents.changes(&name, skip) {
        Ok(changes) => {
            let next = skip.saturating_add(changes.len());
            let changes: Value = changes.iter().map(Logged::to_json).collect();
            Answer::json(
                200,
                &json!({"list": name, "changes": changes, "next": next}),
            )
        }
        Err(error) => Answer::error(400, "invalid_request", &error.to_string()),
    }
}

/// Makes the [`Change`] in the body to a list.
fn change(service: &Service, request: &Received) -> Answer {
    let name = request.parameter("list").unwrap_or_default();
    let changed = match serde_json::from_slice::<Change>(&request.body) {
        Ok(change) => service
            .contents
            .with_state(&name, |state, _| state.change(change))
            .flatten(),
        Err(error) => Err(error.into()),
    };
    match changed {
        Ok(()) => done(),
        Err(error) => Answer::error(400, "invalid_request", &error.to_string()),
    }
}
