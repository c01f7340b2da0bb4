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
    /// The limit that it came with, where that may be reduced.
    pub(crate) asked: Option<u64>,
    /// The identities of its records.
    pub(crate) ids: Vec<RecordId>,
    /// Whether more records follow. The joiner judges that by the records where the service does not say it.
    pub(crate) has_more: bool,
    /// Whether the service says neither that nor a total.
    pub(crate) is_untold: bool,
    /// The number of records in the list, where the service says it.
    pub(crate) total: Option<u64>,
    /// When it was asked for, on one clock for all pages.
    pub(crate) sent: u64,
    /// When it arrived, on that clock.
    pub(crate) arrived: u64,
}

impl Slice {
    /// Takes the slice from a page.
    pub(super) fn of(page: &Page, offset: u64, key: &IdentityKey) -> Self {
        let identities = page.records.iter().map(|record| record.identity(key));
        let total = page.pagination.known_total();
        let ids = identities.collect();
        Slice {
            asked: page.asked,
            ..Self::new(offset, ids, page.pagination.has_more, total)
        }
    }

    /// Makes the slice of these records, of which the service may say whether more follow, and how many there are in all.
    pub(super) fn new(
        offset: u64,
        ids: Vec<RecordId>,
        has_more: Option<bool>,
        total: Option<u64>,
    ) -> Self {
        let end = offset.saturating_add(ids.len() as u64);
        let is_short = total.map(|total| end < total);
        Slice {
            offset,
            limit: None,
            asked: None,
            has_more: has_more.or(is_short).unwrap_or(!ids.is_empty()),
            is_untold: has_more.or(is_short).is_none(),
            ids,
            total,
            sent: 0,
            arrived: 0,
        }
    }

    /// Returns the offset behind the last record.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.ids.len() as u64)
    }

    /// Returns whether the page ends before the total.
    pub(super) fn is_short(&self) -> bool {
        self.total.is_some_and(|total| self.end() < total)
    }

    /// Returns whether the page shows nothing although the list has records there.
    pub(super) fn is_blank(&self) -> bool {
        self.ids.is_empty() && (self.has_more || self.is_short())
    }
}
