//! The part of a page that joins it with others: its place, the identities of its records, and the total.

use crate::page::Page;
use crate::record::{IdentityKey, RecordId};

/// The part of a page that the joiner needs.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// The offset that was asked for.
    pub(crate) offset: u64,
    /// The limit that was asked for with it, if it was not that of the scan.
    pub(crate) limit: Option<u64>,
    /// The identities of its records.
    pub(crate) ids: Vec<RecordId>,
    /// Whether the service says that more records follow.
    pub(crate) has_more: bool,
    /// The number of records in the list, as the service says.
    pub(crate) total: u64,
    /// When it was asked for, on one clock for all pages.
    pub(crate) sent: u64,
    /// When it arrived, on that clock.
    pub(crate) arrived: u64,
}

impl Slice {
    /// Takes the slice from a page.
    pub(super) fn of(page: &Page, offset: u64, key: &IdentityKey) -> Self {
        let identities = page.records.iter().map(|record| record.identity(key));
        Slice {
            offset,
            limit: None,
            ids: identities.collect(),
            has_more: page.pagination.has_more,
            total: u64::try_from(page.pagination.total).unwrap_or(0),
            sent: 0,
            arrived: 0,
        }
    }

    /// Returns the offset behind the last record.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.ids.len() as u64)
    }

    /// Returns whether the page shows nothing although the list has records there.
    pub(super) fn is_blank(&self) -> bool {
        self.ids.is_empty() && (self.has_more || self.offset < self.total)
    }
}
