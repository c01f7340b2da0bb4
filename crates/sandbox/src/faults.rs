//! Misbehaving on demand: rules that change answers, and a log of what was received.
//!
//! Exists only with [`Options::faults`](crate::Options::faults). The README of this crate describes the scripts, the log
//! and the endpoints, none of which counts against the limit.

mod admin;
mod bomb;
mod book;
mod edit;
mod guard;
mod mask;
mod script;
mod send;
mod wire;

pub(crate) use admin::{answer as administer, misbehave};
pub(crate) use book::Book;
pub(crate) use guard::refusal;
pub(crate) use script::Reply;
pub(crate) use send::{end, play};
