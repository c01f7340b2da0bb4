//! Recognises fixed windows by their edges: the remaining count jumps up, which no other way of counting allows.

use std::time::Duration;

use super::Time;

/// Two counts further apart than this, in windows, may have more than one edge between them.
const NEAR: f64 = 0.3;
/// A jump is at least this part of the limit.
const JUMP: f64 = 0.4;
/// And ends this part of the limit above what a sliding window could show.
const BEYOND: f64 = 0.2;

/// The times between which a window must have begun, taken as send times: a request sent after `latest` is counted in
/// the new window, however fast it travels, and one sent before `earliest` in the old one, unless it is slow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) earliest: Time,
    pub(super) latest: Time,
}

/// The newest count, to be compared with the next.
#[derive(Debug, Default)]
pub(super) struct Windows {
    sent: Time,
    remaining: f64,
    seen: bool,
}

impl Windows {
    /// The request sent at `sent` was answered `now` and left `remaining` of `limit`, when `own` requests were ours
    /// within a window; `floor` is the least round trip. The edge, if the count has jumped over one.
    pub(super) fn seen(
        &mut self,
        now: Time,
        sent: Time,
        window: Duration,
        floor: Duration,
        limit: f64,
        remaining: f64,
        own: f64,
    ) -> Option<Edge> {
        if self.seen && sent <= self.sent {
            return None; // overtaken by a later request
        }
        let jumped = self.seen
            && sent <= self.sent + window.mul_f64(NEAR)
            && remaining >= self.remaining + JUMP * limit
            && remaining >= limit - own + BEYOND * limit;
        let edge = Edge {
            earliest: self.sent,
            latest: now.saturating_sub(floor).max(self.sent),
        };
        (self.sent, self.remaining, self.seen) = (sent, remaining, true);
        jumped.then_some(edge)
    }
}
