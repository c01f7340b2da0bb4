//! A member of a budget on a server, as a pure function of the time: its send slots, the time at which it asks for
//! more, and its pace while the server cannot be reached.

use super::server::{Ask, MAX_SLOTS, Observations, Reply};
use crate::budget::gate::{
    Admission, Endpoint, Failures, LastMinute, MemberStats, Outage, Pauses, PriorityClass,
    RateHeaders, RequestOutcome, Rules, Ticket, WINDOW, is_failure,
};
use crate::budget::membership::MemberIdentity;
use crate::budget::options::REQUESTS_PER_SECOND;
use crate::clock::Time;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The limit, as rates are written.
const LIMIT: f64 = REQUESTS_PER_SECOND as f64;
/// The lateness from which a send slot is not used. It grows while slots are missed.
const MAX_LATENESS: Duration = Duration::from_millis(25);
/// The maximum lateness of a used send slot, after many slots were missed.
const MAX_LATENESS_AFTER_MISSES: Duration = Duration::from_millis(400);
/// The factor by which each slot that is used in time shrinks the tolerated lateness again.
const LATENESS_SHRINK: f64 = 0.9;
/// The maximum number of unanswered requests at any time: three seconds at full pace. Beyond it, the service is not
/// keeping up.
const MAX_IN_FLIGHT: usize = 128;
/// The wait after which a scan asks with the next higher class, so that no scan waits forever.
const PATIENCE: Duration = Duration::from_secs(5);
/// The wait for a scan's send slot from which a single call asks for its own slot instead.
const MAX_WAIT_FOR_SCAN_SLOT: Duration = Duration::from_millis(100);
/// The time, in addition to a round trip, by which send slots are requested before they are needed.
const TIMER_MARGIN: Duration = Duration::from_millis(2);
/// The factor by which the longest round trip shrinks with each reply.
const ROUND_TRIP_SHRINK: f64 = 0.95;
/// The longest round trip grows at most to twice its value plus this time, because a single late reply says little.
const ROUND_TRIP_GROWTH: Duration = Duration::from_millis(20);
/// The time until the next question after one without a reply.
const RETRY_AFTER_SILENCE: Duration = Duration::from_millis(100);
/// The time after the last grant for which other members may still have send slots of the same state.
const SLOTS_KNOWN_FOR: Duration = Duration::from_secs(10);
/// The interval at which waiting requests check whether the service is still down.
const RECHECK_OUTAGE_AFTER: Duration = Duration::from_millis(250);

/// The reason why the server cannot be reached, and the fixed intervals at which requests are sent until it can.
#[derive(Debug)]
struct Unreachable {
    reason: String,
    /// The time of the next question.
    retry: Time,
    interval: Duration,
    next: Time,
}

/// The member.
#[derive(Debug, Default)]
pub(super) struct RedisMember {
    identity: MemberIdentity,
    /// The part of the limit that it may use, above 0 and at most 1.
    share: f64,
    /// True if the member continues while the server cannot be reached.
    shares: bool,
    seen: Observations,
    /// The client rule, which no server relaxes.
    rules: Rules,
    pauses: Pauses,
    sends: u64,
    /// The outage as the server knows it, or as this member knows it while the server cannot be reached.
    failures: Failures,
    outage: Outage,
    /// The send slots by their times, with their numbers.
    slots: BTreeMap<Time, u64>,
    late: Duration,
    last_sent: Time,
    /// The requests in flight, and the numbers of their send slots.
    in_flight: HashMap<Ticket, Option<u64>>,
    last_minute: LastMinute,
    class: PriorityClass,
    waiting_since: Option<Time>,
    /// True if the next report must reach the other members at once.
    is_urgent: bool,
    /// The send time of the pending question.
    question: Option<Time>,
    asked_class: PriorityClass,
    /// The earliest time of the next question.
    again: Time,
    granted: Time,
    round_trip: Duration,
    members: u32,
    rate: f64,
    unreachable: Option<Unreachable>,
    random: fastrand::Rng,
}

impl RedisMember {
    /// Creates a member that has not asked yet.
    pub(super) fn new(identity: MemberIdentity, share: f64, shares: bool) -> Self {
        RedisMember {
            share,
            shares,
            late: MAX_LATENESS,
            members: 1,
            rate: LIMIT,
            random: fastrand::Rng::with_seed(identity.id),
            identity,
            ..RedisMember::default()
        }
    }

    /// Asks to send one request now.
    pub(super) fn take(
        &mut self,
        now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Result<Admission, String> {
        self.class = class;
        self.waiting_since.get_or_insert(now);
        while let Some(first) = self.slots.first_entry()
            && *first.key() + self.late < now
        {
            first.remove();
            self.late = (2 * self.late).min(MAX_LATENESS_AFTER_MISSES);
        }
        let wait = |earliest, again, outage| {
            Ok(Admission::Wait {
                earliest,
                again,
                outage,
            })
        };
        let until = self.rules.until(endpoint);
        if until > now {
            return wait(until, until, None);
        }
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            return wait(now, Time::MAX, None);
        }
        let asks = self.ask_at(now).filter(|at| *at > now);
        let (at, number) = match (self.slots.first_key_value(), &self.unreachable) {
            (Some((at, number)), _) => (*at, Some(*number)),
            (None, Some(pacer)) if self.shares && !self.outage.is_probed(now) => {
                (pacer.next.max(self.outage.probe_at), None)
            }
            _ if self.failures.is_outage() => {
                return wait(
                    now,
                    asks.unwrap_or(now + RECHECK_OUTAGE_AFTER),
                    Some(self.failures),
                );
            }
            (None, Some(unreachable)) if !self.shares => {
                return Err(unreachable.reason.clone());
            }
            // Wait until the server replies, or until fewer requests are in flight.
            _ => return wait(now, asks.unwrap_or(Time::MAX), None),
        };
        let at = at.max(self.own_share_from());
        if at > now {
            return wait(now, asks.map_or(at, |asks| asks.min(at)), None);
        }
        Ok(Admission::Admitted(self.send(now, number, endpoint)))
    }

    fn send(&mut self, now: Time, number: Option<u64>, endpoint: Endpoint) -> Ticket {
        if number.is_some() {
            self.slots.pop_first();
            self.late = self.late.mul_f64(LATENESS_SHRINK).max(MAX_LATENESS);
        } else if let Some(pacer) = &mut self.unreachable {
            pacer.next = (pacer.next + pacer.interval).max(now + pacer.interval / 2);
        }
        self.waiting_since = None;
        self.last_sent = now;
        self.last_minute.count(now);
        self.sends += 1;
        let ticket = Ticket {
            id: self.sends,
            sent: now,
            endpoint,
        };
        self.outage.sent(ticket);
        self.in_flight.insert(ticket, number);
        ticket
    }

    /// Returns the time at which the configured share admits the next request.
    fn own_share_from(&self) -> Time {
        let part = LIMIT * self.share;
        if self.share < 1.0 && !self.last_sent.is_zero() {
            self.last_sent + WINDOW.div_f64(part)
        } else {
            Time::ZERO
        }
    }

    /// Records the outcome of a request.
    pub(super) fn report(&mut self, now: Time, ticket: Ticket, outcome: &RequestOutcome) {
        let sent = self.in_flight.remove(&ticket);
        let (status, headers) = match outcome {
            RequestOutcome::Unsent | RequestOutcome::Lost => return self.outage.lost(now, ticket),
            RequestOutcome::Failed { .. } => return self.failed(now, ticket),
            RequestOutcome::Answered(status, headers) => (*status, headers),
        };
        let Some(number) = sent else { return };
        let limit = REQUESTS_PER_SECOND;
        let (is_common, must_wait) = self.rules.response(now, ticket, status, headers, limit);
        let until = self.rules.until(Endpoint::Api);
        self.pauses.note(now, status, headers, until);
        if is_failure(status, headers) {
            self.failed(now, ticket);
        } else {
            self.outage.succeeded(now, ticket);
            (self.seen.ok, self.seen.failed) = (Some(now.as_secs_f64()), None);
            self.is_urgent |= self.failures.count > 0;
        }
        if !is_common {
            return;
        }
        if must_wait {
            self.is_urgent = true;
            self.seen.used_up = self.seen.used_up.max(number);
        }
        self.note(number, headers);
    }

    fn failed(&mut self, now: Time, ticket: Ticket) {
        self.outage.failed(now, ticket);
        self.seen.failed = Some(self.seen.failed.unwrap_or(0) + 1);
        self.seen.ago = Some(now.saturating_sub(ticket.sent).as_secs_f64());
        self.is_urgent = true;
    }

    /// Records the count that a response shows. If there are several counts, the smallest one applies.
    fn note(&mut self, number: Option<u64>, headers: &RateHeaders) {
        // Some gateways write "no limit" as 0.
        let (Some(limit @ 1..), Some(remaining), Some(number)) =
            (headers.limit, headers.remaining, number)
        else {
            return;
        };
        let theirs = headers.window.unwrap_or(WINDOW);
        let per_second = 1.0 / theirs.min(WINDOW).as_secs_f64();
        let report = &mut self.seen;
        report.shown = Some(f64::from(limit) * per_second);
        let remaining = remaining as f64 * per_second.min(1e6);
        if theirs > WINDOW {
            (report.left, report.seen, report.remaining) = (Some(remaining), Some(number), None);
            report.resets = headers.reset.map(|reset| reset.as_secs_f64()).or(Some(0.0));
        } else if report.left.is_none() && report.remaining.is_none_or(|least| remaining <= least) {
            (report.remaining, report.seen) = (Some(remaining), Some(number));
        }
    }

    /// Returns the time of the next question to the server; `None` until an event makes one necessary.
    pub(super) fn ask_at(&self, now: Time) -> Option<Time> {
        if self.question.is_some() || !self.is_urgent && self.waiting_since.is_none() {
            return None;
        }
        let due = match (self.slots.first_key_value(), self.class) {
            _ if let Some(it) = &self.unreachable => it.retry,
            _ if self.is_urgent => now,
            (Some((first, _)), PriorityClass::Single) => {
                let is_far = *first > now + MAX_WAIT_FOR_SCAN_SLOT
                    && self.asked_class != PriorityClass::Single;
                return is_far.then_some(now);
            }
            (_, class) => {
                let more = self.slots.last_key_value().map_or(now, |(last, _)| {
                    // The question should arrive at the time of the last send slot, or in time for the one after it.
                    let turn = Duration::from_secs_f64(f64::from(self.members) / self.rate);
                    let in_time = (self.round_trip + TIMER_MARGIN).saturating_sub(turn);
                    last.saturating_sub(in_time.max(self.round_trip / 2))
                });
                let own = self
                    .own_share_from()
                    .saturating_sub(self.round_trip + MAX_LATENESS);
                let is_sooner = class < self.asked_class;
                let again = if is_sooner { now } else { self.again };
                more.max(again).max(own)
            }
        };
        Some(due.max(now))
    }

    /// Returns the next question, which is sent now.
    pub(super) fn ask(&mut self, now: Time) -> Ask {
        let waits = self.waiting_since.is_some();
        let waited = now.saturating_sub(self.waiting_since.unwrap_or(now));
        let class = match self.class {
            PriorityClass::Background if waited >= PATIENCE => PriorityClass::Scan,
            PriorityClass::Scan if waited >= PATIENCE => PriorityClass::Single,
            class => class,
        };
        // The number of send slots that this member can use in one and a half round trips.
        let per_trip = 1.5 * self.round_trip.as_secs_f64() * self.rate / f64::from(self.members);
        let pause = self.rules.until(Endpoint::Api).saturating_sub(now);
        let slots = match class {
            _ if !waits || !pause.is_zero() => 0,
            PriorityClass::Single => 1,
            PriorityClass::Scan | PriorityClass::Background => (1 + per_trip as u32).min(MAX_SLOTS),
        };
        let max_wait = self.pauses.trusted_until.saturating_sub(now).max(WINDOW);
        let knows = !self.granted.is_zero() && now < self.granted + SLOTS_KNOWN_FOR;
        let mut seen = std::mem::take(&mut self.seen);
        seen.ok = seen.ok.map(|at| now.as_secs_f64() - at);
        seen.pause = (self.is_urgent && !pause.is_zero()).then_some(pause.as_secs_f64());
        // A scan is expected to continue.
        let waits = waits || self.class != PriorityClass::Single;
        self.is_urgent = false;
        self.question = Some(now);
        self.asked_class = class;
        Ask {
            member: format!("{:016x}", self.identity.id),
            limit: LIMIT,
            class: class as u8 + 1,
            slots,
            lead: (self.round_trip / 2 + TIMER_MARGIN).as_secs_f64(),
            leaving: false,
            known: knows.then_some(f64::from(self.members) / self.rate),
            max_wait: max_wait.as_secs_f64(),
            random: self.random.f64(),
            about: MemberStats {
                waiting: waits.then(|| self.class.name().to_owned()),
                sent_last_minute: self.last_minute.sum(now),
                ..self.identity.about.clone()
            },
            seen,
        }
    }

    /// Returns the last question of the member, which leaves the budget.
    pub(super) fn leaving(&mut self, now: Time) -> Ask {
        Ask {
            slots: 0,
            leaving: true,
            ..self.ask(now)
        }
    }

    /// Records a reply of the server.
    pub(super) fn received(&mut self, now: Time, reply: &Reply) {
        let Some(sent) = self.question.take() else {
            return;
        };
        let round_trip = now.saturating_sub(sent);
        let grown = round_trip.min(2 * self.round_trip + ROUND_TRIP_GROWTH);
        self.round_trip = self.round_trip.mul_f64(ROUND_TRIP_SHRINK).max(grown);
        self.unreachable = None;
        (self.members, self.rate) = (reply.members.max(1), reply.rate);
        // The best estimate is that the server read its clock in the middle of the round trip.
        let here = |there: f64| sent + round_trip / 2 + seconds(there - reply.now);
        self.again = here(reply.again).saturating_sub(round_trip / 2);
        for slot in 0..reply.slots {
            self.granted = now;
            let at = here(reply.first + f64::from(slot) / reply.rate);
            self.slots.insert(at, reply.number + u64::from(slot));
        }
        self.failures = Failures {
            count: reply.failures,
            since: sent.saturating_sub(seconds(reply.now - reply.since)),
        };
        if self.failures.is_outage() && reply.slots == 0 {
            self.slots.clear();
        }
        if reply.pause > reply.now {
            let until = here(reply.pause - 0.001);
            self.slots.retain(|at, _| *at >= until);
        }
    }

    /// Records that no reply will come, and the reason.
    pub(super) fn unanswered(&mut self, now: Time, reason: &str) {
        self.question = None;
        let own = self.share * LIMIT;
        let rate = (self.rate / f64::from(self.members)).min(own);
        let interval = Duration::from_secs_f64(1.0 / rate.max(0.01));
        let first = (self.last_sent + interval).max(now);
        self.unreachable = Some(Unreachable {
            reason: reason.to_owned(),
            retry: now + RETRY_AFTER_SILENCE,
            interval,
            next: self.unreachable.as_ref().map_or(first, |it| it.next),
        });
    }
}

/// Limits a time from outside to a plausible range.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 1e6)).unwrap_or_default()
}
