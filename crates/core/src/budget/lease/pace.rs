//! The rate of all members together: what the limit allows, less what is seen to be too much and what others take.

use super::state::{Pace, SECOND, State};
use super::{Ask, Count, Micros};

/// Nobody's request may be the one that sees nothing left, which would cost a pause.
const LEFT_ALONE: f64 = 1.0;
/// Requests a second that are not used.
const CAUTION: f64 = 1.0;
/// More than that at first: at 38 a second, counters that slide show every now and then that nothing is left.
const CAUTION_AT_FIRST: f64 = 1.5;
/// Fewer will do where the service gives back many at once. With none, a window would be used up whenever one request is
/// on its way for a little longer than the others.
const CAUTION_IN_WINDOWS: f64 = 0.5;
/// A count shows that when so much of the limit is left,
const MUCH_LEFT: f64 = 0.5;
/// although members had so much of it within the second before.
const MUCH_SPENT: f64 = 0.7;
/// It is believed for so long.
const BELIEVED: Micros = 60e6;
/// Slower than this, nothing would be learned any more.
const SLOWEST: f64 = 1.0;
/// The rate is lowered by this much, in requests a second; in short succession, from the third time on, by twice as much
/// each time.
const STEP: f64 = 0.5;
/// Doublings of that, at most.
const MOST_DOUBLINGS: f64 = 4.0;
/// Shortages so close to each other are of one succession.
const SUCCESSION: Micros = 10e6;
/// A higher rate is tried after this long,
const FIRST_HOLD: Micros = 10e6;
/// and one that was too much after this long, doubled each time.
const HOLD: Micros = 60e6;
/// Then the rate is raised by so much each second.
const RAISE: f64 = 0.1;
/// When so many requests are left over, the rate may be raised at once,
const ROOM: f64 = 4.0;
/// by this part of them,
const PART_OF_ROOM: f64 = 0.2;
/// and by so many at most.
const MOST_RAISE: f64 = 3.0;
/// Counts for so much of the requests of a second say something.
const TELLING: f64 = 0.5;
/// Weight of one second in the estimate of what others take.
const WEIGHT: f64 = 0.3;
/// Less than this cannot be told from jitter.
const NOTICED: f64 = 3.0;

impl Pace {
    fn most(&self) -> f64 {
        (self.limit - LEFT_ALONE).max(SLOWEST)
    }

    fn is_roomy(&self, now: Micros) -> bool {
        now < self.roomy + BELIEVED
    }

    /// The highest rate that may be tried while nothing is left over.
    fn ceiling(&self, now: Micros) -> f64 {
        let caution = match self.is_roomy(now) {
            true => CAUTION_IN_WINDOWS,
            false => CAUTION,
        };
        (self.most() - caution).max(SLOWEST)
    }

    /// The highest rate that may be tried where much is left over.
    fn highest(&self, now: Micros) -> f64 {
        match self.is_roomy(now) {
            true => self.most(),
            false => self.ceiling(now),
        }
    }

    /// Requests a second of all members together.
    pub(super) fn rate(&self) -> f64 {
        let others = if self.others >= NOTICED {
            self.others
        } else {
            0.0
        };
        self.cap.min(self.most() - others).max(SLOWEST)
    }

    /// The time between two slots.
    pub(super) fn gap(&self) -> Micros {
        (SECOND / self.rate()).ceil()
    }

    fn adopt(&mut self, limit: f64) {
        if limit != self.limit {
            self.limit = limit;
            self.roomy = -BELIEVED;
            self.cap = (self.most() - CAUTION_AT_FIRST).max(SLOWEST);
            self.others = 0.0;
            self.start_window(self.window);
        }
    }

    fn start_window(&mut self, now: Micros) {
        self.window = now;
        self.counts = 0.0;
        self.peak = 0.0;
        self.least = self.limit;
    }

    /// A request sent at `sent` saw nothing left, or was refused. Those that were under way together are one shortage.
    fn lower(&mut self, now: Micros, sent: Micros) {
        if sent <= self.lowered || now < self.lowered + SECOND {
            return;
        }
        if now < self.lowered + SUCCESSION {
            self.streak += 1.0;
        } else {
            self.streak = 0.0;
            self.failures += 1.0;
        }
        let step = STEP * 2_f64.powf((self.streak - 1.0).clamp(0.0, MOST_DOUBLINGS));
        self.cap = (self.rate() - step).max(SLOWEST);
        self.lowered = now;
        self.calm = now;
    }

    /// Raises the rate by `more`, up to `most`; one that is already higher stays.
    fn try_rate(&mut self, more: f64, most: f64) {
        self.cap = (self.cap + more).min(most).max(self.cap);
    }

    fn raise(&mut self, now: Micros) {
        let hold = match self.failures {
            0.0 => FIRST_HOLD,
            failures => HOLD * 2_f64.powf((failures - 1.0).min(MOST_DOUBLINGS)),
        };
        if now >= self.calm + hold {
            let since = (now - self.raised) / SECOND;
            self.try_rate(RAISE * since, self.ceiling(now));
        }
        self.raised = now;
    }

    /// `own` slots fell into the second before the request of the count was sent.
    fn seen(&mut self, now: Micros, count: Count, own: f64) {
        if count.sent < self.blind {
            return;
        }
        if count.remaining >= MUCH_LEFT * self.limit && own >= MUCH_SPENT * self.limit {
            self.roomy = now;
            if self.failures == 0.0 {
                // Nothing has spoken against the highest rate yet.
                self.cap = self.cap.max(self.ceiling(now));
            }
        }
        self.peak = self.peak.max(self.limit - count.remaining - own);
        // A second that members have not filled, after a pause for one, says nothing about one that they have.
        if own >= MUCH_SPENT * self.rate() {
            self.least = self.least.min(count.remaining);
            self.counts += 1.0;
        }
        if now < self.window + SECOND {
            return;
        }
        self.others += WEIGHT * (self.peak - self.others);
        if self.counts >= TELLING * self.rate() {
            let room = self.least - LEFT_ALONE;
            if room >= ROOM {
                self.try_rate((PART_OF_ROOM * room).min(MOST_RAISE), self.highest(now));
            }
        }
        self.start_window(now);
    }
}

impl State {
    /// Takes up what the member reports.
    pub(super) fn take_up(&mut self, now: Micros, ask: &Ask) {
        let report = &ask.report;
        let shown = report.count.map(|count| count.limit);
        match shown {
            Some(limit) => self.pace.adopt(limit.min(ask.limit).max(1.0)),
            None if self.pace.limit == 0.0 => self.pace.adopt(ask.limit.max(1.0)),
            None => {}
        }
        self.pace.raise(now);
        if let Some(count) = report.count {
            let since = count.sent - SECOND;
            let own = self.granted.iter();
            let own = own.filter(|slot| **slot > since && **slot <= count.sent);
            let own = own.count() as f64;
            self.pace.seen(now, count, own);
        }
        if let Some(sent) = report.used_up {
            self.pace.lower(now, sent);
        }
        if report.pause > 0.0 {
            self.pause = self.pause.max(now + report.pause);
        }
    }
}
