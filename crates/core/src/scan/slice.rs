//! The part of a page that the joiner needs: its place, the identities of its records, and the total.

use crate::page::Page;
use crate::record::{IdentityKey, RecordId};

/// The part of a page that the joiner needs.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// The requested offset.
    pub(crate) offset: u64,
    /// The requested limit, if it differs from the limit of the scan.
    pub(crate) limit: Option<u64>,
    /// The limit in the page's request, if limits may be reduced.
    pub(crate) asked: Option<u64>,
    /// The identities of the page's records.
    pub(crate) ids: Vec<RecordId>,
    /// True if more records follow. If the length is unknown, the joiner decides it from the number of records, too.
    pub(crate) has_more: bool,
    /// True if the service reports no total, and does not say that more records follow. If it says that none follow,
    /// it may mean only that this page is complete.
    pub(crate) has_unknown_length: bool,
    /// The number of records in the list, if the service reports it.
    pub(crate) total: Option<u64>,
    /// The time of the request, on one clock for all pages.
    pub(crate) sent: u64,
    /// The time of arrival, on the same clock.
    pub(crate) arrived: u64,
}

impl Slice {
    /// Returns the slice of a page.
    pub(super) fn of(page: &Page, offset: u64, key: &IdentityKey) -> Self {
        let identities = page.records.iter().map(|record| record.identity(key));
        let total = page.pagination.known_total();
        let ids = identities.collect();
        Slice {
            asked: page.asked,
            ..Self::new(offset, ids, page.pagination.has_more, total)
        }
    }

    /// Returns the slice of a page with these records. The service may have reported whether more follow, and the
    /// total.
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
            has_unknown_length: total.is_none() && has_more != Some(true),
            ids,
            total,
            sent: 0,
            arrived: 0,
        }
    }

    /// Returns the offset after the last record.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.ids.len() as u64)
    }

    /// Returns whether the page ends before the total.
    pub(super) fn is_short(&self) -> bool {
        self.total.is_some_and(|total| self.end() < total)
    }

    /// Returns whether the page is empty although the list has records there.
    pub(super) fn is_blank(&self) -> bool {
        self.ids.is_empty() && (self.has_more || self.is_short())
    }
}
