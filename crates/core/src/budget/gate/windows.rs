//! Fixed windows. They are recognised by their edges, where the remaining count jumps up more than with any other way
//! of counting. If they follow a clock, requests are aligned with them. Times are in seconds, and a window is one
//! second.
//!
//! If the edges of windows are known, neither latency nor jitter costs requests, provided that all requests fit between
//! the edges. Windows that open with a request are left to the even pace, which comes within two points of the optimum
//! for them. Such windows reveal themselves when they count a first request in the window before, which becomes more
//! likely with each window of a trial.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, NOISE_FLOOR, RESERVED, SentRequest};

/// The largest distance between two counts that have at most one edge between them.
const NEAR: f64 = 0.3;
/// The smallest jump, as a part of the limit.
const JUMP: f64 = 0.4;
/// A jump must also end this part of the limit above the largest count of a sliding window. If windows are known to be
/// fixed, a rise of this size is an edge, even if it took longer.
const BEYOND: f64 = 0.2;
/// The number of edges with the same phase that prove that windows follow a clock.
const AGREEING: u32 = 3;
/// The time for which no alignment is tried after a wrong one.
const RETRY_ALIGNMENT_AFTER: f64 = 15.0;

/// The interval in which a window began, in send times of the fastest requests. A request that is sent after its end is
/// counted in the new window regardless of its speed. A request that was sent before its start, and was as fast, was
/// counted in the old window.
pub(super) type Edge = Range<f64>;

/// The edges so far, and the alignment with them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// The send times of the counts between which the remaining count rose last, or `None` before the first jump.
    pub(super) last: Option<Edge>,
    /// The common phase of the latest edges, and the number of these edges.
    common: Option<(Edge, u32)>,
    pub(super) alignment: Option<Alignment>,
    barred_until: f64,
}

impl Windows {
    /// Records a response. Returns whether its count is the first one with a jump that only fixed windows can cause.
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
        // A request that was overtaken by a later one is no evidence about an edge.
        let mut shown = ledger.shown();
        let newest = shown.next().filter(|(it, _)| it.ticket == entry.ticket);
        let (Some((_, remaining)), Some((before, left))) = (newest, shown.next()) else {
            return false;
        };
        let sent = before.sent();
        let edge = sent..(now - ledger.floor()).max(sent);
        let rise = remaining - left;
        let has_jumped = entry.sent() <= sent + NEAR
            && rise >= JUMP * limit
            && remaining + f64::from(entry.own) >= (1.0 + BEYOND) * limit;
        let is_first = has_jumped && self.last.is_none();
        if has_jumped {
            let older = self.common.take();
            let agreed = older.and_then(|older| agreed(&edge, older));
            let (common, agreeing) = agreed.unwrap_or((edge.clone(), 1));
            if agreeing >= AGREEING && now >= self.barred_until {
                self.alignment = Some(Alignment::new(&common, ledger));
            }
            self.common = Some((common, agreeing));
        }
        if has_jumped || self.last.is_some() && rise >= BEYOND * limit {
            self.last = Some(edge);
        }
        is_first
    }

    /// Returns the beginning of the window in which a request was sent, or `None` if it is unknown.
    pub(super) fn begun(&self, sent: f64) -> Option<&Edge> {
        self.last.as_ref().filter(|last| sent < last.end + 1.0)
    }
}

/// Returns the phase that an edge shares with older ones, and their number; `None` if they are not whole windows apart.
fn agreed(newer: &Edge, (older, agreeing): (Edge, u32)) -> Option<(Edge, u32)> {
    let windows = (newer.start - older.start).round();
    let both = newer.start.max(older.start + windows)..newer.end.min(older.end + windows);
    (windows >= 1.0 && both.start <= both.end).then(|| (both, agreeing.saturating_add(1)))
}

/// The clock drift after which a first request falls into the previous window, and the edges must be found again.
const DRIFT: f64 = 0.01;
/// The part of the least round trip by which a request may be faster than all earlier ones. As the first request of a
/// window, it would fall into the previous window.
const RTT_DROP_MARGIN: f64 = 0.3;
/// The number of trial windows, in which the first request is sent alone, and one request less is sent. If windows open
/// with a request after all, a first request that is faster than the earlier ones falls into the previous window, and
/// no other request does.
const TRIAL: u32 = 3;
/// For each such part of a window between the least and the mean round trip, the trial has one more window, up to two
/// more. A first request that is slower by chance reveals nothing.
const JITTER_PER_TRIAL: f64 = 0.02;
/// The time that is left free at the end of a window, as a multiple of the difference between the least and the mean
/// round trip.
const END_MARGIN: f64 = 1.5;
/// The smallest gap between requests, as a part of an even pace, even if little time is left.
const MIN_GAP_PART: f64 = 0.3;
/// A remaining count this low or lower cannot be that of one of the first requests of a window.
const LOW: f64 = 3.0;
/// The number of our requests that are the first ones of a window.
const FIRST: usize = 4;
/// The weight of one window in the estimate of the requests of others.
const WEIGHT: f64 = 0.25;
/// The part of a gap between requests that is kept free at the end of a window.
const END_SPARE: f64 = 0.6;

/// An alignment with the server's windows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alignment {
    trial: u32,
    /// The safety margin after an edge.
    late: f64,
    /// Each window of the trial is entered so much sooner than the one before, using up what the edge is late for
    /// caution. A window that opens with our request could follow only if that were slower by as much, each time.
    step: f64,
    /// The beginning of the current window.
    pub(super) edge: Edge,
    /// The estimated number of requests of other clients in a window.
    others: f64,
}

impl Alignment {
    fn new(edge: &Edge, ledger: &Ledger) -> Self {
        let caution = DRIFT + ledger.floor() * RTT_DROP_MARGIN;
        let trial = TRIAL + ((ledger.mean - ledger.floor()) / JITTER_PER_TRIAL).min(2.0) as u32;
        Self {
            trial,
            late: caution.min(0.25),
            step: caution.min(0.25) / f64::from(trial - 1),
            edge: edge.start - DRIFT..edge.end + caution,
            others: 0.0,
        }
    }

    /// Returns our requests in this window.
    fn own<'a>(&self, ledger: &'a Ledger) -> impl Iterator<Item = &'a SentRequest> {
        let begun = self.edge.end;
        let entries = ledger.entries.iter();
        entries.filter(move |entry| entry.sent() >= begun)
    }

    /// Returns the least count in this window.
    fn least(&self, ledger: &Ledger) -> Option<f64> {
        let shown = self.own(ledger).filter_map(|entry| entry.remaining);
        shown.reduce(f64::min)
    }

    /// Advances to the window of `now`.
    fn roll(&mut self, now: f64, limit: f64, ledger: &Ledger) {
        let next = self.next_window(ledger);
        if now < next {
            return;
        }
        if let Some(least) = self.least(ledger) {
            self.trial = self.trial.saturating_sub(1);
            let shown = self.own(ledger).filter(|entry| entry.remaining.is_some());
            let others = (limit - least - shown.count() as f64).max(0.0);
            self.others += WEIGHT * (others - self.others);
        }
        let begin = next + (now - next).floor();
        self.edge = self.edge.start + begin - self.edge.end..begin;
    }

    /// Returns the time at which the next window begins, or is entered during a trial. A trial window without a count
    /// is repeated.
    fn next_window(&self, ledger: &Ledger) -> f64 {
        let next = self.edge.end + 1.0;
        match self.trial {
            0 => next,
            _ if self.least(ledger).is_none() => next,
            1 => next + self.late,
            _ => next - self.step,
        }
    }

    /// Records a count. Returns false if this window cannot have such a count, so that the alignment is wrong.
    fn seen(&mut self, now: f64, entry: &SentRequest, limit: f64, ledger: &Ledger) -> bool {
        self.roll(now, limit, ledger);
        let before = |other: &&SentRequest| other.sent() <= entry.sent();
        entry.sent() < self.edge.end
            || entry.remaining > Some(LOW)
            || self.own(ledger).filter(before).count() > FIRST
    }

    /// Returns the time at which the next request may be sent.
    pub(super) fn next(&mut self, now: f64, limit: f64, ledger: &Ledger) -> f64 {
        self.roll(now, limit, ledger);
        let begun = self.edge.end;
        let last = ledger.nth_last_sent(1);
        if last < begun {
            return begun; // one request is sent in each window, to see the count
        }
        let next_window = self.next_window(ledger);
        let on_trial = self.trial > 0;
        let others = if self.others < NOISE_FLOOR {
            0.0
        } else {
            self.others
        };
        let reserve = RESERVED + f64::from(u8::from(on_trial));
        let unseen = ledger.unseen(others);
        let least = self.least(ledger);
        let left = least.unwrap_or(limit) - ledger.in_flight().count() as f64 - reserve - unseen;
        let ours = limit - reserve - others - self.own(ledger).count() as f64;
        if left < 1.0 || ours < 1.0 || (on_trial && least.is_none()) {
            return next_window;
        }
        let late = END_MARGIN * (ledger.mean - ledger.floor()).max(0.0);
        let end = (self.edge.start + begun) / 2.0 + 1.0 - late;
        let even = (end - last).max(0.0) / (ours + END_SPARE);
        (last + even.max(MIN_GAP_PART / limit)).min(next_window)
    }
}
