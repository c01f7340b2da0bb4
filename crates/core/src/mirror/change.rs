//! What a sync has found about a record.

use crate::record::RawRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of a record between two syncs.
///
/// Whoever keeps a copy writes the record for `insert`, `update` and `return`, removes it for `delete`,
/// and does nothing for `missing`. Doing so twice does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// No sync since its last delete has seen it.
    Insert,
    /// It says something else than before.
    Update,
    /// It was gone at some instant of the scan: that is proven.
    Delete,
    /// It was not delivered, and that it is gone is not proven. It stays in the mirror.
    Missing,
    /// It was missing, and is there again as it was.
    Return,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 5] = [
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Missing,
        Self::Return,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Missing => "missing",
            Self::Return => "return",
        }
    }

    /// The operation of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// One change of one record.
#[derive(Clone, Debug)]
pub struct Change {
    /// The sync that found it.
    pub generation: u64,
    /// What became of the record.
    pub operation: Operation,
    /// The record's `id` as text; of a record without one, 32 hexadecimal digits that stand for its contents.
    pub key: String,
    /// When the last scan began that delivered the record before, in microseconds since 1970; none for an insert.
    pub last_seen: Option<i64>,
    /// When the scan ended that found the change, in microseconds since 1970.
    pub seen: i64,
    /// The record: the new one, for `delete` and `missing` the last that is known.
    pub record: RawRecord,
}

/// How many changes of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCounts {
    /// Inserts.
    pub insert: u64,
    /// Updates.
    pub update: u64,
    /// Deletes.
    pub delete: u64,
    /// Records that are newly missing.
    pub missing: u64,
    /// Records that were missing and are there again, unchanged.
    #[serde(rename = "return")]
    pub returned: u64,
}

impl ChangeCounts {
    pub(super) fn add(&mut self, operation: Operation) {
        *match operation {
            Operation::Insert => &mut self.insert,
            Operation::Update => &mut self.update,
            Operation::Delete => &mut self.delete,
            Operation::Missing => &mut self.missing,
            Operation::Return => &mut self.returned,
        } += 1;
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.insert + self.update + self.delete + self.missing + self.returned
    }
}
