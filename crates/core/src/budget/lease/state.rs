//! The state of a shared budget, as the server keeps it.

use super::{About, Micros};
use std::collections::BTreeMap;

/// A second.
pub(super) const SECOND: Micros = 1e6;
/// Scans get slots for this time ahead, or more where a member is further away, and single calls for twice that.
pub(super) const HORIZON: Micros = 100_000.0;
/// No member is further away than this: it would not get a reply in time.
pub(super) const LONGEST_LEAD: Micros = 600_000.0;
/// The most slots of one lease.
pub(super) const MOST_SLOTS: f64 = 4.0;
/// Granted slots are remembered this long: a window, and the time until a response can tell of it.
const REMEMBERED: Micros = 2.5e6;
/// A member that has not asked for so long is forgotten.
const SILENT: Micros = 10e6;
/// A waiting member may come so much later than it was told without losing its turn.
const GRACE: Micros = 100_000.0;
/// After so long without any question, those who sent before may still hold slots: the server's clock may have been set.
const QUIET: Micros = 1e6;

/// Everything that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct State {
    /// When it was last asked; 0 for a new state.
    pub(super) updated: Micros,
    /// The next free slot.
    pub(super) next: Micros,
    /// Nobody may send before this time.
    pub(super) pause: Micros,
    pub(super) pace: Pace,
    /// Slots that were given out lately.
    pub(super) granted: Vec<Micros>,
    pub(super) members: BTreeMap<u64, Seen>,
}

/// What is known about the rate.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Pace {
    /// Requests a second, as the service shows it or as configured.
    pub(super) limit: f64,
    /// The rate that has proved to be sustainable.
    pub(super) cap: f64,
    /// When it was lowered and raised last.
    pub(super) lowered: Micros,
    pub(super) raised: Micros,
    /// Since when it has not been too much.
    pub(super) calm: Micros,
    /// How often it was lowered in short succession, and how often after a while.
    pub(super) streak: f64,
    pub(super) failures: f64,
    /// When the service was last seen to give back many requests at once.
    pub(super) roomy: Micros,
    /// What others than members take, in requests a second.
    pub(super) others: f64,
    /// Counts of requests sent before this time say nothing about others.
    pub(super) blind: Micros,
    /// The current second of counts: its beginning, the number of counts, the most that others took, the least left.
    pub(super) window: Micros,
    pub(super) counts: f64,
    pub(super) peak: f64,
    pub(super) least: f64,
}

/// A member.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// When it last asked.
    pub(super) seen: Micros,
    /// When it was told to ask again; 0 where it does not wait.
    pub(super) due: Micros,
    /// Slots it has had for scans: the fewest go first.
    pub(super) turn: f64,
    /// Its slots have to be so far ahead.
    pub(super) lead: Micros,
    /// It waits for a scan in the background.
    pub(super) background: bool,
    /// It sends by a gate of its own.
    pub(super) solo: bool,
    /// What it has said of itself.
    pub(super) about: About,
}

impl Seen {
    /// Whether it waits for slots.
    pub(super) fn waits(&self, now: Micros) -> bool {
        self.due > 0.0 && self.due + GRACE >= now
    }
}

impl State {
    /// Brings the state to `now`, whatever the clock of the server has done since.
    pub(super) fn advance(&mut self, now: Micros) {
        if self.updated == 0.0 {
            // Those who sent under a state that was lost may still hold slots.
            self.next = now + HORIZON;
            self.pace.raised = now;
            self.pace.calm = now;
            self.pace.window = now;
            self.pace.blind = now + HORIZON + SECOND;
        } else if now < self.updated {
            self.shift(self.updated - now);
        } else if now > self.updated + QUIET && !self.members.is_empty() {
            self.next = self.next.max(now + HORIZON);
        }
        let horizon = HORIZON + MOST_SLOTS * self.pace.gap();
        if self.next > now + 2.0 * (horizon + LONGEST_LEAD) {
            self.next = now + horizon;
        }
        self.updated = now;
        self.granted.retain(|slot| slot + REMEMBERED > now);
        self.members.retain(|_, member| member.seen + SILENT > now);
    }

    /// What people are shown: until when nobody may send, the rate, and of each member when it last asked and what it says
    /// of itself.
    pub(crate) fn shown(&self) -> (Micros, f64, Vec<(Micros, &About)>) {
        let members = self.members.values();
        let members = members.map(|member| (member.seen, &member.about));
        (self.pause, self.pace.rate(), members.collect())
    }

    /// The clock has gone back by `by`.
    fn shift(&mut self, by: Micros) {
        let back = |time: &mut Micros| *time -= by;
        let Pace {
            lowered,
            raised,
            calm,
            roomy,
            blind,
            window,
            ..
        } = &mut self.pace;
        let times = [
            &mut self.next,
            &mut self.pause,
            lowered,
            raised,
            calm,
            roomy,
            blind,
            window,
        ];
        times.into_iter().for_each(back);
        self.granted.iter_mut().for_each(back);
        for member in self.members.values_mut() {
            back(&mut member.seen);
            back(&mut member.due);
        }
    }
}
