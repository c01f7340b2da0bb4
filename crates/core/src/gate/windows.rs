//! Recognises fixed windows by their edges, where the remaining count jumps up as no other way of counting allows, and
//! tells windows that follow a clock from those that open with a request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Count, Time};

/// Two counts further apart than this, in windows, may have more than one edge between them.
const NEAR: f64 = 0.3;
/// A jump is at least this part of the limit.
const JUMP: f64 = 0.4;
/// And ends this part of the limit above what a sliding window could show. Where windows are known to be fixed, a rise
/// by as much is an edge as well, however long it took.
const BEYOND: f64 = 0.2;
/// Edges this many windows apart are still compared: the next may go unseen during a pause.
const COMPARED: u32 = 4;
/// This many edges that fit one clock are believed.
const AGREEING: u32 = 3;

/// The times between which a window began, taken as send times: a request sent after `latest` is counted in the new
/// window, however fast it travels, and one sent before `earliest` would, as fast, have been counted in the old one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Edge {
    pub(super) earliest: Time,
    pub(super) latest: Time,
}

impl Edge {
    pub(super) fn is_valid(self) -> bool {
        self.earliest <= self.latest
    }

    /// What both edges allow, if they are a few whole windows apart.
    fn agreeing_with(self, older: Self, window: Duration) -> Option<Self> {
        (1..=COMPARED).find_map(|windows| {
            let earliest = self.earliest.max(older.earliest + window * windows);
            let latest = self.latest.min(older.latest + window * windows);
            (earliest <= latest).then_some(Self { earliest, latest })
        })
    }
}

/// The newest count, the newest edge, and what the edges so far have in common.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Windows {
    newest: Option<(Time, f64)>,
    /// Between which counts the remaining ones rose last: with fixed windows, an edge.
    last: Option<Edge>,
    common: Option<Edge>,
    agreeing: u32,
}

/// What the newest count says about windows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sign {
    /// Nothing.
    None,
    /// The server counts in fixed windows.
    Fixed,
    /// And they follow a clock, with this edge.
    Clock(Edge),
}

impl Windows {
    /// Whether values that were read can be.
    pub(super) fn is_valid(&self) -> bool {
        let edges = [self.last, self.common].into_iter().flatten();
        edges.into_iter().all(Edge::is_valid)
            && self
                .newest
                .is_none_or(|(_, left)| (0.0..=1e9).contains(&left))
    }

    /// When the window of a request that was sent at `sent` began, where that was seen; for fixed windows.
    pub(super) fn begun(&self, sent: Time, window: Duration) -> Option<Edge> {
        self.last.filter(|edge| sent < edge.latest + window)
    }

    /// Compares a count with the one before; `floor` is the least round trip.
    pub(super) fn seen(&mut self, count: &Count, window: Duration, floor: Duration) -> Sign {
        let newest = self.newest;
        if newest.is_some_and(|(sent, _)| count.sent <= sent) {
            return Sign::None; // overtaken by a later request
        }
        self.newest = Some((count.sent, count.remaining));
        let Some((before, remaining)) = newest else {
            return Sign::None;
        };
        let edge = Edge {
            earliest: before,
            latest: count.received.saturating_sub(floor).max(before),
        };
        if count.remaining >= remaining + BEYOND * count.limit {
            self.last = Some(edge);
        }
        let jumped = count.sent <= before + window.mul_f64(NEAR)
            && count.remaining >= remaining + JUMP * count.limit
            && count.remaining >= count.limit - count.own + BEYOND * count.limit;
        if !jumped {
            return Sign::None;
        }
        let agreed = self
            .common
            .and_then(|older| edge.agreeing_with(older, window));
        self.agreeing = if agreed.is_some() {
            self.agreeing + 1
        } else {
            1
        };
        let common = agreed.unwrap_or(edge);
        self.common = Some(common);
        if self.agreeing >= AGREEING {
            Sign::Clock(common)
        } else {
            Sign::Fixed
        }
    }
}
