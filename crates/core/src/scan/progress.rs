//! Stops a scan that gets nowhere: a service that ignores the offset, or a list without an end.

use super::join::Slice;
use crate::error::{Error, ErrorKind, Result};
use crate::record::Identity;

/// So many identical pages in a row at different offsets show that the service ignores the offset. A list
/// that grows in front of the cursor can show the same page twice or three times.
const MOST_IDENTICAL: u32 = 6;
/// Pages without progress that are granted on top of two walks through the list.
const MOST_IDLE_PAGES: u64 = 66;

/// How a scan gets on. What counts is the place reached in the list, not records that look new.
#[derive(Default)]
pub(super) struct Progress {
    /// Pages since the last progress.
    stalled: u64,
    farthest: u64,
    /// Records that had been appended to the frontier.
    appended: u64,
    /// The fewest records that have been left behind the cursor.
    fewest_left: Option<u64>,
    identical: u32,
    previous: Vec<Identity>,
    previous_offset: u64,
}

impl Progress {
    /// Notes a page that is shown while the cursor stands here and so many records are appended; a walk
    /// takes a page per `stride` records.
    ///
    /// # Errors
    /// `Paging` when there has been no progress for too long.
    pub(super) fn note(
        &mut self,
        page: &Slice,
        cursor: u64,
        appended: u64,
        stride: u64,
    ) -> Result<()> {
        let left = page.total.saturating_sub(cursor);
        let farther = cursor > self.farthest || self.fewest_left.is_none_or(|fewest| left < fewest);
        if farther && appended > self.appended {
            self.appended = appended;
            self.stalled = 0;
        }
        self.stalled += 1;
        self.farthest = self.farthest.max(cursor);
        self.fewest_left = Some(self.fewest_left.map_or(left, |fewest| fewest.min(left)));
        let same = !page.ids.is_empty()
            && page.offset != self.previous_offset
            && page.ids == self.previous;
        self.identical = if same { self.identical + 1 } else { 0 };
        self.previous.clone_from(&page.ids);
        self.previous_offset = page.offset;
        let most = (self.farthest / stride)
            .saturating_mul(2)
            .saturating_add(MOST_IDLE_PAGES);
        let message = if self.identical >= MOST_IDENTICAL {
            "the service sends the same page whatever the offset".to_owned()
        } else if self.stalled > most {
            format!(
                "no progress in the last {} pages: the list has no stable order, or no end",
                self.stalled
            )
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Paging, message).with_offset(page.offset))
    }
}
