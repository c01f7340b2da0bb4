//! The receipt of a scan: what was done, and whether completeness is proven.

use super::Consistency;
use talentdata_types::Resource;

/// What a scan has done. All counts are of this scan alone.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The list.
    pub resource: Resource,
    /// Records delivered.
    pub records: u64,
    /// Pages that were joined.
    pub pages: u64,
    /// Records that came again and were dropped, beyond the overlap of one per page.
    pub duplicates_dropped: u64,
    /// Seams where the list had moved and the scan stepped back.
    pub seams_repaired: u64,
    /// The service's total on the first page.
    pub total_first: Option<i64>,
    /// The service's total on the last page.
    pub total_last: Option<i64>,
    /// Whether every record that was in the list all the time has been delivered.
    pub completeness: Completeness,
    /// Why completeness is not proven.
    pub doubts: Vec<Doubt>,
}

/// Whether every record that was in the list all the time has been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The scan has not come to its end.
    Unfinished,
    /// All pages join.
    Proven,
    /// The end was reached, but there are doubts.
    NotProven,
    /// The scan was asked not to check.
    NotChecked,
}

/// Why completeness is not proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Pages of a single record cannot overlap.
    NoOverlap,
    /// The service sent an empty page and said that more follow.
    EmptyPage,
    /// So many records were removed or added at once that no page joined any more.
    MovedTooFar,
}

impl Doubt {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoOverlap => "the service sends pages of a single record, which cannot overlap",
            Self::EmptyPage => "the service sent an empty page and said that more follow",
            Self::MovedTooFar => {
                "so many records were removed or added at once that the pages no longer join"
            }
        }
    }
}

impl Receipt {
    pub(super) fn new(resource: Resource, _consistency: Consistency) -> Self {
        Receipt {
            resource,
            records: 0,
            pages: 0,
            duplicates_dropped: 0,
            seams_repaired: 0,
            total_first: None,
            total_last: None,
            completeness: Completeness::Unfinished,
            doubts: Vec::new(),
        }
    }
}
