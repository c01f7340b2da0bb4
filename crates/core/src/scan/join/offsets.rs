//! Finds out which offsets a service honours, and reads lists of services that do not honour every offset.
//!
//! The API description counts in pages: page = offset / limit. A service that is built like that can only send whole
//! pages. For 100 records at offset 99, it sends the page at offset 0 or 100, or refuses the request. Pages of one size
//! then cannot overlap, but pages of different sizes can: 0 to 99 is a page of 100 records, 99 to 197 one of 99, 196 to
//! 293 one of 98.
//!
//! Some services send pages of one size, regardless of the requested limit. Their lists are read page by page without
//! overlap, and then a second time. If every delivered record is still there, all of them were in the list between the
//! two readings. If the list also had exactly this many records then, they were the whole list.

use super::{Delivery, Joiner, MAX_EMPTY_PAGES, MAX_PAGES_WITHOUT_PROGRESS, Phase, Verdict};
use crate::record::RecordId;
use crate::scan::position::{DeliveredId, Offsets};
use crate::scan::receipt::Doubt;
use crate::scan::slice::Slice;

/// A page to request. Without a limit, the page size of the scan applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
}

/// The state of the test for the offsets that a service honours.
#[derive(Default)]
pub(super) struct OffsetTest {
    /// True if pages confirmed `Offsets::OfLimit`.
    is_confirmed: bool,
    /// The first record and the total on the page at offset 0.
    beginning: Option<(RecordId, Option<u64>)>,
    /// The number of records on that page.
    records: u64,
    /// The offset of the frontier on that page, if it is there.
    frontier_at: Option<u64>,
    /// True if the frontier was missing from a page, and the page at offset 0 is read again to see whether the frontier
    /// moved.
    is_suspected: bool,
    suspicions: u32,
}

/// The state of the second reading of a list whose pages do not overlap.
#[derive(Default)]
pub(super) struct Rereading {
    pub(super) offset: u64,
    /// The number of records found again. `place` is the place of the last of them.
    found: u64,
    place: u64,
}

/// Limits the repeated reads of the page at offset 0, which show whether another page was misplaced.
const MAX_SUSPICIONS: u32 = 4;

/// Returns the page that holds the record at this offset and ends farthest along the list. The page begins at a
/// multiple of its limit, which is at most `most`.
fn whole_page(offset: u64, most: u64) -> Wanted {
    let begin = |limit: &u64| offset - offset % limit;
    let limits = 1..=most.max(1);
    let limit = limits.max_by_key(|limit| begin(limit).saturating_add(*limit));
    Wanted {
        offset: limit.as_ref().map_or(offset, begin),
        limit,
    }
}

impl Wanted {
    /// Returns whether the page, which holds the record at this offset, also holds the next record.
    fn passes(self, offset: u64) -> bool {
        self.offset.saturating_add(self.limit.unwrap_or(0)) > offset.saturating_add(1)
    }
}

impl Joiner {
    /// Returns the page to request in order to see the record at this offset.
    pub(crate) fn page_at(&self, offset: u64) -> Wanted {
        match self.offsets {
            Offsets::Unknown | Offsets::Every => Wanted {
                offset,
                limit: None,
            },
            Offsets::OfLimit => whole_page(offset, self.granted),
            Offsets::OfPage(size) => Wanted {
                offset: offset - offset % size.max(1),
                limit: Some(size),
            },
        }
    }

    /// Lowers the expected number of records in a page to `size`, and returns that number; it may be lower already.
    pub(crate) fn reduce(&mut self, size: u64) -> u64 {
        self.granted = self.granted.min(size);
        self.granted
    }

    /// Returns the number of records that a page is expected to have.
    pub(crate) fn granted(&self) -> u64 {
        self.granted
    }

    /// Returns the offset of the page that follows this one.
    pub(crate) fn behind(&self, page: Wanted) -> u64 {
        let records = page.limit.unwrap_or(self.granted);
        let stride = records.saturating_sub(self.overlap()).max(1);
        page.offset.saturating_add(stride)
    }

    /// Returns the offsets that a later run of the scan may rely on.
    pub(crate) fn known_offsets(&self) -> Offsets {
        match self.offsets {
            Offsets::OfLimit if !self.offset_test.is_confirmed => Offsets::Unknown,
            known => known,
        }
    }

    pub(super) fn resume_offsets(&mut self, offsets: Offsets) {
        self.offsets = offsets;
        self.offset_test.is_confirmed = offsets == Offsets::OfLimit;
    }

    /// Reacts to the refusal of a page, which may be due to its offset or limit. Returns the offset at which to
    /// continue; `None` if the offset cannot be the reason.
    pub(crate) fn refused(&mut self) -> Option<u64> {
        let may_be_misplaced = self.phase == Phase::Reading && self.is_untested();
        may_be_misplaced.then(|| self.distrust_offsets())
    }

    /// Restores the offsets that were assumed before a refusal.
    pub(crate) fn restore_offsets(&mut self, offsets: Offsets) {
        self.offsets = offsets;
    }

    fn is_untested(&self) -> bool {
        match self.offsets {
            Offsets::Unknown => true,
            Offsets::OfLimit => !self.offset_test.is_confirmed,
            Offsets::Every | Offsets::OfPage(_) => false,
        }
    }

    /// Checks that a page which should hold the frontier begins at the requested offset.
    pub(super) fn test_offset(&mut self, page: &Slice) -> Option<Verdict> {
        let (edge, frontier) = (self.reading_offset()?, self.frontier?);
        if !self.is_untested() || page.ids.is_empty() {
            return None;
        }
        let index = page.ids.iter().position(|id| *id == frontier);
        let at = index.map(|index| page.offset.saturating_add(index as u64));
        let test = &mut self.offset_test;
        let expected = test.frontier_at.unwrap_or(edge);
        if page.offset == 0 {
            let is_suspected = std::mem::take(&mut test.is_suspected);
            // The frontier did not move, so the page without it did not begin at the requested offset.
            let is_as_before = at.is_some() && at == test.frontier_at;
            let has_total = test.beginning.is_some_and(|(_, total)| total == page.total);
            let is_misplaced = is_suspected && is_as_before && has_total;
            return is_misplaced.then(|| Verdict::Jump(self.distrust_offsets()));
        }
        if page.offset > expected || page.offset.is_multiple_of(self.granted.max(1)) {
            return None;
        }
        if at == Some(expected) {
            match self.offsets {
                Offsets::Unknown => self.offsets = Offsets::Every,
                _ => test.is_confirmed = true,
            }
            return None;
        }
        // Only the second page can show that it is misplaced. A later page may have nothing new because the scan
        // stepped back. The second page may have nothing new if the first page became shorter and the frontier is now
        // after it.
        let is_behind = test.frontier_at.is_none() && edge < test.records;
        if edge >= self.granted || is_behind {
            return None;
        }
        let (first, total) = test.beginning?;
        let known = self.known(page);
        let is_beginning = page.ids.contains(&first)
            || (page.has_more && !known.is_empty() && !self.brings_new(page, &known));
        // If the total changed by much, the first records may really be at this offset now.
        let change = page.total.zip(total);
        let change = change.map(|(now, before)| now.abs_diff(before));
        if is_beginning && change.is_some_and(|change| change <= page.offset / 4) {
            return Some(Verdict::Jump(self.distrust_offsets()));
        }
        let test = &mut self.offset_test;
        let may_be_misplaced = change.map_or(is_beginning, |change| change == 0);
        if may_be_misplaced && test.frontier_at.is_some() && test.suspicions < MAX_SUSPICIONS {
            (test.is_suspected, test.suspicions) = (true, test.suspicions + 1);
            return Some(Verdict::Jump(0));
        }
        None
    }

    /// Records what the page at offset 0 shows after it was joined.
    pub(super) fn note_beginning(&mut self, page: &Slice, frontier: Option<RecordId>) {
        let at = page.ids.iter().position(|id| Some(*id) == frontier);
        self.offset_test.frontier_at = at.map(|index| index as u64);
        self.offset_test.records = page.ids.len() as u64;
        self.offset_test.beginning = page.ids.first().map(|first| (*first, page.total));
    }

    /// Records that the frontier is on a later page.
    pub(super) fn leave_beginning(&mut self) {
        self.offset_test.frontier_at = None;
    }

    /// Assumes that the service honours fewer offsets than before. Returns the offset at which to continue.
    fn distrust_offsets(&mut self) -> u64 {
        self.offsets = match self.offsets {
            Offsets::Unknown => Offsets::OfLimit,
            _ => Offsets::OfPage(self.granted),
        };
        self.keep_passing();
        self.next_offset()
    }

    /// Stops overlapping pages if no page can hold both the last record and the next one.
    pub(super) fn keep_passing(&mut self) {
        if self.offsets == Offsets::OfLimit
            && let Some(edge) = self.reading_offset()
            && !self.page_at(edge).passes(edge)
        {
            self.offsets = Offsets::OfPage(self.granted);
        }
    }

    /// Joins a page of a list whose pages do not overlap.
    pub(super) fn read_without_overlap(&mut self, page: &Slice) -> Verdict {
        let expected = self.page_at(self.next_offset()).offset;
        if page.offset != expected {
            return Verdict::Jump(expected);
        }
        let is_short = !page.has_more && page.is_short();
        // Without a total, nothing else says that the list ends before an empty page.
        let is_nothing = page.total.is_none() && page.ids.is_empty();
        if (is_short || page.is_blank() || is_nothing) && self.empty_pages < MAX_EMPTY_PAGES {
            self.empty_pages += 1;
            return Verdict::Retry(page.offset);
        }
        self.empty_pages = 0;
        if self.phase == Phase::Rereading {
            return self.reread(page);
        }
        let next = self.reading_offset().map_or(0, |edge| edge + 1);
        let mut delivery = Delivery::default();
        for (index, id) in page.ids.iter().enumerate() {
            if self.order.find(*id).is_none() {
                let behind = self.order.last;
                delivery.fresh.push((index, DeliveredId::new(*id, behind)));
                self.order.insert(*id, behind);
                self.frontier = Some(*id);
            }
        }
        let known = (page.ids.len() - delivery.fresh.len()) as u64;
        let repeats = known.saturating_sub(next.saturating_sub(page.offset));
        self.duplicates += repeats;
        self.evidence.delivered += delivery.fresh.len() as u64;
        if !page.ids.is_empty() {
            self.last_offset = Some(page.end() - 1);
        }
        if repeats > 0 || self.evidence.total_changed {
            self.evidence.doubt(Doubt::WholePages);
        }
        self.pages_without_progress = if delivery.fresh.is_empty() {
            self.pages_without_progress + 1
        } else {
            0
        };
        let doubt = match (page.has_more, page.ids.is_empty()) {
            (true, true) => Some(Doubt::EmptyPage),
            (true, false) if self.pages_without_progress > MAX_PAGES_WITHOUT_PROGRESS => {
                Some(Doubt::MovedTooFar)
            }
            (true, false) => return Verdict::Deliver(delivery),
            (false, _) => is_short.then_some(Doubt::ShortOfTotal),
        };
        if let Some(doubt) = doubt {
            self.evidence.doubt(doubt);
        }
        if !self.evidence.doubts.is_empty() {
            return self.conclude(delivery);
        }
        self.phase = Phase::Rereading;
        self.rereading = Rereading::default();
        delivery.drops_read_ahead = true;
        Verdict::Deliver(delivery)
    }

    /// Checks that the delivered records are still in the list.
    fn reread(&mut self, page: &Slice) -> Verdict {
        for id in &page.ids {
            let place = self.order.find(*id).map(|number| self.order.place(number));
            if place.is_none() && page.total.is_none() {
                // Without a total, the first reading may have ended too early.
                self.evidence.doubt(Doubt::WholePages);
            }
            if let Some(place) = place.filter(|place| *place > self.rereading.place) {
                self.rereading.found += 1;
                self.rereading.place = place;
            }
        }
        self.rereading.offset = page.end();
        let is_over = !page.has_more || page.ids.is_empty();
        let found_all = self.rereading.found == self.order.len() as u64;
        if self.evidence.total_changed || (is_over && !found_all) {
            self.evidence.doubt(Doubt::WholePages);
        } else if !is_over {
            return Verdict::Deliver(Delivery::default());
        }
        self.conclude(Delivery::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_of_different_sizes_overlap() {
        let mut page = whole_page(0, 100);
        let mut pages = vec![page];
        while pages.len() < 1_000 {
            let limit = page.limit.unwrap();
            let last = page.offset + limit - 1;
            page = whole_page(last, 100);
            let end = page.offset + page.limit.unwrap();
            assert!(page.offset.is_multiple_of(page.limit.unwrap()));
            assert!(page.offset <= last && last + 1 < end, "{page:?}");
            pages.push(page);
        }
        let offsets: Vec<u64> = pages.iter().map(|page| page.offset).collect();
        assert_eq!(offsets[..6], [0, 99, 196, 291, 384, 475]);
        // About an eighth more pages than without overlap.
        assert!(offsets[999] > 87_000, "{}", offsets[999]);
    }

    #[test]
    fn some_pages_of_few_records_cannot_pass_the_last_record() {
        for (last, most, passes) in [(0, 1, false), (1, 2, false), (2, 3, true), (11, 4, false)] {
            assert_eq!(whole_page(last, most).passes(last), passes, "{last} {most}");
        }
    }
}
