//! The gate's knowledge of the way in which the server counts, and the time of the next request that follows from it.
//! The pace is even until more is known. If the budget refills continuously, the whole limit is used. If windows follow
//! a clock, requests are aligned with them. The gate also estimates how much other clients take from the same budget,
//! and leaves it to them. Times are in seconds, and a window is one second.
//!
//! The even pace is right under any policy if no more requests are sent at once than there are slots. A slot is free
//! again when its request and the next one can no longer be counted in the same window. With one slot less than the
//! limit, slots alone keep every server that counts in windows or in a log from showing 0, regardless of the latency.
//! The even pace does the same for sliding counters, and leaves room for other clients.
//!
//! The remaining counts show how many requests may share a window. A count of 0 means one of two things. If we spent
//! the budget alone, the server counts more strictly than it seemed, and one slot is removed. If others spent from it,
//! too, a part of the slots is removed. Slots come back while the counts leave room.

use serde::{Deserialize, Serialize};

use super::ledger::{COUNT_MARGIN, Ledger, NOISE_FLOOR, RESERVED, SentRequest};
use super::windows::Windows;

/// The number of slots that stay unused until responses show that the server allows them. A sliding counter never does.
/// Other servers do within seconds.
const INITIAL_RESERVE: f64 = 1.0;
/// The smallest number of slots. With fewer, the responses would teach nothing.
const MIN_SLOTS: f64 = 2.0;
/// The part of a window over which the pace is averaged, so that a timer that fires a millisecond late costs no
/// requests.
const EVEN_SPAN: f64 = 0.3;
/// The shortest gap between requests, as a part of the even gap.
const MIN_GAP_PART: f64 = 0.95;
/// The gap between requests to a token bucket, as a part of the gap that the limit demands.
const CATCH_UP_REFILL: f64 = 0.92;
/// The number of windows that must agree before slots grow.
const AGREEING_WINDOWS: f64 = 3.0;
/// The part of the observed room that is used at each step.
const ROOM_USED_PER_STEP: f64 = 0.4;
/// The count that is assumed for a response without one.
const ASSUMED_COUNT: f64 = 6.0;
/// The time for which slots that were reduced because of an assumed count are not tried again.
const ASSUMED_COUNT_HOLD_S: f64 = 20.0;
/// The smallest part of the slots that stays in use next to other clients.
const MIN_SLOTS_PART: f64 = 0.8;
/// The part of the limit above which our own requests rule out that others have spent the rest.
const OWN_PART: f64 = 0.82;
/// The time for which a failed number of slots is not tried again.
const FAILED_SLOTS_HOLD_S: f64 = 60.0;

/// The evidence that the budget refills. Under a window policy, the requests that are left and those that we sent add
/// up to about the limit during the last quarter of each window. If the sum is at least this multiple of the limit for
/// `REFILL_PROOF_S` seconds, the budget refills.
const REFILL_SUM_PART: f64 = 1.25;
/// The time for which the sum must be `REFILL_SUM_PART` times the limit.
const REFILL_PROOF_S: f64 = 0.95;
/// Below this part of the limit, a bucket may be empty before the next response.
const MIN_BUCKET_PART: f64 = 0.3;

/// The weight of one response in the estimate of the requests of others.
const RESPONSE_WEIGHT: f64 = 0.06;
/// The part of a window that must be over before a count is used to estimate the pace of others.
const MIN_WINDOW_PART: f64 = 0.3;
/// The factor of the variance of the requests of others. The square root of the product, about two and a half standard
/// deviations, is left to them.
const VARIANCE_FACTOR: f64 = 6.0;

/// The model of one server with one limit.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Pace {
    /// Requests in each window; at least 1.
    pub(super) limit: f64,
    slots: f64,
    last_overshoot: f64,
    /// A number of slots that was too high, and the time until which it is not tried again.
    failed: (f64, f64),
    /// The time since which counts are compared, and the least of those that are evidence about the slots.
    span: (f64, f64),
    /// The estimated number of requests of other clients in a window.
    others: f64,
    /// The time since which counts are so high that only a bucket can show them. `refills` is true if that is proof.
    high_since: Option<f64>,
    pub(super) refills: bool,
    pub(super) windows: Windows,
}

impl Pace {
    /// Creates the model of a server that allows `limit` requests in each window. It assumes other clients until the
    /// counts show that there are none.
    pub(super) fn new(limit: f64) -> Self {
        let mut new = Self {
            limit: limit.max(1.0),
            span: (0.0, f64::INFINITY),
            others: 2.0 * NOISE_FLOOR,
            ..Self::default()
        };
        new.slots = (new.most() - INITIAL_RESERVE).max(1.0);
        new
    }

    /// Returns whether a state that was read is plausible, with this limit and `used` as the time of its last use.
    pub(super) fn is_valid(&self, limit: f64, used: f64) -> bool {
        let mut numbers = [self.slots, self.others, self.last_overshoot, self.span.0].into_iter();
        let alignment = self.windows.alignment.as_ref();
        (1.0..=limit).contains(&self.limit)
            && numbers.all(f64::is_finite)
            && alignment.is_none_or(|it| it.window_start.end < used + 2.0)
    }

    /// Returns the number of requests per window at which the pace aims.
    pub(super) fn aim(&self) -> f64 {
        if self.refills { self.limit } else { self.slots }
    }

    /// Returns the maximum number of slots. All of them are used if the server is known to leave us this many.
    fn most(&self) -> f64 {
        (self.limit - RESERVED).max(1.0)
    }

    /// Returns the time at which the next request may be sent.
    pub(super) fn next(&mut self, now: f64, ledger: &Ledger) -> f64 {
        let last = ledger.nth_last_sent(1);
        if self.refills {
            return last + CATCH_UP_REFILL / self.limit;
        }
        if let Some(alignment) = &mut self.windows.alignment {
            return alignment.next(now, self.limit, ledger);
        }
        let gap = 1.0 / self.slots.max(1.0);
        let run = (EVEN_SPAN * self.slots).ceil();
        let even = (last + MIN_GAP_PART * gap).max(ledger.nth_last_sent(run as usize) + run * gap);
        even.max(self.slot_free(ledger)).max(self.clear_at(ledger))
    }

    /// Returns the time at which the oldest request that holds a slot frees it.
    fn slot_free(&self, ledger: &Ledger) -> f64 {
        let mut counted_by: Vec<_> = ledger.entries.iter().map(|it| it.counted_by).collect();
        counted_by.sort_by(|one, other| other.total_cmp(one));
        let oldest = counted_by.get((self.slots.ceil() as usize).saturating_sub(1));
        oldest.map_or(0.0, |oldest| oldest + 1.0)
    }

    /// Returns the earliest time at which a request is expected to leave enough for the other clients: their estimated
    /// use, and more than the usual deviation from it. It is at most one window after the newest count, which is no
    /// evidence for longer.
    fn clear_at(&self, ledger: &Ledger) -> f64 {
        let Some((newest, left)) = ledger.shown().next().filter(|_| self.others >= NOISE_FLOOR)
        else {
            return 0.0;
        };
        let sent = newest.sent();
        let need = RESERVED + (VARIANCE_FACTOR * ledger.unseen(self.others - NOISE_FLOOR)).sqrt();
        let missing = need - (left - ledger.sent_between(sent, f64::INFINITY) - 1.0);
        let latest = sent + ledger.mean + 1.0;
        if let Some(window_start) = self.windows.window_of(sent) {
            // The budget gets nothing back before the end of the window, and until then the others continue to take
            // their part.
            return latest.min(window_start.end + 1.0) - (-missing).max(0.0) / self.others;
        }
        if missing <= 0.0 {
            return 0.0;
        }
        // Each of our requests that drops out of the window adds one to the count.
        let counted = ledger.entries.iter().map(SentRequest::sent);
        let mut counted = counted.filter(|it| *it <= sent && *it + 1.0 > sent);
        let enough = counted.nth((missing.ceil() as usize).saturating_sub(1));
        enough.map_or(latest, |it| latest.min(it + 1.0))
    }

    /// Records that a request found the budget exhausted, or was refused.
    pub(super) fn overshoot(&mut self, now: f64, entry: &SentRequest) {
        if self.windows.alignment.is_some() || entry.sent() <= self.last_overshoot {
            return; // seen before, by a request that was under way together with this one
        }
        (self.last_overshoot, self.span) = (now, (now, f64::INFINITY));
        let own = f64::from(entry.own) - RESERVED;
        let alone = OWN_PART * self.limit;
        self.slots = if own >= alone {
            let failed = self.slots.ceil();
            self.failed = (failed, now + FAILED_SLOTS_HOLD_S);
            (failed - 1.0).max(alone)
        } else {
            if entry.remaining.is_none() {
                self.failed = (self.slots - 1.0, now + ASSUMED_COUNT_HOLD_S);
            }
            own.min(self.slots - 1.0).max(self.slots * MIN_SLOTS_PART)
        };
        self.slots = self.slots.max(MIN_SLOTS).min(self.most());
    }

    /// Records a response.
    pub(super) fn seen(&mut self, now: f64, entry: &SentRequest, ledger: &Ledger) {
        let own = f64::from(entry.own);
        if let Some(remaining) = entry.remaining {
            self.seek_refill(now, remaining, own);
            if self.windows.seen(now, entry, self.limit, ledger) {
                self.slots = self.most(); // the windows are fixed, and leave us all slots
            }
            self.estimate_others(entry, remaining, ledger);
        }
        // A window that we did not fill up to the margin is no evidence about a filled one.
        if own >= ((self.slots - 1.0) / (1.0 + COUNT_MARGIN)).floor() {
            let remaining = entry.remaining.unwrap_or(ASSUMED_COUNT);
            self.span.1 = self.span.1.min(remaining);
        }
        // If others have taken slots, the slots that they leave may be used immediately.
        let others_took = self.slots < OWN_PART * self.limit;
        if now < self.span.0 + if others_took { 1.0 } else { AGREEING_WINDOWS } {
            return;
        }
        let room = self.span.1 - RESERVED;
        let is_held = now < self.failed.1 && self.slots + 1.0 >= self.failed.0;
        if room >= 1.0 && room.is_finite() && !is_held {
            self.slots = (self.slots + ROOM_USED_PER_STEP * room).min(self.most());
        }
        self.span = (now, f64::INFINITY);
    }

    /// Distinguishes a budget that refills continuously, such as a token bucket, from one that is counted in windows.
    fn seek_refill(&mut self, now: f64, remaining: f64, own: f64) {
        let is_high = self.refills || remaining + own >= REFILL_SUM_PART * self.limit;
        let is_high = is_high && remaining >= MIN_BUCKET_PART * self.limit;
        self.high_since = is_high.then(|| self.high_since.unwrap_or(now));
        self.refills = self
            .high_since
            .is_some_and(|since| since + REFILL_PROOF_S <= now);
    }

    fn estimate_others(&mut self, entry: &SentRequest, remaining: f64, ledger: &Ledger) {
        let sent = entry.sent();
        let (own, part) = match self.windows.window_of(sent) {
            Some(edge) => (ledger.sent_between(edge.start, sent), sent - edge.start),
            None => (f64::from(entry.own), 1.0),
        };
        if part >= MIN_WINDOW_PART {
            let others = (self.limit - remaining - own).max(0.0) / part;
            self.others += RESPONSE_WEIGHT * (others - self.others);
        }
    }
}
