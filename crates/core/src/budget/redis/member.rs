//! A member of a budget on a server, as a pure function of the time: which moments it has, when it asks for more, and how it
//! goes on while the server cannot be reached.

use super::script::{Ask, MAX_MOMENTS, Reply, Report};
use crate::budget::Take;
use crate::budget::identity::Identity;
use crate::clock::Time;
use crate::gate::{
    Endpoint, Failures, GateSettings, LastMinute, MemberStats, Outage, Outcome, Pauses,
    PriorityClass, RateHeaders, Rules, Ticket, WINDOW, is_failure,
};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// A moment that has passed by this much is not used any more;
const LATE: Duration = Duration::from_millis(25);
/// where this happens again and again, by up to this much,
const LATEST: Duration = Duration::from_millis(400);
/// of which each moment that is used in time takes back a part.
const PUNCTUAL: f64 = 0.9;
/// Unanswered requests at any time: three seconds at full pace, after which the service is not keeping up.
const MAX_IN_FLIGHT: usize = 128;
/// A scan that has waited for so long asks as the class before its own does, so that nobody waits for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// A single call does not wait this long for a moment that was meant for a scan.
const SOON: Duration = Duration::from_millis(100);
/// Moments are asked for again this much before they are needed, and a round trip.
const TIMERS: Duration = Duration::from_millis(2);
/// The round trip that is believed to be the longest shrinks by this factor with each reply,
const SHRINKS: f64 = 0.95;
/// and grows to twice what it was, and this: a reply that is late but once says nothing about the way.
const GROWS: Duration = Duration::from_millis(20);
/// After a question that was not replied to, the next one comes after this long, doubled each time,
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// and at most after this long.
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// Others still know of a member for so long.
const KNOWN: Duration = Duration::from_secs(10);
/// While the service is down, those who wait look so often whether it still is.
const LOOK: Duration = Duration::from_millis(250);

/// A moment to send at.
#[derive(Debug, Clone, Copy)]
struct Moment {
    at: Time,
    number: u64,
}

/// Requests at fixed intervals, while the server cannot be reached.
#[derive(Debug)]
struct Pacer {
    interval: Duration,
    next: Time,
}

/// The member.
#[derive(Debug)]
pub(super) struct Member {
    identity: Identity,
    settings: GateSettings,
    /// The client rule, which no server relaxes.
    rules: Rules,
    pauses: Pauses,
    sends: u64,
    /// What the server knows of an outage; while it cannot be reached, what this member knows.
    failures: Failures,
    outage: Outage,
    moments: VecDeque<Moment>,
    late: Duration,
    last_sent: Time,
    /// The requests in flight, and the numbers of their moments.
    in_flight: HashMap<Ticket, Option<u64>>,
    last_minute: LastMinute,
    class: PriorityClass,
    waiting_since: Option<Time>,
    report: Report,
    /// Since the last report.
    success: Option<Time>,
    /// The others have to know at once what is to be reported.
    is_urgent: bool,
    /// When the question under way was sent.
    question: Option<Time>,
    asked_class: PriorityClass,
    again: Time,
    unanswered: u32,
    retry: Time,
    granted: Time,
    round_trip: Duration,
    members: u32,
    rate: f64,
    unreachable: Option<Pacer>,
    random: fastrand::Rng,
}

impl Member {
    /// A member that has asked nothing yet.
    pub(super) fn new(identity: Identity, settings: GateSettings) -> Self {
        Member {
            random: fastrand::Rng::with_seed(identity.id),
            identity,
            rules: Rules::default(),
            pauses: Pauses::default(),
            sends: 0,
            failures: Failures::default(),
            outage: Outage::default(),
            moments: VecDeque::new(),
            late: LATE,
            last_sent: Time::ZERO,
            in_flight: HashMap::new(),
            last_minute: LastMinute::default(),
            class: PriorityClass::Background,
            waiting_since: None,
            report: Report::default(),
            success: None,
            is_urgent: false,
            question: None,
            asked_class: PriorityClass::Background,
            again: Time::ZERO,
            unanswered: 0,
            retry: Time::ZERO,
            granted: Time::ZERO,
            round_trip: Duration::ZERO,
            members: 1,
            rate: f64::from(settings.limit),
            unreachable: None,
            settings,
        }
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.unreachable.is_some()
    }

    /// Asks to send one request now; `shares` is whether it goes on while the server cannot be reached.
    pub(super) fn take(
        &mut self,
        now: Time,
        class: PriorityClass,
        endpoint: Endpoint,
        shares: bool,
    ) -> Take {
        self.class = class;
        self.waiting_since.get_or_insert(now);
        while self
            .moments
            .front()
            .is_some_and(|moment| moment.at + self.late < now)
        {
            self.moments.pop_front();
            self.late = (2 * self.late).min(LATEST);
        }
        let until = self.rules.until(endpoint);
        if until > now {
            return Take::Wait {
                earliest: until,
                again: until,
            };
        }
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            return Take::AfterChange;
        }
        let asks = self.ask_at(now).filter(|at| *at > now);
        let (at, number) = match (self.moments.front(), &self.unreachable) {
            (Some(moment), _) => (moment.at, Some(moment.number)),
            (None, Some(pacer)) if shares && !self.outage.is_probed(now) => {
                (pacer.next.max(self.outage.probe_at), None)
            }
            _ if self.failures.is_outage() => {
                return Take::Outage {
                    failures: self.failures,
                    again: asks.unwrap_or(now + LOOK),
                };
            }
            _ => {
                return asks.map_or(Take::AfterChange, |again| Take::Wait {
                    earliest: now,
                    again,
                });
            }
        };
        let at = at.max(self.own_share_from());
        if at > now {
            return Take::Wait {
                earliest: now,
                again: asks.map_or(at, |asks| asks.min(at)),
            };
        }
        Take::Now(self.send(now, number, endpoint))
    }

    fn send(&mut self, now: Time, number: Option<u64>, endpoint: Endpoint) -> Ticket {
        if number.is_some() {
            self.moments.pop_front();
            self.late = self.late.mul_f64(PUNCTUAL).max(LATE);
        } else if let Some(pacer) = &mut self.unreachable {
            pacer.next = (pacer.next + pacer.interval).max(now + pacer.interval / 2);
        }
        self.waiting_since = None;
        self.last_sent = now;
        self.last_minute.send(now);
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

    /// When the share of the limit that the settings allow lets the next request go.
    fn own_share_from(&self) -> Time {
        if self.settings.share >= 1.0 || self.last_sent.is_zero() {
            return Time::ZERO;
        }
        let GateSettings { limit, share, .. } = self.settings;
        self.last_sent + WINDOW.div_f64(f64::from(limit) * share)
    }

    /// What became of a request.
    pub(super) fn report(&mut self, now: Time, ticket: Ticket, outcome: &Outcome) {
        let sent = self.in_flight.remove(&ticket);
        match (outcome, sent) {
            (Outcome::Unsent | Outcome::Lost, _) => self.outage.lost(now, ticket),
            (Outcome::Failed { .. }, _) => self.failed(now, ticket),
            (Outcome::Answered(status, headers), Some(number)) => {
                self.answered(now, ticket, number, *status, headers);
            }
            (Outcome::Answered(..), None) => {}
        }
    }

    fn failed(&mut self, now: Time, ticket: Ticket) {
        self.outage.failed(now, ticket);
        let report = &mut self.report;
        report.failed = Some(report.failed.unwrap_or(0) + 1);
        report.ago = Some(ticket.age(now).as_secs_f64());
        self.is_urgent = true;
    }

    fn answered(
        &mut self,
        now: Time,
        ticket: Ticket,
        number: Option<u64>,
        status: u16,
        headers: &RateHeaders,
    ) {
        let limit = self.settings.limit;
        let (is_common, must_wait) = self.rules.response(now, ticket, status, headers, limit);
        let until = self.rules.until(Endpoint::Api);
        self.pauses.note(now, status, headers, until);
        if is_failure(status, headers) {
            self.failed(now, ticket);
        } else {
            self.outage.succeeded(now, ticket);
            (self.success, self.report.failed) = (Some(now), None);
            self.is_urgent |= self.failures.count > 0;
        }
        if !is_common {
            return;
        }
        if must_wait {
            self.is_urgent = true;
            self.report.used_up = self.report.used_up.max(number);
        }
        self.note(number, headers);
    }

    /// Takes in what a response shows: of several, the least that was left.
    fn note(&mut self, number: Option<u64>, headers: &RateHeaders) {
        let (Some(limit), Some(remaining), Some(number)) =
            (headers.limit, headers.remaining, number)
        else {
            return;
        };
        if limit == 0 {
            return; // how some gateways write "no limit"
        }
        let theirs = headers.window.unwrap_or(WINDOW);
        let per_second = 1.0 / theirs.min(WINDOW).as_secs_f64();
        let report = &mut self.report;
        report.shown = Some(f64::from(limit) * per_second);
        let remaining = remaining as f64 * per_second.min(1e6);
        if theirs > WINDOW {
            (report.left, report.seen, report.remaining) = (Some(remaining), Some(number), None);
            report.resets = headers.reset.map(|reset| reset.as_secs_f64()).or(Some(0.0));
        } else if report.left.is_none() && report.remaining.is_none_or(|least| remaining <= least) {
            (report.remaining, report.seen) = (Some(remaining), Some(number));
        }
    }

    /// When to ask the server; none before something happens.
    pub(super) fn ask_at(&self, now: Time) -> Option<Time> {
        if self.question.is_some() {
            return None;
        }
        if self.is_urgent {
            return Some(now.max(self.retry));
        }
        self.waiting_since?;
        let due = if self.unreachable.is_some() {
            self.retry
        } else {
            let more = match (self.moments.front().zip(self.moments.back()), self.class) {
                (None, _) => now,
                (Some((first, _)), PriorityClass::Single) => {
                    let hurry = self.asked_class != PriorityClass::Single;
                    if !hurry || first.at <= now + SOON {
                        return None;
                    }
                    now
                }
                // So that the question arrives when the last moment has come, or in time for the one after it.
                (Some((_, last)), _) => {
                    let turn = Duration::from_secs_f64(f64::from(self.members) / self.rate);
                    let in_time = (self.round_trip + TIMERS).saturating_sub(turn);
                    last.at.saturating_sub(in_time.max(self.round_trip / 2))
                }
            };
            let own = self.own_share_from().saturating_sub(self.round_trip + LATE);
            let sooner = self.class < self.asked_class;
            let again = if sooner { now } else { self.again };
            more.max(again).max(own).max(self.retry)
        };
        Some(due.max(now))
    }

    /// The next question, which is sent now.
    pub(super) fn ask(&mut self, now: Time) -> Ask {
        let waited = self
            .waiting_since
            .map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let class = match self.class {
            PriorityClass::Background if waited >= PATIENCE => PriorityClass::Scan,
            PriorityClass::Scan if waited >= PATIENCE => PriorityClass::Single,
            class => class,
        };
        // As many as this member can use in a round trip and a half.
        let per_trip = 1.5 * self.round_trip.as_secs_f64() * self.rate / f64::from(self.members);
        let paused_until = self.rules.until(Endpoint::Api);
        let moments = match class {
            _ if self.waiting_since.is_none() || paused_until > now => 0,
            PriorityClass::Single => 1,
            PriorityClass::Scan | PriorityClass::Background => {
                (1 + per_trip as u32).min(MAX_MOMENTS)
            }
        };
        // A scan goes on, as far as is known.
        let waits = self.waiting_since.is_some() || self.class != PriorityClass::Single;
        let about = MemberStats {
            sent_last_minute: self.last_minute.sent(now),
            waiting: waits.then(|| self.class.name().to_owned()),
            ..self.identity.about.clone()
        };
        let known = !self.granted.is_zero() && now < self.granted + KNOWN;
        let mut report = std::mem::take(&mut self.report);
        let success = self.success.take();
        report.ok = success.map(|at| now.saturating_sub(at).as_secs_f64());
        let pause = paused_until.saturating_sub(now);
        report.pause = (self.is_urgent && !pause.is_zero()).then_some(pause.as_secs_f64());
        self.is_urgent = false;
        self.question = Some(now);
        self.asked_class = class;
        Ask {
            member: format!("{:016x}", self.identity.id),
            limit: f64::from(self.settings.limit),
            class: match class {
                PriorityClass::Single => 1,
                PriorityClass::Scan => 2,
                PriorityClass::Background => 3,
            },
            moments,
            lead: (self.round_trip / 2 + TIMERS).as_secs_f64(),
            leaving: false,
            known: known.then_some(f64::from(self.members) / self.rate),
            believes: self.pauses.believed(now).max(WINDOW).as_secs_f64(),
            random: self.random.f64(),
            report,
            about,
        }
    }

    /// Takes leave.
    pub(super) fn leaving(&mut self, now: Time) -> Ask {
        Ask {
            moments: 0,
            leaving: true,
            ..self.ask(now)
        }
    }

    /// The server has replied.
    pub(super) fn received(&mut self, now: Time, reply: &Reply) {
        let Some(sent) = self.question.take() else {
            return;
        };
        let round_trip = now.saturating_sub(sent);
        let longest = self.round_trip;
        let grown = round_trip.min(2 * longest + GROWS);
        self.round_trip = longest.mul_f64(SHRINKS).max(grown);
        (self.unanswered, self.retry) = (0, Time::ZERO);
        self.unreachable = None;
        (self.members, self.rate) = (reply.members.max(1), reply.rate);
        // The server read its clock in the middle of the round trip, as far as is known.
        let here = |there: f64| sent + round_trip / 2 + seconds(there - reply.now);
        self.again = if reply.again > 0.0 {
            here(reply.again).saturating_sub(round_trip / 2)
        } else {
            Time::ZERO
        };
        for moment in 0..reply.moments {
            self.granted = now;
            self.moments.push_back(Moment {
                at: here(reply.first + f64::from(moment) * reply.gap),
                number: reply.number + u64::from(moment),
            });
        }
        self.moments
            .make_contiguous()
            .sort_by_key(|moment| moment.at);
        self.failures = Failures {
            count: reply.failures,
            since: sent.saturating_sub(seconds(reply.now - reply.since)),
        };
        if self.failures.is_outage() && reply.moments == 0 {
            self.moments.clear();
        }
        if reply.pause > reply.now {
            let until = here(reply.pause - 0.001);
            self.moments.retain(|moment| moment.at >= until);
        }
    }

    /// No reply has come, and none will.
    pub(super) fn unanswered(&mut self, now: Time) {
        self.question = None;
        let wait = FIRST_RETRY * (1 << self.unanswered.min(5));
        self.unanswered += 1;
        self.retry = now + wait.min(LONGEST_RETRY);
        if self.unreachable.is_none() {
            let own = self.settings.share * f64::from(self.settings.limit);
            let rate = (self.rate / f64::from(self.members)).min(own);
            let interval = Duration::from_secs_f64(1.0 / rate.max(0.01));
            self.unreachable = Some(Pacer {
                interval,
                next: (self.last_sent + interval).max(now),
            });
        }
    }
}

/// A time that comes from elsewhere, within reason.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 1e6)).unwrap_or_default()
}
