//! Decides which pages a scan reads ahead, and which page the joiner sees next. Pure: no I/O, no clock.

use super::join::{Delivery, Joiner, Verdict, Wanted};
use super::position::Offsets;
use super::slice::Slice;
use crate::error::{Error, Result};
use crate::page::is_refusal;
use std::collections::VecDeque;

/// Limits the pages that are under way or waiting. At 40 requests a second this covers responses that take more than a
/// second, and bounds the memory of a scan.
pub(crate) const AHEAD: usize = 48;
/// Limits the pages that are under way or waiting if there is no rate limit. All of them are then at the service and in
/// memory at once, and more of them would not be faster.
pub(super) const AHEAD_UNPACED: usize = 16;
/// The number of pages that are read ahead at first. It grows by one with each page that joins, and is halved by each
/// page that does not (additive increase and multiplicative decrease), because pages that were read ahead seldom join
/// while the list changes.
const AHEAD_AT_FIRST: usize = 6;

/// The pages of one scan. `P` is the caller's type of page.
pub(crate) struct Sequence<P> {
    pub(crate) joiner: Joiner,
    /// Limits the pages that are under way or waiting now.
    ahead: usize,
    /// Limits `ahead`.
    most_ahead: usize,
    queue: VecDeque<PendingPage<P>>,
    /// The offset of the next page to read ahead. `None` while it depends on the joiner.
    next: Option<u64>,
    /// The total in the last response. Only a hint.
    total: u64,
    /// True if a response said that no more records follow.
    has_ended: bool,
    requests: u64,
    /// The page that was refused, while another page is tried in its place.
    refusal: Option<RefusedPage>,
    /// The number of events so far, by which the ages of pages are compared.
    clock: u64,
}

struct RefusedPage {
    offset: u64,
    error: Error,
    /// The offsets that the service was known to honour before the refusal.
    offsets: Offsets,
    /// True if the page was expected after the end of the list.
    is_behind_end: bool,
}

/// A page that was requested, or will be.
struct PendingPage<P> {
    request: u64,
    wanted: Wanted,
    /// True if the page was read ahead. False if it was requested because another page did not join.
    planned: bool,
    /// The number of records that the page was expected to have.
    expects: u64,
    /// The time of the request.
    sent: u64,
    state: PageState<P>,
}

enum PageState<P> {
    Wanted,
    Underway,
    Arrived(Result<(P, Slice)>),
    /// The page did not join when the joiner saw it.
    Shown(P, Slice),
}

impl<P> Sequence<P> {
    pub(crate) fn new(joiner: Joiner, most_ahead: usize) -> Self {
        Sequence {
            joiner,
            ahead: AHEAD_AT_FIRST.min(most_ahead),
            most_ahead,
            queue: VecDeque::new(),
            next: None,
            total: 0,
            has_ended: false,
            requests: 0,
            refusal: None,
            clock: 0,
        }
    }

    /// Returns the next page to request, with its request number; `None` if enough pages are under way.
    pub(crate) fn want(&mut self) -> Option<(u64, Wanted)> {
        if self.queue.is_empty() {
            let offset = self.joiner.next_offset();
            self.push_front(offset);
            let page = self.joiner.page_at(offset);
            let may_bring = self.joiner.may_bring(offset, u64::MAX);
            self.next = may_bring.then(|| self.joiner.behind(page));
            if self.joiner.is_at_end() {
                let beginning = self.entry(0, false);
                self.queue.push_back(beginning);
            }
        }
        // The length of the list is unknown before the first page, so that page is read alone.
        if self.queue.len() < self.ahead
            && let Some(next) = self.next
            && self.joiner.may_bring(next, self.total)
        {
            let entry = self.entry(next, true);
            self.next = Some(self.joiner.behind(entry.wanted));
            self.queue.push_back(entry);
        }
        let wanted = |entry: &&mut PendingPage<P>| matches!(entry.state, PageState::Wanted);
        let entry = self.queue.iter_mut().find(wanted)?;
        entry.state = PageState::Underway;
        self.clock += 1;
        entry.sent = self.clock;
        Some((entry.request, entry.wanted))
    }

    /// Returns the offset of the page that the scan needs next.
    pub(crate) fn needed(&self) -> Option<u64> {
        self.queue.front().map(|entry| entry.wanted.offset)
    }

    /// Takes the response to a request: a page, or an error.
    pub(crate) fn arrive(&mut self, request: u64, page: Result<(P, Slice)>) {
        self.clock += 1;
        let arrived = self.clock;
        let index = self.queue.iter().position(|entry| entry.request == request);
        let entry = index.and_then(|index| self.queue.get_mut(index));
        // A page that is no longer needed still has a total.
        let sent = entry.as_ref().map_or(0, |entry| entry.sent);
        let limit = entry.as_ref().and_then(|entry| entry.wanted.limit);
        let expects = entry.as_ref().map_or(0, |entry| entry.expects);
        let page = page.map(|(page, slice)| {
            let slice = Slice {
                limit,
                sent,
                arrived,
                ..slice
            };
            self.joiner.evidence.note_total(&slice);
            self.total = match slice.total {
                Some(total) => total,
                // Without a total, the list is assumed to be twice as long as the part seen so far, until its end is
                // seen.
                None if slice.has_more && !self.has_ended => self.total.max(2 * slice.end()),
                None if slice.has_more => self.total.max(slice.end() + 1),
                None => self.total.min(slice.end()),
            };
            self.has_ended |= !slice.has_more;
            (page, slice)
        });
        if let (Some(index), Ok((_, slice))) = (index, &page)
            && let Some(size) = slice
                .asked
                .filter(|asked| slice.has_more && *asked < expects)
        {
            self.fill_gap(index + 1, slice.end(), size);
        }
        if let Some(entry) = index.and_then(|index| self.queue.get_mut(index)) {
            entry.state = PageState::Arrived(page);
        }
    }

    /// Plans pages of `size` records between a page that ends at `end` and the page after it. This is needed if a page
    /// was requested with fewer records than planned.
    fn fill_gap(&mut self, mut index: usize, mut end: u64, size: u64) {
        let size = self.joiner.reduce(size);
        let overlap = self.joiner.overlap().min(size - 1);
        let next = self.queue.get(index).map(|entry| entry.wanted.offset);
        if next.is_none() {
            self.next = self.next.map(|next| next.min(end.saturating_sub(overlap)));
        }
        while next.is_some_and(|next| end <= next) {
            let entry = self.entry(end.saturating_sub(overlap), true);
            end = entry.wanted.offset.saturating_add(size);
            self.queue.insert(index, entry);
            index += 1;
        }
    }

    /// Returns the next page that joins, and its new records. `None` while the scan has to wait for a page.
    ///
    /// # Errors
    /// The error of the page that is needed next.
    pub(crate) fn join(&mut self) -> Result<Option<(P, Delivery)>> {
        while let Some(entry) = self.queue.pop_front() {
            let (page, mut slice, again) = match entry.state {
                PageState::Arrived(Ok((page, slice))) => (page, self.after_refusal(slice)?, false),
                PageState::Arrived(Err(error)) => {
                    self.try_another(entry.wanted.offset, error)?;
                    continue;
                }
                PageState::Shown(page, slice) => (page, slice, true),
                PageState::Wanted | PageState::Underway => {
                    self.queue.push_front(entry);
                    return Ok(None);
                }
            };
            self.joiner.requests = self.requests;
            let verdict = self.joiner.judge(&mut slice, again);
            if !matches!(verdict, Verdict::Deliver(_)) {
                self.ahead = (self.ahead / 2).max(1);
            }
            if !self.joiner.is_closing() {
                // This was not the end of the list, so the beginning was requested too early.
                self.queue.retain(|entry| entry.wanted.offset > 0);
            }
            match verdict {
                Verdict::Deliver(delivery) => {
                    if delivery.drops_read_ahead {
                        // Keep only the beginning, which was requested together with the end.
                        self.queue.retain(|entry| entry.wanted.offset == 0);
                    } else if entry.planned && !again {
                        self.ahead = (self.ahead + 1).min(self.most_ahead);
                    }
                    return Ok(Some((page, delivery)));
                }
                Verdict::NeedsEarlier(earlier) => {
                    self.queue.push_front(PendingPage {
                        state: PageState::Shown(page, slice),
                        ..entry
                    });
                    self.push_front(earlier);
                }
                Verdict::Retry(offset) => self.push_front(offset),
                Verdict::Jump(offset) => self.jump(offset),
            }
        }
        Ok(None)
    }

    /// Drops all pages that were read ahead, and reads the page at this offset.
    fn jump(&mut self, offset: u64) {
        self.queue.clear();
        self.push_front(offset);
        // The pages to read ahead depend on that page.
        self.next = None;
    }

    /// Requests another page after the service refused one. If the service does not honour the offset, a page at
    /// another offset will show it. If the list became shorter, its first page will show it.
    ///
    /// # Errors
    /// Returns the error if it is not a refusal. If the page at offset 0 fails as well, returns the refusal.
    fn try_another(&mut self, offset: u64, error: Error) -> Result<()> {
        if !is_refusal(&error) {
            return Err(error);
        }
        if offset == 0 {
            return Err(self.refusal.take().map_or(error, |refusal| refusal.error));
        }
        let refusal = self.refusal.get_or_insert(RefusedPage {
            offset,
            error,
            offsets: self.joiner.known_offsets(),
            is_behind_end: self.joiner.expects_end(),
        });
        let offset = self.joiner.refused().unwrap_or_else(|| {
            self.joiner.restore_offsets(refusal.offsets);
            0
        });
        self.jump(offset);
        Ok(())
    }

    /// Interprets the page at offset 0 if it was requested because another page was refused. If the list ends before
    /// the refused page, that page counts as empty and takes the place of the page at offset 0. Any other page is
    /// returned unchanged.
    ///
    /// # Errors
    /// The refusal, if the list still extends beyond the refused page.
    fn after_refusal(&mut self, page: Slice) -> Result<Slice> {
        let Some(refusal) = self.refusal.take().filter(|_| page.offset == 0) else {
            return Ok(page);
        };
        // A service that does not know offsets sends the whole list, and says that none follow.
        if page.total.is_none() && !page.has_more && page.end() >= refusal.offset {
            return Ok(Slice {
                offset: refusal.offset,
                ..page
            });
        }
        let is_over = match page.total {
            Some(total) => page.end() <= total && total <= refusal.offset,
            None => refusal.is_behind_end,
        };
        if !is_over {
            return Err(refusal.error);
        }
        Ok(Slice {
            offset: refusal.offset,
            ids: Vec::new(),
            has_more: false,
            has_unknown_length: page.total.is_none(),
            ..page
        })
    }

    fn push_front(&mut self, offset: u64) {
        let entry = self.entry(offset, false);
        self.queue.push_front(entry);
    }

    fn entry(&mut self, offset: u64, planned: bool) -> PendingPage<P> {
        self.requests += 1;
        PendingPage {
            request: self.requests,
            wanted: self.joiner.page_at(offset),
            planned,
            expects: self.joiner.granted(),
            sent: 0,
            state: PageState::Wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::IdentityKey;

    /// Returns the offsets that are requested together, for a list of 15 records that has `later` records when its end
    /// is read again.
    fn asked(later: u64) -> Vec<Vec<u64>> {
        let key = IdentityKey::random();
        let id = |record: u64| key.identify(&record.to_le_bytes(), true);
        let mut sequence = Sequence::new(Joiner::default(), 4);
        let (mut asked, mut is_end) = (Vec::new(), false);
        while !is_end {
            let at_once: Vec<_> = std::iter::from_fn(|| sequence.want()).collect();
            let total = if asked.len() < 2 { 15 } else { later };
            asked.push(at_once.iter().map(|one| one.1.offset).collect());
            for (request, Wanted { offset, .. }) in at_once {
                let ids = (offset..total.min(offset + 10)).map(id).collect();
                let slice = Slice::new(offset, ids, Some(offset + 10 < total), Some(total));
                sequence.arrive(request, Ok(((), slice)));
            }
            while let Some((_, delivery)) = sequence.join().unwrap() {
                is_end = delivery.is_end;
            }
        }
        asked
    }

    #[test]
    fn a_list_whose_pages_say_that_none_follows_is_read_to_an_empty_page_or_the_whole_list() {
        let key = IdentityKey::random();
        let id = |record: u64| key.identify(&record.to_le_bytes(), true);
        for knows_offsets in [true, false] {
            let mut sequence = Sequence::new(Joiner::default(), 4);
            let (mut delivered, mut is_end) = (0, false);
            while !is_end {
                let (request, Wanted { offset, .. }) = sequence.want().unwrap();
                let sent = if knows_offsets {
                    offset..25.min(offset + 10)
                } else {
                    0..25
                };
                let slice = Slice::new(offset, sent.map(id).collect(), Some(false), None);
                sequence.arrive(request, Ok(((), slice)));
                while let Some((_, delivery)) = sequence.join().unwrap() {
                    delivered += delivery.fresh.len();
                    is_end = delivery.is_end;
                }
            }
            let doubts = &*sequence.joiner.evidence.doubts;
            assert_eq!((delivered, doubts), (25, &[][..]), "{knows_offsets}");
        }
    }

    #[test]
    fn the_end_is_read_again_together_with_the_beginning() {
        assert_eq!(asked(15), [vec![0], vec![9], vec![14, 0]]);
        // If the list grew, the beginning is read only after the new end.
        let further = [vec![23], vec![24], vec![0]];
        let begun = [vec![0], vec![9], vec![14, 0]].into_iter();
        assert_eq!(asked(25), begun.chain(further).collect::<Vec<_>>());
    }
}
