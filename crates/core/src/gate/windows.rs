//! Fixed windows: recognised by their edges, where the remaining count jumps up as no other way of counting allows; and
//! aligned with, where they follow a clock. Times are in seconds, which are windows as well.
//!
//! Within windows whose edges are known neither latency nor jitter costs anything, as long as all requests fit between the
//! edges. Windows that open with a request are left to the even pace, which is within two points of the best on them; they
//! betray themselves by counting a first request in the window before, which each window of a trial makes more likely.

use serde::{Deserialize, Serialize};

use super::ledger::{Entry, Ledger};
use super::pace::{LEFT_ALONE, NOTICED, unseen};

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
const BARRED: f64 = 15.0;

/// The times between which a window began, taken as send times: a request sent after `latest` is counted in the new
/// window, however fast it travels, and one sent before `earliest` would, as fast, have been counted in the old one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Edge {
    pub(super) earliest: f64,
    pub(super) latest: f64,
}

impl Edge {
    /// What both edges allow, if they are whole windows apart.
    fn agreeing_with(self, older: Self) -> Option<Self> {
        let windows = (self.latest - older.latest).round();
        let earliest = self.earliest.max(older.earliest + windows);
        let latest = self.latest.min(older.latest + windows);
        (windows >= 1.0 && earliest <= latest).then_some(Self { earliest, latest })
    }
}

/// The newest edge, and what the edges so far have in common.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    /// Between which counts the remaining ones rose last; none before they have jumped.
    pub(super) last: Option<Edge>,
    common: Option<Edge>,
    agreeing: u32,
    pub(super) alignment: Option<Alignment>,
    barred_until: f64,
}

impl Windows {
    /// Takes in a count; whether it is the first one that jumped as only those of fixed windows do.
    pub(super) fn seen(
        &mut self,
        now: f64,
        (entry, remaining): (&Entry, f64),
        is_exact: bool,
        limit: f64,
        ledger: &Ledger,
    ) -> bool {
        if let Some(alignment) = &mut self.alignment {
            if alignment.seen(now, (entry, remaining), is_exact, limit, ledger) {
                return false;
            }
            *self = Self {
                last: self.last,
                barred_until: now + BARRED,
                ..Self::default()
            };
        }
        // One that was overtaken by a later request says nothing about an edge.
        let mut newest = ledger.shown().filter(|(it, _)| it.ticket != entry.ticket);
        let Some((newest, before)) = newest.next().filter(|(it, _)| it.sent() < entry.sent())
        else {
            return false;
        };
        let (sent, floor) = (newest.sent(), ledger.floor());
        let edge = Edge {
            earliest: sent,
            latest: (now - floor).max(sent),
        };
        let rise = remaining - before;
        let has_jumped = entry.sent() <= sent + NEAR
            && rise >= JUMP * limit
            && remaining + f64::from(entry.own) >= (1.0 + BEYOND) * limit;
        let is_first = has_jumped && self.last.is_none();
        if has_jumped || self.last.is_some() && rise >= BEYOND * limit {
            self.last = Some(edge);
        }
        if has_jumped {
            let agreed = self.common.and_then(|older| edge.agreeing_with(older));
            self.agreeing = agreed.map_or(1, |_| self.agreeing.saturating_add(1));
            let common = agreed.unwrap_or(edge);
            self.common = Some(common);
            if self.agreeing >= AGREEING && now >= self.barred_until {
                self.alignment = Some(Alignment::new(common, floor));
            }
        }
        is_first
    }

    /// When the window began in which a request was sent, where that is known.
    pub(super) fn begun(&self, sent: f64) -> Option<Edge> {
        self.last.filter(|last| sent < last.latest + 1.0)
    }
}

/// How far clocks may drift before a first request falls into the window before, whereupon the edges are found anew.
const DRIFT: f64 = 0.01;
/// A request may be faster than any before it, by this part of the least round trip; as the first of a window, it
/// would fall into the one before.
const SURPRISE: f64 = 0.3;
/// Windows for which the first request goes alone, and one less is sent: should windows open with a request after all,
/// a first request that is faster than those before it falls into the window before, and is the only one to.
const TRIAL: u32 = 3;
/// So many times what round trips vary by, from the least to the mean, are left free at the end of a window.
const LATE: f64 = 1.5;
/// Requests are no closer than this part of an even pace, however little time is left.
const CLOSEST: f64 = 0.3;
/// A count this low cannot be among the first of a window,
const LOW: f64 = 3.0;
/// which are so many requests of ours.
const FIRST: usize = 4;
/// Weight of one window in the estimate of what others take.
const WEIGHT: f64 = 0.25;
/// What others take while it is not seen, for sure: their mean, and a fifth for its variation; but no more than this.
const FOR_SURE: f64 = 1.2;
const MAX_UNSEEN: f64 = 8.0;
/// Part of a step, at that pace, for which the end of a window is kept free.
const SPARE: f64 = 0.6;

/// An alignment with the server's windows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Alignment {
    trial: u32,
    /// Each window of the trial is entered so much sooner than the one before, using up what the edge is late for
    /// caution. A window that opens with our request could follow only if that were slower by as much, each time.
    step: f64,
    /// Where the current window began.
    edge: Edge,
    /// What others take in a window.
    others: f64,
    /// The server said the last time, to a part of a second, when the window ends.
    is_exact: bool,
}

impl Alignment {
    fn new(edge: Edge, floor: f64) -> Self {
        let caution = DRIFT + floor * SURPRISE;
        Self {
            trial: TRIAL,
            step: caution.min(0.25) / f64::from(TRIAL - 1),
            edge: Edge {
                earliest: edge.earliest - DRIFT,
                latest: edge.latest + caution,
            },
            others: 0.0,
            is_exact: false,
        }
    }

    /// Whether it can be that of a state that was used last at `used`.
    pub(super) fn is_valid(&self, used: f64) -> bool {
        let Edge { earliest, latest } = self.edge;
        (0.0..used + 2.0).contains(&latest) && earliest <= latest && self.step.abs() < 1.0
    }

    /// Our requests of this window.
    fn own<'a>(&self, ledger: &'a Ledger) -> impl Iterator<Item = &'a Entry> {
        let latest = self.edge.latest;
        ledger
            .entries
            .iter()
            .filter(move |entry| entry.sent() >= latest)
    }

    /// The least count of this window.
    fn least(&self, ledger: &Ledger) -> Option<f64> {
        self.own(ledger)
            .filter_map(|entry| entry.remaining)
            .reduce(f64::min)
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
        self.edge.earliest += begin - self.edge.latest;
        self.edge.latest = begin;
    }

    /// When the next window begins, or is entered. Where nothing was seen in one of the trial, it is tried again.
    fn next_window(&self, ledger: &Ledger) -> f64 {
        let next = self.edge.latest + 1.0;
        match self.trial {
            0 => next,
            _ if self.least(ledger).is_none() => next,
            1 => next + self.step * f64::from(TRIAL - 1),
            _ => next - self.step,
        }
    }

    /// Takes in a count; false when there can be no such count in this window, so that the alignment is wrong.
    fn seen(
        &mut self,
        now: f64,
        (entry, remaining): (&Entry, f64),
        is_exact: bool,
        limit: f64,
        ledger: &Ledger,
    ) -> bool {
        self.roll(now, limit, ledger);
        let sent = entry.sent();
        if sent < self.edge.latest {
            return true;
        }
        self.is_exact = is_exact;
        let before = |other: &&Entry| other.sent() <= sent;
        remaining > LOW || self.own(ledger).filter(before).count() > FIRST
    }

    /// When the next request may go.
    pub(super) fn next(&mut self, now: f64, limit: f64, ledger: &Ledger) -> f64 {
        self.roll(now, limit, ledger);
        let Edge { earliest, latest } = self.edge;
        let last = ledger.last_sent();
        if last < latest {
            return latest; // one request a window goes whatever the others do, to see what is left
        }
        let next_window = self.next_window(ledger);
        let on_trial = self.trial > 0;
        let others = if self.others < NOTICED {
            0.0
        } else {
            self.others
        };
        // A request that finds the budget used up makes us wait, but here perhaps no longer than the window lasts anyway.
        let is_harmless = others == 0.0 && self.is_exact;
        let spared = if is_harmless { 0.0 } else { LEFT_ALONE };
        let reserve = spared + f64::from(u8::from(on_trial));
        let unseen = (FOR_SURE * unseen(others, ledger)).min(MAX_UNSEEN);
        let least = self.least(ledger);
        let left = least.unwrap_or(limit) - ledger.in_flight().count() as f64 - reserve - unseen;
        let ours = limit - reserve - others - self.own(ledger).count() as f64;
        if left < 1.0 || ours < 1.0 || (on_trial && least.is_none()) {
            return next_window;
        }
        let late = LATE * (ledger.mean - ledger.floor()).max(0.0);
        let end = (earliest + latest) / 2.0 + 1.0 - late;
        let even = (end - last).max(0.0) / (ours + SPARE);
        (last + even.max(CLOSEST / limit)).min(next_window)
    }
}
