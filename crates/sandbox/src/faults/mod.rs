//! Misbehaving on demand: rules that change answers, and a log of what was received.
//!
//! Exists only with [`Options::faults`](crate::Options::faults). None of these paths counts against the limit.
//!
//! - `POST /__faults` takes `{"rules": [{"match": {...}, "reply": {...}}]}` in place of the rules before it, and
//!   starts their counts anew. The members of `match` and `reply` are described in the README of this crate.
//! - `DELETE /__faults` forgets the rules and the log.
//! - `GET /__requests` returns `{"dropped": 0, "requests": [...]}`, the latest 100,000 requests, oldest first, each
//!   with `method`, `path`, `query`, `headers`, `body` (text), `at_ms` (since the start of the sandbox, when the
//!   request was counted), `connection` (from 1) and `fault` (position of the rule that was applied, or null).
//! - `GET /__drift?list=NAME` tells how a list has changed; `DELETE /__drift` gives all lists their first state.

mod admin;
mod bomb;
mod book;
mod edit;
mod script;
mod send;
mod wire;

pub(crate) use admin::answer as administer;
pub(crate) use book::Book;
pub(crate) use script::Reply;
pub(crate) use send::{end, play};
