//! Orders the pages of a scan: which to read ahead, and which to show the joiner next. Pure, too.

use super::join::{Joiner, Slice, Verdict};
use crate::error::{Error, ErrorKind, Result};
use std::collections::VecDeque;

/// How many pages are under way or waiting at most. At 40 requests a second it covers responses that
/// take more than a second, and bounds the memory of a scan.
pub(super) const AHEAD: usize = 48;
/// The same where no pace holds them back: all of them then are in the service's hands and in memory
/// at once, and more of them make nothing faster.
pub(super) const AHEAD_UNPACED: usize = 16;
/// How many pages are read ahead at first. With each page that joins it is one more, with each that does
/// not it is half: pages read ahead of a list that moves seldom join, and the longer ago the seldomer.
const AHEAD_AT_FIRST: usize = 6;

/// The pages of one scan; `P` is a page as the caller knows it.
pub(crate) struct Sequence<P> {
    pub(crate) joiner: Joiner,
    /// How many pages may be under way or waiting now, and at most.
    ahead: usize,
    most_ahead: usize,
    queue: VecDeque<Entry<P>>,
    /// Where the next page ahead begins; none while only the joiner can say.
    next: Option<u64>,
    /// The service's latest word on how many records there are; only a hint.
    total: u64,
    requests: u64,
    /// Counts what happens, so that it can be told which page is older.
    clock: u64,
}

struct Entry<P> {
    request: u64,
    offset: u64,
    /// Whether it is one of the pages read ahead, and not read because one of them did not join.
    planned: bool,
    /// When it was asked for.
    sent: u64,
    state: State<P>,
}

enum State<P> {
    Wanted,
    Underway,
    Arrived(Result<(P, Slice)>),
    /// It did not join when it was shown.
    Shown(P, Slice),
}

/// A page that joined.
pub(crate) struct Joined<P> {
    pub(crate) page: P,
    /// Indices of its new records.
    pub(crate) fresh: Vec<usize>,
    /// How many of them stand behind the frontier.
    pub(crate) behind: usize,
    /// Whether the list ends with it.
    pub(crate) end: bool,
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
            requests: 0,
            clock: 0,
        }
    }

    /// The next page to ask for, by request number and offset; none when enough are under way.
    pub(crate) fn want(&mut self) -> Option<(u64, u64)> {
        if self.queue.is_empty() {
            let offset = self.joiner.next_offset();
            self.push_front(offset);
            self.next = self
                .joiner
                .has_begun()
                .then(|| offset.saturating_add(self.joiner.stride()));
        }
        // Only the first page says how many records there are, so it is read alone.
        if self.queue.len() < self.ahead
            && let Some(next) = self.next
            && next.saturating_add(1) < self.joiner.read_ahead_to(self.total)
        {
            let entry = self.entry(next, true);
            self.queue.push_back(entry);
            self.next = Some(next.saturating_add(self.joiner.stride()));
        }
        let wanted = |entry: &&mut Entry<P>| matches!(entry.state, State::Wanted);
        let entry = self.queue.iter_mut().find(wanted)?;
        entry.state = State::Underway;
        self.clock += 1;
        entry.sent = self.clock;
        Some((entry.request, entry.offset))
    }

    /// Where the page begins that the scan cannot go on without.
    pub(crate) fn needed(&self) -> Option<u64> {
        self.queue.front().map(|entry| entry.offset)
    }

    /// Takes a page that has arrived, or what went wrong with it.
    pub(crate) fn arrive(&mut self, request: u64, page: Result<(P, Slice)>) {
        if let Ok((_, slice)) = &page {
            self.joiner.note_arrival(slice);
            self.total = slice.total;
        }
        let mut entries = self.queue.iter_mut();
        if let Some(entry) = entries.find(|entry| entry.request == request) {
            self.clock += 1;
            let (sent, arrived) = (entry.sent, self.clock);
            entry.state = State::Arrived(page.map(|(page, slice)| {
                let slice = Slice {
                    sent,
                    arrived,
                    ..slice
                };
                (page, slice)
            }));
        }
    }

    /// The next page that joins; none while the scan has to wait for one.
    ///
    /// # Errors
    /// That of the page whose turn it is; `Paging` when the service makes no progress.
    pub(crate) fn join(&mut self) -> Result<Option<Joined<P>>> {
        while let Some(entry) = self.queue.pop_front() {
            let (page, slice, again) = match entry.state {
                State::Arrived(page) => page.map(|(page, slice)| (page, slice, false))?,
                State::Shown(page, slice) => (page, slice, true),
                State::Wanted | State::Underway => {
                    self.queue.push_front(entry);
                    return Ok(None);
                }
            };
            match self.joiner.judge(&slice, again)? {
                Verdict::Deliver { fresh, behind, end } => {
                    if entry.planned && !again && self.joiner.held() {
                        self.ahead = (self.ahead + 1).min(self.most_ahead);
                    }
                    return Ok(Some(Joined {
                        page,
                        fresh,
                        behind,
                        end,
                    }));
                }
                Verdict::Before(earlier) => {
                    self.queue.push_front(Entry {
                        state: State::Shown(page, slice),
                        ..entry
                    });
                    self.push_front(earlier);
                    self.ahead = (self.ahead / 2).max(1);
                }
                Verdict::Instead(other) => self.push_front(other),
            }
        }
        Ok(None)
    }

    fn push_front(&mut self, offset: u64) {
        let entry = self.entry(offset, false);
        self.queue.push_front(entry);
    }

    fn entry(&mut self, offset: u64, planned: bool) -> Entry<P> {
        self.requests += 1;
        Entry {
            request: self.requests,
            offset,
            planned,
            sent: 0,
            state: State::Wanted,
        }
    }
}

/// A scan that has lost its place, which only a defect can cause.
pub(crate) fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a scan has lost its place")
}
