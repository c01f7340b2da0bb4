//! Fixed windows: recognised by their edges, where the remaining count jumps up as no other way of counting allows; and
//! aligned with, where they follow a clock. Times are in seconds, which are windows as well.
//!
//! If the edges of windows are known, neither latency nor jitter costs requests, provided that all requests fit between
//! the edges. Windows that open with a request are left to the even pace, which comes within two points of the optimum
//! for them. Such windows reveal themselves when they count a first request in the window before, which becomes more
//! likely with each window of a trial.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, NOISE_FLOOR, RESERVED, SentRequest};

/// Two counts further apart than this may have more than one edge between them.
const NEAR: f64 = 0.3;
/// A jump is at least this part of the limit.
const JUMP: f64 = 0.4;
/// And ends this part of the limit above what a sliding window could show. Where windows are known to be fixed, a rise
/// by as much is an edge as well, however long it took.
const BEYOND: f64 = 0.2;
/// This many edges that fit one clock are believed.
const AGREEING: u32 = 3;
/// An alignment that was wrong is not tried again for this long.
const RETRY_ALIGNMENT_AFTER: f64 = 15.0;

/// The times between which a window began, taken as send times: a request sent after the end is counted in the new window,
/// however fast it travels, and one sent before the start would, as fast, have been counted in the old one.
pub(super) type Edge = Range<f64>;

/// The edges so far, and the alignment with them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// Between which counts the remaining ones rose last; none before they have jumped.
    pub(super) last: Option<Edge>,
    /// The common phase of the latest edges, and the number of these edges.
    common: Option<(Edge, u32)>,
    pub(super) alignment: Option<Alignment>,
    barred_until: f64,
}

impl Windows {
    /// Takes in a response; whether its count is the first one that jumped as only those of fixed windows do.
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
        // One that was overtaken by a later request says nothing about an edge.
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

    /// The beginning of the window in which a request was sent, or `None` if unknown.
    pub(super) fn begun(&self, sent: f64) -> Option<&Edge> {
        self.last.as_ref().filter(|last| sent < last.end + 1.0)
    }
}

/// The phase that an edge shares with older ones and their number, or `None` if they are not whole windows apart.
fn agreed(newer: &Edge, (older, agreeing): (Edge, u32)) -> Option<(Edge, u32)> {
    let windows = (newer.start - older.start).round();
    let both = newer.start.max(older.start + windows)..newer.end.min(older.end + windows);
    (windows >= 1.0 && both.start <= both.end).then(|| (both, agreeing.saturating_add(1)))
}

/// The drift of clocks after which a first request falls into the window before, and the edges are found again.
const DRIFT: f64 = 0.01;
/// A request may be faster than any before it, by this part of the least round trip; as the first of a window, it
/// would fall into the one before.
const RTT_DROP_MARGIN: f64 = 0.3;
/// Windows for which the first request goes alone, and one less is sent: should windows open with a request after all,
/// a first request that is faster than those before it falls into the window before, and is the only one to.
const TRIAL: u32 = 3;
/// There is one more, up to two, for each such part of a window that round trips vary by, from the least to the mean: a
/// first request that is slower by chance betrays nothing.
const JITTER_PER_TRIAL: f64 = 0.02;
/// The time that is left free at the end of a window, as a multiple of the difference between the least and the mean
/// round trip.
const END_MARGIN: f64 = 1.5;
/// Requests are no closer than this part of an even pace, however little time is left.
const MIN_GAP_PART: f64 = 0.3;
/// A remaining count this low or lower cannot be that of one of the first requests of a window.
const LOW: f64 = 3.0;
/// The number of our requests that are the first ones of a window.
const FIRST: usize = 4;
/// Weight of one window in the estimate of what others take.
const WEIGHT: f64 = 0.25;
/// Part of a step, at that pace, for which the end of a window is kept free.
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
    /// The requests of other clients in a window, as an estimate.
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

    /// Our requests of this window.
    fn own<'a>(&self, ledger: &'a Ledger) -> impl Iterator<Item = &'a SentRequest> {
        let begun = self.edge.end;
        let entries = ledger.entries.iter();
        entries.filter(move |entry| entry.sent() >= begun)
    }

    /// The least count of this window.
    fn least(&self, ledger: &Ledger) -> Option<f64> {
        let shown = self.own(ledger).filter_map(|entry| entry.remaining);
        shown.reduce(f64::min)
    }

    /// Moves on to the window of `now`.
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

    /// The time at which the next window begins, or is entered. A trial window in which nothing was seen is repeated.
    fn next_window(&self, ledger: &Ledger) -> f64 {
        let next = self.edge.end + 1.0;
        match self.trial {
            0 => next,
            _ if self.least(ledger).is_none() => next,
            1 => next + self.late,
            _ => next - self.step,
        }
    }

    /// Takes in a count; false when there can be no such count in this window, so that the alignment is wrong.
    fn seen(&mut self, now: f64, entry: &SentRequest, limit: f64, ledger: &Ledger) -> bool {
        self.roll(now, limit, ledger);
        let before = |other: &&SentRequest| other.sent() <= entry.sent();
        entry.sent() < self.edge.end
            || entry.remaining > Some(LOW)
            || self.own(ledger).filter(before).count() > FIRST
    }

    /// The time at which the next request may go.
    pub(super) fn next(&mut self, now: f64, limit: f64, ledger: &Ledger) -> f64 {
        self.roll(now, limit, ledger);
        let begun = self.edge.end;
        let last = ledger.nth_last_sent(1);
        if last < begun {
            return begun; // one request a window goes whatever the others do, to see what is left
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
