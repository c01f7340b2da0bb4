//! Joins the pages of a list that may change while it is read. Pure: no I/O, no clock.
//!
//! A page is a contiguous piece of the list at one point in time. If it shows records that were already delivered, the
//! records after the last of these are next. Nothing is missing between the two: a record that was in the list during
//! the whole scan would be on the page as well. An unknown record before that last one was inserted during the scan.
//! This holds for every page, regardless of when it was read, if the list keeps its order and records keep their
//! identities.
//!
//! | Phase       | Page that is read           | Next phase                                                     |
//! |-------------|-----------------------------|----------------------------------------------------------------|
//! | `Resuming`  | the first page              | `Reading`                                                      |
//! | `Reading`   | the page after the last one | `Closing`, once the end was read twice without new records     |
//! | `Closing`   | the first page              | `Reading` if the page has new records; otherwise the scan ends |
//! | `Rereading` | every page, a second time   | the scan ends                                                  |
//!
//! `Rereading` follows `Reading` instead of `Closing` if pages cannot overlap.

mod offsets;

pub(super) use offsets::Wanted;

use super::evidence::Evidence;
use super::order::Order;
use super::position::{DeliveredId, Offsets, Resume};
use super::receipt::Doubt;
use super::slice::Slice;
use crate::record::RecordId;
use offsets::{OffsetTest, Rereading};
use std::collections::{HashMap, HashSet};

/// The number of times that the end of a list must be read.
const READS_OF_END: u32 = 2;
/// Limits the reads of the end of a list to which records are added faster than they can be read. Records that are
/// inserted during the scan need not be delivered.
const MAX_READS_OF_END: u32 = 8;
/// Limits the reads of the end over the whole scan if responses have no total.
const MAX_READS_WITHOUT_TOTAL: u32 = 32;
/// Limits the repeated requests for an empty page before the scan accepts it.
const MAX_EMPTY_PAGES: u32 = 4;
/// Limits the pages in a row that have no new records and do not advance in the list.
const MAX_PAGES_WITHOUT_PROGRESS: u32 = 12;
/// Limits the pages without new records that are no farther along the list than the pages before them.
const MAX_IDLE: u64 = 60;
/// Limits the restarts of a list because all its records were replaced.
const MAX_RESTARTS: u32 = 2;
/// Limits the records that are remembered because a page did not show them.
const MAX_MISSED: usize = 4096;
/// The number of known records that a page needs to join without doubt if the frontier is not among them.
const MIN_KNOWN: u64 = 8;
/// Limits the requests in a row for an earlier page that shows more known records.
const MAX_WIDENED: u32 = 3;
/// Limits the records that are examined between two neighbours on a page.
const MAX_BETWEEN: usize = 200;

/// The decision about a page.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Deliver the new records of the page.
    Deliver(Delivery),
    /// Keep the page until the page at this offset is joined.
    NeedsEarlier(u64),
    /// Drop the page, and read the page at this offset.
    Retry(u64),
    /// Drop the page and all pages that were read ahead, and read the page at this offset.
    Jump(u64),
}

/// The new records of a page, and the next step of the scan.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// The index of each record to deliver, with the record's place in the order.
    pub(crate) fresh: Vec<(usize, DeliveredId)>,
    /// The indices of records that were inserted in the part that was already read, and are not delivered.
    pub(crate) inserted_behind_us: Vec<usize>,
    /// True if pages that were read ahead must be dropped.
    pub(crate) drops_read_ahead: bool,
    /// True if the list ends with this page.
    pub(crate) is_end: bool,
}

/// The part of the list that the scan is reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// The scan reads the beginning again after an interruption.
    Resuming,
    /// The scan reads the list from its beginning to its end.
    #[default]
    Reading,
    /// The scan reached the end and reads the beginning once more.
    Closing,
    /// The scan reached the end and reads all pages once more, because they do not overlap.
    Rereading,
}

/// The state of the join.
#[derive(Default)]
pub(crate) struct Joiner {
    pub(crate) evidence: Evidence,
    order: Order,
    phase: Phase,
    offsets: Offsets,
    offset_test: OffsetTest,
    rereading: Rereading,
    /// The offset of the last record of the page that was joined last.
    pub(super) last_offset: Option<u64>,
    /// The arrival time of the page that delivered the frontier.
    joined_at: u64,
    /// The arrival time of the last page whose records were placed between others.
    inserted_at: u64,
    /// The frontier: the record that was delivered last.
    frontier: Option<RecordId>,
    /// The number of records, beyond one, that a page shares with the page before it.
    extra_overlap: u64,
    /// The number of records that the service grants in a page.
    granted: u64,
    /// The reason why pages cannot be joined, and are delivered unjoined; `None` if they can be joined.
    cannot_join: Option<Doubt>,
    /// The distance of the last step back from a page without known records.
    back: u64,
    /// True if the scan steps forward from the beginning of the list instead of back.
    is_forward: bool,
    /// The number of restarts because all records were replaced.
    restarts: u32,
    /// True if the page at offset 0 is the first page of a list that replaced the one read so far.
    is_restarting: bool,
    /// The number of requests in a row for an earlier page with more known records.
    widened: u32,
    /// The value of `last_offset` when a page last had to wait for an earlier page.
    waited_at: Option<u64>,
    /// True if the service reports no total, and does not say that more records follow.
    has_unknown_length: bool,
    unknown_end: UnknownEnd,
    /// The number of reads of the end since the last new record.
    ends: u32,
    /// The number of reads of the end and of the beginning after it.
    visits: u32,
    /// The number of empty pages in a row that should have had records.
    empty_pages: u32,
    /// The number of pages in a row that had no new records and did not advance in the list.
    pages_without_progress: u32,
    /// The number of pages without new records that were no farther along the list.
    idle: u64,
    /// The number of requested pages, including those that were read ahead and not used.
    pub(super) requests: u64,
    /// The offset of the page farthest along the list since the last new record.
    farthest: u64,
    /// The place, in the order, of the last known record on the previous page.
    reached: u64,
    /// The records that a page should have shown, each with the arrival time of that page.
    missed: HashMap<u32, u64>,
    /// The number of records, beyond the overlap, that were received again.
    pub(crate) duplicates: u64,
    /// The number of seams that had to be repaired.
    pub(crate) repairs: u64,
}

/// The end of a list of unknown length: a page that is shorter than others or after which the service says that none
/// follow, and an empty page after its last record.
///
/// If such a page does not mean the end, records at the front may have been deleted between the two requests. Records
/// after the last one are then before the empty page, and the last record itself moved towards the beginning.
#[derive(Default)]
struct UnknownEnd {
    /// True if records followed such a page.
    is_doubtful: bool,
    /// The offset of the last record when the page after it was empty.
    last_offset: Option<u64>,
    /// The number of empty pages in a row without a move of that record towards the beginning.
    times: u32,
}

impl UnknownEnd {
    /// Records that no record follows the last one, which is at this offset. Returns whether this was seen often
    /// enough.
    fn is_enough(&mut self, last_offset: Option<u64>) -> bool {
        let has_moved = last_offset < self.last_offset;
        self.times = if has_moved { 1 } else { self.times + 1 };
        self.last_offset = last_offset;
        self.times > if self.is_doubtful { MAX_EMPTY_PAGES } else { 1 }
    }
}

impl Joiner {
    /// Continues where an earlier run ended, in pages of `page_size` records.
    pub(crate) fn resume(&mut self, resume: &Resume, page_size: u64) {
        self.evidence.clone_from(&resume.state.evidence);
        self.last_offset = resume.state.last_offset;
        for entry in resume.entries() {
            if !entry.repeats() {
                self.order.insert(entry.id, entry.behind());
                self.frontier = Some(entry.id);
            }
        }
        self.granted = page_size;
        self.resume_offsets(resume.state.offsets);
        if self.order.len() > 0 && !self.reads_without_overlap() {
            self.phase = Phase::Resuming;
        }
    }

    /// Returns the offset of the next page, after all joined pages.
    pub(crate) fn next_offset(&self) -> u64 {
        match (self.phase, self.last_offset) {
            (Phase::Reading, Some(last)) => (last + 1).saturating_sub(self.overlap()),
            (Phase::Rereading, _) => self.rereading.offset,
            _ => 0,
        }
    }

    /// Returns `last_offset` while the list is read from its beginning to its end.
    fn reading_offset(&self) -> Option<u64> {
        self.last_offset.filter(|_| self.phase == Phase::Reading)
    }

    /// Returns whether pages cannot overlap, because all pages of the service have one size.
    fn reads_without_overlap(&self) -> bool {
        matches!(self.offsets, Offsets::OfPage(_))
    }

    /// Returns the distance between the offsets of two pages.
    fn stride(&self) -> u64 {
        self.granted.saturating_sub(self.overlap()).max(1)
    }

    /// Returns whether a page at this offset can have new records in a list of `total` records.
    pub(crate) fn may_bring(&self, offset: u64, total: u64) -> bool {
        let is_before_end = self.phase == Phase::Reading && self.ends == 0;
        let is_straight = self.back == 0 && !self.is_forward && self.last_offset.is_some();
        let continues = is_before_end && is_straight || self.phase == Phase::Rereading;
        continues && offset.saturating_add(self.overlap()) < total
    }

    /// Returns whether the end was read once and the total did not change so far. All records were received by then, so
    /// the beginning and the end can be read again at the same time.
    pub(crate) fn is_at_end(&self) -> bool {
        self.phase == Phase::Reading && self.ends == 1 && !self.evidence.total_changed
    }

    /// Returns whether the end was reached, so that pages are only read a second time.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing | Phase::Rereading)
    }

    pub(crate) fn overlap(&self) -> u64 {
        match self.cannot_join {
            Some(_) => 0,
            None if self.reads_without_overlap() || self.looks_behind() => 0,
            None => 1 + self.extra_overlap.min(self.max_extra_overlap()),
        }
    }

    /// Returns the largest overlap, beyond one.
    fn max_extra_overlap(&self) -> u64 {
        (self.granted / 2).saturating_sub(1)
    }

    /// Returns whether the next page must begin after the end of the list. If the service does not report the length of
    /// the list, only an empty page confirms the end that was read once.
    pub(crate) fn looks_behind(&self) -> bool {
        self.has_unknown_length && self.phase == Phase::Reading && self.ends == 1
    }

    /// Returns whether the next page of a list of unknown length is expected after its end.
    pub(crate) fn expects_end(&self) -> bool {
        self.looks_behind() || self.has_unknown_length && self.cannot_join.is_some()
    }

    /// Decides what to do with a page. `was_held` is true if the page waited for an earlier page.
    pub(crate) fn judge(&mut self, page: &mut Slice, was_held: bool) -> Verdict {
        let records = page.ids.len() as u64;
        if page.has_unknown_length {
            // The last page may be short, or have `hasMore`: false. Once records followed such a page, only a short one
            // counts.
            let sizes = [page.limit, page.asked].into_iter().flatten();
            let full = sizes.fold(self.granted, u64::min).max(1);
            page.has_more = records >= full && (page.has_more || self.unknown_end.is_doubtful);
        }
        self.has_unknown_length = page.has_unknown_length;
        if page.has_more && records > 0 {
            self.granted = match page.limit {
                None => records,
                Some(limit) if records < limit => records.max(self.granted / 2),
                Some(_) => self.granted,
            };
        }
        self.granted = self.granted.max(records);
        if page.offset > self.farthest {
            self.farthest = page.offset;
        } else {
            self.idle += 1;
        }
        self.check_identities(page);
        if self.cannot_join.is_some() {
            return self.read_unjoined(page);
        }
        if self.phase == Phase::Reading
            && let Some(verdict) = self.test_offset(page)
        {
            return verdict;
        }
        self.evidence.compare_total(page);
        if self.reads_without_overlap() {
            return self.read_without_overlap(page);
        }
        let known = self.known(page);
        let is_ordered = known.is_sorted_by_key(|(_, number)| self.order.place(*number));
        if page.sent < self.inserted_at && !is_ordered {
            // Since this page was requested, new records were placed before records that had been deleted. This page
            // still shows the deleted ones, so its order differs.
            return Verdict::Retry(self.next_offset());
        }
        self.compare(page, &known);
        match self.phase {
            Phase::Resuming | Phase::Closing => return self.look_at_beginning(page, &known),
            Phase::Reading | Phase::Rereading => {}
        }
        if self.last_offset.is_none() && page.offset > 0 {
            // A scan must begin with the page at offset 0.
            return Verdict::Jump(0);
        }
        let is_blank = page.is_blank();
        // Without a total, only an empty page says that the list is empty.
        let may_be_empty = page.total.is_none() && page.ids.is_empty() && page.offset == 0;
        if is_blank || may_be_empty {
            self.empty_pages += 1;
            if self.empty_pages <= MAX_EMPTY_PAGES {
                return Verdict::Retry(page.offset);
            }
            if is_blank && (page.has_more || self.last_offset.is_none()) {
                self.evidence.doubt(if page.has_more {
                    Doubt::EmptyPage
                } else {
                    Doubt::ShortOfTotal
                });
                return self.conclude(Delivery::default());
            }
        }
        if known.is_empty() && self.order.len() > 0 && !(self.is_restarting && page.offset == 0) {
            if self.looks_behind() && page.offset == self.next_offset() {
                if page.ids.is_empty() {
                    return self.progress(page, &known, Delivery::default());
                }
                // The previous page was not the last one: the service reduced its pages, says of every page that none
                // follows, or the list grew.
                self.unknown_end = UnknownEnd {
                    is_doubtful: true,
                    ..UnknownEnd::default()
                };
                self.granted = records.max(self.granted / 2).max(2);
                self.ends = 0;
            }
            return self.seek(page, was_held);
        }
        let has_no_doubt = self.evidence.doubts.is_empty();
        if has_no_doubt
            && page.offset > 0
            && known.len() < page.ids.len()
            && !self.shows_frontier(page)
        {
            // The page was requested before the frontier arrived. It may be too old to show records inserted since.
            if page.sent < self.joined_at && self.brings_new(page, &known) {
                self.evidence.repaired = true;
                return Verdict::Retry(self.next_offset());
            }
            // If the page shows few known records, all of them may have moved there while the records after them were
            // deleted. A page that begins earlier shows more known records.
            let min_known = (self.granted / 2).min(MIN_KNOWN) as usize;
            if known.len() < min_known && self.widened < MAX_WIDENED {
                self.evidence.repaired = true;
                self.widened += 1;
                let earlier = page.offset.saturating_sub(self.granted / 2);
                return Verdict::Retry(earlier);
            }
        }
        (self.is_restarting, self.widened) = (false, 0);
        if self.back > 0 {
            self.farthest = page.offset;
        }
        (self.back, self.is_forward, self.empty_pages) = (0, false, 0);
        let delivery = self.take(page, &known);
        self.progress(page, &known, delivery)
    }

    /// Decides what to do with the first page of the list, which is read before a scan is resumed and again at its end.
    /// The order of known records there reveals a list that is sorted by time of change.
    fn look_at_beginning(&mut self, page: &Slice, known: &[(usize, u32)]) -> Verdict {
        let mut delivery = match known {
            [] if self.order.len() > 0 => Delivery::default(),
            known => self.take(page, known),
        };
        let is_limit = self.visits >= MAX_READS_OF_END;
        if self.phase == Phase::Closing && (delivery.fresh.is_empty() || is_limit) {
            return self.conclude(delivery);
        }
        self.visits += u32::from(self.phase == Phase::Closing);
        (self.phase, self.ends) = (Phase::Reading, 0);
        delivery.drops_read_ahead = true;
        Verdict::Deliver(delivery)
    }

    /// Returns the records of a page that were already delivered, by index and number.
    fn known(&self, page: &Slice) -> Vec<(usize, u32)> {
        let numbered = page.ids.iter().enumerate();
        numbered
            .filter_map(|(index, id)| Some((index, self.order.find(*id)?)))
            .collect()
    }

    /// Records a doubt if two records on a page have the same identity, because the scan may confuse them.
    fn check_identities(&mut self, page: &Slice) {
        let mut seen = HashSet::with_capacity(page.ids.len());
        for id in &page.ids {
            match (seen.insert(*id), id.by_id()) {
                (true, _) => {}
                (false, true) => self.evidence.doubt(Doubt::RepeatedId),
                (false, false) => {
                    self.evidence.doubt(Doubt::EqualRecords);
                    self.cannot_join = Some(Doubt::EqualRecords);
                }
            }
        }
    }

    /// Records a doubt if known records are not in the order of their places, or if the page shows a record that was
    /// missing from an earlier page.
    fn compare(&mut self, page: &Slice, known: &[(usize, u32)]) {
        for (_, number) in known {
            let since = self.missed.get(number);
            if since.is_some_and(|since| page.sent > *since) {
                self.evidence.doubt(Doubt::StaleReads);
            }
        }
        let pairs = known.iter().zip(known.iter().skip(1));
        for ((_, first), (_, second)) in pairs.map(|(first, second)| (*first, *second)) {
            if self.order.place(first) > self.order.place(second) {
                self.evidence.doubt(Doubt::OrderChanged);
                continue;
            }
            let mut between = self.order.next(first);
            for _ in 0..MAX_BETWEEN {
                let Some(number) = between.filter(|number| *number != second) else {
                    break;
                };
                if page.sent >= self.joined_at && self.missed.len() < MAX_MISSED {
                    self.missed.entry(number).or_insert(page.arrived);
                }
                between = self.order.next(number);
            }
        }
    }

    /// Returns whether unknown records follow the last known one.
    fn brings_new(&self, page: &Slice, known: &[(usize, u32)]) -> bool {
        let place = |(_, number): &&(usize, u32)| self.order.place(*number);
        let Some((last, _)) = known.iter().max_by_key(place) else {
            return false;
        };
        let known_after_it = known.iter().filter(|(index, _)| index > last).count();
        last + 1 + known_after_it < page.ids.len()
    }

    /// Returns whether the page shows the record that was delivered last.
    fn shows_frontier(&self, page: &Slice) -> bool {
        self.frontier
            .is_some_and(|frontier| page.ids.contains(&frontier))
    }

    /// Returns whether a page without new records that was requested within the list has all its records, as a service
    /// sends it that does not know offsets.
    fn is_whole_list(&self, page: &Slice) -> bool {
        page.offset > 0
            && page.ids.last() == self.frontier.as_ref()
            && page.ids.len() == self.order.len()
    }

    /// Delivers the records after the last known one, and places them directly after it in the order.
    fn take(&mut self, page: &Slice, known: &[(usize, u32)]) -> Delivery {
        // If the order changed, the last known record is the one farthest along the list.
        let last = known
            .iter()
            .max_by_key(|(_, number)| self.order.place(*number));
        let begin = last.map_or(0, |(index, _)| index + 1);
        let mut predecessor = last.map(|(_, number)| *number).or(self.order.last);
        let mut known_indices = known.iter().map(|(index, _)| *index).peekable();
        let unknown = (0..page.ids.len()).filter(|index| known_indices.next_if_eq(index).is_none());
        let (inserted_behind_us, new): (Vec<_>, Vec<_>) = unknown.partition(|index| *index < begin);
        if predecessor != self.order.last && !new.is_empty() {
            self.inserted_at = self.inserted_at.max(page.arrived);
        }
        let mut fresh = Vec::new();
        for (index, id) in new
            .iter()
            .filter_map(|index| Some((*index, page.ids.get(*index)?)))
        {
            fresh.push((index, DeliveredId::new(*id, predecessor)));
            predecessor = Some(self.order.insert(*id, predecessor));
        }
        self.adapt_overlap(page);
        // Records before the end of the last page are requested again on purpose, so they are no duplicates.
        let shared = match self.last_offset {
            Some(last) => (last + 1).saturating_sub(page.offset),
            None => 1 + self.extra_overlap,
        };
        self.duplicates += (known.len() as u64).saturating_sub(shared);
        let is_current = self.phase == Phase::Reading && page.sent >= self.joined_at;
        if !page.ids.is_empty() && (is_current || !fresh.is_empty()) {
            self.last_offset = Some(page.end() - 1);
        }
        if let Some((_, entry)) = fresh.last() {
            self.frontier = Some(entry.id);
            (self.joined_at, self.idle) = (self.joined_at.max(page.arrived), 0);
            self.farthest = page.offset;
            self.leave_beginning();
        }
        if page.offset == 0 {
            self.note_beginning(page, self.frontier);
        }
        self.keep_passing();
        self.evidence.delivered += fresh.len() as u64;
        Delivery {
            fresh,
            inserted_behind_us,
            ..Delivery::default()
        }
    }

    /// Adapts the overlap of the next pages. If the frontier moved, the overlap becomes twice the distance that it
    /// moved. Otherwise it shrinks by one.
    fn adapt_overlap(&mut self, page: &Slice) {
        let at = self
            .frontier
            .and_then(|frontier| page.ids.iter().position(|id| *id == frontier));
        let (Some(last), Some(at)) = (self.last_offset, at) else {
            return;
        };
        let shift = last.saturating_sub(page.offset + at as u64);
        self.extra_overlap = match shift {
            0 => self.extra_overlap.saturating_sub(1),
            shift => (2 * shift).min(self.max_extra_overlap()),
        };
    }

    /// Checks whether the page ends the list, and limits the pages without progress.
    fn progress(
        &mut self,
        page: &Slice,
        known: &[(usize, u32)],
        mut delivery: Delivery,
    ) -> Verdict {
        let has_nothing_new = delivery.fresh.is_empty();
        if !page.has_more {
            delivery.drops_read_ahead = true;
            let is_seen_again = has_nothing_new
                && (!page.has_unknown_length || page.ids.is_empty() || self.is_whole_list(page));
            self.ends = if is_seen_again { self.ends + 1 } else { 1 };
            let is_short = page.is_short();
            // The only page of a list is its beginning and its end.
            let is_whole = page.offset == 0 && !page.has_unknown_length;
            let reads = if is_whole { 1 } else { READS_OF_END };
            self.visits += 1;
            let max_visits = match page.total {
                Some(_) => MAX_READS_OF_END,
                None => MAX_READS_WITHOUT_TOTAL,
            };
            let is_limit = !is_short && self.visits >= max_visits;
            if page.has_unknown_length
                && page.ids.is_empty()
                && !self.unknown_end.is_enough(self.last_offset)
            {
                self.ends = 0;
            }
            if self.ends < reads + u32::from(is_short) * MAX_EMPTY_PAGES && !is_limit {
                return Verdict::Deliver(delivery);
            }
            if is_short {
                self.evidence.doubt(Doubt::ShortOfTotal);
                return self.conclude(delivery);
            }
            if page.has_unknown_length && is_limit {
                self.evidence.doubt(Doubt::MovedTooFar);
                return self.conclude(delivery);
            }
            self.phase = Phase::Closing;
            return Verdict::Deliver(delivery);
        }
        self.ends = 0;
        if page.total.is_some() {
            self.visits = 0;
        }
        let last = known
            .last()
            .map_or(0, |(_, number)| self.order.place(*number));
        let has_no_progress = has_nothing_new && last <= self.reached;
        self.pages_without_progress = if has_no_progress {
            self.pages_without_progress + 1
        } else {
            0
        };
        self.reached = last;
        if self.granted == 1 && self.pages_without_progress > 0 {
            // New records may still follow a page whose only record is known.
            self.cannot_join = Some(Doubt::NoOverlap);
            delivery.drops_read_ahead = true;
        }
        // If completeness is in doubt already, the number of requests is limited.
        let max_requests = 100 + 3 * self.order.len() as u64 / self.stride();
        let has_doubts = !self.evidence.doubts.is_empty();
        if self.pages_without_progress > MAX_PAGES_WITHOUT_PROGRESS
            || self.idle > MAX_IDLE
            || has_doubts && self.requests > max_requests
        {
            self.evidence.doubt(Doubt::MovedTooFar);
            return self.conclude(delivery);
        }
        Verdict::Deliver(delivery)
    }

    /// Steps back from a page without known records, because records before it were deleted or inserted. At the
    /// beginning of the list it steps forward instead.
    fn seek(&mut self, page: &Slice, was_held: bool) -> Verdict {
        if self.idle > MAX_IDLE {
            // If a service chooses its own offsets, no page may show known records.
            self.evidence.doubt(Doubt::MovedTooFar);
            return self.conclude(Delivery::default());
        }
        // An empty page after the end of a list of unknown length is expected and does not count as a repair.
        if !page.has_unknown_length || !page.ids.is_empty() {
            self.evidence.repaired = true;
            self.repairs += 1;
            self.extra_overlap = (2 * self.extra_overlap + 1).min(self.max_extra_overlap());
        }
        let next = self.next_offset();
        let is_straight = self.back == 0 && !self.is_forward;
        if is_straight && page.offset > next && !(was_held && self.waited_at == self.last_offset) {
            self.waited_at = self.last_offset;
            return Verdict::NeedsEarlier(next);
        }
        if was_held {
            return Verdict::Jump(next);
        }
        if page.offset > 0 && !self.is_forward {
            self.back = match self.back {
                0 => self.granted.saturating_sub(1).max(1),
                back => back * 2,
            };
            let from = page
                .offset
                .min(page.total.unwrap_or(u64::MAX))
                .min(next + 1 + self.extra_overlap);
            return Verdict::Jump(from.saturating_sub(self.back));
        }
        if page.has_more && !page.ids.is_empty() {
            if !self.is_forward {
                self.farthest = 0;
            }
            self.is_forward = true;
            return Verdict::Jump(page.end().max(page.offset + 2) - 1);
        }
        self.restart()
    }

    /// Starts over at offset 0, because the list no longer has any delivered record: another list seems to have
    /// replaced it.
    fn restart(&mut self) -> Verdict {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            self.evidence.doubt(Doubt::MovedTooFar);
            return self.conclude(Delivery::default());
        }
        (self.back, self.is_forward, self.is_restarting) = (0, false, true);
        Verdict::Jump(0)
    }

    /// Delivers a page without joining it, because pages cannot overlap or records cannot be distinguished.
    fn read_unjoined(&mut self, page: &Slice) -> Verdict {
        let expected = self.last_offset.map_or(0, |last| last + 1);
        if page.offset > expected || page.end() < expected {
            return Verdict::Jump(expected);
        }
        let skipped = (expected - page.offset) as usize;
        let mut fresh = Vec::new();
        for (index, id) in page.ids.iter().enumerate().skip(skipped) {
            let predecessor = self.order.last;
            let entry = match self.order.find(*id) {
                Some(_) => DeliveredId::repeated(*id),
                None => DeliveredId::new(*id, predecessor),
            };
            if !entry.repeats() {
                self.order.insert(*id, predecessor);
            }
            fresh.push((index, entry));
        }
        if !fresh.is_empty() {
            self.last_offset = Some(page.end() - 1);
            self.evidence.delivered += fresh.len() as u64;
            self.cannot_join
                .into_iter()
                .for_each(|doubt| self.evidence.doubt(doubt));
        }
        let delivery = Delivery {
            fresh,
            ..Delivery::default()
        };
        match (page.ids.len() > skipped, page.has_more) {
            (true, true) => Verdict::Deliver(delivery),
            (false, true) => {
                self.evidence.doubt(Doubt::EmptyPage);
                self.conclude(delivery)
            }
            (_, false) => self.conclude(delivery),
        }
    }

    fn conclude(&mut self, mut delivery: Delivery) -> Verdict {
        self.evidence.conclude();
        (delivery.drops_read_ahead, delivery.is_end) = (true, true);
        Verdict::Deliver(delivery)
    }
}
