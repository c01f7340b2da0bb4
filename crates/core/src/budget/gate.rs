//! Decides when the next request may be sent, and by whom, so that almost the whole budget is used and no request is
//! refused.
//!
//! There are three layers. Each can delay a request further than the one before, and never less:
//!
//! 1. `rule` is the client rule of the service document (section 8.3), taken literally: after a 429, or a count of
//!    zero, no request is sent until the reset elapsed. It is stricter than the limit itself: resets are in whole
//!    seconds, so a pause after a count of zero can cost as much as forty requests. The other layers therefore leave
//!    one request of the budget unused. With windows, 39 of 40 requests (97.5 %) is the most that is possible.
//! 2. No window of send times has more requests than the limit, and at most 128 requests are unanswered.
//! 3. `pace` infers from the responses how the server counts, and paces requests accordingly.
//!
//! Many processes may share one gate. They read and write its state in turn, so the service sees one client. What one
//! process learns applies to all, and a pause for one is a pause for all. `turns` decides which process sends next.
//!
//! Measurements showed hardly any gain from more complexity, so the gate stays simple. Windows that open with a request
//! have no mode of their own. The margin for jitter is a fixed part of the window. The number of requests in flight is
//! limited, but not controlled. Towards clients outside the gate, it only limits itself to what they leave.

mod headers;
mod ledger;
mod outage;
mod pace;
mod rule;
#[cfg(test)]
mod tests;
mod turns;
mod windows;

use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

pub(crate) use headers::RateHeaders;
use ledger::{Ledger, SentRequest};
pub(crate) use outage::Failures;
pub(crate) use outage::Outage;
#[cfg(feature = "redis")]
pub(crate) use outage::is_failure;
use pace::Pace;
pub(crate) use rule::Rules;
pub(crate) use turns::LastMinute;
pub use turns::MemberStats;
use turns::Turns;
pub(crate) use turns::{MemberInfo, PriorityClass};

use crate::clock::Time;

/// The window of the documented limit, which counts requests per second.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);
/// The status of a request that the service refused because of its rate limit.
const TOO_MANY_REQUESTS: u16 = 429;
/// The maximum number of unanswered requests before the first response. Later, it is multiplied by one plus the number
/// of requests in a usual round trip. This is enough to keep pace, and few enough that a stalled service does not
/// receive many at once when it continues.
const MAX_UNANSWERED: f64 = 4.0;
/// The maximum number of unanswered requests at any time: three seconds at full pace. Beyond it, the service is not
/// keeping up.
const MAX_IN_FLIGHT: usize = 128;
/// The time without a response that names a lower limit, after which the gate returns to the higher one. Endpoints may
/// name different limits.
const LOWER_LIMIT_LASTS: Duration = Duration::from_secs(10);
/// The time after which the requests of a member that was not seen count as lost.
const SILENT: Duration = Duration::from_secs(2);
/// The time after which a gate that waits for a response is asked again, because another member may have received it.
const POLL: Duration = Duration::from_millis(10);
/// The longest time until a member asks again, because others may have changed the state.
const MAX_ASK_INTERVAL: Duration = Duration::from_millis(250);
/// The part of its expected wait after which a member asks again if it is not next in turn. Once it is next, it
/// receives the exact time.
const ASK_AGAIN_PART: f64 = 0.8;
/// The time after which a member that was not seen expires. The learned model expires if no member was seen for this
/// long.
const EXPIRE_AFTER: Duration = Duration::from_secs(60);
/// A limit for points in time, in seconds: no host has been up for that long.
const MAX_UPTIME_S: f64 = 1e9;
/// The longest gap between two requests that the learned model may cause, in seconds, whether or not it is right.
const LONGEST_GAP: f64 = 1.5;

/// A request that was sent. Its sender reports the outcome with it.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) sent: Time,
    pub(crate) endpoint: Endpoint,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// The request was not sent after all.
    Unsent,
    /// The caller no longer waits for a response. The server may have counted the request.
    Lost,
    /// The request failed without a response, or its response broke off.
    Failed {
        /// True if the server may have counted it. If no connection was made, the request does not count.
        sent: bool,
    },
    /// A response arrived, with this status.
    Answered(u16, RateHeaders),
}

/// The purpose of a request. Limits are learned by endpoint class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Endpoint {
    /// The token endpoint, which may have a limit of its own.
    Token,
    /// All other endpoints.
    Api,
}

/// The answer to a member that wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The member may send immediately. The request counts as sent.
    Admitted(Ticket),
    /// The member may not send before `earliest`, and perhaps later. It is expected to ask again at `again`.
    Wait {
        /// The earliest time at which the member may send, unless the state changes before.
        earliest: Duration,
        /// The time to ask again.
        again: Duration,
        /// The failures that hold requests back, if they are the reason.
        outage: Option<Failures>,
    },
}

/// The pauses that the service asked one process for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pauses {
    /// The time until which the process must wait.
    until: Time,
    /// The latest time that a response named. Pauses that other processes report are trusted up to this time.
    pub(crate) trusted_until: Time,
}

impl Pauses {
    /// Records a response, after which the pause of all processes lasts until `until`.
    pub(crate) fn note(
        &mut self,
        now: Duration,
        status: u16,
        headers: &RateHeaders,
        until: Duration,
    ) {
        let waits = [headers.reset, headers.retry_after, headers.window];
        let longest = waits.into_iter().flatten().max().unwrap_or_default();
        if headers.remaining == Some(0) || status == TOO_MANY_REQUESTS {
            self.until = self.until.max(until);
        }
        let latest = now.saturating_add(longest).max(self.until);
        self.trusted_until = self.trusted_until.max(latest);
    }
}

/// The state of one company's budget, and of the clients that share it.
///
/// The state depends only on its inputs: it reads no clock and never waits. All times are from one monotonic clock that
/// all members share, with any epoch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SharedGate {
    /// Requests per second (service document, section 8.1). Headers can lower it, never raise it.
    limit: u32,
    /// True if the gate keeps to the limit. Otherwise it keeps only to the documented rule, for a service without a
    /// limit.
    paced: bool,
    ledger: Ledger,
    rules: Rules,
    pace: Pace,
    /// The last time at which a response named the current limit.
    limit_named: Time,
    /// The number of requests left in a longer window, if the service has one.
    left: Option<f64>,
    outage: Outage,
    turns: Turns,
    next_id: u64,
    /// The time of the last use.
    used: Time,
}

impl SharedGate {
    /// Creates a gate without any observations. It keeps to this limit if `paced` is true.
    pub(crate) fn new(limit: u32, paced: bool, now: Duration) -> Self {
        Self {
            limit,
            paced,
            pace: Pace::new(limit.into()),
            used: now,
            ..Self::default()
        }
    }

    /// Creates a gate after the loss of its state. Others may have sent any number of requests, so it first waits for
    /// one window.
    pub(crate) fn after_state_loss(limit: u32, now: Duration) -> Self {
        let mut new = Self::new(limit, true, now);
        let until = now.saturating_add(WINDOW);
        new.rules.clamp_pauses(until, until);
        new
    }

    /// Decides whether a member may send now. `now` may be slightly earlier than the times of earlier reports.
    pub(crate) fn take(
        &mut self,
        now: Duration,
        requester: &MemberInfo<'_>,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Admission {
        let id = requester.id;
        let now = self.advance(now);
        self.turns.ask(now, requester, class);
        self.expire_silent(now);
        let ready = self.ready(now, endpoint);
        let allowed = self.share_allows(requester);
        let earliest = ready.unwrap_or(now).max(now);
        let (ahead, at_once) = self.turns.ahead(now, earliest, id);
        if ready.is_some() && earliest.max(allowed) <= now && !at_once {
            return Admission::Admitted(self.send(now, endpoint, id));
        }
        let gap = WINDOW.div_f64(self.pace.aim().max(1.0));
        let turn = match ready {
            Some(_) => earliest.saturating_add(gap.mul_f64(ASK_AGAIN_PART * f64::from(ahead))),
            None => now + POLL * (1 + ahead),
        };
        let again = turn.max(allowed).min(now + MAX_ASK_INTERVAL);
        self.turns.notified(id, allowed, again);
        Admission::Wait {
            earliest: earliest.max(allowed),
            again,
            outage: self.outage.failures().filter(Failures::is_outage),
        }
    }

    /// Returns the time at which the next request to this endpoint may be sent; `None` until a response arrives or a
    /// request is lost.
    fn ready(&mut self, now: Time, endpoint: Endpoint) -> Option<Time> {
        if self.outage.is_probed(now) {
            return None;
        }
        let at = self.rules.until(endpoint).max(self.outage.probe_at);
        if !self.paced {
            return Some(at);
        }
        let in_flight = self.ledger.in_flight().count();
        let are_all_taken = in_flight > 0 && self.left.is_some_and(|left| left < 1.0);
        let max_unanswered = MAX_UNANSWERED * (1.0 + self.pace.limit * self.ledger.mean);
        let is_stalled = self.ledger.unanswered_since_last_response() as f64 >= max_unanswered;
        if in_flight >= MAX_IN_FLIGHT || are_all_taken || is_stalled {
            return None;
        }
        let paced = self.pace.next(now.as_secs_f64(), &self.ledger);
        // No window of send times may have more requests than the limit.
        let paced = paced.max(self.ledger.nth_last_sent(self.pace.limit as usize) + 1.0);
        Some(at.max(time(paced.min(self.ledger.nth_last_sent(1) + LONGEST_GAP))))
    }

    /// Returns the time at which the share of a member admits its next request, if its part of the limit is spread
    /// evenly.
    fn share_allows(&self, requester: &MemberInfo<'_>) -> Time {
        if requester.share >= 1.0 {
            return Time::ZERO;
        }
        // Even the smallest share allows one request per window.
        let part = (self.pace.limit * requester.share).floor().max(1.0);
        let own = |entry: &&SentRequest| entry.member == requester.id;
        let last = self.ledger.entries.iter().rev().find(own);
        time(last.map_or(0.0, |last| last.sent() + 1.0 / part))
    }

    fn send(&mut self, now: Time, endpoint: Endpoint, member: u64) -> Ticket {
        self.next_id = self.next_id.wrapping_add(1);
        let (id, sent) = (self.next_id, now);
        let ticket = Ticket { id, sent, endpoint };
        if self.paced {
            self.ledger.send(ticket, member);
            self.left = self.left.map(|left| left - 1.0);
        }
        self.outage.sent(ticket);
        self.turns.served(now, member);
        ticket
    }

    /// Records the outcome of a request, which is no longer in flight.
    pub(crate) fn complete(
        &mut self,
        now: Duration,
        member: u64,
        ticket: Ticket,
        outcome: &RequestOutcome,
    ) {
        let now = self.advance(now);
        // A member that left or expired is not added again.
        self.turns.0.entry(member).and_modify(|it| it.seen = now);
        self.expire_silent(now);
        self.outage.complete(now, ticket, outcome);
        match outcome {
            RequestOutcome::Unsent | RequestOutcome::Failed { sent: false } => {
                self.ledger.unsend(ticket)
            }
            RequestOutcome::Lost | RequestOutcome::Failed { sent: true } => {
                self.ledger.settle(ticket);
            }
            RequestOutcome::Answered(status, headers) => {
                self.answered(now, ticket, *status, headers)
            }
        }
    }

    fn answered(&mut self, now: Time, ticket: Ticket, status: u16, headers: &RateHeaders) {
        let limit = self.pace.limit as u32;
        let (is_common, must_wait) = self.rules.response(now, ticket, status, headers, limit);
        let remaining = headers.remaining.filter(|_| is_common).map(|it| it as f64);
        // The count of a longer window does not help to pace requests.
        let is_long = headers.window.is_some_and(|window| window > WINDOW);
        let shown = remaining.filter(|_| !is_long);
        // For an abandoned request, only the rule applies.
        let at = now.as_secs_f64();
        let entry = self.ledger.answer(at, ticket, shown);
        let Some(entry) = entry.filter(|_| is_common) else {
            return;
        };
        self.adopt_limit(now, headers);
        if headers.limit.is_some() {
            let since = self.ledger.sent_between(entry.sent(), f64::INFINITY);
            self.left = remaining.filter(|_| is_long).map(|left| left - since);
        }
        if must_wait && !(is_long && headers.remaining == Some(0)) {
            self.pace.overshoot(at, &entry);
        }
        self.pace.seen(at, &entry, &self.ledger);
    }

    /// Adopts the limit that the server names if it is lower than the configured one, converted to requests per window
    /// of ours. A longer window is obeyed in addition, and bounds the pace only by its whole limit. Everything that was
    /// learned under another limit is dropped.
    fn adopt_limit(&mut self, now: Time, headers: &RateHeaders) {
        let Some(named) = headers.limit else { return };
        if named == 0 && headers.remaining.is_some_and(|left| left > 0) {
            // Some gateways write 0 for "no limit". If requests are left, the limit is not 0.
            return;
        }
        let window = headers.window.unwrap_or(WINDOW).min(WINDOW);
        // With a limit of 0, no request could ever show that the limit has risen.
        let per_window = (f64::from(named) / window.as_secs_f64()).floor().max(1.0);
        let limit = per_window.min(self.limit.max(1).into());
        if limit > self.pace.limit && now < self.limit_named.saturating_add(LOWER_LIMIT_LASTS) {
            return;
        }
        if limit != self.pace.limit {
            self.pace = Pace::new(limit);
        }
        self.limit_named = now;
    }

    /// Removes a member that ended. Its requests in flight count as lost.
    pub(crate) fn leave(&mut self, now: Duration, member: u64) {
        let now = self.advance(now);
        self.turns.0.remove(&member);
        self.expire_silent(now);
    }

    /// Begins an operation. The gate's time never goes back.
    fn advance(&mut self, now: Time) -> Time {
        self.used = self.used.max(now);
        self.used
    }

    /// Counts the requests in flight of silent or removed members as lost.
    fn expire_silent(&mut self, now: Time) {
        let since = now.saturating_sub(SILENT);
        let member = |entry: &SentRequest| self.turns.0.get(&entry.member);
        let is_lost = |entry: &&SentRequest| member(entry).is_none_or(|it| it.seen < since);
        let lost = self.ledger.in_flight().filter(is_lost);
        let lost: Vec<Ticket> = lost.map(|entry| entry.ticket).collect();
        for ticket in lost {
            self.outage.lost(now, ticket);
            self.ledger.settle(ticket);
        }
    }

    /// Returns whether the state is so old that it no longer matters.
    pub(crate) fn is_expired(&self, now: Duration) -> bool {
        self.used.saturating_add(EXPIRE_AFTER) < now && self.paused_until() <= now
    }

    /// Returns whether a state that was read can be one of a gate that keeps to this limit. A damaged or forged state
    /// could make the gate send too fast, wait indefinitely, or fail.
    pub(crate) fn is_valid(&self, limit: u32) -> bool {
        let used = self.used.as_secs_f64();
        let is_past = |entry: &SentRequest| entry.sent() <= used;
        (self.limit, self.paced) == (limit, true)
            && used < MAX_UPTIME_S
            && self.ledger.entries.iter().all(is_past)
            && self.ledger.mean >= 0.0
            && self.pace.is_valid(limit.max(1).into(), used)
    }

    /// Limits the pauses of a state that was read. A pause lasts at most one window, or as long as the service asked
    /// this process itself to wait. So a forged pause delays nobody for longer.
    pub(crate) fn clamp_pauses(&mut self, now: Duration, pauses: &Pauses) {
        let trusted_until = pauses.trusted_until.max(now.saturating_add(WINDOW));
        self.rules.clamp_pauses(pauses.until, trusted_until);
    }

    /// Returns the time of the last use.
    pub(crate) fn last_used(&self) -> Duration {
        self.used
    }

    /// Returns the active members, those with the most requests first.
    pub(crate) fn members(&self, now: Duration) -> Vec<MemberStats> {
        self.turns.present(now)
    }

    /// Returns the current way to find the time of the next request. `universal` is even pacing, which cannot overflow
    /// a window of any kind and is right under every policy. `refill` uses the whole limit, because the budget refills
    /// faster than it is spent, as a bucket does. `aligned` is for fixed windows whose edges are known.
    pub(crate) fn mode(&self) -> &'static str {
        match self.pace.windows.alignment {
            _ if self.pace.refills => "refill",
            Some(_) => "aligned",
            None => "universal",
        }
    }

    /// Returns the number of requests per second at which all members together currently aim.
    pub(crate) fn rate(&self) -> f64 {
        self.pace.aim()
    }

    /// Returns the time until which no request may be sent, because the service asked for a pause.
    pub(crate) fn paused_until(&self) -> Duration {
        self.rules.until(Endpoint::Api)
    }
}

/// Returns the first point in time at or after this many seconds. Negative numbers give 0, and infinite ones the last
/// time.
fn time(seconds: f64) -> Time {
    Duration::from_nanos((seconds * 1e9).ceil() as u64)
}

/// Returns the next wait of a back-off: waits double up to the longest, in seconds. Half of each is random, with the
/// send time as its seed.
pub(crate) fn back_off(base: f64, doublings: u32, longest: f64, sent: Time) -> Duration {
    let seconds = (base * 2_f64.powi(doublings.min(16) as i32)).min(longest);
    let drawn = Rng::with_seed(sent.as_nanos() as u64).f64();
    Duration::from_secs_f64(seconds * (0.5 + 0.5 * drawn))
}
