//! The endpoints below `/__`, for whoever runs the test.

use std::io;

use http::Method;
use serde_json::{Value, json};

use super::Book;
use super::script::Script;
use crate::answer::Answer;
use crate::list::lists;
use crate::request::Received;
use crate::service::Service;
use crate::stats::Stats;
use crate::sync::lock;

/// The answer, when the request is for one of these endpoints and they exist.
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
        return Err(wrong("it was started without faults".into()));
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

/// `{"list", "total", "stayed", "came", "went"}`, the last three as arrays of ids: records that were there all the
/// time (in their order), that came since, and that went (some of them after they had come).
fn drift(service: &Service, request: &Received) -> Answer {
    let name = request.parameter("list").unwrap_or_default();
    let Some(position) = lists().iter().position(|list| list.name == name) else {
        return Answer::error(400, "invalid_request", "list has to be the name of a list");
    };
    let id = |number| {
        let mut out = Vec::new();
        lists()[position].write_id(service.options.seed, number, &mut out);
        serde_json::from_slice::<Value>(&out).unwrap_or_default()
    };
    let body = service.contents.with_drifting(position, |drifting| {
        json!({
            "list": name,
            "total": drifting.total(),
            "stayed": drifting.stayed().map(id).collect::<Value>(),
            "came": drifting.came().map(id).collect::<Value>(),
            "went": drifting.went().iter().copied().map(id).collect::<Value>(),
        })
    });
    match body {
        Some(body) => Answer::json(200, &body),
        None => Answer::error(
            400,
            "invalid_request",
            "the lists of this sandbox do not drift",
        ),
    }
}
