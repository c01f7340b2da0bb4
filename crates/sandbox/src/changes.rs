//! What has really happened to a list, with the time of each change.

use std::time::Duration;

use serde_json::Value;

use crate::records::Records;
use crate::samples::moment_text;

/// What happened to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It came.
    Insert,
    /// Its members changed, but not its `id`.
    Update,
    /// It went.
    Delete,
}

impl Operation {
    /// `insert`, `update` or `delete`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A change that has happened, as whoever tests a client is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// When: since 1970, by the clock of this machine.
    pub at: Duration,
    /// What.
    pub operation: Operation,
    /// The `id` of the record; where it has none, an object of its members.
    pub key: Value,
    /// The record after the change; one that was deleted, before it.
    pub record: Value,
}

impl Logged {
    /// The time as a date-time of RFC 3339 in UTC, with microseconds.
    #[must_use]
    pub fn time(&self) -> String {
        moment_text(self.at)
    }

    /// The change as JSON: `at`, `op`, `key` and `record`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "at": self.time(),
            "op": self.operation.name(),
            "key": self.key,
            "record": self.record,
        })
    }
}

/// A change as a list remembers it: the record itself is computed when somebody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) operation: Operation,
    pub(crate) number: u64,
    pub(crate) version: u32,
}

impl Entry {
    pub(crate) fn logged(&self, records: &Records) -> Logged {
        Logged {
            at: self.at,
            operation: self.operation,
            key: records.identity(self.number),
            record: records.value(self.number, self.version, 0),
        }
    }
}
