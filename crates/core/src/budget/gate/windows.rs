//! Finds fixed windows by their edges, where the remaining count rises more than any other way of counting allows. If
//! the windows follow a clock, requests are aligned with them. Times are in seconds, and a window is one second.
//!
//! ```text
//!              |<------------- 1 s ------------->|
//!            edge                              edge
//!           |----|                            |----|
//!     ------+----+------R---R---R---R---R-----+----+------R---R---> send time (R: a request)
//!                |<---->|               |<--->|    |<---->|
//!              entry delay            end margin  entry delay
//! ```
//!
//! An edge is an interval, because it is only known between which two requests the window began. The entry delay keeps
//! the first request clear of the previous window. During a trial, each window is entered one step sooner than the one
//! before.
//!
//! If the edges of windows are known, neither latency nor jitter costs requests, provided that all requests fit between
//! the edges. If each window opens with a request instead, the even pace is kept, which comes within two percentage
//! points of the optimum. The trial detects such windows: they count its first requests in the previous window, which
//! becomes more likely with each step.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, NOISE_FLOOR, RESERVED, SentRequest};

/// The maximum distance, in seconds, between two counts that have at most one edge between them.
const MAX_COUNT_DISTANCE_S: f64 = 0.3;
/// The minimum rise of the remaining count at an edge, as a part of the limit.
const MIN_RISE: f64 = 0.4;
/// The minimum part of the limit by which a count after an edge exceeds the largest count of a sliding window. If
/// windows are known to be fixed, a rise of this size is an edge, even if it took longer.
const MIN_EXCESS: f64 = 0.2;
/// The number of edges with the same phase from which requests are aligned, because windows then follow a clock.
const EDGES_TO_ALIGN: u32 = 3;
/// The time without alignment after a wrong one.
const RETRY_ALIGNMENT_AFTER: f64 = 15.0;

/// The interval in which a window began, in send times of the fastest requests. A request that is sent after the
/// interval is counted in the new window regardless of its speed. A request that was as fast as the fastest and was
/// sent before the interval was counted in the old window.
pub(super) type Edge = Range<f64>;

/// The edges that were found, and the alignment with them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// The latest edge; `None` before the first one.
    pub(super) last: Option<Edge>,
    /// The phase that the latest edges share, and the number of these edges.
    common: Option<(Edge, u32)>,
    pub(super) alignment: Option<Alignment>,
    barred_until: f64,
}

impl Windows {
    /// Records a response. Returns whether its count shows the first rise that only fixed windows can cause.
    pub(super) fn seen(
        &mut self,
        now: f64,
        entry: &SentRequest,
        limit: f64,
        ledger: &Ledger,
    ) -> bool {
        if let Some(alignment) = &mut self.alignment {
            if alignment.seen(now, entry, limit, ledger) {
                return false;
            }
            *self = Self {
                last: self.last.take(),
                barred_until: now + RETRY_ALIGNMENT_AFTER,
                ..Self::default()
            };
        }
        // A request that a later one overtook says nothing about an edge.
        let mut shown = ledger.shown();
        let newest = shown.next().filter(|(it, _)| it.ticket == entry.ticket);
        let (Some((_, remaining)), Some((before, left))) = (newest, shown.next()) else {
            return false;
        };
        let sent = before.sent();
        let edge = sent..(now - ledger.floor()).max(sent);
        let rise = remaining - left;
        let is_edge = entry.sent() <= sent + MAX_COUNT_DISTANCE_S
            && rise >= MIN_RISE * limit
            && remaining + f64::from(entry.own) >= (1.0 + MIN_EXCESS) * limit;
        let is_first = is_edge && self.last.is_none();
        if is_edge {
            let older = self.common.take();
            let shared = older.and_then(|older| shared_phase(&edge, older));
            let (common, edges) = shared.unwrap_or((edge.clone(), 1));
            if edges >= EDGES_TO_ALIGN && now >= self.barred_until {
                self.alignment = Some(Alignment::new(&common, ledger));
            }
            self.common = Some((common, edges));
        }
        if is_edge || self.last.is_some() && rise >= MIN_EXCESS * limit {
            self.last = Some(edge);
        }
        is_first
    }

    /// Returns the beginning of the window in which a request was sent; `None` if it is unknown.
    pub(super) fn window_of(&self, sent: f64) -> Option<&Edge> {
        self.last.as_ref().filter(|last| sent < last.end + 1.0)
    }
}

/// Returns the phase that an edge shares with older edges, and the number of all these edges; `None` if the distance
/// is not a whole number of windows.
fn shared_phase(newer: &Edge, (older, edges): (Edge, u32)) -> Option<(Edge, u32)> {
    let windows = (newer.start - older.start).round();
    let both = newer.start.max(older.start + windows)..newer.end.min(older.end + windows);
    (windows >= 1.0 && both.start <= both.end).then(|| (both, edges.saturating_add(1)))
}

/// The drift of the server's clock against ours for which an edge leaves room.
const CLOCK_DRIFT: f64 = 0.01;
/// The part of the shortest round trip by which a request may be faster than all earlier ones. As the first request of
/// a window, it would otherwise fall into the previous window.
const RTT_DROP_MARGIN: f64 = 0.3;
/// The number of trial windows. In each of them, the first request is sent alone, and one request fewer is sent in
/// total. If windows open with a request, a first request that is faster than the earlier ones falls into the previous
/// window, and no other request does.
const MIN_TRIAL_WINDOWS: u32 = 3;
/// The difference between the mean and the shortest round trip that adds one window to the trial, up to two. A first
/// request that is slower by chance reveals nothing.
const JITTER_PER_TRIAL: f64 = 0.02;
/// The time without requests at the end of a window, as a multiple of the difference between the shortest and the mean
/// round trip.
const END_MARGIN: f64 = 1.5;
/// The minimum gap between requests if little time is left, as a part of the gap of an even pace.
const MIN_GAP_PART: f64 = 0.3;
/// The maximum count that none of the first requests of a window can show.
const MAX_LOW_COUNT: f64 = 3.0;
/// The number of our requests that count as the first ones of a window.
const FIRST_REQUESTS: usize = 4;
/// The weight of one window in the estimate of the requests of others.
const WINDOW_WEIGHT: f64 = 0.25;
/// The part of a gap between requests that stays free at the end of a window.
const END_SPARE: f64 = 0.6;

/// An alignment with the server's windows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alignment {
    /// The number of trial windows that remain.
    trial: u32,
    /// The safety margin between an edge and the first request.
    entry_delay: f64,
    /// The time by which each window of the trial is entered sooner than the one before. All steps together use up the
    /// entry delay. A window that opens with our request could follow only if the request were slower by one step each
    /// time.
    entry_step: f64,
    /// The edge at which the current window began.
    pub(super) window_start: Edge,
    /// The estimated number of requests of other clients in a window.
    others: f64,
}

impl Alignment {
    fn new(edge: &Edge, ledger: &Ledger) -> Self {
        let margin = CLOCK_DRIFT + ledger.floor() * RTT_DROP_MARGIN;
        let entry_delay = margin.min(0.25);
        let trial =
            MIN_TRIAL_WINDOWS + ((ledger.mean - ledger.floor()) / JITTER_PER_TRIAL).min(2.0) as u32;
        Self {
            trial,
            entry_delay,
            entry_step: entry_delay / f64::from(trial - 1),
            window_start: edge.start - CLOCK_DRIFT..edge.end + margin,
            others: 0.0,
        }
    }

    /// Returns our requests in this window.
    fn our_requests<'a>(&self, ledger: &'a Ledger) -> impl Iterator<Item = &'a SentRequest> {
        let start = self.window_start.end;
        let entries = ledger.entries.iter();
        entries.filter(move |entry| entry.sent() >= start)
    }

    /// Returns the lowest remaining count that a response showed in this window.
    fn lowest_remaining(&self, ledger: &Ledger) -> Option<f64> {
        let shown = self
            .our_requests(ledger)
            .filter_map(|entry| entry.remaining);
        shown.reduce(f64::min)
    }

    /// Advances to the window of `now`.
    fn roll(&mut self, now: f64, limit: f64, ledger: &Ledger) {
        let next = self.next_window(ledger);
        if now < next {
            return;
        }
        if let Some(lowest_remaining) = self.lowest_remaining(ledger) {
            self.trial = self.trial.saturating_sub(1);
            let shown = self
                .our_requests(ledger)
                .filter(|entry| entry.remaining.is_some());
            let others = (limit - lowest_remaining - shown.count() as f64).max(0.0);
            self.others += WINDOW_WEIGHT * (others - self.others);
        }
        let begin = next + (now - next).floor();
        self.window_start = self.window_start.start + begin - self.window_start.end..begin;
    }

    /// Returns the time at which the next window begins or, during a trial, is entered. A trial window without a count
    /// is repeated.
    fn next_window(&self, ledger: &Ledger) -> f64 {
        let next = self.window_start.end + 1.0;
        match self.trial {
            0 => next,
            _ if self.lowest_remaining(ledger).is_none() => next,
            1 => next + self.entry_delay,
            _ => next - self.entry_step,
        }
    }

    /// Records a count. Returns false if the count contradicts this window, so that the alignment is wrong.
    fn seen(&mut self, now: f64, entry: &SentRequest, limit: f64, ledger: &Ledger) -> bool {
        self.roll(now, limit, ledger);
        let before = |other: &&SentRequest| other.sent() <= entry.sent();
        entry.sent() < self.window_start.end
            || entry.remaining > Some(MAX_LOW_COUNT)
            || self.our_requests(ledger).filter(before).count() > FIRST_REQUESTS
    }

    /// Returns the time at which the next request may be sent.
    pub(super) fn next(&mut self, now: f64, limit: f64, ledger: &Ledger) -> f64 {
        self.roll(now, limit, ledger);
        let start = self.window_start.end;
        let last = ledger.nth_last_sent(1);
        if last < start {
            return start; // one request is sent in each window, to see the count
        }
        let next_window = self.next_window(ledger);
        let is_trial = self.trial > 0;
        let others = if self.others < NOISE_FLOOR {
            0.0
        } else {
            self.others
        };
        let reserve = RESERVED + f64::from(u8::from(is_trial));
        let unseen = ledger.unseen(others);
        let lowest_remaining = self.lowest_remaining(ledger);
        let left = lowest_remaining.unwrap_or(limit)
            - ledger.in_flight().count() as f64
            - reserve
            - unseen;
        let ours = limit - reserve - others - self.our_requests(ledger).count() as f64;
        if left < 1.0 || ours < 1.0 || (is_trial && lowest_remaining.is_none()) {
            return next_window;
        }
        let end_margin = END_MARGIN * (ledger.mean - ledger.floor()).max(0.0);
        let end = (self.window_start.start + start) / 2.0 + 1.0 - end_margin;
        let even_gap = (end - last).max(0.0) / (ours + END_SPARE);
        (last + even_gap.max(MIN_GAP_PART / limit)).min(next_window)
    }
}
