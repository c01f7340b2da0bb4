//! Orders the pages of a scan: which to fetch ahead, which to show the stitcher next. Pure, too.

use super::stitch::{Slice, Stitcher, Verdict};
use super::{Consistency, Position};
use crate::error::{Error, ErrorKind, Result};
use std::collections::VecDeque;

/// How many pages are under way or waiting at most. At 40 requests a second it covers answers that
/// take more than a second, and bounds the memory of a scan.
pub(super) const AHEAD: usize = 48;
/// The same where no pace holds them back: all of them then are in the service's hands and in memory
/// at once, and more of them make nothing faster.
pub(super) const AHEAD_UNPACED: usize = 16;

/// The pages of one scan; `P` is a page as the caller knows it.
pub(crate) struct Sequence<P> {
    pub(crate) stitcher: Stitcher,
    overlap: u64,
    /// How many pages are under way or waiting at most.
    ahead: usize,
    queue: VecDeque<Entry<P>>,
    /// Where the next page ahead begins.
    next: u64,
    /// The service's latest word on how many records there are; only a hint.
    total: u64,
    tickets: u64,
}

struct Entry<P> {
    ticket: u64,
    offset: u64,
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
    /// Offset of its last record.
    pub(crate) offset: u64,
    /// Whether the list ends with it.
    pub(crate) end: bool,
}

impl<P> Sequence<P> {
    pub(crate) fn new(consistency: Consistency, resume: Option<&Position>, ahead: usize) -> Self {
        let mut stitcher = Stitcher::new(consistency);
        if let Some(position) = resume {
            stitcher.resume(position);
        }
        Sequence {
            stitcher,
            overlap: u64::from(consistency == Consistency::Complete),
            ahead,
            queue: VecDeque::new(),
            next: 0,
            total: 0,
            tickets: 0,
        }
    }

    /// The next page to ask for, by ticket and offset; none when enough are under way.
    pub(crate) fn want(&mut self) -> Option<(u64, u64)> {
        if self.queue.is_empty() {
            self.next = self.stitcher.next_offset();
            self.push_back();
        } else if self.queue.len() < self.ahead
            && self.next.saturating_add(self.overlap) < self.total
        {
            // Only the first page has told how many there are, so it is fetched alone.
            self.push_back();
        }
        let wanted = |entry: &&mut Entry<P>| matches!(entry.state, State::Wanted);
        let entry = self.queue.iter_mut().find(wanted)?;
        entry.state = State::Underway;
        Some((entry.ticket, entry.offset))
    }

    /// Takes a page that has arrived, or what went wrong with it.
    pub(crate) fn arrive(&mut self, ticket: u64, page: Result<(P, Slice)>) {
        if let Some(entry) = self.queue.iter_mut().find(|entry| entry.ticket == ticket) {
            entry.state = State::Arrived(page);
        }
    }

    /// The next page that joins; none while the scan has to wait for one.
    ///
    /// # Errors
    /// That of the page whose turn it is; `Paging` when the service makes no progress.
    pub(crate) fn join(&mut self) -> Result<Option<Joined<P>>> {
        while let Some(entry) = self.queue.pop_front() {
            let Entry {
                ticket,
                offset,
                state,
            } = entry;
            let (page, slice, again) = match state {
                State::Arrived(page) => page.map(|(page, slice)| (page, slice, false))?,
                State::Shown(page, slice) => (page, slice, true),
                State::Wanted | State::Underway => {
                    self.queue.push_front(Entry {
                        ticket,
                        offset,
                        state,
                    });
                    return Ok(None);
                }
            };
            self.total = slice.total;
            match self.stitcher.judge(&slice, again)? {
                Verdict::Deliver { fresh, end } => {
                    let offset = self.stitcher.offset();
                    return Ok(Some(Joined {
                        page,
                        fresh,
                        offset,
                        end,
                    }));
                }
                Verdict::First(earlier) => {
                    let state = State::Shown(page, slice);
                    self.queue.push_front(Entry {
                        ticket,
                        offset,
                        state,
                    });
                    self.push_front(earlier);
                }
                Verdict::Instead(other) => self.push_front(other),
            }
        }
        Ok(None)
    }

    fn push_front(&mut self, offset: u64) {
        let entry = self.entry(offset);
        self.queue.push_front(entry);
    }

    fn push_back(&mut self) {
        let entry = self.entry(self.next);
        self.queue.push_back(entry);
        self.next = self.next.saturating_add(self.stitcher.stride());
    }

    fn entry(&mut self, offset: u64) -> Entry<P> {
        self.tickets += 1;
        Entry {
            ticket: self.tickets,
            offset,
            state: State::Wanted,
        }
    }
}

/// A scan that has lost its place, which only a defect can cause.
pub(crate) fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a scan has lost its place")
}

#[cfg(test)]
mod tests;
