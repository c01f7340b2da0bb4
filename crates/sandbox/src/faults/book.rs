//! The rules in force, how often each was met, and the log of requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::script::{Condition, How, Script};
use super::{Reply, mask};
use crate::request::Received;

/// Long tests must not fill the memory.
const MOST_LOGGED: usize = 100_000;

/// What the fault endpoints read and write.
#[derive(Debug, Default)]
pub(crate) struct Book {
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
    /// Counts one more that matches, and tells whether it is one that the rule is for.
    fn meet(&mut self) -> bool {
        self.met += 1;
        let Condition { nth, from, .. } = self.condition;
        nth.is_none_or(|nth| self.met == nth) && from.is_none_or(|from| self.met >= from)
    }
}

impl Book {
    pub(super) fn open(&mut self, script: Script) {
        let rules = script.rules.into_iter().map(|rule| Counted {
            condition: rule.condition,
            reply: Arc::new(rule.reply),
            met: 0,
        });
        self.rules = rules.collect();
    }

    pub(super) fn log(&self) -> Value {
        json!({"dropped": self.dropped, "requests": self.log})
    }

    /// What is to be done to a connection that was just accepted.
    pub(crate) fn accepted(&mut self) -> Option<How> {
        let rules = self.rules.iter_mut().filter(|rule| rule.condition.accept);
        // Each rule has to count, also when one before it has been found.
        let found = rules.filter_map(|rule| rule.meet().then_some(&rule.reply));
        let found = found.collect::<Vec<_>>();
        found.first().map(|reply| reply.how.unwrap_or_default())
    }

    /// Logs a request, and tells what is to be done to its response: the first rule that is for it decides.
    pub(crate) fn received(&mut self, request: &Received, at: Duration) -> Option<Arc<Reply>> {
        let mut found = None;
        for (position, rule) in self.rules.iter_mut().enumerate() {
            let Condition {
                method,
                path,
                accept,
                ..
            } = &rule.condition;
            let method = method
                .as_ref()
                .is_none_or(|method| request.method == **method);
            let path = path.as_ref().is_none_or(|path| *path == request.path);
            if method && path && !accept && rule.meet() && found.is_none() {
                found = Some((position, Arc::clone(&rule.reply)));
            }
        }
        if self.log.len() == MOST_LOGGED {
            self.log.pop_front();
            self.dropped += 1;
        }
        let position = found.as_ref().map(|(position, _)| *position);
        self.log.push_back(entry(request, at, position));
        found.map(|(_, reply)| reply)
    }
}

fn entry(request: &Received, at: Duration, fault: Option<usize>) -> Value {
    let mut headers = Map::new();
    for (name, value) in &request.headers {
        let value = mask::header(name, &String::from_utf8_lossy(value.as_bytes()));
        match headers.get_mut(name.as_str()) {
            Some(Value::String(before)) => *before = format!("{before}, {value}"),
            _ => {
                headers.insert(name.as_str().to_owned(), value.into());
            }
        }
    }
    json!({
        "method": request.method.as_str(),
        "path": request.path,
        "query": mask::query(&request.query),
        "headers": headers,
        "body": mask::body(request),
        "at_ms": at.as_millis() as u64,
        "connection": request.connection,
        "fault": fault,
    })
}
