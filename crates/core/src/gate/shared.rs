//! One gate for many processes: they read and write its state in turn, and so are one client to the service.
//!
//! What one of them learns, all know; what one is told, all obey. To the gate itself the members are one. `turns` decides
//! which of them sends next.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::turns::{Asker, Lane, Turns};
use super::{Failures, Gate, GateSettings, GateStats, RateHeaders, Ready, Ticket, Time};

/// A request of a member that has not been heard of for this long gets no response any more, as far as can be told.
const SILENT: Duration = Duration::from_secs(2);
/// Where the gate waits for a response, which another member may receive, it is asked again after this long.
const POLL: Duration = Duration::from_millis(10);
/// Members ask again after this long at the latest, for others may have changed things.
const LOOK: Duration = Duration::from_millis(250);
/// Members whose turn is not the next ask again a little early, in parts of the time they may expect to wait: they are
/// told the exact time when they are next.
const EARLY: f64 = 0.8;
/// What was learned is forgotten when nothing was sent for this long.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// A gate and its members. Like the gate it is a pure function of what it is told; the time is that of a clock which all
/// members share.
#[derive(Debug, Serialize, Deserialize)]
pub struct SharedGate {
    gate: Gate,
    turns: Turns,
    flights: Vec<Flight>,
    /// When it was used last.
    used: Time,
}

/// A request that is under way, and whose it is.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Flight {
    ticket: Ticket,
    member: u64,
}

/// Whether a member may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// At once; it counts as sent.
    Now(Ticket),
    /// Not before `earliest`, and perhaps later; it is expected to ask again at `again`.
    Wait {
        /// Before this, nobody may send.
        earliest: Duration,
        /// When to ask again.
        again: Duration,
        /// The failures because of which requests are held back, where that is the reason.
        outage: Option<Failures>,
    },
}

/// One member, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberStats {
    /// Its process.
    pub process: u32,
    /// What it is known by.
    pub name: String,
    /// Its host, where the members may be on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Requests that it sent within the last minute.
    pub sent_last_minute: u32,
    /// The lane in which it waits; none where it does not.
    pub waiting: Option<&'static str>,
    /// Seconds since it was heard of last.
    pub seconds_since_seen: f64,
}

impl SharedGate {
    /// A gate that has seen nothing yet.
    #[must_use]
    pub fn new(settings: GateSettings, now: Duration) -> Self {
        let settings = GateSettings {
            share: 1.0,
            paced: true,
            ..settings
        };
        Self {
            gate: Gate::new(settings),
            turns: Turns::default(),
            flights: Vec::new(),
            used: now,
        }
    }

    /// A gate that has seen nothing, though others have sent in ways unknown: it first lets a window pass.
    #[must_use]
    pub fn after_loss(settings: GateSettings, now: Duration) -> Self {
        let mut new = Self::new(settings, now);
        new.gate
            .rule
            .wait_until(now.saturating_add(settings.window));
        new
    }

    /// A member asks to send; `longest_gap` as in its settings. `now` may be a little older than what others have told.
    pub fn take(
        &mut self,
        now: Duration,
        asker: &Asker<'_>,
        lane: Lane,
        longest_gap: Duration,
    ) -> Turn {
        let now = self.begin(now);
        self.gate.spread_at_most(longest_gap);
        self.turns.ask(now, asker, lane);
        let (share, kept) = self.part(asker.share);
        let allowed = match share {
            Some(budget) => self
                .turns
                .share_allows(asker.id, self.gate.settings.window, budget),
            None => Time::ZERO,
        };
        let gap = self.gate.gap();
        let (earliest, wait) = match self.gate.ready(now) {
            Ready::Now if allowed > now => (now, allowed - now),
            Ready::Now if self.turns.is_preceded(now, asker.id) => {
                let ahead = self.turns.ahead(now, now, asker.id);
                (now, gap.mul_f64(EARLY * f64::from(ahead)))
            }
            Ready::Now => {
                let ticket = self.gate.send(now);
                self.turns.served(now, asker.id, kept);
                self.flights.push(Flight {
                    ticket,
                    member: asker.id,
                });
                return Turn::Now(ticket);
            }
            Ready::At(at) => {
                let ahead = self.turns.ahead(now, at, asker.id);
                let turn = at + gap.mul_f64(EARLY * f64::from(ahead));
                (at, turn.max(allowed).saturating_sub(now))
            }
            Ready::AfterResponse => {
                let ahead = self.turns.ahead(now, now, asker.id);
                (now, POLL * (1 + ahead))
            }
        };
        let again = now + wait.min(LOOK);
        self.turns.told(asker.id, allowed, again);
        Turn::Wait {
            earliest,
            again,
            outage: self.failures().filter(Failures::is_outage),
        }
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, now: Duration, member: u64, ticket: Ticket) {
        let now = self.begin(now);
        self.turns.heard(now, member);
        self.land(ticket);
        self.gate.unsend(ticket);
    }

    /// The request failed; `sent` as for [`Gate::failed`].
    pub fn failed(&mut self, now: Duration, member: u64, ticket: Ticket, sent: bool) {
        let now = self.begin(now);
        self.turns.heard(now, member);
        self.land(ticket);
        self.gate.failed(now, ticket, sent);
    }

    /// The failures since the last success of any member, where there are any.
    #[must_use]
    pub fn failures(&self) -> Option<Failures> {
        self.gate.failures()
    }

    /// The caller waits for no response any more, though the server may have counted the request.
    pub fn lost(&mut self, now: Duration, member: u64, ticket: Ticket) {
        let now = self.begin(now);
        self.turns.heard(now, member);
        self.land(ticket);
        self.gate.lost(now, ticket);
    }

    /// A response has arrived.
    pub fn response(
        &mut self,
        now: Duration,
        member: u64,
        ticket: Ticket,
        status: u16,
        headers: &RateHeaders,
    ) {
        let now = self.begin(now);
        self.turns.heard(now, member);
        self.land(ticket);
        self.gate.response(now, ticket, status, headers);
    }

    /// A member has ended, and what it has sent is lost.
    pub fn leave(&mut self, now: Duration, member: u64) {
        let now = self.begin(now);
        self.turns.left(member);
        self.lose(now, |flight| flight.member == member);
    }

    /// Whether nothing of what it knows matters any more.
    #[must_use]
    pub fn is_over(&self, now: Duration) -> bool {
        self.used.saturating_add(FORGOTTEN) < now && self.gate.is_over(now)
    }

    /// When it was used last.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.used
    }

    /// How many members take part.
    #[must_use]
    pub fn present(&self, now: Duration) -> usize {
        self.turns.present(now).count()
    }

    /// Figures of all members together.
    #[must_use]
    pub fn stats(&self) -> GateStats {
        self.gate.stats()
    }

    /// Until when nothing may be sent, because the service said so.
    #[must_use]
    pub fn paused_until(&self) -> Duration {
        self.gate.rule.until()
    }

    /// The members that take part, those that sent most first.
    #[must_use]
    pub fn members(&self, now: Duration) -> Vec<MemberStats> {
        let members = self.turns.present(now).map(|member| MemberStats {
            process: member.process,
            name: member.name.clone(),
            host: None,
            sent_last_minute: member.last_minute.sent(now),
            waiting: member.waits.map(|wait| wait.lane.name()),
            seconds_since_seen: now.saturating_sub(member.seen).as_secs_f64(),
        });
        let mut members: Vec<_> = members.collect();
        members.sort_by_key(|member| std::cmp::Reverse(member.sent_last_minute));
        members
    }

    /// Begins an operation: time does not go back, and those who are silent have lost what they sent.
    fn begin(&mut self, now: Time) -> Time {
        self.used = self.used.max(now);
        let now = self.used;
        let silent: Vec<u64> = self
            .flights
            .iter()
            .map(|flight| flight.member)
            .filter(|member| {
                self.turns
                    .seen(*member)
                    .is_none_or(|seen| seen + SILENT < now)
            })
            .collect();
        if !silent.is_empty() {
            self.lose(now, |flight| silent.contains(&flight.member));
        }
        now
    }

    fn lose(&mut self, now: Time, is_lost: impl Fn(&Flight) -> bool) {
        let (lost, flights) = self.flights.iter().copied().partition(is_lost);
        self.flights = flights;
        let lost: Vec<Flight> = lost;
        for flight in lost {
            self.gate.lost(now, flight.ticket);
        }
    }

    fn land(&mut self, ticket: Ticket) {
        self.flights.retain(|flight| flight.ticket != ticket);
    }

    /// How many requests a window are the part of a member, where that is not the whole limit; and how many of its sends
    /// must be known for that.
    fn part(&self, share: f64) -> (Option<u32>, usize) {
        if share >= 1.0 {
            return (None, 0);
        }
        let limit = f64::from(self.gate.model.limit());
        // A cast from a float saturates, and so keeps a senseless share within the limit.
        let budget = ((limit * share) as u32).max(1);
        (Some(budget), budget as usize)
    }
}

impl Lane {
    /// What people read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single call",
            Self::Scan => "scan",
            Self::Background => "background scan",
        }
    }
}
