//! Joins the pages of a list that may change while it is read; pure.
//!
//! A page is a contiguous piece of the list at its own moment. If it holds a record that was delivered, all that
//! stands behind the last such record on it comes next: whatever was in the list all the time between the two is on
//! the page as well. What stands before that record and is not known came during the scan. This holds for every
//! page, whenever it was read, as long as the list keeps its order and records keep their identities.

mod offsets;

pub(super) use offsets::Wanted;

use super::evidence::Evidence;
use super::order::Order;
use super::position::{Entry, Offsets, Resume};
use super::receipt::Doubt;
use super::slice::Slice;
use crate::record::Identity;
use offsets::{OffsetTest, Rereading};
use std::collections::{HashMap, HashSet};

/// How often the end of the list has to be read.
const READS_OF_END: u32 = 2;
/// A list that gains records at its end faster than it can be read is left after so many reads of its end: what came
/// during the scan is not owed.
const MAX_READS_OF_END: u32 = 8;
/// A page that cannot be is asked for so often again before it is believed.
const MAX_BLANKS: u32 = 4;
/// So many pages in a row may lead nowhere.
const MAX_STUCK: u32 = 12;
/// So many pages may bring nothing new without being farther along the list than those before them.
const MAX_IDLE: u64 = 60;
/// A list whose records have all been replaced is begun again so often.
const MAX_RESTARTS: u32 = 2;
/// Records that a page lacked are remembered up to this number.
const MAX_LACKING: usize = 4096;
/// Known records that join a page without doubt, though the frontier is not among them.
const FEW: u64 = 8;
/// How often in a row a page that begins earlier is asked for to see more of them.
const MAX_WIDENED: u32 = 3;
/// Of neighbours on a page, so many records between them are looked at.
const MAX_BETWEEN: usize = 200;

/// What is to be done with a page.
#[derive(Debug)]
pub(crate) enum Verdict {
    Deliver(Delivery),
    /// It is of use once the page at this offset has been joined.
    Before(u64),
    /// It is of no use; the page at this offset is.
    Retry(u64),
    /// The same, and those read ahead are of no use either.
    Instead(u64),
}

/// What a page has brought.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Indices of the records to deliver, and where each stands in the order.
    pub(crate) fresh: Vec<(usize, Entry)>,
    /// Indices of those that came into the list during the scan and are not delivered.
    pub(crate) late: Vec<usize>,
    /// Whether pages that were read ahead are of no use.
    pub(crate) alone: bool,
    /// Whether the list ends with it.
    pub(crate) end: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// The beginning is read again, after an interruption.
    Resuming,
    #[default]
    Reading,
    /// The end is reached, and the beginning is read once more.
    Closing,
    /// The end is reached, and all pages are read once more, because they do not overlap.
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
    /// Offset of the last record of the page joined last, in `order` its frontier as it was then.
    pub(super) edge: Option<u64>,
    /// When the page that brought it had arrived.
    joined_at: u64,
    /// When a page had arrived whose records were placed between others.
    inserted_at: u64,
    frontier: Option<Identity>,
    /// Records that a page shares with the one before it, beyond one.
    wider: u64,
    /// Records of a page as the service grants them.
    granted: u64,
    /// Pages are delivered as they come, because they cannot be joined.
    bare: Option<Doubt>,
    /// How far it was stepped back, where nothing on a page was known; then forward from the beginning.
    back: u64,
    forward: bool,
    restarts: u32,
    restarting: bool,
    widened: u32,
    /// The edge when a page last had to wait for one before it.
    waited_at: Option<u64>,
    /// In a row: reads of the end, pages that cannot be, pages that lead nowhere, pages without anything new.
    ends: u32,
    visits: u32,
    blanks: u32,
    stuck: u32,
    idle: u64,
    /// Pages asked for, those that were read ahead in vain as well.
    pub(super) requests: u64,
    /// Offset of the page farthest along the list since something new came.
    farthest: u64,
    reached: u64,
    /// Records that a page should have shown, and when it arrived.
    lacking: HashMap<u32, u64>,
    /// Records that came again beyond the overlap, and seams that had to be repaired.
    pub(crate) duplicates: u64,
    pub(crate) repairs: u64,
}

impl Joiner {
    /// Goes on where an earlier run has ended, in pages of so many records.
    pub(crate) fn resume(&mut self, resume: &Resume, page_size: u64) {
        self.evidence.clone_from(&resume.state.evidence);
        self.edge = resume.state.edge;
        for entry in resume.entries() {
            if !entry.repeats() {
                self.order.insert(entry.id, entry.behind());
                self.frontier = Some(entry.id);
            }
        }
        self.granted = page_size;
        self.resume_offsets(resume.state.offsets);
        if self.order.len() > 0 && !self.reads_apart() {
            self.phase = Phase::Resuming;
        }
    }

    /// Where the next page begins, behind what is joined.
    pub(crate) fn next_offset(&self) -> u64 {
        match (self.phase, self.edge) {
            (Phase::Reading, Some(edge)) => (edge + 1).saturating_sub(self.overlap()),
            (Phase::Rereading, _) => self.rereading.offset,
            _ => 0,
        }
    }

    /// Offset of the last record of the page joined last.
    fn last_offset(&self) -> Option<u64> {
        self.edge.filter(|_| self.phase == Phase::Reading)
    }

    /// Whether pages do not overlap, because the service has no others.
    fn reads_apart(&self) -> bool {
        matches!(self.offsets, Offsets::OfPage(_))
    }

    /// How far pages are apart.
    fn stride(&self) -> u64 {
        self.granted.saturating_sub(self.overlap()).max(1)
    }

    /// Whether a page that begins here may bring something new, judged by a total.
    pub(crate) fn may_bring(&self, offset: u64, total: u64) -> bool {
        let reading = self.phase == Phase::Reading && self.ends == 0;
        let straight = self.back == 0 && !self.forward && self.edge.is_some();
        let reading = reading && straight || self.phase == Phase::Rereading;
        reading && offset.saturating_add(self.overlap()) < total
    }

    /// Whether the end was read once, of a list that stands still: all that is owed has been read, and the beginning
    /// can be read while the end is read again.
    pub(crate) fn is_at_end(&self) -> bool {
        self.phase == Phase::Reading && self.ends == 1 && !self.evidence.total_changed
    }

    /// Whether the end is reached, and only what was read is read once more.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing | Phase::Rereading)
    }

    fn overlap(&self) -> u64 {
        match self.bare {
            Some(_) => 0,
            None if self.reads_apart() => 0,
            None => 1 + self.wider,
        }
    }

    /// The widest overlap, beyond one.
    fn widest(&self) -> u64 {
        (self.granted / 2).saturating_sub(1)
    }

    /// Judges a page; `again` when it was judged before.
    pub(crate) fn judge(&mut self, page: &Slice, again: bool) -> Verdict {
        let records = page.ids.len() as u64;
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
        self.doubt_twins(page);
        if self.bare.is_some() {
            return self.read_bare(page);
        }
        if self.phase == Phase::Reading
            && let Some(verdict) = self.test_offset(page)
        {
            return verdict;
        }
        self.evidence.compare_total(page);
        if self.reads_apart() {
            return self.read_apart(page);
        }
        let known = self.known(page);
        let is_ordered = known.is_sorted_by_key(|(_, number)| self.order.place(*number));
        if page.sent < self.inserted_at && !is_ordered {
            // What was read since was placed before records that are deleted, and still stand on this page.
            return Verdict::Retry(self.next_offset());
        }
        self.compare(page, &known);
        match self.phase {
            Phase::Resuming | Phase::Closing => return self.look_at_beginning(page, &known),
            Phase::Reading | Phase::Rereading => {}
        }
        if self.edge.is_none() && page.offset > 0 {
            // Only a page from the beginning may begin a scan.
            return Verdict::Instead(0);
        }
        if page.is_blank() {
            self.blanks += 1;
            if self.blanks <= MAX_BLANKS {
                return Verdict::Retry(page.offset);
            }
            if page.has_more || self.edge.is_none() {
                let more = [Doubt::ShortOfTotal, Doubt::EmptyPage];
                self.evidence.doubt(more[usize::from(page.has_more)]);
                return self.conclude(Delivery::default());
            }
        }
        if known.is_empty() && self.order.len() > 0 && !(self.restarting && page.offset == 0) {
            return self.seek(page, again);
        }
        let sound = self.evidence.doubts.is_empty();
        if sound && page.offset > 0 && known.len() < page.ids.len() && !self.shows_frontier(page) {
            // It may not know yet what came there while it was read at the same time as the pages before it.
            if page.sent < self.joined_at && self.brings_new(page, &known) {
                self.evidence.repaired = true;
                return Verdict::Retry(self.next_offset());
            }
            // Of few records, each may have moved there while those behind it were deleted. A page that begins
            // earlier shows more of them.
            let few = (self.granted / 2).min(FEW) as usize;
            if known.len() < few && self.widened < MAX_WIDENED {
                self.evidence.repaired = true;
                self.widened += 1;
                let earlier = page.offset.saturating_sub(self.granted / 2);
                return Verdict::Retry(earlier);
            }
        }
        (self.restarting, self.widened) = (false, 0);
        if self.back > 0 {
            self.farthest = page.offset;
        }
        (self.back, self.forward, self.blanks) = (0, false, 0);
        let delivery = self.take(page, &known);
        self.progress(page, &known, delivery)
    }

    /// The beginning of the list, which is read before a scan is resumed and once more at its end: the order of known
    /// records there gives away a list that is sorted by time of change.
    fn look_at_beginning(&mut self, page: &Slice, known: &[(usize, u32)]) -> Verdict {
        let mut delivery = match known {
            [] if self.order.len() > 0 => Delivery::default(),
            known => self.take(page, known),
        };
        let grows = self.visits >= MAX_READS_OF_END;
        if self.phase == Phase::Closing && (delivery.fresh.is_empty() || grows) {
            return self.conclude(delivery);
        }
        self.visits += u32::from(self.phase == Phase::Closing);
        (self.phase, self.ends) = (Phase::Reading, 0);
        delivery.alone = true;
        Verdict::Deliver(delivery)
    }

    /// The records of a page that were delivered, by index and number.
    fn known(&self, page: &Slice) -> Vec<(usize, u32)> {
        let numbered = page.ids.iter().enumerate();
        numbered
            .filter_map(|(index, id)| Some((index, self.order.find(*id)?)))
            .collect()
    }

    /// Records with one identity on a page: one of them may be taken for the other.
    fn doubt_twins(&mut self, page: &Slice) {
        let mut seen = HashSet::with_capacity(page.ids.len());
        for id in &page.ids {
            match (seen.insert(*id), id.by_id()) {
                (true, _) => {}
                (false, true) => self.evidence.doubt(Doubt::RepeatedId),
                (false, false) => {
                    self.evidence.doubt(Doubt::EqualRecords);
                    self.bare = Some(Doubt::EqualRecords);
                }
            }
        }
    }

    /// Known records stand on a page in the order of their places; and one that a page lacked does not come back.
    fn compare(&mut self, page: &Slice, known: &[(usize, u32)]) {
        for (_, number) in known {
            let since = self.lacking.get(number);
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
                if page.sent >= self.joined_at && self.lacking.len() < MAX_LACKING {
                    self.lacking.entry(number).or_insert(page.arrived);
                }
                between = self.order.next(number);
            }
        }
    }

    /// Whether something unknown stands behind what is known.
    fn brings_new(&self, page: &Slice, known: &[(usize, u32)]) -> bool {
        let place = |(_, number): &&(usize, u32)| self.order.place(*number);
        let Some((last, _)) = known.iter().max_by_key(place) else {
            return false;
        };
        let behind = known.iter().filter(|(index, _)| index > last).count();
        last + 1 + behind < page.ids.len()
    }

    /// Whether the page shows the record that was delivered last.
    fn shows_frontier(&self, page: &Slice) -> bool {
        self.frontier
            .is_some_and(|frontier| page.ids.contains(&frontier))
    }

    /// Delivers what stands behind the last known record, directly behind it in the order.
    fn take(&mut self, page: &Slice, known: &[(usize, u32)]) -> Delivery {
        // Where records have changed their order, the one farthest along the list.
        let last = known
            .iter()
            .max_by_key(|(_, number)| self.order.place(*number));
        let begin = last.map_or(0, |(index, _)| index + 1);
        let mut behind = last.map(|(_, number)| *number).or(self.order.last);
        let mut others = known.iter().map(|(index, _)| *index).peekable();
        let unknown = (0..page.ids.len()).filter(|index| others.next_if_eq(index).is_none());
        let (late, unknown): (Vec<_>, Vec<_>) = unknown.partition(|index| *index < begin);
        if behind != self.order.last && !unknown.is_empty() {
            self.inserted_at = self.inserted_at.max(page.arrived);
        }
        let mut fresh = Vec::new();
        for (index, id) in unknown
            .iter()
            .filter_map(|index| Some((*index, page.ids.get(*index)?)))
        {
            fresh.push((index, Entry::new(*id, behind)));
            behind = Some(self.order.insert(*id, behind));
        }
        self.adapt_overlap(page);
        let shared = match (page.limit, self.edge) {
            (Some(_), Some(edge)) => (edge + 1).saturating_sub(page.offset),
            _ => 1 + self.wider,
        };
        self.duplicates += (known.len() as u64).saturating_sub(shared);
        let current = self.phase == Phase::Reading && page.sent >= self.joined_at;
        if !page.ids.is_empty() && (current || !fresh.is_empty()) {
            self.edge = Some(page.end() - 1);
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
            late,
            ..Delivery::default()
        }
    }

    /// By how much the frontier has moved since it was seen is what the next pages should overlap by, and some.
    fn adapt_overlap(&mut self, page: &Slice) {
        let at = self
            .frontier
            .and_then(|frontier| page.ids.iter().position(|id| *id == frontier));
        let (Some(edge), Some(at)) = (self.edge, at) else {
            return;
        };
        let shift = edge.saturating_sub(page.offset + at as u64);
        self.wider = match shift {
            0 => self.wider.saturating_sub(1),
            shift => (2 * shift).min(self.widest()),
        };
    }

    /// Looks whether the page ends the list, or leads nowhere.
    fn progress(
        &mut self,
        page: &Slice,
        known: &[(usize, u32)],
        mut delivery: Delivery,
    ) -> Verdict {
        let nothing = delivery.fresh.is_empty();
        if !page.has_more {
            delivery.alone = true;
            self.ends = if nothing { self.ends + 1 } else { 1 };
            let short = page.end() < page.total;
            // Of a list of one page, the end is read with the beginning.
            let enough = if page.offset == 0 { 1 } else { READS_OF_END };
            self.visits += 1;
            let grows = !short && self.visits >= MAX_READS_OF_END;
            if self.ends < enough + u32::from(short) * MAX_BLANKS && !grows {
                return Verdict::Deliver(delivery);
            }
            if short {
                self.evidence.doubt(Doubt::ShortOfTotal);
                return self.conclude(delivery);
            }
            self.phase = Phase::Closing;
            return Verdict::Deliver(delivery);
        }
        (self.ends, self.visits) = (0, 0);
        let last = known
            .last()
            .map_or(0, |(_, number)| self.order.place(*number));
        let stuck = nothing && last <= self.reached;
        self.stuck = if stuck { self.stuck + 1 } else { 0 };
        self.reached = last;
        if self.granted == 1 && self.stuck > 0 {
            // A page that only holds what is known may be followed by more all the same.
            self.bare = Some(Doubt::NoOverlap);
            delivery.alone = true;
        }
        // A list that is known to have no order need not be followed wherever it leads.
        let enough = 100 + 3 * self.order.len() as u64 / self.stride();
        let lost = !self.evidence.doubts.is_empty() && self.requests > enough;
        if self.stuck > MAX_STUCK || self.idle > MAX_IDLE || lost {
            self.evidence.doubt(Doubt::MovedTooFar);
            return self.conclude(delivery);
        }
        Verdict::Deliver(delivery)
    }

    /// Nothing on the page is known: the list has shrunk, or grown in front. Reads further back; from its beginning,
    /// forward.
    fn seek(&mut self, page: &Slice, again: bool) -> Verdict {
        self.evidence.repaired = true;
        self.repairs += 1;
        self.wider = (2 * self.wider + 1).min(self.widest());
        let next = self.next_offset();
        let straight = self.back == 0 && !self.forward;
        if straight && page.offset > next && !(again && self.waited_at == self.edge) {
            self.waited_at = self.edge;
            return Verdict::Before(next);
        }
        if again {
            return Verdict::Instead(next);
        }
        if page.offset > 0 && !self.forward {
            self.back = match self.back {
                0 => self.granted.saturating_sub(1).max(1),
                back => back * 2,
            };
            let from = page.offset.min(page.total).min(next + 1 + self.wider);
            return Verdict::Instead(from.saturating_sub(self.back));
        }
        if page.has_more && !page.ids.is_empty() {
            if !self.forward {
                self.farthest = 0;
            }
            self.forward = true;
            return Verdict::Instead(page.end().max(page.offset + 2) - 1);
        }
        self.begin_again()
    }

    /// All that was delivered is gone: what is there now is another list, in which nothing was delivered.
    fn begin_again(&mut self) -> Verdict {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            self.evidence.doubt(Doubt::MovedTooFar);
            return self.conclude(Delivery::default());
        }
        (self.back, self.forward, self.restarting) = (0, false, true);
        Verdict::Instead(0)
    }

    /// Pages that cannot overlap, or whose records cannot be told from each other: each as it comes.
    fn read_bare(&mut self, page: &Slice) -> Verdict {
        let expected = self.edge.map_or(0, |edge| edge + 1);
        if page.offset > expected || page.end() < expected {
            return Verdict::Instead(expected);
        }
        let skipped = (expected - page.offset) as usize;
        let mut fresh = Vec::new();
        for (index, id) in page.ids.iter().enumerate().skip(skipped) {
            let behind = self.order.last;
            let entry = match self.order.find(*id) {
                Some(_) => Entry::repeated(*id),
                None => Entry::new(*id, behind),
            };
            if !entry.repeats() {
                self.order.insert(*id, behind);
            }
            fresh.push((index, entry));
        }
        if !fresh.is_empty() {
            self.edge = Some(page.end() - 1);
            self.evidence.delivered += fresh.len() as u64;
            self.bare
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
        (delivery.alone, delivery.end) = (true, true);
        Verdict::Deliver(delivery)
    }
}
