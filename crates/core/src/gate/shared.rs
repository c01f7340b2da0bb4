//! One gate for many processes: they read and write its state in turn, and so are one client to the service.
//!
//! What one of them learns, all know; what one is told, all obey. To the gate itself the members are one. `turns` decides
//! which of them sends next.

use std::collections::HashSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ledger::Entry;
use super::turns::{PriorityClass, Requester, Turns};
use super::{
    Endpoint, Failures, Gate, GateSettings, GateStats, RateHeaders, Ready, TOO_MANY_REQUESTS,
    Ticket, Time,
};

/// A request of a member that was last seen this long ago gets no response any more, as far as can be told.
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

/// No time in a state is further ahead of its last use than this many seconds: the longest pause, and a margin.
const FURTHEST: u64 = 100_000;
/// No count is higher.
const MAX_COUNT: u64 = 1_000_000_000;

/// A gate and its members. Like the gate it is a pure function of what it is told; the time is that of a clock which all
/// members share.
#[derive(Debug, Serialize, Deserialize)]
pub struct SharedGate {
    gate: Gate,
    turns: Turns,
    /// When it was used last.
    used: Time,
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

/// What the service has told one process about pauses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pauses {
    /// Until then it was told to wait.
    told: Time,
    /// The furthest time that it was told anything about.
    believed: Time,
}

impl Pauses {
    /// How much longer others are believed.
    pub(crate) fn believed(&self, now: Time) -> Duration {
        self.believed.saturating_sub(now)
    }

    /// A response has arrived, after which the pause of all lasts until `until`.
    pub fn note(&mut self, now: Duration, status: u16, headers: &RateHeaders, until: Duration) {
        let waits = [headers.reset, headers.retry_after, headers.window];
        let longest = waits.into_iter().flatten().max().unwrap_or_default();
        self.believed = self.believed.max(now.saturating_add(longest));
        if headers.remaining == Some(0) || status == TOO_MANY_REQUESTS {
            self.told = self.told.max(until);
        }
        self.believed = self.believed.max(self.told);
    }
}

/// One member, for people.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// The priority class in which it waits; none where it does not.
    pub waiting: Option<&'static str>,
    /// Seconds since it was last seen.
    pub seconds_since_seen: f64,
}

impl SharedGate {
    /// A gate that has seen nothing yet.
    #[must_use]
    pub fn new(settings: GateSettings, now: Duration) -> Self {
        Self {
            gate: Gate::new(Self::settings(settings)),
            turns: Turns::default(),
            used: now,
        }
    }

    /// The gate has all of the limit, of which each member has its share.
    fn settings(settings: GateSettings) -> GateSettings {
        GateSettings {
            share: 1.0,
            ..settings
        }
    }

    /// A gate that has seen nothing, though others have sent in ways unknown: it first lets a window pass.
    #[must_use]
    pub fn after_loss(settings: GateSettings, now: Duration) -> Self {
        let mut new = Self::new(settings, now);
        let until = now.saturating_add(settings.window);
        new.gate.rules.common.wait_until(until);
        new
    }

    /// A member asks to send. `now` may be a little older than what others have reported.
    pub fn take(
        &mut self,
        now: Duration,
        requester: &Requester<'_>,
        class: PriorityClass,
        endpoint: Endpoint,
    ) -> Turn {
        let now = self.advance(now);
        self.turns.ask(now, requester, class);
        self.drop_silent(now);
        let plan = self.gate.model.plan();
        let long_window = self.gate.long_window.as_ref();
        let allowed = self.turns.share_allows(requester, plan, long_window);
        let gap = plan.window.div_f64(self.gate.model.aim().max(1.0));
        let (earliest, wait) = match self.gate.ready_for(now, endpoint) {
            Ready::Now if allowed > now => (allowed, allowed - now),
            Ready::Now if self.turns.is_preceded(now, requester.id) => {
                let ahead = self.turns.ahead(now, now, requester.id);
                (now, gap.mul_f64(EARLY * f64::from(ahead)))
            }
            Ready::Now => {
                let ticket = self.gate.send_as(now, endpoint, requester.id);
                let long_window = self.gate.long_window.as_ref();
                self.turns.served(now, requester, plan, long_window);
                return Turn::Now(ticket);
            }
            Ready::At(at) => {
                let ahead = self.turns.ahead(now, at, requester.id);
                let turn = at.saturating_add(gap.mul_f64(EARLY * f64::from(ahead)));
                (at, turn.max(allowed).saturating_sub(now))
            }
            Ready::AfterResponse => {
                let ahead = self.turns.ahead(now, now, requester.id);
                (now, POLL * (1 + ahead))
            }
        };
        let again = now + wait.min(LOOK);
        self.turns.notified(requester.id, allowed, again);
        Turn::Wait {
            earliest,
            again,
            outage: self.failures().filter(Failures::is_outage),
        }
    }

    /// The request was not sent after all.
    pub fn unsend(&mut self, now: Duration, member: u64, ticket: Ticket) {
        self.complete(now, member);
        self.gate.unsend(ticket);
    }

    /// The request failed; `sent` as for [`Gate::failed`].
    pub fn failed(&mut self, now: Duration, member: u64, ticket: Ticket, sent: bool) {
        let now = self.complete(now, member);
        self.gate.failed(now, ticket, sent);
    }

    /// The failures since the last success of any member, where there are any.
    #[must_use]
    pub fn failures(&self) -> Option<Failures> {
        self.gate.failures()
    }

    /// The caller waits for no response any more, though the server may have counted the request.
    pub fn lost(&mut self, now: Duration, member: u64, ticket: Ticket) {
        let now = self.complete(now, member);
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
        let now = self.complete(now, member);
        self.gate.response(now, ticket, status, headers);
        if let Some(member) = self.turns.saw(now, member)
            && self.gate.long_window.is_some()
        {
            member.part.seen(now, headers);
        }
    }

    /// A member has ended, and what it has sent is lost.
    pub fn leave(&mut self, now: Duration, member: u64) {
        let now = self.advance(now);
        self.turns.left(member);
        self.lose(now, |entry| entry.member == member);
    }

    /// Whether nothing of what it knows matters any more.
    #[must_use]
    pub fn is_over(&self, now: Duration) -> bool {
        self.used.saturating_add(FORGOTTEN) < now && self.paused_until() <= now
    }

    /// Whether a state that was read can be one of a gate with these settings. One that was damaged or forged would go too
    /// fast, wait for ever, or not work at all.
    #[must_use]
    pub fn is_valid(&self, settings: &GateSettings) -> bool {
        let wanted = GateSettings {
            seed: self.gate.settings.seed,
            ..Self::settings(*settings)
        };
        let latest = self.used.as_secs().saturating_add(FURTHEST);
        let plan = self.gate.model.plan();
        self.gate.settings == wanted
            && self.gate.model.is_valid()
            && (plan.limit <= wanted.limit.max(1) && plan.window == wanted.window)
            && serde_json::to_value(self).is_ok_and(|state| is_plausible(&state, "", latest))
    }

    /// Corrects the pauses of a state that was read: nothing lasts longer than a window that the service has not told this
    /// process itself, and until `told` all wait as this process was told to. Whatever was forged holds nobody up for longer.
    pub fn correct(&mut self, now: Duration, pauses: &Pauses) {
        let window = self.gate.settings.window;
        let believed = pauses.believed.max(now.saturating_add(window));
        self.gate.rules.correct(pauses.told, believed);
        self.turns.correct(believed);
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
        self.gate.rules.until(Endpoint::Api)
    }

    /// The members that take part, those that sent most first.
    #[must_use]
    pub fn members(&self, now: Duration) -> Vec<MemberStats> {
        let members = self.turns.present(now).map(|member| MemberStats {
            process: member.process,
            name: member.name.clone(),
            host: None,
            sent_last_minute: member.last_minute.sent(now),
            waiting: member.waits.map(|wait| wait.class.name()),
            seconds_since_seen: now.saturating_sub(member.seen).as_secs_f64(),
        });
        let mut members: Vec<_> = members.collect();
        members.sort_by_key(|member| std::cmp::Reverse(member.sent_last_minute));
        members
    }

    /// Begins an operation: time does not go back.
    fn advance(&mut self, now: Time) -> Time {
        self.used = self.used.max(now);
        self.used
    }

    /// Members that are silent have lost what they sent. Not the one that is being served, which has just been noted.
    fn drop_silent(&mut self, now: Time) {
        let is_heard = |id: u64| self.turns.seen(id).is_some_and(|seen| seen + SILENT >= now);
        let in_flight = self.gate.ledger.in_flight();
        let members: HashSet<u64> = in_flight.map(|entry| entry.member).collect();
        let silent: Vec<u64> = members.into_iter().filter(|id| !is_heard(*id)).collect();
        if !silent.is_empty() {
            self.lose(now, |entry| silent.contains(&entry.member));
        }
    }

    fn lose(&mut self, now: Time, is_lost: impl Fn(&Entry) -> bool) {
        let lost = self.gate.ledger.in_flight().filter(|entry| is_lost(entry));
        let lost: Vec<Ticket> = lost.map(|entry| entry.ticket).collect();
        for ticket in lost {
            self.gate.lost(now, ticket);
        }
    }

    /// A request of a member is not in flight any more.
    fn complete(&mut self, now: Time, member: u64) -> Time {
        let now = self.advance(now);
        self.turns.saw(now, member);
        self.drop_silent(now);
        now
    }
}

impl PriorityClass {
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

/// Whether no time in a state is too far away, and no count so high that it may overflow.
fn is_plausible(value: &Value, name: &str, latest: u64) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| is_plausible(item, name, latest)),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.all(|(name, field)| is_plausible(field, name, latest))
        }
        Value::Number(number) => match (number.as_u64(), name) {
            (_, "id" | "next_id" | "member" | "seed" | "remaining") => true,
            (Some(seconds), "secs") => seconds <= latest,
            (Some(count), _) => count <= MAX_COUNT,
            // Fractions are checked where they are used.
            (None, _) => true,
        },
        _ => true,
    }
}
