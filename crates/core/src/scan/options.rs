//! What a scan is asked to do.

use super::{Position, Receipt};
use crate::arguments::Arguments;
use crate::arrow::TableOptions;
use serde::{Deserialize, Serialize};
use talentdata_types::Resource;

/// How a scan deals with a list that changes while it is read (section 8, pagination limits, 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// Pages overlap, and the scan steps back where they do not join: every record present throughout
    /// the scan is delivered exactly once, given a stable order. [`Receipt`](super::Receipt) says whether that is proven.
    #[default]
    Complete,
    /// Pages follow each other without overlap; nothing is checked.
    Fast,
    /// The list as it was at one instant: it is read completely, at least twice and at most five times, until
    /// two passes in a row read the same records with the same contents; only then are they delivered.
    ///
    /// Until then the records are in a temporary file. Such a scan cannot be resumed.
    Snapshot,
}

/// What a scan is asked to do.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// How it deals with a changing list.
    pub consistency: Consistency,
    /// Records per page to ask for; the list's maximum by default.
    pub page_size: Option<u64>,
    /// Where to go on; from the beginning by default.
    pub resume: Option<Position>,
    /// How many records to deliver at most; the scan ends behind so many, and its receipt says that it is
    /// unfinished.
    pub limit: Option<u64>,
    /// Values of the list's parameters, such as filters; they are sent with every page.
    pub arguments: Arguments,
    /// How records become columns.
    pub table: TableOptions,
}

impl ScanOptions {
    /// The receipt of a scan that has done nothing yet.
    pub(crate) fn receipt(&self, resource: Resource) -> Receipt {
        Receipt {
            resource: resource.name().to_owned(),
            parameters: self.arguments.recorded(resource.shape().operation),
            ..Receipt::default()
        }
    }
}
